"""Cache files: created whole or not at all, opened as read-only mapped arrays, deleted.

A file is written under a temporary name in its own folder and then renamed, so nobody ever sees
half of it. The same arrays and metadata give the same bytes. An array of any size is kept whole:
a mapped file is read page by page, so splitting a large one would gain nothing and cost a copy.
"""

import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from numpy.typing import NDArray

from cache.header import (
    CorruptFile,
    Header,
    as_bytes,
    digest_of,
    encode,
    in_file_order,
    parse,
    storable,
)
from cache.keys import Json, canonical_json

SUFFIX = ".safetensors"
CHECKED_WHEN_OPENED = 64 * 2**20  # bytes; a digest of this much takes about 10 ms
DAY = 24 * 60 * 60
_KEY = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"[0-9a-f]{2}")


class Stamp(NamedTuple):
    """What tells a file from one that was changed since: bytes and time of the last change."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, eq=False)
class CacheFile:
    """An open file: read-only mapped arrays and the metadata."""

    arrays: dict[str, NDArray[Any]]
    meta: Any
    stamp: Stamp
    header: Header

    def check(self) -> None:
        """Read every byte and compare with the digest."""
        if digest_of(self.arrays, self.header.text) != self.header.digest:
            raise CorruptFile("The content does not match its digest.")


@dataclass(frozen=True)
class Listing:
    """What lies under a root: the keys of whole files, and temporary files."""

    keys: frozenset[str]
    temporary: tuple[Path, ...]


def file_path(root: Path, key: str) -> Path:
    """Return where the file of `key` lies: root/ab/abcd….safetensors."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"The key {key!r} is not 64 hexadecimal digits.")
    return root / key[:2] / f"{key}{SUFFIX}"


def write_file(path: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Json]) -> Stamp:
    """Create or replace the file at `path`; arrays may hold NaN, the metadata may not."""
    rows = {name: storable(name, array) for name, array in arrays.items()}
    head = encode(rows, canonical_json(meta))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.stem}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        _write(temporary, head, rows)
        status = temporary.stat()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return Stamp(status.st_size, status.st_mtime_ns)


def open_file(path: Path) -> CacheFile:
    """Map the file at `path` and read its header only."""
    with path.open("rb") as source:
        status = os.fstat(source.fileno())
        if status.st_size == 0:
            raise CorruptFile("The file is empty.")
        raw = np.asarray(np.memmap(source, dtype=np.uint8, mode="r"))
    header = parse(raw)
    body = raw[header.size :]
    arrays = {
        name: body[span.start : span.stop].view(span.dtype).reshape(span.shape)
        for name, span in header.spans.items()
    }
    return CacheFile(arrays, header.meta, Stamp(status.st_size, status.st_mtime_ns), header)


def read_file(path: Path) -> CacheFile:
    """Map the file at `path` and check all of it against its digest."""
    file = open_file(path)
    file.check()
    return file


def remove_file(path: Path) -> bool:
    """Delete the file and say whether it is gone; Windows keeps files that are mapped."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def reason(error: Exception) -> str:
    """Name an error for the log without its full text, which may hold paths."""
    return getattr(error, "strerror", None) or type(error).__name__


def scan(root: Path) -> Listing:
    """List the files under `root` by their names, without opening any."""
    keys: set[str] = set()
    temporary: list[Path] = []
    with os.scandir(root) as folders:
        names = [each.path for each in folders if _FOLDER.fullmatch(each.name) and each.is_dir()]
    for name in names:
        for path in Path(name).iterdir():
            if path.suffix == ".part":
                temporary.append(path)
            elif path.suffix == SUFFIX and _KEY.fullmatch(path.stem):
                keys.add(path.stem)
    return Listing(frozenset(keys), tuple(temporary))


def is_stale(temporary: Path) -> bool:
    """Say whether nobody will finish this file: its writer is gone or a day has passed."""
    try:
        written = temporary.stat().st_mtime
    except FileNotFoundError:
        return False
    pid = temporary.name.split(".")[1]
    lives = pid.isdecimal() and _lived_at(int(pid), written)
    return not lives or time.time() - written > DAY


def _lived_at(pid: int, moment: float) -> bool:
    # A container's processes get the same few numbers at each start, so a living process counts
    # only if it is older than the file. Two seconds allow for coarse clocks.
    try:
        process = psutil.Process(pid)
        return bool(
            process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= moment + 2
        )
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _write(path: Path, head: bytes, rows: Mapping[str, NDArray[Any]]) -> None:
    with path.open("xb") as target:
        target.write(head)
        for name in in_file_order(rows):
            target.write(as_bytes(rows[name]))
        if target.tell() > CHECKED_WHEN_OPENED:
            # Large files are not read whole when opened, so a power cut must not go unnoticed.
            target.flush()
            os.fsync(target.fileno())
