"""One grid over the windows (s, t) as a heatmap: t to the right, s downwards.

Cells of s > t are windows that do not exist, and hatched. Counts have integer ticks and exact
numbers in the cells of up to 30 x 30 grids; a count of cycles of zero has the color of the paper.
The customdata of a cell is "s,t", numbered from 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from plotly.colors import get_colorscale

from views.figure import DIVERGING, SEQUENTIAL
from views.partitions.look import ACCENT, scale_ticks
from views.plain import Spec, hatched, written

PAPER = "#ffffff"
# Up to this number of scales cells hold their numbers.
MOST_NUMBERS = 30
# Values that are not counts are longer, and are written into cells up to this number of scales.
MOST_DECIMALS = 12
NO_WINDOW = "s > t: no window"


@dataclass(frozen=True)
class Kind:
    """What a grid holds: its name, and whether it counts, starts at 0, or has a sign."""

    name: str
    colors: str
    is_count: bool = False
    is_signed: bool = False
    top: float | None = None


KINDS = {
    "hf0": Kind("HF<sub>0</sub>: components", SEQUENTIAL, is_count=True),
    "hf1": Kind("HF<sub>1</sub>: independent cycles", "Viridis", is_count=True),
    "c0": Kind("c<sub>0</sub>: conflict with refinement", SEQUENTIAL, top=1.0),
    "signed": Kind("difference", "", is_signed=True),
}


def grid_traces(
    values: Any,
    kind: str,
    *,
    name: str = "",
    log: bool = False,
    limit: float | None = None,
    hovers: list[list[str]] | None = None,
    bar: Spec | None = None,
    **fields: Any,
) -> list[Spec]:
    """Return the heatmap of one grid and the hatch of the windows that do not exist.

    `kind` is a key of `KINDS`. `limit` is the largest absolute value of the colors, for grids that
    are compared; `log` colors counts by log(1 + count). `hovers` are texts by row and column;
    without them a hover shows s, t and the value. `bar` is laid over the color bar; `fields` name
    the axes.
    """
    grid = np.array(values, np.float64)
    scales, meant = len(grid), KINDS[kind]
    grid[np.tril_indices(scales, -1)] = np.nan
    is_log = log and meant.is_count
    top = _top(grid, meant, limit)
    heat: Spec = {
        "type": "heatmap",
        "z": (np.log1p(grid) if is_log else grid).astype(np.float32),
        "zmin": -top if meant.is_signed else 0.0,
        "zmax": float(np.log1p(top)) if is_log else top,
        "colorscale": _colors(kind, top, is_log),
        "colorbar": _bar(meant, top, is_log) | (bar or {}),
        "hoverongaps": False,
        "name": name or meant.name,
        "showlegend": False,
        "customdata": cell_keys(scales),
        **_hover(grid, name or meant.name, hovers),
        **_numbers(grid, meant),
        **fields,
    }
    return [heat, *outside(scales, **fields)]


def outside(scales: int, **fields: Any) -> list[Spec]:
    """Return the hatch over s > t; nothing for one scale."""
    if scales < 2:
        return []
    steps = np.arange(1, scales)
    x = np.r_[-0.5, np.repeat(steps - 0.5, 2), -0.5, -0.5]
    y = np.r_[0.5, np.stack([steps - 0.5, steps + 0.5], 1).ravel(), scales - 0.5, 0.5]
    return [hatched(x, y, NO_WINDOW, legendgroup=NO_WINDOW, **fields)]


def cell_keys(scales: int) -> list[list[str | None]]:
    """Return "s,t" for each cell of a window, None for the others."""
    return [[f"{s},{t}" if s <= t else None for t in range(scales)] for s in range(scales)]


def _top(grid: np.ndarray, meant: Kind, limit: float | None) -> float:
    """Return the largest value of the colors, which is positive."""
    if limit is None:
        limit = meant.top
    if limit is None:
        there = np.abs(grid[np.isfinite(grid)])
        limit = float(there.max()) if there.size else 0.0
    return float(limit) if limit > 0 else 1.0


def _colors(kind: str, top: float, is_log: bool) -> list[list[Any]]:
    """Return the colors; those of HF_1 begin with a piece of paper that only zero falls into."""
    if KINDS[kind].is_signed:
        return [list(stop) for stop in DIVERGING]
    stops = [list(stop) for stop in get_colorscale(KINDS[kind].colors)]
    if kind != "hf1":
        return stops
    edge = float(np.log1p(0.5) / np.log1p(top)) if is_log else 0.5 / max(top, 1.0)
    colored = [[edge + (1 - edge) * place, color] for place, color in stops]
    return [[0.0, PAPER], [edge, PAPER], *colored]


def _bar(meant: Kind, top: float, is_log: bool) -> Spec:
    bar: Spec = {
        "orientation": "h",
        "thickness": 10,
        "y": 1.0,
        "yanchor": "bottom",
        "ypad": 4,
        "xpad": 0,
        "outlinewidth": 0,
    }
    if not meant.is_count:
        return bar
    ticks = whole_ticks(top, is_log)
    places = np.log1p(ticks) if is_log else np.array(ticks, np.float64)
    return bar | {"tickmode": "array", "tickvals": [float(p) for p in places],
                  "ticktext": [f"{tick:,}" for tick in ticks]}  # fmt: skip


def whole_ticks(top: float, is_log: bool = False) -> list[int]:
    """Return about six whole numbers from 0 to a largest one, for a linear or a log scale."""
    powers = [d * 10**e for e in range(13) for d in (1, 2, 5)]
    if is_log:
        below = [0, *(p for p in powers if p <= top)]
        return below if len(below) <= 7 else [0, *below[1::3]]
    step = next(p for p in powers if top / p <= 6)
    return list(range(0, int(top) + 1, step))


def _hover(grid: np.ndarray, name: str, hovers: list[list[str]] | None) -> Spec:
    if hovers is not None:
        return {"hovertext": hovers, "hovertemplate": "%{hovertext}<extra></extra>"}
    # The numbers of a large grid would be megabytes as sentences.
    values = grid.astype(np.float32)
    lines = ["scales s, t = %{customdata} (from 0)", name + ": %{hovertext:,.4g}"]
    return {"hovertext": values, "hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _numbers(grid: np.ndarray, meant: Kind) -> Spec:
    is_whole = meant.is_count or bool(np.all(np.isnan(grid) | (grid == np.round(grid))))
    if len(grid) > (MOST_NUMBERS if is_whole else MOST_DECIMALS):
        return {}
    form = "{:+,.3g}" if meant.is_signed else "{:,.0f}" if is_whole else "{:.2f}"
    cells = [["" if v != v else form.format(v) for v in row] for row in grid.tolist()]
    return {"text": cells, "texttemplate": "%{text}"}


def board_axes(names: list[str], x: str = "x", **across: Any) -> tuple[Spec, Spec]:
    """Return the axes of a grid over scales of these names; `across` is laid over the x axis."""
    last = len(names) - 0.5
    right = {"title": {"text": "t: scale where the window ends", "standoff": 8},
             "range": [-0.5, last], **scale_ticks(names), **across}  # fmt: skip
    down = {"title": {"text": "s: scale where it begins", "standoff": 8},
            "range": [last, -0.5], **scale_ticks(names, is_down=True)}  # fmt: skip
    return right, down


def heading(kind: str, n: int, name: str = "", x: str = "x", y: str = "y") -> Spec:
    """Return the line over a grid's color bar: what it holds, and N elements."""
    line = written(f"{name or KINDS[kind].name}; N = {n:,}", above=38)
    return {**line, "xref": f"{x} domain", "yref": f"{y} domain"}


def ring(s: int, t: int, name: str = "selected window", **fields: Any) -> list[Spec]:
    """Return the accent ring around a cell, with an edge of paper so that it shows on any color."""
    x = np.array([t - 0.5, t + 0.5, t + 0.5, t - 0.5, t - 0.5], np.float32)
    y = np.array([s - 0.5, s - 0.5, s + 0.5, s + 0.5, s - 0.5], np.float32)
    shape: Spec = {"type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip",
                   "cliponaxis": False, "legendgroup": name, **fields}  # fmt: skip
    edge = {**shape, "line": {"color": PAPER, "width": 6}, "showlegend": False}
    return [edge, {"name": name, **shape, "line": {"color": ACCENT, "width": 3}}]
