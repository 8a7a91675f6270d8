"""Saliency of a model's blocks for medical prompts: how strongly the loss depends on their weights.

For each prompt, L is the mean next-token cross-entropy of its target tokens (the entity). One
backward pass of log(L) gives the gradient of every weight. A block's saliency is the mean of
|gradient| over the weights of its attention (q, k, v, o projections) and MLP; embeddings, norms,
biases and the unembedding are left out. Curves are means over prompts with a bootstrap interval
over prompts. Two controls: neutral prompts of equal length, and their ratio, because raw saliency
is mostly the architecture's; and |weight x gradient|, which does not change when paired weights are
rescaled.

Source: "Medical Interpretability and Knowledge Maps of Large Language Models", ICLR 2026, arXiv
2510.11390; absolute values, target tokens, contrast and the weighted measure are this workbench's.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from backends.concepts.request import source_of
from backends.contract import Method
from backends.errors import BadRequest
from backends.lab import Lab
from backends.methods.medical_saliency.curves import (
    TooSmall,
    absolute_sums,
    block_means,
    log_loss,
    mean_curve,
    ratio_curve,
    resampled,
)
from backends.methods.medical_saliency.request import MedicalSaliencyRequest, check
from backends.methods.medical_saliency.result import MedicalSaliencyResult
from backends.methods.medical_saliency.targets import Target, neutral_targets, targets_of
from backends.models.catalog import ModelRef

__all__ = ["METHOD", "MedicalSaliencyRequest", "MedicalSaliencyResult"]

MEASURES, PARTS = 2, 3
"""|gradient| and |weight x gradient|; whole block, attention and MLP."""


@dataclass(frozen=True)
class Measured:
    """Prompts, and what was measured of each: NaN before it is, and for those skipped."""

    targets: list[Target]
    tokens: list[list[str]]
    scores: np.ndarray
    loss: np.ndarray

    def rows(self, measure: int = 0, part: int = 0) -> np.ndarray:
        """Return the prompts that count, float32 [sample, layer]."""
        rows = self.scores[:, measure, part]
        return np.asarray(rows[self.counted])

    @property
    def counted(self) -> np.ndarray:
        """Which prompts count."""
        return np.asarray(np.isfinite(self.scores[:, 0, 0]).any(axis=1))

    @property
    def skipped(self) -> int:
        """How many prompts were run and skipped."""
        return int(np.sum(np.isfinite(self.loss) & ~self.counted))


def compute(request: MedicalSaliencyRequest, lab: Lab) -> MedicalSaliencyResult:
    """Run each prompt forward and backward, a neutral one after it, and average."""
    ref = lab.model(request)
    lab.watch.step(0, 1, "reading the model")
    targets = targets_of(request, lab, ref, source_of(request, lab.known))
    domain = _unmeasured(lab, ref, targets)
    neutral = _unmeasured(lab, ref, neutral_targets(request, lab, ref, targets))
    order = list(_in_turn(domain, neutral))
    for done, (measured, i) in enumerate(order):
        lab.watch.step(done, len(order), f"gradients of prompt {done + 1} of {len(order)}")
        part = _part(lab, ref, measured.targets[i])
        measured.scores[i], measured.loss[i] = part["scores"], part["loss"][0]
        lab.watch.show(_result(request, domain, neutral))
    result = _result(request, domain, neutral)
    if not result.n:
        raise BadRequest(
            "target", "The model predicts every target with a loss below 1e-6 nats: no gradients."
        )
    lab.watch.step(len(order), len(order), "done")
    lab.note(n=result.n, n_neutral=result.n_neutral, seed=request.seed)
    return result


def _unmeasured(lab: Lab, ref: ModelRef, targets: list[Target]) -> Measured:
    layers = lab.known.catalog.get(ref.id).layers or 0
    tokens = [lab.models.show(ref, [t.ids[p] for p in t.positions]) for t in targets]
    scores = np.full((len(targets), MEASURES, PARTS, layers), np.nan, np.float32)
    return Measured(targets, tokens, scores, np.full(len(targets), np.nan, np.float32))


def _in_turn(domain: Measured, neutral: Measured) -> Iterator[tuple[Measured, int]]:
    """Yield a prompt, then a neutral one, so that the contrast grows with the curve."""
    for i in range(len(domain.targets)):
        yield domain, i
        if i < len(neutral.targets):
            yield neutral, i


def _part(lab: Lab, ref: ModelRef, target: Target) -> dict[str, np.ndarray]:
    fields = {"ids": target.ids, "positions": target.positions}
    return lab.part("gradients", fields, functools.partial(_gradients, lab, ref, target))


def _gradients(lab: Lab, ref: ModelRef, target: Target) -> dict[str, np.ndarray]:
    loss = log_loss(target.ids, target.positions)
    try:
        found = lab.models.gradients(ref, target.ids, loss, absolute_sums)
    except TooSmall as small:
        layers = lab.known.catalog.get(ref.id).layers or 0
        unknown = np.full((MEASURES, PARTS, layers), np.nan, np.float32)
        return {"scores": unknown, "loss": np.array([small.loss], np.float32)}
    scores = block_means(found.sums, found.weights)
    return {"scores": scores, "loss": np.array([np.exp(found.loss)], np.float32)}


def _result(
    request: MedicalSaliencyRequest, domain: Measured, neutral: Measured
) -> MedicalSaliencyResult:
    """Average what has been measured so far."""
    curves = {"saliency": (domain, 0), "saliency_weighted": (domain, 1)}
    curves |= {"neutral": (neutral, 0), "neutral_weighted": (neutral, 1)}
    arrays: dict[str, np.ndarray] = {}
    for name, (measured, measure) in curves.items():
        rows = measured.rows(measure)
        draws = resampled(rows, request.seed, int(measured is neutral))
        arrays |= _named(name, mean_curve(rows, draws))
    arrays |= _named("contrast", ratio_curve(domain.rows(), neutral.rows(), request.seed))
    return MedicalSaliencyResult(
        **arrays,
        saliency_attention=mean_curve(domain.rows(part=1)).mean,
        saliency_mlp=mean_curve(domain.rows(part=2)).mean,
        saliency_prompt=domain.scores[:, 0, 0].copy(),
        saliency_neutral=neutral.scores[:, 0, 0].copy(),
        loss=domain.loss.copy(),
        loss_neutral=neutral.loss.copy(),
        n=int(domain.counted.sum()),
        n_neutral=int(neutral.counted.sum()),
        skipped=domain.skipped,
        skipped_neutral=neutral.skipped,
        unpredicted=sum(target.unpredicted for target in domain.targets),
        layers=list(range(domain.scores.shape[-1])),
        source=request.domain or "table",
        target=request.target,
        prompts=[target.prompt for target in domain.targets],
        entities=[target.entity for target in domain.targets],
        tokens=domain.tokens,
        lengths=[len(target.ids) for target in domain.targets],
        neutral_prompts=[target.prompt for target in neutral.targets],
        neutral_tokens=neutral.tokens,
        neutral_lengths=[len(target.ids) for target in neutral.targets],
    )


def _named(name: str, curve: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), curve, strict=True))


METHOD = Method(
    "medical_saliency",
    1,
    MedicalSaliencyRequest,
    MedicalSaliencyResult,
    compute,
    check=check,
    example=MedicalSaliencyRequest(domain="drug"),
    small={"model": "tiny", "domain": "symptom", "n_prompts": 4},
    seconds=60,
)
