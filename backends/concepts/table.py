"""Concept sets: prompts with labels, from a built-in vocabulary or a table of the user.

One table format for all tools: `prompt` (needed), optional `entity`, `value` (a number), `group`
(a name); every other column is a label column. A value without a group puts the prompts on a line
(age); with a group, the values are the stages 0, 1, 2, … of each group (disease progression).
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backends.errors import BadRequest

RESERVED = ("prompt", "entity", "value", "group")
LEAST_PROMPTS = 6
MOST_PROMPTS = 1_000
MOST_CHARACTERS = 4_000
MOST_LABEL_COLUMNS = 20
SMALLEST_CLASS = 3
LARGEST_VALUE = 1e9


@dataclass(frozen=True)
class ConceptSet:
    """Prompts in order, and what is known of each. An empty label means that it has none.

    `variants` are wordings of the same prompts, by name; the first is `prompts` itself, and
    `variant_entities` has the entities of those that word them otherwise. `stages` names each
    prompt's stage.
    """

    prompts: list[str]
    labels: dict[str, list[str]]
    entities: list[str] | None = None
    values: list[float] | None = None
    groups: list[str] | None = None
    stages: list[str] | None = None
    variants: dict[str, list[str]] = field(default_factory=dict)
    variant_entities: dict[str, list[str]] = field(default_factory=dict)

    def usable_classes(self, column: str) -> list[str]:
        """Return the classes of a column with at least three prompts, in order of the alphabet."""
        counts = Counter(label for label in self.labels[column] if label)
        return sorted(name for name, count in counts.items() if count >= SMALLEST_CLASS)


def read_table(content: bytes, name: str = "table") -> ConceptSet:
    """Read a CSV (UTF-8; comma, semicolon or tab). Raise `BadRequest` naming row and column."""
    header, rows = _cells(content, name)
    _check_header(header, name)
    if not LEAST_PROMPTS <= len(rows) <= MOST_PROMPTS:
        raise BadRequest(
            name,
            f"The table has {len(rows)} prompts; {LEAST_PROMPTS} to {MOST_PROMPTS} are allowed.",
        )
    columns = {column: [row[i] for row in rows] for i, column in enumerate(header)}
    _check_prompts(columns["prompt"], name)
    labels = {c: [v.strip() for v in cells] for c, cells in columns.items() if c not in RESERVED}
    concepts = ConceptSet(
        prompts=columns["prompt"],
        labels=labels,
        entities=columns.get("entity"),
        values=_values(columns["value"], name) if "value" in columns else None,
        groups=[g.strip() for g in columns["group"]] if "group" in columns else None,
        variants={"prompt": columns["prompt"]},
    )
    _check_sense(concepts, name)
    return concepts


def _cells(content: bytes, name: str) -> tuple[list[str], list[list[str]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest(name, "The table is not UTF-8 text; save it as CSV in UTF-8.") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise BadRequest(name, f"Line {line} of the table has a NUL character, as no text has.")
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise BadRequest(name, f"The table is not a CSV that can be read: {error}.") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise BadRequest(name, "The table is empty; it needs a header with a column prompt.")
    header, body = [column.strip() for column in rows[0]], rows[1:]
    for number, row in enumerate(body, 1):
        if len(row) != len(header):
            raise BadRequest(
                name, f"Row {number} has {len(row)} cells; the header has {len(header)}."
            )
    return header, body


def _check_header(header: Sequence[str], name: str) -> None:
    shown = ", ".join(repr(column[:40]) for column in header[:8])
    if "prompt" not in header:
        raise BadRequest(name, f"The table has no column prompt; it has: {shown}.")
    if "" in header:
        raise BadRequest(name, f"Column {header.index('') + 1} of the table has no name.")
    if repeated := [c for c, n in Counter(header).items() if n > 1]:
        raise BadRequest(name, f"Column {repeated[0][:40]!r} is there more than once.")
    labels = [c for c in header if c not in RESERVED]
    if len(labels) > MOST_LABEL_COLUMNS:
        raise BadRequest(
            name,
            f"The table has {len(labels)} label columns; at most {MOST_LABEL_COLUMNS} are allowed.",
        )


def _check_prompts(prompts: Sequence[str], name: str) -> None:
    seen: dict[str, int] = {}
    for number, prompt in enumerate(prompts, 1):
        if not prompt.strip():
            raise BadRequest(name, f"Row {number} has an empty prompt.")
        if len(prompt) > MOST_CHARACTERS:
            raise BadRequest(
                name,
                f"The prompt of row {number} has {len(prompt)} characters; "
                f"at most {MOST_CHARACTERS} are allowed.",
            )
        if prompt in seen:
            raise BadRequest(
                name,
                f"Row {number} repeats the prompt of row {seen[prompt]}; prompts must differ "
                f"(the table has {len(set(prompts))} different ones).",
            )
        seen[prompt] = number


def _values(cells: Sequence[str], name: str) -> list[float]:
    values = []
    for number, cell in enumerate(cells, 1):
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not abs(value) <= LARGEST_VALUE:
            raise BadRequest(
                name,
                f"The value of row {number} is {cell[:40]!r}; it must be a number "
                f"from -{LARGEST_VALUE:g} to {LARGEST_VALUE:g}.",
            )
        values.append(value)
    if len(set(values)) == 1:
        raise BadRequest(name, f"The value is {values[0]:g} in every row; it must vary.")
    return values


def _check_sense(concepts: ConceptSet, name: str) -> None:
    if concepts.groups is not None:
        _check_stages(concepts, name)
    if concepts.values is not None:
        return
    if not concepts.labels:
        raise BadRequest(name, "The table has neither a label column nor a column value.")
    if not any(len(concepts.usable_classes(column)) >= 2 for column in concepts.labels):
        columns = ", ".join(repr(c[:40]) for c in concepts.labels)
        raise BadRequest(
            name,
            f"No label column has two classes of at least {SMALLEST_CLASS} prompts; "
            f"there are: {columns}.",
        )


def _check_stages(concepts: ConceptSet, name: str) -> None:
    assert concepts.groups is not None
    if concepts.values is None:
        raise BadRequest(name, "The table has a column group but no column value.")
    for group, values in _by_group(concepts.groups, concepts.values).items():
        if sorted(values) != list(range(len(values))) or len(values) < 3:
            raise BadRequest(
                name,
                f"Group {group[:40]!r} has the values {sorted(values)[:8]}; "
                "stages are 0, 1, 2, … with one prompt each, at least three.",
            )


def _by_group(groups: Sequence[str], values: Sequence[float]) -> Mapping[str, list[float]]:
    found: dict[str, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        found.setdefault(group, []).append(value)
    return found
