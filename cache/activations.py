"""Activations: what hooks of a model returned for given token ids, found again one text at a time.

One capture call writes one file with a block per hook; the index knows which rows of which block
belong to which (model, tokens, hook). Reading opens each file once and maps only what is asked.
"""

import logging
import operator
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cache.entry import ACTIVATIONS, Entry
from cache.files import reason
from cache.index import Slice
from cache.keys import fingerprint, hash_ids
from cache.store import Store

KIND = f"{ACTIVATIONS}1"
_log = logging.getLogger("glasswork.cache")


class Activations:
    """The activations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @staticmethod
    def key(
        model_id: str,
        revision: str,
        dtype: str,
        hook: str,
        ids: Sequence[int],
        positions: Sequence[int] | Literal["all"],
        attention: str,
        library: str,
    ) -> str:
        """Name one hook's output for one text; `library` is the hook library's major version.

        Token ids stand for text, tokenizer and special tokens. The device is not part of the name.
        """
        fields = {
            "model_id": model_id,
            "revision": revision,
            "dtype": dtype,
            "hook": hook,
            "ids": hash_ids(ids),
            "positions": _positions(positions),
            "attention": attention,
            "library": library,
        }
        return fingerprint(KIND, fields)

    def get(self, keys: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """Return for each key its rows [position, width], mapped and read-only, or None."""
        slices = self._slices(keys)
        files = {each.file: self._store.get(each.file) for each in _one_per_file(slices)}
        return [_rows(slices.get(key), files) for key in keys]

    def put(
        self,
        blocks: Mapping[str, NDArray[np.float32]],
        rows: Sequence[tuple[str, str, int, int]],
    ) -> None:
        """Store one capture call: a block [row, width] per hook, and (key, hook, start, stop)."""
        if not rows:
            return
        _check(blocks, rows)
        file = fingerprint(KIND, {"rows": sorted(row[0] for row in rows)})
        self._store.put(file, KIND, blocks, {"rows": rows})

    def _slices(self, keys: Sequence[str]) -> dict[str, Slice]:
        try:
            return self._store.index.slices(keys)
        except sqlite3.Error as error:
            _log.warning("Activations cannot be looked up: %s.", reason(error))
            return {}


def _one_per_file(slices: Mapping[str, Slice]) -> list[Slice]:
    return list({each.file: each for each in slices.values()}.values())


def _positions(positions: Sequence[int] | Literal["all"]) -> list[int] | str:
    if not isinstance(positions, str):
        return [operator.index(each) for each in positions]
    if positions != "all":
        raise ValueError(f'Positions are "all" or a list of numbers, not {positions!r}.')
    return positions


def _rows(place: Slice | None, files: Mapping[str, Entry | None]) -> NDArray[np.float32] | None:
    entry = files[place.file] if place else None
    if place is None or entry is None:
        return None
    block = entry.arrays.get(place.name)
    if block is None or not 0 <= place.start <= place.stop <= len(block):
        return None
    return block[place.start : place.stop]


def _check(
    blocks: Mapping[str, NDArray[np.float32]], rows: Sequence[tuple[str, str, int, int]]
) -> None:
    for name, block in blocks.items():
        if block.dtype != np.float32 or block.ndim != 2:
            raise ValueError(
                f"Block {name!r} has dtype {block.dtype} and {block.ndim} axes, not float32 and 2."
            )
    for _, name, start, stop in rows:
        if name not in blocks:
            raise ValueError(f"Block {name!r} is missing; there are {', '.join(blocks)}.")
        if not 0 <= start <= stop <= len(blocks[name]):
            raise ValueError(f"Rows {start}..{stop} are outside 0..{len(blocks[name])}.")
