"""How well points that carry a number (an age) lie on a line, and where the line breaks.

Several measures because one misleads: the R2 of the first component stays above 0.98 for a half
circle, and an in-sample regression is exactly 1 on noise once there are more dimensions than
points. Hence the cross-validated R2 and the local anisotropy. Everything is computed in float64.
"""

import numpy as np
from jaxtyping import Float, Real

from backends.math.geometry import centered, gram_matrix
from backends.math.silhouette import distances

# Ridge penalties tried inside each fold, on standardized dimensions.
PENALTIES = tuple(10.0**power for power in range(-2, 7))


def anisotropy(points: Float[np.ndarray, "sample d_model"]) -> float:
    """Measure how line-like the points are: A = 1 - l2/l1, 0..1.

    l1 >= l2 are the largest eigenvalues of the covariance. 0 for constant points, 1 on a line.
    """
    eigenvalues = np.linalg.eigvalsh(gram_matrix(points))[::-1]
    first = float(eigenvalues[0])
    if first <= 0:
        return 0.0
    second = max(float(eigenvalues[1]), 0.0) if len(eigenvalues) > 1 else 0.0
    return 1.0 - second / first


def local_anisotropy(points: Float[np.ndarray, "sample d_model"], neighbors: int = 20) -> float:
    """Average the anisotropy over the neighborhoods of all points.

    A neighborhood is the min(neighbors, N - 1) nearest other points (euclidean; ties: first index).
    """
    if neighbors < 1:
        raise ValueError(f"{neighbors} neighbors are outside 1 and above.")
    if len(points) < 2:
        raise ValueError(f"{len(points)} points have no neighbors; 2 or more are needed.")
    apart = distances(points, "euclidean")
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(neighbors, len(points) - 1)]
    return float(np.mean([anisotropy(points[rows]) for rows in nearest]))


def r2_first_component(
    points: Float[np.ndarray, "sample d_model"], values: Real[np.ndarray, "sample"]
) -> float:
    """Square the correlation of the values with the first principal component, 0..1.

    NaN when the points or the values are constant.
    """
    _check(points, values)
    moved, target = centered(points), _centered_values(values)
    if not (moved.any() and target.any()):
        return float("nan")
    left = np.linalg.svd(moved, full_matrices=False)[0]
    return float((left[:, 0] @ target) ** 2 / (target @ target))


def r2_cross_validated(
    points: Float[np.ndarray, "sample d_model"],
    values: Real[np.ndarray, "sample"],
    rng: np.random.Generator,
    folds: int = 10,
) -> float:
    """Predict each value by ridge regression fitted without its fold: R2 = 1 - SSE/SST, up to 1.

    SSE pools the errors of all folds, SST is about the mean of all values, so R2 can be negative.
    Standardization and the choice of the penalty (leave-one-out, 1e-2..1e6) happen inside each
    fold. `rng` shuffles the points into min(folds, N) folds. NaN when the values are constant.
    """
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    _check(points, values)
    if folds < 2 or len(values) < 4:
        raise ValueError(
            f"{folds} folds of {len(values)} points: 2 or more of 4 or more are needed."
        )
    target = _centered_values(values)
    if not target.any():
        return float("nan")
    split = KFold(min(folds, len(values)), shuffle=True, random_state=int(rng.integers(2**31)))
    model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
    predicted = cross_val_predict(model, points.astype(np.float64), target, cv=split)
    return float(1.0 - ((target - predicted) ** 2).sum() / (target**2).sum())


def step_sizes(points: Float[np.ndarray, "sample d_model"]) -> Float[np.ndarray, "step"]:
    """Measure J(a) = ||x_{a+1} - x_a|| / median_a ||x_{a+1} - x_a||; 1 is a usual step.

    Entry a is the step from point a to point a + 1. All NaN when the median is 0.
    """
    if len(points) < 2:
        raise ValueError(f"{len(points)} points have no steps; 2 or more are needed.")
    lengths = np.linalg.norm(np.diff(points.astype(np.float64), axis=0), axis=1)
    median = float(np.median(lengths))
    return np.asarray(lengths / median if median > 0 else np.full(len(lengths), np.nan))


def _centered_values(values: Real[np.ndarray, "sample"]) -> Float[np.ndarray, "sample"]:
    return centered(values.astype(np.float64)[:, None])[:, 0]


def _check(
    points: Float[np.ndarray, "sample d_model"], values: Real[np.ndarray, "component"]
) -> None:
    if len(points) != len(values):
        raise ValueError(f"{len(values)} values do not fit {len(points)} points.")
    if len(points) < 2:
        raise ValueError(f"{len(points)} points are too few; 2 or more are needed.")
