"""Figures from plain dictionaries: what the page draws often has to be ready at once.

Plotly checks each trace that it is given, which costs about a millisecond, and its methods that
draw a line or a grid cost forty. What is put together here is written by us and checked by the
tests, which send every figure through plotly's own checks.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from views.figure import INK, MANY_POINTS, finish, note, significant

Spec = dict[str, Any]


def assembled(traces: Sequence[Spec], title: str, **layout: Any) -> go.Figure:
    """Return a finished figure of traces and the parts of a layout, without plotly's checks."""
    whole = deepcopy(_finished()) | {"meta": {"title": title}} | layout
    return go.Figure({"data": list(traces), "layout": whole}, _validate=False)


@cache
def _finished() -> Spec:
    return dict(finish(go.Figure(), "").layout.to_plotly_json())


def written(text: str, above: int = 6) -> Spec:
    """Return a line over the plot's left end, as `views.figure.note` writes it."""
    return {**deepcopy(_note(above)), "text": text}


@cache
def _note(above: int) -> Spec:
    figure = go.Figure()
    note(figure, "", above)
    return dict(figure.layout.annotations[0].to_plotly_json())


def grid(rows: int, columns: int, titles: Sequence[str], **spacing: float) -> Spec:
    """Return the axes and headings of a grid of plots; those without a title are left out."""
    layout = deepcopy(_grid(rows, columns, **spacing))
    left_out = [i + 1 for i in range(len(titles), rows * columns)]
    for name in [f"{axis}axis{i}" for axis in "xy" for i in left_out]:
        del layout[name]
    headings = zip(layout["annotations"], titles, strict=False)
    layout["annotations"] = [{**heading, "text": text} for heading, text in headings]
    return layout


@cache
def _grid(rows: int, columns: int, **spacing: float) -> Spec:
    titles = ["·"] * (rows * columns)
    figure = make_subplots(rows, columns, subplot_titles=titles, **_spaced(spacing))
    return dict(figure.layout.to_plotly_json())


def _spaced(spacing: Spec) -> Spec:
    return {f"{direction}_spacing": value for direction, value in spacing.items()}


def scatter_type(points: int) -> str:
    """Return the type of a scatter trace; one of many points is drawn by WebGL."""
    return "scattergl" if points > MANY_POINTS else "scatter"


def numbers(values: Any) -> list[Any]:
    """Return an array as nested lists of numbers with four digits, None for undefined ones."""
    rounded = significant(values)
    exact = rounded.astype(str).astype(np.float64).astype(object)
    exact[~np.isfinite(rounded)] = None
    return list(exact.tolist())


def layer_line(layer: int, last: int) -> tuple[Spec, Spec]:
    """Return a thin line of ink at a layer, and its label towards the middle of the plot."""
    line = {"type": "line", "x0": layer, "x1": layer, "xref": "x", "y0": 0, "y1": 1}
    line |= {"yref": "y domain", "line": {"color": INK, "width": 1}}
    label = {"text": f"layer {layer}", "font": {"size": 11}, "showarrow": False}
    label |= {"x": layer, "xref": "x", "xanchor": "right" if 2 * layer > last else "left"}
    return line, {**label, "y": 0, "yref": "y domain", "yanchor": "bottom"}
