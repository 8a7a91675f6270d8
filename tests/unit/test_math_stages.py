"""Stage measures on lines, circles and arcs."""

import numpy as np
import pytest

from backends.math.silhouette import distances
from backends.math.stages import stage_measures

REFUSED = (ValueError, TypeError)


def circle(degrees, stages):
    angle = np.deg2rad(np.linspace(0, degrees, stages))
    return distances(np.stack([np.cos(angle), np.sin(angle)], axis=1), "euclidean")


def test_a_line():
    line = distances(np.arange(5.0)[:, None] * [0.1, 0.7], "euclidean")
    measures = stage_measures(line)
    assert (measures.csfs, measures.csls) == (1, 3)  # M9
    assert measures.loop_ratio == pytest.approx(1)
    assert measures.closure == pytest.approx(1)
    assert measures.spearman == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e5])
def test_a_circle(scale):
    measures = stage_measures(scale * circle(300, 6))
    assert (measures.csfs, measures.csls) == (1, 0)  # M10; both are ties
    assert measures.loop_ratio == pytest.approx(0.5)
    assert measures.closure == pytest.approx(0.2)
    # Ranks of d(0, j): 1, 2.5, 4.5, 6, 4.5, 2.5, correlated with 1..6.
    assert measures.spearman == pytest.approx(
        np.corrcoef([1, 2.5, 4.5, 6, 4.5, 2.5], range(6))[0, 1]
    )


@pytest.mark.parametrize(("degrees", "closure"), [(90, 0.900326), (180, 0.636646), (270, 0.300133)])
def test_an_arc(degrees, closure):
    assert stage_measures(circle(degrees, 101)).closure == pytest.approx(closure, abs=5e-7)  # M7


def test_a_late_stage_that_comes_back():
    d = distances(np.array([[0.0], [2.0], [4.0], [5.0], [0.5]]), "euclidean")
    measures = stage_measures(d)
    assert (measures.csfs, measures.csls) == (4, 0)
    assert measures.loop_ratio == pytest.approx(0.1)
    assert measures.closure == pytest.approx(0.5 / (2 + 2 + 1 + 4.5))
    assert measures.spearman == pytest.approx(0.4)


def test_coinciding_stages_have_no_ratios():
    measures = stage_measures(np.zeros((4, 4)))
    assert (measures.csfs, measures.csls) == (1, 0)
    assert np.isnan([measures.loop_ratio, measures.closure, measures.spearman]).all()


def test_too_few_stages_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        stage_measures(np.zeros((2, 2)))
    with pytest.raises(REFUSED):
        stage_measures(np.zeros((4, 3)))
