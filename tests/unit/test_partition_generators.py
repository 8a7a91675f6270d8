"""Random sequences of partitions: shapes, uniformity, and what the tasks promise."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from backends.math.hilbert import hilbert_functions
from backends.math.partition_features import ari_matrix
from backends.math.partitions import numbered
from backends.partitions.generators import (
    block_model,
    noisy_coarsening,
    order_preserving,
    swapped,
    uniform_sequence,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sizes(labels: np.ndarray) -> np.ndarray:
    return labels.max(axis=1) + 1


def test_uniform_sequences_go_from_singletons_to_one_block() -> None:
    labels = uniform_sequence(6, 20, rng())
    assert labels.shape == (20, 6)
    assert labels[0].tolist() == list(range(6))
    assert not labels[-1].any()
    assert np.all(np.diff(sizes(labels)) <= 0)
    assert set(sizes(labels)[1:-1]) <= {2, 3, 4, 5}
    assert np.array_equal(labels, numbered(labels))


def test_middle_partitions_are_uniform() -> None:
    """Four elements have 7 partitions of two blocks and 6 of three."""
    labels = uniform_sequence(4, 26_002, rng())[1:-1]
    found = Counter(map(tuple, labels.tolist()))
    assert len(found) == 13
    counts = np.array(list(found.values()))
    assert np.sum((counts - 2_000) ** 2) / 2_000 < 33  # chi² of 12, p = 0.001


def test_one_kind_of_partition_and_none() -> None:
    assert set(sizes(uniform_sequence(3, 6, rng()))[1:-1]) == {2}
    assert uniform_sequence(5, 2, rng()).tolist() == [[0, 1, 2, 3, 4], [0] * 5]
    many = uniform_sequence(300, 5, rng())
    assert sizes(many)[0] == 300
    with pytest.raises(ValueError, match="2 elements"):
        uniform_sequence(2, 5, rng())


def test_order_preserving_partitions_are_intervals() -> None:
    labels = order_preserving(100, 5, rng())
    assert labels.shape == (22, 100)
    assert order_preserving(500, 18, rng()).shape == (30, 500)
    assert np.all(np.diff(labels, axis=1) >= 0)  # clusters are contiguous
    index = np.arange(1, 100, 5)
    more = sizes(labels)[1:-1] - (100 - index)
    assert set(more) == {0, 1}
    assert labels[0].tolist() == list(range(100))
    assert not labels[-1].any()
    assert not hilbert_functions(labels)[1].any()


def test_swapped_sequences_differ_from_intervals() -> None:
    before, after = order_preserving(30, 4, rng(5)), swapped(30, 4, rng(5), 0.0)
    changed = np.any(before != after, axis=1)
    assert changed.sum() <= 1  # one swap, which may do nothing
    assert np.array_equal(sizes(before), sizes(after))
    everywhere = swapped(30, 4, rng(5), 1.0)
    # Swaps of two elements in one cluster, or of two singletons, change nothing.
    assert np.any(before != everywhere, axis=1).sum() >= 3
    assert hilbert_functions(everywhere)[1].any()


def test_swaps_happen_at_least_once_and_about_as_often_as_told() -> None:
    moved = [
        np.any(order_preserving(60, 5, rng(i)) != swapped(60, 5, rng(i)), axis=1).sum()
        for i in range(200)
    ]
    assert 0.8 < np.mean(moved) < 1.35  # 12 partitions, some swaps inside a cluster
    assert np.mean(np.array(moved) == 0) < 0.3


def test_noisy_coarsening_is_nested_without_noise() -> None:
    clean = noisy_coarsening(40, 10, rng(), 0.0)
    assert np.all(np.diff(sizes(clean)) <= 0)
    assert (sizes(clean)[0], sizes(clean)[-1]) == (40, 1)
    for fine, coarse in zip(clean, clean[1:], strict=False):
        assert len(set(zip(fine, coarse, strict=True))) == fine.max() + 1
    noisy = noisy_coarsening(40, 10, rng(), 0.1)
    assert hilbert_functions(noisy)[1].any()
    assert noisy_coarsening(5, 1, rng(), 0.0).shape == (1, 5)


def test_block_model_finds_both_levels() -> None:
    labels, resolutions = block_model(120, rng(), 8)
    assert labels.shape == (8, 120)
    assert np.all(np.diff(resolutions) < 0)
    assert sizes(labels)[0] > sizes(labels)[-1]
    element = np.arange(120)
    levels = np.stack([element * 12 // 120, element * 3 // 120])
    for level in levels:
        agreement = [ari_matrix(np.stack([level, row]))[0, 1] for row in labels]
        assert max(agreement) > 0.8
    with pytest.raises(ValueError, match="10 elements"):
        block_model(10, rng(), 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: uniform_sequence(7, 9, r),
        lambda r: swapped(20, 3, r),
        lambda r: noisy_coarsening(20, 5, r),
        lambda r: block_model(36, r, 3)[0],
    ],
)
def test_equal_seeds_give_equal_sequences(
    make: Callable[[np.random.Generator], np.ndarray],
) -> None:
    assert np.array_equal(make(rng(4)), make(rng(4)))
    assert not np.array_equal(make(rng(4)), make(rng(5)))
