"""The status page and /healthz: what they show and escape, Stop, and a cache that is gone."""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from app.engine import Engine
from app.messages import duration, told
from app.notes import Notes
from app.pieces import block, cell, size, table
from app.status import (
    SECONDS,
    Shown,
    build_status,
    health,
    health_route,
    own_version,
    status_blocks,
    stop_job,
)
from backends.discovery import find_methods
from backends.errors import BadRequest, Cancelled
from backends.jobs.local import LocalRunner

METHOD = find_methods("tests.toy_methods").methods["toy"]
EVIL = "<script>alert(1)<"
BLOCKS = ("jobs", "cache", "models", "machine")


class Tags(HTMLParser):
    """The elements of a piece of HTML, as (name, attributes)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def toys(engine: Engine) -> Iterator[Engine]:
    """An engine whose runner knows the toy method."""
    found = find_methods("tests.toy_methods")
    runner = LocalRunner(engine.store, engine.known, found.get, lambda watch: None)
    yield replace(engine, runner=runner, found=found)
    runner.close()


@pytest.fixture
def evil(engine: Engine, tmp_path: Path, model_folders: Path) -> Engine:
    """An engine that knows a model whose name is a script."""
    from launch import build

    shutil.copytree(model_folders / "tiny", tmp_path / "own" / EVIL / "x&y")
    return build(replace(engine.settings, models=tmp_path / "own"))


def drawn(engine: Engine, name: str) -> str:
    """Return one block of the page."""
    return status_blocks(engine)[name]()


def wait_for(is_true: Any, seconds: float = 20.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_health_is_cheap_and_plain(toys: Engine) -> None:
    job = toys.runner.submit(METHOD, METHOD.request(steps=1000, pause=0.02))
    found = health(toys)
    assert found == {
        "status": "ok",
        "version": own_version(),
        "jobs": 1,
        "methods": 1,
        "cache": "ok",
    }
    job.end()


def test_health_is_degraded_when_the_cache_is_gone(engine: Engine) -> None:
    route = health_route(engine)
    assert (route.path, route.methods) == ("/healthz", {"GET", "HEAD"})
    answer = route.endpoint(None)
    assert (answer.status_code, json.loads(answer.body)["status"]) == (200, "ok")
    assert answer.headers["cache-control"] == "no-store"
    shutil.rmtree(engine.store.root)
    answer = route.endpoint(None)
    assert (answer.status_code, json.loads(answer.body)["status"]) == (503, "degraded")


def test_the_version_is_that_of_the_project() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", own_version())


def test_a_quiet_machine_says_so(engine: Engine) -> None:
    assert "Nothing is being computed." in drawn(engine, "jobs")
    assert "0 entries, 0 kB of 1 GB" in drawn(engine, "cache")
    assert re.search(r"[12] ready, \d\d can be downloaded, [01] not here", drawn(engine, "models"))
    assert "tiny" in drawn(engine, "models")
    machine = drawn(engine, "machine")
    assert str(engine.settings.home) in machine
    assert ">cpu</td>" in machine
    assert f"Glasswork {own_version()}, Python 3." in machine


def test_which_device_is_not_asked_before_a_model_is_loaded(engine: Engine) -> None:
    unset = replace(engine, settings=replace(engine.settings, device="auto", threads=0))
    machine = drawn(unset, "machine")
    assert "chosen when the first model is loaded" in machine
    assert "torch decides (" in machine


def test_notes_are_counted(engine: Engine) -> None:
    Notes(engine.settings.home).put("a" * 64, "label", "x")
    assert '<th scope="row">Notes</th><td>1</td>' in drawn(engine, "machine")


def test_a_job_is_shown_with_stop_and_open(toys: Engine) -> None:
    job = toys.runner.submit(METHOD, METHOD.request(steps=100, pause=0.05))
    wait_for(lambda: job.progress.done >= 1)
    tags = Tags(drawn(toys, "jobs")).found
    assert [a["href"] for tag, a in tags if tag == "a"] == [f"?method=toy&r={job.key}"]
    assert [a["data-key"] for tag, a in tags if tag == "button"] == [job.key]
    text = drawn(toys, "jobs")
    assert re.search(r"<td>step \d+</td>", text)
    assert re.search(r">\d+ of 100</td>", text)
    wait_for(lambda: "about" in drawn(toys, "jobs"))
    assert toys.runner.submit(METHOD, METHOD.request(steps=100, pause=0.05)) is job
    assert '<td class="gw-number">2</td>' in drawn(toys, "jobs")
    job.end()


def test_stop_ends_a_job_for_all(toys: Engine) -> None:
    job = toys.runner.submit(METHOD, METHOD.request(steps=2, pause=1.0), goes_on=True)
    assert toys.runner.submit(METHOD, METHOD.request(steps=2, pause=1.0)) is job
    wait_for(lambda: job.progress.total)
    assert stop_job(toys, job.key)
    assert "disabled>Stopping…</button>" in drawn(toys, "jobs")
    with pytest.raises(Cancelled):
        job.result()
    wait_for(lambda: "Nothing is being computed." in drawn(toys, "jobs"))
    assert not stop_job(toys, job.key)


@pytest.mark.parametrize("key", [None, "", "x" * 64, ["x"], {"a": 1}])
def test_stopping_what_is_not_there_does_nothing(engine: Engine, key: object) -> None:
    assert not stop_job(engine, key)


def test_what_the_cache_holds_is_shown_by_kind(toys: Engine) -> None:
    toys.runner.submit(METHOD, METHOD.request(steps=3)).result()
    text = drawn(toys, "cache")
    assert "4 entries" in text
    assert "<td>part/toy/1</td>" in text
    assert "<td>result/toy/1</td>" in text


def test_everything_is_escaped(toys: Engine, evil: Engine) -> None:
    assert html_of_evil(drawn(evil, "models"))
    job = toys.runner.submit(METHOD, METHOD.request(steps=1000, pause=0.02))
    wait_for(lambda: job.progress.total)
    job.progress = replace(job.progress, note=EVIL)
    job.method = EVIL
    assert html_of_evil(drawn(toys, "jobs"))
    assert html_of_evil(block(EVIL, lambda: table([EVIL], [cell(EVIL)])))
    job.end()


def html_of_evil(text: str) -> bool:
    """Say whether the script stands in a text and is none."""
    return "&lt;script&gt;alert(1)&lt;" in text and "script" not in dict(Tags(text).found)


def test_an_error_is_told_in_its_block(caplog: pytest.LogCaptureFixture) -> None:
    def known() -> str:
        raise BadRequest("x", "Layer 13 is outside <0..11>.")

    def unknown() -> str:
        raise ValueError("secret")

    assert "<p class='gw-error' role='alert'>Layer 13 is outside &lt;0..11&gt;." in block(
        "A", known
    )
    assert "secret" not in caplog.text
    text = block("A", unknown)
    found = re.search(r"Something went wrong \(id ([0-9a-f]{4})\);", text)
    assert found is not None
    assert "secret" not in text
    assert f"id {found[1]}" in caplog.text
    assert told(BadRequest("x", "A sentence.")) == "A sentence."


def test_a_broken_index_leaves_the_rest(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("gone")

    monkeypatch.setattr(engine.store, "usage", fail)
    assert "Something went wrong" in drawn(engine, "cache")
    assert "Something went wrong" not in "".join(drawn(engine, n) for n in BLOCKS if n != "cache")


def test_numbers_are_told_as_people_say_them() -> None:
    assert [size(n) for n in (0, 1500, 2_000_000, 270_140_000, 3_200_000_000)] == [
        *("0 kB", "1.5 kB", "2 MB", "270.1 MB", "3.2 GB"),
    ]
    assert [duration(s) for s in (0.4, 89.4, 90, 600, 5400, 9000)] == [
        *("0 s", "89 s", "2 min", "10 min", "1 h 30 min", "2 h 30 min"),
    ]


def build(engine: Engine) -> tuple[gr.Blocks, Shown]:
    """Return a page with the status only.

    Outside of a running event loop Gradio makes some of its own and never closes them.
    """

    async def make() -> tuple[gr.Blocks, Shown]:
        with gr.Blocks(analytics_enabled=False) as page:
            return page, build_status(engine)

    return asyncio.run(make())


def test_the_page_refreshes_itself_only_while_it_is_shown(toys: Engine) -> None:
    _, shown = build(toys)
    assert [o.elem_id for o in shown.outputs[:-1]] == [f"status-{name}" for name in BLOCKS]
    assert shown.outputs[-1] is shown.timer
    assert (shown.timer.value, shown.timer.active) == (SECONDS, False)
    job = toys.runner.submit(METHOD, METHOD.request(steps=1000, pause=0.02))
    *texts, timer = shown.show()
    assert job.key in texts[0]
    assert timer.active
    assert shown.hide is not None
    assert not shown.hide().active
    job.end()


def test_the_listeners_are_private_and_stop_by_key(toys: Engine) -> None:
    page, _ = build(toys)
    functions = {name: f for f in page.fns.values() for name in [f.targets[0][1]]}
    assert set(functions) == {"tick", "stop"}
    assert all(f.api_visibility == "private" and not f.queue for f in functions.values())
    job = toys.runner.submit(METHOD, METHOD.request(steps=1000, pause=0.02))
    stop, tick = functions["stop"].fn, functions["tick"].fn
    assert job.key in tick()[0]
    jobs, _ = stop(gr.EventData(None, {"key": job.key}))
    assert "Stopping…" in jobs or "Nothing" in jobs
    with pytest.raises(Cancelled):
        job.result()
    stop(gr.EventData(None, {}))
