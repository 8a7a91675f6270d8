"""F8, the pairs: the score of both runs of each pair, and which pairs were dropped."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_patching import MedicalPatchingResult
from views.contract import Look
from views.figure import CONTROL, INK, escape, series_color
from views.plain import Spec, assembled, written
from views.tools.medical_patching.words import UNITS, count

ROW = 22
# Longest label of a pair, in characters.
LABEL = 44


def pairs_figure(result: MedicalPatchingResult, look: Look) -> go.Figure:
    """Draw a row per pair: from the corrupted run's score to the clean run's."""
    rows = np.arange(len(result.pairs))
    kept = np.array([not reason for reason in result.dropped_because])
    traces: list[Spec] = []
    for which, name, color in (
        (kept, "counts", series_color(0)),
        (~kept, "dropped", CONTROL),
    ):
        if which.any():
            traces += _rows(result, rows[which], name, color)
    labels = [escape(_label(pair), LABEL) for pair in result.pairs]
    unit = UNITS[result.metric]
    zero = {"type": "line", "x0": 0, "x1": 0, "y0": -0.5, "y1": len(rows) - 0.5,
            "line": {"color": INK, "width": 1}}  # fmt: skip
    return assembled(
        traces,
        "Scores of both runs, pair by pair",
        height=150 + ROW * max(len(rows), 4),
        shapes=[zero],
        xaxis={"title": {"text": f"score: answer minus foil ({unit}); over 0 prefers the answer"}},
        yaxis={
            "title": {"text": "pair"},
            "tickmode": "array",
            "tickvals": rows.tolist(),
            "ticktext": labels,
            "range": [len(rows) - 0.5, -0.5],
        },
        annotations=[written(f"{count(result)} of {len(rows)} given")],
    )


def _label(pair: list[str]) -> str:
    """Return answer and foil, which tell pairs of one template apart."""
    return f"{pair[2].strip()} / {pair[3].strip()}"


def _rows(result: MedicalPatchingResult, rows: np.ndarray, name: str, color: str) -> list[Spec]:
    low, high = result.score_corrupted[rows], result.score_clean[rows]
    gap = np.full(len(rows), np.nan)
    link: Spec = {
        "type": "scatter",
        "x": np.stack([low, high, gap], 1).ravel().astype(np.float32),
        "y": np.repeat(rows, 3).astype(np.float32),
        "mode": "lines",
        "line": {"color": color, "width": 2},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    ends = ((high, "clean", "circle"), (low, "corrupted", "circle-open"))
    return [link, *(_ends(result, rows, values, f"{side} run, {name}", symbol, color)
                    for values, side, symbol in ends)]  # fmt: skip


def _ends(
    result: MedicalPatchingResult,
    rows: np.ndarray,
    values: np.ndarray,
    name: str,
    symbol: str,
    color: str,
) -> Spec:
    hovers = [
        f"{escape(result.pairs[row][0], 60)}<br>{escape(result.pairs[row][1], 60)}<br>"
        f"{name}: {value:+.3f}<br>gap: {result.gap[row]:.3f}<br>"
        f"{escape(result.dropped_because[row]) or 'counts'}"
        for row, value in zip(rows.tolist(), values, strict=True)
    ]
    return {
        "type": "scatter",
        "x": values.astype(np.float32),
        "y": rows.astype(np.float32),
        "mode": "markers",
        "marker": {"color": color, "size": 9, "symbol": symbol, "line": {"width": 2}},
        "name": name,
        "hovertext": hovers,
        "hoverinfo": "text",
    }
