"""The answer of a lesioned model beside that of the whole model, to one question.

The whole model and the model without one block's contribution answer the question greedily, each
with a KV cache of its own. Along the whole model's answer the next-token distributions of both are
compared position by position, as in `medical_lesion`; so are those with a random direction of equal
length in place of the contribution, the control.

Source: arXiv 2510.11390 (a block replaced by the identity); measures: `backends/math/severity.py`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from pydantic import Field

from backends.contract import Known, Method
from backends.errors import BadRequest
from backends.lab import Lab
from backends.lesions import (
    LesionRequest,
    Text,
    answered,
    lesion,
    mean_contributions,
    prompt_ids,
    questions_of,
    random_contribution,
    run_baseline,
    run_changed,
    shift_of,
)


class MedicalLesionAnswerRequest(LesionRequest):
    """Which block is lesioned, and which question is asked."""

    layer: int = Field(0, ge=0, description="Block that is lesioned")
    question: int = Field(0, ge=0, description="Number of the question in its set, from 0")


@dataclass(frozen=True, slots=True)
class MedicalLesionAnswerResult:
    """`divergence` (Jensen-Shannon) and `kl` are in nats, at the positions that predict each token
    of the whole model's answer; `top1` is 1 where both models have the same most probable token.
    `divergence_random` is that of a random direction in place of the block's contribution.

    `same_tokens` is the number of tokens that both answers begin with.
    """

    divergence: Float[np.ndarray, "pos"]
    kl: Float[np.ndarray, "pos"]
    top1: Float[np.ndarray, "pos"]
    delta_nll: Float[np.ndarray, "pos"]
    divergence_random: Float[np.ndarray, "pos"]
    severity: float
    severity_random: float
    n: int
    question: str
    baseline_answer: str
    lesioned_answer: str
    baseline_tokens: list[str]
    lesioned_tokens: list[str]
    same_tokens: int
    layer: int
    ablation: str


def check(request: MedicalLesionAnswerRequest, known: Known) -> None:
    """Refuse a layer that the model lacks and a question that the set lacks."""
    known.catalog.get(request.model).check_layers((request.layer,), "layer")
    count = len(questions_of(request, known))
    if request.question >= count:
        raise BadRequest("question", f"Question {request.question} is outside 0..{count - 1}.")


def compute(request: MedicalLesionAnswerRequest, lab: Lab) -> MedicalLesionAnswerResult:
    """Answer twice, then compare both models along the first answer."""
    ref = lab.model(request)
    lab.watch.step(0, 3, "answer of the whole model")
    question = questions_of(request, lab.known)[request.question]
    (ids,) = prompt_ids(request, lab, ref, [question])
    answer = answered(lab, ref, ids, request.answer_tokens)
    if not answer:
        raise BadRequest("question", "The whole model gives no answer: its text ends at once.")
    edit = lesion(request.layer, request.ablation, mean_contributions(request, lab, ref))
    lab.watch.step(1, 3, "answer of the lesioned model")
    changed = answered(lab, ref, ids, request.answer_tokens, edit)
    lab.watch.step(2, 3, "divergence along the answer")
    base = run_baseline(lab, ref, Text(question, ids, answer))
    moved = shift_of(base, run_changed(lab, ref, base, request.layer, edit))
    drawn = random_contribution(request.layer, [request.seed, request.question, request.layer])
    control = shift_of(base, run_changed(lab, ref, base, request.layer, drawn))
    lab.watch.step(3, 3, "done")
    lab.note(n=len(answer), seed=request.seed)
    return MedicalLesionAnswerResult(
        divergence=moved.js.astype(np.float32),
        kl=moved.kl.astype(np.float32),
        top1=moved.same_top.astype(np.float32),
        delta_nll=moved.delta_nll.astype(np.float32),
        divergence_random=control.js.astype(np.float32),
        severity=moved.severity,
        severity_random=control.severity,
        n=len(answer),
        question=question,
        baseline_answer=lab.models.text(ref, answer),
        lesioned_answer=lab.models.text(ref, changed),
        baseline_tokens=lab.models.show(ref, answer),
        lesioned_tokens=lab.models.show(ref, changed),
        same_tokens=shared_start(answer, changed),
        layer=request.layer,
        ablation=request.ablation,
    )


def shared_start(one: list[int], other: list[int]) -> int:
    """Return how many tokens two texts begin with in common."""
    differs = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differs, min(len(one), len(other)))


METHOD = Method(
    "medical_lesion_answer",
    1,
    MedicalLesionAnswerRequest,
    MedicalLesionAnswerResult,
    compute,
    check=check,
    example=MedicalLesionAnswerRequest(domain="drug", layer=12),
    small={"model": "tiny", "layer": 1, "answer_tokens": 4},
    seconds=15,
)
