"""Where the sequences of a batch come from: a zip, a 3-D array, two tables, or built-in kinds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from jaxtyping import Int

from backends.contract import Known
from backends.errors import BadRequest
from backends.math.partitions import numbered
from backends.methods.mcbif_batch.archive import members
from backends.methods.mcbif_batch.request import McbifBatchRequest
from backends.partitions.generators import order_preserving, swapped
from backends.partitions.npy import npy_array
from backends.partitions.raw import shown
from backends.partitions.sequence import PartitionSequence
from backends.partitions.table import read_array, read_partitions, short

MOST_SEQUENCES = 2_000
MOST_SCALES = 200
# Cells of one grid over all sequences.
MOST_GRID_CELLS = 4_000_000
MOST_LABELS = 10_000_000
ELEMENTS, STEP = 50, 5
KINDS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "order_preserving": order_preserving,
    "swapped": swapped,
}


@dataclass(frozen=True)
class Sequence:
    """One sequence of the batch. `group` is its folder or kind, empty for none."""

    name: str
    group: str
    labels: Int[np.ndarray, "scale element"]
    scales: list[float]
    scale_names: list[str]
    notes: list[str]


def batch_of(request: McbifBatchRequest, known: Known) -> list[Sequence]:
    """Return the sequences, all with the same number of scales.

    Raise `BadRequest` for a table that cannot be used, with its name, and for too many.
    """
    field = "sequences" if request.first is None else "second"
    found: list[Sequence] = []
    labels = 0
    for sequence in _sequences(request, known):
        labels += sequence.labels.size
        found.append(sequence)
        _check_scales(found[0], sequence, field)
        _check_size(len(found), len(sequence.scales), labels, field)
    if not found:
        raise BadRequest(field, "The zip holds no label table; at least 1 is needed.")
    return found


def _sequences(request: McbifBatchRequest, known: Known) -> Iterator[Sequence]:
    if request.sequences is not None:
        content = known.uploads.read(request.sequences, "sequences")
        yield from _from_file(request, content)
    elif request.first is not None and request.second is not None:
        for field, digest in (("first", request.first), ("second", request.second)):
            content = known.uploads.read(digest, field)
            yield _named(field, "", _read(request, content, field))
    else:
        yield from _built_in(request)


def _read(request: McbifBatchRequest, content: bytes, field: str) -> PartitionSequence:
    return read_partitions(content, field, request.rows, request.noise_label, request.noise)


def _from_file(request: McbifBatchRequest, content: bytes) -> Iterator[Sequence]:
    field = "sequences"
    if content.startswith(np.lib.format.MAGIC_PREFIX):
        array = npy_array(content, field, axes=3)
        for i, table in enumerate(array):
            turned = table.T if request.rows == "elements" else table
            try:
                read = read_array(turned, field, request.noise_label, request.noise)
            except BadRequest as error:
                raise BadRequest(field, f"Sequence {i + 1}: {error}") from None
            yield _named(str(i + 1), "", read)
        return
    if not content.startswith(b"PK"):
        raise BadRequest(
            field, "The file is neither a zip of label tables nor an NPY array of 3 axes."
        )
    for name, table in members(content, field):
        try:
            read = _read(request, table, field)
        except BadRequest as error:
            raise BadRequest(field, f"{shown(name)} in the zip: {error}") from None
        folder = str(PurePosixPath(name).parent)
        yield _named(name, "" if folder == "." else folder, read)


def _named(name: str, group: str, read: PartitionSequence) -> Sequence:
    return Sequence(
        short(name), short(group), read.labels, read.scales, read.scale_names, read.notes
    )


def _built_in(request: McbifBatchRequest) -> Iterator[Sequence]:
    for kind, (group, make) in enumerate(KINDS.items()):
        for i in range(request.count):
            rng = np.random.default_rng([request.seed, kind, i])
            labels = numbered(make(ELEMENTS, STEP, rng))
            scales = [float(m + 1) for m in range(len(labels))]
            names = [str(m + 1) for m in range(len(labels))]
            yield Sequence(f"{group} {i + 1}", group, labels, scales, names, [])


def _check_scales(first: Sequence, other: Sequence, field: str) -> None:
    wanted, scales = len(first.scales), len(other.scales)
    if wanted != scales:
        raise BadRequest(
            field,
            f"{shown(first.name)} has M = {wanted} scales and {shown(other.name)} {scales}; "
            "all sequences need the same number.",
        )


def _check_size(sequences: int, scales: int, labels: int, field: str) -> None:
    if scales > MOST_SCALES:
        raise BadRequest(
            field, f"The sequences have {scales:,} scales; 1 to {MOST_SCALES} are allowed."
        )
    most = min(MOST_SEQUENCES, MOST_GRID_CELLS // scales**2)
    if sequences > most:
        raise BadRequest(
            field,
            f"There are more than {most:,} sequences of {scales} scales; at most {most:,} are "
            "allowed.",
        )
    if labels > MOST_LABELS:
        raise BadRequest(
            field, f"The sequences have more than {MOST_LABELS:,} labels in all, as is allowed."
        )
