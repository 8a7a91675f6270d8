"""Notes: what was written is read again, also when others write, and outlives the cache."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.notes import LONGEST_KEY, LONGEST_VALUE, Notes
from backends.errors import BadRequest, GlassworkError
from cache import Store

ROOT = Path(__file__).parents[2]
ONE, OTHER = "a" * 64, "b" * 64
WRITER = """
import sys
from pathlib import Path
from app.notes import Notes
sys.stdin.readline()
for number in range(20):
    Notes(Path(sys.argv[1])).put("a" * 64, f"{sys.argv[2]}-{number}", number)
"""


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """The notes of a home that is not there yet."""
    return Notes(tmp_path / "home")


def test_nothing_is_made_before_the_first_note(notes: Notes) -> None:
    assert (notes.get(ONE), notes.all(), notes.count()) == ({}, [], 0)
    notes.delete(ONE, "label")
    assert not notes.path.parent.exists()


def test_notes_are_found_by_fingerprint_and_key(notes: Notes) -> None:
    value = {"text": "Größe <b> 🙂", "lone": "\ud800", "seeds": [1, 2.5, None, True]}
    notes.put(ONE, "second", value)
    notes.put(ONE, "first", "x")
    notes.put(OTHER, "second", "y")
    assert notes.get(ONE) == {"second": value, "first": "x"}
    assert list(notes.get(ONE)) == ["second", "first"]
    assert notes.get(OTHER) == {"second": "y"}
    assert notes.get("c" * 64) == {}
    assert notes.count() == 3
    assert Notes(notes.path.parent).get(OTHER) == {"second": "y"}


def test_a_change_keeps_the_time_of_creation(notes: Notes) -> None:
    notes.put(ONE, "label", "old")
    before = notes.all()[0]
    notes.put(ONE, "label", "new")
    after = notes.all()[0]
    assert (after.value, after.created) == ("new", before.created)
    assert after.changed > before.changed == before.created


def test_a_note_is_deleted_alone(notes: Notes) -> None:
    for key in ("a", "b"):
        notes.put(ONE, key, key)
    notes.delete(ONE, "a")
    notes.delete(ONE, "a")
    assert notes.get(ONE) == {"b": "b"}


def test_only_the_owner_can_read(notes: Notes) -> None:
    notes.put(ONE, "label", "x")
    with notes._opened(for_writing=True) as db:
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        db.execute("DELETE FROM notes")
        files = {f.name: f.stat().st_mode & 0o777 for f in notes.path.parent.glob("notes*")}
    assert mode == "wal"
    assert set(files.values()) == {0o600}
    assert "notes.sqlite-wal" in files


def test_the_longest_note_passes_and_one_more_does_not(notes: Notes) -> None:
    notes.put(ONE, "k" * LONGEST_KEY, "é" * (LONGEST_VALUE - 2))
    with pytest.raises(BadRequest) as error:
        notes.put(ONE, "label", "é" * (LONGEST_VALUE - 1))
    assert str(error.value) == "The note has 10,001 characters; it may have at most 10,000."
    assert list(notes.get(ONE)) == ["k" * LONGEST_KEY]


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": {1}}])
def test_other_values_are_refused(notes: Notes, value: object) -> None:
    with pytest.raises(BadRequest, match="A note must be text, numbers, or lists of them"):
        notes.put(ONE, "label", value)


@pytest.mark.parametrize("key", ["", "k" * (LONGEST_KEY + 1), "a\nb"])
def test_other_keys_are_refused(notes: Notes, key: str) -> None:
    with pytest.raises(BadRequest, match="must have 1 to 200 printable characters"):
        notes.put(ONE, key, "x")


@pytest.mark.parametrize("fingerprint", ["", "A" * 64, "a" * 63, "../home"])
def test_other_fingerprints_are_refused(notes: Notes, fingerprint: str) -> None:
    with pytest.raises(BadRequest, match="is no fingerprint of a result"):
        notes.put(fingerprint, "label", "x")


def test_what_sqlite_refuses_is_a_sentence_and_nothing_is_deleted(notes: Notes) -> None:
    notes.path.parent.mkdir()
    notes.path.write_bytes(b"no database, but perhaps someone's notes" * 100)
    for call in (notes.count, lambda: notes.put(ONE, "label", "x")):
        with pytest.raises(GlassworkError, match="cannot be used: file is not a database"):
            call()
    assert notes.path.read_bytes().startswith(b"no database")


def test_threads_write_at_once(notes: Notes) -> None:
    def write(name: int) -> None:
        for number in range(20):
            notes.put(ONE, f"{name}-{number}", number)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes.count() == 80


def test_processes_make_the_file_and_write_at_once(notes: Notes) -> None:
    home = str(notes.path.parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, home, str(name)], cwd=ROOT, stdin=subprocess.PIPE
        )
        for name in range(3)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(notes.get(ONE)) == 60


def test_notes_outlive_the_cache(notes: Notes) -> None:
    notes.put(ONE, "label", "x")
    Store(notes.path.parent / "cache", 0).clear()
    assert notes.get(ONE) == {"label": "x"}
