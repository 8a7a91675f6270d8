"""The eight cases that every runner passes, here for the local one, with the toy method."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.engine import Engine
from backends.discovery import find_methods
from backends.errors import Cancelled
from backends.jobs.base import Job, Runner
from backends.jobs.local import LocalRunner
from cache import Store

METHOD = find_methods("tests.toy_methods").methods["toy"]


def request(**fields: Any) -> Any:
    """Return a request of the toy."""
    return METHOD.request(**fields)


@pytest.fixture
def runner(engine: Engine) -> Iterator[LocalRunner]:
    """A runner that knows the toy."""
    made = _runner(engine, engine.store)
    yield made
    made.close()


def _runner(engine: Engine, store: Store) -> LocalRunner:
    found = find_methods("tests.toy_methods")
    return LocalRunner(store, engine.known, found.get, lambda watch: None)


def _wait_for(is_true: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_protocols(runner: LocalRunner) -> None:
    assert isinstance(runner, Runner)
    assert isinstance(runner.submit(METHOD, request()), Job)


def test_result(runner: LocalRunner) -> None:
    stored = runner.submit(METHOD, request(steps=4, text=" Paris ")).result()
    assert stored.result.squares.tolist() == [0, 1, 4, 9]
    assert stored.result.text == " Paris "
    assert stored.provenance["n"] == 4
    assert not stored.hit
    assert stored.counts["steps_made"] == 4


def test_progress_comes_in_order(runner: LocalRunner) -> None:
    job = runner.submit(METHOD, request(steps=5, pause=0.05))
    seen = [p.done for p in job.events(every=0.01) if p.total]
    assert seen == sorted(seen)
    assert len(set(seen)) >= 3
    assert job.result().result.steps == 5


def test_partial_is_shown_once_and_never_stored(runner: LocalRunner) -> None:
    job = runner.submit(METHOD, request(steps=4, pause=0.05))
    partials = [p.partial for p in job.events(every=0.01) if p.partial is not None]
    assert [p.squares.tolist() for p in partials] == [[0.0]]
    stored = runner.recall(METHOD, job.key)
    assert stored is not None
    assert stored.result.steps == 4


def test_stop_ends_at_the_next_step(runner: LocalRunner) -> None:
    job = runner.submit(METHOD, request(steps=1000, pause=0.02))
    _wait_for(lambda: job.watch.counts["steps_made"] >= 2)
    job.stop()
    with pytest.raises(Cancelled):
        job.result()
    made = job.watch.counts["steps_made"]
    assert made < 1000
    _wait_for(lambda: runner.find(job.key) is None)
    assert job.watch.counts["steps_made"] == made
    assert runner.recall(METHOD, job.key) is None


def test_two_followers_share_one_job_and_the_last_one_ends_it(runner: LocalRunner) -> None:
    first = runner.submit(METHOD, request(steps=1000, pause=0.02))
    second = runner.submit(METHOD, request(steps=1000, pause=0.02))
    assert second is first
    first.leave()
    _wait_for(lambda: first.watch.counts["steps_made"] >= 3)
    assert runner.find(first.key) is first
    second.leave()
    with pytest.raises(Cancelled):
        second.result()


def test_a_new_request_after_the_last_one_left_starts_again(runner: LocalRunner) -> None:
    left = runner.submit(METHOD, request(steps=30, pause=0.02))
    _wait_for(lambda: left.watch.counts["steps_made"] >= 2)
    left.leave()
    again = runner.submit(METHOD, request(steps=30, pause=0.02))
    assert again is not left
    assert again.result().result.steps == 30


def test_error_type_and_message_survive(runner: LocalRunner) -> None:
    job = runner.submit(METHOD, request(fail=True))
    with pytest.raises(ValueError, match="the toy was told to fail"):
        job.result()
    assert runner.recall(METHOD, job.key) is None
    assert runner.submit(METHOD, request()).result().result.steps == 3


def test_second_run_is_instant(runner: LocalRunner) -> None:
    first = runner.submit(METHOD, request(steps=4)).result()
    second = runner.submit(METHOD, request(steps=4))
    assert second.future.done()
    assert second.result().hit
    assert second.result().counts == {}
    assert second.result().result.squares.tobytes() == first.result.squares.tobytes()


def test_resumed_run_is_byte_equal_to_an_uninterrupted_one(
    runner: LocalRunner, engine: Engine, tmp_path: Path
) -> None:
    asked = request(steps=12, pause=0.02)
    stopped = runner.submit(METHOD, asked)
    _wait_for(lambda: stopped.watch.counts["steps_made"] >= 5)
    stopped.stop()
    with pytest.raises(Cancelled):
        stopped.result()
    resumed = runner.submit(METHOD, asked).result()
    assert resumed.counts["parts_recalled"] >= 5
    assert resumed.counts["steps_made"] == 12 - resumed.counts["parts_recalled"]

    other = _runner(engine, Store(tmp_path / "other"))
    job = other.submit(METHOD, asked)
    whole = job.result()
    other.close()
    np.testing.assert_array_equal(resumed.result.squares, whole.result.squares)
    files = [next(s.root.glob(f"{job.key[:2]}/{job.key}*")) for s in (runner.store, other.store)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_many_threads_asking_the_same_compute_once(runner: LocalRunner) -> None:
    jobs: list[Any] = []

    def ask() -> None:
        jobs.append(runner.submit(METHOD, request(steps=6, pause=0.05)))

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(job.result().result.steps == 6 for job in jobs)
    assert sum(j.watch.counts["steps_made"] for j in {id(j): j for j in jobs}.values()) == 6


def test_jobs_are_listed_while_they_run(runner: LocalRunner) -> None:
    job = runner.submit(METHOD, request(steps=1000, pause=0.02))
    (state,) = runner.jobs()
    assert (state.key, state.method, state.followers) == (job.key, "toy", 1)
    job.stop()
    _wait_for(lambda: runner.jobs() == [])


def test_a_job_that_goes_on_outlives_its_followers(runner: LocalRunner) -> None:
    asked = request(steps=30, pause=0.02)
    job = runner.submit(METHOD, asked, goes_on=True)
    _wait_for(lambda: job.watch.counts["steps_made"] >= 2)
    job.leave()
    assert runner.find(job.key) is job
    again = runner.submit(METHOD, asked)
    assert again is job
    assert again.result().result.steps == 30
    assert job.watch.counts["steps_made"] == 30


def test_stop_ends_a_job_that_goes_on_when_nobody_else_follows(runner: LocalRunner) -> None:
    asked = request(steps=1000, pause=0.02)
    first = runner.submit(METHOD, asked, goes_on=True)
    second = runner.submit(METHOD, asked)
    assert second is first
    first.stop()
    _wait_for(lambda: first.watch.counts["steps_made"] >= 2)
    assert runner.find(first.key) is first
    second.stop()
    with pytest.raises(Cancelled):
        first.result()


def test_end_stops_a_job_for_all_followers(runner: LocalRunner) -> None:
    asked = request(steps=1000, pause=0.02)
    job = runner.submit(METHOD, asked, goes_on=True)
    runner.submit(METHOD, asked)
    job.end()
    with pytest.raises(Cancelled):
        job.result()
    _wait_for(lambda: runner.find(job.key) is None)


def test_long_methods_do_not_hold_up_short_ones(runner: LocalRunner) -> None:
    slow = replace(METHOD, seconds=120)
    long = runner.submit(slow, request(steps=1000, pause=0.02))
    short = runner.submit(METHOD, request(steps=3))
    assert short.result().result.steps == 3
    assert runner.find(long.key) is long
    assert {state.lane for state in runner.jobs()} == {"long"}
    long.stop()
