"""Links of a Sankey diagram of partitions: overlaps of neighboring scales, and their crossings.

Two links of one gap cross if they stand in opposite order on both sides; links that share an end do
not. Source of the lower bound: MCbiF, arXiv 2510.14710.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True)
class Links:
    """Links of all gaps, by gap, then left cluster, then right cluster; `width` in elements."""

    gap: Int[np.ndarray, "link"]
    left: Int[np.ndarray, "link"]
    right: Int[np.ndarray, "link"]
    width: Int[np.ndarray, "link"]
    sizes: list[int]


def find_links(labels: Int[np.ndarray, "scale element"]) -> Links:
    """Return the non-zero overlaps of neighboring scales. Labels are numbered from 0."""
    sizes = [int(size) for size in labels.max(axis=1) + 1]
    wide = np.int64(max(sizes))
    gap = np.arange(len(labels) - 1, dtype=np.int64)[:, None]
    codes = (gap * wide + labels[:-1]) * wide + labels[1:]
    found, width = np.unique(codes, return_counts=True)
    left = found // wide
    return Links(left // wide, left % wide, found % wide, width.astype(np.int64), sizes)


def grids(links: Links) -> list[np.ndarray]:
    """Return a matrix for each gap: is there a link from left cluster to right cluster?"""
    found = [np.zeros(size, bool) for size in zip(links.sizes, links.sizes[1:], strict=False)]
    for gap, left, right in zip(links.gap, links.left, links.right, strict=True):
        found[gap][left, right] = True
    return found


def count(links: Links, place: np.ndarray, weighted: bool = False) -> int:
    """Count the crossings of a layout; weighted, a pair counts the product of both widths.

    `place` holds the places of the clusters of all scales, one scale after the other. Pairs in
    opposite order are told apart at the highest bit in which their right places differ, so they
    are counted bit by bit.
    """
    if not len(links.gap):
        return 0
    first = np.r_[0, np.cumsum(links.sizes)]
    from_place = place[first[links.gap] + links.left]
    to_place = place[first[links.gap + 1] + links.right]
    order = np.lexsort((to_place, from_place, links.gap))
    bits = int(max(links.sizes) - 1).bit_length()
    key = (links.gap[order] << bits) + to_place[order]
    width = links.width[order] if weighted else np.ones(len(order), np.int64)
    return sum(_parting(key, width, bit) for bit in range(bits))


def _parting(key: np.ndarray, width: np.ndarray, bit: int) -> int:
    """Count pairs with equal higher bits of which the first has `bit` and the second has not."""
    order = np.argsort(key >> (bit + 1), kind="stable")
    group, is_one = key[order] >> (bit + 1), (key[order] >> bit) & 1
    ones = np.cumsum(is_one * width[order])
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    before = np.repeat(np.r_[0, ones][starts], np.diff(np.r_[starts, len(group)]))
    return int(np.sum((1 - is_one) * width[order] * (ones - before)))


def bound_of(links: Links) -> int:
    """Return sum_m HF_1(m, m + 1) = links - clusters + components, over all gaps taken apart."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(links.gap):
        return 0
    wide = max(links.sizes)
    sides = 2 * links.gap * wide + links.left, (2 * links.gap + 1) * wide + links.right
    nodes, index = np.unique(np.concatenate(sides), return_inverse=True)
    ends = index.reshape(2, -1)
    edges = coo_array(
        (np.ones(len(links.gap), np.int8), (ends[0], ends[1])), shape=(len(nodes),) * 2
    )
    return int(len(links.gap) - len(nodes) + connected_components(edges, directed=False)[0])
