"""What a start puts in order, and the full check.

After a crash there may be files without rows, rows without files, and temporary files that nobody
will finish. A start looks at names only and opens no file that the index knows.
"""

import logging
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cache.entry import open_entry, row_of
from cache.files import file_path, is_stale, reason, remove_file, scan
from cache.header import CorruptFile
from cache.index import UNCHECKED, Index, Row, Slice
from cache.locks import remove_stale

LOCKS = "locks"
_log = logging.getLogger("glasswork.cache")


@dataclass(frozen=True)
class Report:
    """The findings of a full check: keys, and names of temporary files that nobody will finish."""

    checked: int
    corrupt: list[str]
    missing: list[str]
    unindexed: list[str]
    stale: list[str]

    @property
    def clean(self) -> bool:
        return not (self.corrupt or self.missing or self.unindexed or self.stale)


def tidy(root: Path, index: Index) -> None:
    """Make files and index agree, and remove what a crash left behind."""
    try:
        _reconcile(root, index)
    except sqlite3.OperationalError:
        raise  # busy, or no place left: the index itself is sound
    except sqlite3.DatabaseError:
        _log.warning("The index cannot be read and is made anew.")
        index.start_over()
        _reconcile(root, index)
    remove_stale(root / LOCKS)


def verify(root: Path, index: Index) -> Report:
    """Read every file fully and compare files with index; changes nothing."""
    known, listing = index.stored_keys(), scan(root)
    corrupt = [key for key in sorted(listing.keys) if _is_corrupt(root, key)]
    # Others may write and evict meanwhile, so a finding must still hold when it is looked at again.
    missing = [key for key in sorted(known - listing.keys) if not file_path(root, key).exists()]
    unindexed = [key for key in sorted(listing.keys - known) if file_path(root, key).exists()]
    return Report(
        checked=len(listing.keys),
        corrupt=corrupt,
        missing=[key for key in missing if index.entry(key)] + index.orphans(),
        unindexed=[key for key in unindexed if not index.entry(key)],
        stale=sorted(path.name for path in listing.temporary if is_stale(path)),
    )


def forget_missing(root: Path, index: Index, keys: Iterable[str]) -> None:
    """Remove the rows of those keys whose files are gone now."""
    index.remove([key for key in keys if not file_path(root, key).exists()])


def _reconcile(root: Path, index: Index) -> None:
    # Rows are read before files: an entry written in between looks unindexed, which does no harm.
    known, listing = index.stored_keys(), scan(root)
    for path in listing.temporary:
        if is_stale(path):
            remove_file(path)
    index.add(_adopted(root, listing.keys - known))
    forget_missing(root, index, known - listing.keys)


def _adopted(root: Path, keys: Iterable[str]) -> list[tuple[Row, list[Slice]]]:
    found = []
    for key in sorted(keys):
        try:
            row, slices = row_of(open_entry(root, key))
        except FileNotFoundError:
            continue
        except CorruptFile as error:
            _log.warning("Entry %s is deleted: %s", key, error)
            remove_file(file_path(root, key))
        except OSError as error:
            _log.warning("Entry %s cannot be opened: %s.", key, reason(error))
        else:
            found.append((row._replace(mtime_ns=UNCHECKED), slices))
    return found


def _is_corrupt(root: Path, key: str) -> bool:
    try:
        file = open_entry(root, key)
        row_of(file)
        file.check()
    except FileNotFoundError:
        return False
    except (CorruptFile, OSError):
        return True
    return False
