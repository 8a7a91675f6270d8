"""From prompts to target tokens: which prompts, which of their tokens, and the neutral prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backends.concepts.neutral import neutral_set
from backends.concepts.table import ConceptSet
from backends.errors import BadRequest
from backends.lab import Lab
from backends.methods.medical_saliency.request import MedicalSaliencyRequest
from backends.models.catalog import ModelRef


@dataclass(frozen=True)
class Target:
    """A prompt as tokens, and the positions of those whose loss counts.

    `unpredicted` is the number of target tokens left out because they stand at position 0, where
    nothing comes before that could predict them.
    """

    prompt: str
    entity: str
    ids: list[int]
    positions: list[int]
    unpredicted: int


def targets_of(
    request: MedicalSaliencyRequest, lab: Lab, ref: ModelRef, concepts: ConceptSet
) -> list[Target]:
    """Return the targets of evenly spaced prompts. Raise `BadRequest` for one without any."""
    found = _encoded(request, lab, ref, concepts, _spaced(len(concepts.prompts), request.n_prompts))
    for target in found:
        if not target.positions:
            raise BadRequest(
                "target",
                f"The target of {target.prompt[:40]!r} has no token after position 0, so nothing "
                "predicts it; use longer prompts or bos = force.",
            )
    return found


def neutral_targets(
    request: MedicalSaliencyRequest, lab: Lab, ref: ModelRef, targets: Sequence[Target]
) -> list[Target]:
    """Return a neutral prompt for each target, each used once, as equal in length as possible.

    The lengths are those of prompt and target in tokens; the sum of both differences over all pairs
    is the least there is. Beyond the number of neutral prompts, the rest have none.
    """
    from scipy.optimize import linear_sum_assignment

    neutral = neutral_set()
    found = _encoded(request, lab, ref, neutral, range(len(neutral.prompts)))
    found = [target for target in found if target.positions]
    here, there = (
        np.array([(len(t.ids), len(t.positions)) for t in some]) for some in (targets, found)
    )
    _, chosen = linear_sum_assignment(np.abs(here[:, None] - there).sum(axis=2))
    return [found[i] for i in chosen]


def _spaced(count: int, wanted: int) -> list[int]:
    """Return up to `wanted` indices, evenly spaced from the first to the last."""
    return [int(i) for i in np.linspace(0, count - 1, min(count, wanted)).round()]


def _encoded(
    request: MedicalSaliencyRequest,
    lab: Lab,
    ref: ModelRef,
    concepts: ConceptSet,
    chosen: Sequence[int],
) -> list[Target]:
    prompts = [concepts.prompts[i] for i in chosen]
    entities = [concepts.entities[i] if concepts.entities else "" for i in chosen]
    encoded = lab.models.encode(ref, prompts, request.bos, request.chat, "table")
    rows = zip(prompts, entities, encoded, strict=True)
    return [_target(prompt, entity, one, request.target) for prompt, entity, one in rows]


def _target(prompt: str, entity: str, encoded: Any, target: str) -> Target:
    if target == "entity":
        start = prompt.rindex(entity)
        positions = encoded.covering(start, start + len(entity))
    else:
        positions = encoded.covering(0, len(prompt))[-1:]
    predicted = [position for position in positions if position > 0]
    return Target(prompt, entity, encoded.ids, predicted, len(positions) - len(predicted))
