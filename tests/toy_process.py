"""Run the toy method in a process of its own, as the tests of crashes and of sharing need it.

Usage: python -m tests.toy_process HOME STEPS PAUSE. Prints `started` after the first step, and the
counts of the work done as JSON at the end.
"""

import json
import sys
from pathlib import Path

from app.settings import Settings
from backends.discovery import find_methods
from backends.jobs.local import LocalRunner
from launch import build


def main(home: str, steps: str, pause: str) -> None:
    """Run the toy to its end."""
    settings = Settings(Path(home), Path(home) / "models", 10**9, 10**9, 1, "cpu")
    engine = build(settings)
    found = find_methods("tests.toy_methods")
    method = found.methods["toy"]
    runner = LocalRunner(engine.store, engine.known, found.get, lambda watch: None)
    job = runner.submit(method, method.request(steps=int(steps), pause=float(pause)))
    next((p for p in job.events(every=0.01) if p.done > 0 or job.future.done()), None)
    sys.stdout.write("started\n")
    sys.stdout.flush()
    stored = job.result()
    answer = {"hit": stored.hit, "steps": stored.result.steps, **stored.counts}
    sys.stdout.write(json.dumps(answer) + "\n")
    runner.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
