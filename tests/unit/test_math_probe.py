"""The probe and its control, against a plain scikit-learn classifier."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from backends.math import probe
from backends.math.probe import Probe, probe_accuracy, shuffled_accuracy

REFUSED = (ValueError, TypeError)


def blobs(classes=4, members=10, width=60, separation=0.6):
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(classes), members)
    centers = rng.normal(size=(classes, width)) * separation
    return (centers[labels] + rng.normal(size=(len(labels), width))).astype(np.float32), labels


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("width", [7, 200])
def test_predictions_equal_those_without_the_rotation(classes, width):
    points, labels = blobs(classes, 24, width, 0.15)
    points = points.astype(np.float64) @ np.diag(1 / np.sqrt(np.arange(1, width + 1)))
    train, test = np.arange(len(labels)) % 4 != 0, np.arange(len(labels)) % 4 == 0
    plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=10_000))
    expected = plain.fit(points[train], labels[train]).predict(points[test])
    predicted = probe._predicted(points[train], labels[train], points[test])
    assert np.array_equal(predicted, expected)
    assert 0 < np.mean(predicted == labels[test]) < 1  # neither trivial nor hopeless


def test_blobs_are_read_and_shuffled_labels_are_not():
    points, labels = blobs()
    result = probe_accuracy(points, labels, np.random.default_rng(0))
    control = shuffled_accuracy(points, labels, np.random.default_rng(0))
    assert result.n == 40
    assert result.accuracy > 0.9
    assert result.low < result.accuracy <= result.high <= 1
    assert control < 0.5


def test_the_interval_is_wilsons():
    result = probe._with_interval(np.arange(10) < 8)
    assert (result.accuracy, result.n) == (0.8, 10)
    assert (result.low, result.high) == pytest.approx((0.490162, 0.943318), abs=5e-7)


def test_dropped_points_are_left_out():
    points, labels = blobs()
    labels[5:12] = -1
    kept = labels != -1
    whole = probe_accuracy(points, labels, np.random.default_rng(0))
    assert whole == probe_accuracy(points[kept], labels[kept], np.random.default_rng(0))
    assert whole.n == 33
    before = labels.copy()
    control = shuffled_accuracy(points, labels, np.random.default_rng(0))
    assert control == shuffled_accuracy(points[kept], labels[kept], np.random.default_rng(0))
    assert np.array_equal(labels, before)


def test_equal_seeds_give_equal_accuracies():
    points, labels = blobs(separation=0.2)
    results = [probe_accuracy(points, labels, np.random.default_rng(s)) for s in (1, 1, 2, 3, 4)]
    assert results[0] == results[1]
    assert len(set(results)) > 1


def test_folds_follow_the_smallest_class():
    points, labels = blobs(3, 10)
    labels[labels == 2] = np.where(np.arange(10) < 2, 2, -1)
    assert probe_accuracy(points, labels, np.random.default_rng(0)).n == 22


def test_constant_points_are_read_at_chance():
    labels = np.array([0] * 12 + [1] * 8)
    assert probe_accuracy(np.full((20, 30), 0.1), labels, np.random.default_rng(0)).accuracy == 0.6


def test_two_identical_points_with_different_labels_do_no_harm():
    points, labels = blobs()
    points[1] = points[0]
    assert probe_accuracy(points, labels, np.random.default_rng(0)).accuracy > 0.9


@pytest.mark.parametrize("labels", [np.zeros(40, int), np.full(40, -1)])
def test_fewer_than_two_classes_give_nan(labels):
    result = probe_accuracy(blobs()[0], labels, np.random.default_rng(0))
    assert np.isnan([result.accuracy, result.low, result.high]).all()
    assert result.n == np.sum(labels != -1)
    assert np.isnan(shuffled_accuracy(blobs()[0], labels, np.random.default_rng(0)))


def test_no_convergence_warning_escapes(monkeypatch):
    monkeypatch.setattr(probe, "MAX_ITERATIONS", 1)
    points, labels = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert isinstance(probe_accuracy(points, labels, np.random.default_rng(0)), Probe)


def test_bad_requests_are_refused():
    points, labels = blobs()
    with pytest.raises(REFUSED):
        probe_accuracy(points, labels[:-1], np.random.default_rng(0))
    with pytest.raises(ValueError, match="1 folds"):
        probe_accuracy(points, labels, np.random.default_rng(0), folds=1)
    labels[0] = 9
    with pytest.raises(ValueError, match="smallest class 1"):
        probe_accuracy(points, labels, np.random.default_rng(0))
