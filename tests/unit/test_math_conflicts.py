"""Conflict measures, by hand."""

import numpy as np
import pytest

from backends.math.conflicts import (
    average,
    delta1,
    delta1_padded,
    fewest_clusters,
    scale_weighted,
    zero_conflict,
)


def test_zero_conflict() -> None:
    hf0 = np.array([[3, 2, 1], [0, 2, 1], [0, 0, 2]])
    n_clusters = np.array([3, 2, 2])
    assert fewest_clusters(n_clusters).tolist() == [[3, 2, 2], [0, 2, 2], [0, 0, 2]]
    assert zero_conflict(hf0, n_clusters).tolist() == [[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0]]


def test_averages() -> None:
    grid = np.array([[9, 1, 2], [0, 9, 6], [0, 0, 9]])
    assert average(grid) == 3
    assert scale_weighted(grid, [0.0, 1.0, 2.0]) == 3
    # Widths 1, 3, 3: pairs weigh 3, 3 and 9.
    assert scale_weighted(grid, [0.0, 1.0, 4.0]) == pytest.approx((3 + 6 + 54) / 15)
    assert average(np.array([[4]])) == 0
    assert scale_weighted(np.array([[4]]), [1.0]) == 0


def test_very_uneven_scales_keep_a_finite_average() -> None:
    grid = np.array([[0, 1, 2], [0, 0, 3], [0, 0, 0]])
    assert np.isfinite(scale_weighted(grid, [1e-300, 1.0, 1e300]))


def test_delta1_stays_inside_the_triangle() -> None:
    hf1 = np.array([[0, 0, 2, 4], [0, 0, 1, 1], [0, 0, 0, 5], [0, 0, 0, 0]])
    inside = [[0, 1, 2, 2], [0, 1, 0.5, 0], [0, 0, 5, 5], [0, 0, 0, 0]]
    assert delta1(hf1).tolist() == inside
    assert delta1_padded(hf1)[2].tolist() == [0, 0, 2.5, 5]
    assert delta1(np.array([[0]])).tolist() == delta1_padded(np.array([[0]])).tolist() == [[0]]
