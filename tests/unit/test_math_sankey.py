"""Sankey layouts: crossings counted by hand and by loops, least layouts, the lower bound."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from backends.errors import Cancelled
from backends.math import sankey, sankey_exact
from backends.math.hilbert import hilbert_functions
from backends.math.partitions import contingency, join, numbered
from backends.math.sankey import crossing_bound, crossings, optimize
from backends.math.sankey_links import find_links

BOARD = np.array([[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]])
TRIANGLE = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]])

sequences = st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 8)).flatmap(
    lambda size: arrays(np.int64, size[:2], elements=st.integers(0, size[2]))
)


def counted(labels: np.ndarray, positions: list[np.ndarray], weighted: bool = False) -> int:
    """Look at every pair of links of every gap."""
    total = 0
    for m in range(len(labels) - 1):
        widths = Counter(zip(labels[m].tolist(), labels[m + 1].tolist(), strict=True))
        for (a, b), (c, d) in combinations(widths, 2):
            left = positions[m][a] - positions[m][c]
            right = positions[m + 1][b] - positions[m + 1][d]
            if left * right < 0:
                total += widths[a, b] * widths[c, d] if weighted else 1
    return total


def least(labels: np.ndarray) -> int:
    """Try all layouts."""
    columns = [[np.array(p) for p in permutations(range(k + 1))] for k in labels.max(axis=1)]
    return min(counted(labels, list(layout)) for layout in product(*columns))


@pytest.fixture
def no_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sankey_exact, "MOST_PAIRS", 0)


def test_crossings_by_hand() -> None:
    two = np.array([[0, 1, 1], [0, 0, 1]])
    straight = [np.array([0, 1])] * 2
    turned = [np.array([0, 1]), np.array([1, 0])]
    assert crossings(two, straight) == 0
    # Turned, 0-0 crosses 1-1; 1-0 shares an end with both.
    assert crossings(two, turned) == crossings(two, turned, weighted=True) == 1
    wide = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    assert crossings(wide, turned) == 1
    assert crossings(wide, turned, weighted=True) == 6


def test_the_complete_bipartite_gap() -> None:
    """K(3, 3) has (3 choose 2)² crossings in every order."""
    rows = [np.array(p) for p in permutations(range(3))]
    assert {crossings(BOARD, list(pair)) for pair in product(rows, rows)} == {9}
    assert optimize(BOARD, 0).crossings == 9
    assert crossing_bound(BOARD) == 4


@given(sequences, st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_crossings_equal_those_of_all_pairs(labels: np.ndarray, seed: int) -> None:
    labels = numbered(labels)
    rng = np.random.default_rng(seed)
    positions = [rng.permutation(k + 1) for k in labels.max(axis=1)]
    assert crossings(labels, positions) == counted(labels, positions)
    assert crossings(labels, positions, True) == counted(labels, positions, True)


@given(sequences, st.integers(0, 99), st.booleans())
@settings(deadline=None, max_examples=40)
def test_a_layout_orders_every_column_and_keeps_to_the_bound(
    labels: np.ndarray, seed: int, is_heuristic: bool
) -> None:
    labels = numbered(labels)
    with pytest.MonkeyPatch.context() as patch:
        if is_heuristic:
            patch.setattr(sankey_exact, "MOST_PAIRS", 0)
        found = optimize(labels, seed)
        again = optimize(labels, seed)
    sizes = labels.max(axis=1) + 1
    assert [sorted(p) for p in found.position] == [list(range(k)) for k in sizes]
    assert found.crossings == counted(labels, found.position)
    assert found.crossings_weighted == counted(labels, found.position, True)
    assert found.crossings >= crossing_bound(labels)
    assert [p.tolist() for p in again.position] == [p.tolist() for p in found.position]


@given(sequences)
@settings(deadline=None, max_examples=40)
def test_the_bound_is_the_sum_of_the_first_hilbert_function(labels: np.ndarray) -> None:
    labels = numbered(labels)
    by_gap = 0
    for pair in zip(labels, labels[1:], strict=False):
        blocks = int(join(np.stack(pair)).max()) + 1
        clusters = sum(int(row.max()) + 1 for row in pair)
        by_gap += np.count_nonzero(contingency(*pair)) - clusters + blocks
    assert crossing_bound(labels) == by_gap == np.trace(hilbert_functions(labels)[1], 1)


def small_sequences(count: int, scales: int, elements: int) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [numbered(rng.integers(0, 4, (scales, elements))) for _ in range(count)]


def test_small_sequences_get_the_least_crossings() -> None:
    for labels in small_sequences(12, 3, 5):
        assert optimize(labels, 0).crossings == least(labels)


@pytest.mark.usefixtures("no_exact")
def test_the_search_comes_near_the_least_crossings() -> None:
    every = small_sequences(30, 6, 7)
    found = [optimize(labels, 0).crossings for labels in every]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sankey_exact, "MOST_PAIRS", 10**7)
        best = [optimize(labels, 0).crossings for labels in every]
    excess = np.array(found) - best
    assert excess.min() >= 0
    assert np.mean(excess == 0) >= 0.8
    assert sum(found) <= 1.05 * sum(best)


@pytest.mark.usefixtures("no_exact")
def test_plain_and_compiled_sweeps_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = numbered(np.random.default_rng(3).integers(0, 9, (6, 20)))
    assert len(find_links(labels).gap) < sankey.FEW
    sankey.compile_sweep()
    compiled = optimize(labels, 1, restarts=4)
    monkeypatch.setattr(sankey, "_compiled", lambda: sankey.sankey_sweep.sweep)
    monkeypatch.setattr(sankey, "_kernel", lambda links: sankey.sankey_sweep.sweep)
    plain = optimize(labels, 1, restarts=4)
    assert [p.tolist() for p in plain.position] == [p.tolist() for p in compiled.position]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_nested_sequences_have_no_crossings(is_reversed: bool) -> None:
    rng = np.random.default_rng(0)
    rows = [np.arange(40)]
    for clusters in (25, 14, 8, 3, 1):
        rows.append(rng.integers(0, clusters, rows[-1].max() + 1)[rows[-1]])
        rows[-1] = numbered(rows[-1][None])[0].astype(np.int64)
    labels = numbered(np.array(rows)[:: -1 if is_reversed else 1])
    assert optimize(labels, 0).crossings == 0


def test_intervals_of_a_common_order_can_be_laid_out_without_crossings() -> None:
    rng = np.random.default_rng(1)
    hidden = rng.permutation(40)
    cuts = [np.sort(rng.choice(np.arange(1, 40), k, replace=False)) for k in (30, 22, 15, 9, 4)]
    rows = np.array([np.searchsorted(c, np.arange(40), side="right") for c in cuts])
    assert optimize(numbered(rows), 0).crossings == 0
    assert optimize(numbered(rows[:, hidden]), 0).crossings == 0


def test_hand_example_and_edge_cases() -> None:
    assert optimize(TRIANGLE, 0).crossings == least(TRIANGLE) == 0
    assert crossing_bound(TRIANGLE) == 0
    one_scale = optimize(np.array([[0, 1, 2, 0]]), 0)
    assert (one_scale.crossings, one_scale.position[0].tolist()) == (0, [0, 1, 2])
    one_element = optimize(np.zeros((3, 1), np.int64), 0)
    assert [p.tolist() for p in one_element.position] == [[0], [0], [0]]
    equal = np.tile(np.arange(50), (4, 1))
    assert [p.tolist() for p in optimize(equal, 0).position] == [list(range(50))] * 4


def test_a_large_sequence_has_fewer_starts_and_can_be_stopped() -> None:
    labels = numbered(np.random.default_rng(0).integers(0, 60, (30, 400)))
    links = find_links(labels)
    assert sankey._starts(links, 8) < 8
    assert sankey._starts(links, 2) == 2
    calls = iter(range(120))

    def stop() -> None:
        if next(calls, None) is None:
            raise Cancelled

    with pytest.raises(Cancelled):
        optimize(labels, 0, check=stop)


def test_more_starts_are_never_worse() -> None:
    labels = numbered(np.random.default_rng(5).integers(0, 12, (10, 40)))
    found = [optimize(labels, 0, restarts).crossings for restarts in (1, 3, 8)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]
