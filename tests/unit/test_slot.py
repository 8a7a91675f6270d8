"""The figure slot: what goes to the browser is JSON, and nothing of it becomes HTML."""

import json
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go
import pytest

from views import slot
from views.contract import View

FIGURE = go.Figure(go.Scatter(x=np.arange(3, dtype=np.float32), y=[1, float("nan"), 3]))


def view(**named: Any) -> View:
    """Return a view of the figure."""
    return View(None, lambda result, look: FIGURE, **named)


def test_a_slot_is_told_from_other_places() -> None:
    assert slot.is_slot(slot.figure_slot("a"))
    assert not slot.is_slot(gr.HTML())
    assert not slot.is_slot(object())


def test_a_label_cannot_end_the_script() -> None:
    script = slot.figure_slot("a", label='"; alert(1); //').js_on_load
    assert '\\"; alert(1); //' in script
    assert "FIGURE_LABEL" not in script


def test_no_value_is_interpolated() -> None:
    assert "${" not in slot.TEMPLATE
    assert "innerHTML" not in slot._script("a")
    assert "insertAdjacentHTML" not in slot._script("a")


def test_nothing_is_shown_for_none() -> None:
    assert slot.show(None) == ""
    assert slot.show(None, preliminary=True) == ""
    hidden = View(None, lambda result, look: None)
    assert slot.shown(hidden, None, {}) == ""


def test_a_figure_is_json_with_what_the_script_needs() -> None:
    plain = json.loads(slot.show(FIGURE))
    assert set(plain) == {"data", "layout"}
    assert plain["data"][0]["y"][1] is None
    more = json.loads(slot.shown(view(follows="step", select="chosen"), None, {}, True))
    assert {name: more[name] for name in ("follows", "selects", "preliminary", "frames")} == {
        "follows": "step",
        "selects": True,
        "preliminary": True,
        "frames": [],
    }
    assert {name: more[name] for name in plain} == plain


def test_frames_are_named_by_the_value_they_follow() -> None:
    frames = {"0": {"data": [{"x": [1]}], "traces": [0]}, "1": {"data": [], "traces": []}}
    made = json.loads(slot.shown(view(frames=lambda r, k: frames, follows="step"), None, {}))
    assert made["frames"] == [{"name": "0", **frames["0"]}, {"name": "1", **frames["1"]}]


def test_a_frame_that_is_no_json_is_an_error() -> None:
    bad = view(frames=lambda r, k: {"0": {"data": [{"x": [float("nan")]}]}})
    with pytest.raises(ValueError, match="JSON"):
        slot.shown(bad, None, {})


def test_a_text_that_looks_like_a_script_stays_a_text() -> None:
    figure = go.Figure().update_layout(meta={"title": "</script><b>"})
    assert json.loads(slot.show(figure))["layout"]["meta"]["title"] == "</script><b>"
