"""Lesions of a model's blocks: how much worse its answers become without each of them.

The whole model answers each question greedily. For each block the contribution is taken away, and
the next-token distributions along the whole model's answer are compared: severity is 1 where
nothing changed and 10 where nothing is shared (`backends/math/severity.py`). Nothing is generated
for a lesion, unless a judge reads text. Curves are means over questions with a bootstrap interval.

Three controls: a random direction of the contribution's length in its place; the block's own output
written back, which must change nothing; and the same lesion on neutral questions.

Source: "Medical Interpretability and Knowledge Maps of Large Language Models", ICLR 2026, arXiv
2510.11390; the paper's severity is the verdict of a language model, ours is a divergence.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from backends.concepts.questions import neutral_questions
from backends.contract import Method
from backends.errors import BadRequest
from backends.judges import judge_named
from backends.lab import Lab
from backends.lesions import LesionRequest, Text, mean_contributions, prompt_ids, questions_of
from backends.math.severity import mean_interval
from backends.methods.medical_lesion.request import MedicalLesionRequest, check
from backends.methods.medical_lesion.result import MedicalLesionResult
from backends.methods.medical_lesion.scores import (
    MEASURES,
    STEPS_PER_ANSWER,
    Asked,
    Run,
    answer,
    measure,
)
from backends.models.catalog import ModelRef

__all__ = ["METHOD", "MedicalLesionRequest", "MedicalLesionResult"]


def compute(request: MedicalLesionRequest, lab: Lab) -> MedicalLesionResult:
    """Answer and lesion one question after the other, a neutral one after each."""
    ref = lab.model(request)
    lab.watch.step(0, 1, "reading the model")
    run = _begun(request, lab, ref)
    total = (STEPS_PER_ANSWER + run.layers) * (len(run.own.ids) + len(run.neutral.ids))
    done = 0
    for asked, i in _in_turn(run.own, run.neutral):
        kind = "question" if asked is run.own else "neutral question"
        lab.watch.step(done, total, f"answering {kind} {i + 1} of {len(asked.ids)}")
        text = answer(run, asked, i)
        asked.texts.append(text)
        if text.answer:
            measure(run, asked, i, done + STEPS_PER_ANSWER, total, f"{kind} {i + 1}")
        done += STEPS_PER_ANSWER + run.layers
        if run.own.measured:
            lab.watch.show(_result(run))
    if not run.own.measured:
        raise BadRequest(
            "chat",
            f"The model answers none of {len(run.own.ids)} questions: its text ends at once.",
        )
    lab.watch.step(total, total, "done")
    result = _result(run)
    lab.note(n=result.n, n_neutral=result.n_neutral, seed=request.seed)
    return result


def _begun(request: MedicalLesionRequest, lab: Lab, ref: ModelRef) -> Run:
    asked = questions_of(request, lab.known)[: request.n_questions]
    controls = neutral_questions()[: len(asked)]
    layers = lab.known.catalog.get(ref.id).layers or 0
    own, neutral = (
        Asked(each, prompt_ids(request, lab, ref, each), [], _unknown(len(each), layers))
        for each in (asked, controls)
    )
    judge, mean = judge_named(request.judge), mean_contributions(request, lab, ref)
    return Run(request, lab, ref, judge, mean, own, neutral, {})


def _unknown(prompts: int, layers: int) -> Float[np.ndarray, "prompt layer measure"]:
    return np.full((prompts, layers, len(MEASURES)), np.nan, np.float32)


def _in_turn(own: Asked, neutral: Asked) -> Iterator[tuple[Asked, int]]:
    """Yield a question, then a neutral one, so that the control grows with the curve."""
    for i in range(len(own.ids)):
        yield own, i
        if i < len(neutral.ids):
            yield neutral, i


def _result(run: Run) -> MedicalLesionResult:
    """Average what has been measured so far."""
    own, neutral, request = run.own, run.neutral, run.request
    arrays: dict[str, np.ndarray] = {}
    for number, (name, rows) in enumerate(
        (
            ("severity", own.rows("severity")),
            ("severity_random", own.rows("severity_random")),
            ("severity_neutral", neutral.rows("severity")),
        )
    ):
        mean, low, high = mean_interval(rows, request.seed, number)
        arrays |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    for name in MEASURES[1:5]:
        arrays[name] = mean_interval(own.rows(name), request.seed)[0]
    return MedicalLesionResult(
        **arrays,
        severity_question=own.rows("severity").copy(),
        severity_identity_patch=run.patched["severity"],
        identity_deviation=float(run.patched["deviation"][0]),
        questions=own.questions,
        answers=_answers(run, own.texts, len(own.questions)),
        n=own.measured,
        n_neutral=neutral.measured,
        dropped=own.dropped,
        dropped_neutral=neutral.dropped,
        layers=list(range(run.layers)),
        ablation=request.ablation,
        judge=request.judge,
        source=request.domain or "own table",
        request=request.model_dump(mode="json", include=set(LesionRequest.model_fields)),
    )


def _answers(run: Run, texts: Sequence[Text], count: int) -> list[str]:
    """Return the answers as text; empty where there is none, or none yet."""
    known = [run.lab.models.text(run.ref, text.answer) for text in texts]
    return known + [""] * (count - len(known))


METHOD = Method(
    "medical_lesion",
    1,
    MedicalLesionRequest,
    MedicalLesionResult,
    compute,
    check=check,
    example=MedicalLesionRequest(domain="drug"),
    small={"model": "tiny", "n_questions": 2, "answer_tokens": 4},
    seconds=200,
)
