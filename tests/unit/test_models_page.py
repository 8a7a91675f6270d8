"""The models page: the table, a download with Stop and errors, and a deletion that asks first."""

import asyncio
import re
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from app.engine import Engine
from app.models_page import (
    EVERY,
    Downloads,
    Step,
    build_models,
    delete_model,
    models_html,
    offered,
    wanted_name,
)
from app.status import Shown
from backends.errors import BadRequest
from backends.models import hub
from backends.models.catalog import DEFAULT_MODEL, HUB_MODELS, Catalog, ModelEntry
from backends.watch import Progress
from launch import build
from tests.unit.test_hub import COMMIT, MODEL, OTHER, StandIn, stand_in

__all__ = ["stand_in"]

EVIL = "<script>alert(1)<"


def rows(engine: Engine) -> dict[str, list[str]]:
    """Return the cells of the table by the model's name, and its group headings."""
    found = re.findall(r"<tr>(.*?)</tr>", models_html(engine))
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in found]
    return {row[0]: row[1:] for row in cells}


def followed(engine: Engine, model: object) -> list[Step]:
    """Return all steps of a download."""
    return list(Downloads(engine).follow(model))


def left(engine: Engine) -> set[str]:
    """Return what lies beside the models of the hub, the lock aside."""
    return {f.name for f in (engine.settings.home / "models" / "hub").iterdir()} - {".lock"}


