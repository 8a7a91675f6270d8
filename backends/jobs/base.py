"""What a job and a runner are. Later runners (a second machine, a cluster) keep these protocols."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from backends.contract import Method, Request
from backends.watch import Progress


@dataclass(frozen=True)
class JobState:
    """One line of the status page."""

    key: str
    method: str
    lane: str
    progress: Progress
    followers: int
    seconds: float


@dataclass(frozen=True)
class Stored:
    """A result with what is stored beside it. `hit` says that nothing was computed for it."""

    result: Any
    provenance: dict[str, Any]
    hit: bool
    counts: dict[str, int] = field(default_factory=dict)


@runtime_checkable
class Job(Protocol):
    """A request under way or done. One per fingerprint, however many follow it."""

    key: str

    def events(self, every: float = 0.25) -> Iterator[Progress]:
        """Yield the latest progress at least this often (seconds) until the job is done."""
        ...

    def result(self) -> Stored:
        """Wait, and return the result or raise what the computation raised."""
        ...

    def leave(self) -> None:
        """One follower goes; the last one ends the work, unless it goes on."""
        ...

    def stop(self) -> None:
        """One follower goes; the last one ends the work, also if it goes on."""
        ...


@runtime_checkable
class Runner(Protocol):
    """Computes requests."""

    def submit(self, method: Method[Any], request: Request, *, goes_on: bool = False) -> Job:
        """Start a request, or join the job that computes the same one.

        With `goes_on` the job outlives its followers, until someone stops it.
        """
        ...

    def recall(self, method: Method[Any], key: str) -> Stored | None:
        """Return a stored result, never a computation."""
        ...

    def find(self, key: str) -> Job | None:
        """Return the job of a key, if one is under way."""
        ...

    def jobs(self) -> list[JobState]:
        """Return what is under way."""
        ...
