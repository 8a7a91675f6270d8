"""Runs requests in threads of this process: two lanes, one job per fingerprint.

A stored result is handed out at once, past the lanes. Methods that take over a minute have a lane
of their own, so that short questions do not wait behind them. Stop sets a flag that the
computation looks at between its steps; what it has stored as parts by then is found again by the
next run. A job that goes on outlives its followers, until someone stops it.
"""

import contextvars
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any

from backends.accept import accept, request_key
from backends.codec import pack, unpack
from backends.contract import Known, Method, Request
from backends.errors import Cancelled
from backends.jobs.apart import Apart
from backends.jobs.base import JobState, Stored
from backends.lab import Lab
from backends.math.threads import use_one_blas_thread
from backends.watch import Progress, Watch
from cache import Entry, Store

LONG = 60
"""Seconds above which a method runs in the long lane."""
SHORT_LANE, LONG_LANE = "short", "long"


class LocalJob:
    """A request in a lane, or already done. `goes_on`: it outlives its followers."""

    def __init__(self, key: str, method: str, lane: str, goes_on: bool = False) -> None:
        self.key = key
        self.method = method
        self.lane = lane
        self.goes_on = goes_on
        self.followers = 1
        self.began = time.monotonic()
        self.progress = Progress(0, 0, "waiting")
        self.watch = Watch(threading.Event(), self._hear)
        self.future: Future[Stored] = Future()
        self._partial: Any = None
        self._ending = False
        self._lock = threading.Lock()

    def events(self, every: float = 0.25) -> Iterator[Progress]:
        """Yield the latest progress; a preliminary result is yielded to each follower once."""
        shown: Any = None
        while True:
            ended = _ended(self.future, every)
            partial = self._partial if self._partial is not shown else None
            shown = self._partial
            last = self.progress
            yield Progress(last.done, last.total, last.note, last.seconds_left, partial)
            if ended:
                return

    def result(self) -> Stored:
        """Wait, and return the result or raise what the computation raised."""
        try:
            return self.future.result()
        except CancelledError:
            raise Cancelled from None

    def leave(self) -> None:
        """One follower goes; the last one ends the work, unless it goes on."""
        self._unfollow(keep=self.goes_on)

    def stop(self) -> None:
        """One follower goes; the last one ends the work, also if it goes on."""
        self._unfollow(keep=False)

    def end(self) -> None:
        """End the work for all followers."""
        with self._lock:
            self._ending = True
        self.watch.stop()
        self.future.cancel()

    def join(self, goes_on: bool = False) -> bool:
        """Follow this job too; False if it is being stopped."""
        with self._lock:
            if self._ending:
                return False
            self.followers += 1
            self.goes_on |= goes_on
            return True

    def _unfollow(self, keep: bool) -> None:
        with self._lock:
            self.followers = max(0, self.followers - 1)
            is_over = self.followers == 0 and not keep
            self._ending |= is_over
        if is_over:
            self.end()

    def _hear(self, progress: Progress) -> None:
        self.progress = progress
        if progress.partial is not None:
            self._partial = progress.partial


class LocalRunner:
    """The runner of a laptop and of one server. `models` makes the models' verbs for a watch."""

    def __init__(
        self,
        store: Store,
        known: Known,
        methods: Callable[[str], Method[Any]],
        models: Callable[[Watch], Any],
    ) -> None:
        self.store = store
        self.known = known
        self._methods = methods
        self.models = models
        self._worker = Apart()
        self._lanes: dict[str, ThreadPoolExecutor] = {}
        self._jobs: dict[str, LocalJob] = {}
        self._lock = threading.RLock()

    def submit(self, method: Method[Any], request: Request, *, goes_on: bool = False) -> LocalJob:
        """Start a request or join the job of the same fingerprint; a stored one is done at once."""
        key = request_key(method, request, self.known)
        self.store.note_request(key, method.key, request.model_dump(mode="json"))
        with self._lock:
            running = self._jobs.get(key)
            if running is not None and running.join(goes_on):
                return running
            lane = LONG_LANE if method.seconds > LONG else SHORT_LANE
            job = LocalJob(key, method.key, lane, goes_on)
            stored = self.recall(method, key)
            if stored is not None:
                job.progress = Progress(1, 1, "")
                job.future.set_result(stored)
                return job
            self._jobs[key] = job
            run = contextvars.copy_context().run
            job.future = self._executor(lane).submit(run, self._work, job, method, request)
        job.future.add_done_callback(lambda _: self._forget(job))
        return job

    def recall(self, method: Method[Any], key: str) -> Stored | None:
        """Return a stored result, never a computation."""
        entry = self.store.get(key)
        return None if entry is None else _stored(method, entry, {})

    def find(self, key: str) -> LocalJob | None:
        """Return the job of a key, if one is under way."""
        with self._lock:
            return self._jobs.get(key)

    def jobs(self) -> list[JobState]:
        """Return what is under way."""
        now = time.monotonic()
        with self._lock:
            return [
                JobState(j.key, j.method, j.lane, j.progress, j.followers, now - j.began)
                for j in self._jobs.values()
            ]

    def warm_up(self, methods: Iterable[Method[Any]]) -> None:
        """Let the worker process prepare for these methods, unless a job is under way already."""
        functions = dict.fromkeys(m.warm_up for m in methods if m.warm_up)
        if not self.jobs():
            for function in functions:
                self._worker.submit(function)

    def close(self) -> None:
        """Stop all jobs and end the worker process."""
        with self._lock:
            for job in list(self._jobs.values()):
                job.end()
            for lane in self._lanes.values():
                lane.shutdown(wait=False, cancel_futures=True)
        self._worker.close()

    def _work(self, job: LocalJob, method: Method[Any], request: Request) -> Stored:
        job.watch.check()
        return self._compute(method, request, job.key, job.watch)

    def _compute(self, method: Method[Any], request: Request, key: str, watch: Watch) -> Stored:
        def make() -> tuple[Any, Any]:
            lab = Lab(
                method,
                key,
                self.store,
                self.known,
                watch,
                self.models,
                self._worker,
                self._inner,
            )
            use_one_blas_thread()
            arrays, values = pack(method.compute(request, lab))
            return arrays, {"values": values, "provenance": lab.provenance}

        fields = {"method": method.key}
        entry = self.store.get_or_compute(key, method.kind, make, fields=fields, wait=watch.check)
        watch.count("results_recalled" if entry.hit else "results_computed")
        return _stored(method, entry, dict(watch.counts))

    def _inner(self, method_key: str, fields: Mapping[str, Any], watch: Watch) -> Any:
        """Compute another method as a part of a running one, in the same thread."""
        method = self._methods(method_key)
        request = accept(method, fields, self.known)
        key = request_key(method, request, self.known)
        return self._compute(method, request, key, watch.part()).result

    def _executor(self, lane: str) -> ThreadPoolExecutor:
        if lane not in self._lanes:
            self._lanes[lane] = ThreadPoolExecutor(1, thread_name_prefix=f"lane-{lane}")
        return self._lanes[lane]

    def _forget(self, job: LocalJob) -> None:
        with self._lock:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]


def _stored(method: Method[Any], entry: Entry, counts: dict[str, int]) -> Stored:
    result = unpack(method.result, entry.arrays, entry.meta["values"])
    return Stored(result, entry.meta["provenance"], entry.hit, counts)


def _ended(future: "Future[Any]", seconds: float) -> bool:
    try:
        future.exception(timeout=seconds)
    except TimeoutError:
        return False
    except CancelledError:
        return True
    return True
