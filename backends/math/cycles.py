"""One cycle of a window that no cluster fills: the shortest closed chain that is not a boundary.

A closed walk through elements and clusters in turn (element, cluster that holds it, another of its
elements, ...) is a cycle of the window's complex. Each generator e(m, x) of `hilbert.py` gets a
class, a vector over Z/2 of HF_1 coordinates, such that the sum over a relation is zero: zero for
the generators of a spanning forest, one coordinate of its own for each that closes a cycle and is
the highest generator of no relation, and for the others the sum over the rest of their relation.
The sum over a closed walk is zero exactly when it bounds. Among the shortest cycles that do not
bound is one that a tree of shortest paths from some element of it closes by one step.

Source: annotations of cohomology classes (Busaryev, Cabello, Chen, Dey, Wang 2012) on the quotient
complex of `hilbert.py`; shortest cycles by breadth-first search (Thomassen 1990).
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from backends.math.partitions import numbered, reduced
from backends.math.relations import RelationBasis, are_roots, generators

# Steps of the searches, from one element after the other; more give a cycle that may be longer.
MOST_STEPS = 400_000

Step = tuple[int, int, int]


def representative_cycle(labels: Int[np.ndarray, "scale element"]) -> list[Step] | None:
    """Return a closed chain of (scale, cluster, element) that is not a boundary, None without one.

    The cluster of each step holds its element and that of the next step; the last step leads back
    to the first. Clusters have the numbers of `labels`. The chain is a shortest one unless the
    search is cut off (`MOST_STEPS`).
    """
    small = reduced(numbered(labels))
    classes = _classes(small.labels)
    if not classes:
        return None
    walk = _shortest(_Walks(small.labels, classes))
    rows = np.unique(small.row_of, return_index=True)[1]
    columns = np.unique(small.twin_of, return_index=True)[1]
    return [(int(rows[m]), int(labels[rows[m], columns[x]]), int(columns[x])) for m, x in walk]


def _classes(labels: np.ndarray) -> dict[int, int]:
    """Return the class of each generator that has one as a bit vector; empty where HF_1 is zero."""
    basis = RelationBasis(labels)
    for t in range(len(labels)):
        basis.advance(t)
    classes: dict[int, int] = {}
    coordinates = 0
    for generator in _closing(labels):
        vector = basis.vectors.get(generator)
        if vector is None:
            classes[generator] = 1 << coordinates
            coordinates += 1
            continue
        total = 0
        for other in generators(vector ^ (1 << generator)):
            total ^= classes.get(other, 0)
        classes[generator] = total
    return classes if coordinates else {}


def _closing(labels: np.ndarray) -> list[int]:
    """Return the generators that close a cycle when they come, the lowest first."""
    count = labels.shape[1]
    forest, is_root, found = _Forest(count), are_roots(labels), []
    for m, row in enumerate(labels):
        roots = np.unique(row, return_index=True)[1][row].tolist()
        places = np.flatnonzero(~is_root[m]).tolist()
        found += [m * count + x for x in places if not forest.joins(x, roots[x])]
    return found


class _Forest:
    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def root(self, x: int) -> int:
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def joins(self, x: int, y: int) -> bool:
        """Join two elements; say whether they were apart."""
        a, b = self.root(x), self.root(y)
        self.parent[max(a, b)] = min(a, b)
        return a != b


class _Walks:
    """Elements and clusters with the class of each step between them.

    Elements are nodes 0..N-1, clusters follow; `near[node]` lists (node, class of the step).
    """

    def __init__(self, labels: np.ndarray, classes: dict[int, int]) -> None:
        scales, self.count = labels.shape
        offsets = self.count + np.r_[0, np.cumsum(labels.max(axis=1) + 1)]
        self.near: list[list[tuple[int, int]]] = [[] for _ in range(int(offsets[-1]))]
        self.scale_of = np.repeat(np.arange(scales), np.diff(offsets)).tolist()
        for m in range(scales):
            for x, cluster in enumerate((offsets[m] + labels[m]).tolist()):
                step = classes.get(m * self.count + x, 0)
                self.near[x].append((cluster, step))
                self.near[cluster].append((x, step))


@dataclass
class _Tree:
    """A tree of shortest paths from one element, and where a step closes a cycle."""

    parent: dict[int, int]
    ends: tuple[int, int]
    length: int


def _shortest(walks: _Walks) -> list[tuple[int, int]]:
    """Return the best cycle found as (scale, element); a later root must be shorter to win."""
    best: _Tree | None = None
    steps = 0
    for root in range(walks.count):
        if steps > MOST_STEPS and best is not None:
            break
        tree, done = _closed(walks, root, best.length if best else len(walks.near) * 2 + 1)
        steps += done
        best = tree or best
    assert best is not None
    return _chain(walks, best)


def _closed(walks: _Walks, root: int, shorter: int) -> tuple[_Tree | None, int]:
    """Search from a root for a closed walk of less than so many steps that does not bound."""
    parent, depth, classes = {root: -1}, {root: 0}, {root: 0}
    queue, best, steps = deque([root]), None, 0
    while queue:
        node = queue.popleft()
        if 2 * depth[node] >= shorter:
            break
        for other, step in walks.near[node]:
            steps += 1
            if other not in parent:
                parent[other], depth[other] = node, depth[node] + 1
                classes[other] = classes[node] ^ step
                queue.append(other)
            elif classes[other] != classes[node] ^ step:
                length = depth[other] + depth[node] + 1
                if length < shorter:
                    shorter, best = length, (node, other)
    return (None if best is None else _Tree(parent, best, shorter)), steps


def _chain(walks: _Walks, tree: _Tree) -> list[tuple[int, int]]:
    """Return the cycle that a step closes, without the way from the root that both ends share."""
    first, second = (_path(tree.parent, end) for end in tree.ends)
    while len(first) > 1 and len(second) > 1 and first[1] == second[1]:
        first, second = first[1:], second[1:]
    around = first + second[:0:-1]
    start = 0 if around[0] < walks.count else 1
    around = around[start:] + around[:start]
    pairs = zip(around[::2], around[1::2], strict=True)
    return [(walks.scale_of[cluster - walks.count], x) for x, cluster in pairs]


def _path(parent: dict[int, int], node: int) -> list[int]:
    """Return the way from the root to a node."""
    way = [node]
    while parent[way[-1]] >= 0:
        way.append(parent[way[-1]])
    return way[::-1]