def wait_for(is_true: Any, seconds: float = 20.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def test_all_models_are_shown_by_state(engine: Engine) -> None:
    found = rows(engine)
    assert {n.partition(" (")[0] for n in found} >= {"Ready", "Can be downloaded", *HUB_MODELS}
    assert found["tiny"] == ["2", "0.2", "–", "–", "folder of GLASSWORK_MODELS"]
    assert found[DEFAULT_MODEL][0] == "30"
    assert found[DEFAULT_MODEL][2:4] == ["apache-2.0", "no"]
    assert found[MODEL] == ["–", "–", "–", "–", ""]
    terms = "accept its terms on the hub and set HF_TOKEN"
    assert found["meta-llama/Llama-3.2-1B"] == ["–", "–", "–", "yes", terms]


def test_what_is_not_here_says_why(engine: Engine, tmp_path: Path, model_folders: Path) -> None:
    shutil.copytree(model_folders / "tiny", tmp_path / "own" / EVIL / "x&y")
    shutil.copytree(model_folders / "tiny", tmp_path / "own" / "light")
    (tmp_path / "own" / "light" / "model.safetensors").unlink()
    found = rows(build(replace(engine.settings, models=tmp_path / "own")))
    assert "Not here (1)" in found
    assert found["light"][-1] == "it has no .safetensors weights, and other formats are not loaded"
    assert found["&lt;script&gt;alert(1)&lt;/x&amp;y"][0] == "2"


def test_reasons_and_licenses_are_escaped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ModelEntry("a", "folder", "missing", f"because {EVIL}", license=EVIL)
    monkeypatch.setattr(Catalog, "entries", lambda self: [entry])
    text = models_html(engine)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 2


def test_a_download_tells_how_far_it_is_and_ends_ready(engine: Engine, stand_in: StandIn) -> None:
    steps = followed(engine, f" https://huggingface.co/{MODEL} ")
    assert steps[0].text == f"{MODEL}: asking the hub"
    assert len({step.key for step in steps[:-1]}) == 1
    assert steps[-1] == Step(f"{MODEL} is ready, at revision {COMMIT[:8]}.")
    assert rows(engine)[MODEL] == [
        "2",
        "0.2",
        "apache-2.0",
        "no",
        f"downloaded, revision {COMMIT[:8]}",
    ]
    assert MODEL not in offered(engine)


def test_steps_come_at_least_every_quarter_of_a_second(engine: Engine, stand_in: StandIn) -> None:
    stand_in.holds = True
    downloads, times = Downloads(engine), [time.monotonic()]
    steps = downloads.follow(MODEL)
    while not stand_in.half.is_set():
        next(steps)
        times.append(time.monotonic())
    line = next(steps).text
    while "MB" not in line:
        line = next(steps).text
    assert re.fullmatch(rf"{MODEL}: 0\.\d of 0\.2 MB.*", line)
    assert max(b - a for a, b in zip(times, times[1:], strict=False)) < EVERY + 0.5
    steps.close()
    wait_for(lambda: left(engine) == set())


def test_stop_ends_a_download_within_a_second(engine: Engine, stand_in: StandIn) -> None:
    stand_in.holds = True
    downloads = Downloads(engine)
    steps = downloads.follow(MODEL)
    key = next(steps).key
    while not stand_in.half.is_set():
        next(steps)
    began = time.monotonic()
    downloads.stop(key)
    texts = [step.text for step in steps]
    assert time.monotonic() - began < 5
    assert texts[-1] == f"The download of {MODEL} was stopped; nothing of it is kept."
    assert set(texts[:-1]) <= {f"Stopping the download of {MODEL}…"}
    assert left(engine) == set()
    assert downloads._running == {}
    downloads.stop(key)


def test_a_closed_page_ends_its_download(engine: Engine, stand_in: StandIn) -> None:
    stand_in.holds = True
    steps = Downloads(engine).follow(MODEL)
    while not stand_in.half.is_set():
        next(steps)
    began = time.monotonic()
    steps.close()
    assert time.monotonic() - began < 0.5
    wait_for(lambda: left(engine) == set())
    assert MODEL in offered(engine)


def test_a_second_download_is_refused_while_one_runs(engine: Engine, stand_in: StandIn) -> None:
    stand_in.holds = True
    steps = Downloads(engine).follow(MODEL)
    while not stand_in.half.is_set():
        next(steps)
    last = followed(engine, OTHER)[-1]
    assert last.is_error
    assert last.text.startswith("Another download or deletion is under way")
    steps.close()
    wait_for(lambda: left(engine) == set())


def test_an_unreachable_hub_is_told(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    last = followed(engine, MODEL)[-1]
    assert last.is_error
    assert last.text.startswith("The hub cannot be reached at http://127.0.0.1:9")
    assert "Ready" in models_html(engine)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (None, "No model was chosen; choose one, or type owner/name."),
        ("  ", "No model was chosen; choose one, or type owner/name."),
        ("tiny", "'tiny' is here already and is no model of the hub."),
        ("gpt2", "'gpt2' is no name of the hub; those are owner/name."),
        (EVIL, f"'{EVIL}' is no name of the hub; those are owner/name."),
    ],
)
def test_other_names_are_refused(engine: Engine, model: object, sentence: str) -> None:
    last = followed(engine, model)[-1]
    assert (last.text, last.is_error, last.key) == (sentence, True, None)
    assert "class='gw-error'" in last.html()
    assert "<script" not in last.html()


