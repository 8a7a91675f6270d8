"""Intervals of layers: the stored oracles, the guard against noise, agreement."""

import math

import numpy as np
import pytest

from backends.math.intervals import (
    covered,
    half_width,
    high_intervals,
    jaccard,
    rise_intervals,
    smoothed,
)

M21 = np.array([0, 0, 1, 5, 6, 5, 1, 0, 0, 0, 3, 0], float)
M22 = np.array([0.1, 0.1, 0.12, 0.2, 0.35, 0.45, 0.48, 0.47, 0.46, 0.46])


def test_m21_the_high_rule() -> None:
    expected = [
        *(0.082054, 0.539321, 1.955041, 3.962905, 4.921358, 3.962905, 1.955442, 0.552483),
        *(0.238927, 0.731417, 1.210260, 0.887888),
    ]
    np.testing.assert_allclose(smoothed(M21), expected, atol=1e-5)
    assert np.percentile(smoothed(M21), 75) == pytest.approx(2.457308, abs=1e-5)
    assert high_intervals(M21) == ((3, 5),)


def test_m22_the_rise_rule() -> None:
    smooth = smoothed(M22)
    rates = (smooth[2:] - smooth[:-2]) / 2
    expected = [0.022809, 0.057231, 0.092316, 0.096662, 0.064467, 0.024293, 0.0013, -0.003546]
    np.testing.assert_allclose(rates, expected, atol=1e-6)
    assert rise_intervals(M22) == ((2, 5),)


def test_m23_a_constant_curve_has_none() -> None:
    assert high_intervals(np.ones(12)) == ()
    assert rise_intervals(np.ones(12)) == ()


@pytest.mark.parametrize("curve", [np.zeros(0), np.full(9, np.nan), np.r_[1.0, np.nan, 5.0]])
def test_what_is_not_defined_has_none(curve: np.ndarray) -> None:
    assert high_intervals(curve) == ()
    assert rise_intervals(curve) == ()


def test_a_curve_within_its_noise_has_none() -> None:
    reach = float(np.ptp(smoothed(M21)))
    assert high_intervals(M21, 0.49 * reach)
    assert high_intervals(M21, 0.51 * reach) == ()
    assert rise_intervals(M22, 10.0) == ()
    assert rise_intervals(-np.arange(9.0)) == ()


def test_at_most_three_runs_of_at_least_two_layers() -> None:
    curve = np.zeros(60)
    for start, height in ((5, 1.0), (20, 4.0), (35, 3.0), (50, 2.0)):
        curve[start : start + 4] = height
    runs = high_intervals(curve)
    assert len(runs) <= 3
    assert all(last > first for first, last in runs)
    assert any(first <= 21 <= last for first, last in runs)


def test_agreement() -> None:
    assert covered([(1, 2), (4, 4)], 6).tolist() == [False, True, True, False, True, False]
    assert jaccard([(0, 3)], [(2, 5)], 8) == pytest.approx(2 / 6)
    assert math.isnan(jaccard([], [], 8))
    assert half_width(np.array([0.0, 1.0]), np.array([1.0, 3.0])) == 0.75
    assert half_width(np.full(3, np.nan), np.full(3, np.nan)) == 0
