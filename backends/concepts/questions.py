"""Questions whose answers a lesion changes: eight for each medical domain, eight neutral ones.

Our own compilation, for probing a model only; not for clinical use. A user's own questions are a
CSV with a column `question`; other columns are left aside.
"""

import csv
from functools import cache
from importlib.resources import files

from backends.concepts.medical import Domain
from backends.errors import BadRequest
from backends.partitions.csv_table import csv_lines

MOST_QUESTIONS = 64
MOST_CHARACTERS = 1_000


@cache
def _built_in() -> dict[str, tuple[str, ...]]:
    text = (files("backends.concepts") / "questions.csv").read_text(encoding="utf-8")
    found: dict[str, tuple[str, ...]] = {}
    for row in csv.DictReader(text.splitlines()):
        found[row["domain"]] = (*found.get(row["domain"], ()), row["question"])
    return found


def questions(domain: Domain) -> list[str]:
    """Return the questions of a domain."""
    return list(_built_in()[domain])


def neutral_questions() -> list[str]:
    """Return the questions that have nothing to do with medicine."""
    return list(_built_in()["neutral"])


def read_questions(content: bytes, name: str = "table") -> list[str]:
    """Read the column `question` of a CSV (UTF-8; comma, semicolon or tab).

    Raise `BadRequest` naming the row.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest(name, "The table is not UTF-8 text; save it as CSV in UTF-8.") from None
    rows = [row for row in csv_lines(text, name) if any(cell.strip() for cell in row)]
    if not rows:
        raise BadRequest(name, "The table is empty; it needs a header with a column question.")
    header = [column.strip() for column in rows[0]]
    if header.count("question") != 1:
        shown = ", ".join(repr(column[:40]) for column in header[:8])
        raise BadRequest(name, f"The table needs one column question; it has: {shown}.")
    if not 1 <= len(rows) - 1 <= MOST_QUESTIONS:
        raise BadRequest(
            name, f"The table has {len(rows) - 1} questions; 1 to {MOST_QUESTIONS} are allowed."
        )
    column = header.index("question")
    found = [_question(row, column, number, name) for number, row in enumerate(rows[1:], 1)]
    _check_distinct(found, name)
    return found


def _question(row: list[str], column: int, number: int, name: str) -> str:
    question = row[column].strip() if column < len(row) else ""
    if not question:
        raise BadRequest(name, f"Row {number} has no question.")
    if len(question) > MOST_CHARACTERS:
        raise BadRequest(
            name,
            f"The question of row {number} has {len(question)} characters; "
            f"at most {MOST_CHARACTERS} are allowed.",
        )
    return question


def _check_distinct(found: list[str], name: str) -> None:
    for number, question in enumerate(found):
        if question in found[:number]:
            first = found.index(question) + 1
            raise BadRequest(name, f"Row {number + 1} repeats the question of row {first}.")
