"""From prompts to activations: tokens, the chosen position of each prompt, and X[l]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backends.concepts.table import ConceptSet
from backends.errors import BadRequest
from backends.lab import Lab
from backends.methods.knowledge_map.request import KnowledgeMapRequest
from backends.models.catalog import ModelRef

CAPTURE, RAW, SPACE = 1, 3, 2
"""Shares of a layer's time, for progress: capture, measures of activations, metric space."""
STEPS = CAPTURE + RAW + SPACE


@dataclass(frozen=True)
class Text:
    """The prompts as tokens: ids and chosen positions, per variant and prompt."""

    ids: dict[str, list[list[int]]]
    positions: dict[str, list[list[int]]]


def tokenize(request: KnowledgeMapRequest, lab: Lab, ref: ModelRef, concepts: ConceptSet) -> Text:
    """Tokenize every variant and choose the positions whose activations count."""
    ids: dict[str, list[list[int]]] = {}
    positions: dict[str, list[list[int]]] = {}
    for name, prompts in concepts.variants.items():
        entities = concepts.variant_entities.get(name, concepts.entities)
        encoded = lab.models.encode(ref, prompts, request.bos, request.chat, "table")
        ids[name] = [one.ids for one in encoded]
        positions[name] = [
            _chosen(request, one, prompt, entities[i] if entities else "")
            for i, (one, prompt) in enumerate(zip(encoded, prompts, strict=True))
        ]
    return Text(ids, positions)


def _chosen(request: KnowledgeMapRequest, encoded: Any, prompt: str, entity: str) -> list[int]:
    if not any(end > start for start, end in encoded.spans):
        raise BadRequest("table", f"This model's tokenizer drops all of {prompt[:40]!r}.")
    if request.token == "last_prompt":
        chosen = [len(encoded.ids) - 1 if request.chat else encoded.last()]
    else:
        start = prompt.rindex(entity)
        covering = encoded.covering(start, start + len(entity))
        ends = {"last_entity": covering[-1:], "first_entity": covering[:1]}
        chosen = ends.get(request.token, covering)
    if chosen[0] == 0:
        raise BadRequest(
            "token",
            f"The chosen token of {prompt[:40]!r} stands at position 0, where the massive "
            "activations are; use longer prompts, another token, or bos = force.",
        )
    return chosen


def activations(
    lab: Lab, ref: ModelRef, text: Text, layers: Sequence[int]
) -> dict[str, list[np.ndarray]]:
    """Return X[l], float32 [sample, d_model], per variant and layer.

    Several chosen tokens are averaged.
    """
    hooks = [f"blocks.{layer}.hook_resid_post" for layer in layers]
    ids = [one for some in text.ids.values() for one in some]
    positions = [one for some in text.positions.values() for one in some]

    def progress(done: int, total: int) -> None:
        note = f"capturing activations, {done} of {total} prompts"
        lab.watch.step(CAPTURE * done * len(layers) // total, STEPS * len(layers), note)

    rows = lab.models.capture(ref, ids, hooks, positions, progress)
    found: dict[str, list[np.ndarray]] = {}
    begin = 0
    for name, some in text.ids.items():
        part = slice(begin, begin + len(some))
        found[name] = [np.stack([r.mean(axis=0) for r in rows[hook][part]]) for hook in hooks]
        begin += len(some)
    return found
