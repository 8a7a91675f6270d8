"""What users write is no cache: labels, overruled verdicts. SQLite in `HOME/notes.sqlite`.

A note is a JSON value by (fingerprint of a result, key). Notes are never evicted, and `cache clear`
leaves them. Each call opens the file for itself, so threads, forks and other processes may read
and write at once; the file is made at the first note, readable by its owner only.
"""

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from backends.errors import BadRequest, GlassworkError

FILE = "notes.sqlite"
LONGEST_VALUE = 10_000
LONGEST_KEY = 200
BUSY_SECONDS = 30.0
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_TABLE = """
CREATE TABLE notes(fingerprint TEXT, key TEXT, value TEXT, created REAL, changed REAL,
                   PRIMARY KEY (fingerprint, key)) WITHOUT ROWID
"""
_PUT = """
INSERT INTO notes VALUES (:fingerprint, :key, :value, :now, :now)
ON CONFLICT (fingerprint, key) DO UPDATE SET value = excluded.value, changed = excluded.changed
"""


@dataclass(frozen=True)
class Note:
    """One note. Times are seconds since 1970."""

    fingerprint: str
    key: str
    value: Any
    created: float
    changed: float


class Notes:
    """The notes of one home. Opens nothing before it is asked."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def put(self, fingerprint: str, key: str, value: Any) -> None:
        """Write a note, or change it. Raise `BadRequest` for one that is too long."""
        row = {"fingerprint": fingerprint, "key": key, "value": _text(value), "now": time.time()}
        _check_names(fingerprint, key)
        with self._opened(for_writing=True) as db:
            db.execute(_PUT, row)

    def get(self, fingerprint: str) -> dict[str, Any]:
        """Return the notes on a result by key, the oldest first; empty if there are none."""
        query = "SELECT key, value FROM notes WHERE fingerprint = ? ORDER BY created, key"
        return {key: json.loads(value) for key, value in self._rows(query, fingerprint)}

    def delete(self, fingerprint: str, key: str) -> None:
        """Delete a note, if there is one."""
        if self.path.exists():
            with self._opened(for_writing=True) as db:
                where = "WHERE fingerprint = ? AND key = ?"
                db.execute(f"DELETE FROM notes {where}", (fingerprint, key))

    def all(self) -> list[Note]:
        """Return every note, by result and age."""
        query = "SELECT * FROM notes ORDER BY fingerprint, created, key"
        return [
            Note(fingerprint, key, json.loads(value), created, changed)
            for fingerprint, key, value, created, changed in self._rows(query)
        ]

    def count(self) -> int:
        """Return how many notes there are."""
        return int(sum(number for (number,) in self._rows("SELECT COUNT(*) FROM notes")))

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if not self.path.exists():
            return []
        with self._opened() as db:
            return db.execute(query, values).fetchall()

    @contextmanager
    def _opened(self, for_writing: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a connection in one transaction. What SQLite refuses becomes a sentence."""
        try:
            if not self.path.exists():
                _make(self.path)
            with closing(_connect(self.path)) as db:
                db.execute("BEGIN IMMEDIATE" if for_writing else "BEGIN")
                with db:
                    yield db
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            sentence = f"The notes in {str(self.path)!r} cannot be used: {reason}."
            raise GlassworkError(sentence) from error


def _make(path: Path) -> None:
    """Make the file for its owner only; SQLite gives its mode to the files beside it.

    It is made aside and renamed: two processes that switch a file to WAL at once get an error,
    for which SQLite does not wait.
    """
    locks = path.parent / "locks"
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(locks / "notes.lock"):
        if path.exists():
            return
        aside = path.with_suffix(".new")
        aside.unlink(missing_ok=True)
        os.close(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(_connect(aside)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(_TABLE)
        aside.rename(path)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _text(value: Any) -> str:
    """Return a value as JSON. Its length is counted as a reader would, without escapes."""
    try:
        length = len(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest("note", "A note must be text, numbers, or lists of them.") from error
    if length > LONGEST_VALUE:
        sentence = f"The note has {length:,} characters; it may have at most {LONGEST_VALUE:,}."
        raise BadRequest("note", sentence)
    return json.dumps(value)


def _check_names(fingerprint: str, key: str) -> None:
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise BadRequest("note", f"{fingerprint[:80]!r} is no fingerprint of a result.")
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        sentence = f"The note's key {key[:80]!r} must have 1 to {LONGEST_KEY} printable characters."
        raise BadRequest("note", sentence)
