"""An entry: one file's arrays and metadata, and the row of the index that is made from them.

The header says all that the index needs to know (key, kind, fields and, for activations, which
rows belong to which key), so a file alone is enough to restore its rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cache.files import CacheFile, file_path, open_file
from cache.header import CorruptFile
from cache.index import Row, Slice
from cache.keys import Json, canonical_json

ACTIVATIONS = "activation/"


@dataclass(frozen=True, eq=False)
class Entry:
    """What is stored under a key; the arrays cannot be written to. `hit`: found, not just made."""

    key: str
    arrays: dict[str, NDArray[Any]]
    meta: dict[str, Any]
    hit: bool


def envelope(
    key: str, kind: str, meta: Mapping[str, Json], fields: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return the metadata of a file."""
    return {"fields": fields, "key": key, "kind": kind, "meta": meta}


def open_entry(root: Path, key: str) -> CacheFile:
    """Map the file of `key`, reading its header only, and see that it is that key's."""
    file = open_file(file_path(root, key))
    said = file.meta
    if not isinstance(said, dict) or said.get("key") != key:
        raise CorruptFile("The file belongs to another key.")
    if not isinstance(said.get("kind"), str) or not isinstance(said.get("meta"), dict):
        raise CorruptFile("The metadata is incomplete.")
    return file


def row_of(file: CacheFile, used: float | None = None) -> tuple[Row, list[Slice]]:
    """Return what the index should say of a file; unless told, it was last used when written."""
    said, written = file.meta, file.stamp.mtime_ns / 1e9
    fields = canonical_json(said.get("fields"))
    row = Row(said["key"], said["kind"], *file.stamp, fields, written, used or written)
    return row, _slices(said) if row.kind.startswith(ACTIVATIONS) else []


def _slices(said: dict[str, Any]) -> list[Slice]:
    try:
        found = [Slice(key, said["key"], *place) for key, *place in said["meta"]["rows"]]
    except (KeyError, TypeError, ValueError):
        found = None
    if found is None or not all(_is_sound(each) for each in found):
        raise CorruptFile("The list of activations cannot be read.")
    return found


def _is_sound(each: Slice) -> bool:
    texts = (each.key, each.name)
    numbers = (each.start, each.stop)
    return all(isinstance(text, str) for text in texts) and all(type(n) is int for n in numbers)
