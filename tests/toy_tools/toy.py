"""The toy's page: squares as points, a slider, a click, a selection, and a follow-up request.

It uses every part of a panel, so that the wiring is tested without a model.
"""

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.contract import Known
from tests.toy_methods.toy import METHOD, ToyResult
from views.contract import Figure, FollowUp, Look, Panel, Tool, View
from views.figure import finish, note
from views.slot import figure_slot


def squares_figure(result: ToyResult, look: Look) -> go.Figure:
    """Draw the squares; the look's step has a ring."""
    steps = np.arange(result.steps, dtype=np.float32)
    figure = go.Figure(
        go.Scatter(x=steps, y=result.squares, mode="markers", customdata=[f"{s:g}" for s in steps])
    )
    figure.add_scatter(**_ring(result, _step(result, look)), mode="markers", name="ring")
    figure.update_xaxes(title_text="step")
    figure.update_yaxes(title_text="square")
    note(figure, f"N = {result.steps}")
    return finish(figure, f"Squares of {html.escape(result.text) or 'steps'}")


def _step(result: ToyResult, look: Look) -> int:
    try:
        return min(max(int(look.get("step") or 0), 0), result.steps - 1)
    except (TypeError, ValueError):
        return 0


def _ring(result: ToyResult, step: int) -> dict[str, Any]:
    return {"x": [step], "y": [float(result.squares[step])]}


def frames(result: ToyResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return the ring's place at each step."""
    return {
        str(step): {"data": [_ring(result, step)], "traces": [1]} for step in range(result.steps)
    }


def roots_figure(result: ToyResult, look: Look) -> go.Figure | None:
    """Draw the roots of more than two squares."""
    if result.steps < 3:
        return None
    figure = go.Figure(go.Bar(y=np.sqrt(result.squares)))
    figure.update_xaxes(title_text="step")
    figure.update_yaxes(title_text="root")
    return finish(figure, "Roots")


def build() -> Panel:
    """Place the controls and the figures."""
    import gradio as gr

    with gr.Row(elem_classes=["gw-controls"]):
        step = gr.Slider(0, 1, 0, step=1, label="Step", elem_id="toy-step")
        play = gr.Button("Play", elem_id="toy-play")
        picked = gr.Textbox(visible="hidden", elem_id="toy-picked")
        chosen = gr.Textbox(visible="hidden", elem_id="toy-chosen")
    squares = figure_slot("toy-squares")
    card, several = gr.HTML(elem_id="toy-card"), gr.HTML(elem_id="toy-several")
    opened = gr.HTML(elem_id="toy-opened")
    roots = figure_slot("toy-roots", "medium")
    look = {"step": step, "picked": picked, "chosen": chosen}
    views = [
        View(squares, squares_figure, ("step",), frames, "step", click="picked", select="chosen"),
        View(card, _card, uses=("picked", "step")),
        View(several, lambda result, look: f"<p>chosen: {look['chosen']}</p>", uses=("chosen",)),
        View(roots, roots_figure, uses=()),
    ]
    follow_up = FollowUp("picked", opened, _opens, lambda result, look: f"<p>{result.steps}</p>")
    return Panel(views, look, _fit, [follow_up], play="step", play_button=play)


def _card(result: ToyResult, look: Look) -> str:
    return f"<p>picked: {html.escape(str(look['picked']))} at step {look['step']}</p>"


def _fit(result: ToyResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    step = _step(result, look) if look.get("step") is not None else result.steps - 1
    return {
        "step": {"minimum": 0, "maximum": result.steps - 1, "value": step},
        "picked": {"value": str(look.get("picked") or "")},
        "chosen": {"value": str(look.get("chosen") or "")},
    }


def _opens(result: ToyResult, look: Look) -> tuple[str, Mapping[str, Any]] | None:
    return ("toy", {"steps": int(look["picked"]) + 1}) if look.get("picked") else None


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Let a text of one step be short."""
    return {"text": {"placeholder": f"for {values.get('steps')} steps"}}


FIGURES: Mapping[str, Figure] = {"squares": squares_figure, "roots": roots_figure}

TOOL = Tool(
    METHOD,
    "Toy",
    "Squares, slowly.",
    FIGURES,
    tab="maps",
    order=1,
    fields=("steps", "pause", "text"),
    build=build,
    adapt=adapt,
    caution="A toy.",
)
