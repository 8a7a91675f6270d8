"""Normalization, axes, alignment and collapse measures, on clouds whose answers are known."""

import numpy as np
import pytest

from backends.math.geometry import (
    align,
    mean_cosine,
    median_norm,
    n_metric_components,
    nearest_by_cosine,
    normalize,
    participation_ratio,
    principal_components,
    token_overlap_distance,
    top_share,
)

REFUSED = (ValueError, TypeError)


def cloud(samples=20, width=6, seed=0):
    return np.random.default_rng(seed).normal(size=(samples, width)).astype(np.float32)


def test_normalize_none_and_unit():
    points = cloud()
    assert normalize(points, "none")[0] is points
    points[3] = 0
    unit, dropped = normalize(points, "unit")
    lengths = np.linalg.norm(unit, axis=1)
    assert dropped == 0
    assert unit.dtype == np.float32
    assert lengths[3] == 0
    assert np.delete(lengths, 3) == pytest.approx(1, abs=1e-6)


def test_normalize_zscore():
    points = cloud()
    points[:, 2] = 0.1
    scored, dropped = normalize(points, "zscore")
    assert dropped == 0
    assert scored.mean(axis=0) == pytest.approx(0, abs=1e-6)
    assert scored.std(axis=0) == pytest.approx([1, 1, 0, 1, 1, 1], abs=1e-6)
    assert np.all(scored[:, 2] == 0)


def test_normalize_drops_massive_dimensions():
    points = cloud(50, 10)
    assert normalize(points, "drop_massive")[1] == 0
    points[7, 4] = -5000  # one value is enough
    points[:, 6] = 90_000
    kept, dropped = normalize(points, "drop_massive")
    assert dropped == 2
    assert np.array_equal(kept, np.delete(points, [4, 6], axis=1))


def test_massive_needs_both_limits():
    small = cloud(50, 10) * 1e-3
    small[0, 0] = 99  # far above the median, not above 100
    large = cloud(50, 10) * 100
    large[0, 0] = 5000  # above 100, not above 1000 times the median
    assert normalize(small, "drop_massive")[1] == 0
    assert normalize(large, "drop_massive")[1] == 0


def test_when_every_dimension_is_massive_none_is_dropped():
    points = np.ones((5, 2))
    points[0] = 1e6
    kept, dropped = normalize(points, "drop_massive")
    assert dropped == 0
    assert np.array_equal(kept, points)


def test_principal_components_keep_distances_and_order():
    points = cloud() * np.array([5, 4, 3, 2, 1, 0.5], dtype=np.float32) + 7
    components = principal_components(points, 6)
    assert components.dtype == np.float32
    assert components.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert np.all(np.diff(components.std(axis=0)) < 0)
    gaps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert np.linalg.norm(np.diff(components, axis=0), axis=1) == pytest.approx(gaps, rel=1e-4)


def test_principal_components_have_a_fixed_sign():
    points = np.outer(np.arange(5.0), [0.1, -2.0, 1.0])
    component = principal_components(points, 1)[:, 0]
    assert component[0] > 0  # the largest loading, that of dimension 1, counts as positive
    points = cloud()
    for n, column in enumerate(principal_components(points, 3).T):
        loadings = (points - points.mean(axis=0)).T @ column
        assert loadings[np.abs(loadings).argmax()] > 0, n


@pytest.mark.parametrize(
    ("samples", "width", "n", "columns"), [(20, 6, 4, 4), (20, 6, 9, 6), (5, 6, 9, 4), (1, 6, 2, 0)]
)
def test_principal_components_are_limited_by_rank(samples, width, n, columns):
    assert principal_components(cloud(samples, width), n).shape == (samples, columns)


def test_principal_components_of_constant_points_are_zero():
    assert np.all(principal_components(np.full((5, 4), 0.1), 2) == 0)


@pytest.mark.parametrize(
    ("samples", "expected"), [(31, 29), (32, 30), (101, 30), (7, 5), (6, 0), (2, 0)]
)
def test_metric_components(samples, expected):
    assert n_metric_components(samples) == expected


def test_align_undoes_a_turn_a_mirror_and_a_shift():
    reference = cloud(12, 3).astype(np.float64)
    mirror, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    mirror[:, 0] *= -np.sign(np.linalg.det(mirror))
    aligned = align(reference @ mirror + 5, reference)
    assert aligned == pytest.approx(reference - reference.mean(axis=0))


def test_align_does_not_scale():
    reference = cloud(12, 2)
    aligned = align(3 * reference, reference)
    assert aligned == pytest.approx(3 * (reference - reference.mean(axis=0)), abs=1e-5)
    assert aligned.dtype == np.float32


