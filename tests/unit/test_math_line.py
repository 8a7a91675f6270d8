"""Values on a line: anisotropy, linearity and steps, on shapes whose answers are known."""

import numpy as np
import pytest

from backends.math.line import (
    anisotropy,
    local_anisotropy,
    r2_cross_validated,
    r2_first_component,
    step_sizes,
)

REFUSED = (ValueError, TypeError)
AGES = np.arange(101)


def arc(degrees, width=2):
    angle = np.deg2rad(degrees) * AGES / 100
    flat = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return flat @ np.linalg.qr(np.random.default_rng(0).normal(size=(width, width)))[0][:2]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0, 0), (1, 2), (2, 4), (3, 6), (4, 8)], 1.0),  # M4
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 0.0),  # M5
        ([(2, 0), (-2, 0), (0, 1), (0, -1)], 0.75),  # M6
        ([(3, 3), (3, 3), (3, 3)], 0.0),
        ([(3, 3)], 0.0),
        ([(1,), (5,)], 1.0),
    ],
)
def test_anisotropy(points, expected):
    assert anisotropy(np.array(points, dtype=np.float64)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(30, 4), (10, 40)])
def test_anisotropy_equals_that_of_the_covariance(shape):
    points = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    eigenvalues = np.linalg.eigvalsh(np.cov(points.astype(np.float64).T))
    assert anisotropy(points) == pytest.approx(1 - eigenvalues[-2] / eigenvalues[-1])


def test_local_anisotropy_equals_the_loop():
    points = np.random.default_rng(0).normal(size=(30, 5))
    values = []
    for i in range(30):
        order = sorted(range(30), key=lambda j, i=i: np.linalg.norm(points[i] - points[j]))
        nearest = points[[j for j in order if j != i][:8]]
        eigenvalues = np.linalg.eigvalsh(np.cov(nearest.T))
        values.append(1 - eigenvalues[-2] / eigenvalues[-1])
    assert local_anisotropy(points, 8) == pytest.approx(np.mean(values))


def test_local_anisotropy_tells_a_curve_from_a_cloud():
    cloud = np.random.default_rng(0).normal(size=(101, 30))
    assert local_anisotropy(arc(180, 30)) > 0.98
    assert local_anisotropy(cloud) < 0.5


def test_local_anisotropy_of_few_or_equal_points():
    assert local_anisotropy(np.ones((5, 3))) == 0
    line = np.outer(np.arange(4.0), [1.0, 2.0])
    assert local_anisotropy(line) == pytest.approx(1)
    assert local_anisotropy(np.array([[0.0], [0.0], [5.0]]), 1) == 0


@pytest.mark.parametrize(("degrees", "r2"), [(90, 0.999203), (180, 0.984898), (270, 0.899802)])
def test_first_component_hides_a_half_circle(degrees, r2):
    assert r2_first_component(arc(degrees, 7), AGES) == pytest.approx(r2, abs=5e-7)  # M7


def test_first_component_equals_the_squared_correlation():
    points = np.random.default_rng(0).normal(size=(40, 5)) * [3, 1, 1, 1, 1]
    values = points[:, 0] + np.random.default_rng(1).normal(size=40)
    moved = points - points.mean(axis=0)
    first = moved @ np.linalg.eigh(moved.T @ moved)[1][:, -1]
    expected = np.corrcoef(first, values)[0, 1] ** 2
    assert r2_first_component(points, values) == pytest.approx(expected)


def test_constant_points_or_values_have_no_r2():
    rng = np.random.default_rng(0)
    assert np.isnan(r2_first_component(np.full((9, 3), 0.1), np.arange(9)))
    assert np.isnan(r2_first_component(rng.normal(size=(9, 3)), np.full(9, 0.1)))
    assert np.isnan(r2_cross_validated(rng.normal(size=(9, 3)), np.full(9, 0.1), rng))


def test_cross_validation_is_not_fooled_by_noise():
    noise = np.random.default_rng(0).normal(size=(101, 256))
    fit = np.linalg.lstsq(np.c_[noise, np.ones(101)], AGES.astype(float), rcond=None)[0]
    residual = AGES - np.c_[noise, np.ones(101)] @ fit
    assert 1 - (residual**2).sum() / ((AGES - AGES.mean()) ** 2).sum() == pytest.approx(1.0)
    assert r2_cross_validated(noise, AGES, np.random.default_rng(0)) < 0.2


def test_cross_validation_finds_a_line():
    rng = np.random.default_rng(0)
    points = np.outer(AGES, rng.normal(size=64)) + rng.normal(size=(101, 64))
    assert r2_cross_validated(points.astype(np.float32), AGES, rng) > 0.99
    assert r2_cross_validated(np.full((101, 3), 0.1), AGES, rng) == pytest.approx(0, abs=0.1)


def test_cross_validation_is_reproducible():
    points = np.random.default_rng(0).normal(size=(30, 8))
    values = points[:, 0] + np.random.default_rng(1).normal(size=30)
    first, again = (r2_cross_validated(points, values, np.random.default_rng(2)) for _ in range(2))
    assert first == again
    assert first != r2_cross_validated(points, values, np.random.default_rng(3))


def test_step_sizes_show_the_break():
    positions = AGES.astype(float) + 4 * (AGES >= 18)
    steps = step_sizes(positions[:, None])
    assert steps.shape == (100,)
    assert steps.max() == 5  # M8
    assert steps.argmax() == 17
    assert np.isnan(step_sizes(np.array([[0.0], [0.0], [0.0], [1.0]]))).all()


def test_bad_requests_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="0 neighbors"):
        local_anisotropy(np.ones((3, 2)), 0)
    with pytest.raises(ValueError, match="1 points"):
        local_anisotropy(np.ones((1, 2)))
    with pytest.raises(ValueError, match="1 points"):
        step_sizes(np.ones((1, 2)))
    with pytest.raises(ValueError, match="1 points"):
        r2_first_component(np.ones((1, 2)), np.ones(1))
    with pytest.raises(REFUSED):
        r2_first_component(np.ones((3, 2)), np.ones(4))
    with pytest.raises(ValueError, match="1 folds"):
        r2_cross_validated(np.ones((9, 2)), np.arange(9.0), rng, 1)
