"""Silhouettes against hand-computed values, scikit-learn, and the slow obvious loops."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples as reference_samples

from backends.math.silhouette import (
    distances,
    drop_small_classes,
    paired_difference,
    score,
    silhouette_samples,
)
from backends.math.silhouette_draws import draw_means, draw_scores, resampled

# The second is what jaxtyping raises when its checks are on.
REFUSED = (ValueError, TypeError)
LINE = distances(np.array([[0.0], [1.0], [10.0], [11.0]]), "euclidean")


def blobs(seed=0, classes=3, members=20, width=8, separation=1.5):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), members)
    centers = rng.normal(size=(classes, width)) * separation
    return centers[labels] + rng.normal(size=(len(labels), width)), labels


def slow_mean(distance, labels, weights):
    """Loop over points; copies of a point are left out of its own class."""
    total = weight = 0.0
    for i in range(len(labels)):
        own = [j for j in range(len(labels)) if labels[j] == labels[i] and j != i]
        mass = sum(weights[j] for j in own)
        if weights[i] == 0 or (own and mass == 0):
            continue
        value = 0.0
        if own:
            a = sum(weights[j] * distance[i, j] for j in own) / mass
            b = min(
                sum(weights[j] * distance[i, j] for j in range(len(labels)) if labels[j] == c)
                / sum(weights[j] for j in range(len(labels)) if labels[j] == c)
                for c in set(labels.tolist()) - {labels[i]}
                if sum(weights[j] for j in range(len(labels)) if labels[j] == c) > 0
            )
            value = (b - a) / max(a, b)
        total += weights[i] * value
        weight += weights[i]
    return total / weight


@pytest.mark.parametrize(
    ("labels", "expected", "mean"),
    [
        ([0, 0, 1, 1], [0.904762, 0.894737, 0.894737, 0.904762], 0.899749),  # M1
        ([0, 1, 0, 1], [-0.4, -0.5, -0.5, -0.4], -0.45),  # M2
        ([0, 0, 0, 1], [0.5, 0.5, -0.894737, 0.0], 0.026316),  # M3
    ],
)
def test_hand_computed_scores(labels, expected, mean):
    scores = silhouette_samples(LINE, np.array(labels))
    assert scores == pytest.approx(expected, abs=5e-7)
    result = score(LINE, np.array(labels), np.random.default_rng(0), 20, 20)
    assert result.mean == pytest.approx(mean, abs=5e-7)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_scores_equal_those_of_scikit_learn(metric):
    points, labels = blobs(separation=0.7)
    labels = labels * 7 + 2  # class numbers need not be consecutive
    scores = silhouette_samples(distances(points.astype(np.float32), metric), labels)
    expected = reference_samples(
        points.astype(np.float32).astype(np.float64), labels, metric=metric
    )
    assert scores == pytest.approx(expected, abs=1e-9)


def test_dropped_points_take_no_part():
    points, labels = blobs()
    labels[::4] = -1
    distance = distances(points, "euclidean")
    kept = labels != -1
    scores = silhouette_samples(distance, labels)
    assert np.isnan(scores[~kept]).all()
    alone = distance[np.ix_(kept, kept)]
    assert np.array_equal(scores[kept], silhouette_samples(alone, labels[kept]))
    whole = score(distance, labels, np.random.default_rng(1), 10, 10)
    part = score(alone, labels[kept], np.random.default_rng(1), 10, 10)
    assert (whole.mean, whole.low, whole.z) == (part.mean, part.low, part.z)


def test_distances():
    points = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [-3.0, -4.0], [0.0, 0.0]])
    euclidean = distances(points.astype(np.float32), "euclidean")
    assert euclidean.dtype == np.float64
    assert euclidean == pytest.approx(cdist(points, points))
    cosine = distances(points, "cosine")
    assert np.all(np.diagonal(cosine) == 0)
    assert cosine[1].tolist() == [1, 0, 1, 1, 1]
    assert cosine[0, 2] == pytest.approx(0, abs=1e-12)
    assert cosine[0, 3] == pytest.approx(2)
    assert cosine.min() >= 0
    assert cosine.max() <= 2


def test_bad_distances_are_refused():
    with pytest.raises(REFUSED, match="metric|cityblock"):
        distances(np.ones((3, 2)), "cityblock")
    with pytest.raises(ValueError, match="1 values"):
        distances(np.array([[1.0], [np.inf]]), "euclidean")


def test_small_classes_are_dropped():
    labels = np.array([0, 0, 0, 1, 1, -1, 2, 2, 2, 2, 5])
    assert drop_small_classes(labels).tolist() == [0, 0, 0, -1, -1, -1, 2, 2, 2, 2, -1]
    assert drop_small_classes(labels, 2).tolist() == [0, 0, 0, 1, 1, -1, 2, 2, 2, 2, -1]
    many_dropped = np.array([-1, -1, -1, -1, 3])
    assert drop_small_classes(many_dropped, 1).tolist() == [-1, -1, -1, -1, 3]


def test_weighted_means_equal_the_slow_loop():
    points, labels = blobs(classes=4, members=4)
    labels = np.append(labels, 4)  # a singleton
    points = np.append(points, points[:1] + 1, axis=0)
    distance = distances(points, "euclidean")
    weights = resampled(labels, 30, np.random.default_rng(0))
    assert (weights == 4).any()  # a draw with a class of copies of one point
    means = draw_means(distance, np.tile(labels, (30, 1)), weights)
    slow = [slow_mean(distance, labels, w) for w in weights]
    assert means == pytest.approx(slow, abs=1e-12)


def test_permuted_means_equal_one_labeling_at_a_time():
    points, labels = blobs(classes=5, members=6, separation=0.5)
    distance = distances(points, "cosine")
    shuffled = np.random.default_rng(3).permuted(np.tile(labels, (40, 1)), axis=1)
    means = draw_means(distance, shuffled, np.ones(shuffled.shape))
    single = [silhouette_samples(distance, row).mean() for row in shuffled]
    assert means == pytest.approx(single, abs=1e-12)


def test_chunks_do_not_change_the_means(monkeypatch):
    points, labels = blobs()
    distance, weights = distances(points, "euclidean"), np.ones((23, len(labels)))
    shuffled = np.random.default_rng(3).permuted(np.tile(labels, (23, 1)), axis=1)
    whole = draw_means(distance, shuffled, weights)
    monkeypatch.setattr("backends.math.silhouette_draws.CHUNK_BYTES", 8 * 60 * 3 * 5)
    assert np.array_equal(whole, draw_means(distance, shuffled, weights))


def test_resamples_keep_the_class_sizes():
    labels = np.array([2, 0, 1, 0, 2, 2, 0])
    weights = resampled(labels, 50, np.random.default_rng(0))
    for name, size in ((0, 3), (1, 1), (2, 3)):
        assert np.all(weights[:, labels == name].sum(axis=1) == size)
    assert weights.std(axis=0)[labels != 1].min() > 0


def test_copies_of_a_point_do_not_lower_its_own_distance():
    labels = np.array([[0, 0, 0, 1, 1]])
    distance = distances(np.array([[0.0], [1.0], [5.0], [9.0], [11.0]]), "euclidean")
    scores, is_alone = draw_scores(distance, labels, np.array([[2.0, 1.0, 0.0, 1.0, 1.0]]))
    assert scores[0, 0] == pytest.approx((10 - 1) / 10)  # a = 1, not 1/2
    assert not is_alone.any()


@pytest.mark.parametrize("separation", [0.0, 0.5, 1.5, 4.0])
@pytest.mark.parametrize(("classes", "members"), [(3, 30), (14, 9), (38, 3)])
def test_the_score_lies_within_its_interval(classes, members, separation):
    points, labels = blobs(1, classes, members, 20, separation)
    result = score(distances(points, "euclidean"), labels, np.random.default_rng(0), 200, 0)
    assert result.low < result.mean < result.high
    assert 0.005 < result.high - result.low < 0.2


def test_the_interval_covers_the_true_score():
    scores, intervals = [], []
    centers = np.random.default_rng(0).normal(size=(12, 10))
    labels = np.repeat(np.arange(12), 4)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        points = centers[labels] + rng.normal(size=(48, 10))
        result = score(distances(points, "euclidean"), labels, rng, 200, 0)
        scores.append(result.mean)
        intervals.append((result.low, result.high))
    low, high = np.array(intervals).T
    truth = np.mean(scores)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.85
    assert (high - low).mean() == pytest.approx(4 * np.std(scores), rel=0.5)


def test_noise_scores_nothing():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(90, 64)), rng.integers(0, 3, 90)  # M25, raw part
    result = score(distances(points, "euclidean"), labels, rng)
    assert abs(result.mean) < 0.06
    assert abs(result.z) < 4
    assert result.null.shape == (500,)
    assert result.null_mean == pytest.approx(result.null.mean())


def test_blobs_stand_out_from_the_null():
    points, labels = blobs()
    result = score(distances(points, "euclidean"), labels, np.random.default_rng(0))
    assert result.z == pytest.approx((result.mean - result.null_mean) / result.null_std)
    assert result.z > 20
    assert result.null.max() < result.mean


def test_equal_seeds_give_every_layer_the_same_permutations():
    points, labels = blobs()
    first = score(distances(points, "euclidean"), labels, np.random.default_rng(5), 20, 30)
    again = score(distances(points, "euclidean"), labels, np.random.default_rng(5), 20, 30)
    scaled = score(distances(3 * points, "euclidean"), labels, np.random.default_rng(5), 7, 30)
    other = score(distances(points, "euclidean"), labels, np.random.default_rng(6), 20, 30)
    assert np.array_equal(first.null, again.null)
    assert (first.low, first.high) == (again.low, again.high)
    assert first.null == pytest.approx(scaled.null)  # whatever the number of resamples
    assert not np.allclose(first.null, other.null)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [-1, -1, -1, -1], [4, 4, -1, -1]])
def test_fewer_than_two_classes_score_nan(labels):
    labels = np.array(labels)
    assert np.isnan(silhouette_samples(LINE, labels)).all()
    result = score(LINE, labels, np.random.default_rng(0), 5, 6)
    numbers = (result.mean, result.low, result.high, result.null_mean, result.null_std, result.z)
    assert np.isnan(numbers).all()
    assert result.null.shape == (6,)
    both = paired_difference(LINE, labels, np.array([0, 0, 1, 1]), np.random.default_rng(0))
    assert np.isnan(both).all()


def test_constant_points_score_zero():
    distance = distances(np.full((6, 3), 0.1), "euclidean")
    result = score(distance, np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0), 10, 10)
    assert (result.mean, result.low, result.high) == (0, 0, 0)
    assert np.isnan(result.z)


def test_two_identical_points():
    distance = distances(np.array([[0.0], [0.0], [4.0], [4.0]]), "euclidean")
    assert silhouette_samples(distance, np.array([0, 0, 1, 1])).tolist() == [1, 1, 1, 1]
    assert silhouette_samples(distance, np.array([0, 1, 0, 1])).tolist() == [-0.5] * 4


def test_no_draws_leave_the_rest_nan():
    result = score(LINE, np.array([0, 0, 1, 1]), np.random.default_rng(0), 0, 0)
    assert result.mean == pytest.approx(0.899749, abs=5e-7)
    assert np.isnan([result.low, result.high, result.null_mean, result.z]).all()


def test_bad_labels_and_counts_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(REFUSED):
        silhouette_samples(LINE, np.array([0, 1, 1]))
    with pytest.raises(ValueError, match="-2 is below -1"):
        silhouette_samples(LINE, np.array([0, 1, 1, -2]))
    with pytest.raises(ValueError, match="-3 resamples"):
        score(LINE, np.array([0, 0, 1, 1]), rng, resamples=-3)
    with pytest.raises(ValueError, match="-1 permutations"):
        score(LINE, np.array([0, 0, 1, 1]), rng, permutations=-1)


def test_paired_difference():
    points, good = blobs()
    poor = np.random.default_rng(1).permutation(good)
    distance = distances(points, "euclidean")
    difference, low, high = paired_difference(distance, good, poor, np.random.default_rng(0))
    expected = silhouette_samples(distance, good).mean() - silhouette_samples(distance, poor).mean()
    assert difference == pytest.approx(expected)
    assert 0 < low < difference < high
    again = paired_difference(distance, good, poor, np.random.default_rng(0))
    assert again == (difference, low, high)
    assert paired_difference(distance, good, good, np.random.default_rng(0)) == (0, 0, 0)


def test_paired_difference_uses_the_points_kept_in_both():
    points, a = blobs(separation=0.5)
    b = np.arange(len(a)) % 4
    a[3:9] = -1
    b[7:14] = -1
    distance = distances(points, "euclidean")
    kept = (a != -1) & (b != -1)
    part = paired_difference(
        distance[np.ix_(kept, kept)], a[kept], b[kept], np.random.default_rng(0), 20
    )
    assert paired_difference(distance, a, b, np.random.default_rng(0), 20) == part


def test_paired_resamples_may_lose_a_class_of_the_second_labeling():
    a, b = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 1])
    points = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [13.0]])
    distance = distances(points, "euclidean")
    difference, low, high = paired_difference(distance, a, b, np.random.default_rng(0), 50)
    assert low <= difference <= high
