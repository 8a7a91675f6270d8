"""The header of a cache file: where each array lies, the metadata, and a digest of all of it.

The format is safetensors. It is written here instead of by the library because `save_file` orders
header metadata at random and writes the raw memory of transposed arrays. Arrays are ordered by
item size, then name, as the library does, so that each one is aligned in a mapped file.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from cache.keys import canonical_json

CODES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
_DTYPES = {code: np.dtype(name).newbyteorder("<") for name, code in CODES.items()}
_NOTES = "__metadata__"
_LENGTH_BYTES = 8


class CorruptFile(Exception):
    """A cache file that is cut short, has a bad header, or does not match its digest."""


@dataclass(frozen=True)
class Span:
    """One array's place: byte offsets are counted from the end of the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """A parsed header; `size` is its length in bytes, `meta` what `text` says."""

    size: int
    spans: dict[str, Span]
    text: str
    meta: Any
    digest: str


def storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return `array` as little-endian rows, or say why a file cannot hold it."""
    if name == _NOTES:
        raise ValueError(f"An array cannot be named {_NOTES!r}; the file format needs that name.")
    if array.dtype.name not in CODES:
        raise ValueError(
            f"Array {name!r} has dtype {array.dtype.name}; a cache file holds {', '.join(CODES)}."
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def in_file_order(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the names in the order in which their bytes follow the header."""
    return sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))


def as_bytes(array: NDArray[Any]) -> memoryview:
    """View a contiguous array as its bytes."""
    return array.reshape(-1).view(np.uint8).data


def digest_of(arrays: Mapping[str, NDArray[Any]], text: str) -> str:
    """Digest the metadata text and, by sorted name, each array's name, dtype, shape and bytes.

    The outline fixes every length, so no two different contents give the same stream of bytes.
    """
    names = sorted(arrays)
    outline = [[name, CODES[arrays[name].dtype.name], arrays[name].shape] for name in names]
    digest = xxhash.xxh3_128(canonical_json([text, outline]).encode())
    for name in names:
        digest.update(as_bytes(arrays[name]))
    return digest.hexdigest()


def encode(arrays: Mapping[str, NDArray[Any]], text: str) -> bytes:
    """Build the header for `arrays` as they follow in `in_file_order`."""
    document: dict[str, Any] = {_NOTES: {"digest": digest_of(arrays, text), "glasswork": text}}
    start = 0
    for name in in_file_order(arrays):
        array = arrays[name]
        stop = start + array.nbytes
        document[name] = {
            "dtype": CODES[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [start, stop],
        }
        start = stop
    content = json.dumps(document, separators=(",", ":")).encode()
    content += b" " * (-len(content) % _LENGTH_BYTES)
    return len(content).to_bytes(_LENGTH_BYTES, "little") + content


def parse(raw: NDArray[np.uint8]) -> Header:
    """Read the header of a whole file's bytes; touches no array."""
    try:
        header = _parse(raw)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CorruptFile("The header cannot be read.") from None
    lengths = [span.stop - span.start for span in header.spans.values()]
    last = max((span.stop for span in header.spans.values()), default=0)
    found = len(raw) - header.size
    if sum(lengths) != found or last != found:
        raise CorruptFile(f"The arrays need {sum(lengths)} bytes, the file holds {found}.")
    return header


def _parse(raw: NDArray[np.uint8]) -> Header:
    size = _LENGTH_BYTES + int.from_bytes(raw[:_LENGTH_BYTES].tobytes(), "little")
    if size > len(raw):
        raise ValueError(f"A header of {size} bytes does not fit into {len(raw)}.")
    document = json.loads(raw[_LENGTH_BYTES:size].tobytes().decode())
    notes = document.pop(_NOTES)
    spans = {name: _span(item) for name, item in document.items()}
    text = notes["glasswork"]
    return Header(size, spans, text, json.loads(text), notes["digest"])


def _span(item: dict[str, Any]) -> Span:
    dtype, shape = _DTYPES[item["dtype"]], tuple(item["shape"])
    start, stop = item["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, start, stop)):
        raise ValueError("Shapes and offsets are whole numbers from 0 on.")
    if stop - start != math.prod(shape) * dtype.itemsize:
        raise ValueError("An array's shape and offsets disagree.")
    return Span(dtype, shape, start, stop)
