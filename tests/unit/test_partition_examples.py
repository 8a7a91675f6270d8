"""The built-in sequences: their sizes, their seeds, and what their notes promise."""

from typing import get_args

import numpy as np
import pytest

from backends.math.hilbert import hilbert_functions
from backends.math.partitions import numbered
from backends.partitions.examples import EXAMPLES, Example, example

# Scales and elements.
SIZES = {
    "three_elements": (5, 3),
    "order_preserving": (22, 100),
    "swapped": (22, 100),
    "crossing": (20, 10),
    "block_model": (16, 72),
    "noisy_coarsening": (16, 60),
}


def test_every_example_has_a_name() -> None:
    assert get_args(Example) == EXAMPLES
    assert set(EXAMPLES) == set(SIZES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_whole_and_always_the_same(name: Example) -> None:
    found = example(name)
    scales, elements = found.labels.shape
    assert (scales, elements) == SIZES[name]
    assert np.array_equal(found.labels, numbered(found.labels))
    assert found.scales == [float(m + 1) for m in range(scales)]
    assert len(set(found.scale_names)) == scales
    assert len(set(found.elements)) == elements
    assert [len(names) for names in found.cluster_names] == (found.labels.max(axis=1) + 1).tolist()
    assert len(found.notes) == 1
    assert found.notes[0].endswith(".")
    assert example(name).labels.tobytes() == found.labels.tobytes()


def test_three_elements_is_the_oracle() -> None:
    hf0, hf1 = hilbert_functions(example("three_elements").labels)
    assert hf0.tolist() == [
        [3, 2, 1, 1, 1],
        [0, 2, 1, 1, 1],
        [0, 0, 2, 1, 1],
        [0, 0, 0, 2, 1],
        [0, 0, 0, 0, 1],
    ]
    assert np.argwhere(hf1).tolist() == [[0, 3], [1, 3]]


def test_only_an_order_that_is_kept_has_no_cycles() -> None:
    cycles = {name: hilbert_functions(example(name).labels)[1].max() for name in EXAMPLES}
    assert cycles.pop("order_preserving") == 0
    assert all(count > 0 for count in cycles.values()), cycles


@pytest.mark.parametrize("name", ["order_preserving", "swapped", "crossing"])
def test_these_go_from_singletons_to_one_block(name: Example) -> None:
    counts = example(name).labels.max(axis=1) + 1
    assert (counts[0], counts[-1]) == (SIZES[name][1], 1)


def test_noise_spoils_the_singletons_but_not_the_one_block() -> None:
    counts = example("noisy_coarsening").labels.max(axis=1) + 1
    assert 50 <= counts[0] < 60
    assert counts[-1] == 1


def test_the_block_model_coarsens_and_names_scales_by_falling_resolution() -> None:
    found = example("block_model")
    counts = found.labels.max(axis=1) + 1
    assert counts[0] > 12 >= 3 >= counts[-1]
    resolutions = [float(name) for name in found.scale_names]
    assert resolutions == sorted(resolutions, reverse=True)
