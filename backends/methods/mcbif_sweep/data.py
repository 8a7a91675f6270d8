"""Points and graphs of the sweep: files of the user, and a built-in example of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from backends.errors import BadRequest
from backends.partitions.csv_table import NAMES_COLUMN, csv_lines
from backends.partitions.raw import check_length, shown

FIELD = "data"
MOST_POINTS = 5_000
MOST_COORDINATES = 500
MOST_NODES = 5_000
MOST_EDGES = 200_000
LARGEST = 1e12


@dataclass(frozen=True)
class Points:
    """Points with names, by rows."""

    rows: Float[np.ndarray, "element coordinate"]
    names: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Graph:
    """An undirected graph: each pair of nodes once, with its weight. Nodes are numbered from 0."""

    edges: Int[np.ndarray, "edge 2"]
    weights: Float[np.ndarray, "edge"]
    names: list[str]
    notes: list[str] = field(default_factory=list)


def read_points(content: bytes) -> Points:
    """Read points from a CSV. A header is a first line with a text where others have numbers."""
    rows = _rows(content, MOST_POINTS + 1, f"points; at most {MOST_POINTS:,}")
    has_header = any(_number(cell) is None for cell in rows[0][1:] or rows[0])
    header, body = (rows[0], rows[1:]) if has_header else (None, rows)
    if not 1 <= len(body) <= MOST_POINTS:
        raise BadRequest(
            FIELD, f"The table has {len(body)} points; 1 to {MOST_POINTS:,} are allowed."
        )
    for number, row in enumerate(rows):
        check_length(number + (not has_header), len(row), len(rows[0]), "the first line", FIELD)
    named = header is not None and header[0].strip().casefold() in NAMES_COLUMN
    named = named or any(_number(row[0]) is None for row in body)
    columns = len(rows[0]) - named
    if not 1 <= columns <= MOST_COORDINATES:
        raise BadRequest(
            FIELD, f"The table has {columns} coordinates; 1 to {MOST_COORDINATES} are allowed."
        )
    values = np.array([_coordinates(i, row, named) for i, row in enumerate(body, 1)])
    names = [row[0].strip() if named else str(i) for i, row in enumerate(body, 1)]
    return Points(values, names)


def read_graph(content: bytes) -> Graph:
    """Read an undirected graph from a CSV with the columns source, target and perhaps weight."""
    rows = _rows(content, MOST_EDGES + 1, f"edges; at most {MOST_EDGES:,}")
    header, body = [cell.strip().casefold() for cell in rows[0]], rows[1:]
    if not {"source", "target"} <= set(header):
        listed = ", ".join(shown(cell) for cell in rows[0][:8])
        raise BadRequest(
            FIELD, f"The table needs the columns source and target; its first line has: {listed}."
        )
    if not body:
        raise BadRequest(FIELD, "The table has no edges; at least 1 is needed.")
    places = [header.index(name) for name in ("source", "target")]
    at_weight = header.index("weight") if "weight" in header else None
    number_of: dict[str, int] = {}
    weights: dict[tuple[int, int], float] = {}
    for number, row in enumerate(body, 1):
        check_length(number, len(row), len(header), "the header", FIELD)
        ends = [row[place].strip() for place in places]
        if "" in ends:
            raise BadRequest(FIELD, f"Row {number} has no {('source', 'target')[ends.index('')]}.")
        first, second = sorted(number_of.setdefault(end, len(number_of)) for end in ends)
        weight = 1.0 if at_weight is None else _weight(number, row[at_weight])
        weights[first, second] = weights.get((first, second), 0.0) + weight
    if len(number_of) > MOST_NODES:
        raise BadRequest(
            FIELD, f"The graph has {len(number_of):,} nodes; at most {MOST_NODES:,} are allowed."
        )
    repeated = len(body) - len(weights)
    note = f"Edges that repeat a pair of nodes: {repeated:,}; their weights were added."
    edges = np.array(list(weights), np.int64)
    return Graph(
        edges, np.array(list(weights.values())), list(number_of), [note] if repeated else []
    )


def _rows(content: bytes, most: int, what: str) -> list[list[str]]:
    """Return the lines that are not empty, the first included. `what` names them in a refusal."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest(FIELD, "The table is not UTF-8 text; save it as CSV in UTF-8.") from None
    rows: list[list[str]] = []
    for row in csv_lines(text, FIELD):
        if any(cell.strip() for cell in row):
            rows.append(row)
        if len(rows) > most:
            lines = text.count("\n")
            raise BadRequest(FIELD, f"The table has about {lines:,} {what} are allowed.")
    if not rows:
        raise BadRequest(FIELD, "The table is empty.")
    return rows


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _coordinates(number: int, row: Sequence[str], named: bool) -> list[float]:
    values = [_number(cell) for cell in row[named:]]
    for place, value in enumerate(values, 1 + named):
        if value is None or not abs(value) <= LARGEST:
            raise BadRequest(
                FIELD,
                f"Row {number}, column {place} is {shown(row[place - 1])}; a coordinate is a "
                f"number from -{LARGEST:g} to {LARGEST:g}.",
            )
    return [value for value in values if value is not None]


def _weight(number: int, text: str) -> float:
    weight = _number(text)
    if weight is None or not (0 < weight <= LARGEST and math.isfinite(weight)):
        raise BadRequest(
            FIELD,
            f"The weight of row {number} is {shown(text)}; it must be above 0 and at most "
            f"{LARGEST:g}.",
        )
    return weight


def example_points() -> Points:
    """Return 120 points in the plane: 4 groups of 3 groups of 10, normally distributed."""
    rng = np.random.default_rng(0)
    outer = np.array([[x, y] for x in (-6.0, 6.0) for y in (-6.0, 6.0)])
    turns = 2 * np.pi * np.arange(3) / 3
    inner = 2.0 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    centers = (outer[:, None] + inner[None]).reshape(-1, 2)
    rows = np.repeat(centers, 10, axis=0) + 0.6 * rng.standard_normal((120, 2))
    names = [
        f"{group + 1}{letter}{i + 1}" for group in range(4) for letter in "abc" for i in range(10)
    ]
    return Points(rows, names, ["Built-in points: 4 groups of 3 groups of 10 in the plane."])


def example_graph() -> Graph:
    """Return a graph of 90 nodes from a block model: 3 groups of 3 groups of 10."""
    rng = np.random.default_rng(0)
    fine = np.repeat(np.arange(9), 10)
    first, second = np.triu_indices(90, 1)
    same, near = fine[first] == fine[second], fine[first] // 3 == fine[second] // 3
    chance = np.where(same, 0.7, np.where(near, 0.2, 0.02))
    kept = rng.random(len(first)) < chance
    edges = np.stack([first[kept], second[kept]], axis=1).astype(np.int64)
    names = [
        f"{group + 1}{letter}{i + 1}" for group in range(3) for letter in "abc" for i in range(10)
    ]
    note = "Built-in graph: a block model of 3 groups of 3 groups of 10."
    return Graph(edges, np.ones(len(edges)), names, [note])
