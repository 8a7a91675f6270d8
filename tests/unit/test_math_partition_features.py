"""Feature vectors and comparisons of partitions: by hand, and against scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from backends.math.hilbert import hilbert_functions
from backends.math.partition_features import (
    ari_matrix,
    compare,
    hf0_vector,
    hf1_vector,
    mean_vi,
    nce_matrix,
    overlap_matrix,
    upper_vector,
)
from backends.math.partitions import contingency, numbered

GRID = np.array([[1, 2, 3], [0, 4, 5], [0, 0, 6]])
# {01}{23}, {0}{123}, {0123}
HAND = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])


def random_labels(seed: int, scales: int = 6, elements: int = 14) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, rng.integers(1, elements), elements) for _ in range(scales)]
    return numbered(np.stack(rows))


def test_vectors_of_grids() -> None:
    assert hf0_vector(GRID).tolist() == [1, 2, 3, 4, 5, 6]
    assert hf1_vector(GRID).tolist() == upper_vector(GRID).tolist() == [2, 3, 5]
    assert hf1_vector(GRID[:1, :1]).tolist() == []
    hf0, hf1 = hilbert_functions(random_labels(0))
    assert (len(hf0_vector(hf0)), len(hf1_vector(hf1))) == (21, 15)


def test_comparisons_by_hand() -> None:
    found = compare(HAND)
    # H(P_0) = ln 2, and P_2 tells nothing; P_0 tells all of P_2.
    assert found.nce[0, 2] == pytest.approx(0.5)
    assert found.nce[2, 0] == 0
    # H(P_0 | P_1): the cluster {123} holds 1 and 2 elements of P_0.
    inside = 3 / 4 * (np.log(3) - 2 / 3 * np.log(2))
    assert found.nce[0, 1] == pytest.approx(inside / np.log(4))
    # Pairs together: 2, 3, 6; in both P_0 and P_1: 1.
    assert found.ari[0, 1] == pytest.approx((1 - 1) / (2.5 - 1))
    assert found.overlap[0, 1] == pytest.approx(3 / 4)
    assert found.overlap[0, 2] == pytest.approx(2 / 4)
    assert np.diagonal(found.nce).tolist() == [0, 0, 0]
    assert np.diagonal(found.ari).tolist() == np.diagonal(found.overlap).tolist() == [1, 1, 1]
    sides = [found.nce[a, b] for a, b in permutations(range(3), 2)]
    assert mean_vi(found.nce) == pytest.approx(sum(sides) / 3)


@pytest.mark.parametrize("seed", range(8))
def test_comparisons_equal_those_of_other_sources(seed: int) -> None:
    labels = random_labels(seed)
    found = compare(labels)
    for a, row in enumerate(labels):
        share = np.bincount(row) / len(row)
        for b, other in enumerate(labels):
            entropy = -np.sum(share * np.log(share))
            expected = (entropy - mutual_info_score(row, other)) / np.log(len(row))
            assert found.nce[a, b] == pytest.approx(expected, abs=1e-12)
            assert found.ari[a, b] == pytest.approx(adjusted_rand_score(row, other))
    assert np.array_equal(found.nce, nce_matrix(labels))
    assert np.array_equal(found.ari, ari_matrix(labels))
    assert np.array_equal(found.overlap, overlap_matrix(labels))


def test_overlap_is_the_best_of_all_matchings() -> None:
    labels = random_labels(3, 4, 5)
    found = overlap_matrix(labels)
    for a, row in enumerate(labels):
        for b, other in enumerate(labels):
            table = np.zeros((5, 5), int)
            counts = contingency(row, other)
            table[: len(counts), : counts.shape[1]] = counts
            best = max(sum(table[i, j] for i, j in enumerate(p)) for p in permutations(range(5)))
            assert found[a, b] == best / 5


def test_comparisons_do_not_depend_on_names_or_order_of_elements() -> None:
    labels = random_labels(1)
    order = np.random.default_rng(0).permutation(labels.shape[1])
    moved = numbered(labels[:, order])
    for mine, others in zip(
        vars(compare(labels)).values(), vars(compare(moved)).values(), strict=True
    ):
        assert mine == pytest.approx(others)


def test_singletons_against_one_block() -> None:
    found = compare(np.array([[0, 1, 2, 3], [0, 0, 0, 0]]))
    assert found.nce.tolist() == [[0, 1], [0, 0]]
    assert found.ari.tolist() == [[1, 0], [0, 1]]
    assert found.overlap.tolist() == [[1, 0.25], [0.25, 1]]
    assert mean_vi(found.nce) == 1


def test_one_element_and_one_scale() -> None:
    one = compare(np.zeros((2, 1), np.int64))
    assert (one.nce.tolist(), one.ari.tolist()) == ([[0, 0], [0, 0]], [[1, 1], [1, 1]])
    assert mean_vi(nce_matrix(np.array([[0, 1, 1]]))) == 0
