"""Names for cached things: a fingerprint is the sha256 of a kind and its fields as canonical JSON.

Unusual: only values that JSON can tell apart are accepted, so `1`, `1.0`, `"1"` and `True` get
different fingerprints, while a tuple and a list with the same items get the same one.
"""

import hashlib
import json
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"


def canonical_json(value: Any) -> str:
    """Write `value` as ASCII JSON with sorted keys and no spaces.

    Raises ValueError for NaN and infinities, TypeError for values that JSON does not know.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def fingerprint(kind: str, fields: Mapping[str, Any]) -> str:
    """Name `fields` of this `kind` by 64 hexadecimal digits."""
    return _sha256(canonical_json({"fields": fields, "kind": kind}).encode())


def hash_ids(ids: Sequence[int]) -> str:
    """Hash token ids: what the model sees, whatever the text and the tokenizer were."""
    return _sha256(np.array([operator.index(each) for each in ids], dtype="<i8").tobytes())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"The number {value} has no place in JSON; only finite numbers do.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {_text(name): _plain(each) for name, each in value.items()}
    raise TypeError(
        f"A value of type {type(value).__name__} has no place in JSON; "
        "None, booleans, numbers, texts, lists and mappings do."
    )


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"The key {name!r} has type {type(name).__name__}; JSON keys are texts.")
    return name
