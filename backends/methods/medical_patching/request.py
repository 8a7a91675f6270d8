"""The patching request: one pair or a set of pairs, what is patched where, and its check."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from backends.concepts.pairs import COLUMNS, Pair, PairSet, fault, pair_set, read_pairs
from backends.contract import Known, ModelRequest, Upload
from backends.errors import BadRequest
from backends.methods.medical_patching.pairing import parsed

Metric = Literal["logit_difference", "log_probability"]
Positions = Literal["entity", "all", "last", "each"]
Site = Literal["block", "attention", "mlp", "heads"]
STARTER: PairSet = "symptom"
"""The set that is taken when a request names no pair."""


class MedicalPatchingRequest(ModelRequest):
    """One pair of prompts, a built-in set, or a table; and how it is patched."""

    clean: str = Field("", max_length=4_000, description="Clean prompt of one pair")
    corrupted: str = Field("", max_length=4_000, description="Corrupted prompt of one pair")
    answer: str = Field(
        "", max_length=200, description="Answer to the clean prompt, with its leading space"
    )
    foil: str = Field(
        "", max_length=200, description="Answer to the corrupted prompt, with its leading space"
    )
    pairs: PairSet | None = Field(None, description="Built-in set; symptom if no pair is given")
    table: Upload | None = Field(
        None, description="Own pairs: a CSV with columns clean, corrupted, answer, foil"
    )
    metric: Metric = Field(
        "logit_difference",
        description="Score: logits of one-token answers, or mean log probability of whole answers",
    )
    positions: Positions = Field("entity", description="Positions that are patched")
    direction: Literal["denoising", "noising"] = Field(
        "denoising", description="Clean into the corrupted run, or corrupted into the clean run"
    )
    site: Site = Field("block", description="Output that is patched")
    pairing: str = Field(
        "",
        max_length=8_000,
        description="Positions clean:corrupted joined by commas, for one pair; empty is automatic",
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed")

    @model_validator(mode="before")
    @classmethod
    def _one_source(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        texts = any(fields.get(name) for name in COLUMNS)
        given = [
            *(["one pair"] if texts else []),
            *(n for n in ("pairs", "table") if fields.get(n)),
        ]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} were given; give one of them")
        if not given and fields.get("positions") == "each":
            first = pair_set(STARTER)[0]
            fields |= {name: getattr(first, name) for name in COLUMNS}
        elif not given:
            fields["pairs"] = STARTER
        return fields


def is_one_pair(request: MedicalPatchingRequest) -> bool:
    """Say whether the request is of one pair rather than a set."""
    return request.pairs is None and request.table is None


def pairs_of(request: MedicalPatchingRequest, known: Known) -> list[Pair]:
    """Return the request's pairs. Raise `BadRequest` for a table that cannot be used."""
    if request.pairs is not None:
        return list(pair_set(request.pairs))
    if request.table is not None:
        return read_pairs(known.uploads.read(request.table, "table"))
    return [Pair(*(getattr(request, name) for name in COLUMNS))]


def check(request: MedicalPatchingRequest, known: Known) -> None:
    """Raise `BadRequest` for what the texts, the table and the catalog's numbers can tell."""
    entry = known.catalog.get(request.model)
    pairs = pairs_of(request, known)
    if is_one_pair(request):
        if found := fault(pairs[0]):
            raise BadRequest(*found)
    elif request.positions == "each":
        raise BadRequest(
            "positions", "A board of each position is of one pair; give one, or choose entity."
        )
    elif request.pairing.strip():
        raise BadRequest("pairing", "A pairing is of one pair; for a set it is automatic.")
    if request.pairing.strip():
        parsed(request.pairing)
    if request.site == "heads":
        if entry.heads is None:
            raise BadRequest("site", f"How many heads {entry.id} has is not known; choose another.")
        if request.positions == "each":
            raise BadRequest(
                "positions", "A board of heads has no positions; choose entity, all or last."
            )
