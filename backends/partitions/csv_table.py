"""Label tables in CSV with comma, semicolon or tab, in UTF-8."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from backends.errors import BadRequest
from backends.partitions.limits import MOST_CELLS, check_size
from backends.partitions.raw import Raw, check_length, codes_of, shown

NAMES_COLUMN = ("", "element", "name", "id", "index")
SCALES_COLUMN = ("scale", "scales", "resolution", "t", "time")


def from_csv(text: str, field: str, by_element: bool) -> Raw:
    """Read a CSV whose rows are elements, with a header of scales, or the other way round.

    A first column of names is one with a header of `NAMES_COLUMN`; where rows are scales, the first
    column holds their values whatever its header says.
    """
    header, body, dropped = _csv_rows(text, field)
    named = not by_element or header[0].casefold() in NAMES_COLUMN
    guessed = not named and _holds_names(header, body, field)
    named = named or guessed
    kind = "scales" if by_element else "elements"
    if len(header) == int(named):
        raise BadRequest(field, f"The table has no {kind}: its header has no column of labels.")
    if not body:
        other = "elements" if by_element else "scales"
        raise BadRequest(field, f"The table has no {other}: no row follows its header.")
    columns = [f"column {i + 1} ({shown(h)})" for i, h in enumerate(header)][named:]
    cells = [row[named:] for row in body]
    check_size((len(body), len(columns)) if by_element else (len(columns), len(body)), field)
    codes, texts = codes_of(cells, columns, field)
    firsts = [row[0].strip() for row in body] if named else None
    plural = "row was" if dropped == 1 else "rows were"
    notes = [f"{dropped} empty {plural} left out."] if dropped else []
    if guessed:
        words = "has a different text in each row and was taken as names of elements."
        notes.append(f"The first column, {shown(header[0])}, {words}")
    if by_element:
        return Raw(np.ascontiguousarray(codes.T), texts, header[named:], firsts, tuple(notes))
    return Raw(codes, texts, firsts, header[named:], tuple(notes))


def _holds_names(header: list[str], body: list[list[str]], field: str) -> bool:
    """Say whether the first of columns that are all named by words holds names of elements.

    Raise `BadRequest` where its own name says that the rows are scales.
    """
    if len(header) < 2 or any(_is_number(head) for head in header):
        return False
    if header[0].casefold() in SCALES_COLUMN:
        raise BadRequest(
            field,
            f"The first column is called {shown(header[0])}, so the rows seem to be scales; "
            "choose rows = scales, or give the column another name.",
        )
    firsts = [row[0].strip() for row in body]
    is_text = bool(firsts) and not any(_is_number(first) or not first for first in firsts)
    return is_text and len(firsts) > 2 and len(set(firsts)) == len(firsts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def csv_lines(text: str, field: str) -> Iterator[list[str]]:
    """Yield the rows of a CSV with semicolon, tab or comma.

    A first line with a semicolon or a tab may have decimal commas, so these go first.
    """
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise BadRequest(field, f"Line {line} of the table has a NUL character, as no text has.")
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = next((each for each in ";\t" if each in first), ",")
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except csv.Error as error:
        raise BadRequest(field, f"The table is not a CSV that can be read: {error}.") from None


def _csv_rows(text: str, field: str) -> tuple[list[str], list[list[str]], int]:
    """Return the header, the rows that are not empty, and how many are."""
    rows: list[list[str]] = []
    empty = 0
    for row in csv_lines(text, field):
        if not any(cell.strip() for cell in row):
            empty += bool(rows)
            continue
        rows.append(row)
        # Not all lines are parsed before a table that is too large is refused.
        if (len(rows) - 1) * max(len(rows[0]) - 1, 1) > MOST_CELLS:
            check_size((text.rstrip().count("\n"), len(rows[0])), field)
    if not rows:
        raise BadRequest(field, "The table has only empty cells; it needs a header and labels.")
    header, body = [cell.strip() for cell in rows[0]], rows[1:]
    for number, row in enumerate(body, 1):
        check_length(number, len(row), len(header), "the header", field)
    return header, body, empty
