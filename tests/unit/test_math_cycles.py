"""One cycle of a window: a closed chain, that does not bound, and is short."""

import numpy as np
import pytest

from backends.math import cycles
from backends.math.cycles import Step, representative_cycle
from backends.math.hilbert import hilbert_functions
from backends.math.partitions import numbered

THREE = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0]])


def is_closed(labels: np.ndarray, steps: list[Step]) -> bool:
    """Say whether each cluster holds its own element and the next one."""
    after = [*steps[1:], steps[0]]
    return all(
        labels[m, x] == c == labels[m, y] and x != y
        for (m, c, x), (_, _, y) in zip(steps, after, strict=True)
    )


def bounds(labels: np.ndarray, steps: list[Step]) -> bool:
    """Say whether a closed chain is a sum of triangles inside clusters, by ranks over Z/2."""
    scales, count = labels.shape
    together = np.any(labels[:, :, None] == labels[:, None, :], axis=0)
    edge = {
        (a, b): i
        for i, (a, b) in enumerate(
            (a, b) for a in range(count) for b in range(a + 1, count) if together[a, b]
        )
    }
    rows = {
        (1 << edge[a, b]) ^ (1 << edge[b, c]) ^ (1 << edge[a, c])
        for m in range(scales)
        for a in range(count)
        for b in range(a + 1, count)
        for c in range(b + 1, count)
        if labels[m, a] == labels[m, b] == labels[m, c]
    }
    chain = 0
    for (_, _, x), (_, _, y) in zip(steps, [*steps[1:], steps[0]], strict=True):
        chain ^= 1 << edge[min(x, y), max(x, y)]
    return rank([*rows, chain]) == rank(list(rows))


def rank(rows: list[int]) -> int:
    """Return the rank of bit vectors over Z/2."""
    basis: dict[int, int] = {}
    for row in rows:
        while row and row.bit_length() in basis:
            row ^= basis[row.bit_length()]
        if row:
            basis[row.bit_length()] = row
    return len(basis)


def test_three_elements_joined_in_pairs_are_one_cycle_through_three_clusters() -> None:
    steps = representative_cycle(THREE)
    assert steps is not None
    assert sorted((m, c) for m, c, _ in steps) == [(1, 0), (2, 1), (3, 0)]
    assert is_closed(THREE, steps)


def test_a_coarser_partition_fills_the_cycle() -> None:
    assert representative_cycle(np.vstack([THREE, [0, 0, 0]])) is None


def test_rows_and_columns_of_a_board_need_four_clusters() -> None:
    board = np.array([np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)])
    steps = representative_cycle(board)
    assert steps is not None
    assert len(steps) == 4
    assert is_closed(board, steps)


@pytest.mark.parametrize("labels", [[[0]], [[0, 1, 2]], [[0, 0, 1], [0, 0, 1]]])
def test_without_cycles_there_is_none(labels: list[list[int]]) -> None:
    assert representative_cycle(np.array(labels)) is None


@pytest.mark.parametrize("seed", range(60))
def test_of_random_windows_it_is_closed_and_does_not_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 6), rng.integers(2, 10)
    labels = rng.integers(0, rng.integers(2, 5), shape) * 3
    steps, hf1 = representative_cycle(labels), hilbert_functions(labels)[1][0, -1]
    assert (steps is None) == (hf1 == 0)
    if steps is not None:
        assert is_closed(labels, steps)
        assert len(steps) >= 3
        assert not bounds(labels, steps)


def test_a_search_that_is_cut_off_still_finds_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = numbered(np.random.default_rng(3).integers(0, 6, (6, 40)))
    shortest = representative_cycle(labels)
    monkeypatch.setattr(cycles, "MOST_STEPS", 0)
    some = representative_cycle(labels)
    assert shortest is not None
    assert some is not None
    assert len(some) >= len(shortest)
    assert is_closed(labels, some)
