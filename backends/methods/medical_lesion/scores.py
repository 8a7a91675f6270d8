"""Scores of lesions, question by question, kept in parts of a few layers."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from backends.judges import Judge
from backends.lab import Lab
from backends.lesions import (
    Baseline,
    Text,
    answered,
    lesion,
    own_output,
    random_contribution,
    run_baseline,
    run_changed,
    shift_of,
)
from backends.methods.medical_lesion.request import MedicalLesionRequest
from backends.models.catalog import ModelRef

# Blocks of one part: what a stopped run may have to do again takes a few seconds.
LAYERS_PER_PART = 6
MEASURES = ("severity", "js", "kl", "top1_agreement", "delta_nll", "severity_random")
# Progress counts lesions; an answer takes about as long as this many.
STEPS_PER_ANSWER = 10


@dataclass
class Asked:
    """Questions, their answers as far as they are known, and what was measured of each."""

    questions: list[str]
    ids: list[list[int]]
    texts: list[Text]
    scores: Float[np.ndarray, "prompt layer measure"]

    def rows(self, measure: str) -> Float[np.ndarray, "prompt layer"]:
        """Return one measure; NaN where it is not known."""
        return self.scores[:, :, MEASURES.index(measure)]

    @property
    def measured(self) -> int:
        """How many questions are measured at every layer."""
        return int(np.isfinite(self.rows("severity")).all(axis=1).sum())

    @property
    def dropped(self) -> int:
        """How many questions got no answer."""
        return sum(not text.answer for text in self.texts)


@dataclass(frozen=True)
class Run:
    """One computation: what its pieces share. `patched` grows by the first question's layers."""

    request: MedicalLesionRequest
    lab: Lab
    ref: ModelRef
    judge: Judge
    mean: Float[np.ndarray, "layer d_model"] | None
    own: Asked
    neutral: Asked
    patched: dict[str, np.ndarray]

    @property
    def layers(self) -> int:
        """How many blocks the model has."""
        return int(self.own.scores.shape[1])


def answer(run: Run, asked: Asked, i: int) -> Text:
    """Return the whole model's answer to a question, as a part."""

    def made() -> dict[str, np.ndarray]:
        tokens = answered(run.lab, run.ref, asked.ids[i], run.request.answer_tokens)
        return {"tokens": np.array(tokens, np.int64)}

    tokens = run.lab.part("answer", {"ids": asked.ids[i]}, made)["tokens"]
    return Text(asked.questions[i], asked.ids[i], tokens.tolist())


def measure(run: Run, asked: Asked, i: int, done: int, total: int, name: str) -> None:
    """Fill a question's row, some layers at a time; the baseline is run where one is missing."""
    text, count = asked.texts[i], run.layers
    base = functools.cache(functools.partial(run_baseline, run.lab, run.ref, text))
    for first in range(0, count, LAYERS_PER_PART):
        layers = range(first, min(first + LAYERS_PER_PART, count))

        def made(layers: range = layers) -> dict[str, np.ndarray]:
            rows = []
            for layer in layers:
                run.lab.watch.step(done + layer, total, f"{name}: lesion of layer {layer}")
                rows.append(_scores(run, asked, i, base(), layer))
            return {"scores": np.array(rows, np.float32)}

        fields = {"own": asked is run.own, "question": i, "first": first}
        asked.scores[i, list(layers)] = run.lab.part("lesions", fields, made)["scores"]
    if asked is run.own and not run.patched:
        made_patches = functools.partial(_patches, run, base)
        run.patched.update(run.lab.part("patches", {"question": i}, made_patches))


def _scores(run: Run, asked: Asked, i: int, base: Baseline, layer: int) -> list[float]:
    """Return the measures of one lesion, in the order of `MEASURES`."""
    lab, ref, is_own = run.lab, run.ref, asked is run.own
    lab.watch.count("lesions")
    edit = functools.partial(lesion, layer, run.request.ablation, run.mean)
    moved = shift_of(base, run_changed(lab, ref, base, layer, edit()))
    js, kl = float(moved.js.mean()), float(moved.kl.mean())
    found = [_judged(run, base, js, edit), js, kl]
    found += [float(moved.same_top.mean()), float(moved.delta_nll.mean())]
    if not is_own:
        return [*found, float("nan")]
    drawn = functools.partial(random_contribution, layer, [run.request.seed, i, layer])
    other = shift_of(base, run_changed(lab, ref, base, layer, drawn()))
    return [*found, _judged(run, base, float(other.js.mean()), drawn)]


def _judged(run: Run, base: Baseline, js: float, edit: Any) -> float:
    """Return the judge's score of a change; the lesioned answer is generated where it asks."""
    models, text = run.lab.models, base.text
    if not run.judge.needs_answer:
        return run.judge.judged(text.question, models.text(run.ref, text.answer), "", js)
    tokens = answered(run.lab, run.ref, text.ids, run.request.answer_tokens, edit())
    before, after = (models.text(run.ref, ids) for ids in (text.answer, tokens))
    return run.judge.judged(text.question, before, after, js)


def _patches(run: Run, base: Callable[[], Baseline]) -> dict[str, np.ndarray]:
    """Write each block's own output back; return severities and the largest change of a logit."""
    severities, deviation = [], 0.0
    for layer in range(run.layers):
        run.lab.watch.check()
        logits = run_changed(run.lab, run.ref, base(), layer, own_output(base(), layer))
        severities.append(shift_of(base(), logits).severity)
        deviation = max(deviation, float(np.abs(logits - base().logits).max()))
    return {
        "severity": np.array(severities, np.float32),
        "deviation": np.array([deviation], np.float64),
    }
