"""Crashes: whenever a process dies, the store is in order after the next start."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cache
from cache import Store
from cache.files import scan

REPOSITORY = Path(cache.__file__).parents[1]

# Dies, as if killed, in the middle of the named function.
DYING = """
import os, sys
from pathlib import Path
import numpy as np
import cache.files, cache.index, cache.store
from cache import Store, fingerprint

root, owner, name, after = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "after"
store = Store(root, 3000)

def key(number):
    return fingerprint("result/x/1", {"number": number})

def put(number):
    store.put(key(number), "result/x/1", {"a": np.full(200, number)}, {})

put(1)
places = {"Path": Path, "Index": cache.index.Index, "files": cache.files, "store": cache.store}
place = places[owner]
original = getattr(place, name)

def die(*arguments, **options):
    if after:
        original(*arguments, **options)
    os._exit(9)

setattr(place, name, die)
put(2)
"""

# Writes, reads and evicts until it is killed.
BUSY = """
import sys
from itertools import count
from pathlib import Path
import numpy as np
from cache import Activations, Store, fingerprint

store = Store(Path(sys.argv[1]), 3_000_000)
activations = Activations(store)
rng = np.random.default_rng(int(sys.argv[2]))
print("ready", flush=True)
for number in count(int(sys.argv[2]) * 100_000):
    key = fingerprint("result/x/1", {"number": number % 50})
    store.get_or_compute(key, "result/x/1", lambda: ({"a": rng.random(rng.integers(20_000))}, {}))
    block = rng.random((30, 100), dtype=np.float32)
    row = fingerprint("activation/1", {"number": number})
    activations.put({"h": block}, [(row, "h", 0, 30)])
    store.put(key, "part/x/1", {"a": block}, {"number": number})
    store.note_request(key, "x", {"number": number})
    if number % 7 == 0:
        store.delete(key)
"""


def run(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("owner", "name", "moment", "before", "kept"),
    [
        ("files", "_write", "after", "stale", 1),  # the temporary file is whole
        ("Path", "replace", "before", "stale", 1),
        ("Path", "replace", "after", "unindexed", 2),
        ("Index", "add", "before", "unindexed", 2),
        ("store", "evict", "before", None, 2),
        ("files", "encode", "before", None, 1),
    ],
)
def test_a_crash_while_writing(tmp_path, owner, name, moment, before, kept):
    root = tmp_path / "store"
    worker = run(DYING, root, owner, name, moment)
    worker.communicate()
    assert worker.returncode == 9
    # Opened without what a start puts in order, to see that there was something to do.
    untidied = Store.__new__(Store)
    untidied.root, untidied.index = root, cache.store.Index(root / "index.sqlite")
    found = untidied.verify()
    assert found.clean is (before is None)
    if before:
        assert len(getattr(found, before)) == 1
    target = Store(root)
    assert target.verify().clean
    assert target.usage().entries == kept
    assert all(target.get(key) for key in scan(root).keys)


def test_a_crash_between_deleting_a_file_and_its_row(tmp_path):
    root = tmp_path / "store"
    code = DYING.replace("3000", "100")
    worker = run(code, root, "Index", "remove", "before")
    worker.communicate()
    assert worker.returncode == 9
    target = Store(root)
    assert target.verify().clean
    assert target.usage().entries == 1


def test_a_temporary_file_of_a_living_writer_is_left_alone(tmp_path):
    target = Store(tmp_path)
    (tmp_path / "ab").mkdir()
    temporary = tmp_path / "ab" / f"{'ab' * 32}.{os.getpid()}.0011.part"
    temporary.touch()
    assert target.verify().clean
    assert Store(tmp_path).verify().clean
    assert temporary.exists()


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    moments = random.Random(0)
    root = tmp_path / "store"
    written = set()
    for turn in range(20):
        worker = run(BUSY, root, turn)
        assert worker.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.0, 0.4))
        worker.kill()
        worker.communicate()
        target = Store(root)
        assert target.verify().clean
        keys = scan(root).keys
        written |= keys
        assert all(target.get(key) for key in keys)
    assert len(written) > 20
