"""F8, the board: recovery by layer and position, or by layer and head, beside its control.

Layers go up from 0. Cells whose patch cannot change the score are hatched: nothing was computed
there. The customdata of a cell is "layer,column".
"""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_patching import MedicalPatchingResult
from views.contract import Look
from views.figure import DIVERGING, escape, runs
from views.partitions.look import ACCENT
from views.plain import Spec, assembled, hatched, written
from views.tools.medical_patching.words import (
    RANDOM,
    above,
    board_shape,
    by_head,
    chosen_cell,
    column_name,
    count,
    is_defined,
    note,
    unit,
)

FORBIDDEN = "not computed: cannot change the score"
# Left and right edges of the two boards.
ACROSS = ((0.0, 0.44), (0.51, 0.95))
# Colors reach at least this far on both sides of 0, and at most `MOST`.
LEAST, MOST = 1.0, 2.0
# Positions up to this number are all named on the axis.
MOST_TICKS = 40


def board_figure(result: MedicalPatchingResult, look: Look) -> go.Figure | None:
    """Draw both boards with one scale of colors; None where there is but one column."""
    if board_shape(result)[1] < 2 or result.n == 0:
        return None
    measured, random = grids(result)
    limit = _limit(result, measured)
    bar = {"title": {"text": _quantity(result).split(" (")[0], "side": "top", "font": {"size": 12}},
           "thickness": 10, "x": 0.96, "xpad": 4, "outlinewidth": 0}  # fmt: skip
    traces = [
        *_board(result, measured, "", limit, {"colorbar": bar}),
        *_board(result, random, "2", limit, {"showscale": False}),
        *_ring(result, look),
    ]
    chance = RANDOM if np.isfinite(random).any() else f"{RANDOM}: not defined"
    headings = [
        {**written(words, 4), "x": place[0]}
        for words, place in zip((f"measured: {_quantity(result)}", chance), ACROSS, strict=True)
    ]
    axes = _axes(result)
    return assembled(
        traces,
        f"Patching by layer and {'head' if by_head(result) else 'position'}",
        annotations=[written(note(result), 22), *headings],
        margin={"l": 64, "r": 24, "t": above(result) + 8, "b": 24},
        **axes,
    )


def grids(result: MedicalPatchingResult) -> tuple[np.ndarray, np.ndarray]:
    """Return what both boards show [layer, column], NaN where nothing was computed.

    Where recovery is not defined, the first is the change of the score, the second empty.
    """
    there = computed(result)
    if result.recovery_head is not None and result.recovery_head_random is not None:
        pair = (result.recovery_head, result.recovery_head_random)
    elif is_defined(result):
        pair = (result.recovery, result.recovery_random)
    else:
        pair = (result.logit_difference, result.recovery_random)
    return np.where(there, pair[0], np.nan), np.where(there, pair[1], np.nan)


def computed(result: MedicalPatchingResult) -> np.ndarray:
    """Return which cells of the board were computed."""
    return np.broadcast_to(result.causal_mask, board_shape(result))


def _quantity(result: MedicalPatchingResult) -> str:
    return "recovery (0 none, 1 full)" if is_defined(result) else f"change ({unit(result)})"


def _limit(result: MedicalPatchingResult, grid: np.ndarray) -> float:
    there = np.abs(grid[np.isfinite(grid)])
    top = float(there.max()) if there.size else 0.0
    return min(max(top, LEAST), MOST) if is_defined(result) else max(top, 1e-6)


def _board(
    result: MedicalPatchingResult, grid: np.ndarray, axis: str, limit: float, bar: Spec
) -> list[Spec]:
    layers, columns = grid.shape
    heat: Spec = {
        "type": "heatmap",
        "z": grid.astype(np.float32),
        "x": list(range(columns)),
        "y": result.layers,
        "zmin": -limit,
        "zmax": limit,
        "colorscale": [list(stop) for stop in DIVERGING],
        "hoverongaps": False,
        "customdata": [[f"{i},{j}" for j in range(columns)] for i in range(layers)],
        "hovertext": _hovers(result, grid, RANDOM if axis else ""),
        "hoverinfo": "text",
        "showlegend": False,
        "name": RANDOM if axis else "measured",
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        **bar,
    }
    x, y = _outside(computed(result))
    if not len(x):
        return [heat]
    hatch = hatched(x, y, FORBIDDEN, xaxis=f"x{axis}", yaxis=f"y{axis}", showlegend=not axis)
    return [heat, hatch]


def _hovers(result: MedicalPatchingResult, grid: np.ndarray, kind: str) -> list[list[str]]:
    name = _quantity(result).split(" (")[0]
    heading = f"<br>{kind}" if kind else ""
    words = [column_name(result, column) for column in range(grid.shape[1])]

    def told(layer: int, column: int) -> str:
        value = f"{name}: {grid[layer, column]:+.3f}"
        if not is_defined(result):
            value += f" {unit(result)}"
        return (
            f"layer {result.layers[layer]}, {words[column]}{heading}<br>{value}<br>{count(result)}"
        )

    return [[told(i, j) for j in range(grid.shape[1])] for i in range(grid.shape[0])]


def _outside(there: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the outlines of the cells that are not there, one for each run in a column."""
    x: list[float] = []
    y: list[float] = []
    for column in range(there.shape[1]):
        for run in runs(~there[:, column]):
            left, low, high = column - 0.5, run.start - 0.5, run.stop - 0.5
            x += [left, left + 1, left + 1, left, left, np.nan]
            y += [low, low, high, high, low, np.nan]
    return x, y


def _ring(result: MedicalPatchingResult, look: Look) -> list[Spec]:
    cell = chosen_cell(result, look)
    if cell is None:
        return []
    layer, column = cell
    x = column + np.array([-0.5, 0.5, 0.5, -0.5, -0.5])
    y = layer + np.array([-0.5, -0.5, 0.5, 0.5, -0.5])
    return [
        {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": {"color": ACCENT, "width": 3},
         "hoverinfo": "skip", "showlegend": False, "xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        for axis in ("", "2")
    ]  # fmt: skip


def _axes(result: MedicalPatchingResult) -> dict[str, Any]:
    columns = board_shape(result)[1]
    step = -(-columns // MOST_TICKS)
    ticks = list(range(0, columns, step))
    if by_head(result):
        title, names = "head", [str(column) for column in ticks]
    else:
        title = (
            f"position of the {'corrupted' if result.direction == 'denoising' else 'clean'} prompt"
        )
        names = [escape(result.columns[column], 14) for column in ticks]
    across: Spec = {
        "title": {"text": title, "standoff": 8},
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": names,
        "tickangle": 0 if by_head(result) else -55,
        "range": [-0.5, columns - 0.5],
    }
    count = len(result.layers)
    up: Spec = {"range": [-0.5, count - 0.5], "tick0": 0, "dtick": max(1, -(-count // 10))}
    return {
        "xaxis": {**across, "domain": list(ACROSS[0])},
        "xaxis2": {**across, "domain": list(ACROSS[1]), "anchor": "y2"},
        "yaxis": {**up, "title": {"text": "layer (0 is the first block)", "standoff": 8}},
        "yaxis2": {**up, "anchor": "x2"},
    }
