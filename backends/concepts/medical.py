"""The built-in medical vocabularies: ages, symptoms, diseases, drugs, disease progression.

Our own compilation from general medical knowledge, for probing geometry only; not for clinical
use. Sources and counts: docs/methods/knowledge_map.md.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import Literal

from backends.concepts.table import ConceptSet

Domain = Literal["age", "symptom", "disease", "drug", "progression"]
Template = Literal["A", "B"]

LABELS: dict[Domain, tuple[str, ...]] = {
    "age": ("age_group", "is_adult"),
    "symptom": ("body_system",),
    "disease": ("specialty", "icd10_chapter", "icd10_range"),
    "drug": ("specialty", "mechanism_class", "atc_level1"),
    "progression": ("disease", "stage_order", "is_baseline"),
}
"""The label columns of each domain, the default primary one first."""

_FILES: dict[Domain, str] = {
    "age": "ages.csv",
    "symptom": "symptoms.csv",
    "disease": "diseases.csv",
    "drug": "drugs.csv",
    "progression": "progression.csv",
}
_TEMPLATES: dict[Domain, dict[Template, str]] = {
    "age": {"A": "{prompt}", "B": "Age of the patient in years: {age}"},
    "symptom": {
        "A": "The patient complains of {symptom}",
        "B": "The main symptom is {symptom}",
    },
    "disease": {
        "A": "The patient was diagnosed with {disease}",
        "B": "The final diagnosis is {disease}",
    },
    "drug": {
        "A": "The patient takes {drug}",
        "B": "The prescribed medication is {drug}",
    },
    "progression": {
        "A": "The patient has {disease}, {stage_label}",
        "B": "The patient has {disease} with {stage_description}",
    },
}
_AGE_VARIANTS = ("prompt", "prompt_male", "prompt_female", "prompt_words", "prompt_control")


@cache
def rows(domain: Domain) -> tuple[dict[str, str], ...]:
    """Return the rows of a vocabulary as they stand in its file."""
    text = (files("backends.concepts") / _FILES[domain]).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def concept_set(domain: Domain, template: Template) -> ConceptSet:
    """Return a vocabulary put into a prompt template."""
    table = rows(domain)
    labels = {column: [row[column] for row in table] for column in LABELS[domain]}
    prompts = [_TEMPLATES[domain][template].format_map(row) for row in table]
    if domain == "age":
        return _ages(prompts, labels, template)
    if domain == "progression":
        return _progression(prompts, labels, template)
    entities = [row[domain] for row in table]
    return ConceptSet(prompts, labels, entities, variants={"prompt": prompts})


def _ages(prompts: list[str], labels: dict[str, list[str]], template: Template) -> ConceptSet:
    table = rows("age")
    names = _AGE_VARIANTS if template == "A" else ("prompt",)
    variants = {name: [row[name] for row in table] for name in names}
    return ConceptSet(
        prompts,
        labels,
        entities=[row["age"] for row in table],
        values=[float(row["age"]) for row in table],
        variants=variants | {"prompt": prompts},
        variant_entities={"prompt_words": [row["age_words"] for row in table]},
    )


def _progression(
    prompts: list[str], labels: dict[str, list[str]], template: Template
) -> ConceptSet:
    table = rows("progression")
    named = "stage_label" if template == "A" else "stage_description"
    return ConceptSet(
        prompts,
        labels,
        entities=[row[named] for row in table],
        values=[float(row["stage_order"]) for row in table],
        groups=[row["disease"] for row in table],
        stages=[row["stage_label"] for row in table],
        variants={"prompt": prompts},
    )
