"""The index: an SQLite table of what the files hold, so that no start has to read them all.

The files are the truth. All but the requests can be rebuilt from them, which happens when the
schema number differs. Each thread has its own connection, and a forked process its own.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from cache.files import Stamp

SCHEMA = 1
BUSY_SECONDS = 30.0
USED_SECONDS = 60.0
UNCHECKED = 0  # `mtime_ns` of a row that was made from a header alone
_CHUNK = 500  # SQLite once allowed only 999 parameters in a statement
_TABLES = """
CREATE TABLE entries(key TEXT PRIMARY KEY, kind TEXT, bytes INTEGER, mtime_ns INTEGER,
                     fields TEXT, created REAL, used REAL) WITHOUT ROWID;
CREATE TABLE activations(key TEXT PRIMARY KEY, file TEXT, name TEXT, start INTEGER, stop INTEGER)
                     WITHOUT ROWID;
CREATE TABLE requests(key TEXT PRIMARY KEY, method TEXT, fields TEXT, created REAL) WITHOUT ROWID;
CREATE INDEX entries_used ON entries(used, created, bytes);
CREATE INDEX activations_file ON activations(file);
"""


class Row(NamedTuple):
    """What the index knows of one file; `fields` is JSON, times are seconds since 1970."""

    key: str
    kind: str
    bytes: int
    mtime_ns: int
    fields: str
    created: float
    used: float

    @property
    def stamp(self) -> Stamp:
        """The size and time of change that the file had when the row was written."""
        return Stamp(self.bytes, self.mtime_ns)


class Slice(NamedTuple):
    """Rows start..stop-1 of one array of one file hold the activation `key`."""

    key: str
    file: str
    name: str
    start: int
    stop: int


class _Connection(sqlite3.Connection):
    """Closes itself when its thread ends; newer Pythons warn of connections left open."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):
            self.close()


class _Local(threading.local):
    pid = 0
    connection: sqlite3.Connection | None = None


class Index:
    """The tables of one store; every method is one statement or one transaction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = _Local()
        self._inherited: list[sqlite3.Connection] = []

    def entry(self, key: str) -> Row | None:
        """Return the row of a key, or None."""
        found = self._db().execute("SELECT * FROM entries WHERE key = ?", (key,)).fetchone()
        return None if found is None else Row(*found)

    def stored_keys(self) -> frozenset[str]:
        """Return the keys of all rows."""
        return frozenset(key for (key,) in self._db().execute("SELECT key FROM entries"))

    def total(self) -> int:
        """Return the bytes of all entries."""
        return int(self._db().execute("SELECT TOTAL(bytes) FROM entries").fetchone()[0])

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Return, per kind, the number of entries and their bytes."""
        query = "SELECT kind, COUNT(*), SUM(bytes) FROM entries GROUP BY kind ORDER BY kind"
        return {kind: (count, size) for kind, count, size in self._db().execute(query)}

    def oldest(self) -> list[tuple[str, int]]:
        """Return all keys with their bytes, the least recently used first."""
        return (
            self._db().execute("SELECT key, bytes FROM entries ORDER BY used, created").fetchall()
        )

    def add(self, items: Iterable[tuple[Row, Sequence[Slice]]]) -> None:
        """Write rows together with the activations in their files; the newest file wins."""
        with self._writing() as db:
            for row, slices in items:
                db.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                db.execute("DELETE FROM activations WHERE file = ?", (row.key,))
                db.executemany("REPLACE INTO activations VALUES (?, ?, ?, ?, ?)", slices)

    def touch(self, row: Row) -> None:
        """Note that the entry was used now, at most once a minute."""
        now = time.time()
        if abs(now - row.used) >= USED_SECONDS:
            self._db().execute("UPDATE entries SET used = ? WHERE key = ?", (now, row.key))

    def remove(self, keys: Iterable[str]) -> None:
        """Forget entries and the activations in their files."""
        with self._writing() as db:
            for key in keys:
                db.execute("DELETE FROM entries WHERE key = ?", (key,))
                db.execute("DELETE FROM activations WHERE file = ?", (key,))

    def slices(self, keys: Sequence[str]) -> dict[str, Slice]:
        """Return where the activations lie, for those that are known."""
        found: dict[str, Slice] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            query = f"SELECT * FROM activations WHERE key IN ({marks})"
            found |= {row[0]: Slice(*row) for row in self._db().execute(query, chunk)}
        return found

    def orphans(self) -> list[str]:
        """Return activations that point to no entry; there should be none."""
        query = "SELECT key FROM activations WHERE file NOT IN (SELECT key FROM entries)"
        return [key for (key,) in self._db().execute(query)]

    def note_request(self, key: str, method: str, fields: str) -> None:
        """Remember a request's method and fields (JSON)."""
        row = (key, method, fields, time.time())
        self._db().execute("REPLACE INTO requests VALUES (?, ?, ?, ?)", row)

    def request(self, key: str) -> tuple[str, str] | None:
        """Return a remembered request's method and fields (JSON), or None."""
        query = "SELECT method, fields FROM requests WHERE key = ?"
        found: tuple[str, str] | None = self._db().execute(query, (key,)).fetchone()
        return found

    def forget_requests(self) -> None:
        """Forget all requests."""
        self._db().execute("DELETE FROM requests")

    def start_over(self) -> None:
        """Delete the index's own files, for when SQLite cannot read them."""
        self._local.connection = None
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

    def _db(self) -> sqlite3.Connection:
        here = self._local
        if here.connection is not None and here.pid == os.getpid():
            return here.connection
        if here.connection is not None:
            # SQLite forbids a forked child even to close what it inherited.
            self._inherited.append(here.connection)
        here.connection, here.pid = self._connect(), os.getpid()
        return here.connection

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # a connection may be collected by another thread
            factory=_Connection,
        )
        db.execute("PRAGMA synchronous = NORMAL")
        if _schema_of(db) != SCHEMA:
            db.execute("PRAGMA journal_mode = WAL")
            _make_tables(db)
        return db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        db = self._db()
        db.execute("BEGIN IMMEDIATE")
        with db:
            yield db


def _schema_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    with db:
        if _schema_of(db) == SCHEMA:  # another process was faster
            return
        for table in ("entries", "activations", "requests"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {SCHEMA}")
