"""One result as a zip for the page's Export button: pictures, tables, arrays, request.

Every picture holds plotly.js, so that one file alone opens offline. Equal calls give equal bytes.
The tables are made from the result's annotations alone (`tables`), so that a new method has them
without a line of its own.
"""

import csv
import io
import json
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from app.export import json_bytes, page, result_files
from backends.codec import array_fields, pack
from backends.contract import Method, Request
from backends.jobs.base import Stored

MOST_ROWS = 2**20
"""Rows of the longest table, about what a spreadsheet opens; `result.npz` has longer ones."""
BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a zip, which knows none earlier."""
LEVEL = 1
"""Compression. 6, the usual one, takes twice the time for an eighth less."""

# Lists of a concept set, one item per sample; so is every list that is named `…_of`.
_OF_SAMPLES = {"prompts", "entities", "values", "tokens"}
# A spreadsheet takes a cell that begins like this for a formula.
_FORMULA = re.compile(r"[=+\-@\t\r\n]")

Axes: TypeAlias = tuple[str, ...]
Columns: TypeAlias = dict[str, list[str]]

README = """Glasswork: a result of {key}, version {version}.
{lines}

README.txt    this text
request.json  the request; python launch.py run {key} --request request.json --out DIR
result.json   values, what the arrays are (dtype, shape, axes), and provenance
result.npz    the arrays, for numpy.load
{notes}{pictures}{tables}"""
NOTES = "notes.json    what was noted by hand about this result\n"
PICTURES = """
figures/  pictures as they were shown; each opens in a browser alone, without a network
{names}
"""
TABLES = """
data/  the arrays as tables (CSV, UTF-8), named by their axes
{names}
  The first columns say where a number stands on each axis: a layer by its number (0 is the first
  block), anything else counted from 0. The tables of one axis also say what stands there; lists
  are JSON. An empty cell is not defined. A text that a spreadsheet would take for a formula has
  an apostrophe before it. What would have over {most:,} rows is in result.npz only.
"""


def export_zip(
    folder: Path,
    method: Method[Any],
    request: Request,
    key: str,
    stored: Stored,
    figures: Mapping[str, Any],
    look: Mapping[str, Any],
    lines: Sequence[str],
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write `<method>-<key>.zip`, whole or not at all, and return its path.

    `figures` are drawn with `look`; one that has nothing to draw is left out. `lines` stand under
    each. `notes` are what users wrote about the result.
    """
    files = result_files(method, request, key, stored)
    if notes:
        files["notes.json"] = json_bytes(notes)
    files |= {f"data/{name}.csv": text.encode() for name, text in tables(stored.result).items()}
    files |= {f"figures/{name}.html": text for name, text in _pages(figures, stored, look, lines)}
    path = folder / f"{method.key}-{key[:8]}.zip"
    _write(path, {"README.txt": _readme(method, lines, files)} | files)
    return path


def tables(result: Any) -> dict[str, str]:
    """Return a result's arrays as CSV, by the names of their axes (`column-layer`).

    Arrays of the same axes share a table: one column of places per axis, one column per array. An
    axis that is a digit becomes columns (`map_0`, `map_1`). A list of the result stands in the
    table of the axis that it describes, if it is as long:

    1. the axis of which its name is the plural (`label_columns`: `column`);
    2. `sample`, for what belongs to a concept set (`prompts`, `values`) or is named `…_of`;
    3. for any other list, the axis that alone is that long.

    A list that could describe two axes is in `result.json` only.

    A layer's place is its number in the list `layers`. Every other place is counted from 0.
    """
    arrays, values = pack(result)
    axes = array_fields(type(result))
    sizes = _sizes(arrays, axes)
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    places: dict[str, Sequence[int]] = {axis: range(size) for axis, size in sizes.items()}
    if _described("layers", len(lists.get("layers", ())), sizes) == "layer":
        places["layer"] = lists.pop("layers")
    columns = _list_columns(lists, sizes)
    for name, array in arrays.items():
        along = tuple(axis for axis in axes[name] if not axis.isdigit())
        if prod(sizes[axis] for axis in along) <= MOST_ROWS:
            columns.setdefault(along, {}).update(_array_columns(name, axes[name], array))
    return {
        "-".join(along) or "numbers": _csv(along, [places[axis] for axis in along], named)
        for along, named in columns.items()
    }


