"""Sankey layout of a sequence of partitions: the order of the clusters in each column.

Columns are scales, a link joins two clusters of neighboring scales that share elements. The
crossing number counts the pairs of links of one column gap that stand in opposite order on both
sides; links that share an end do not cross. Weighted, a pair counts the product of both widths
(shared elements).

Layouts are found in two ways. If all orders of the columns can be tried (`sankey_exact`), the
crossing number is the least possible. Else it is the best of several starts: clusters in the order
given; clusters by their mean place on a line of the elements (power iteration of "average over the
own clusters", whose second eigenvector is the order of the elements where all clusters are
intervals, Atkins, Boman and Hendrickson 1998); random orders. Starts of the first and last kind get
a rough sweep in both directions (mean place of the neighbors, Sugiyama, Tagawa and Toda 1981), then
all get fine sweeps, in which each cluster moves to its best place (sifting, Matuszewski, Schönfeld
and Molitor 1999), until nothing is saved. A layout at the lower bound
sum_m HF_1(m, m + 1) ends the search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import unwrap
from typing import Any

import numpy as np
from jaxtyping import Int

from backends.math import sankey_exact, sankey_sweep
from backends.math.sankey_links import Links, bound_of, count, find_links, grids

# Below this number of links, compiling costs more than it brings.
FEW = 200
# Links times places that a cluster may move: a fine sweep takes up to 0.05 s, or one place a move.
SWEEP = 400_000
# Links of all starts together, and the fewest starts.
STARTS = 60_000
FEWEST = 3
# A start ends when two sweeps saved less than this part of the crossings, or after so many sweeps.
SMALL = 1 / 200
MOST_SWEEPS = 30
ITERATIONS = 100


@dataclass(frozen=True)
class Layout:
    """Places from the top: `position[m][c]` is that of cluster c in column m, from 0."""

    position: list[np.ndarray]
    crossings: int
    crossings_weighted: int


def crossings(
    labels: Int[np.ndarray, "scale element"],
    positions: Sequence[np.ndarray],
    weighted: bool = False,
) -> int:
    """Count the crossings of a layout. `positions[m][c]` is the place of cluster c at scale m."""
    return count(find_links(labels), np.concatenate(list(positions)), weighted)


def crossing_bound(labels: Int[np.ndarray, "scale element"]) -> int:
    """Return sum_m HF_1(m, m + 1), below which no layout can come."""
    return bound_of(find_links(labels))


def optimize(
    labels: Int[np.ndarray, "scale element"],
    seed: int,
    restarts: int = 8,
    check: Callable[[], None] | None = None,
) -> Layout:
    """Return the layout with the fewest crossings found, the same for the same seed.

    `restarts` is the number of starts, less for large sequences (a rule of sizes, never of time).
    `check` is called before each start and sweep. Labels are numbered from 0 at each scale.
    """
    links = find_links(labels)
    if len(labels) == 1 or max(links.sizes) == 1:
        place = np.concatenate([np.arange(size) for size in links.sizes])
    elif sankey_exact.is_small(links.sizes):
        place = np.concatenate(sankey_exact.best_orders(grids(links)))
    else:
        place = _best_start(labels, links, np.random.default_rng(seed), restarts, check)
    position = np.split(_upright(place, links.sizes), np.cumsum(links.sizes)[:-1])
    whole = np.concatenate(position)
    return Layout(position, count(links, whole), count(links, whole, True))


def _upright(place: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Turn a layout upside down if that brings it nearer to the order of the cluster numbers."""
    last = np.repeat(sizes, sizes) - 1
    number = np.arange(len(place)) - np.repeat(np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    agreement = np.sum((2 * place - last) * (2 * number - last))
    return place if agreement >= 0 else last - place


def _best_start(
    labels: np.ndarray,
    links: Links,
    rng: np.random.Generator,
    restarts: int,
    check: Callable[[], None] | None,
) -> np.ndarray:
    check = check or (lambda: None)
    bound, search = bound_of(links), _Search(links)
    least, best = -1, np.empty(0, np.int64)
    for start in range(_starts(links, restarts)):
        place = _start(labels, links.sizes, rng, start, check)
        found = search.improve(place, bound, start != 1, check)
        if least < 0 or found < least:
            least, best = found, place
        if least <= bound:
            break
    return best


def _starts(links: Links, restarts: int) -> int:
    """Return the number of starts: `restarts`, or fewer where there are many links."""
    return max(1, min(restarts, max(FEWEST, STARTS // len(links.gap))))


def _start(
    labels: np.ndarray,
    sizes: list[int],
    rng: np.random.Generator,
    start: int,
    check: Callable[[], None],
) -> Int[np.ndarray, "node"]:
    if start == 0:
        return np.concatenate([np.arange(size) for size in sizes])
    if start == 1:
        return _along_a_line(labels, sizes, rng, check)
    return np.concatenate([rng.permutation(size) for size in sizes])


def _along_a_line(
    labels: np.ndarray, sizes: list[int], rng: np.random.Generator, check: Callable[[], None]
) -> Int[np.ndarray, "node"]:
    """Order clusters by the mean of their elements on a line."""
    first = np.r_[0, np.cumsum(sizes)[:-1]]
    nodes = (labels + first[:, None]).reshape(-1)
    size = np.maximum(np.bincount(nodes, minlength=sum(sizes)), 1)
    line = np.asarray(rng.standard_normal(labels.shape[1]))
    mean = np.zeros(len(size))
    for _ in range(ITERATIONS):
        check()
        line = (line - line.mean()) / max(float(line.std()), 1e-300)
        mean = np.bincount(nodes, np.tile(line, len(labels)), len(size)) / size
        line = np.asarray(mean[nodes].reshape(labels.shape).mean(axis=0))
    parts = np.split(mean, first[1:])
    return np.concatenate([np.argsort(np.argsort(part, kind="stable")) for part in parts])


class _Search:
    """The links in the form that the sweeps take."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._first = np.r_[0, np.cumsum(links.sizes)].astype(np.int64)
        nodes = int(self._first[-1])
        left = self._first[links.gap] + links.left
        right = self._first[links.gap + 1] + links.right
        turned = np.lexsort((left, right))
        self._graph = (
            self._first,
            np.searchsorted(right[turned], np.arange(nodes + 1)),
            left[turned],
            np.searchsorted(left, np.arange(nodes + 1)),
            right,
        )
        self._reach = int(np.clip(SWEEP // max(len(left), 1), 1, max(links.sizes)))
        self._sweep = _kernel(len(left))

    def improve(
        self, place: np.ndarray, bound: int, is_rough: bool, check: Callable[[], None]
    ) -> int:
        """Improve a layout in place; return its crossings."""
        found = count(self._links, place)
        order = np.argsort(place + np.repeat(self._first[:-1], self._links.sizes))
        if is_rough and found > bound:
            for is_backward in (False, True):
                check()
                self._sweep(*self._graph, place, order, is_backward, True, self._reach)
            found = count(self._links, place)
        saved = [0, 0]
        for i in range(MOST_SWEEPS):
            if found <= bound or (i > 1 and sum(saved) <= SMALL * found):
                break
            check()
            saved[i % 2] = int(
                self._sweep(*self._graph, place, order, i % 2 == 1, False, self._reach)
            )
            found -= saved[i % 2]
        return found


def compile_sweep() -> None:
    """Compile the inner loop, or load it: worth it before many small sequences."""
    _compiled()
    nine = np.arange(9, dtype=np.int32)
    optimize(np.stack([nine, 2 * nine % 9]), 0)


def _kernel(links: int) -> Any:
    is_ready = _compiled.cache_info().currsize > 0
    return _compiled() if is_ready or links >= FEW else sankey_sweep.sweep


@cache
def _compiled() -> Any:
    """Return the sweep compiled; the machine code is kept beside the source."""
    from numba import njit

    # Tests wrap functions with checks of types.
    return njit(cache=True, nogil=True)(unwrap(sankey_sweep.sweep))
