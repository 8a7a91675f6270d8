"""Barcodes of rows and columns: by hand, and against the Hilbert functions of random sequences."""

import numpy as np
import pytest

from backends.math.barcodes import column_barcode, row_barcode
from backends.math.hilbert import hilbert_functions
from backends.math.relations import RelationBasis, generators

THREE = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]])


def test_rows_of_three_elements_by_hand() -> None:
    zeroth, first = row_barcode(THREE, 0)
    assert zeroth.tolist() == [[0, 1], [0, 2], [0, 5]]
    assert first.tolist() == [[3, 4]]
    zeroth, first = row_barcode(THREE, 2)
    assert zeroth.tolist() == [[2, 3], [2, 5]]
    assert first.tolist() == []


def test_columns_of_three_elements_by_hand() -> None:
    """From scale 3 downwards: {a, c} first, then {b, c} joins it, then {a, b} closes the cycle."""
    zeroth, first = column_barcode(THREE, 3)
    assert zeroth.tolist() == [[3, 2], [3, -1]]
    assert first.tolist() == [[1, -1]]


def test_a_board_has_four_cycles_that_never_end() -> None:
    board = np.array([np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)])
    zeroth, first = row_barcode(board, 0)
    assert first.tolist() == [[1, 2]] * 4
    assert zeroth.tolist() == [[0, 1]] * 2 + [[0, 2]]


@pytest.mark.parametrize("labels", [[[0]], [[0, 0, 0]], [[0, 0]] * 3])
def test_one_block_has_one_bar_and_no_cycle(labels: list[list[int]]) -> None:
    zeroth, first = row_barcode(np.array(labels), 0)
    assert zeroth.tolist() == [[0, len(labels)]]
    assert first.shape == (0, 2)


def test_repeats_of_a_partition_move_no_bar_into_them() -> None:
    zeroth, first = row_barcode(np.repeat(THREE, 2, axis=0), 1)
    assert zeroth.tolist() == [[1, 2], [1, 4], [1, 10]]
    assert first.tolist() == [[6, 8]]


def random_labels(seed: int) -> np.ndarray:
    """Return a random sequence, of which some repeat a partition."""
    rng = np.random.default_rng(seed)
    scales, elements, most = rng.integers(1, 8), rng.integers(1, 12), rng.integers(1, 6)
    labels = rng.integers(0, most, (scales, elements))
    labels[-1] = labels[0]
    return labels


@pytest.mark.parametrize("seed", range(60))
def test_the_bars_alive_are_the_hilbert_functions(seed: int) -> None:
    labels = random_labels(seed)
    grids = hilbert_functions(labels)
    for place in range(len(labels)):
        for grid, bars in zip(grids, row_barcode(labels, place), strict=True):
            alive = [
                int(np.sum((bars[:, 0] <= t) & (t < bars[:, 1]))) for t in range(place, len(labels))
            ]
            assert alive == grid[place, place:].tolist()
        for grid, bars in zip(grids, column_barcode(labels, place), strict=True):
            alive = [int(np.sum((bars[:, 0] >= s) & (s > bars[:, 1]))) for s in range(place + 1)]
            assert alive == grid[: place + 1, place].tolist()


def test_the_basis_has_one_vector_for_each_highest_generator() -> None:
    basis = RelationBasis(np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0]]))
    new = [basis.advance(t) for t in range(3)]
    assert [len(each) for each in new] == [0, 1, 2]
    assert all(max(generators(v)) == p for p, v in basis.vectors.items())
    assert sorted(p for each in new for p in each) == sorted(basis.vectors)


def test_generators_are_the_bits_of_a_vector() -> None:
    assert generators(0) == []
    assert generators((1 << 70) | 0b101) == [0, 2, 70]
