"""Feature vectors of a sequence of partitions, and pairwise comparisons of its partitions.

With c_ij the elements shared by cluster i of P_a and cluster j of P_b, N elements, and H, I entropy
and mutual information in nats:

    NCE[a, b] = (H(P_a) - I(P_a, P_b)) / ln N       in 0..1, 0 if P_b refines P_a; not symmetric
    ARI[a, b] = (sum_ij C(c_ij, 2) - E) / ((A + B) / 2 - E)    A, B = pairs together in P_a, P_b,
                                                         E = A B / C(N, 2); Hubert and Arabie 1985
    overlap[a, b] = max over one-to-one matchings of clusters of sum c_ij / N
    mean VI = sum of all NCE / (M (M - 1) / 2)           variation of information, over ln N

Source of the feature maps: MCbiF, arXiv 2510.14710.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int, Num


def hf0_vector(hf0: Num[np.ndarray, "scale scale"]) -> Num[np.ndarray, "feature"]:
    """Return the upper triangle with the diagonal, row by row: M (M + 1) / 2 values."""
    return np.asarray(hf0[_upper(len(hf0), 0)])


def hf1_vector(hf1: Num[np.ndarray, "scale scale"]) -> Num[np.ndarray, "feature"]:
    """Return the strict upper triangle, row by row: M (M - 1) / 2 values."""
    return np.asarray(hf1[_upper(len(hf1), 1)])


def upper_vector(grid: Num[np.ndarray, "scale scale"]) -> Num[np.ndarray, "feature"]:
    """Return the strict upper triangle of a comparison (ARI, overlap), row by row."""
    return np.asarray(grid[_upper(len(grid), 1)])


@cache
def _upper(size: int, above: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size, above)


@dataclass(frozen=True)
class Comparison:
    """Three comparisons of all pairs of partitions; 1 on the diagonal of `ari` and `overlap`."""

    nce: Float[np.ndarray, "scale scale"]
    ari: Float[np.ndarray, "scale scale"]
    overlap: Float[np.ndarray, "scale scale"]


def compare(labels: Int[np.ndarray, "scale element"]) -> Comparison:
    """Return all three comparisons; quicker than one after the other."""
    cells = _cells(labels)
    return Comparison(_nce(cells), _ari(cells), _overlap(cells))


def nce_matrix(labels: Int[np.ndarray, "scale element"]) -> Float[np.ndarray, "scale scale"]:
    """Return the normalized conditional entropies NCE[a, b] = H(P_a | P_b) / ln N.

    One element gives 0.
    """
    return _nce(_cells(labels))


def ari_matrix(labels: Int[np.ndarray, "scale element"]) -> Float[np.ndarray, "scale scale"]:
    """Return the adjusted Rand indices; equal partitions give 1."""
    return _ari(_cells(labels))


def overlap_matrix(labels: Int[np.ndarray, "scale element"]) -> Float[np.ndarray, "scale scale"]:
    """Return the maximum overlaps, in 1/N..1."""
    return _overlap(_cells(labels))


def mean_vi(nce: Float[np.ndarray, "scale scale"]) -> float:
    """Return the mean variation of information of all pairs, over ln N; 0 for one scale."""
    scales = len(nce)
    return float(nce.sum() / (scales * (scales - 1) / 2)) if scales > 1 else 0.0


@dataclass(frozen=True)
class _Cells:
    """Non-zero contingency entries of all pairs a <= b, by pair.

    Entry e belongs to pair `pair[e]` in the order of the upper triangle with the diagonal, to
    clusters `first[e]` and `second[e]`, and counts `shared[e]` elements.
    """

    pair: Int[np.ndarray, "entry"]
    first: Int[np.ndarray, "entry"]
    second: Int[np.ndarray, "entry"]
    shared: Int[np.ndarray, "entry"]
    sizes: Int[np.ndarray, "scale"]
    elements: int


def _cells(labels: np.ndarray) -> _Cells:
    """Count the cells. Labels are numbered from 0 at each scale."""
    a, b = _upper(len(labels), 0)
    sizes = labels.max(axis=1).astype(np.int64) + 1
    wide = int(sizes.max())
    codes = (np.arange(len(a))[:, None] * wide + labels[a]) * wide + labels[b]
    found, shared = np.unique(codes, return_counts=True)
    left = found // wide
    return _Cells(left // wide, left % wide, found % wide, shared, sizes, labels.shape[1])


def _summed(cells: _Cells, values: np.ndarray) -> np.ndarray:
    """Sum over the cells of each pair."""
    pairs = len(_upper(len(cells.sizes), 0)[0])
    return np.bincount(cells.pair, values, pairs)


def _square(cells: _Cells, values: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix of the values of the pairs."""
    scales = len(cells.sizes)
    grid = np.zeros((scales, scales))
    a, b = _upper(scales, 0)
    grid[a, b] = values
    grid[b, a] = values
    return grid


def _nce(cells: _Cells) -> np.ndarray:
    if cells.elements == 1:
        return np.zeros((len(cells.sizes),) * 2)
    inside = _summed(cells, cells.shared * np.log(cells.shared))
    joint = _square(cells, np.log(cells.elements) - inside / cells.elements)
    given = joint - np.diagonal(joint)[None, :]
    return np.asarray(np.clip(given / np.log(cells.elements), 0.0, 1.0))


def _ari(cells: _Cells) -> np.ndarray:
    together = _square(cells, _summed(cells, cells.shared * (cells.shared - 1) / 2))
    own = np.diagonal(together)
    expected = np.outer(own, own) / max(cells.elements * (cells.elements - 1) / 2, 1)
    most = (own[:, None] + own[None, :]) / 2
    is_equal = most == expected
    ratio = (together - expected) / np.where(is_equal, 1.0, most - expected)
    return np.where(is_equal, 1.0, ratio)


def _overlap(cells: _Cells) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    a, b = _upper(len(cells.sizes), 0)
    ends = np.searchsorted(cells.pair, np.arange(len(a) + 1)).tolist()
    matched = np.zeros(len(a))
    for i, (rows, columns) in enumerate(zip(cells.sizes[a], cells.sizes[b], strict=True)):
        one = slice(ends[i], ends[i + 1])
        table = np.zeros((rows, columns))
        table[cells.first[one], cells.second[one]] = cells.shared[one]
        matched[i] = table[linear_sum_assignment(table, maximize=True)].sum()
    return _square(cells, matched / cells.elements)
