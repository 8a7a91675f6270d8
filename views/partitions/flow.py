"""Where the Sankey's nodes and ribbons lie, in units of elements; y grows downwards.

A node is as high as its cluster is large, and stands in its column at the place of the optimized
layout. A ribbon holds the elements that two clusters of two columns share and that have one color;
inside a node, ribbons leave in the order of where they go and arrive in that of where they come
from, so that they cross only where clusters do.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from backends.partitions.result import PartitionResult
from views.partitions.look import n_scales

MOST_COLUMNS = 40
# Height of a gap between nodes, and of all gaps of the fullest column, as a share of N.
GAP, GAPS = 0.05, 0.4


@dataclass(frozen=True)
class Nodes:
    """Of each cluster of the result: the place of its upper edge. `of[m, c]` is the cluster."""

    top: Float[np.ndarray, "cluster"]
    of: Int[np.ndarray, "scale label"]


@dataclass(frozen=True)
class Ribbons:
    """The ribbons between two columns: upper edges at both ends, widths, colors, ends."""

    left: Float[np.ndarray, "ribbon"]
    right: Float[np.ndarray, "ribbon"]
    width: Int[np.ndarray, "ribbon"]
    color: Int[np.ndarray, "ribbon"]
    source: Int[np.ndarray, "ribbon"]
    target: Int[np.ndarray, "ribbon"]


def nodes(result: PartitionResult) -> Nodes:
    """Stack the clusters of each column in the order of the layout, each column in the middle."""
    scales, most = n_scales(result), int(result.n_clusters.max())
    gap = min(GAP * result.n, GAPS * result.n / max(most - 1, 1))
    of = np.full((scales, most), -1)
    of[result.cluster_scale, result.cluster_label] = np.arange(len(result.cluster_scale))
    top = np.empty(len(result.cluster_scale))
    for m in range(scales):
        here = of[m, : result.n_clusters[m]]
        here = here[np.argsort(result.cluster_position[here], kind="stable")]
        heights = result.cluster_size[here] + gap
        shift = gap * (most - len(here)) / 2
        top[here] = shift + np.cumsum(heights) - heights
    return Nodes(top, of)


def height(result: PartitionResult) -> float:
    """Return the height of the fullest column."""
    most = int(result.n_clusters.max())
    return result.n + min(GAP * result.n * (most - 1), GAPS * result.n)


def columns(scales: int, s: int, t: int, most: int = MOST_COLUMNS) -> list[int]:
    """Choose at most `most` scales, evenly, with the ends of the window s..t among them.

    Of a window that has room for all its scales beside the others, all are kept.
    """
    if scales <= most:
        return list(range(scales))
    window = np.arange(s, t + 1)
    rest = np.setdiff1d(np.arange(scales), window)
    inside = most - min(len(rest), most // 2)
    if len(window) > inside:
        window = np.unique(np.linspace(s, t, inside).round().astype(int))
    room = min(most - len(window), len(rest))
    even = np.linspace(0, max(len(rest) - 1, 0), room).round().astype(int)
    return [int(m) for m in np.union1d(window, rest[even])]


def ribbons(
    result: PartitionResult,
    at: Nodes,
    pair: tuple[int, int],
    color: Int[np.ndarray, "element"],
    marked: Bool[np.ndarray, "element"],
    only_marked: bool = False,
) -> Ribbons:
    """Return the ribbons between two columns; those of marked elements lie uppermost in theirs."""
    source, target = (at.of[m][result.labels[m]] for m in pair)
    leaves, arrives = at.top[source], at.top[target]
    left = _packed(source, leaves, arrives, color, marked)
    right = _packed(target, arrives, leaves, color, marked)
    kept = np.flatnonzero(marked) if only_marked else np.arange(len(color))
    key = np.stack([source, target, color])[:, kept]
    found, inverse, count = np.unique(key, axis=1, return_inverse=True, return_counts=True)
    upper = np.full((2, len(count)), np.inf)
    for side, places in enumerate((left, right)):
        np.minimum.at(upper[side], inverse.reshape(-1), places[kept])
    return Ribbons(upper[0], upper[1], count, found[2], found[0], found[1])


def _packed(
    node: np.ndarray, top: np.ndarray, other: np.ndarray, color: np.ndarray, marked: np.ndarray
) -> np.ndarray:
    """Return the place of each element inside its node, sorted by where the other end lies."""
    order = np.lexsort((~marked, color, other, top))
    rank = np.empty(len(node), np.int64)
    rank[order] = np.arange(len(node))
    first = np.full(int(node.max()) + 1, len(node))
    np.minimum.at(first, node, rank)
    return np.asarray(top + rank - first[node])


def majority(
    result: PartitionResult, pair: tuple[int, int], color: Int[np.ndarray, "element"]
) -> Int[np.ndarray, "element"]:
    """Give all elements that two clusters share the most frequent color among them."""
    first, second = (result.labels[m] for m in pair)
    link = np.unique(first.astype(np.int64) * (int(second.max()) + 1) + second, return_inverse=True)
    counts = np.zeros((len(link[0]), int(color.max()) + 1), np.int64)
    np.add.at(counts, (link[1].reshape(-1), color), 1)
    return np.asarray(np.argmax(counts, axis=1)[link[1].reshape(-1)])
