"""Recovery by hand: oracles M17, M18 and M20, pairs without a gap, the interval over pairs."""

import numpy as np
import pytest

from backends.math.recovery import (
    mean_of_ratios,
    ratio_of_sums,
    ratios,
    recovery_interval,
    usable,
)


def curves(*triples: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return patched [pair, one layer], corrupted and clean of (patched, corrupted, clean)."""
    patched, corrupted, clean = np.array(triples, np.float32).T
    return patched[:, None], corrupted, clean


@pytest.mark.parametrize(
    ("patched", "expected"), [(3, 1), (-1, 0), (1, 0.5), (5, 1.5), (-2, -0.25)]
)
def test_recovery_of_one_pair(patched: float, expected: float) -> None:
    assert ratios(*curves((patched, -1, 3))).tolist() == [[expected]]
    assert ratio_of_sums(*curves((patched, -1, 3))).tolist() == [expected]
    assert mean_of_ratios(*curves((patched, -1, 3))).tolist() == [expected]


def test_noising_is_the_same_formula_the_other_way() -> None:
    patched, corrupted, clean = curves((0, -1, 3))
    assert ratios(patched, clean, corrupted).tolist() == [[0.75]]


def test_a_pair_without_a_gap_is_left_out() -> None:
    same = (1, 2, 2)
    assert np.isnan(ratios(*curves(same))).all()
    assert np.isnan(ratio_of_sums(*curves(same))).all()
    assert np.isnan(mean_of_ratios(*curves(same))).all()
    assert mean_of_ratios(*curves(same, (3, -1, 3))).tolist() == [1]
    right, enough = usable(*curves(same)[:0:-1])
    assert (right.tolist(), enough.tolist()) == ([True], [False])


def test_two_pairs() -> None:
    two = curves((3, -1, 3), (0.3, 0.1, 0.2))
    assert mean_of_ratios(*two)[0] == pytest.approx(1.5, abs=1e-6)
    assert ratio_of_sums(*two)[0] == pytest.approx(1.024390, abs=1e-6)


def test_no_pair_at_all() -> None:
    nothing = np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.float32)
    assert np.isnan(ratio_of_sums(*nothing)).tolist() == [True] * 4
    assert np.isnan(mean_of_ratios(*nothing)).tolist() == [True] * 4


def test_which_pairs_count() -> None:
    clean = np.array([3, 0, -1, 0.4, 1], np.float32)
    corrupted = np.array([-1, -1, -3, 0, 2], np.float32)
    right, enough = usable(clean, corrupted)
    assert right.tolist() == [True, False, False, True, True]
    assert enough.tolist() == [True, True, True, False, False]


def test_the_interval_needs_three_pairs_and_is_seeded() -> None:
    rng = np.random.default_rng(0)
    patched = rng.normal(1, 0.3, (8, 5)).astype(np.float32)
    base, source = np.zeros(8, np.float32), np.ones(8, np.float32)
    low, high = recovery_interval(patched, base, source, 200, np.random.default_rng(1))
    assert (low < patched.mean(axis=0)).all()
    assert (high > patched.mean(axis=0)).all()
    again = recovery_interval(patched, base, source, 200, np.random.default_rng(1))
    assert np.array_equal(low, again[0])
    few = recovery_interval(patched[:2], base[:2], source[:2], 200, np.random.default_rng(1))
    assert np.isnan(few).all()


def test_equal_pairs_have_an_interval_of_no_width() -> None:
    patched = np.full((4, 2), 0.5, np.float32)
    base, source = np.zeros(4, np.float32), np.ones(4, np.float32)
    assert np.array_equal(
        recovery_interval(patched, base, source, 50, np.random.default_rng(0)), np.full((2, 2), 0.5)
    )
