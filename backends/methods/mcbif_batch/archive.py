"""Zip archives of label tables: what is read of them, and what is refused.

An archive may come from anyone. Nothing is written to a disk; what a member claims about its size
is not believed; folders, hidden files and what macOS adds are left out.
"""

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from backends.errors import BadRequest
from backends.partitions.raw import shown
from backends.uploads import LARGEST

MOST_MEMBERS = 2_000
MOST_BYTES = 100 * 2**20
ARCHIVES = (".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".7z", ".rar", ".zst")
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


def members(content: bytes, field: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a zip archive, sorted by name, as they are read.

    Raise `BadRequest` for more than `MOST_MEMBERS` members, more than `MOST_BYTES` in all, more
    than an upload may have in one, and archives inside.
    """
    with _opened(content, field) as archive:
        infos = archive.infolist()
        if len(infos) > MOST_MEMBERS:
            raise BadRequest(
                field, f"The zip has {len(infos):,} members; at most {MOST_MEMBERS:,} are allowed."
            )
        left = MOST_BYTES
        for info in sorted(filter(_is_file, infos), key=lambda info: info.filename):
            found = _read(archive, info, min(left, LARGEST), field)
            left -= len(found)
            yield info.filename, found


def _opened(content: bytes, field: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except BROKEN:
        raise BadRequest(field, "The zip cannot be read.") from None


def _is_file(info: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(info.filename).parts
    names = [part for part in parts if part not in (".", "..")]
    is_hidden = any(part.startswith(".") or part == "__MACOSX" for part in names)
    return bool(parts) and not is_hidden and not info.is_dir()


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int, field: str) -> bytes:
    name = shown(info.filename)
    if info.filename.lower().endswith(ARCHIVES):
        raise BadRequest(field, f"The zip holds the archive {name}; only label tables are allowed.")
    try:
        with archive.open(info) as file:
            found = file.read(most + 1)
    except BROKEN:
        raise BadRequest(field, f"{name} in the zip cannot be read.") from None
    if len(found) > most:
        raise BadRequest(
            field,
            f"{name} in the zip is too large: a table may have {LARGEST // 2**20} MiB, and all "
            f"tables together {MOST_BYTES // 2**20} MiB.",
        )
    if found.startswith(b"PK\3\4"):
        raise BadRequest(field, f"The zip holds the zip {name}; only label tables are allowed.")
    return found
