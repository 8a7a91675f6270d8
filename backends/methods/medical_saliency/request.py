"""What saliency is asked for: which prompts, and which tokens' loss."""

from typing import Literal

from pydantic import Field

from backends.concepts.request import SourceRequest, check_entities, source_of
from backends.contract import Known


class MedicalSaliencyRequest(SourceRequest):
    """Which prompts of a concept set, and whose loss counts."""

    target: Literal["entity", "last"] = Field(
        "entity", description="Tokens whose loss counts: those of the entity, or the last one"
    )
    n_prompts: int = Field(
        20, ge=2, le=1_000, description="Prompts, evenly spaced over the set; at most all"
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of the bootstrap")


def check(request: MedicalSaliencyRequest, known: Known) -> None:
    """Refuse an unknown model, and a table that lacks the entities that the target needs."""
    known.catalog.get(request.model)
    concepts = source_of(request, known)
    if request.target == "entity":
        check_entities(concepts, "target", "Target entity")
