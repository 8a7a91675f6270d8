"""Eviction: delete whole entries, the least recently used first, until 90% of the limit is left.

The file goes before its row: a crash between the two leaves a row without a file, which reads as
a miss and is removed at the next start. An open, mapped file survives its deletion on POSIX;
Windows refuses to delete it, and it is left for a later time.
"""

from pathlib import Path

from cache.files import file_path, remove_file
from cache.index import Index

KEPT_SHARE = 0.9


def evict(root: Path, index: Index, limit: int, keep: str) -> None:
    """Bring the entries under `limit` bytes again, sparing `keep`."""
    total = index.total()
    if total <= limit:
        return
    gone = []
    for key, size in index.oldest():
        if total <= limit * KEPT_SHARE:
            break
        if key != keep and remove_file(file_path(root, key)):
            gone.append(key)
            total -= size
    index.remove(gone)
