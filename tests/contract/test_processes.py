"""Runs in real processes: killed at any moment, and six at once."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cache import Store

ROOT = Path(__file__).parents[2]
KILLS = 20
STEPS = 600


def _start(home: Path, steps: int, pause: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.toy_process", str(home), str(steps), str(pause)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_run_killed_twenty_times_leaves_a_clean_cache_and_goes_on(tmp_path: Path) -> None:
    moments = random.Random(0)
    parts = [0]
    for _ in range(KILLS):
        with _start(tmp_path, STEPS, 0.01) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            time.sleep(moments.uniform(0.05, 0.3))
            process.kill()
        store = Store(tmp_path / "cache")
        assert store.verify().clean
        parts.append(store.usage().by_kind.get("part/toy/1", (0, 0))[0])
    assert parts == sorted(parts)
    assert 0 < parts[-1] < STEPS

    answer = _answer(_start(tmp_path, STEPS, 0.01))
    assert answer["steps"] == STEPS
    assert answer["parts_recalled"] == parts[-1]
    assert answer["steps_made"] == STEPS - parts[-1]


def test_six_processes_asking_the_same_compute_it_once(tmp_path: Path) -> None:
    answers = [_answer(p) for p in [_start(tmp_path, 20, 0.05) for _ in range(6)]]
    assert [a["steps"] for a in answers] == [20] * 6
    assert sum(a.get("steps_made", 0) for a in answers) == 20
    assert sum(a.get("results_computed", 0) for a in answers) == 1
