"""How large a sequence of partitions may be, and what a larger one would cost.

The cost of the Hilbert functions grows with N × M², their memory with N × M and the grids' with M².
The rates were measured on one core of a 2-core machine with sequences of 500 to 5,000 elements.
"""

from collections.abc import Sequence

from backends.errors import BadRequest

MOST_CELLS = 1_000_000
MOST_SCALES = 1_000

SECONDS = 1e-7
BYTES_OF_CELL = 120
BYTES_OF_GRID_CELL = 200


def check_size(shape: Sequence[int], field: str) -> None:
    """Refuse more cells or scales than are allowed. `shape` is (elements, scales)."""
    elements, scales = shape
    if elements * scales > MOST_CELLS:
        raise BadRequest(
            field,
            f"{elements * scales:,} cells (N × M = {elements:,} × {scales:,}) would take about "
            f"{_time(elements, scales)} and {_memory(elements, scales)}; "
            f"at most {MOST_CELLS:,} are allowed.",
        )
    if scales > MOST_SCALES:
        raise BadRequest(
            field,
            f"M = {scales:,} scales make grids of {scales**2:,} cells; "
            f"at most {MOST_SCALES:,} scales are allowed.",
        )


def _time(elements: int, scales: int) -> str:
    seconds = SECONDS * elements * scales**2
    for unit, size in (("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{max(seconds, 1):,.0f} s"


def _memory(elements: int, scales: int) -> str:
    size = BYTES_OF_CELL * elements * scales + BYTES_OF_GRID_CELL * scales**2
    return f"{size / 2**30:,.1f} GiB"
