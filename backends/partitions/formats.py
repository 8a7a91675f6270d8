"""File formats of label tables, told by the file's content, never by its name."""

from typing import Literal

import numpy as np

from backends.errors import BadRequest
from backends.partitions.csv_table import from_csv
from backends.partitions.json_table import from_json
from backends.partitions.npy import npy_array, raw_array
from backends.partitions.raw import Raw

Rows = Literal["auto", "elements", "scales"]


def read_raw(content: bytes, field: str, rows: Rows) -> Raw:
    """Read a file of any of the formats. Raise `BadRequest` that names row and column."""
    if content.startswith(np.lib.format.MAGIC_PREFIX):
        return raw_array(npy_array(content, field), field, by_element=rows != "scales")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest(field, "The file is neither NPY nor text in UTF-8.") from None
    if not text.strip():
        raise BadRequest(field, "The file is empty; it needs at least one element and one scale.")
    if text.lstrip()[0] in "{[":
        return from_json(text, field, by_element=rows == "elements")
    return from_csv(text, field, by_element=rows != "scales")
