"""Intervals of layers where a curve stands out, and how far several curves agree on them.

Curves are smoothed over layers by a Gaussian of sigma 1 (reflected at the ends, cut at 4 sigma).

    rise:  rate(l) = (g(l + 2) - g(l)) / 2 over windows of 3 layers; the window of the largest rate,
           with the adjacent ones of at least 75 % of it
    high:  layers strictly above the 75th percentile, in runs of at least 2; at most 3 runs, those
           of the largest mean

A percentile rule always finds about a quarter of the layers, also in noise. So there is no interval
where the range of the smoothed curve is below twice the median half width of its interval.

Source: arXiv 2510.11390 (rules); the merge, the ranking and the guard are this workbench's.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

SIGMA = 1.0
MERGED = 0.75
PERCENTILE = 75
SHORTEST = 2
MOST_RUNS = 3

Interval = tuple[int, int]
"""First and last layer, both inside."""


def smoothed(curve: Float[np.ndarray, "layer"]) -> Float[np.ndarray, "layer"]:
    """Smooth a curve over layers; NaN where it is NaN anywhere."""
    from scipy.ndimage import gaussian_filter1d

    exact = np.asarray(curve, np.float64)
    return np.asarray(gaussian_filter1d(exact, SIGMA, mode="reflect", truncate=4.0))


def rise_intervals(
    curve: Float[np.ndarray, "layer"], half_width: float = 0.0
) -> tuple[Interval, ...]:
    """Return where a curve rises most; nothing for one that does not rise above its noise."""
    smooth = smoothed(curve)
    if len(smooth) < 3 or not _stands_out(smooth, half_width):
        return ()
    rate = (smooth[2:] - smooth[:-2]) / 2
    best = int(np.argmax(rate))
    if rate[best] <= 0:
        return ()
    first = last = best
    while first > 0 and rate[first - 1] >= MERGED * rate[best]:
        first -= 1
    while last + 1 < len(rate) and rate[last + 1] >= MERGED * rate[best]:
        last += 1
    return ((first, last + 2),)


def high_intervals(
    curve: Float[np.ndarray, "layer"], half_width: float = 0.0
) -> tuple[Interval, ...]:
    """Return the runs of layers where a curve is high, in order of the layers."""
    smooth = smoothed(curve)
    if not len(smooth) or not _stands_out(smooth, half_width):
        return ()
    runs = _runs(smooth > np.percentile(smooth, PERCENTILE))
    long = [run for run in runs if run[1] - run[0] + 1 >= SHORTEST]
    long.sort(key=lambda run: -float(np.mean(smooth[run[0] : run[1] + 1])))
    return tuple(sorted(long[:MOST_RUNS]))


def _stands_out(smooth: np.ndarray, half_width: float) -> bool:
    """Say whether a curve's range is above its noise; never for one that is not defined."""
    reach = float(np.ptp(smooth)) if np.isfinite(smooth).all() else np.nan
    wide = half_width if np.isfinite(half_width) else 0.0
    return bool(reach > 1e-12 and reach >= 2 * wide)


def _runs(inside: np.ndarray) -> list[Interval]:
    edges = np.flatnonzero(np.diff(np.r_[0, inside.astype(int), 0]))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def half_width(low: Float[np.ndarray, "layer"], high: Float[np.ndarray, "layer"]) -> float:
    """Return the median half width of a band; 0 where no bound is defined."""
    halves = (np.asarray(high, np.float64) - low) / 2
    return float(np.nanmedian(halves)) if np.isfinite(halves).any() else 0.0


def covered(intervals: Sequence[Interval], layers: int) -> Bool[np.ndarray, "layer"]:
    """Say of each layer whether it lies in an interval."""
    inside = np.zeros(layers, bool)
    for first, last in intervals:
        inside[first : last + 1] = True
    return inside


def jaccard(one: Sequence[Interval], other: Sequence[Interval], layers: int) -> float:
    """Return shared over all covered layers; NaN where neither covers any."""
    a, b = covered(one, layers), covered(other, layers)
    union = int(np.sum(a | b))
    return float(np.sum(a & b)) / union if union else float("nan")
