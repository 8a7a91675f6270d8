"""Hilbert functions of the multiscale clustering bifiltration (MCbiF) of a sequence of partitions.

K^{s,t} is the union of the full simplices on all clusters of the scales s..t. HF_k(s, t) is the
dimension of H_k(K^{s,t}; Z/2), k = 0, 1. Grids have row s and column t, both from 0, and 0 where
s > t.

HF_0(s, t) = N - #{edges of weight >= s in a maximum-weight spanning forest of the scales 0..t},
where the weight of an edge is the most recent scale that provides it.

HF_1(s, t) = sum_{r=s..t} (N - k_r) - R(s, t) - (N - HF_0(s, t)). Inside a cluster all cycles bound,
so its edges are spanned by those to one root element; R(s, t) is the rank of the relations among
them with weight >= s and time <= t. A maximum-weight basis gives all R(s, t) in one pass: for every
s, its vectors of weight >= s are a basis of the span of all relations of weight >= s.

Source: "MCbiF: Measuring Topological Autocorrelation in Multiscale Clusterings via 2-Parameter
Persistent Homology", ICLR 2026, arXiv 2510.14710; both algorithms are this workbench's.
"""

from collections.abc import Callable
from functools import cache
from inspect import unwrap
from typing import Any

import numpy as np
from jaxtyping import Int

from backends.math import hilbert_kernels
from backends.math.partitions import numbered, reduced

# Below this number of generators (scales times elements) compiling costs more than it brings.
FEW = 2_000
# Bit vectors of this many generators take 0.6 GB.
MOST_DENSE = 100_000

Kernel = Callable[[str], Any]


def hilbert_functions(
    labels: Int[np.ndarray, "scale element"], check: Callable[[], None] | None = None
) -> tuple[Int[np.ndarray, "scale scale"], Int[np.ndarray, "scale scale"]]:
    """Return HF_0 and HF_1 of all windows. `check` is called before each column.

    Labels are any whole numbers; only equality within a scale matters.
    """
    small = reduced(numbered(labels))
    hf0 = np.zeros((len(small.labels),) * 2, np.int64)
    rank = np.zeros_like(hf0)
    kernel, is_dense = kernel_for(small.labels), small.labels.size <= MOST_DENSE
    forest, basis = Forest(small.labels, kernel), Basis(small.labels, kernel, is_dense)
    for t in range(len(small.labels)):
        if check:
            check()
        hf0[: t + 1, t] = forest.advance(t)
        rank[: t + 1, t] = basis.advance(t)
    hf1 = _first_degree(small.labels, hf0, rank)
    return _expanded(hf0, small.row_of), _expanded(hf1, small.row_of)


def zeroth_function(labels: Int[np.ndarray, "scale element"]) -> Int[np.ndarray, "scale scale"]:
    """Return HF_0 alone."""
    small = reduced(numbered(labels))
    forest = Forest(small.labels, kernel_for(small.labels))
    hf0 = np.zeros((len(small.labels),) * 2, np.int64)
    for t in range(len(hf0)):
        hf0[: t + 1, t] = forest.advance(t)
    return _expanded(hf0, small.row_of)


def _expanded(grid: np.ndarray, row_of: np.ndarray) -> np.ndarray:
    """Give repeats of a partition their row and column back."""
    return np.triu(grid[np.ix_(row_of, row_of)])


def _first_degree(labels: np.ndarray, hf0: np.ndarray, rank: np.ndarray) -> np.ndarray:
    scales, elements = labels.shape
    sums = np.r_[0, np.cumsum(elements - labels.max(axis=1).astype(np.int64) - 1)]
    generators = sums[None, 1:] - sums[:-1, None]
    return np.triu(generators - rank - (elements - hf0))


