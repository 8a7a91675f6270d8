"""Betti numbers of the occurrence nerve: slow, simple, and independent of `hilbert.py`.

Vertices are the clusters of all scales; a set of them is a simplex if they share an element, so
that each element contributes all subsets of its occurrences. The value of a simplex is its largest
scale. The complex of the scales 0..t has the homology of K^{0,t}, and row s of a Hilbert function
is the curve of the scales s.. alone. The persistent homology over Z/2 is read from a reduced
boundary matrix.

Source: MCbiF, arXiv 2510.14710 (the nerve construction); here it serves degree 2 of the
one-parameter companion MCF (arXiv 2305.04281) on small sequences, and the tests.
"""

from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Int

Simplex = tuple[int, ...]


def simplex_count(scales: int, elements: int, degree: int) -> int:
    """Return a bound of the number of simplices that Betti numbers up to `degree` need."""
    return elements * sum(comb(scales, size) for size in range(1, degree + 3))


def betti_curves(
    labels: Int[np.ndarray, "scale element"], degree: int
) -> Int[np.ndarray, "degree scale"]:
    """Return beta_k of the scales 0..t by k = 0..degree and t."""
    simplices = _simplices(labels, degree + 2)
    index = {simplex: i for i, (simplex, _) in enumerate(simplices)}
    changes = np.zeros((degree + 2, len(labels)), np.int64)
    cleared: set[int] = set()
    for size in range(degree + 2, 0, -1):
        pivots: dict[int, set[int]] = {}
        for i, (simplex, value) in enumerate(simplices):
            if len(simplex) != size:
                continue
            column = set() if i in cleared else _reduced(_boundary(simplex, index), pivots)
            if not column:
                changes[size - 1, value] += 1
                continue
            pivots[max(column)] = column
            changes[size - 2, value] -= 1
        cleared = set(pivots)
    return np.cumsum(changes, axis=1)[: degree + 1]


def _simplices(labels: np.ndarray, most: int) -> list[tuple[Simplex, int]]:
    """Return the simplices of up to `most` vertices with their values, faces first."""
    sizes = labels.max(axis=1).astype(int) + 1
    first = np.r_[0, np.cumsum(sizes)[:-1]]
    scale_of = np.repeat(np.arange(len(sizes)), sizes)
    found: dict[Simplex, int] = {}
    for column in np.unique(labels, axis=1).T:
        vertices = [int(v) for v in first + column]
        for size in range(1, min(most, len(vertices)) + 1):
            found |= {each: int(scale_of[each[-1]]) for each in combinations(vertices, size)}
    return sorted(found.items(), key=lambda pair: (pair[1], len(pair[0]), pair[0]))


def _boundary(simplex: Simplex, index: dict[Simplex, int]) -> set[int]:
    if len(simplex) == 1:
        return set()
    return {index[simplex[:i] + simplex[i + 1 :]] for i in range(len(simplex))}


def _reduced(column: set[int], pivots: dict[int, set[int]]) -> set[int]:
    while column and (owner := pivots.get(max(column))):
        column = column ^ owner
    return column
