"""Sankey layouts with the fewest crossings, for sequences of few clusters per scale.

Columns are put in each of their orders, and the best chain of orders is found by dynamic
programming over the columns. For an order p of one column and q of the next, with sigma = 1 or -1
for each pair of clusters (above or below),

    crossings(p, q) = sum (S + T) / 2 - sigma(p)' (S - T) sigma(q) / 2,

where S[ab, cd] says that a-c and b-d are links, and T[ab, cd] that a-d and b-c are.
"""

from functools import cache
from itertools import permutations
from math import factorial

import numpy as np
from jaxtyping import Bool, Float

# Pairs of orders of neighboring columns that are compared: a tenth of a second, 40 MB.
MOST_PAIRS = 5_000_000
MOST_CLUSTERS = 8


def is_small(sizes: list[int]) -> bool:
    """Say whether all orders can be tried: sum k_m! k_{m+1}! is at most `MOST_PAIRS`."""
    if max(sizes) > MOST_CLUSTERS:
        return False
    counts = [factorial(size) for size in sizes]
    return sum(a * b for a, b in zip(counts, counts[1:], strict=False)) <= MOST_PAIRS


def best_orders(links: list[np.ndarray]) -> list[np.ndarray]:
    """Return the place of each cluster of each column, from matrices that say what is linked.

    Of equally good layouts it takes the first in the order of permutations.
    """
    sizes = [len(gap) for gap in links] + [links[-1].shape[1]]
    cost = np.zeros(factorial(sizes[0]))
    came_from = []
    for gap in links:
        total = cost[:, None] + _crossings(gap)
        came_from.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    chosen = [int(cost.argmin())]
    for origin in reversed(came_from):
        chosen.append(int(origin[chosen[-1]]))
    pairs = zip(sizes, reversed(chosen), strict=True)
    return [_orders(size)[0][choice].copy() for size, choice in pairs]


def _crossings(links: Bool[np.ndarray, "cluster other"]) -> Float[np.ndarray, "order next"]:
    """Return the crossings of one gap for all orders of its two columns."""
    present = links.astype(np.float64)
    _, above, (a, b) = _orders(len(links))
    _, below, (c, d) = _orders(links.shape[1])
    straight = present[np.ix_(a, c)] * present[np.ix_(b, d)]
    twisted = present[np.ix_(a, d)] * present[np.ix_(b, c)]
    constant = (straight.sum() + twisted.sum()) / 2
    return np.asarray(constant - above @ ((straight - twisted) / 2) @ below.T)


@cache
def _orders(
    size: int,
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return all places [order, cluster], their signs [order, pair], and the pairs."""
    places = np.array(list(permutations(range(size))), np.int64)
    a, b = np.triu_indices(size, 1)
    return places, np.where(places[:, a] < places[:, b], 1.0, -1.0), (a, b)
