"""The map's request: which concepts, which activations, which projection; and its check."""

from typing import Literal

from pydantic import Field

from backends.concepts.request import ConceptRequest, check_concepts
from backends.contract import Known, Layers
from backends.errors import BadRequest


class KnowledgeMapRequest(ConceptRequest):
    """What to map: a built-in domain or a table of the user, and how."""

    layers: Layers = Field("all", description="Layers: all, or numbers separated by commas")
    projection: Literal["umap", "pca"] = Field("umap", description="Projection")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed")


def check(request: KnowledgeMapRequest, known: Known) -> None:
    """Raise `BadRequest` for what the catalog's numbers and the table can tell."""
    entry = known.catalog.get(request.model)
    if request.layers != "all":
        entry.check_layers(request.layers)
    concepts = check_concepts(request, known)
    primary = next(iter(concepts.labels), None)
    if concepts.values is None and primary and len(concepts.usable_classes(primary)) < 2:
        raise BadRequest(
            "labels",
            f"Label column {primary!r} has {len(concepts.usable_classes(primary))} classes of "
            "at least 3 prompts; at least 2 are needed.",
        )
