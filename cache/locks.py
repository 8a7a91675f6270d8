"""File locks: one holder at a time for one key, among all threads and processes.

Each key has its own lock file. A lock for a group of keys could deadlock when one computation
needs another's result. A lock file stays after its release and is removed a day later.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from cache.files import DAY, reason, remove_file

POLL_SECONDS = 0.1
_log = logging.getLogger("glasswork.cache")


@contextmanager
def hold(path: Path, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock at `path`; while others do, call `wait` ten times a second.

    `wait` may raise to give up. Where locks do not work at all, go on without.
    """
    lock = _take(path, wait)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def remove_stale(folder: Path) -> None:
    """Remove lock files that are older than a day and held by nobody."""
    for path in folder.glob("*.lock"):
        try:
            if time.time() - path.stat().st_mtime > DAY:
                _remove(path)
        except OSError:
            continue


def _take(path: Path, wait: Callable[[], None]) -> BaseFileLock | None:
    # A soft lock would outlive a killed holder, so a file system without locks gets none.
    lock = FileLock(path, fallback_to_soft=False)
    while True:
        try:
            # One attempt. Unlike `blocking=False` it refuses to wait for this very thread.
            lock.acquire(cancel_check=lambda: True)
            return lock
        except Timeout:
            pass
        except OSError as error:
            _log.warning("Going on without the lock of %s: %s.", path.stem, reason(error))
            return None
        wait()
        time.sleep(POLL_SECONDS)


def _remove(path: Path) -> None:
    # Timeout, when somebody holds the lock, is an OSError too.
    with FileLock(path, blocking=False, fallback_to_soft=False):
        remove_file(path)
