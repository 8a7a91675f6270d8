"""The terminal: progress for people, everything that libraries say to the log file.

While a command computes, file descriptor 2 points to the log, so that warnings and progress bars
of libraries and of child processes cannot mix with ours; our own lines go to a copy of it.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from backends.watch import Progress

LOG_LIMIT = 5 * 2**20
BETWEEN_LINES = 5.0


def log_file(home: Path) -> Path:
    """Return the log file, emptied when it has grown past 5 MiB."""
    file = home / "log" / "glasswork.log"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if file.exists() and file.stat().st_size > LOG_LIMIT:
        file.write_bytes(b"")
    return file


def log_to(file: Path) -> None:
    """Send our loggers, and warnings of libraries, to a file."""
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    logging.getLogger("glasswork").setLevel(logging.INFO)
    logging.captureWarnings(True)


@contextmanager
def libraries_silenced(file: Path) -> Iterator[TextIO]:
    """Point standard error to the log; give a stream that still reaches the terminal."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with file.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        with os.fdopen(terminal, "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)


class ProgressLine:
    """One line that is rewritten on a terminal; elsewhere a new line every five seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrites = stream.isatty()
        self._began = time.monotonic()
        self._last = -BETWEEN_LINES

    def show(self, progress: Progress) -> None:
        """Show how far a job is."""
        now = time.monotonic() - self._began
        if progress.partial is not None:
            self._say(f"{now:6.1f} s  a preliminary result is ready")
        if not progress.note or (not self._rewrites and now - self._last < BETWEEN_LINES):
            return
        self._last = now
        share = f"{100 * progress.done / progress.total:3.0f}%" if progress.total else "    "
        left = (
            "" if progress.seconds_left is None else f", about {progress.seconds_left:.0f} s left"
        )
        self._say(f"{now:6.1f} s  {share}  {progress.note}{left}", rewrite=True)

    def done(self, hit: bool, counts: dict[str, int]) -> None:
        """Say that the job is done, and what was computed."""
        spent = f"{time.monotonic() - self._began:6.1f} s"
        work = ", ".join(
            f"{n} {name.replace('_', ' ')}"
            for name, n in sorted(counts.items())
            if not name.startswith("results")
        )
        ended = f"done: {work}" if work else "done"
        self._say(f"{spent}  {'recalled, nothing computed' if hit else ended}")

    def _say(self, text: str, rewrite: bool = False) -> None:
        if self._rewrites:
            self._stream.write(f"\r\x1b[K{text}" if rewrite else f"\r\x1b[K{text}\n")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()
