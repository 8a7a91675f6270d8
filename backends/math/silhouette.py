"""Silhouette of a labeled point set, with its bootstrap interval and its permutation null.

A silhouette needs distances only, so every function here takes one distance matrix. Hundreds of
resamples and label permutations are scored together (`silhouette_draws`).

Unusual: the label -1 takes a point out altogether, and the bootstrap interval is re-centered on the
score (see `score`). Reference: Rousseeuw 1987, "Silhouettes: a graphical aid to the interpretation
and validation of cluster analysis".
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from backends.math.silhouette_draws import draw_means, draw_scores, resampled

Metric = Literal["euclidean", "cosine"]

DROPPED = -1
# A null narrower than this is rounding: every permutation scored the same.
NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Silhouette:
    """Hold one mean silhouette (-1..1), its 95 % interval and its permutation null.

    `z` = (mean - null_mean) / null_std. All are NaN when fewer than two classes are left.
    """

    mean: float
    low: float
    high: float
    null_mean: float
    null_std: float
    z: float
    null: Float[np.ndarray, "permutation"]


def distances(
    points: Float[np.ndarray, "sample d_model"], metric: Metric
) -> Float[np.ndarray, "sample sample"]:
    """Measure all pairwise distances in float64; the diagonal is exactly zero.

    Cosine distance is 1 - u.v / (|u| |v|), 0..2; a zero vector is at 1 from every other point.
    """
    if metric not in get_args(Metric):
        raise ValueError(f"Metric {metric!r} is not one of {', '.join(get_args(Metric))}.")
    if not np.isfinite(points).all():
        raise ValueError(f"{np.sum(~np.isfinite(points))} values of the points are not finite.")
    from scipy.spatial.distance import pdist, squareform

    between = pdist(points.astype(np.float64), metric)
    if metric == "cosine":
        between = np.clip(np.nan_to_num(between, nan=1.0), 0.0, 2.0)
    return np.asarray(squareform(between))


def drop_small_classes(
    labels: Int[np.ndarray, "sample"], minimum: int = 3
) -> Int[np.ndarray, "sample"]:
    """Give the label -1 to every member of a class with fewer than `minimum` members."""
    _, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(sizes[place] < minimum, DROPPED, labels)


def silhouette_samples(
    distance: Float[np.ndarray, "sample sample"], labels: Int[np.ndarray, "sample"]
) -> Float[np.ndarray, "sample"]:
    """Score each point, s(i) = (b - a) / max(a, b), -1..1.

    a(i) is the mean distance to the other members of its class, b(i) the smallest mean distance to
    another class. A singleton class scores 0, as does a point with a = b = 0. Points with label -1
    take no part and get NaN; with fewer than two classes everything is NaN.
    """
    _check(distance, labels)
    kept = labels != DROPPED
    scores = np.full(len(labels), np.nan)
    if len(np.unique(labels[kept])) >= 2:
        classes = _numbered(labels[kept])
        weights = np.ones((1, len(classes)))
        scores[kept] = draw_scores(_among(distance, kept), classes[None], weights)[0][0]
    return scores


def score(
    distance: Float[np.ndarray, "sample sample"],
    labels: Int[np.ndarray, "sample"],
    rng: np.random.Generator,
    resamples: int = 200,
    permutations: int = 500,
) -> Silhouette:
    """Score a labeling: mean silhouette, 95 % bootstrap interval, permutation null and z value.

    Bootstrap, stratified by class: a resample gives point i the weight w_i (how often it was
    drawn); a(i) and b(i) are weighted means, and the score is the mean of s weighted by w. Copies
    of point i are left out of a(i), since copies of one prompt are one point: counting their zero
    distance would bias a(i) down and lift the score. A point whose class holds nothing but its own
    copies is left out of that resample.

    The interval is that of the deviations from the mean of the resamples, laid around the score.
    A resample holds fewer distinct points, so its class means are noisier and the smallest of them,
    b(i), is lower. In 150 simulated data sets of 38 classes of 3 around one center, the plain
    percentile interval never held its own score and covered the true one 3 % of the time; this
    one covered it in 91 to 100 % over nine settings (3 to 38 classes of 3 to 30).

    Permutations shuffle the labels among the points that are not dropped. They are drawn first and
    depend on `rng` and `labels` only: equally seeded generators give every layer the same ones, so
    the maximum over layers of the `null` arrays is a valid null of the maximum.
    """
    _check(distance, labels)
    _check_draws(resamples, permutations)
    kept = labels != DROPPED
    if len(np.unique(labels[kept])) < 2:
        nan = float("nan")
        return Silhouette(nan, nan, nan, nan, nan, nan, np.full(permutations, nan))
    classes, among = _numbered(labels[kept]), _among(distance, kept)
    shuffled = rng.permuted(np.tile(classes, (permutations, 1)), axis=1)
    drawn = resampled(classes, resamples, rng)
    null = draw_means(among, shuffled, np.ones(shuffled.shape))
    mean = _mean(among, classes)
    low, high = _interval(mean, draw_means(among, np.tile(classes, (resamples, 1)), drawn), 1.0)
    null_mean, null_std, z = _against_null(mean, null)
    return Silhouette(mean, low, high, null_mean, null_std, z, null)


def paired_difference(
    distance: Float[np.ndarray, "sample sample"],
    labels_a: Int[np.ndarray, "sample"],
    labels_b: Int[np.ndarray, "sample"],
    rng: np.random.Generator,
    resamples: int = 200,
) -> tuple[float, float, float]:
    """Compare two labelings of one point set: silhouette(a) - silhouette(b), 95 % interval.

    Both are scored on the points kept in both, and on the same resamples (stratified by
    `labels_a`, interval as in `score`). Three NaN if either has fewer than two classes there.
    """
    _check(distance, labels_a)
    _check(distance, labels_b)
    _check_draws(resamples, 0)
    kept = (labels_a != DROPPED) & (labels_b != DROPPED)
    a, b, among = _numbered(labels_a[kept]), _numbered(labels_b[kept]), _among(distance, kept)
    if min(len(np.unique(a)), len(np.unique(b))) < 2:
        return float("nan"), float("nan"), float("nan")
    drawn = resampled(a, resamples, rng)
    means_a, means_b = (draw_means(among, np.tile(y, (resamples, 1)), drawn) for y in (a, b))
    difference = _mean(among, a) - _mean(among, b)
    return difference, *_interval(difference, means_a - means_b, 2.0)


def _check(distance: Float[np.ndarray, "sample sample"], labels: Int[np.ndarray, "sample"]) -> None:
    if distance.shape != (len(labels), len(labels)):
        raise ValueError(f"Distances {distance.shape} do not fit {len(labels)} labels: n x n.")
    if labels.size and labels.min() < DROPPED:
        raise ValueError(f"Label {labels.min()} is below {DROPPED}, which means dropped.")


def _check_draws(resamples: int, permutations: int) -> None:
    for name, count in (("resamples", resamples), ("permutations", permutations)):
        if count < 0:
            raise ValueError(f"{count} {name} are outside 0 and above.")


def _numbered(labels: Int[np.ndarray, "sample"]) -> Int[np.ndarray, "sample"]:
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def _among(
    distance: Float[np.ndarray, "sample sample"], kept: Bool[np.ndarray, "sample"]
) -> Float[np.ndarray, "neighbor neighbor"]:
    return np.ascontiguousarray(distance[np.ix_(kept, kept)], dtype=np.float64)


def _mean(
    distance: Float[np.ndarray, "sample sample"], classes: Int[np.ndarray, "sample"]
) -> float:
    return float(draw_means(distance, classes[None], np.ones((1, len(classes))))[0])


def _interval(value: float, means: Float[np.ndarray, "batch"], limit: float) -> tuple[float, float]:
    """Lay the 95 % range of the resamples' deviations around the value, within +-limit."""
    defined = means[np.isfinite(means)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = value + np.percentile(defined - defined.mean(), [2.5, 97.5])
    return float(max(low, -limit)), float(min(high, limit))


def _against_null(
    mean: float, null: Float[np.ndarray, "permutation"]
) -> tuple[float, float, float]:
    if not len(null):
        return float("nan"), float("nan"), float("nan")
    center, spread = float(null.mean()), float(null.std())
    return center, spread, (mean - center) / spread if spread > NO_SPREAD else float("nan")
