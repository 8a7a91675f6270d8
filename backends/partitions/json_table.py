"""Label tables in JSON: one list of labels for each scale, or a result of PyGenStability."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from backends.errors import BadRequest
from backends.partitions.limits import check_size
from backends.partitions.raw import Raw, check_length, codes_of, label_text, shown


def from_json(text: str, field: str, by_element: bool) -> Raw:
    """Read JSON that has a list for each scale, or with `by_element` for each element."""
    table, key = _table(_loaded(text, field), field)
    rows = table[key]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise BadRequest(field, f"{key!r} is no list of lists, one list of labels for each scale.")
    scales, elements = len(rows), len(rows[0]) if rows else 0
    if by_element:
        scales, elements = elements, scales
    for count, side in ((scales, "scales"), (elements, "elements")):
        if not count:
            raise BadRequest(field, f"{key!r} has no {side}; at least 1 is needed.")
    for number, row in enumerate(rows, 1):
        check_length(number, len(row), len(rows[0]), "row 1", field)
    check_size((elements, scales), field)
    columns = [f"column {i + 1}" for i in range(len(rows[0]))]
    codes, texts = codes_of(rows, columns, field)
    return Raw(
        np.ascontiguousarray(codes.T) if by_element else codes,
        texts,
        _names(table, "scales", scales, field),
        _names(table, "elements", elements, field),
    )


def _loaded(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        why = f"{error.msg} in line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        why = "it is nested too deep or holds a number of thousands of digits"
    raise BadRequest(field, f"The JSON cannot be read: {why}.")


def _table(found: Any, field: str) -> tuple[Mapping[str, Any], str]:
    """Return the object, and the name under which it has the partitions."""
    if isinstance(found, list):
        return {"partitions": found}, "partitions"
    for key in ("partitions", "community_id"):
        if key in found:
            return found, key
    keys = ", ".join(shown(key) for key in list(found)[:8]) or "nothing"
    raise BadRequest(
        field, f"The JSON has neither 'partitions' nor 'community_id'; it has: {keys}."
    )


def _names(table: Mapping[str, Any], key: str, count: int, field: str) -> list[str] | None:
    names = table.get(key)
    if names is None:
        return None
    if not isinstance(names, list) or any(isinstance(each, list | dict) for each in names):
        raise BadRequest(field, f"{key!r} is no list of numbers or names.")
    if len(names) != count:
        raise BadRequest(field, f"{key!r} has {len(names)} entries; the partitions have {count}.")
    return [str(each) if isinstance(each, float) else label_text(each) for each in names]