def _sizes(arrays: Mapping[str, np.ndarray], axes: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return how long each axis is, but for axes that are digits."""
    pairs = [p for name, a in arrays.items() for p in zip(axes[name], a.shape, strict=True)]
    return {axis: size for axis, size in pairs if not axis.isdigit()}


def _list_columns(lists: Mapping[str, list[Any]], sizes: Mapping[str, int]) -> dict[Axes, Columns]:
    """Return the lists as columns of the axes that they describe."""
    columns: dict[Axes, Columns] = {}
    for name, value in lists.items():
        axis = _described(name, len(value), sizes)
        if axis is not None:
            columns.setdefault((axis,), {})[name] = [_cell(each) for each in value]
    return columns


def _described(name: str, length: int, sizes: Mapping[str, int]) -> str | None:
    """Return the axis that a list describes, as `tables` says."""
    fitting = [axis for axis, size in sizes.items() if size == length > 0]
    named = [axis for axis in fitting if name.split("_")[-1] == f"{axis}s"]
    if name in _OF_SAMPLES or name.endswith("_of"):
        named = [axis for axis in fitting if axis == "sample"]
    found = named or fitting
    return found[0] if len(found) == 1 else None


def _array_columns(name: str, axes: Sequence[str], array: np.ndarray) -> Columns:
    """Return an array's columns as text; float32 has the fewest digits that tell it apart."""
    order = sorted(range(len(axes)), key=lambda place: axes[place].isdigit())
    parts = [array.shape[place] for place in order if axes[place].isdigit()]
    rows = array.transpose(order).reshape(-1, prod(parts))
    named = ["_".join([name, *map(str, index)]) for index in np.ndindex(*parts)]
    finite = np.isfinite(rows)
    return {
        column: [str(x) if ok else "" for x, ok in zip(rows[:, i], finite[:, i], strict=True)]
        for i, column in enumerate(named)
    }


def _csv(axes: Axes, places: Sequence[Sequence[int]], columns: Columns) -> str:
    """Return a table; an axis that occurs again is `stage_2`."""
    count = [axes[: i + 1].count(axis) for i, axis in enumerate(axes)]
    named = [f"{a}_{n}" if n > 1 else a for a, n in zip(axes, count, strict=True)]
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow([_cell(name) for name in (*named, *columns)])
    index = zip(*product(*places), strict=True)
    table.writerows(zip(*index, *columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    """Return a JSON value as a cell: None is empty, a formula is made a text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return json.dumps(value, ensure_ascii=False)


def _pages(
    figures: Mapping[str, Any], stored: Stored, look: Mapping[str, Any], lines: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    for name, draw in figures.items():
        figure = draw(stored.result, look)
        if figure is not None:
            yield name, page(name, figure, lines, True).encode()


def _readme(method: Method[Any], lines: Sequence[str], files: Mapping[str, bytes]) -> bytes:
    def listed(text: str, folder: str) -> str:
        names = [f"  {name}" for name in files if name.startswith(folder)]
        return text.format(names="\n".join(names), most=MOST_ROWS) if names else ""

    text = README.format(
        key=method.key,
        version=method.version,
        lines="\n".join(lines),
        notes=NOTES if "notes.json" in files else "",
        pictures=listed(PICTURES, "figures/"),
        tables=listed(TABLES, "data/"),
    )
    return text.encode()


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a zip aside and rename it; nothing in it tells when or on what system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with zipfile.ZipFile(aside, "w") as archive:
            for name, content in files.items():
                entry = zipfile.ZipInfo(name, BEGINNING)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system, entry.external_attr = 3, 0o644 << 16
                archive.writestr(entry, content, compresslevel=LEVEL)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
