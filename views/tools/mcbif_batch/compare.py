"""Two sequences of a batch side by side, and where their Hilbert functions differ."""

from typing import Any

import plotly.graph_objects as go

from backends.methods.mcbif_batch import McbifBatchResult
from views.contract import Look
from views.partitions.grids import board_axes, grid_traces
from views.partitions.markup import number, sentence, text
from views.plain import Spec, assembled, written
from views.tools.mcbif_batch.look import chosen, counted, name_of

DOMAINS = ([0.0, 0.29], [0.355, 0.645], [0.71, 1.0])
# Above this number of scales the numbers in the cells are set smaller.
WIDE = 12


def compare_figure(result: McbifBatchResult, look: Look, name: str) -> go.Figure | None:
    """Draw a grid (`hf0` or `hf1`) of A, of B, and A - B; None for one sequence alone."""
    if result.n < 2:
        return None
    a, b = chosen(result, look)
    grids = getattr(result, name)
    what = f"HF<sub>{name[-1]}</sub>"
    top = float(max(grids[a].max(), grids[b].max()))
    names = [f"{what} of {w}: {name_of(result, i, 20)}" for w, i in (("A", a), ("B", b))]
    names.append(f"{what} of A − B")
    boards = [
        _board(grids[a], name, 0, names[0], top),
        _board(grids[b], name, 1, names[1], top),
        _board(grids[a] - grids[b], "signed", 2, names[2]),
    ]
    return assembled(
        [trace for board in boards for trace in board],
        f"{what} of two sequences and their difference",
        annotations=[_heading(result, i, words) for i, words in enumerate(names)],
        margin={"l": 64, "r": 16, "t": 84, "b": 24},
        **_axes(result.scale_names),
    )


def _heading(result: McbifBatchResult, board: int, words: str) -> Spec:
    """Write a line over the board; the first has the numbers of elements above it."""
    at = _suffix(board)
    counts = f"{counted(result)}<br>" if board == 0 else ""
    place = {"xref": f"x{at} domain", "yref": f"y{at} domain"}
    return {**written(counts + words, above=32), "align": "left", **place}


def _axes(names: list[str]) -> Spec:
    """Return the axes of the boards, which move together; only the first names s."""
    layout: Spec = {}
    for i, domain in enumerate(DOMAINS):
        right, down = board_axes(names, domain=list(domain))
        at = _suffix(i)
        layout[f"xaxis{at}"] = right | {"anchor": f"y{at}"} | ({"matches": "x"} if i else {})
        layout[f"yaxis{at}"] = down | {"anchor": f"x{at}"}
        if i:
            layout[f"yaxis{at}"] |= {"matches": "y", "title": {"text": ""}}
    return layout


def _suffix(board: int) -> str:
    return "" if board == 0 else str(board + 1)


def _board(grid: Any, kind: str, board: int, name: str, limit: float | None = None) -> list[Spec]:
    left, right = DOMAINS[board]
    bar = {"x": (left + right) / 2, "xanchor": "center", "len": right - left}
    axes: Spec = {"xaxis": f"x{_suffix(board)}", "yaxis": f"y{_suffix(board)}"}
    traces = grid_traces(grid, kind, name=name, limit=limit, bar=bar, **axes)
    if len(grid) > WIDE:
        traces[0]["textfont"] = {"size": 8}
    return [traces[0], *({**each, "showlegend": board == 0} for each in traces[1:])]


def distance_html(result: McbifBatchResult, look: Look) -> str | None:
    """Say how far A and B are apart; None for one sequence alone."""
    if result.n < 2:
        return None
    a, b = chosen(result, look)
    zeroth, first = result.distance_hf0[a, b], result.distance_hf1[a, b]
    words = (
        f"A is {text(result.names[a])}, B is {text(result.names[b])}. Their Frobenius distance is "
        f"{number(float(zeroth), 4)} for HF<sub>0</sub> and {number(float(first), 4)} for "
        f"HF<sub>1</sub> ({counted(result)})."
    )
    return sentence(words)
