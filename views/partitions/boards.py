"""The four grids of a sequence: Hilbert functions, conflict with refinement, change of cycles."""

from typing import Any

import plotly.graph_objects as go

from backends.math.conflicts import fewest_clusters
from backends.partitions.result import PartitionResult
from views.contract import Look
from views.partitions.grids import board_axes, grid_traces, heading, ring
from views.partitions.look import (
    chosen_cell,
    chosen_direction,
    chosen_place,
    is_log,
    n_scales,
    scale_name,
)
from views.plain import Spec, assembled, dashes, marked

DELTA = "δ<sub>1</sub>: change of HF<sub>1</sub> along t"
# Up to this number of scales each cell has a hover of its own.
MOST_HOVERS = 60
TITLES = {
    "hf0": "Hilbert function HF<sub>0</sub>",
    "hf1": "Hilbert function HF<sub>1</sub>",
    "c0": "Conflict with refinement c<sub>0</sub>",
    "delta1": "Change of cycles δ<sub>1</sub>",
}


def board_figure(result: PartitionResult, look: Look, name: str) -> go.Figure:
    """Draw one grid for the page: `hf0`, `hf1`, `c0` or `delta1`.

    The browser marks the selected window and the slice, so that neither needs a new drawing.
    """
    right, down = board_axes(result.scale_names)
    traces = _grid(result, look, name, bar={"x": 0.5, "xanchor": "center", "len": 1.0})
    figure = assembled(traces, TITLES[name], xaxis=right, yaxis=down, margin=_MARGIN,
                       annotations=[_heading(result, name)])  # fmt: skip
    return marked(figure, last=n_scales(result) - 1, cell="cell", at=chosen_direction(look))


def hilbert_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw both Hilbert functions side by side."""
    return _pair(result, look, ("hf0", "hf1"), "Hilbert functions of all windows of scales")


def conflict_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw the conflict with refinement and the change of cycles side by side."""
    return _pair(result, look, ("c0", "delta1"), "Conflict of all windows of scales")


_MARGIN = {"l": 64, "r": 16, "t": 60, "b": 24}


def _pair(result: PartitionResult, look: Look, names: tuple[str, str], title: str) -> go.Figure:
    right, down = board_axes(result.scale_names, domain=[0.0, 0.46])
    right2, down2 = board_axes(result.scale_names, domain=[0.54, 1.0])
    first = _board(result, look, names[0], bar=_over(0.23))
    second = _board(result, look, names[1], bar=_over(0.77), xaxis="x2", yaxis="y2")
    once = [{**each, "showlegend": False} for each in second]
    return assembled(
        first + once,
        title,
        xaxis=right,
        yaxis=down,
        xaxis2={**right2, "anchor": "y2", "matches": "x"},
        yaxis2={**down2, "anchor": "x2", "matches": "y"},
        annotations=[_heading(result, names[0]), _heading(result, names[1], x="x2", y="y2")],
        margin=_MARGIN,
    )


def _heading(result: PartitionResult, name: str, **axes: str) -> Spec:
    if name == "delta1":
        return heading("signed", result.n, DELTA, **axes)
    return heading(name, result.n, **axes)


def _over(middle: float) -> Spec:
    return {"x": middle, "xanchor": "center", "len": 0.46}


def _board(result: PartitionResult, look: Look, name: str, bar: Spec, **fields: Any) -> list[Spec]:
    traces = _grid(result, look, name, bar, **fields)
    s, t = chosen_cell(result, look)
    return [*traces, *_slice(result, look, **fields), *ring(s, t, **fields)]


def _grid(result: PartitionResult, look: Look, name: str, bar: Spec, **fields: Any) -> list[Spec]:
    return grid_traces(
        getattr(result, name),
        "signed" if name == "delta1" else name,
        log=is_log(look),
        hovers=hovers(result, name),
        bar=bar,
        name=DELTA if name == "delta1" else "",
        **fields,
    )


def _slice(result: PartitionResult, look: Look, **fields: Any) -> list[Spec]:
    """Return the outline of the windows that the slice takes."""
    x, y = outline(chosen_direction(look), chosen_place(result, look), n_scales(result))
    return [dashes(x, y, name="slice", legendgroup="slice", **fields)]


def outline(direction: str, place: int, scales: int) -> tuple[list[float], list[float]]:
    """Return the corners around a row, a column or an anti-diagonal of a grid."""
    low, high, last = place - 0.5, place + 0.5, scales - 0.5
    if direction == "row":
        return [low, last, last, low, low], [low, low, high, high, low]
    if direction == "column":
        return [low, high, high, low, low], [-0.5, -0.5, high, high, -0.5]
    steps = [k - 0.5 for k in range(scales - place + 1)]
    upper = [v for k in steps for v in (k, k)]
    x = [place + v for v in upper[1:]] + [place + v for v in upper[:-1]][::-1]
    y = upper[:-1] + upper[1:][::-1]
    return [*x, x[0]], [*y, y[0]]


def hovers(result: PartitionResult, name: str) -> list[list[str]] | None:
    """Return what a hover says of each window, at most six lines; None for large grids."""
    scales = n_scales(result)
    if scales > MOST_HOVERS:
        return None
    names = [scale_name(result, m) for m in range(scales)]
    lines = _Lines(result, name)
    return [[lines.of(names, s, t) if s <= t else "" for t in range(scales)] for s in range(scales)]


class _Lines:
    """The words on a window, from lists: reading single numbers from arrays is slow."""

    def __init__(self, result: PartitionResult, name: str) -> None:
        self.k = result.n_clusters.tolist()
        self.smallest = fewest_clusters(result.n_clusters).tolist()
        self.c0, self.delta1 = result.c0.tolist(), result.delta1.tolist()
        self.counts = {"hf0": result.hf0.tolist(), "hf1": result.hf1.tolist()}
        self.name, self.n = name, result.n
        parts = ("low", "mean", "high") if name in self.counts else ()
        self.null = [getattr(result, f"null_{name}_{part}").tolist() for part in parts]
        self.draws = result.draws

    def of(self, names: list[str], s: int, t: int) -> str:
        hf0, hf1 = (self.counts[name][s][t] for name in ("hf0", "hf1"))
        first = f"HF<sub>0</sub> = {hf0:,}, HF<sub>1</sub> = {hf1:,}"
        lines = [
            f"scales {names[s]} to {names[t]} (numbers {s} to {t})",
            first,
            f"c<sub>0</sub> = {self.c0[s][t]:.3f}, δ<sub>1</sub> = {self.delta1[s][t]:+.3g}",
            f"k = {self.k[s]:,} at s, {self.k[t]:,} at t; least between {self.smallest[s][t]:,}",
            f"N = {self.n:,} elements",
        ]
        if self.null and self.null[1][s][t] == self.null[1][s][t]:
            low, mean, high = (part[s][t] for part in self.null)
            which = "0" if self.name == "hf0" else "1"
            lines.append(f"shuffled HF<sub>{which}</sub>: {mean:,.4g} (95 % {low:,.4g} to "
                         f"{high:,.4g}, {self.draws} draws)")  # fmt: skip
        return "<br>".join(lines)
