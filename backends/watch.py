"""How a running computation speaks: progress, preliminary results, counts, and Stop."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from backends.errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """How far a job is. `seconds_left` is None until it can be told; `partial` is a preliminary
    result that has not been shown before."""

    done: int
    total: int
    note: str
    seconds_left: float | None = None
    partial: Any = None


class Watch:
    """Given to a computation; its methods raise `Cancelled` once someone has pressed Stop."""

    def __init__(
        self, stop: threading.Event | None = None, tell: Callable[[Progress], None] | None = None
    ) -> None:
        self._stop = stop or threading.Event()
        self._tell = tell or (lambda progress: None)
        self._last = Progress(0, 0, "")
        self._begun: tuple[float, int] | None = None
        self.counts: Counter[str] = Counter()

    def stop(self) -> None:
        """Ask the computation to end at its next step."""
        self._stop.set()

    def check(self) -> None:
        """Raise `Cancelled` if the work is to stop."""
        if self._stop.is_set():
            raise Cancelled

    def step(self, done: int, total: int, note: str = "") -> None:
        """Report that `done` of `total` steps are done, and what is next."""
        self.check()
        if self._begun is None or done <= self._begun[1]:
            self._begun = (time.monotonic(), done)
        self._last = Progress(done, total, note, self._left(done, total))
        self._tell(self._last)

    def show(self, partial: Any) -> None:
        """Show a preliminary result; it is never stored."""
        self.check()
        last = self._last
        self._tell(Progress(last.done, last.total, last.note, last.seconds_left, partial))

    def part(self) -> "Watch":
        """Return a watch for a piece of this work with results of another type.

        It stops, tells and counts with this one; its preliminary results are not shown.
        """
        piece = Watch(self._stop, lambda progress: self._tell(replace(progress, partial=None)))
        piece.counts = self.counts
        return piece

    def count(self, what: str, n: int = 1) -> None:
        """Count work, so that tests and users see what was computed and what was recalled."""
        self.counts[what] += n

    def _left(self, done: int, total: int) -> float | None:
        assert self._begun is not None
        began, first = self._begun
        spent = time.monotonic() - began
        if done <= first or spent < 1:
            return None
        return spent / (done - first) * (total - done)
