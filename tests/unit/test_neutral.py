"""The neutral prompts: no medicine, an entity in each, lengths as of the medical ones."""

import re

import numpy as np

from backends.concepts.medical import LABELS, concept_set
from backends.concepts.neutral import neutral_set
from backends.concepts.request import check_entities

MEDICAL = re.compile(
    r"patient|disease|drug|doctor|hospital|nurse|\bpain\b|diagnos|symptom|medic|treat|clinic"
)


def test_every_prompt_differs_and_has_its_entity() -> None:
    neutral = neutral_set()
    assert 40 <= len(neutral.prompts) == len(set(neutral.prompts))
    check_entities(neutral, "table", "The control")
    pairs = zip(neutral.prompts, neutral.entities or [], strict=True)
    at_end = [prompt.endswith(entity) for prompt, entity in pairs]
    assert sum(at_end) >= len(at_end) - 3  # ages of things stand inside, as those of patients do


def test_no_prompt_is_medical() -> None:
    assert [p for p in neutral_set().prompts if MEDICAL.search(p.lower())] == []
    own = {e.lower() for d in LABELS if d not in ("age", "progression")
           for e in concept_set(d, "A").entities or []}  # fmt: skip
    entities = neutral_set().entities or []
    assert own.isdisjoint(entity.lower() for entity in entities)


def test_words_are_as_many_as_in_medical_prompts() -> None:
    own = [len(prompt.split()) for prompt in neutral_set().prompts]
    for domain in LABELS:
        medical = [len(prompt.split()) for prompt in concept_set(domain, "A").prompts]
        assert min(own) <= np.percentile(medical, 5)
        assert max(own) >= max(medical)
