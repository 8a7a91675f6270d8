"""Which two sequences of a batch are compared, and words that its figures share."""

from typing import Any

import numpy as np

from backends.methods.mcbif_batch import McbifBatchResult
from views.contract import Look
from views.figure import escape

# Longest names in figures, in characters.
NAME = 24


def chosen(result: McbifBatchResult, look: Look) -> tuple[int, int]:
    """Return sequences A and B, from 0. The defaults are the first and the farthest from A."""
    first = _index(result, look.get("a"))
    first = 0 if first is None else first
    second = _index(result, look.get("b"))
    return first, _farthest(result, first) if second is None else second


def _index(result: McbifBatchResult, wanted: Any) -> int | None:
    text = str(wanted)
    is_there = text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < result.n
    return int(text) if is_there else None


def _farthest(result: McbifBatchResult, first: int) -> int:
    """Return the sequence farthest by HF_1, or where all are equal by HF_0."""
    by_cycles = result.distance_hf1[first]
    distance = by_cycles if by_cycles.any() else result.distance_hf0[first]
    return int(np.argmax(distance))


def name_of(result: McbifBatchResult, sequence: int, most: int = NAME) -> str:
    """Return a sequence's name for a figure; of a long one the end, which tells more."""
    name = result.names[sequence]
    return escape(name if len(name) <= most else "…" + name[1 - most :])


def counted(result: McbifBatchResult) -> str:
    """Return how many sequences, scales and elements there are."""
    least, most = int(result.n_elements.min()), int(result.n_elements.max())
    elements = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    sequences = "1 sequence" if result.n == 1 else f"{result.n:,} sequences"
    return f"{sequences}, M = {len(result.scale_names)} scales, N = {elements} elements"
