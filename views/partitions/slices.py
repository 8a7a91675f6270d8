"""A slice through the grids along a row, a column or an anti-diagonal, with its barcode.

Along a row (s fixed) the window grows to the right, along a column (t fixed) it grows upwards: both
are filtrations and have a barcode. Along an anti-diagonal the window slides; no complex contains
the one before, so that there is none.
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from backends.math.barcodes import column_barcode, row_barcode
from backends.math.partitions import reduced
from backends.math.relations import MOST_GENERATORS
from backends.partitions.result import PartitionResult
from views.contract import Look
from views.figure import series_color
from views.partitions.curves import along, scale_axis
from views.partitions.look import (
    chosen_direction,
    chosen_place,
    counted,
    n_scales,
    scale_name,
)
from views.plain import Spec, assembled, said, written

# Bars of one degree that are drawn; the longest ones.
MOST_BARS = 120
# An axis without traces would not be drawn.
NOTHING: Spec = {"type": "scatter", "x": [None], "y": [None], "yaxis": "y3", "showlegend": False}
SLIDES = "An anti-diagonal has no barcode: its windows slide,<br>and none contains the one before."
TOO_LARGE = f"Too large for a barcode on the page<br>(over {MOST_GENERATORS:,} scales × elements)."


@dataclass(frozen=True)
class Slice:
    """The windows (s, t) along a line, where they lie on the x axis, and the line in words."""

    s: Int[np.ndarray, "place"]
    t: Int[np.ndarray, "place"]
    at: Int[np.ndarray, "place"]
    words: str
    axis: str


def chosen_slice(result: PartitionResult, look: Look) -> Slice:
    """Return the slice of the look."""
    place, every = chosen_place(result, look), np.arange(n_scales(result))
    name = scale_name(result, place)
    if chosen_direction(look) == "column":
        s = every[: place + 1]
        words = f"column t = {name} (number {place})"
        return Slice(s, np.full_like(s, place), s, words, "s: scale where the window begins")
    if chosen_direction(look) == "lag":
        s = every[: len(every) - place]
        words = f"anti-diagonal t − s = {place}"
        return Slice(s, s + place, s + place, words, "t: scale where the window ends")
    t = every[place:]
    words = f"row s = {name} (number {place})"
    return Slice(np.full_like(t, place), t, t, words, "t: scale where the window ends")


def slice_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw both Hilbert functions along the slice, and its barcode below."""
    line = chosen_slice(result, look)
    bars, sentence = barcode_traces(result, look)
    notes = [written(f"{line.words}<br>{counted(result)}")]
    return assembled(
        [
            *along(result, "hf0", line.s, line.t, at=line.at, yaxis="y"),
            *along(result, "hf1", line.s, line.t, at=line.at, yaxis="y2"),
            *bars,
        ],
        f"Slice along the {line.words}",
        xaxis={**scale_axis(result, line.axis), "anchor": "y3"},
        yaxis={**_up("HF<sub>0</sub>"), "domain": [0.74, 1.0]},
        yaxis2={**_up("HF<sub>1</sub>"), "domain": [0.42, 0.68]},
        yaxis3={**_up("bars"), "domain": [0.0, 0.36], "showticklabels": False, "ticks": ""},
        annotations=notes + ([said(sentence, "x", "y3")] if sentence else []),
        height=600,
        margin={"l": 64, "r": 16, "t": 48, "b": 24},
    )


def _up(title: str) -> Spec:
    return {"title": {"text": title, "standoff": 8}, "rangemode": "tozero"}


def barcode_traces(result: PartitionResult, look: Look) -> tuple[list[Spec], str]:
    """Return the bars of both degrees, or the sentence why there are none."""
    direction, place = chosen_direction(look), chosen_place(result, look)
    if direction == "lag":
        return [NOTHING], SLIDES
    if reduced(result.labels).labels.size > MOST_GENERATORS:
        return [NOTHING], TOO_LARGE
    find = row_barcode if direction == "row" else column_barcode
    zeroth, first = find(result.labels, place)
    low = _bars(result, zeroth, 0, 0)
    return [low, _bars(result, first, 1, min(len(zeroth), MOST_BARS) + 2)], ""


def _bars(
    result: PartitionResult, bars: Int[np.ndarray, "bar 2"], degree: int, lowest: int
) -> Spec:
    """Return the longest bars of one degree, one above the other, those that begin first below."""
    order = np.argsort(-np.abs(bars[:, 1] - bars[:, 0]), kind="stable")[:MOST_BARS]
    drawn = bars[np.sort(order)]
    ends = np.clip(drawn, -0.5, n_scales(result) - 0.5)
    heights = lowest + np.arange(len(drawn))
    gaps = np.full(len(drawn), np.nan)
    left_out = f", the {MOST_BARS} longest" if len(bars) > MOST_BARS else ""
    words = "components" if degree == 0 else "cycles"
    return {
        "type": "scatter",
        "x": np.stack([ends[:, 0], ends[:, 1], gaps], 1).ravel().astype(np.float32),
        "y": np.stack([heights, heights, gaps], 1).ravel().astype(np.float32),
        "yaxis": "y3",
        "mode": "lines",
        "line": {"color": series_color(degree), "width": 2},
        "name": f"bars of {words} (N = {len(bars):,}{left_out})",
        "hovertext": [text for b in drawn.tolist() for text in (_told(result, b, words),) * 3],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _told(result: PartitionResult, bar: list[int], words: str) -> str:
    birth, death = bar
    is_over = 0 <= death < n_scales(result)
    end = f"ends at scale {scale_name(result, death)}" if is_over else "does not end in this slice"
    return f"{words}: one bar<br>begins at scale {scale_name(result, birth)}<br>{end}"
