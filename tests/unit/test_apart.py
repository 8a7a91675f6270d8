"""The worker process: answers, errors, giving up, dying and starting again."""

import os
import time
from collections.abc import Iterator

import psutil
import pytest

from backends.errors import Cancelled
from backends.jobs.apart import Apart, run_apart


@pytest.fixture
def apart() -> Iterator[Apart]:
    """A worker process, ended afterwards."""
    made = Apart()
    yield made
    made.close()


def test_calls_run_in_one_other_process(apart: Apart) -> None:
    pids = {apart.wait(apart.submit("os:getpid")) for _ in range(3)}
    assert len(pids) == 1
    assert pids != {os.getpid()}


def test_errors_come_back_as_they_are(apart: Apart) -> None:
    with pytest.raises(ZeroDivisionError):
        apart.wait(apart.submit("operator:truediv", 1, 0))
    assert apart.wait(apart.submit("operator:add", 1, 2)) == 3


def test_a_timeout_of_the_call_is_not_taken_for_waiting(apart: Apart) -> None:
    with pytest.raises(TimeoutError):
        apart.wait(apart.submit("tests.unit.test_apart:late"))


def late() -> None:
    """Raise what waiting raises."""
    raise TimeoutError


def test_giving_up_drops_the_answer(apart: Apart) -> None:
    def check() -> None:
        raise Cancelled

    sleeping = apart.submit("time:sleep", 2)
    waiting = apart.submit("os:getpid")
    with pytest.raises(Cancelled):
        apart.wait(waiting, check)
    assert waiting.cancelled() or not waiting.done()
    sleeping.cancel()


def test_giving_up_a_process_of_its_own_kills_it() -> None:
    began = time.monotonic()

    def check() -> None:
        if time.monotonic() - began > 1:
            raise Cancelled

    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.raises(Cancelled):
        run_apart("time:sleep", 600, check=check)
    end = time.monotonic() + 20
    while _sleeping(before):
        assert time.monotonic() < end, "the child still lives"
        time.sleep(0.05)


def _sleeping(before: set[int]) -> list[psutil.Process]:
    """Return the children that came since, the resource tracker aside."""
    children = psutil.Process().children(recursive=True)
    found = []
    for child in children:
        try:
            command = " ".join(child.cmdline())
        except psutil.NoSuchProcess:
            continue
        if child.pid not in before and "spawn_main" in command:
            found.append(child)
    return found


def test_a_killed_worker_is_started_again(apart: Apart) -> None:
    pid = apart.wait(apart.submit("os:getpid"))
    psutil.Process(pid).kill()
    end = time.monotonic() + 20
    while True:
        try:
            again = apart.wait(apart.submit("os:getpid"))
            break
        except Exception:
            assert time.monotonic() < end
            time.sleep(0.05)
    assert again != pid
