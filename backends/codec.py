"""A result as arrays and JSON, and back: the one serialization of cache, command line and API.

The axes in a result's annotations (`Float[np.ndarray, "layer sample"]`) are read from here, so
that an exported array says what its axes are.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Result = TypeVar("Result")


def _array_annotation(annotation: Any) -> Any | None:
    """Return the jaxtyping annotation inside `X` or `X | None`, or None for a JSON value."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    return annotation if hasattr(annotation, "dim_str") else None


def array_fields(result: type) -> dict[str, list[str]]:
    """Return the names of a result's arrays with their axes, in the order of declaration."""
    hints = get_type_hints(result)
    found = {f.name: _array_annotation(hints[f.name]) for f in fields(result)}
    return {name: a.dim_str.split() for name, a in found.items() if a is not None}


def value_fields(result: type) -> list[str]:
    """Return the names of a result's JSON values, in the order of declaration."""
    arrays = array_fields(result)
    return [f.name for f in fields(result) if f.name not in arrays]


def pack(result: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Split a result into arrays and JSON values.

    An array that is None is left out; a value that is not a finite number becomes None.
    """
    names = array_fields(type(result))
    arrays = {name: getattr(result, name) for name in names}
    values = {name: _json(getattr(result, name)) for name in value_fields(type(result))}
    return {name: np.asarray(a) for name, a in arrays.items() if a is not None}, values


def unpack(
    result: type[Result], arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]
) -> Result:
    """Return the result that `pack` split."""
    named = {name: arrays.get(name) for name in array_fields(result)}
    return result(**named, **{name: values[name] for name in value_fields(result)})


def _json(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): _json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    return value
