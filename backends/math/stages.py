"""Does a progression move away from its start, or come back to it?

Measures on the distances between ordered stages, 0 (baseline) to K - 1. They belong in the raw
space: UMAP bends straight lines. CSFS and CSLS are named in "Medical Interpretability and Knowledge
Maps of Large Language Models" (arXiv 2510.11390), which does not define them; this reading is ours.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# Distances this close, relative to the largest, are ties.
TIE = 1e-9


@dataclass(frozen=True)
class StageMeasures:
    """Hold the measures of one progression; a line has csfs 1, csls K - 2, all others 1.

    `csfs`: the stage closest to the first; `csls`: the stage closest to the last. The ratios are
    in 0..1, `spearman` in -1..1, and NaN where undefined.
    """

    csfs: int
    csls: int
    loop_ratio: float
    closure: float
    spearman: float


def stage_measures(distance: Float[np.ndarray, "sample sample"]) -> StageMeasures:
    """Measure a progression from its K x K stage distances d, K >= 3.

    CSFS = argmin_{j>0} d(0, j); CSLS = argmin_{j<K-1} d(K-1, j); a tie goes to the smallest index.
    loop ratio R = d(0, K-1) / max_j d(0, j), well below 1 for a loop;
    closure C = d(0, K-1) / sum_i d(i, i+1), 1/(K-1) for a regular closed polygon;
    spearman = rank correlation of d(0, j) with j, j = 0..K-1 (ties share their mean rank).
    """
    stages = len(distance)
    if distance.shape != (stages, stages) or stages < 3:
        raise ValueError(f"Stage distances {distance.shape} are not K x K with K of 3 or more.")
    d = distance.astype(np.float64)
    return StageMeasures(
        csfs=1 + _nearest(d[0, 1:], d.max()),
        csls=_nearest(d[-1, :-1], d.max()),
        loop_ratio=_ratio(d[0, -1], d[0].max()),
        closure=_ratio(d[0, -1], np.diagonal(d, 1).sum()),
        spearman=_rank_correlation(d[0]),
    )


def _nearest(row: Float[np.ndarray, "stage"], largest: float) -> int:
    return int(np.flatnonzero(row <= row.min() + TIE * largest)[0])


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _rank_correlation(row: Float[np.ndarray, "stage"]) -> float:
    if not row.max() > 0:
        return float("nan")
    rounded = np.round(row / row.max() / TIE)
    from scipy.stats import spearmanr

    return float(spearmanr(rounded, np.arange(len(row))).statistic)
