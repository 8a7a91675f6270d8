"""Pairs of prompts for patching: built-in sets, and a reader for a table of the user.

A pair is a clean and a corrupted prompt, the answer that belongs to the clean one and the foil that
belongs to the other. Answers carry their leading space. The built-in pairs are our own wording and
were selected to work on the embedded model; see docs/methods/medical_patching.md.
"""

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from backends.errors import BadRequest

PairSet = Literal["dosage", "symptom", "age", "disease", "drug"]

COLUMNS = ("clean", "corrupted", "answer", "foil")
MOST_PAIRS = 200
MOST_CHARACTERS = 4_000
MOST_ANSWER = 200


@dataclass(frozen=True)
class Pair:
    """Two prompts and two continuations, as they are given to the model."""

    clean: str
    corrupted: str
    answer: str
    foil: str


def fault(pair: Pair) -> tuple[str, str] | None:
    """Return what is wrong with a pair: the field and a sentence; None if nothing is."""
    for name in COLUMNS:
        text, most = getattr(pair, name), MOST_ANSWER if name in COLUMNS[2:] else MOST_CHARACTERS
        if not text.strip():
            return name, f"The {name} text is empty."
        if len(text) > most:
            return name, f"The {name} text has {len(text)} characters; at most {most} are allowed."
    if pair.answer == pair.foil:
        return "foil", f"Answer and foil are both {pair.answer[:40]!r}; they must differ."
    return None


@cache
def pair_set(name: PairSet) -> tuple[Pair, ...]:
    """Return a built-in set."""
    text = (files("backends.concepts") / "pairs.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO(text))
    return tuple(Pair(*(row[c] for c in COLUMNS)) for row in rows if row["set"] == name)


def read_pairs(content: bytes, name: str = "table") -> list[Pair]:
    """Read a CSV (UTF-8) with the columns clean, corrupted, answer, foil; others are ignored.

    Raise `BadRequest` naming the row and what is wrong there.
    """
    rows = _rows(content, name)
    if not 1 <= len(rows) <= MOST_PAIRS:
        raise BadRequest(name, f"The table has {len(rows)} pairs; 1 to {MOST_PAIRS} are allowed.")
    pairs = [Pair(*(row[column] or "" for column in COLUMNS)) for row in rows]
    for number, pair in enumerate(pairs, 1):
        if found := fault(pair):
            raise BadRequest(name, f"Row {number}: {found[1]}")
    return pairs


def _rows(content: bytes, name: str) -> list[dict[str, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest(name, "The table is not UTF-8 text; save it as CSV in UTF-8.") from None
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    reader = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True, restval=""
    )
    try:
        header = [column.strip() for column in reader.fieldnames or []]
        reader.fieldnames = header
        rows = [row for row in reader if any((row.get(c) or "").strip() for c in header)]
    except csv.Error as error:
        raise BadRequest(name, f"The table is not a CSV that can be read: {error}.") from None
    if missing := [column for column in COLUMNS if column not in header]:
        raise BadRequest(
            name,
            f"The table has no column {missing[0]}; it needs the columns {', '.join(COLUMNS)}.",
        )
    return rows
