"""The Hilbert functions: 19 stored cases, the facts that must hold, and a second computation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from backends.errors import Cancelled
from backends.math import conflicts, hilbert
from backends.math.hilbert import hilbert_functions, zeroth_function
from backends.math.nerve import betti_curves, simplex_count
from backends.math.partitions import contingency, join, numbered, reduced

CASES = json.loads((Path(__file__).parents[1] / "data" / "mcbif.json").read_text("utf-8"))["cases"]
HAND = [[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]]
THREES = [[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]]

sequences = st.tuples(st.integers(1, 7), st.integers(1, 10), st.integers(1, 6)).flatmap(
    lambda size: arrays(np.int64, size[:2], elements=st.integers(0, size[2]))
)


def random_sequences(count: int, seed: int = 0) -> list[np.ndarray]:
    """Return random label matrices of up to 7 scales, 12 elements and 12 clusters."""
    rng = np.random.default_rng(seed)
    sizes = zip(rng.integers(1, 8, count), rng.integers(1, 13, count), strict=True)
    return [rng.integers(0, rng.integers(1, n + 1), (m, n)) for m, n in sizes]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stored_cases(case: dict[str, Any]) -> None:
    labels = np.array(case["partitions"])
    hf0, hf1 = hilbert_functions(labels)
    assert hf0.tolist() == case["hf0"]
    assert hf1.tolist() == case["hf1"]
    assert zeroth_function(labels).tolist() == case["hf0"]
    n_clusters = numbered(labels).max(axis=1).astype(np.int64) + 1
    assert n_clusters.tolist() == case["n_clusters"]
    c0 = conflicts.zero_conflict(hf0, n_clusters)
    scales = [float(scale) for scale in case["scales"]]
    found = {
        "c0_bar": conflicts.average(c0),
        "c1_bar": conflicts.average(hf1),
        "c0_bar_scale_weighted": conflicts.scale_weighted(c0, scales),
        "c1_bar_scale_weighted": conflicts.scale_weighted(hf1, scales),
    }
    assert found == pytest.approx({name: case[name] for name in found}, abs=1e-9)
    assert int(np.trace(hf1, 1)) == case["crossing_lower_bound"]
    if case.get("c0"):
        stored = np.array(case["c0"], float)
        np.testing.assert_allclose(c0, np.nan_to_num(stored, nan=0.0), atol=1e-9)
    if case.get("legacy_delta1"):
        np.testing.assert_allclose(conflicts.delta1_padded(hf1), case["legacy_delta1"], atol=1e-9)


def test_there_are_nineteen_cases() -> None:
    assert len(CASES) == 19


def test_by_hand() -> None:
    hf0, hf1 = hilbert_functions(np.array(HAND))
    rows = [[3, 2, 1, 1, 1], [0, 2, 1, 1, 1], [0, 0, 2, 1, 1], [0, 0, 0, 2, 1], [0, 0, 0, 0, 1]]
    assert hf0.tolist() == rows
    assert np.argwhere(hf1).tolist() == [[0, 3], [1, 3]]
    assert hf1.max() == 1
    assert hf0.dtype == hf1.dtype == np.int64
    hf0, hf1 = hilbert_functions(np.array(THREES))
    assert (hf1[0, 1], hf0[0, 1]) == (4, 1)


def test_equals_the_persistence_of_the_nerve_on_300_sequences() -> None:
    for labels in random_sequences(300):
        hf0, hf1 = hilbert_functions(labels)
        for s in range(len(labels)):
            curves = betti_curves(numbered(labels[s:]), 1)
            assert hf0[s, s:].tolist() == curves[0].tolist()
            assert hf1[s, s:].tolist() == curves[1].tolist()


def test_compiled_plain_dense_and_sparse_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sequences = [rng.integers(0, k, (12, 40)) for k in (2, 5, 20)]
    monkeypatch.setattr(hilbert, "kernel_for", lambda labels: hilbert._plain)
    plain = [hilbert_functions(labels) for labels in sequences]
    assert max(hf1.max() for _, hf1 in plain) > 100
    monkeypatch.setattr(hilbert, "kernel_for", lambda labels: hilbert._compiled)
    for most_dense in (hilbert.MOST_DENSE, 0):
        monkeypatch.setattr(hilbert, "MOST_DENSE", most_dense)
        for labels, expected in zip(sequences, plain, strict=True):
            np.testing.assert_array_equal(hilbert_functions(labels), expected)


def test_plain_lists_grow_and_are_packed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.random.default_rng(2).integers(0, 3, (10, 30))
    expected = hilbert_functions(labels)
    small = hilbert._Sparse.__init__

    def cramped(self: Any, generators: int, kernel: Any) -> None:
        small(self, generators, kernel)
        self._pool = self._pool[:8]

    monkeypatch.setattr(hilbert._Sparse, "__init__", cramped)
    monkeypatch.setattr(hilbert, "MOST_DENSE", 0)
    np.testing.assert_array_equal(hilbert_functions(labels), expected)


@settings(deadline=None, max_examples=60)
@given(sequences)
def test_facts(labels: np.ndarray) -> None:
    hf0, hf1 = hilbert_functions(labels)
    plain = numbered(labels)
    n_clusters = plain.max(axis=1).astype(np.int64) + 1
    scales = len(labels)
    assert np.diag(hf0).tolist() == n_clusters.tolist()
    assert not np.diag(hf1).any()
    assert not np.tril(hf0, -1).any()
    assert not np.tril(hf1, -1).any()
    assert (hf1 >= 0).all()
    for s in range(scales):
        for t in range(s, scales):
            assert hf0[s, t] == join(plain[s : t + 1]).max() + 1
            coarsest = min(n_clusters[s : t + 1])
            assert hf0[s, t] <= coarsest
            blocks = join(plain[s : t + 1])
            contains = any((numbered(blocks[None])[0] == row).all() for row in plain[s : t + 1])
            assert (hf0[s, t] == coarsest) == contains
    for m in range(scales - 1):
        overlaps = np.count_nonzero(contingency(plain[m], plain[m + 1]))
        assert hf1[m, m + 1] == overlaps - n_clusters[m] - n_clusters[m + 1] + hf0[m, m + 1]
    backward = [np.rot90(g, 2).T for g in hilbert_functions(labels[::-1])]
    np.testing.assert_array_equal(backward, [hf0, hf1])


@settings(deadline=None, max_examples=40)
@given(sequences, st.randoms(use_true_random=False))
def test_invariances(labels: np.ndarray, random: Any) -> None:
    expected = hilbert_functions(labels)
    order = random.sample(range(labels.shape[1]), labels.shape[1])
    np.testing.assert_array_equal(hilbert_functions(labels[:, order]), expected)
    names = np.array(random.sample(range(-50, 50), 20))
    np.testing.assert_array_equal(hilbert_functions(names[labels]), expected)
    twins = np.concatenate([labels, labels[:, :1]], axis=1)
    np.testing.assert_array_equal(hilbert_functions(twins), expected)
    at = random.randrange(len(labels))
    hf0, hf1 = hilbert_functions(np.insert(labels, at, labels[at], axis=0))
    for grid, before in zip((hf0, hf1), expected, strict=True):
        rows = np.delete(np.delete(grid, at + 1, axis=0), at + 1, axis=1)
        np.testing.assert_array_equal(rows, before)
        np.testing.assert_array_equal(grid[at, at + 1 :], grid[at + 1, at + 1 :])


def test_nested_sequences_have_no_conflict() -> None:
    rng = np.random.default_rng(3)
    labels = [np.arange(12)]
    while labels[-1].max():
        a, b = rng.choice(np.unique(labels[-1]), 2, replace=False)
        labels.append(numbered(np.where(labels[-1] == a, b, labels[-1])[None])[0])
    for sequence in (np.array(labels), np.array(labels[::-1])):
        hf0, hf1 = hilbert_functions(sequence)
        c0 = conflicts.zero_conflict(hf0, sequence.max(axis=1).astype(np.int64) + 1)
        assert not c0.any()
        assert not hf1.any()


def test_intervals_of_one_order_have_no_cycles() -> None:
    rng = np.random.default_rng(4)
    labels = np.cumsum(rng.random((20, 30)) < 0.3, axis=1)
    hf0, hf1 = hilbert_functions(labels)
    assert not hf1.any()
    n_clusters = numbered(labels).max(axis=1).astype(np.int64) + 1
    assert conflicts.average(conflicts.zero_conflict(hf0, n_clusters)) > 0.1


def test_one_element_and_one_scale() -> None:
    hf0, hf1 = hilbert_functions(np.zeros((4, 1), int))
    assert hf0.tolist() == np.triu(np.ones((4, 4), int)).tolist()
    assert not hf1.any()
    hf0, hf1 = hilbert_functions(np.array([[0, 1, 0]]))
    assert (hf0.tolist(), hf1.tolist()) == ([[2]], [[0]])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,)])
def test_nothing_is_no_sequence(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is needed"):
        numbered(np.zeros(shape, int))


def test_stop_is_asked_before_each_column() -> None:
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        hilbert_functions(np.array(HAND), check)


def test_reduction_keeps_where_everything_went() -> None:
    labels = numbered(np.array([[5, 5, 7, 9], [5, 5, 7, 9], [1, 1, 1, 0]]))
    assert labels.tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 0, 1]]
    small = reduced(labels)
    assert small.labels.tolist() == [[0, 1, 2], [0, 0, 1]]
    assert small.twin_of.tolist() == [0, 0, 1, 2]
    assert small.row_of.tolist() == [0, 0, 1]


def test_contingency_and_join_by_hand() -> None:
    first, second = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    assert contingency(first, second).tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert join(np.stack([first, second])).tolist() == [0, 0, 0, 1]


def test_degree_two_of_the_nerve() -> None:
    (hollow,) = [c for c in CASES if c["name"] == "hollow_tetrahedron"]
    assert betti_curves(numbered(np.array(hollow["partitions"])), 2)[2].tolist() == [0, 0, 0, 1]
    assert simplex_count(3, 2, 1) == 2 * (3 + 3 + 1)
