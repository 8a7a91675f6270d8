"""Label tables of the user: partitions of one set, one for each scale.

A CSV has one row for each element and one column for each scale, whose header is the scale's value;
an NPY array likewise, without a header. JSON has one list for each scale: `{"partitions": …,
"scales": …, "elements": …}`, a bare list of lists, or a result of PyGenStability (`scales`,
`community_id`). `backends/partitions/formats.py` reads them; here scales are put in order and noise
and gaps get their clusters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int

from backends.errors import BadRequest
from backends.math.partitions import numbered
from backends.partitions.formats import Rows, read_raw
from backends.partitions.npy import raw_array
from backends.partitions.raw import Raw, label_text
from backends.partitions.sequence import PartitionSequence

Noise = Literal["alone", "one_cluster", "drop"]

LONGEST_NAME = 60
MISSING = ("na", "n/a", "null", "none")
DONE = {
    "alone": "each is a cluster of its own",
    "one_cluster": "those of one scale are one cluster",
}


def read_partitions(
    content: bytes,
    field: str = "partitions",
    rows: Rows = "auto",
    noise_label: str = "",
    noise: Noise = "alone",
) -> PartitionSequence:
    """Read a label table in CSV, JSON or NPY. Raise `BadRequest` naming row and column.

    `rows` says what a row of the table is; "auto" is a scale in JSON and an element elsewhere.
    Empty cells, and those with `noise_label`, are noise. At most `limits.MOST_CELLS` labels and
    `limits.MOST_SCALES` scales.
    """
    return _sequence(read_raw(content, field, rows), field, noise_label, noise)


def read_array(
    array: np.ndarray, field: str = "partitions", noise_label: str = "", noise: Noise = "alone"
) -> PartitionSequence:
    """Take labels by scale and element from an array of numbers or text, as from a file."""
    return _sequence(raw_array(array, field, by_element=False), field, noise_label, noise)


@dataclass(frozen=True)
class _Cells:
    """Labels as codes; `empty` are those that are noise or gaps."""

    codes: Int[np.ndarray, "scale element"]
    empty: Bool[np.ndarray, "scale element"]


def _sequence(raw: Raw, field: str, noise_label: str, noise: Noise) -> PartitionSequence:
    scales, names, scale_notes = _scales(raw.heads, len(raw.codes), field)
    order = np.argsort(scales, kind="stable")
    elements = raw.elements or [str(i + 1) for i in range(raw.codes.shape[1])]
    noise_text = label_text(noise_label)
    is_empty = np.isin(np.array(raw.texts), ["", noise_text])
    cells = _Cells(raw.codes[order], is_empty[raw.codes[order]])
    noise_notes = _noise_notes(cells, raw.texts, noise_text, noise)
    if noise == "drop" and cells.empty.any():
        kept = np.flatnonzero(~cells.empty.any(axis=0))
        if not len(kept):
            raise BadRequest(
                field,
                f"All {len(elements):,} elements are noise or a gap at some scale; none is left, "
                "and at least 1 is needed.",
            )
        cells = _Cells(cells.codes[:, kept], cells.empty[:, kept])
        elements = [elements[i] for i in kept]
    codes = np.where(cells.empty, _own_codes(cells, len(raw.texts), noise), cells.codes)
    labels = numbered(codes)
    return PartitionSequence(
        labels=labels,
        scales=[scales[i] for i in order],
        scale_names=[short(names[i]) for i in order],
        elements=[short(name) for name in elements],
        cluster_names=_cluster_names(labels, cells, raw.texts, noise_text),
        notes=[*raw.notes, *scale_notes, *noise_notes, *_missing_notes(cells, raw.texts)],
    )


def _missing_notes(cells: _Cells, texts: Sequence[str]) -> list[str]:
    """Say that labels which other programs write for a gap count as clusters here."""
    used = np.unique(cells.codes[~cells.empty])
    found = [texts[code] for code in used.tolist() if texts[code].casefold() in MISSING]
    return [
        f"The label {text!r} counts as a cluster; if it marks gaps, give it as noise label."
        for text in found
    ]


def short(text: str) -> str:
    """Return a name of at most `LONGEST_NAME` characters that every encoder can write."""
    cut = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return cut.encode("utf-8", "replace").decode()


def _scales(
    heads: Sequence[str] | None, count: int, field: str
) -> tuple[list[float], list[str], list[str]]:
    """Return the scales' values and names, in the order of the file, and notes."""
    numbers = [float(i + 1) for i in range(count)]
    if heads is None:
        return numbers, [str(i + 1) for i in range(count)], [_without(count, "values")]
    values = [_number(head) for head in heads]
    if all(value is None for value in values):
        if "" in heads:
            raise BadRequest(field, f"Scale {heads.index('') + 1} has neither a value nor a name.")
        return numbers, list(heads), [_without(count, "numbers as values")]
    scales = []
    for place, (head, value) in enumerate(zip(heads, values, strict=True), 1):
        if value is None or not math.isfinite(value):
            raise BadRequest(
                field,
                f"Scale {place} is {head[:40]!r}; scales are finite numbers, "
                "or names where none is a number.",
            )
        scales.append(value)
    _check_ties(scales, field)
    note = [] if scales == sorted(scales) else ["The scales were not in order; they were sorted."]
    return scales, [f"{value:.12g}" for value in scales], note


def _without(count: int, what: str) -> str:
    return f"The scales have no {what}; they are counted 1..{count}."


def _check_ties(scales: Sequence[float], field: str) -> None:
    seen: dict[float, int] = {}
    for place, scale in enumerate(scales, 1):
        if scale in seen:
            raise BadRequest(
                field,
                f"Tied scales: scales {seen[scale]} and {place} are both {scale:g}, and they must "
                "differ; if the first line holds labels, the table lacks its header of scales.",
            )
        seen[scale] = place


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _noise_notes(cells: _Cells, texts: Sequence[str], noise_text: str, noise: Noise) -> list[str]:
    if not cells.empty.any():
        return []
    gaps = int(np.isin(cells.codes, [i for i, text in enumerate(texts) if not text]).sum())
    marked = int(cells.empty.sum()) - gaps
    counts = [f"{marked:,} noise ({short(noise_text)!r})"] if marked else []
    counts += [f"{gaps:,} {'gap' if gaps == 1 else 'gaps'}"] if gaps else []
    dropped = int(cells.empty.any(axis=0).sum())
    elements = cells.codes.shape[1]
    done = DONE.get(noise, f"elements with one were dropped, {dropped:,} of {elements:,}")
    return [f"The {cells.codes.size:,} cells hold {' and '.join(counts)}; {done}."]


def _own_codes(cells: _Cells, first: int, noise: Noise) -> Int[np.ndarray, "element"]:
    """Return the code that each element has where it is noise, after those of the labels."""
    elements = cells.codes.shape[1]
    alone = (
        np.arange(elements, dtype=np.int32) if noise == "alone" else np.zeros(elements, np.int32)
    )
    return np.asarray(first + alone, np.int32)


def _cluster_names(
    labels: Int[np.ndarray, "scale element"],
    cells: _Cells,
    texts: Sequence[str],
    noise_text: str,
) -> list[list[str]]:
    """Return what the file calls each cluster, by scale. Those of noise say so."""
    shown = [short(text) if text not in ("", noise_text) else "noise" for text in texts]
    firsts = [np.unique(row, return_index=True)[1] for row in labels]
    return [
        [shown[code] for code in codes[first].tolist()]
        for codes, first in zip(cells.codes, firsts, strict=True)
    ]
