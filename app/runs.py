"""The runs that pages follow at this moment: each can be stopped once, by its own page only."""

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from backends.jobs.base import Job


class Run:
    """One page's following of a job: its look, the preliminary result that it shows, its stop."""

    def __init__(self, look: Mapping[str, Any]) -> None:
        self.id = secrets.token_hex(8)
        self.look = dict(look)
        self.partial: Any = None
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Say whether Stop was pressed."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Note that Stop was pressed."""
        self._stopped.set()


class Runs:
    """The runs of one tool, by id."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    @contextmanager
    def begun(self, job: Job, look: Mapping[str, Any]) -> Iterator[Run]:
        """Follow a job, and leave it at the end: by Stop, or as one whose page was closed."""
        run = Run(look)
        self._runs[run.id] = run
        try:
            yield run
        finally:
            del self._runs[run.id]
            if run.is_stopped:
                job.stop()
            else:
                job.leave()

    def get(self, run_id: str) -> Run | None:
        """Return a run, None if it is over."""
        return self._runs.get(run_id)

    def stop(self, run_id: str) -> bool:
        """Ask a run to end; False if it is over."""
        run = self._runs.get(run_id)
        if run is not None:
            run.stop()
        return run is not None

    def look(self, run_id: str, changed: Mapping[str, Any]) -> None:
        """Note what a page wants changed in the look of the pictures that are still to come."""
        run = self._runs.get(run_id)
        if run is not None:
            run.look = {**run.look, **changed}
