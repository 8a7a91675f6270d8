"""Many sequences: Hilbert functions of a batch of label tables, their distances and features.

All sequences have the same number of scales. Of each: HF_0, HF_1, the average conflicts, and the
feature vectors for learning: HF_0 on s <= t, HF_1 on s < t. Between them: the Frobenius distance
||HF_k(a) - HF_k(b)||, k = 0, 1.

Source: MCbiF, ICLR 2026, arXiv 2510.14710 (features, distances between partition sequences of wild
house mice); the scale-weighted averages are this workbench's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from backends.contract import Known, Method
from backends.lab import Lab
from backends.math import conflicts
from backends.math.hilbert import compile_kernels, hilbert_functions
from backends.math.partition_features import hf0_vector, hf1_vector
from backends.math.threads import use_one_blas_thread
from backends.methods.mcbif_batch.batch import Sequence, batch_of
from backends.methods.mcbif_batch.request import McbifBatchRequest, check_sources

__all__ = ["METHOD", "McbifBatchRequest", "McbifBatchResult"]

# Size (elements times scales squared) of the work of one part, a second or two, and most sequences
# in it.
PART = 4_000_000
MOST_IN_PART = 50
# Compiling the inner loops is worth it above this size.
MUCH = 1_000_000
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class McbifBatchResult:
    """Grids, averages, features and distances of all sequences; `n` is the number of sequences.

    Grids have row s (start scale) and column t (end scale), and 0 where s > t. `entry` counts the
    windows s <= t row by row, `pair` those with s < t. Distances are Frobenius norms. `groups` are
    the folders or kinds that the sequences come from. `scales` are by sequence.
    """

    hf0: Int[np.ndarray, "sequence scale scale"]
    hf1: Int[np.ndarray, "sequence scale scale"]
    features_hf0: Int[np.ndarray, "sequence entry"]
    features_hf1: Int[np.ndarray, "sequence pair"]
    c0_bar: Float[np.ndarray, "sequence"]
    c1_bar: Float[np.ndarray, "sequence"]
    c0_bar_scale_weighted: Float[np.ndarray, "sequence"]
    c1_bar_scale_weighted: Float[np.ndarray, "sequence"]
    distance_hf0: Float[np.ndarray, "sequence sequence"]
    distance_hf1: Float[np.ndarray, "sequence sequence"]
    n_clusters: Int[np.ndarray, "sequence scale"]
    n_elements: Int[np.ndarray, "sequence"]
    n: int
    names: list[str]
    groups: list[str]
    scales: list[list[float]]
    scale_names: list[str]
    notes: list[str]


def check(request: McbifBatchRequest, known: Known) -> None:
    """Refuse files that cannot be used, and sequences of different numbers of scales."""
    check_sources(request)
    batch_of(request, known)


def compute(request: McbifBatchRequest, lab: Lab) -> McbifBatchResult:
    """Compute the grids chunk by chunk; each chunk is a part."""
    use_one_blas_thread()
    batch = batch_of(request, lab.known)
    if sum(map(_size, batch)) > MUCH:
        lab.watch.step(0, len(batch), "compiling the inner loops")
        compile_kernels()
    parts = []
    for first, last in _chunks(batch):
        lab.watch.step(first, len(batch), f"sequence {first + 1} of {len(batch)}")
        made = partial(_grids, batch[first:last], lab)
        parts.append(lab.part("grids", {"first": first, "last": last}, made))
    hf0, hf1 = (np.concatenate([part[name] for part in parts]) for name in ("hf0", "hf1"))
    lab.watch.step(len(batch), len(batch), "done")
    lab.note(n=len(batch), seed=request.seed)
    return _result(batch, hf0, hf1)


def _size(sequence: Sequence) -> int:
    scales, elements = sequence.labels.shape
    return int(elements * scales**2)


def _chunks(batch: list[Sequence]) -> Iterator[tuple[int, int]]:
    """Yield first and last (exclusive) of the sequences that are computed together."""
    first, work = 0, 0
    for i, sequence in enumerate(batch):
        work += _size(sequence)
        if work >= PART or i + 1 - first == MOST_IN_PART or i + 1 == len(batch):
            yield first, i + 1
            first, work = i + 1, 0


def _grids(batch: list[Sequence], lab: Lab) -> Mapping[str, np.ndarray]:
    pairs = [hilbert_functions(sequence.labels, lab.watch.check) for sequence in batch]
    hf0, hf1 = (np.stack(grids).astype(np.int32) for grids in zip(*pairs, strict=True))
    return {"hf0": hf0, "hf1": hf1}


def _result(
    batch: list[Sequence],
    hf0: Int[np.ndarray, "sequence scale scale"],
    hf1: Int[np.ndarray, "sequence scale scale"],
) -> McbifBatchResult:
    n_clusters = np.stack([sequence.labels.max(axis=1) + 1 for sequence in batch])
    c0 = [conflicts.zero_conflict(grid, k) for grid, k in zip(hf0, n_clusters, strict=True)]
    weighted = conflicts.scale_weighted
    return McbifBatchResult(
        hf0=hf0,
        hf1=hf1,
        features_hf0=np.stack([hf0_vector(grid) for grid in hf0]),
        features_hf1=np.stack([hf1_vector(grid) for grid in hf1]),
        c0_bar=_floats([conflicts.average(grid) for grid in c0]),
        c1_bar=_floats([conflicts.average(grid) for grid in hf1]),
        c0_bar_scale_weighted=_floats(
            [weighted(g, s.scales) for g, s in zip(c0, batch, strict=True)]
        ),
        c1_bar_scale_weighted=_floats(
            [weighted(g, s.scales) for g, s in zip(hf1, batch, strict=True)]
        ),
        distance_hf0=frobenius(hf0),
        distance_hf1=frobenius(hf1),
        n_clusters=n_clusters,
        n_elements=np.array([sequence.labels.shape[1] for sequence in batch], np.int32),
        n=len(batch),
        names=[sequence.name for sequence in batch],
        groups=[sequence.group for sequence in batch],
        scales=[sequence.scales for sequence in batch],
        scale_names=_scale_names(batch),
        notes=_notes(batch),
    )


def _floats(values: list[float]) -> Float[np.ndarray, "sequence"]:
    return np.array(values, np.float32)


def frobenius(
    grids: Int[np.ndarray, "sequence scale scale"],
) -> Float[np.ndarray, "sequence sequence"]:
    """Return the Frobenius distance of every pair of grids, as float32."""
    rows = grids.reshape(len(grids), -1).astype(np.float64)
    # Sums of squares of whole numbers are exact in float64, so equal grids have distance 0.
    squares = (rows**2).sum(axis=1)
    distances = np.sqrt(squares[:, None] + squares - 2 * rows @ rows.T)
    return np.asarray(distances, np.float32)


def _scale_names(batch: list[Sequence]) -> list[str]:
    """Return the scales' names if all sequences agree on them, else numbers from 1."""
    names = batch[0].scale_names
    agree = all(sequence.scale_names == names for sequence in batch)
    return list(names) if agree else [str(m + 1) for m in range(len(names))]


def _notes(batch: list[Sequence]) -> list[str]:
    found = [f"{s.name}: {note}" for s in batch for note in s.notes]
    if any(s.scale_names != batch[0].scale_names for s in batch):
        found.insert(0, "The sequences have different scales; grids count them from 1.")
    more = len(found) - MOST_NOTES
    return found[:MOST_NOTES] + ([f"… and {more:,} more notes."] if more > 0 else [])


METHOD = Method(
    "mcbif_batch",
    1,
    McbifBatchRequest,
    McbifBatchResult,
    compute,
    check=check,
    example=McbifBatchRequest(),
    small={"count": 2},
    seconds=5,
)
