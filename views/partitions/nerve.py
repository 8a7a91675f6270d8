"""The nerve of a window as a graph: clusters, the overlaps between them, and one cycle.

Nodes are the clusters of the window at their scale and their place in the Sankey; an edge joins two
clusters of different scales that share elements. One shortest cycle that no cluster fills is drawn
in the accent color.
"""

from functools import lru_cache
from itertools import combinations

import numpy as np
import plotly.graph_objects as go

from backends.math.cycles import Step, representative_cycle
from backends.math.partitions import contingency, numbered, reduced
from backends.math.relations import MOST_GENERATORS
from backends.partitions.result import PartitionResult
from views.contract import Look
from views.figure import INK, LINE, alpha, escape
from views.partitions.flow import height, nodes
from views.partitions.grids import PAPER
from views.partitions.look import (
    ACCENT,
    chosen_cell,
    cluster_key,
    cluster_name,
    scale_name,
    scale_ticks,
)
from views.plain import CLICK, Spec, area, assembled, boxes, unseen, written

MOST_EDGES = 1_500
MOST_NAMES = 12
Edge = tuple[int, int, int, int, int]


def nerve_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw the nerve of the selected window."""
    s, t = chosen_cell(result, look)
    found, total = overlaps(result, s, t)
    centers = _centers(result, s, t)
    cycle = window_cycle(result, s, t)
    ticks = scale_ticks(result.scale_names[s : t + 1])
    n_clusters = int(result.n_clusters[s : t + 1].sum())
    drawn = f"{len(found):,} of {total:,}" if len(found) < total else f"{total:,}"
    words = (
        f"{n_clusters:,} clusters, {drawn} overlaps<br>HF<sub>1</sub> = {int(result.hf1[s, t]):,}"
    )
    return assembled(
        [
            _edges(found, centers, s, height(result) / 800),
            *_nodes(result, centers, s),
            *_cycle(cycle, centers, s),
        ],
        f"Nerve of the window {scale_name(result, s)} to {scale_name(result, t)}",
        xaxis={"title": {"text": "scale", "standoff": 8}, "range": [-0.5, t - s + 0.5], **ticks},
        yaxis={"title": {"text": "clusters, in the order of the Sankey", "standoff": 8},
               "range": [height(result) * 1.05, -height(result) * 0.05],
               "showticklabels": False, "ticks": ""},
        annotations=[written(f"{words}; N = {result.n:,} elements"),
                     *_shared(result, cycle, centers, s)],
        margin={"l": 40, "r": 16, "t": 48, "b": 24},
    )  # fmt: skip


def overlaps(result: PartitionResult, s: int, t: int) -> tuple[list[Edge], int]:
    """Return overlaps (scale, cluster, scale, cluster, shared elements), and how many there are.

    Above the limit those of scales next to each other come first, then the largest.
    """
    parts = []
    for a, b in combinations(range(s, t + 1), 2):
        counts = contingency(result.labels[a], result.labels[b])
        first, second = np.nonzero(counts)
        ends = np.full(len(first), a), first, np.full(len(first), b), second
        parts.append(np.stack([*ends, counts[first, second]], 1))
    found = np.concatenate(parts) if parts else np.empty((0, 5), np.int64)
    if len(found) > MOST_EDGES:
        order = np.lexsort((-found[:, 4], found[:, 2] - found[:, 0] > 1))
        return [tuple(edge) for edge in found[order[:MOST_EDGES]].tolist()], len(found)
    return [tuple(edge) for edge in found.tolist()], len(found)


def window_cycle(result: PartitionResult, s: int, t: int) -> list[Step]:
    """Return a shortest cycle of a window in numbers of the result's scales, empty without one.

    A window that is too large has none here; `is_too_large` says so.
    """
    if result.hf1[s, t] == 0 or is_too_large(result, s, t):
        return []
    window = np.ascontiguousarray(result.labels[s : t + 1])
    found = _found(window.tobytes(), window.shape, str(window.dtype))
    return [(s + m, c, x) for m, c, x in found]


@lru_cache(maxsize=16)
def _found(content: bytes, shape: tuple[int, ...], kind: str) -> list[Step]:
    """Find a cycle once: the words and the graph of a window both show it."""
    return representative_cycle(np.frombuffer(content, kind).reshape(shape)) or []


def is_too_large(result: PartitionResult, s: int, t: int) -> bool:
    """Say whether a window is too large to find a cycle at once."""
    window = result.labels[s : t + 1]
    is_large = window.size > MOST_GENERATORS
    return is_large and reduced(numbered(window)).labels.size > MOST_GENERATORS


Centers = dict[tuple[int, int], float]


def _centers(result: PartitionResult, s: int, t: int) -> Centers:
    at = nodes(result)
    middle = at.top + result.cluster_size / 2
    return {
        (m, c): float(middle[at.of[m, c]])
        for m in range(s, t + 1)
        for c in range(int(result.n_clusters[m]))
    }


def _edges(found: list[Edge], centers: Centers, s: int, thick: float) -> Spec:
    """Return the edges as thin polygons: lines with gaps would be a piece of the page each."""
    ends = np.array([(a - s, b - s, centers[a, c], centers[b, d]) for a, c, b, d, _ in found])
    left, right, y0, y1 = ends.reshape(-1, 4).T
    x = np.stack([left, right, right, left], 1)
    y = np.stack([y0 - thick, y1 - thick, y1 + thick, y0 + thick], 1)
    return area(x, y, alpha(LINE, 0.35), name="overlap")


def _nodes(result: PartitionResult, centers: Centers, s: int) -> list[Spec]:
    places = list(centers)
    of = nodes(result).of
    sizes = result.cluster_size[[of[place] for place in places]]
    x, y = np.array([m - s for m, _ in places]), np.array(list(centers.values()))
    texts = [
        f"cluster {cluster_name(result, m, c)}<br>scale {scale_name(result, m)} (number {m})"
        f"<br>N = {size:,} elements"
        for (m, c), size in zip(places, sizes.tolist(), strict=True)
    ]
    keys = [cluster_key(m, c) for m, c in places]
    half = 0.012 * (int(x.max()) + 1)
    outlines = boxes(x, y - sizes / 2, y + sizes / 2, half)
    return [area(*outlines, INK, name="cluster"), unseen(x, y, keys, texts, CLICK)]


def _cycle(cycle: list[Step], centers: Centers, s: int) -> list[Spec]:
    """Return the cycle as a closed line through its clusters."""
    if not cycle:
        return []
    around = [*cycle, cycle[0]]
    return [
        {
            "type": "scatter",
            "x": np.array([m - s for m, _, _ in around], np.float32),
            "y": np.array([centers[m, c] for m, c, _ in around], np.float32),
            "mode": "lines+markers",
            "line": {"color": ACCENT, "width": 3},
            "marker": {"color": ACCENT, "size": 9},
            "hoverinfo": "skip",
            "name": f"a cycle through {len(cycle)} clusters",
        }
    ]


def _shared(result: PartitionResult, cycle: list[Step], centers: Centers, s: int) -> list[Spec]:
    """Return the names of the elements that the clusters of a cycle share, between these."""
    texts = []
    for (m, c, _), (r, d, x) in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        texts.append(
            {
                "text": escape(result.elements[x], 16),
                "x": (m + r) / 2 - s,
                "y": (centers[m, c] + centers[r, d]) / 2,
                "showarrow": False,
                "font": {"size": 11},
                "bgcolor": PAPER,
                "borderpad": 1,
            }
        )
    return texts[:MOST_NAMES]
