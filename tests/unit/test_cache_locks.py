"""One computation for one key, among threads and processes."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

import cache
from cache import Store, fingerprint
from cache.files import DAY

REPOSITORY = Path(cache.__file__).parents[1]
KIND = "result/knowledge_map/1"
KEY = fingerprint(KIND, {"text": "a"})
OTHER = fingerprint(KIND, {"text": "b"})

WORKER = """
import sys, time
from pathlib import Path
import numpy as np
from cache import Store

root, key, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def make():
    with (root / "made").open("a", encoding="utf-8") as log:
        log.write(name + chr(10))
    time.sleep(0.3)
    return {"scores": np.arange(1000)}, {"maker": name}

(root / f"ready.{name}").touch()
while not (root / "go").exists():
    time.sleep(0.005)
entry = Store(root / "store").get_or_compute(key, "result/x/1", make)
print(entry.hit, entry.meta["maker"], int(entry.arrays["scores"].sum()))
"""


def start(root, name):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root), KEY, name],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def opened(tmp_path):
    return Store(tmp_path / "store")


def make():
    return {"scores": np.arange(3)}, {}


def never():
    raise AssertionError("computed although it was there")


def lock_of(target, key):
    return FileLock(target.root / "locks" / f"{key}.lock")


def test_six_processes_compute_once(tmp_path):
    workers = [start(tmp_path, str(number)) for number in range(6)]
    while len(list(tmp_path.glob("ready.*"))) < 6:
        assert all(worker.poll() is None for worker in workers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    outputs = [worker.communicate() for worker in workers]
    assert [errors for _, errors in outputs] == [""] * 6
    (maker,) = (tmp_path / "made").read_text(encoding="utf-8").split()
    answers = sorted(output.split() for output, _ in outputs)
    total = str(sum(range(1000)))
    assert answers == [["False", maker, total]] + [["True", maker, total]] * 5


def test_twelve_threads_compute_once(opened):
    made = []
    barrier = threading.Barrier(12)

    def slow():
        made.append(threading.get_ident())
        time.sleep(0.05)
        return make()

    def ask(_):
        barrier.wait()
        return opened.get_or_compute(KEY, KIND, slow)

    with ThreadPoolExecutor(12) as pool:
        entries = list(pool.map(ask, range(12)))
    assert len(made) == 1
    assert sorted(entry.hit for entry in entries) == [False] + [True] * 11
    assert all(entry.arrays["scores"].tolist() == [0, 1, 2] for entry in entries)


def test_twelve_threads_write_different_keys(opened):
    def write(number):
        key = fingerprint(KIND, {"number": number})
        opened.put(key, KIND, {"scores": np.full(100, number)}, {})
        return opened.get(key).arrays["scores"][0]

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(write, range(120))) == list(range(120))
    assert opened.usage().entries == 120
    assert opened.verify().clean


def test_a_stored_entry_is_not_computed(opened):
    opened.get_or_compute(KEY, KIND, make, fields={"a": 1})
    assert opened.get_or_compute(KEY, KIND, never).hit


def test_wait_is_called_while_another_holds_the_lock(opened):
    calls = []
    enough = threading.Event()

    def wait():
        calls.append(1)
        if len(calls) == 3:
            enough.set()

    with ThreadPoolExecutor(1) as pool:
        with lock_of(opened, KEY):
            waiting = pool.submit(opened.get_or_compute, KEY, KIND, make, wait=wait)
            assert enough.wait(60)
            assert not waiting.done()
        assert not waiting.result().hit


class GiveUp(OSError):
    """An OSError, so that it could be mistaken for a failing lock."""


def test_wait_that_raises_gives_up(opened):
    calls = []

    def wait():
        calls.append(1)
        if len(calls) == 2:
            raise GiveUp

    with ThreadPoolExecutor(1) as pool, lock_of(opened, KEY):
        waiting = pool.submit(opened.get_or_compute, KEY, KIND, never, wait=wait)
        with pytest.raises(GiveUp):
            waiting.result()
    assert len(calls) == 2
    assert not opened.get_or_compute(KEY, KIND, make).hit


def test_wait_is_not_called_when_the_lock_is_free(opened):
    assert not opened.get_or_compute(KEY, KIND, make, wait=never).hit


def test_a_failing_computation_releases_the_lock(opened):
    def fail():
        raise GiveUp

    with pytest.raises(GiveUp):
        opened.get_or_compute(KEY, KIND, fail)
    assert opened.get(KEY) is None
    assert not opened.get_or_compute(KEY, KIND, make, wait=never).hit


def test_a_computation_may_ask_for_another_key(opened):
    def outer():
        inner = opened.get_or_compute(OTHER, KIND, make)
        return {"doubled": inner.arrays["scores"] * 2}, {}

    entry = opened.get_or_compute(KEY, KIND, outer)
    assert entry.arrays["doubled"].tolist() == [0, 2, 4]
    assert opened.usage().entries == 2


def test_a_computation_that_asks_for_itself_is_told(opened):
    with pytest.raises(RuntimeError, match="Deadlock"):
        opened.get_or_compute(KEY, KIND, lambda: opened.get_or_compute(KEY, KIND, make))
    assert not opened.get_or_compute(KEY, KIND, make, wait=never).hit


def test_without_locks_it_computes_all_the_same(opened, monkeypatch, caplog):
    def refuse(*_, **__):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    assert not opened.get_or_compute(KEY, KIND, make).hit
    assert opened.get(KEY).hit
    assert "No locks available" in caplog.text


@pytest.mark.parametrize(
    ("age", "held", "stays"), [(2, False, False), (2, True, True), (0, False, True)]
)
def test_old_locks_that_nobody_holds_go(opened, age, held, stays):
    path = opened.root / "locks" / f"{KEY}.lock"
    path.touch()
    moment = time.time() - age * DAY
    os.utime(path, (moment, moment))
    lock = lock_of(opened, KEY)
    if held:
        lock.acquire()
    Store(opened.root)
    assert path.exists() is stays
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_gets_its_own_connection(opened):
    opened.put(KEY, KIND, *make())
    inherited = opened.index._db()
    child = os.fork()
    if child == 0:
        try:
            found = opened.get(KEY) is not None and opened.index._db() is not inherited
            opened.put(OTHER, KIND, *make())
            os._exit(0 if found and opened.usage().entries == 2 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert opened.index._db() is inherited
    assert opened.get(OTHER).hit
    assert opened.usage().entries == 2
    assert opened.verify().clean
