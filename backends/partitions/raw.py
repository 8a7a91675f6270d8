"""A label table as it stands in a file, and what its readers share.

Two labels are one when their text is the same; a float that is whole has the text of the integer.
Empty text is a gap.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from backends.errors import BadRequest

LONGEST_SHOWN = 40
WHOLE = re.compile(r"([+-]?\d+)\.0*")


@dataclass(frozen=True)
class Raw:
    """A table as it stands in the file: `texts[codes[m, x]]` is the label of element x at scale m.

    `heads` are the texts of the scales and `elements` the names, None where the file has none.
    """

    codes: Int[np.ndarray, "scale element"]
    texts: list[str]
    heads: list[str] | None = None
    elements: list[str] | None = None
    notes: tuple[str, ...] = ()


def label_text(value: Any) -> str:
    """Return the text that stands for a label; a whole float is the integer, None is empty."""
    if isinstance(value, str):
        text = value.strip()
        whole = WHOLE.fullmatch(text) if "." in text else None
        return str(int(whole[1])) if whole and len(text) < 1_000 else text
    if isinstance(value, float) and value.is_integer():
        return f"{value + 0.0:.0f}"
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def is_no_label(value: Any) -> bool:
    """Say whether a cell is NaN, infinite, or holds more than one value."""
    if isinstance(value, str):
        return len(value) < 10 and value.strip().casefold() == "nan"
    return isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value))


def codes_of(
    rows: Iterable[Sequence[Any]], columns: Sequence[str], field: str
) -> tuple[Int[np.ndarray, "row column"], list[str]]:
    """Return a code for each cell, and the text of each code."""
    known: dict[str, int] = {}
    codes = []
    for number, row in enumerate(rows, 1):
        texts = [label_text(cell) for cell in row]
        for column, cell in zip(columns, row, strict=True):
            if is_no_label(cell):
                raise no_label(number, column, cell, field)
        codes.append([known.setdefault(text, len(known)) for text in texts])
    return np.array(codes, np.int32), list(known)


def no_label(row: int, column: str, value: Any, field: str) -> BadRequest:
    """Return the error for a cell that is none, with its row and column counted from 1."""
    text = shown(value) if isinstance(value, str) else str(value)[:LONGEST_SHOWN]
    return BadRequest(
        field,
        f"Row {row}, {column} is {text}; a label is text or a finite number, and a gap is empty.",
    )


def check_length(row: int, length: int, wanted: int, reference: str, field: str) -> None:
    """Refuse a row that is longer or shorter than `reference`, which has `wanted` cells."""
    if length == wanted:
        return
    is_short = length < wanted
    where = f"ends before column {length + 1}" if is_short else f"goes on in column {wanted + 1}"
    raise BadRequest(field, f"Row {row} {where}: it has {length} cells; {reference} has {wanted}.")


def shown(text: str) -> str:
    """Return the beginning of a text in quotation marks, for a sentence."""
    return repr(text[:LONGEST_SHOWN])
