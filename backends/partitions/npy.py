"""NPY files of the user: arrays of numbers or text, never pickled objects.

The header is read first, so that nothing is allocated that the file does not hold. Format:
NEP 1, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

import io
import math

import numpy as np

from backends.errors import BadRequest
from backends.partitions.limits import check_size
from backends.partitions.raw import Raw, is_no_label, label_text, no_label

KINDS = "biufUS"
AXES = {2: "elements × scales", 3: "sequences × scales × elements"}


def npy_array(content: bytes, field: str, axes: int = 2) -> np.ndarray:
    """Return the array of an NPY file. Bytes become text. Raise `BadRequest` for objects."""
    shape, dtype, start = _header(content, field)
    if dtype.hasobject:
        raise BadRequest(
            field, "The NPY file holds pickled Python objects; numbers or text are needed."
        )
    if dtype.kind not in KINDS:
        raise BadRequest(field, f"The NPY file holds {dtype}; numbers or text are needed.")
    if len(shape) != axes:
        raise BadRequest(
            field, f"The NPY array has {len(shape)} axes; {axes} are needed ({AXES[axes]})."
        )
    if math.prod(shape) * max(dtype.itemsize, 1) > len(content) - start:
        raise BadRequest(field, "The NPY file is cut off: it is shorter than its header says.")
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        return np.strings.decode(array, "utf-8") if dtype.kind == "S" else array
    except (ValueError, EOFError):
        raise BadRequest(field, "The NPY file cannot be read.") from None


def raw_array(array: np.ndarray, field: str, by_element: bool) -> Raw:
    """Return the table of a 2-D array of numbers or text."""
    if 0 in array.shape:
        side = "elements" if array.shape[0 if by_element else 1] == 0 else "scales"
        raise BadRequest(field, f"The array has no {side}; at least 1 is needed.")
    check_size(array.shape if by_element else array.shape[::-1], field)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise no_label(row + 1, f"column {column + 1}", array[row, column], field)
    distinct, inverse = np.unique(array, return_inverse=True)
    if array.dtype.kind == "U" and any(is_nan := [is_no_label(v) for v in distinct.tolist()]):
        row, column = np.argwhere(np.isin(array, distinct[is_nan]))[0].tolist()
        raise no_label(row + 1, f"column {column + 1}", str(array[row, column]), field)
    known: dict[str, int] = {}
    numbers = [known.setdefault(label_text(value), len(known)) for value in distinct.tolist()]
    codes = np.array(numbers, np.int32)[inverse.reshape(array.shape)]
    return Raw(np.ascontiguousarray(codes.T if by_element else codes), list(known))


def _header(content: bytes, field: str) -> tuple[tuple[int, ...], np.dtype, int]:
    file = io.BytesIO(content)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        shape, _, dtype = readers[np.lib.format.read_magic(file)](file)
    except Exception:
        # A broken header fails in many ways: it is parsed as Python.
        raise BadRequest(field, "The NPY file has a header that cannot be read.") from None
    return shape, dtype, file.tell()
