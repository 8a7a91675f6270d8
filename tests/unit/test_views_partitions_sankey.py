"""The Sankey and the nerve of a sequence: places, ribbons, colors, columns, what is left out."""

import re
from typing import Any

import numpy as np
import pytest

from tests.partition_results import made, random_sequence, three_elements
from views.figure import CATEGORICAL, CONTROL
from views.partitions import nerve, sankey
from views.partitions.coloring import coloring
from views.partitions.flow import columns, height, majority, nodes, ribbons
from views.partitions.look import ACCENT
from views.partitions.nerve import nerve_figure, overlaps, window_cycle
from views.partitions.sankey import sankey_figure
from views.plain import strung

NONE = np.zeros(3, bool)
PLAIN = np.zeros(3, np.int64)


def overlap(spans: list[tuple[float, float]]) -> bool:
    """Say whether intervals overlap."""
    ordered = sorted(spans)
    pairs = zip(ordered, ordered[1:], strict=False)
    return any(second[0] < first[1] - 1e-9 for first, second in pairs)


def test_nodes_are_as_high_as_their_clusters_and_lie_in_the_order_of_the_layout() -> None:
    result = three_elements()
    result.cluster_position[:3] = [2, 0, 1]
    at = nodes(result)
    first = at.top[at.of[0, :3]]
    assert np.argsort(first).tolist() == [1, 2, 0]
    for m, k in enumerate(result.n_clusters):
        here = at.of[m, :k]
        spans = [(at.top[c], at.top[c] + result.cluster_size[c]) for c in here]
        assert not overlap(spans)
        assert min(span[0] for span in spans) >= 0
        assert max(span[1] for span in spans) <= height(result)


def test_a_column_of_one_cluster_stands_in_the_middle() -> None:
    result = three_elements()
    at = nodes(result)
    top = at.top[at.of[4, 0]]
    assert top == pytest.approx((height(result) - 3) / 2)


