"""All sequences of a batch: their average conflicts, and how far apart they are."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.mcbif_batch import McbifBatchResult
from views.contract import Look
from views.figure import (
    DISTINCT,
    MANY_POINTS,
    SECONDARY,
    SEQUENTIAL,
    escape,
    series_color,
    series_symbol,
    significant,
)
from views.partitions.look import ACCENT
from views.plain import Spec, assembled, written
from views.tools.mcbif_batch.look import NAME, chosen, counted, name_of

# A matrix of more sequences would be megabytes; the first ones are drawn.
MOST_DRAWN = 200
OTHERS = "other groups"


def averages_figure(result: McbifBatchResult, look: Look) -> go.Figure:
    """Draw the average conflicts of every sequence, by group, with rings around A and B."""
    groups = list(dict.fromkeys(result.groups))
    shown = groups if len(groups) <= DISTINCT else groups[: DISTINCT - 1]
    number = np.array([groups.index(group) for group in result.groups])
    traces = [_group(result, i, escape(g, NAME), number == i) for i, g in enumerate(shown)]
    if len(shown) < len(groups):
        rest = _group(result, len(shown), OTHERS, number >= len(shown))
        traces.append(rest | {"marker": {"color": SECONDARY, "size": 8, "opacity": 0.5}})
    return assembled(
        [*traces, _rings(result, look)],
        "Average conflicts of all sequences",
        xaxis={"title": {"text": "average 0-conflict c̄<sub>0</sub> (no unit)"}},
        yaxis={"title": {"text": "average 1-conflict c̄<sub>1</sub> (cycles per window)"}},
        annotations=[written(counted(result))],
    )


def _group(result: McbifBatchResult, index: int, name: str, members: np.ndarray) -> Spec:
    at = np.flatnonzero(members)
    color, symbol = series_color(index), series_symbol(index)
    return {
        "type": "scattergl" if result.n > MANY_POINTS else "scatter",
        "mode": "markers",
        "x": significant(result.c0_bar[at]),
        "y": significant(result.c1_bar[at]),
        "name": name or "sequences",
        "marker": {"color": color, "symbol": symbol, "size": 8, "opacity": 0.75},
        "customdata": [str(i) for i in at],
        "hovertext": [_hover(result, int(i)) for i in at],
        "hoverinfo": "text",
    }


def _hover(result: McbifBatchResult, i: int) -> str:
    lines = [
        name_of(result, i, 60),
        f"c̄<sub>0</sub>: {result.c0_bar[i]:.4g}, by scale {result.c0_bar_scale_weighted[i]:.4g}",
        f"c̄<sub>1</sub>: {result.c1_bar[i]:.4g}, by scale {result.c1_bar_scale_weighted[i]:.4g}",
        f"N = {result.n_elements[i]:,} elements, M = {len(result.scale_names)} scales",
        "click: sequence A",
    ]
    return "<br>".join(lines)


def _rings(result: McbifBatchResult, look: Look) -> Spec:
    pair = list(chosen(result, look))
    words = ["A", "B"] if pair[0] != pair[1] else ["A, B", ""]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": significant(result.c0_bar[pair]),
        "y": significant(result.c1_bar[pair]),
        "text": words,
        "textposition": "top center",
        "marker": {
            "color": "rgba(0,0,0,0)",
            "size": 15,
            "line": {"color": ACCENT, "width": 3},
        },
        "hoverinfo": "skip",
        "cliponaxis": False,
        "showlegend": False,
        "name": "compared",
    }


def distances_figure(result: McbifBatchResult, look: Look) -> go.Figure:
    """Draw the matrices of Frobenius distances; a click on a cell chooses its column as B."""
    drawn = min(result.n, MOST_DRAWN)
    cut = f"; the first {drawn} are drawn" if drawn < result.n else ""
    right, down = _axes(result, drawn, [0.0, 0.46])
    right2, down2 = _axes(result, drawn, [0.54, 1.0])
    first = _matrix(result.distance_hf0[:drawn, :drawn], "HF<sub>0</sub>", 0.23)
    second = _matrix(result.distance_hf1[:drawn, :drawn], "HF<sub>1</sub>", 0.77)
    return assembled(
        [first, second | {"xaxis": "x2", "yaxis": "y2"}],
        "Distances between sequences",
        xaxis=right,
        yaxis=down,
        xaxis2={**right2, "anchor": "y2", "matches": "x"},
        yaxis2={**down2, "anchor": "x2", "matches": "y", "showticklabels": False, "title": {}},
        annotations=[written(counted(result) + cut, above=58)],
        margin={"l": 64, "r": 16, "t": 92, "b": 24},
    )


def _matrix(distances: np.ndarray, what: str, middle: float) -> Spec:
    top = float(distances.max())
    columns = [str(i) for i in range(len(distances))]
    return {
        "type": "heatmap",
        "z": significant(distances),
        "zmin": 0.0,
        "zmax": top if top > 0 else 1.0,
        "colorscale": SEQUENTIAL,
        "customdata": [columns] * len(columns),
        "hovertemplate": (
            f"sequences %{{y}}, %{{x}} (from 0)<br>distance of {what}: %{{z:.4g}}<br>"
            "click: sequence B<extra></extra>"
        ),
        "showlegend": False,
        "colorbar": {
            "orientation": "h",
            "thickness": 10,
            "x": middle,
            "xanchor": "center",
            "len": 0.46,
            "y": 1.0,
            "yanchor": "bottom",
            "ypad": 4,
            "xpad": 0,
            "outlinewidth": 0,
            "title": {"text": f"distance of {what}", "side": "top", "font": {"size": 13}},
        },
    }


def _axes(result: McbifBatchResult, drawn: int, domain: list[float]) -> tuple[Spec, Spec]:
    """Return the axes: about eight ticks, to the right numbers, downwards names."""
    at = list(range(0, drawn, max(1, -(-drawn // 8))))
    ticks: Spec = {"tickmode": "array", "tickvals": at}
    title: Spec = {"title": {"text": "sequence", "standoff": 8}}
    right = {**title, **ticks, "ticktext": [str(i) for i in at], "domain": domain}
    names = [name_of(result, i, 20) for i in at]
    down = {**title, **ticks, "ticktext": names, "range": [drawn - 0.5, -0.5]}
    return {**right, "range": [-0.5, drawn - 0.5]}, down
