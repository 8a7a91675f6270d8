"""What a clicked window (s, t) opens: its numbers, its join, a cycle in words, its contingency."""

import numpy as np

from backends.math.conflicts import fewest_clusters
from backends.math.cycles import Step
from backends.math.partitions import contingency, join
from backends.partitions.result import PartitionResult
from views.contract import Look
from views.partitions.look import chosen_cell
from views.partitions.markup import listed, number, pairs, sentence, table, text
from views.partitions.nerve import is_too_large, window_cycle

# Blocks of the join and clusters of a side of the contingency table that are listed.
MOST_BLOCKS = 12
MOST_CLUSTERS = 12


def window_html(result: PartitionResult, look: Look) -> str:
    """Return the selected window as HTML."""
    s, t = chosen_cell(result, look)
    parts = [_numbers(result, s, t), _cycle(result, s, t), _blocks(result, s, t)]
    if t == s + 1:
        parts.append(contingency_html(result, s, t))
    return f"<div class='gw-details'>{''.join(parts)}</div>"


def _name(result: PartitionResult, scale: int) -> str:
    return text(result.scale_names[scale], 24)


def _numbers(result: PartitionResult, s: int, t: int) -> str:
    hf0, hf1 = int(result.hf0[s, t]), int(result.hf1[s, t])
    smallest = int(fewest_clusters(result.n_clusters[s : t + 1])[0, -1])
    scales = f"{_name(result, s)} to {_name(result, t)}"
    heading = f"<h3>Window of scales {scales} (numbers {s} to {t})</h3>"
    meaning = _meaning(hf0, hf1, smallest)
    return (
        heading
        + sentence(meaning)
        + pairs(
            [
                ("HF<sub>0</sub>, components", f"{hf0:,}"),
                ("HF<sub>1</sub>, independent cycles", f"{hf1:,}"),
                ("c<sub>0</sub>, conflict with refinement", number(float(result.c0[s, t]))),
                ("smallest number of clusters in the window", f"{smallest:,}"),
                ("N", f"{result.n:,} elements, {t - s + 1} of {len(result.scales)} scales"),
            ]
        )
    )


def _meaning(hf0: int, hf1: int, smallest: int) -> str:
    if hf0 == smallest:
        nests = "One partition of the window is coarser than, or equal to, all others."
    else:
        nests = (
            f"No partition of the window is coarser than all others: the coarsest has {smallest:,} "
            f"clusters, their join {hf0:,}."
        )
    cycles = "No cycle of clusters." if hf1 == 0 else f"Independent cycles of clusters: {hf1:,}."
    return f"{nests} {cycles}"


def _cycle(result: PartitionResult, s: int, t: int) -> str:
    if result.hf1[s, t] == 0:
        return ""
    if is_too_large(result, s, t):
        return sentence("The window is too large to find a cycle at once.")
    steps = window_cycle(result, s, t)
    return f"<p>A shortest cycle of elements (bold) and clusters: {_walk(result, steps)}</p>"


def _walk(result: PartitionResult, steps: list[Step]) -> str:
    parts = [
        f"<b>{text(result.elements[x], 24)}</b> – cluster "
        f"{text(result.cluster_names[m][c], 24)} of scale {_name(result, m)}"
        for m, c, x in steps[:MOST_CLUSTERS]
    ]
    back = "…" if len(steps) > MOST_CLUSTERS else f"<b>{text(result.elements[steps[0][2]], 24)}</b>"
    return " – ".join([*parts, back])


def _blocks(result: PartitionResult, s: int, t: int) -> str:
    block = join(result.labels[s : t + 1])
    sizes = np.bincount(block)
    order = np.argsort(-sizes, kind="stable")
    rows = []
    for rank, b in enumerate(order[:MOST_BLOCKS].tolist(), 1):
        names = [result.elements[x] for x in np.flatnonzero(block == b).tolist()]
        rows.append([str(rank), f"{sizes[b]:,}", listed(names)])
    shown = f"; the {MOST_BLOCKS} largest are listed" if len(sizes) > MOST_BLOCKS else ""
    plural = "block" if len(sizes) == 1 else "blocks"
    caption = f"Join of the window: {len(sizes):,} {plural}{shown}"
    return table(["block", "elements", "members"], rows, {0, 1}, caption)


def contingency_html(result: PartitionResult, first: int, second: int) -> str:
    """Return how many elements each cluster of one scale shares with each of another."""
    counts = contingency(result.labels[first], result.labels[second])
    rows_of, columns_of = (np.argsort(-counts.sum(axis=i), kind="stable") for i in (1, 0))
    rows_of, columns_of = rows_of[:MOST_CLUSTERS], columns_of[:MOST_CLUSTERS]
    names = result.cluster_names
    header = [_name(result, first) + " \\ " + _name(result, second)]
    header += [text(names[second][d], 16) for d in columns_of.tolist()]
    rows = [
        [
            text(names[first][c], 16),
            *(f"{n:,}" if n else "·" for n in counts[c, columns_of].tolist()),
        ]
        for c in rows_of.tolist()
    ]
    is_cut = len(rows_of) < len(counts) or len(columns_of) < counts.shape[1]
    shown = f"; the {MOST_CLUSTERS} largest clusters of each scale" if is_cut else ""
    caption = f"Shared elements of the two scales, N = {result.n:,}{shown}"
    return table(header, rows, set(range(1, len(header))), caption)
