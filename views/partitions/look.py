"""What the look chooses of a sequence of partitions, and the words that several figures share.

A look may come from a link, so that its values are text and may be wrong; a wrong one is the
default. Scales, elements and clusters are numbered from 0.

`cell` is "s,t". `elements` is what is highlighted: "#12" is an element, "#3:1" the elements of
cluster 1 at scale 3, "#3:1-4:0" those that clusters 3:1 and 4:0 share, any other text the elements
whose name contains it. Several are separated by commas.
"""

import re
from typing import Any

import numpy as np
from jaxtyping import Bool

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.figure import CATEGORICAL, escape

ACCENT = "#0b6e99"
# Longest names in figures, in characters.
NAME = 24
DIRECTIONS = (
    ("row (s fixed)", "row"),
    ("column (t fixed)", "column"),
    ("anti-diagonal (t − s fixed)", "lag"),
)
_ELEMENT = re.compile(r"#(\d{1,9})")
_CLUSTER = re.compile(r"#(\d{1,9}):(\d{1,9})")
_LINK = re.compile(r"#(\d{1,9}):(\d{1,9})-(\d{1,9}):(\d{1,9})")


def n_scales(result: PartitionResult) -> int:
    """Return M, the number of partitions."""
    return len(result.n_clusters)


def counted(result: PartitionResult) -> str:
    """Return N and M in words."""
    return f"N = {result.n} elements, M = {n_scales(result)} scales"


def scale_name(result: PartitionResult, scale: int, most: int = NAME) -> str:
    """Return what a scale is called, for a figure."""
    return escape(result.scale_names[scale], most)


def cluster_name(result: PartitionResult, scale: int, cluster: int, most: int = NAME) -> str:
    """Return what a cluster is called, for a figure."""
    return escape(result.cluster_names[scale][cluster], most)


def default_cell(result: PartitionResult) -> tuple[int, int]:
    """Return the first window of the largest HF_1; without any cycle, the window of all scales."""
    if not result.hf1.any():
        return 0, n_scales(result) - 1
    s, t = np.unravel_index(int(np.argmax(result.hf1)), result.hf1.shape)
    return int(s), int(t)


def chosen_cell(result: PartitionResult, look: Look) -> tuple[int, int]:
    """Return the selected window (s, t)."""
    found = re.fullmatch(r"(\d{1,9}),(\d{1,9})", str(look.get("cell") or ""))
    s, t = map(int, found.groups()) if found else (1, 0)
    return (s, t) if s <= t < n_scales(result) else default_cell(result)


def whole(value: Any, low: int, high: int, default: int) -> int:
    """Return a whole number of a look within its limits; the default for what is no number."""
    try:
        return min(max(round(float(value)), low), high)
    except (TypeError, ValueError, OverflowError):
        return default


def color_scale(result: PartitionResult, look: Look) -> int:
    """Return the scale whose clusters color the Sankey.

    The default is the first of those with most clusters among the scales of at most eight; where
    none has so few, the first one with the fewest.
    """
    k = result.n_clusters
    few = np.where(k <= len(CATEGORICAL), k, 0)
    default = int(np.argmax(few)) if few.any() else int(np.argmin(k))
    wanted = str(look.get("colorby") or "")
    is_there = wanted.isdecimal() and len(wanted) < 10 and int(wanted) < len(k)
    return int(wanted) if is_there else default


def chosen_direction(look: Look) -> str:
    """Return the direction of the slice: row, column or lag."""
    wanted = look.get("direction")
    return str(wanted) if wanted in [key for _, key in DIRECTIONS] else "row"


def chosen_place(result: PartitionResult, look: Look) -> int:
    """Return where the slice lies: its s, its t, or its t − s.

    The default goes through the cell that is selected at first.
    """
    s, t = default_cell(result)
    default = {"row": s, "column": t, "lag": t - s}[chosen_direction(look)]
    return whole(look.get("at"), 0, n_scales(result) - 1, default)


def is_log(look: Look) -> bool:
    """Say whether colors are logarithmic."""
    return look.get("color") == "log"


def wanted_elements(look: Look) -> str:
    """Return the text of what is highlighted, empty for nothing."""
    return str(look.get("elements") or "").strip()[:200]


def highlighted(result: PartitionResult, look: Look) -> Bool[np.ndarray, "element"]:
    """Say of each element whether it is highlighted."""
    marked = np.zeros(result.labels.shape[1], bool)
    for part in wanted_elements(look).split(","):
        if part.strip():
            marked |= _meant(result, part.strip())
    return np.asarray(marked)


def _meant(result: PartitionResult, part: str) -> np.ndarray:
    if found := _ELEMENT.fullmatch(part):
        return np.asarray(np.arange(result.labels.shape[1]) == int(found[1]))
    if found := _CLUSTER.fullmatch(part):
        return _members(result, found[1], found[2])
    if found := _LINK.fullmatch(part):
        both = _members(result, found[1], found[2]) & _members(result, found[3], found[4])
        return np.asarray(both)
    wanted = part.casefold()
    return np.array([wanted in name.casefold() for name in result.elements], bool)


def _members(result: PartitionResult, scale: str, cluster: str) -> np.ndarray:
    if int(scale) >= n_scales(result):
        return np.zeros(result.labels.shape[1], bool)
    return np.asarray(result.labels[int(scale)] == int(cluster))


def element_key(element: int) -> str:
    """Return the key of an element."""
    return f"#{element}"


def cluster_key(scale: int, cluster: int) -> str:
    """Return the key of a cluster's elements."""
    return f"#{scale}:{cluster}"


def link_key(first: tuple[int, int], second: tuple[int, int]) -> str:
    """Return the key of the elements that two clusters (scale, cluster) share."""
    return f"#{first[0]}:{first[1]}-{second[0]}:{second[1]}"


def scale_ticks(names: list[str], most: int = 48, is_down: bool = False) -> dict[str, Any]:
    """Return ticks with the names of scales, thinned so that they fit into a number of letters.

    Of an axis that goes down, each name takes the room of three letters, however long it is.
    """
    shown = [escape(name, 12) for name in names]
    room = [3 if is_down else len(name) + 2 for name in shown]
    steps = (1, 2, 5, 10, 20, 50, 100, 200, 500)
    step = next((s for s in steps if sum(room[::s]) <= most), len(shown))
    places = list(range(0, len(shown), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": shown[::step]}
