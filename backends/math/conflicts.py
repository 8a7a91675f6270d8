"""Conflict measures of a sequence of partitions, from its Hilbert functions and block counts.

With mu(s, t) = min over s <= r <= t of k_r:

    c_0(s, t) = 1 - HF_0(s, t) / mu(s, t)                         in 0..1, 0 on the diagonal
    average of a grid = 2 / (M (M - 1)) * sum over s < t          0 for one scale
    scale-weighted: pair (s, t) has weight w_s w_t, w_m = t_{m+1} - t_m, the last width repeated
    delta_1(s, t) = centered difference of HF_1 along t, one-sided at the ends of the row

Grids have row s and column t and are 0 where s > t. Source: MCbiF, arXiv 2510.14710; the
scale-weighted averages are this workbench's. The one-parameter companion (MCF, arXiv 2305.04281) is
row s = 0: c_0(t) = 1 - beta_0(t) / k_t and delta_k(t) = beta_k(t) - beta_k(t - 1).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Num


def fewest_clusters(n_clusters: Int[np.ndarray, "scale"]) -> Int[np.ndarray, "scale scale"]:
    """Return mu: the smallest number of clusters in each window, 0 where s > t."""
    rows = [np.minimum.accumulate(n_clusters[s:]) for s in range(len(n_clusters))]
    mu = np.zeros((len(n_clusters),) * 2, np.int64)
    for s, row in enumerate(rows):
        mu[s, s:] = row
    return mu


def zero_conflict(
    hf0: Int[np.ndarray, "scale scale"], n_clusters: Int[np.ndarray, "scale"]
) -> Float[np.ndarray, "scale scale"]:
    """Return c_0."""
    mu = fewest_clusters(n_clusters)
    return np.where(mu > 0, 1 - hf0 / np.maximum(mu, 1), 0.0)


def average(grid: Num[np.ndarray, "scale scale"]) -> float:
    """Return the mean over all windows of at least two scales; 0 if there is none."""
    values = grid[np.triu_indices(len(grid), 1)]
    return float(np.mean(values, dtype=np.float64)) if len(values) else 0.0


def scale_weighted(grid: Num[np.ndarray, "scale scale"], scales: Sequence[float]) -> float:
    """Return the mean over all windows of at least two scales, weighted by the scales' widths."""
    if len(grid) < 2:
        return 0.0
    widths = np.diff(np.asarray(scales, np.float64))
    widths = np.append(widths, widths[-1]) / widths.max()
    weights = np.triu(np.outer(widths, widths), 1)
    return float((weights * grid).sum() / weights.sum())


def delta1(hf1: Int[np.ndarray, "scale scale"]) -> Float[np.ndarray, "scale scale"]:
    """Return delta_1, differences inside the triangle only; positive where cycles appear."""
    found = np.zeros(hf1.shape)
    for s in range(len(hf1) - 1):
        found[s, s:] = np.gradient(hf1[s, s:].astype(np.float64))
    return found


def delta1_padded(hf1: Int[np.ndarray, "scale scale"]) -> Float[np.ndarray, "scale scale"]:
    """Return the differences of the whole grid, where zeros below the diagonal mix in."""
    if len(hf1) < 2:
        return np.zeros(hf1.shape)
    return np.asarray(np.gradient(hf1.astype(np.float64), axis=1))