class Forest:
    """The maximum-weight spanning forest, scale by scale."""

    def __init__(self, labels: np.ndarray, kernel: Kernel) -> None:
        self._labels = labels
        self._column = kernel("forest_column")
        self._edges = np.empty((0, 3), np.int64)

    def advance(self, t: int) -> Int[np.ndarray, "start"]:
        """Take in scale t; return HF_0(s, t) for s = 0..t."""
        self._edges = self._column(self._labels[t], self._edges, t)
        kept = np.bincount(self._edges[:, 2], minlength=t + 1)
        return np.asarray(self._labels.shape[1] - np.cumsum(kept[::-1])[::-1])


class Basis:
    """The maximum-weight basis of the relations over Z/2, scale by scale.

    Up to `MOST_DENSE` generators its vectors are bits, which take (generators)² / 16 bytes; above
    that they are sorted lists.
    """

    def __init__(self, labels: np.ndarray, kernel: Kernel, is_dense: bool) -> None:
        scales, elements = labels.shape
        self._labels = labels
        self._order = np.argsort(labels, axis=1, kind="stable")
        self._is_root = np.stack([_roots(row) for row in labels])
        self._weight = np.full(scales * elements, -1, np.int64)
        self._counts = np.zeros(scales, np.int64)
        self._relations = kernel("relation_column")
        vectors = _Dense if is_dense else _Sparse
        self._vectors: _Dense | _Sparse = vectors(scales * elements, kernel)

    def advance(self, t: int) -> Int[np.ndarray, "start"]:
        """Take in the relations of time t; return R(s, t) for s = 0..t."""
        relations = self._relations(self._labels, self._order, t)
        self._vectors.insert(relations, t, self._is_root, self._weight, self._counts)
        return np.asarray(np.cumsum(self._counts[t::-1])[::-1])


class _Dense:
    def __init__(self, generators: int, kernel: Kernel) -> None:
        top = (generators + 63) // 64
        self._words = np.zeros(64 * top * (top + 1) // 2, np.uint64)
        self._current = np.zeros(top, np.uint64)
        self._kernel = kernel("insert_dense")

    def insert(self, relations: Any, t: int, is_root: Any, weight: Any, counts: Any) -> None:
        self._kernel(relations, t, is_root, self._words, weight, counts, self._current)


class _Sparse:
    def __init__(self, generators: int, kernel: Kernel) -> None:
        self._start, self._length = np.zeros((2, generators), np.int64)
        self._pool, self._used = np.empty(8 * generators, np.int32), 0
        self._kernel = kernel("insert_sparse")

    def insert(self, relations: Any, t: int, is_root: Any, weight: Any, counts: Any) -> None:
        held = (self._start, self._length, weight, counts, self._pool, self._used)
        self._pool, self._used = self._kernel(relations, t, is_root, *held)


def _roots(row: np.ndarray) -> np.ndarray:
    is_root = np.zeros(len(row), bool)
    is_root[np.unique(row, return_index=True)[1]] = True
    return is_root


def compile_kernels() -> None:
    """Compile the inner loops, or load them: worth it before many small sequences."""
    two = np.array([[0, 1, 1, 0], [0, 0, 1, 1]], np.int32)
    for is_dense in (True, False):
        forest, basis = Forest(two, _compiled), Basis(two, _compiled, is_dense)
        for t in range(2):
            forest.advance(t)
            basis.advance(t)


def kernel_for(labels: np.ndarray) -> Kernel:
    """Return the inner loops: compiled where they are already, or where it pays."""
    is_ready = _compiled.cache_info().currsize > 0
    return _compiled if is_ready or labels.size >= FEW else _plain


def _plain(name: str) -> Any:
    """Return an inner loop as plain Python."""
    return getattr(hilbert_kernels, name)


@cache
def _compiled(name: str) -> Any:
    """Return an inner loop compiled; the machine code is kept beside the source."""
    from numba import njit

    # Tests wrap functions with checks of types.
    return njit(cache=True, nogil=True)(unwrap(_plain(name)))
