"""The page of the batch: all sequences, then two of them beside each other."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from backends.methods.mcbif_batch import McbifBatchResult
from views.contract import Look, Panel, View
from views.slot import figure_slot
from views.tools.mcbif_batch.compare import compare_figure, distance_html
from views.tools.mcbif_batch.features import features_html
from views.tools.mcbif_batch.look import chosen
from views.tools.mcbif_batch.overview import averages_figure, distances_figure

KEY = "mcbif_batch"
PAIR = ("a", "b")


def build() -> Panel:
    """Place the figures of all sequences, the choice of two, and their comparison."""
    import gradio as gr

    averages, distances = _slot("averages"), _slot("distances")
    with gr.Row(elem_id=f"{KEY}-controls", elem_classes=["gw-controls"]):
        a, b = (_dropdown(name) for name in PAIR)
    words = gr.HTML("", elem_id=f"{KEY}-distance")
    grids = {name: _slot(f"compare-{name}") for name in ("hf0", "hf1")}
    features = gr.HTML("", elem_id=f"{KEY}-features")
    views = [
        View(averages, averages_figure, PAIR, click="a"),
        View(distances, distances_figure, (), click="b"),
        View(words, distance_html, PAIR),
        *(View(place, partial(compare_figure, name=name), PAIR) for name, place in grids.items()),
        View(features, features_html, ()),
    ]
    return Panel(views, look={"a": a, "b": b}, fit=fit)


def _slot(name: str) -> Any:
    return figure_slot(f"{KEY}-{name}", "medium", label=name)


def _dropdown(name: str) -> Any:
    import gradio as gr

    return gr.Dropdown(
        [],
        label=f"Sequence {name.upper()}",
        interactive=True,
        elem_id=f"{KEY}-{name}",
        min_width=140,
    )


def fit(result: McbifBatchResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return the sequences to choose from, and the two that are compared."""
    choices = [(name, str(i)) for i, name in enumerate(result.names)]
    pair = zip(PAIR, chosen(result, look), strict=True)
    several = result.n > 1
    return {
        name: {"choices": choices, "value": str(value), "visible": several} for name, value in pair
    }
