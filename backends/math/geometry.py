"""Shape of a cloud of activations: normalization, principal axes, alignment, collapse.

Everything is computed in float64. The participation ratio comes from the Gram matrix, so its cost
follows the smaller of samples and dimensions. Unusual: a cloud whose spread is below rounding
counts as constant, so its ratios are NaN rather than noise.

Reference for massive activations: Sun et al. 2024, "Massive Activations in Large Language Models".
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

Normalization = Literal["none", "unit", "zscore", "drop_massive"]

MASSIVE_VALUE = 100.0
MASSIVE_RATIO = 1000.0
METRIC_COMPONENTS = 30
FEWEST_METRIC_COMPONENTS = 5
# Spread relative to the size of the points, below which they are one point and rounding.
CONSTANT = 1e-12
# Decimals that two cosines must share to count as equal: the rounding of a product in float64.
COSINE_DECIMALS = 12


def normalize(
    points: Float[np.ndarray, "sample d_model"], how: Normalization
) -> tuple[Float[np.ndarray, "sample component"], int]:
    """Normalize the points; also return how many dimensions were dropped.

    `unit` divides each point by its L2 norm (a zero point stays zero); `zscore` gives each
    dimension mean 0 and standard deviation 1 (a constant one becomes 0); `drop_massive` removes
    each dimension with any |value| above both 100 and 1000 times the median |value| of all points
    and dimensions. If that were every dimension none is removed: there is no bulk to keep.
    The points keep their dtype.
    """
    if how not in get_args(Normalization):
        raise ValueError(
            f"Normalization {how!r} is not one of {', '.join(get_args(Normalization))}."
        )
    if how == "none":
        return points, 0
    if how == "drop_massive":
        return _without_massive(points)
    values = points.astype(np.float64)
    if how == "unit":
        scale = np.linalg.norm(values, axis=1, keepdims=True)
    else:
        size = np.sqrt((values**2).mean(axis=0))
        values = values - values.mean(axis=0)
        scale = values.std(axis=0)
        values[:, scale <= CONSTANT * size] = 0.0
    return (values / np.where(scale > 0, scale, 1.0)).astype(points.dtype), 0


def _without_massive(
    points: Float[np.ndarray, "sample d_model"],
) -> tuple[Float[np.ndarray, "sample component"], int]:
    magnitude = np.abs(points.astype(np.float64))
    limit = max(MASSIVE_VALUE, MASSIVE_RATIO * float(np.median(magnitude)))
    massive = (magnitude > limit).any(axis=0)
    if massive.all():
        return points, 0
    return points[:, ~massive], int(massive.sum())


def principal_components(
    points: Float[np.ndarray, "sample d_model"], n: int
) -> Float[np.ndarray, "sample component"]:
    """Project the centered points on their first min(n, samples - 1, dimensions) principal axes.

    Returns float32 coordinates in the units of the points. The sign of an axis is that which makes
    its largest |loading| positive.
    """
    if n < 1:
        raise ValueError(f"{n} components are outside 1 and above.")
    from scipy.linalg import svd

    left, scale, axes = svd(centered(points), full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)[:, 0]
    kept = min(n, points.shape[0] - 1, points.shape[1])
    scores = left * scale * np.where(largest < 0, -1.0, 1.0)
    return np.asarray(scores[:, :kept], dtype=np.float32)


def n_metric_components(n_samples: int) -> int:
    """Say how many UMAP components the scores use: min(30, N - 2), or 0 (use PCA) below 5.

    UMAP's spectral start needs at least two samples more than components.
    """
    components = min(METRIC_COMPONENTS, n_samples - 2)
    return components if components >= FEWEST_METRIC_COMPONENTS else 0


def align(
    points: Float[np.ndarray, "sample component"], reference: Float[np.ndarray, "sample component"]
) -> Float[np.ndarray, "sample component"]:
    """Turn the centered points onto the centered reference (rotation or reflection, no scaling).

    Orthogonal Procrustes: R minimizes ||X R - Y||; the result is X R, centered at zero.
    """
    if points.shape != reference.shape:
        raise ValueError(f"Points {points.shape} and reference {reference.shape} differ in shape.")
    moved = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    target = reference.astype(np.float64) - reference.mean(axis=0, dtype=np.float64)
    from scipy.linalg import orthogonal_procrustes

    rotation, _ = orthogonal_procrustes(moved, target)
    return np.asarray(moved @ rotation, dtype=points.dtype)


def centered(points: Float[np.ndarray, "sample d_model"]) -> Float[np.ndarray, "sample d_model"]:
    """Subtract the mean point, in float64; points that differ by rounding only become zeros."""
    values = points.astype(np.float64)
    moved = values - values.mean(axis=0)
    is_constant = np.linalg.norm(moved) <= CONSTANT * np.linalg.norm(values)
    return np.zeros_like(moved) if is_constant else moved


def mean_cosine(points: Float[np.ndarray, "sample d_model"]) -> float:
    """Average the cosine over all pairs of two points, -1..1; near 1 is one shared direction.

    A zero point has cosine 0 with every other. NaN for fewer than two points.
    """
    if len(points) < 2:
        return float("nan")
    unit = normalize(points.astype(np.float64), "unit")[0]
    total = (unit.sum(axis=0) ** 2).sum() - (unit**2).sum()
    return float(total / (len(points) * (len(points) - 1)))


def nearest_by_cosine(
    points: Float[np.ndarray, "sample d_model"], n: int
) -> tuple[Int[np.ndarray, "sample neighbor"], Float[np.ndarray, "sample neighbor"]]:
    """Find the min(n, samples - 1) nearest other points of each point, nearest first.

    Returns their indices and their cosines, cos(i, j) = x_i · x_j / (||x_i|| ||x_j||), in float32.
    Equal cosines stand in the order of the index. A zero point has no direction: the cosine with
    it is NaN, and it comes last.
    """
    if n < 1:
        raise ValueError(f"{n} neighbors are outside 1 and above.")
    left = _cosines(points)
    rows, kept = np.arange(len(points)), min(n, len(points) - 1)
    nearest = np.zeros((len(points), kept), np.int64)
    cosines = np.zeros((len(points), kept), np.float32)
    for place in range(kept):
        nearest[:, place] = left.argmax(axis=1)
        cosines[:, place] = left[rows, nearest[:, place]]
        left[rows, nearest[:, place]] = -np.inf
    return nearest, np.where(cosines < -1, np.float32(np.nan), cosines)


def _cosines(points: Float[np.ndarray, "sample d_model"]) -> Float[np.ndarray, "sample sample"]:
    """Return all cosines; -2 stands for undefined, -inf for a point with itself."""
    unit = normalize(points.astype(np.float64), "unit")[0]
    found = np.clip((unit @ unit.T).round(COSINE_DECIMALS), -1.0, 1.0)
    is_zero = ~unit.any(axis=1)
    found[is_zero], found[:, is_zero] = -2.0, -2.0
    np.fill_diagonal(found, -np.inf)
    return np.asarray(found)


def participation_ratio(points: Float[np.ndarray, "sample d_model"]) -> float:
    """Count the directions the points spread over, PR = (sum w)^2 / sum w^2, 1..rank.

    w are the eigenvalues of the centered covariance; their sum is the trace of the Gram matrix and
    the sum of their squares its squared Frobenius norm. NaN for constant points.
    """
    gram = gram_matrix(points)
    squares = float((gram**2).sum())
    return float(np.trace(gram) ** 2 / squares) if squares > 0 else float("nan")


def gram_matrix(
    points: Float[np.ndarray, "sample d_model"],
) -> Float[np.ndarray, "component component"]:
    """Multiply the centered points with themselves on the smaller side.

    Its nonzero eigenvalues are (samples - 1) times those of the covariance.
    """
    moved = centered(points)
    narrow = moved if moved.shape[0] < moved.shape[1] else moved.T
    return np.asarray(narrow @ narrow.T)


def median_norm(points: Float[np.ndarray, "sample d_model"]) -> float:
    """Take the median L2 norm of the points."""
    return float(np.median(np.linalg.norm(points.astype(np.float64), axis=1)))


def top_share(points: Float[np.ndarray, "sample d_model"], n: int = 3) -> float:
    """Give the share (0..1) of the squared norm in the n dimensions that hold most of it.

    Not centered: a constant offset counts. NaN when all points are zero.
    """
    if n < 1:
        raise ValueError(f"{n} dimensions are outside 1 and above.")
    squares = np.sort((points.astype(np.float64) ** 2).sum(axis=0))
    total = float(squares.sum())
    return float(squares[-n:].sum() / total) if total > 0 else float("nan")


def token_overlap_distance(
    sequences: Sequence[Sequence[int]],
) -> Float[np.ndarray, "sample sample"]:
    """Measure 1 - |A n B| / |A u B| between the sets of token ids (Jaccard distance, 0..1).

    Order and repetition do not count; two empty sequences are at distance 0.
    """
    ids = sorted({token for sequence in sequences for token in sequence})
    column = {token: place for place, token in enumerate(ids)}
    present = np.zeros((len(sequences), max(1, len(ids))), dtype=bool)
    for row, sequence in enumerate(sequences):
        present[row, [column[token] for token in sequence]] = True
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(present, "jaccard")))
