"""Linear models on the features of sequences: splits, fits, and scores with their intervals.

Accuracy = share of test sequences whose class is predicted; R² = 1 - sum (y - p)² / sum (y - mean)²
over the test part. Intervals are the 2.5 to 97.5 percentiles over resamples of the test part, the
same resamples for all features.
"""

import warnings
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from backends.math.threads import use_one_blas_thread
from backends.methods.mcbif_experiment.request import Task

MAX_ITERATIONS = 1_000
SHUFFLES = 5
# Members of the smallest stratum, so that two splits find one for each part.
FEWEST = 5
# Resamples drawn at once.
CHUNK = 100


def kept_targets(target: Int[np.ndarray, "sequence"]) -> Bool[np.ndarray, "sequence"]:
    """Leave out crossing numbers of 0 and those outside the 0.1 and 99.9 percentiles."""
    low, high = np.percentile(target, (0.1, 99.9))
    return np.asarray((target > 0) & (target >= low) & (target <= high))


def split(
    task: Task, target: Int[np.ndarray, "sequence"], seed: int
) -> tuple[Int[np.ndarray, "train"], Int[np.ndarray, "test"]]:
    """Split 80/20, stratified by the target; return the places of the training and test part.

    Of a regression's training part another fifth, for validation, is left aside as in the paper.
    """
    from sklearn.model_selection import train_test_split

    groups = strata(target)
    places = np.arange(len(target))
    train, test = train_test_split(places, test_size=0.2, stratify=groups, random_state=seed)
    if task == "regression":
        train, _ = train_test_split(train, test_size=0.2, stratify=groups[train], random_state=seed)
    return np.asarray(train), np.asarray(test)


def strata(target: Int[np.ndarray, "sequence"]) -> Int[np.ndarray, "sequence"]:
    """Group equal targets; a value with fewer than 5 members joins the next larger ones."""
    values, counts = np.unique(target, return_counts=True)
    group, members, groups = 0, 0, []
    for count in counts:
        groups.append(group)
        members += count
        if members >= FEWEST:
            group, members = group + 1, 0
    if members and group:
        groups = [min(one, group - 1) for one in groups]
    return np.array(groups)[np.searchsorted(values, target)]


def predict(
    task: Task,
    train: np.ndarray,
    target: Int[np.ndarray, "train"],
    test: np.ndarray,
    seed: int,
    check: Callable[[], None] = lambda: None,
) -> dict[str, np.ndarray]:
    """Fit on the training part and predict the test part; so, too, with shuffled targets.

    Logistic regression (L2 penalty, C = 1, L-BFGS, at most 1,000 iterations) or ordinary least
    squares, on the values as they are. `is_converged` is false where the iterations ran out.
    `check` is called before each fit.
    """
    use_one_blas_thread()  # In the worker process, too.
    fit = _classes if task == "classification" else _values
    inside, outside = train.astype(np.float64), test.astype(np.float64)
    predicted, is_converged = fit(inside, target, outside)
    controls = []
    for shuffle in range(SHUFFLES):
        check()
        shuffled = np.random.default_rng([seed, 1, shuffle]).permutation(target)
        controls.append(fit(inside, shuffled, outside)[0])
    return {
        "predicted": predicted.astype(np.float64),
        "control": np.stack(controls).astype(np.float64),
        "is_converged": np.array([is_converged]),
    }


def _classes(train: np.ndarray, target: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(train, target)
    return model.predict(test), bool(model.n_iter_.max() < MAX_ITERATIONS)


def _values(train: np.ndarray, target: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, bool]:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(train, target).predict(test), True


def scores(
    task: Task,
    target: Int[np.ndarray, "test"],
    predicted: Float[np.ndarray, "feature test"],
    weights: Float[np.ndarray, "resample test"],
) -> Float[np.ndarray, "resample feature"]:
    """Return accuracy or R² of each feature's predictions, test sequences weighted.

    R² is NaN where all weighted targets are equal.
    """
    total = weights.sum(axis=1, keepdims=True)
    if task == "classification":
        return np.asarray(weights @ (predicted == target).T / total)
    y = target - target.mean()
    errors = weights @ ((predicted - target) ** 2).T
    around = weights @ y**2 - (weights @ y) ** 2 / total[:, 0]
    spread = np.where(around > 1e-9, around, np.nan)
    return np.asarray(1 - errors / spread[:, None])


def intervals(
    task: Task,
    target: Int[np.ndarray, "test"],
    predicted: Float[np.ndarray, "feature test"],
    resamples: int,
    seed: int,
    check: Callable[[], None],
) -> Float[np.ndarray, "2 feature"]:
    """Return the 95 % interval of each score from resamples of the test part."""
    rng = np.random.default_rng([seed, 2])
    n = len(target)
    drawn = []
    for first in range(0, resamples, CHUNK):
        check()
        rows = rng.integers(0, n, (min(CHUNK, resamples - first), n))
        rows += n * np.arange(len(rows))[:, None]
        weights = np.bincount(rows.reshape(-1), minlength=rows.size).reshape(rows.shape)
        drawn.append(scores(task, target, predicted, weights.astype(np.float64)))
    return np.asarray(np.nanpercentile(np.concatenate(drawn), (2.5, 97.5), axis=0))
