"""Can a linear classifier read the label from the points? Cross-validated, with a control.

Unusual: the solver. Activations have more dimensions than points, and the L2-penalized solution
lies in the span of the training points, so the standardized points are first turned into that span
(orthonormal basis from a QR decomposition): the same classifier, several times faster.

References: Alain and Bengio 2016, "Understanding intermediate layers using linear classifier
probes"; the control follows Hewitt and Liang 2019, "Designing and interpreting probes with control
tasks".
"""

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from backends.math.silhouette import DROPPED

MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class Probe:
    """Hold an accuracy (0..1) over n points, each predicted once, and its 95 % Wilson interval.

    All but n are NaN when there are fewer than two classes.
    """

    accuracy: float
    low: float
    high: float
    n: int


def probe_accuracy(
    points: Float[np.ndarray, "sample d_model"],
    labels: Int[np.ndarray, "sample"],
    rng: np.random.Generator,
    folds: int = 5,
) -> Probe:
    """Predict each label by multinomial logistic regression fitted without its fold.

    Minimizes sum_i -log p(y_i | x_i) + ||W||^2 / 2 (C = 1, free intercept) on dimensions
    standardized inside the fold. Folds are stratified, shuffled by `rng`, and min(folds, smallest
    class) in number. Points with label -1 are left out. The interval treats the n predictions as
    independent, which they nearly are.
    """
    if len(points) != len(labels):
        raise ValueError(f"{len(labels)} labels do not fit {len(points)} points.")
    kept = labels != DROPPED
    return _probe(points[kept].astype(np.float64), labels[kept], rng, folds)


def shuffled_accuracy(
    points: Float[np.ndarray, "sample d_model"],
    labels: Int[np.ndarray, "sample"],
    rng: np.random.Generator,
    folds: int = 5,
) -> float:
    """Measure the same accuracy with the labels shuffled among the kept points: the control."""
    shuffled = labels.copy()
    kept = labels != DROPPED
    shuffled[kept] = rng.permutation(labels[kept])
    return probe_accuracy(points, shuffled, rng, folds).accuracy


def _probe(
    points: Float[np.ndarray, "sample d_model"],
    labels: Int[np.ndarray, "sample"],
    rng: np.random.Generator,
    folds: int,
) -> Probe:
    from sklearn.model_selection import StratifiedKFold

    sizes = np.unique(labels, return_counts=True)[1]
    if len(sizes) < 2:
        return Probe(float("nan"), float("nan"), float("nan"), len(labels))
    if min(folds, sizes.min()) < 2:
        raise ValueError(f"{folds} folds, smallest class {sizes.min()}: both must be 2 or more.")
    seed = int(rng.integers(2**31))
    split = StratifiedKFold(int(min(folds, sizes.min())), shuffle=True, random_state=seed)
    is_right = np.zeros(len(labels), dtype=bool)
    for train, test in split.split(points, labels):
        is_right[test] = _predicted(points[train], labels[train], points[test]) == labels[test]
    return _with_interval(is_right)


def _predicted(
    train: Float[np.ndarray, "sample d_model"],
    labels: Int[np.ndarray, "sample"],
    test: Float[np.ndarray, "neighbor d_model"],
) -> Int[np.ndarray, "neighbor"]:
    """Fit on the training points and predict the others.

    Newton-CG at its standard tolerance: on correlated features L-BFGS takes twice the time at the
    same tolerance and its predictions are further from those of the converged solution. A fit that
    stops early is still a valid, slightly more regularized probe, so its warning is dropped.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train)
    inner, outer = _in_row_space(scaler.transform(train), scaler.transform(test))
    model = LogisticRegression(C=1.0, solver="newton-cg", max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ConvergenceWarning and its line search
        model.fit(inner, labels)
    return np.asarray(model.predict(outer))


def _in_row_space(
    train: Float[np.ndarray, "sample d_model"], test: Float[np.ndarray, "neighbor d_model"]
) -> tuple[Float[np.ndarray, "sample component"], Float[np.ndarray, "neighbor component"]]:
    """Express both sets in an orthonormal basis of the training span, if that is smaller."""
    if train.shape[1] <= train.shape[0]:
        return train, test
    from scipy.linalg import qr

    basis, _ = qr(train.T, mode="economic")
    return train @ basis, test @ basis


def _with_interval(is_right: Bool[np.ndarray, "sample"]) -> Probe:
    hits, n = int(is_right.sum()), len(is_right)
    from scipy.stats import binomtest

    interval = binomtest(hits, n).proportion_ci(method="wilson")
    return Probe(hits / n, float(interval.low), float(interval.high), n)
