"""Figures from plain dictionaries, because a click redraws several of them at once.

Plotly checks each trace that it is given, which costs about a millisecond. What is put together
here is written by us, and the tests send every figure through plotly's own checks.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from views.figure import CONTROL, FAINT, INK, SECONDARY, alpha, control_line, finish, significant

Spec = dict[str, Any]


def assembled(traces: Sequence[Spec], title: str, **layout: Any) -> go.Figure:
    """Return a finished figure of traces and the parts of a layout, without plotly's checks.

    A part of the layout takes the place of the finished one, it is not merged with it.
    """
    whole = deepcopy(_finished()) | {"meta": {"title": title}} | layout
    return go.Figure({"data": list(traces), "layout": whole}, _validate=False)


@cache
def _finished() -> Spec:
    return dict(finish(go.Figure(), "").layout.to_plotly_json())


def marked(
    figure: go.Figure, columns: Sequence[int] = (), last: int = 0, **shapes: str
) -> go.Figure:
    """Say by which shapes the browser marks the values of controls (see `View.marks`).

    `columns` are the scales at x = 0, 1, …; `last` is the last place of a board.
    """
    meta = {"title": figure.layout.meta["title"], "marks": shapes, "last": last}
    figure.layout.meta = meta | {"columns": [int(each) for each in columns]}
    return figure


def written(text: str, above: int = 6) -> Spec:
    """Return a line `above` px over the plot's left end, as `views.figure.note` writes it."""
    at = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return {**at, "text": text, "yshift": above, "showarrow": False, "font": {"size": 12},
            "align": "left"}  # fmt: skip


def said(text: str, x: str = "x", y: str = "y") -> Spec:
    """Return a sentence in the middle of a plot that has nothing else to show."""
    at = {"x": 0.5, "y": 0.5, "xref": f"{x} domain", "yref": f"{y} domain", "showarrow": False}
    return {**at, "text": text, "font": {"size": 12, "color": SECONDARY}}


def line(x: Any, y: Any, color: str, name: str, **fields: Any) -> Spec:
    """Return the trace of a main series; a value that is not defined leaves a gap."""
    shape = {"color": color, "width": 2}
    return {"type": "scatter", "x": np.asarray(x, np.float32), "y": significant(y), "name": name,
            "mode": "lines+markers", "line": shape, "marker": {"size": 5}, **fields}  # fmt: skip


def control(x: Any, mean: Any, name: str, **fields: Any) -> Spec:
    """Return the grey dashed line of a control."""
    shape = control_line()
    return line(x, mean, CONTROL, name, **{"mode": "lines", "line": shape, **fields})


def interval(x: Any, low: Any, high: Any, **fields: Any) -> Spec:
    """Return the band of a control where it is defined; one value alone gets a narrow band."""
    x, low, high = (np.asarray(v, np.float64) for v in (x, low, high))
    there = np.isfinite(low) & np.isfinite(high)
    along, below, above = x[there], low[there], high[there]
    if len(along) == 1:
        along, below, above = along[[0, 0]] + [-0.2, 0.2], below[[0, 0]], above[[0, 0]]
    return {
        "type": "scatter",
        "x": np.r_[along, along[::-1]].astype(np.float32),
        "y": significant(np.r_[below, above[::-1]]),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": alpha(CONTROL, 0.18),
        "hoverinfo": "skip",
        "showlegend": False,
        **fields,
    }


def dashes(x: Any, y: Any, **fields: Any) -> Spec:
    """Return a thin line of ink that marks a place."""
    return {"type": "scatter", "x": np.asarray(x, np.float32), "y": np.asarray(y, np.float32),
            "mode": "lines", "line": {"color": INK, "width": 1, "dash": "dot"},
            "hoverinfo": "skip", **fields}  # fmt: skip


def area(x: np.ndarray, y: np.ndarray, paint: str, **fields: Any) -> Spec:
    """Return filled polygons, whose corners are the rows of x and y, as one path.

    Plotly makes a piece of the page of every part of a line with gaps. So the polygons are strung
    together: from start to start, and back the same way, which encloses nothing.
    """
    across, up = strung(x), strung(y)
    return {
        "type": "scatter",
        "x": across,
        "y": up,
        "mode": "none",
        "fill": "toself",
        "fillcolor": paint,
        "line": {"simplify": False},
        "hoveron": "fills",
        "hoverinfo": "skip",
        **fields,
    }


def strung(corners: np.ndarray) -> np.ndarray:
    """Return rows of corners one after the other, each closed, and the starts backwards."""
    if not len(corners):
        return np.empty(0, np.float32)
    closed = np.hstack([corners, corners[:, :1]])
    return np.concatenate([closed.ravel(), corners[::-1, 0]]).astype(np.float32)


def boxes(x: Any, top: Any, low: Any, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of boxes around x."""
    x, top, low = (np.asarray(v, np.float64) for v in (x, top, low))
    across = np.stack([x - half, x + half, x + half, x - half], 1)
    return across, np.stack([top, top, low, low], 1)


CLICK = "click: highlight these elements"


def unseen(x: Any, y: Any, keys: list[str], texts: list[str], last: str = "") -> Spec:
    """Return points that are not drawn, for hovers and clicks on what lies there.

    `last` is a line that all hovers end with.
    """
    return {
        "type": "scatter",
        "x": np.array(x, np.float32),
        "y": np.array(y, np.float32),
        "mode": "none",
        "hoveron": "points",
        "customdata": keys,
        "hovertext": texts,
        "hovertemplate": f"%{{hovertext}}{last and '<br>'}{last}<extra></extra>",
        "showlegend": False,
    }


def hatched(x: Any, y: Any, name: str, **fields: Any) -> Spec:
    """Return light grey hatch inside the polygons whose outlines are x and y, NaN between them."""
    pattern = {
        "shape": "/",
        "fgcolor": FAINT,
        "bgcolor": "rgba(0,0,0,0)",
        "size": 6,
        "fgopacity": 0.7,
    }
    return {
        "type": "scatter",
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillpattern": pattern,
        "hoverinfo": "skip",
        "name": name,
        **fields,
    }
