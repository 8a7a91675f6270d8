"""The store: what was computed once is found again, by fingerprint, in any process.

It ties files, index and locks together. The file is the truth: an entry without a row is a hit
and gets its row; a row without a file is a miss and goes. No failure of the disk or of SQLite
fails a computation: it costs a line in the log, and the result lives in memory only.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from cache.entry import Entry, envelope, open_entry, row_of
from cache.eviction import evict
from cache.files import (
    CHECKED_WHEN_OPENED,
    CacheFile,
    Stamp,
    file_path,
    reason,
    remove_file,
    scan,
    write_file,
)
from cache.header import CorruptFile, storable
from cache.index import Index
from cache.keys import Json, canonical_json
from cache.locks import hold
from cache.upkeep import LOCKS, Report, forget_missing, tidy, verify

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Meta: TypeAlias = Mapping[str, Json]
GIGABYTE = 10**9
_log = logging.getLogger("glasswork.cache")


@dataclass(frozen=True)
class Usage:
    """What the store holds; `by_kind` gives for each kind the number of entries and their bytes."""

    entries: int
    bytes: int
    limit: int
    by_kind: dict[str, tuple[int, int]]


class Store:
    """A folder of entries, shared by the threads of this process and by other processes."""

    def __init__(self, root: Path, limit_bytes: int = 20 * GIGABYTE) -> None:
        """Open the store at `root`, create it if need be, and clear up after crashes."""
        if limit_bytes < 0:
            raise ValueError(f"The limit {limit_bytes} is below 0 bytes.")
        self.root = root
        self.limit_bytes = limit_bytes
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.index = Index(root / "index.sqlite")
        self._checked: dict[str, Stamp] = {}
        with self._lock("open"), _tolerated("the whole store"):
            tidy(root, self.index)

    def get(self, key: str) -> Entry | None:
        """Return the entry of `key`, or None if there is none that can be read."""
        try:
            file = self._open(key)
        except FileNotFoundError:
            self._forget(key)
        except CorruptFile as error:
            _log.warning("Entry %s is deleted: %s", key, error)
            self.delete(key)
        except OSError as error:
            _log.warning("Entry %s cannot be opened: %s.", key, reason(error))
        else:
            return Entry(key, file.arrays, file.meta["meta"], hit=True)
        return None

    def put(
        self, key: str, kind: str, arrays: Arrays, meta: Meta, fields: Meta | None = None
    ) -> Entry:
        """Store an entry and return it as read back; if that fails, return it from memory."""
        try:
            return self._put(key, kind, arrays, meta, fields)
        except (OSError, sqlite3.Error, CorruptFile) as error:
            _log.warning("Entry %s is kept in memory only: %s.", key, reason(error))
            return _in_memory(key, arrays, meta)

    def get_or_compute(
        self,
        key: str,
        kind: str,
        make: Callable[[], tuple[Arrays, Meta]],
        *,
        fields: Meta | None = None,
        wait: Callable[[], None] = lambda: None,
    ) -> Entry:
        """Return the entry of `key`; if there is none, let one caller make it and the others wait.

        `wait` is called ten times a second meanwhile and may raise to give up. Whatever `make`
        raises is passed on, and the next caller tries. A `make` that asks for its own key gets a
        RuntimeError.
        """
        found = self.get(key)
        if found is not None:
            return found
        with self._lock(key, wait):
            found = self.get(key)
            return found if found is not None else self.put(key, kind, *make(), fields)

    def delete(self, key: str) -> None:
        """Delete the entry of `key`, if there is one."""
        self._remove([key])

    def clear(self) -> int:
        """Delete everything, requests included, and return how many entries went."""
        removed = self._remove(sorted(scan(self.root).keys))
        with _tolerated("the whole store"):
            forget_missing(self.root, self.index, self.index.stored_keys())
            self.index.forget_requests()
        return removed

    def note_request(self, key: str, method: str, fields: Meta) -> None:
        """Remember a request, so that a short link can name it by its fingerprint."""
        text = canonical_json(fields)
        with _tolerated(key):
            self.index.note_request(key, method, text)

    def find_request(self, key: str) -> tuple[str, dict[str, Any]] | None:
        """Return the method and fields of a request that was noted on this machine."""
        with _tolerated(key):
            found = self.index.request(key)
            return None if found is None else (found[0], json.loads(found[1]))
        return None

    def usage(self) -> Usage:
        """Count what the index knows."""
        by_kind = self.index.by_kind()
        entries = sum(count for count, _ in by_kind.values())
        return Usage(entries, sum(size for _, size in by_kind.values()), self.limit_bytes, by_kind)

    def verify(self) -> Report:
        """Read every file fully and compare files with index; changes nothing."""
        return verify(self.root, self.index)

    def _open(self, key: str) -> CacheFile:
        row = None
        with _tolerated(key):
            row = self.index.entry(key)
        file = open_entry(self.root, key)
        known = row is not None and row.stamp == file.stamp
        small = file.stamp.size <= CHECKED_WHEN_OPENED
        if self._checked.get(key) != file.stamp and (small or not known):
            file.check()
            self._checked[key] = file.stamp
        with _tolerated(key):
            if row is not None and known:
                self.index.touch(row)
            else:
                self.index.add([row_of(file, used=time.time())])
        return file

    def _put(self, key: str, kind: str, arrays: Arrays, meta: Meta, fields: Meta | None) -> Entry:
        path = file_path(self.root, key)
        self._checked[key] = write_file(path, arrays, envelope(key, kind, meta, fields))
        file = open_entry(self.root, key)
        self.index.add([row_of(file, used=time.time())])
        evict(self.root, self.index, self.limit_bytes, keep=key)
        return Entry(key, file.arrays, file.meta["meta"], hit=False)

    def _remove(self, keys: Iterable[str]) -> int:
        gone = [key for key in keys if remove_file(file_path(self.root, key))]
        for key in gone:
            self._checked.pop(key, None)
        with _tolerated("the whole store"):
            self.index.remove(gone)
        return len(gone)

    def _forget(self, key: str) -> None:
        with _tolerated(key):
            if self.index.entry(key) is not None:
                forget_missing(self.root, self.index, [key])

    def _lock(
        self, name: str, wait: Callable[[], None] = lambda: None
    ) -> AbstractContextManager[None]:
        return hold(self.root / LOCKS / f"{name}.lock", wait)


@contextmanager
def _tolerated(subject: str) -> Iterator[None]:
    """Log a failure of the index and go on."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        _log.warning("The index failed for %s: %s.", subject, reason(error))


def _in_memory(key: str, arrays: Arrays, meta: Meta) -> Entry:
    rows = {name: storable(name, array).view() for name, array in arrays.items()}
    for array in rows.values():
        array.flags.writeable = False
    return Entry(key, rows, json.loads(canonical_json(meta)), hit=False)