def test_a_fault_of_ours_is_told_by_its_id(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("secret")

    monkeypatch.setattr(hub, "download", fail)
    monkeypatch.setattr(hub, "delete", fail)
    for last in (followed(engine, MODEL)[-1], delete_model(engine, MODEL)):
        found = re.match(r"Something went wrong \(id ([0-9a-f]{4})\);", last.text)
        assert found is not None
        assert last.is_error
        assert f"id {found[1]}" in caplog.text


def test_a_model_is_deleted_once_it_was_downloaded(engine: Engine, stand_in: StandIn) -> None:
    followed(engine, MODEL)
    assert delete_model(engine, MODEL) == Step(f"{MODEL} is deleted.")
    assert MODEL in offered(engine)
    again = delete_model(engine, MODEL)
    assert again.is_error
    assert again.text.startswith(f"'{MODEL}' was not downloaded from the hub")


def test_names_of_models_are_taken_from_addresses(engine: Engine) -> None:
    assert wanted_name(engine, "https://huggingface.co/a/b/") == "a/b"
    with pytest.raises(BadRequest):
        wanted_name(engine, "https://huggingface.co/")


class Page:
    """The built page: its listeners by the id of what they listen to, and components by id."""

    def __init__(self, engine: Engine) -> None:
        self.blocks, self.shown = asyncio.run(self._built(engine))
        self.at = {b.elem_id: b for b in self.blocks.blocks.values() if b.elem_id}

    async def _built(self, engine: Engine) -> tuple[gr.Blocks, Shown]:
        # Outside of a running event loop Gradio makes some of its own and never closes them.
        with gr.Blocks(analytics_enabled=False) as blocks:
            return blocks, build_models(engine)

    def listener(self, name: str) -> Any:
        """Return the function that listens to a component."""
        return next(f for f in self.blocks.fns.values() if f.targets[0][0] == self.at[name]._id)

    def named(self, update: dict[Any, Any]) -> dict[str, Any]:
        """Return an update by the components' ids."""
        return {component.elem_id: value for component, value in update.items()}


def test_the_page_downloads_and_refreshes(engine: Engine, stand_in: StandIn) -> None:
    page = Page(engine)
    updates = [page.named(u) for u in page.listener("models-download").fn(MODEL)]
    first, last = updates[0], updates[-1]
    assert f"{MODEL}: asking the hub" in first["models-progress"]
    assert not first["models-download"].interactive
    assert first["models-stop"].visible
    assert "models-table" not in first
    assert last["models-download"].interactive
    assert not last["models-stop"].visible
    assert f"revision {COMMIT[:8]}" in last["models-table"]
    assert [value for _, value in last["models-held"].choices] == [MODEL]
    assert MODEL not in [value for _, value in last["models-wanted"].choices]


def test_the_page_deletes_only_after_a_second_click(engine: Engine, stand_in: StandIn) -> None:
    followed(engine, MODEL)
    page = Page(engine)
    ask, sure, keep = (page.listener(f"models-{n}") for n in ("delete", "delete-for-good", "keep"))
    assert "class='gw-error'" in page.named(ask.fn(None))["models-deleted"]
    asked = page.named(ask.fn(MODEL))
    assert asked["models-question"].startswith(f"<p>Delete {MODEL} (")
    assert asked["models-sure"].visible
    assert MODEL in [value for _, value in page.at["models-held"].choices]
    assert not page.named(keep.fn())["models-sure"].visible
    assert rows(engine)[MODEL][-1].startswith("downloaded")
    gone = page.named(sure.fn(MODEL))
    assert f"{MODEL} is deleted." in gone["models-deleted"]
    assert not gone["models-sure"].visible
    assert gone["models-held"].choices == []
    assert rows(engine)[MODEL][-1] == ""


def test_the_question_is_escaped(engine: Engine) -> None:
    page = Page(engine)
    assert "<script" not in page.named(page.listener("models-delete").fn(EVIL))["models-question"]


def test_all_listeners_are_private_and_downloads_do_not_wait_in_a_queue(engine: Engine) -> None:
    page = Page(engine)
    assert {f.api_visibility for f in page.blocks.fns.values()} == {"private"}
    assert page.listener("models-download").concurrency_limit is None
    assert [o.elem_id for o in page.shown.outputs] == [
        *("models-table", "models-wanted", "models-held"),
    ]
    assert len(page.shown.show()) == 3
    assert len(page.shown.changes) == 2


def test_the_time_left_is_told(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    going_on = threading.Event()

    def wait(*_: object, **__: object) -> None:
        going_on.wait(20)
        raise BadRequest("model", "No.")

    monkeypatch.setattr(hub, "download", wait)
    downloads = Downloads(engine)
    steps = downloads.follow(MODEL)
    key = next(steps).key
    assert key is not None
    downloads._running[key].progress = Progress(135 * 10**6, 270 * 10**6, "", 40.4)
    assert next(steps).text == f"{MODEL}: 135 of 270 MB, about 40 s left"
    going_on.set()
    assert [step.text for step in steps if step.is_error] == ["No."]
