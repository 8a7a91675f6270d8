"""Severity by hand-computed distributions: equal, disjoint, half shared; intervals."""

import numpy as np
import pytest

from backends.math.severity import log_probabilities, mean_interval, severity, shift

LN2 = float(np.log(2))


def logits(*rows: list[float]) -> np.ndarray:
    """Return probabilities as logits."""
    return np.log(np.array(rows)).astype(np.float32)


def test_log_probabilities_by_hand_and_for_large_logits() -> None:
    found = log_probabilities(np.array([[0, 0], [1_000, 0], [-1_000, -1_000]], np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [[-LN2, -LN2], [0, -1_000], [-LN2, -LN2]], atol=1e-12)


def test_equal_distributions_are_exactly_one() -> None:
    rows = np.random.default_rng(0).normal(size=(7, 300)).astype(np.float32) * 9
    moved = shift(log_probabilities(rows), rows, np.arange(7))
    assert not moved.js.any()
    assert not moved.kl.any()
    assert not moved.delta_nll.any()
    assert moved.same_top.all()
    assert moved.severity == 1.0


def test_disjoint_distributions_are_ten() -> None:
    one, other = np.full((2, 4), -500, np.float32), np.full((2, 4), -500, np.float32)
    one[:, 0], other[:, 1] = 500, 500
    moved = shift(log_probabilities(one), other, np.array([0, 1]))
    np.testing.assert_allclose(moved.js, LN2)
    np.testing.assert_allclose(moved.kl, 1_000)
    np.testing.assert_allclose(moved.delta_nll, [1_000, -1_000])
    assert moved.severity == pytest.approx(10)
    assert not moved.same_top.any()


def test_two_positions_by_hand() -> None:
    one, other = logits([0.5, 0.5], [0.9, 0.1]), logits([0.25, 0.75], [0.9, 0.1])
    moved = shift(log_probabilities(one), other, np.array([0, 0]))
    middle = [0.375, 0.625]
    js = sum(0.5 * np.log(0.5 / m) for m in middle) / 2
    js += (0.25 * np.log(0.25 / middle[0]) + 0.75 * np.log(0.75 / middle[1])) / 2
    kl = 0.5 * np.log(0.5 / 0.25) + 0.5 * np.log(0.5 / 0.75)
    np.testing.assert_allclose(moved.js, [js, 0], atol=1e-7)
    np.testing.assert_allclose(moved.kl, [kl, 0], atol=1e-7)
    np.testing.assert_allclose(moved.delta_nll, [LN2, 0], atol=1e-6)
    assert moved.same_top.tolist() == [0, 1]
    assert moved.severity == pytest.approx(1 + 9 * js / 2 / LN2, rel=1e-6)


def test_the_divergence_is_symmetric_and_bounded() -> None:
    rng = np.random.default_rng(1)
    one, other = (rng.normal(size=(5, 50)).astype(np.float32) * 20 for _ in range(2))
    there = shift(log_probabilities(one), other, np.zeros(5, int)).js
    back = shift(log_probabilities(other), one, np.zeros(5, int)).js
    np.testing.assert_allclose(there, back, atol=1e-12)
    assert (there > 0).all()
    assert (there <= LN2).all()


def test_severity_stays_on_its_scale() -> None:
    assert severity(0.0) == 1
    assert severity(-1e-17) == 1
    assert severity(LN2 / 2) == pytest.approx(5.5)
    assert severity(LN2 * (1 + 1e-15)) == 10


def test_intervals_need_three_rows_and_leave_out_the_unknown() -> None:
    nan = np.nan
    rows = np.array([[1, 4], [2, 4], [3, 4], [nan, 9]], np.float32)
    mean, low, high = mean_interval(rows, seed=0)
    assert mean.tolist() == [2, 4]
    assert 1 <= low[0] < 2 < high[0] <= 3
    assert (low[1], high[1]) == (4, 4)
    again = mean_interval(rows, seed=0)
    assert all(np.array_equal(a, b) for a, b in zip(again, (mean, low, high), strict=True))
    few_mean, few_low, few_high = mean_interval(rows[:2], seed=0)
    assert few_mean.tolist() == [1.5, 4]
    assert np.isnan(few_low).all()
    assert np.isnan(few_high).all()
    assert np.isnan(mean_interval(rows[3:], seed=0)[0]).all()


def test_numbers_of_curves_draw_apart() -> None:
    rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    assert not np.array_equal(mean_interval(rows, 0, 0)[1], mean_interval(rows, 0, 1)[1])
