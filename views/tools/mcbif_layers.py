"""MCbiF over layers: the grids of a model's layers beside their two controls."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.math.conflicts import average
from backends.methods.mcbif_layers import METHOD, McbifLayersResult
from views.concepts import adapt
from views.contract import Figure, Look, Panel, Tool, View
from views.figure import INK, escape, series_color
from views.partitions.figures import FIGURES as SHARED
from views.partitions.grids import board_axes, grid_traces, ring
from views.partitions.look import chosen_cell, is_log
from views.partitions.panel import build_panel
from views.plain import Spec, assembled, line, written
from views.slot import figure_slot

HEIGHT = 760
# Left and right edges of the three boards, lower and upper edges of the two rows.
ACROSS = ((0.0, 0.28), (0.345, 0.625), (0.69, 0.97))
UP = {"hf0": (0.55, 0.93), "hf1": (0.0, 0.38)}


@dataclass(frozen=True)
class Board:
    """One of the three columns: its heading and its two grids."""

    heading: str
    hf0: np.ndarray
    hf1: np.ndarray


def boards(result: McbifLayersResult) -> list[Board]:
    """Return what is measured, the mean of the shuffled sequences, and the reseeded layer."""
    shuffled = (
        f"shuffled within scales, mean of {result.draws}"
        if result.draws
        else "shuffled within scales: not computed"
    )
    seeds = f"layer {result.layer} alone, {len(result.n_clusters)} seeds"
    return [
        Board("measured", result.hf0, result.hf1),
        Board(shuffled, result.null_hf0_mean, result.null_hf1_mean),
        Board(seeds, result.reseeded_hf0, result.reseeded_hf1),
    ]


def layers_figure(result: McbifLayersResult, look: Look) -> go.Figure:
    """Draw both Hilbert functions: measured, shuffled, and one layer with other seeds."""
    traces: list[Spec] = []
    axes: Spec = {}
    columns = boards(result)
    for row, (degree, up) in enumerate(UP.items()):
        grids = [getattr(board, degree) for board in columns]
        limit = max(float(np.nanmax(g)) for g in grids if np.isfinite(g).any())
        for column, grid in enumerate(grids):
            number = 3 * row + column + 1
            names: Spec = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
            traces += _board(result, look, grid, degree, limit, column == 2, up, names)
            axes |= _axes(result, number, column, up)
    headings = [_heading(board, place) for board, place in zip(columns, ACROSS, strict=True)]
    return assembled(
        traces,
        _title(result),
        annotations=headings,
        height=HEIGHT,
        margin={"l": 64, "r": 24, "t": 24, "b": 24},
        **axes,
    )


def _board(
    result: McbifLayersResult,
    look: Look,
    grid: np.ndarray,
    degree: str,
    limit: float,
    is_last: bool,
    up: tuple[float, float],
    names: Spec,
) -> list[Spec]:
    bar = {"orientation": "v", "x": 0.98, "xanchor": "left", "y": sum(up) / 2, "yanchor": "middle",
           "len": up[1] - up[0]}  # fmt: skip
    drawn = grid_traces(grid, degree, log=is_log(look), limit=limit, bar=bar, **names)
    drawn[0]["showscale"] = is_last
    marks = ring(*chosen_cell(result, look), **names)
    return [*(t if i == 0 else {**t, "showlegend": False} for i, t in enumerate(drawn)),
            *({**mark, "showlegend": False} for mark in marks)]  # fmt: skip


def _axes(result: McbifLayersResult, number: int, column: int, up: tuple[float, float]) -> Spec:
    what = "layer" if result.over == "layers" else "number of clusters"
    right, down = board_axes(result.scale_names, domain=list(ACROSS[column]))
    right["title"] = {"text": f"t: {what} where the window ends", "standoff": 8}
    down["title"] = {"text": f"s: {what} where it begins" if column == 0 else "", "standoff": 8}
    return {
        f"xaxis{number}": {**right, "anchor": f"y{number}"},
        f"yaxis{number}": {**down, "anchor": f"x{number}", "domain": list(up)},
    }


def _heading(board: Board, place: tuple[float, float]) -> Spec:
    c1 = average(board.hf1)
    words = f"; average c<sub>1</sub> = {c1:.3g}" if np.isfinite(c1) else ""
    return {**written(f"{board.heading}{words}"), "x": place[0], "y": 0.95}


def _title(result: McbifLayersResult) -> str:
    if result.over == "layers":
        return "Partitions over the layers, beside their controls"
    return f"Partitions of layer {result.layer} by number of clusters, beside their controls"


def agreement_figure(result: McbifLayersResult, look: Look) -> go.Figure | None:
    """Draw the adjusted Rand index of each scale's clusters with the classes."""
    if not np.isfinite(result.agreement).any():
        return None
    what = "layer (0 is the first block)" if result.over == "layers" else "number of clusters"
    hovers = [
        f"{what.split(' (')[0]} {name}<br>adjusted Rand index: {value:.3f}<br>"
        f"{count} clusters<br>N = {result.n} prompts"
        for name, value, count in zip(
            result.scale_names, result.agreement, result.clusters, strict=True
        )
    ]
    column = escape(result.label_column, 24)
    curve = line(
        result.scales, result.agreement, series_color(0), f"clusters against {column}",
        hovertext=hovers, hoverinfo="text",
    )  # fmt: skip
    chance = line(
        [result.scales[0], result.scales[-1]], [0, 0], INK, "chance: 0", mode="lines",
        hoverinfo="skip",
    )  # fmt: skip
    chance["line"] = {"color": INK, "width": 1}
    return assembled(
        [chance, curve],
        f"Agreement of the clusters with {column}",
        xaxis={"title": {"text": what}},
        yaxis={"title": {"text": "adjusted Rand index (no unit)"}},
        annotations=[written(f"N = {result.n} prompts, {len(result.classes)} classes")],
    )


FIGURES: Mapping[str, Figure] = {
    "layers": layers_figure,
    "agreement": agreement_figure,
    **SHARED,
}


def build() -> Panel:
    """Place the board of the layers, then what every sequence shows."""
    key = METHOD.key
    uses = ("cell", "color")
    first: dict[str, Any] = {"uses": uses, "click": "cell"}
    layers = View(figure_slot(f"{key}-layers", label="layers"), layers_figure, **first)
    panel = build_panel(key)
    agreement = View(figure_slot(f"{key}-agreement", "medium"), agreement_figure, uses=())
    return replace(panel, views=[layers, *panel.views, agreement])


TOOL = Tool(
    METHOD,
    "Layers of a model",
    "Where the clusters of a concept set nest or contradict each other over the layers.",
    FIGURES,
    tab="mcbif",
    order=40,
    fields=("domain", "table", "labels", "model", "over", "algorithm", "n_clusters", "draws"),
    build=build,
    adapt=adapt,
    caution="Research only. Not for clinical use. No patient data.",
)
