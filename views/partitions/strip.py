"""The summary strip: size, averages, the largest HF_1, crossings, and the null in words."""

import math

import numpy as np

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.partitions.markup import number, pairs, text


def strip_html(result: PartitionResult, look: Look) -> str:
    """Return the strip as HTML; it depends on no control."""
    lines = [
        ("size", f"N = {result.n:,} elements, M = {len(result.n_clusters):,} scales"),
        (
            "average conflict c<sub>0</sub>",
            f"{number(result.c0_bar)} (weighted by scale {number(result.c0_bar_scale_weighted)})",
        ),
        ("", null_words(result, "c0")),
        (
            "average cycles c<sub>1</sub>",
            f"{number(result.c1_bar)} (weighted by scale {number(result.c1_bar_scale_weighted)})",
        ),
        ("", null_words(result, "c1")),
        ("largest HF<sub>1</sub>", _largest(result)),
        (
            "crossings of the Sankey",
            f"{result.crossing_number:,} in the layout found ({result.crossing_number_weighted:,} "
            f"weighted by widths); at least {result.crossing_lower_bound:,} in every layout",
        ),
    ]
    items = "".join(f"<li>{text(each, 300)}</li>" for each in result.notes)
    notes = f"<ul class='gw-secondary'>{items}</ul>" if items else ""
    return f"<div class='gw-details'>{pairs(lines)}{notes}</div>"


def _largest(result: PartitionResult) -> str:
    if result.max_hf1 == 0:
        return "0 everywhere: no cycle in any window"
    places = np.argwhere(result.hf1 == result.max_hf1)
    s, t = (text(result.scale_names[m], 24) for m in places[0].tolist())
    more = f" and in {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"{result.max_hf1:,} in the window {s} to {t}{more}"


def null_words(result: PartitionResult, which: str) -> str:
    """Say in words how an average (`c0` or `c1`) compares with shuffled sequences."""
    if result.draws_wanted == 0:
        return "no shuffled sequences were asked for"
    null = np.asarray(getattr(result, f"null_{which}_bar"), np.float64)
    null = null[np.isfinite(null)]
    if not null.size:
        return f"shuffled sequences: 0 of {result.draws_wanted:,} so far"
    is_partial = result.draws < result.draws_wanted
    count = f"{result.draws:,} shuffled sequences"
    if is_partial:
        count = f"{result.draws:,} of {result.draws_wanted:,} shuffled sequences so far"
    low, high = np.percentile(null, [2.5, 97.5])
    between = f"{count}: {low:.3g} to {high:.3g} (95 %)"
    value = result.c0_bar if which == "c0" else result.c1_bar
    z, p = getattr(result, f"{which}_z"), getattr(result, f"{which}_p")
    numbers = [
        f"{name} = {number(v)}"
        for name, v in (("z", z), ("p", p))
        if v is not None and math.isfinite(v)
    ]
    return f"{between}; {_judged(value, low, high)}" + (
        f" ({', '.join(numbers)})" if numbers else ""
    )


def _judged(value: float, low: float, high: float) -> str:
    if value > high:
        return "above what shuffling gives"
    if value < low:
        return "below what shuffling gives"
    return "not distinguishable from shuffled labels"