def test_cosine_says_collapsed_where_the_participation_ratio_does_not():
    rows = np.eye(4)
    assert mean_cosine(rows) == pytest.approx(0.0, abs=1e-12)  # M11
    assert participation_ratio(rows) == pytest.approx(3.0)
    rows[:, 0] += 100
    assert mean_cosine(rows) == pytest.approx(0.999925, abs=5e-7)  # M12
    assert participation_ratio(rows) == pytest.approx(3.0)


def test_mean_cosine_equals_the_loop_over_pairs():
    points = cloud().astype(np.float64)
    points[4] = 0
    pairs = [(i, j) for i in range(20) for j in range(i)]
    cosines = [
        points[i] @ points[j] / max(np.linalg.norm(points[i]) * np.linalg.norm(points[j]), 1e-300)
        for i, j in pairs
    ]
    assert mean_cosine(points) == pytest.approx(np.mean(cosines))
    assert np.isnan(mean_cosine(points[:1]))


def test_the_nearest_by_cosine_on_a_hand_made_cloud():
    east, north, steep = [3.0, 0.0], [0.0, 2.0], [3.0, 4.0]
    nearest, cosines = nearest_by_cosine(np.array([east, north, steep, [-1.0, 0.0]]), 2)
    assert nearest.tolist() == [[2, 1], [2, 0], [1, 0], [1, 2]]
    expected = [[0.6, 0], [0.8, 0], [0.8, 0.6], [0, -0.6]]
    assert cosines == pytest.approx(np.array(expected), abs=1e-7)
    assert cosines.dtype == np.float32


def test_equal_cosines_stand_in_the_order_of_the_index():
    points = cloud(40, 7)[[0, 1, 0, 2, 0, 0]] * np.array([[1], [1], [3], [1], [7], [0.1]])
    nearest, cosines = nearest_by_cosine(points, 9)
    assert nearest[:, :3].tolist()[0] == [2, 4, 5]
    assert nearest[4, :3].tolist() == [0, 2, 5]
    assert [i for i in nearest[1] if i != 3] == [0, 2, 4, 5]
    assert nearest.shape == (6, 5)
    assert cosines.max() == 1


def test_a_point_without_direction_has_no_cosine_and_comes_last():
    points = cloud(6, 3)
    points[2] = 0
    nearest, cosines = nearest_by_cosine(points, 5)
    assert nearest[2].tolist() == [0, 1, 3, 4, 5]
    assert np.isnan(cosines[2]).all()
    assert nearest[[0, 1, 3, 4, 5], -1].tolist() == [2] * 5
    assert np.isnan(cosines[:, -1]).all()
    assert np.isfinite(np.delete(cosines, 2, axis=0)[:, :-1]).all()


def test_the_nearest_by_cosine_equal_those_of_the_slow_way():
    points = cloud(30, 5).astype(np.float64)
    nearest, cosines = nearest_by_cosine(points, 10)
    for i, point in enumerate(points):
        each = points @ point / np.linalg.norm(points, axis=1) / np.linalg.norm(point)
        order = [j for j in np.argsort(-each) if j != i][:10]
        assert nearest[i].tolist() == order
        assert cosines[i] == pytest.approx(each[order], abs=1e-6)


@pytest.mark.parametrize(("samples", "width"), [(20, 6), (6, 20)])
def test_participation_ratio_equals_that_of_the_eigenvalues(samples, width):
    points = cloud(samples, width)
    w = np.linalg.eigvalsh(np.cov(points.astype(np.float64).T))
    assert participation_ratio(points) == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_participation_ratio_of_constant_points_is_nan():
    assert np.isnan(participation_ratio(np.full((5, 4), 0.1)))
    assert np.isnan(participation_ratio(np.zeros((5, 4))))


def test_norms_and_shares():
    points = np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]])
    assert median_norm(points) == 2
    assert top_share(points, 1) == pytest.approx(16 / 30)
    assert top_share(points) == pytest.approx(29 / 30)
    assert top_share(points, 9) == pytest.approx(1)
    assert np.isnan(top_share(np.zeros((3, 2))))


def test_token_overlap_distance():
    distance = token_overlap_distance([[1, 2, 3], [3, 2, 2, 1], [3, 4], [], [], [9]])
    assert distance[0, 1] == 0
    assert distance[0, 2] == pytest.approx(0.75)
    assert distance[3, 4] == 0
    assert distance[0, 3] == distance[0, 5] == 1
    assert np.all(np.diagonal(distance) == 0)
    assert np.array_equal(distance, distance.T)


def test_bad_requests_are_refused():
    with pytest.raises(REFUSED):
        normalize(cloud(), "minmax")
    with pytest.raises(ValueError, match="0 components"):
        principal_components(cloud(), 0)
    with pytest.raises(ValueError, match="0 neighbors"):
        nearest_by_cosine(cloud(), 0)
    with pytest.raises(ValueError, match="0 dimensions"):
        top_share(cloud(), 0)
    with pytest.raises(REFUSED):
        align(cloud(5), cloud(6))
