"""Partitions as rows of labels: numbering, reduction without loss, overlaps, joins.

`labels[m, x]` is the cluster of element x at scale m; only equality inside a row matters.
Source of the reductions: MCbiF, arXiv 2510.14710; twins (elements never separated) and repeated
partitions change no homology.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


def numbered(labels: np.ndarray) -> Int[np.ndarray, "scale element"]:
    """Number the clusters of each scale 0.. in the order of first appearance, as int32."""
    rows = np.asarray(labels)
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"labels have shape {rows.shape}; (scales, elements) is needed")
    return np.stack([_first_seen(row) for row in rows])


def _first_seen(row: np.ndarray) -> np.ndarray:
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return np.asarray(rank[inverse.reshape(-1)])


@dataclass(frozen=True)
class Reduced:
    """A sequence without twins and without repeats of a partition.

    `twin_of[x]` is the column of `labels` that element x became, `row_of[m]` the row that scale m
    became.
    """

    labels: Int[np.ndarray, "row column"]
    twin_of: Int[np.ndarray, "element"]
    row_of: Int[np.ndarray, "scale"]


def reduced(labels: Int[np.ndarray, "scale element"]) -> Reduced:
    """Drop elements that are never separated from an earlier one, and repeats of a partition.

    Takes numbered labels; columns keep the order of first appearance.
    """
    differs = np.any(labels[1:] != labels[:-1], axis=1)
    rows = np.r_[True, differs]
    kept = labels[rows]
    _, first, inverse = np.unique(kept, axis=1, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    columns = np.ascontiguousarray(kept[:, np.sort(first)])
    return Reduced(columns, rank[inverse.reshape(-1)], np.cumsum(rows) - 1)


def contingency(
    first: Int[np.ndarray, "element"], second: Int[np.ndarray, "element"]
) -> Int[np.ndarray, "cluster other"]:
    """Count the elements shared by each cluster of one partition and each of another."""
    shape = int(first.max()) + 1, int(second.max()) + 1
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (first, second), 1)
    return counts


def join(labels: Int[np.ndarray, "scale element"]) -> Int[np.ndarray, "element"]:
    """Return the blocks of the finest partition that is coarser than all given ones."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    scales, elements = labels.shape
    offsets = np.r_[0, np.cumsum(labels.max(axis=1) + 1)]
    places = (labels + offsets[:-1, None]).reshape(-1) + elements
    who = np.tile(np.arange(elements), scales)
    size = elements + int(offsets[-1])
    edges = coo_array((np.ones(len(who), np.int8), (who, places)), shape=(size, size))
    _, block = connected_components(edges, directed=False)
    return np.asarray(numbered(block[None, :elements])[0])