def test_ribbons_by_hand() -> None:
    """From {a, b}, {c} to {a}, {b, c}: a stays, b leaves, c stays."""
    result = three_elements()
    found = ribbons(result, nodes(result), (1, 2), PLAIN, NONE)
    label = result.cluster_label
    ends = list(zip(label[found.source], label[found.target], found.width, strict=True))
    assert ends == [(0, 0, 1), (0, 1, 1), (1, 1, 1)]
    at = nodes(result).top
    np.testing.assert_allclose(found.left - at[found.source], [0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(found.right - at[found.target], [0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_ribbons_of_a_node_fill_it_without_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    result = made(rng.integers(0, 5, (3, 30)))
    result.cluster_position[:] = rng.permutation(len(result.cluster_position))
    color, marked = rng.integers(0, 3, 30), rng.random(30) < 0.3
    at = nodes(result)
    found = ribbons(result, at, (0, 2), color, marked)
    assert found.width.sum() == 30
    for side, node in ((found.left, found.source), (found.right, found.target)):
        for c in np.unique(node):
            spans = [
                (a, a + w) for a, w in zip(side[node == c], found.width[node == c], strict=True)
            ]
            assert not overlap(spans)
            assert min(a for a, _ in spans) == pytest.approx(at.top[c])
            assert max(b for _, b in spans) == pytest.approx(at.top[c] + result.cluster_size[c])


def test_marked_elements_lie_inside_the_ribbon_of_all() -> None:
    result = made([[0] * 6, [0, 0, 0, 1, 1, 1]])
    marked, color = np.array([0, 0, 1, 0, 1, 1], bool), np.zeros(6, np.int64)
    at = nodes(result)
    all_of, some = (ribbons(result, at, (0, 1), color, marked, only) for only in (False, True))
    np.testing.assert_allclose(some.left, all_of.left)
    np.testing.assert_allclose(some.right, all_of.right)
    assert some.width.tolist() == [1, 2]


def test_a_link_gets_its_most_frequent_color() -> None:
    result = made([[0, 0, 0, 1], [0, 0, 0, 1]])
    assert majority(result, (0, 1), np.array([2, 1, 2, 0])).tolist() == [2, 2, 2, 0]


def test_up_to_eight_clusters_have_a_color_each_and_more_are_grouped() -> None:
    few = made([np.arange(16) % 8])
    color, paints, names = coloring(few, 0)
    assert len(set(color.tolist())) == len(paints) == len(names) == 8
    many = made([np.r_[np.arange(10), np.arange(7)]])
    color, paints, names = coloring(many, 0)
    assert paints == [*CATEGORICAL[:7], CONTROL]
    assert color.tolist() == [*range(7), 7, 7, 7, *range(7)]
    assert names[-1] == "3 smaller clusters, grouped (3)"


@pytest.mark.parametrize(("s", "t"), [(0, 0), (50, 60), (0, 99), (98, 99), (10, 80)])
def test_columns_are_few_and_hold_the_ends_of_the_window(s: int, t: int) -> None:
    found = columns(100, s, t)
    assert len(found) == 40
    assert found == sorted(set(found))
    assert {s, t} <= set(found)
    assert set(found) <= set(range(100))
    inside, room = [m for m in found if s <= m <= t], max(20, 40 - (100 - (t - s + 1)))
    assert len(inside) == min(t - s + 1, room)


def test_few_columns_are_all_drawn() -> None:
    assert columns(7, 2, 3) == list(range(7))


def test_polygons_are_strung_together_without_area_between_them() -> None:
    x = strung(np.array([[0.0, 1, 1, 0], [5, 6, 6, 5]])).astype(float)
    y = strung(np.array([[0.0, 0, 1, 1], [7, 7, 9, 9]])).astype(float)
    x, y = np.r_[x, x[0]], np.r_[y, y[0]]
    assert abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2 == 3
    assert np.isfinite(x).all()


def named(figure: Any, name: str) -> list[Any]:
    """Return the traces whose name contains a word."""
    return [trace for trace in figure.data if name in (trace.name or "")]


def keys(figure: Any) -> list[str]:
    """Return what clicks of a figure mean."""
    return [key for trace in figure.data for key in (trace.customdata or ())]


def test_nodes_and_links_carry_what_a_click_means() -> None:
    figure = sankey_figure(three_elements(), {})
    found = set(keys(figure))
    assert {"#0:0", "#1:1", "#4:0", "#0:0-1:0", "#1:0-2:1"} <= found
    assert all(re.fullmatch(r"#\d+:\d+(-\d+:\d+)?", key) for key in found)


def test_highlighted_elements_run_in_the_accent_through_all_columns() -> None:
    figure = sankey_figure(three_elements(), {"elements": "element 1"})
    (overlay,) = named(figure, "highlighted")
    assert overlay.name == "highlighted: N = 1 elements"
    assert overlay.fillcolor == ACCENT
    assert (np.floor(min(overlay.x)), np.ceil(max(overlay.x))) == (0, 4)
    assert named(sankey_figure(three_elements(), {"elements": "nobody"}), "highlighted") == []


def test_the_window_is_stronger_than_the_rest() -> None:
    figure = sankey_figure(three_elements(), {"cell": "1,2"})
    inside = [trace for trace in figure.data if trace.legendrank == 1]
    outside = [trace for trace in figure.data if trace.legendrank == 2]
    assert {min(trace.x) >= 1 and max(trace.x) <= 2 for trace in inside} == {True}
    assert all("0.6)" in trace.fillcolor for trace in inside)
    assert all("0.18)" in trace.fillcolor for trace in outside)
    assert len({trace.legendgroup for trace in figure.data if trace.showlegend}) == 3


def note(figure: Any) -> str:
    """Return the words over a plot."""
    return str(figure.layout.annotations[0].text)


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    result = random_sequence(elements=40, scales=6, most=5)
    assert "most frequent" not in note(sankey_figure(result, {}))
    monkeypatch.setattr(sankey, "MOST_RIBBONS", 150)
    assert "each link in its most frequent color" in note(sankey_figure(result, {}))
    monkeypatch.setattr(sankey, "MOST_RIBBONS", 30)
    figure = sankey_figure(result, {})
    assert re.search(r"the 30 widest of \d+ links drawn", note(figure))
    assert sum("-" in key for key in keys(figure)) == 30


def test_a_long_sequence_says_how_many_scales_are_drawn() -> None:
    result = random_sequence(elements=8, scales=64, most=3)
    figure = sankey_figure(result, {"cell": "60,63"})
    assert "40 of 64 scales drawn" in note(figure)
    assert len(figure.data) <= 25
    assert {f"#{m}:0" for m in (60, 61, 62, 63)} <= set(keys(figure))


# The nerve


def test_overlaps_by_hand() -> None:
    found, total = overlaps(three_elements(), 1, 2)
    assert (found, total) == ([(1, 0, 2, 0, 1), (1, 0, 2, 1, 1), (1, 1, 2, 1, 1)], 3)


def test_above_the_limit_neighboring_scales_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nerve, "MOST_EDGES", 7)
    found, total = overlaps(three_elements(), 0, 3)
    assert len(found) == 7 < total
    assert all(b - a == 1 for a, _, b, _, _ in found)
    assert f"7 of {total} overlaps" in note(nerve_figure(three_elements(), {"cell": "0,3"}))


def test_the_cycle_is_drawn_through_its_clusters() -> None:
    result = three_elements()
    figure = nerve_figure(result, {"cell": "0,3"})
    (line,) = named(figure, "cycle")
    assert line.name == "a cycle through 3 clusters"
    assert sorted(line.x[:-1]) == [1, 2, 3]
    assert line.x[0] == line.x[-1]
    shown = {each.text for each in figure.layout.annotations[1:]}
    assert shown == {"element 0", "element 1", "element 2"}


def test_a_window_without_cycles_or_too_large_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    result = three_elements()
    assert window_cycle(result, 0, 4) == []
    assert len(window_cycle(result, 1, 3)) == 3
    monkeypatch.setattr(nerve, "MOST_GENERATORS", 5)
    assert window_cycle(result, 1, 3) == []
    assert named(nerve_figure(result, {"cell": "1,3"}), "cycle") == []
