"""MCbiF: Hilbert functions of a sequence of partitions that need not be nested.

A table of labels (elements by scales) becomes a two-parameter family of simplicial complexes: the
window [s, t] of scales holds the full simplex on every cluster of these scales. HF_0(s, t) counts
its components: where it is below the number of clusters, the partitions of the window refine each
other nowhere. HF_1(s, t) counts its independent cycles: clusters that contradict each other.

Source: "MCbiF: Measuring Topological Autocorrelation in Multiscale Clusterings via 2-Parameter
Persistent Homology", ICLR 2026, arXiv 2510.14710. The algorithms, the scale-weighted averages, the
null and the contributions are this workbench's; docs/methods/mcbif.md says which.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from backends.contract import Known, Method, Request, Upload
from backends.errors import BadRequest
from backends.lab import Lab
from backends.partitions.analysis import analyze
from backends.partitions.examples import Example, example
from backends.partitions.result import PartitionResult
from backends.partitions.sequence import PartitionSequence
from backends.partitions.table import read_partitions

MOST_SCALES = 200
OPENS_WITH = "noisy_coarsening"


class McbifRequest(Request):
    """Which sequence of partitions, and how much of the null."""

    example: Example | None = Field(
        None, description=f"Built-in sequence; {OPENS_WITH} if no file is given"
    )
    partitions: Upload | None = Field(None, description="Own label table: CSV, NPY or JSON")
    rows: Literal["auto", "elements", "scales"] = Field(
        "auto", description="What a row of the file is; auto: scales in JSON, else elements"
    )
    noise_label: str = Field("", max_length=60, description="Label of points without a cluster")
    noise: Literal["alone", "one_cluster", "drop"] = Field(
        "alone",
        description="Points without a cluster: each its own cluster, one cluster, or left out",
    )
    draws: int = Field(
        200, ge=0, le=1_000, description="Shuffled sequences of the null; 0 for none"
    )
    contributions: bool = Field(True, description="Leave out each element in turn")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of null and layout")

    @model_validator(mode="before")
    @classmethod
    def _one_source(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        if fields.get("partitions") and fields.get("example"):
            raise ValueError("an example and a file were given; give one of them")
        if not fields.get("partitions") and not fields.get("example"):
            fields["example"] = OPENS_WITH
        return fields


def sequence_of(request: McbifRequest, known: Known) -> PartitionSequence:
    """Return the request's partitions. Raise `BadRequest` for a file that cannot be used."""
    if request.partitions is None:
        assert request.example is not None
        return example(request.example)
    content = known.uploads.read(request.partitions, "partitions")
    return read_partitions(content, "partitions", request.rows, request.noise_label, request.noise)


def check(request: McbifRequest, known: Known) -> None:
    """Raise `BadRequest` for a table that cannot be used, or with too many scales."""
    scales = len(sequence_of(request, known).scales)
    if scales > MOST_SCALES:
        raise BadRequest(
            "partitions", f"The table has {scales:,} scales; 1 to {MOST_SCALES} are allowed."
        )


def compute(request: McbifRequest, lab: Lab) -> PartitionResult:
    """Compute the grids, then null and contributions."""
    sequence = sequence_of(request, lab.known)
    result: PartitionResult = analyze(
        sequence, lab, request.draws, request.contributions, request.seed
    )
    return result


METHOD = Method(
    "mcbif",
    1,
    McbifRequest,
    PartitionResult,
    compute,
    check=check,
    example=McbifRequest(example=OPENS_WITH),
    small={"example": "three_elements", "draws": 20},
    seconds=5,
)
