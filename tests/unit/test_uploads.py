"""Files of the user are kept by content; a request names them by digest."""

import hashlib
import os
import threading
from pathlib import Path

import pytest

from backends.errors import BadRequest
from backends.uploads import LARGEST, Uploads


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    """An empty folder of uploads."""
    return Uploads(tmp_path / "home" / "uploads")


def test_a_file_is_named_by_its_content(uploads: Uploads, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_bytes(b"prompt\n\xff")
    (tmp_path / "two.csv").write_bytes(b"prompt\n\xff")
    digest = uploads.add(tmp_path / "one.csv")
    assert digest == "sha256:" + hashlib.sha256(b"prompt\n\xff").hexdigest()
    assert uploads.add(tmp_path / "two.csv") == digest
    assert uploads.read(digest) == b"prompt\n\xff"
    assert [p.name for p in (tmp_path / "home" / "uploads").iterdir()] == [digest[7:]]
    assert (tmp_path / "home" / "uploads").stat().st_mode & 0o777 == 0o700


def test_other_content_is_another_file(uploads: Uploads, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    first = uploads.add(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"b")
    assert uploads.add(tmp_path / "a") != first
    assert uploads.read(first) == b"a"


def test_what_was_made_here_is_an_upload_too(uploads: Uploads, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x,y\n")
    digest = uploads.add_bytes(b"x,y\n")
    assert uploads.read(digest) == b"x,y\n"
    assert uploads.add(tmp_path / "a") == digest == uploads.add_bytes(b"x,y\n")
    assert [p.name for p in (tmp_path / "home" / "uploads").iterdir()] == [digest[7:]]
    assert (tmp_path / "home" / "uploads").stat().st_mode & 0o777 == 0o700


def test_an_unknown_digest_is_told(uploads: Uploads) -> None:
    digest = "sha256:" + "0" * 64
    with pytest.raises(BadRequest, match="sha256:000000000000… is not on this machine") as error:
        uploads.read(digest, "table")
    assert error.value.field == "table"


def test_a_missing_file_is_told(uploads: Uploads, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="none.csv' cannot be read: No such file") as error:
        uploads.add(tmp_path / "none.csv", "table")
    assert error.value.field == "table"


def test_a_folder_is_no_file(uploads: Uploads, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="cannot be read: Is a directory") as error:
        uploads.add(tmp_path)
    assert error.value.field == "file"


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_path_that_cannot_be_is_told(uploads: Uploads, name: str) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        uploads.add(Path(name), "table")


def test_a_large_file_is_refused_unread(uploads: Uploads, tmp_path: Path) -> None:
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(BadRequest, match=r"'large.csv' has 20\.0 MiB; at most 20 MiB") as error:
        uploads.add(tmp_path / "large.csv", "table")
    assert error.value.field == "table"
    assert not (tmp_path / "home").exists()


def test_the_largest_file_passes(uploads: Uploads, tmp_path: Path) -> None:
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(LARGEST)
    assert len(uploads.read(uploads.add(tmp_path / "large.csv"))) == LARGEST


def test_a_pipe_passes_and_an_endless_one_is_refused(uploads: Uploads, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"prompt,label\n",))
    writer.start()
    assert uploads.read(uploads.add(pipe)) == b"prompt,label\n"
    writer.join()
    with pytest.raises(BadRequest, match="at most 20 MiB"):
        uploads.add(Path("/dev/zero"), "table")
