"""The batch's request: which sequences of partitions are measured and compared."""

from typing import Literal

from pydantic import Field

from backends.contract import Request, Upload
from backends.errors import BadRequest


class McbifBatchRequest(Request):
    """A file of many sequences, two files of one each, or built-in sequences."""

    sequences: Upload | None = Field(
        None, description="Zip of label tables, or NPY of sequences × scales × elements"
    )
    first: Upload | None = Field(None, description="Instead: a label table to compare")
    second: Upload | None = Field(None, description="Instead: the label table it is compared with")
    rows: Literal["auto", "elements", "scales"] = Field(
        "auto", description="What a row of a table is; auto: scales in JSON, else elements"
    )
    noise_label: str = Field("", max_length=60, description="Label of points without a cluster")
    noise: Literal["alone", "one_cluster", "drop"] = Field(
        "alone",
        description="Points without a cluster: each its own cluster, one cluster, or left out",
    )
    count: int = Field(
        20, ge=1, le=500, description="Built-in sequences of each kind, if no file is given"
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of the built-in sequences")


def check_sources(request: McbifBatchRequest) -> None:
    """Refuse one file of a pair alone, and a pair beside a file of many."""
    pair = {"first": request.first, "second": request.second}
    given = [name for name, file in pair.items() if file is not None]
    if request.sequences is not None and given:
        raise BadRequest(
            given[0], f"Field {given[0]!r} was given beside 'sequences'; give one or the other."
        )
    if len(given) == 1:
        missing = next(name for name in pair if name not in given)
        raise BadRequest(missing, f"Field {missing!r} is needed beside {given[0]!r}.")
