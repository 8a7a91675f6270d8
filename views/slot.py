"""A place for a figure on the page, drawn by the plotly.js inside plotly.py.

Gradio's own plot component draws with an older plotly.js, cannot be clicked and stays white on a
dark page. Here the figure's JSON is the value of an HTML component, whose script draws it, turns
its ink with the page's theme, and reports clicks and selections. Nothing of the value is
interpolated into HTML. The page serves `workbench-assets/plotly.min.js` (app/serve.py).
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from views.contract import View

ASSETS = "workbench-assets"
TEMPLATE = """
<h3 hidden></h3>
<div class='figure'></div>
<div class='gw-mark' hidden><span></span></div>
<svg class='gw-marks' hidden></svg>
<div class='gw-tag' hidden>preliminary</div>
"""


def figure_slot(elem_id: str, height: str = "large", label: str = "figure") -> Any:
    """Return an empty place for a figure: `large` as the window allows, or `medium`."""
    import gradio as gr

    return gr.HTML(
        html_template=TEMPLATE,
        js_on_load=_script(label),
        elem_id=elem_id,
        elem_classes=["gw-figure", f"gw-{height}"],
        apply_default_css=False,
    )


def show(figure: go.Figure | None, **extra: Any) -> str:
    """Return what a figure slot takes: the figure as JSON, empty for none."""
    if figure is None:
        return ""
    text = figure.to_json()
    return f"{text[:-1]},{json.dumps(extra, allow_nan=False)[1:]}" if extra else str(text)


def shown(view: View, result: Any, look: Mapping[str, Any], preliminary: bool = False) -> str:
    """Draw a view of a figure slot, with the frames that the browser plays by itself.

    Frames are plain dictionaries: plotly's frame objects take a hundred times longer to build.
    """
    frames = view.frames(result, look) if view.frames else {}
    return show(
        view.draw(result, look),
        frames=[{"name": name, **frame} for name, frame in frames.items()],
        follows=view.follows,
        at=None if not view.follows else str(look.get(view.follows)),
        marks={name: "" if look.get(name) is None else str(look[name]) for name in view.marks},
        clicks=view.click,
        selects=bool(view.select),
        preliminary=preliminary,
    )


def is_slot(place: Any) -> bool:
    """Say whether a component is a figure slot."""
    return "gw-figure" in (getattr(place, "elem_classes", None) or [])


@cache
def _script(label: str) -> str:
    text = (Path(__file__).parent / "slot.js").read_text("utf-8")
    known = {"FIGURE_LABEL": label, "LIBRARY": f"{ASSETS}/plotly.min.js"}
    for name, value in known.items():
        text = text.replace(name, json.dumps(value))
    return text
