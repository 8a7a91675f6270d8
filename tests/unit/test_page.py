"""The whole page: its tabs, what it offers to the outside, and what its start imports."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from app.engine import Engine
from app.page import build_page
from app.settings import Settings
from backends.contract import Method
from launch import build
from tests.toy_methods.toy import METHOD
from tests.toy_page import in_a_loop
from views.contract import Tool
from views.discovery import find_tools
from views.slot import is_slot
from views.tabs import TABS

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "umap", "sklearn", "numba", "scipy", "transformer_lens")
TOOLS = find_tools("tests.toy_tools") | find_tools()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """An engine that knows the toy too."""
    home = tmp_path_factory.mktemp("page")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    made.found.methods["toy"] = METHOD
    yield made
    made.runner.close()


@pytest.fixture(scope="module")
def config(engine: Engine) -> dict[str, Any]:
    """What the browser is told of the page with all tools and the toy."""
    page = in_a_loop(lambda: build_page(engine, TOOLS))
    return dict(page.get_config_file())


def tabs(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return id and title of the page's outer tabs."""
    titles = {tab.key: tab.title for tab in TABS} | {"models": "Models", "status": "Status"}
    found = [c["props"] for c in config["components"] if c["type"] == "tabitem"]
    return [(p["id"], p["label"]) for p in found if titles.get(p["id"]) == p["label"]]


def test_the_tabs_stand_in_their_order(config: dict[str, Any]) -> None:
    assert tabs(config) == [
        ("sae", "SAE features"),
        ("maps", "Knowledge maps"),
        ("rope", "RoPE heads"),
        ("diffusion", "Diffusion"),
        ("mcbif", "MCbiF"),
        ("models", "Models"),
        ("status", "Status"),
    ]


def test_the_page_opens_on_the_first_tab_that_has_a_tool(config: dict[str, Any]) -> None:
    (outer,) = [c for c in config["components"] if c["props"].get("elem_id") == "tabs"]
    used = {tool.tab for tool in TOOLS.values()}
    assert outer["props"]["selected"] == next(tab.key for tab in TABS if tab.key in used)


def test_a_tab_without_a_tool_has_its_sentence(config: dict[str, Any]) -> None:
    used = {tool.tab for tool in TOOLS.values()}
    text = " ".join(str(c["props"].get("value")) for c in config["components"])
    for tab in TABS:
        if tab.key not in used:
            assert tab.sentence
            assert f"<p class='gw-empty'>{tab.sentence}</p>" in text


def test_a_page_without_any_tool_opens(engine: Engine) -> None:
    config = in_a_loop(lambda: build_page(engine, {})).get_config_file()
    assert len(tabs(config)) == len(TABS) + 2


def test_only_the_methods_are_public(config: dict[str, Any], engine: Engine) -> None:
    public = [d for d in config["dependencies"] if d["api_visibility"] != "private"]
    assert sorted(d["api_name"] for d in public) == sorted(engine.found.methods)
    assert len(config["dependencies"]) > len(public)


def test_ids_are_unique(config: dict[str, Any]) -> None:
    ids = Counter(c["props"].get("elem_id") for c in config["components"])
    assert [name for name, count in ids.items() if name and count > 1] == []


def test_what_can_be_pressed_or_filled_has_an_id(config: dict[str, Any]) -> None:
    kinds = {"button", "textbox", "number", "dropdown", "radio", "checkbox", "slider", "file"}
    bare = [
        c["props"].get("label") or c["props"].get("value")
        for c in config["components"]
        if c["type"] in kinds and not c["props"].get("elem_id") and c["props"].get("visible", True)
    ]
    assert [name for name in bare if name] == []


def test_nothing_on_the_page_is_shared_or_loaded_from_elsewhere(config: dict[str, Any]) -> None:
    for component in config["components"]:
        for name in ("head", "js_on_load", "css_template"):
            outside = re.findall(r"https?://\S+", str(component["props"].get(name) or ""))
            assert outside == [], component["props"].get("elem_id")


def test_the_page_imports_nothing_that_computes(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from app.settings import Settings
from launch import build
home = Path({str(tmp_path)!r})
engine = build(Settings(home, home, 10**9, 10**9, 1, "cpu"))
from app.page import build_page
import app.serve
page = build_page(engine)
page.get_config_file()
app.serve.routes(engine)
print(" ".join(m for m in {HEAVY!r} if m in sys.modules))
engine.runner.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_tool_places_everything_once(tool: Tool) -> None:
    if tool.build is None:
        return
    build_panel = tool.build

    def made() -> Any:
        with gr.Blocks(analytics_enabled=False):
            return build_panel()

    panel = in_a_loop(made)
    places = [view.place for view in panel.views] + list(panel.look.values())
    places += list(dict.fromkeys(each.place for each in panel.follow_ups))
    assert len({id(place) for place in places}) == len(places)
    assert all(place.elem_id for place in places)
    names = {view.follows for view in panel.views} | {view.click for view in panel.views}
    names |= {view.select for view in panel.views} | {panel.play}
    names |= {each.control for each in panel.follow_ups}
    names |= {name for view in panel.views for name in (*(view.uses or ()), *view.marks)}
    assert names - {""} <= set(panel.look)
    assert bool(panel.play) == (panel.play_button is not None)
    for view in panel.views:
        assert view.frames is None or view.follows
        if view.frames or view.marks or view.select:
            assert is_slot(view.place)
        # A table of our own tells of clicks as a figure does.
        assert not view.click or is_slot(view.place) or view.place.js_on_load


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_form_shows_fields_of_the_request(tool: Tool, config: dict[str, Any]) -> None:
    method: Method[Any] = tool.method
    assert set(tool.fields) <= set(method.request.model_fields)
    ids = {c["props"].get("elem_id") for c in config["components"]}
    wanted = {f"{method.key}-{name.replace('_', '-')}" for name in method.request.model_fields}
    assert wanted <= ids
    assert {f"{method.key}-{name}" for name in ("run", "stop", "goes-on", "status", "foot")} <= ids
