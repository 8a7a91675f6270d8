"""What every method on a concept set asks for: which set, which words, which activation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from backends.concepts.medical import LABELS, Domain, Template, concept_set
from backends.concepts.table import ConceptSet, read_table
from backends.contract import Known, ModelRequest, Upload
from backends.errors import BadRequest
from backends.math.geometry import Normalization

Token = Literal["last_prompt", "last_entity", "mean_entity", "first_entity"]
DEFAULT_DOMAIN: Domain = "drug"


class SourceRequest(ModelRequest):
    """A built-in domain or a table of the user."""

    domain: Domain | None = Field(None, description="Built-in concept set; drug if no table")
    table: Upload | None = Field(None, description="Own concept set: a CSV with a column prompt")
    template: Template = Field("A", description="Wording of the built-in prompts")

    @model_validator(mode="before")
    @classmethod
    def _one_source(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        if fields.get("table"):
            if fields.get("domain"):
                raise ValueError("a domain and a table were given; give one of them")
            if fields.get("template", "A") != "A":
                raise ValueError("a template applies to built-in domains only, not to a table")
        elif not fields.get("domain"):
            fields["domain"] = DEFAULT_DOMAIN
        return fields


class ConceptRequest(SourceRequest):
    """A concept set, and the activation taken of each prompt."""

    labels: str = Field("", max_length=200, description="Primary label column")
    token: Token = Field("last_prompt", description="Token whose activation is taken")
    normalization: Normalization = Field("none", description="Normalization of activations")

    @model_validator(mode="before")
    @classmethod
    def _primary_labels(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        domain = data.get("domain") or (None if data.get("table") else DEFAULT_DOMAIN)
        if not data.get("labels") and isinstance(domain, str) and domain in LABELS:
            return {**data, "labels": LABELS[domain][0]}
        return data


def source_of(request: SourceRequest, known: Known) -> ConceptSet:
    """Return the request's concept set. Raise `BadRequest` for a table that cannot be used."""
    if request.table is not None:
        return read_table(known.uploads.read(request.table, "table"))
    assert request.domain is not None
    return concept_set(request.domain, request.template)


def concepts_of(request: ConceptRequest, known: Known) -> ConceptSet:
    """Return the request's concept set with the primary label column first.

    Raise `BadRequest` for a table that cannot be used or a column that is not there.
    """
    concepts = source_of(request, known)
    names = list(concepts.labels)
    if request.labels and request.labels not in names:
        columns = ", ".join(names) or "none"
        raise BadRequest(
            "labels", f"Label column {request.labels!r} is not there; there are: {columns}."
        )
    if request.labels:
        names.sort(key=lambda name: name != request.labels)
    return replace(concepts, labels={name: concepts.labels[name] for name in names})


def check_concepts(request: ConceptRequest, known: Known) -> ConceptSet:
    """Return the request's concept set. Raise `BadRequest` if its token needs what is not there."""
    concepts = concepts_of(request, known)
    if request.token != "last_prompt":
        check_entities(concepts, "token", f"Token {request.token}")
    return concepts


def check_entities(concepts: ConceptSet, field: str, what: str) -> None:
    """Raise `BadRequest` at a field if a prompt lacks its entity, which `what` needs."""
    if concepts.entities is None:
        raise BadRequest(field, f"{what} needs a column entity, which the table lacks.")
    pairs = zip(concepts.prompts, concepts.entities, strict=True)
    for number, (prompt, entity) in enumerate(pairs, 1):
        if not entity.strip() or entity not in prompt:
            raise BadRequest(
                field, f"The entity {entity[:40]!r} of row {number} is not in its prompt."
            )
