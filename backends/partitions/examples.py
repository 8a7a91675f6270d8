"""Built-in sequences of partitions: small ones to read a figure by, and the paper's kinds.

Every random one has one fixed seed, under which each kind shows what it is there to show: of eight
seeds, some draw swaps or graphs without a single cycle. Source of the kinds: MCbiF, arXiv
2510.14710.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from backends.math.partitions import numbered
from backends.partitions.generators import (
    block_model,
    noisy_coarsening,
    order_preserving,
    swapped,
    uniform_sequence,
)
from backends.partitions.sequence import PartitionSequence

Example = Literal[
    "three_elements", "order_preserving", "swapped", "crossing", "block_model", "noisy_coarsening"
]
EXAMPLES: tuple[Example, ...] = get_args(Example)

SEED = 4
THREE_ELEMENTS = [[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]]

NOTES: dict[Example, str] = {
    "three_elements": (
        "Three elements of which each pair is joined once, a and b, then b and c, then a and c: "
        "from scales 1 or 2 to 4 they make one cycle."
    ),
    "order_preserving": (
        "100 elements in a fixed order, cut at random places into ever fewer pieces: refinement "
        "fails everywhere and no cycle can appear."
    ),
    "swapped": (
        "As order_preserving, but at some scales two random elements have changed places: cycles "
        "appear."
    ),
    "crossing": (
        "Partitions of 10 elements drawn uniformly among all, sorted by their number of blocks: "
        "a sequence of the paper's regression of crossing numbers."
    ),
    "block_model": (
        "Louvain communities of a random graph of 72 nodes in 12 small groups in 3 large ones; a "
        "scale is named by its resolution, which falls."
    ),
    "noisy_coarsening": (
        "60 elements that merge step by step; with probability 0.1 an element is put into a random "
        "cluster of its scale."
    ),
}


def example(name: Example) -> PartitionSequence:
    """Return a built-in sequence; equal names give equal bytes."""
    labels, names = _MADE[name](np.random.default_rng(SEED))
    scales, elements = labels.shape
    return PartitionSequence(
        labels=labels,
        scales=[float(m + 1) for m in range(scales)],
        scale_names=names or [str(m + 1) for m in range(scales)],
        elements=list("abc") if name == "three_elements" else [str(x + 1) for x in range(elements)],
        cluster_names=[[str(c + 1) for c in range(row.max() + 1)] for row in labels],
        notes=[NOTES[name]],
    )


Labels = Int[np.ndarray, "scale element"]
Made = tuple[Labels, list[str]]


def _three_elements(rng: np.random.Generator) -> Made:
    return numbered(np.array(THREE_ELEMENTS)), []


def _order_preserving(rng: np.random.Generator) -> Made:
    return order_preserving(100, 5, rng), []


def _swapped(rng: np.random.Generator) -> Made:
    return swapped(100, 5, rng), []


def _crossing(rng: np.random.Generator) -> Made:
    return uniform_sequence(10, 20, rng), []


def _noisy_coarsening(rng: np.random.Generator) -> Made:
    return noisy_coarsening(60, 16, rng), []


def _block_model(rng: np.random.Generator) -> Made:
    labels, resolutions = block_model(72, rng, 16)
    return labels, [f"{resolution:.3g}" for resolution in resolutions]


_MADE: dict[Example, Callable[[np.random.Generator], Made]] = {
    "three_elements": _three_elements,
    "order_preserving": _order_preserving,
    "swapped": _swapped,
    "crossing": _crossing,
    "block_model": _block_model,
    "noisy_coarsening": _noisy_coarsening,
}
