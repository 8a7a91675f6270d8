"""The sweep's request: what is clustered, how, and over which values."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from backends.contract import Request, Upload
from backends.errors import BadRequest

Algorithm = Literal["kmeans", "agglomerative", "louvain"]

ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    "points": ("kmeans", "agglomerative"),
    "graph": ("louvain",),
}
MOST_VALUES = 200
MOST_AUTO = 20
LARGEST_RESOLUTION = 1_000.0


class McbifSweepRequest(Request):
    """Which points or graph, which algorithm, and its values."""

    source: Literal["points", "graph"] = Field("points", description="What is clustered")
    data: Upload | None = Field(
        None,
        description="Own CSV: points (a row each, a column for each coordinate, names first if "
        "any) or edges (source, target, weight); without it a built-in example",
    )
    algorithm: Algorithm | None = Field(
        None, description="kmeans or agglomerative for points, louvain for a graph"
    )
    values: str = Field(
        "auto",
        max_length=4_000,
        description="Numbers of clusters, or resolutions of Louvain, separated by commas; or auto",
    )
    linkage: Literal["ward", "average", "complete", "single"] = Field(
        "ward", description="Linkage of agglomerative clustering"
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of k-means and Louvain")

    @model_validator(mode="before")
    @classmethod
    def _fitting(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("algorithm"):
            return data
        fitting = ALGORITHMS.get(str(data.get("source", "points")), ("kmeans",))
        return {**data, "algorithm": fitting[0]}


def check_algorithm(request: McbifSweepRequest) -> None:
    """Refuse an algorithm that does not cluster the source."""
    fitting = ALGORITHMS[request.source]
    if request.algorithm not in fitting:
        raise BadRequest(
            "algorithm",
            f"Algorithm {request.algorithm!r} does not fit the source {request.source!r}; "
            f"there it is {' or '.join(fitting)}.",
        )


def values_of(request: McbifSweepRequest, n: int) -> list[float]:
    """Return the values for a set of `n` elements, in increasing order and without repeats."""
    is_resolution = request.algorithm == "louvain"
    if request.values.strip().casefold() == "auto":
        if is_resolution:
            return [float(f"{v:.3g}") for v in np.geomspace(0.1, 10, MOST_AUTO)]
        return [float(k) for k in range(min(2, n), min(MOST_AUTO, n) + 1)]
    parts = [part.strip() for part in request.values.split(",") if part.strip()]
    read = _resolution if is_resolution else _count
    values = sorted({read(part, n) for part in parts})
    if not 1 <= len(values) <= MOST_VALUES:
        raise BadRequest(
            "values", f"There are {len(values)} values; 1 to {MOST_VALUES}, or auto, are allowed."
        )
    return values


def _count(text: str, n: int) -> float:
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= n):
        raise BadRequest(
            "values",
            f"Value {text[:40]!r} is no number of clusters of {n} elements; "
            f"it must be a whole number from 1 to {n}.",
        )
    return float(int(text))


def _resolution(text: str, n: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST_RESOLUTION:
        raise BadRequest(
            "values",
            f"Value {text[:40]!r} is no resolution; it must be above 0 and at most "
            f"{LARGEST_RESOLUTION:g}.",
        )
    return value
