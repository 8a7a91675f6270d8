"""The layers' parts put together: recovery, its interval and controls, and what is said of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from backends.concepts.pairs import Pair
from backends.lab import Lab
from backends.math.recovery import (
    FEWEST_PAIRS,
    SMALLEST_GAP,
    mean_of_ratios,
    ratio_of_sums,
    ratios,
    recovery_interval,
)
from backends.methods.medical_patching.cases import Case
from backends.methods.medical_patching.request import MedicalPatchingRequest, is_one_pair
from backends.methods.medical_patching.result import MedicalPatchingResult
from backends.methods.medical_patching.runs import NEXT, Plan
from backends.models.catalog import ModelRef

DRAWS = 200
"""Bootstrap resamples of the pairs."""
UNITS = {"logit_difference": "logits", "log_probability": "nats per token"}


@dataclass(frozen=True)
class Facts:
    """What is known before the first layer; the plan holds the pairs that count."""

    request: MedicalPatchingRequest
    pairs: Sequence[Pair]
    cases: Sequence[Case]
    columns: Sequence[Sequence[Sequence[int]]]
    reasons: Sequence[str]
    base: Mapping[str, np.ndarray]
    plan: Plan

    @property
    def kept(self) -> list[int]:
        """The numbers of the pairs that count."""
        return [i for i, reason in enumerate(self.reasons) if not reason]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the run that is patched and of the other, of the pairs that count."""
        clean, corrupted = self.base["score"][:, self.kept]
        return (corrupted, clean) if self.request.direction == "denoising" else (clean, corrupted)


def joined(
    facts: Facts, parts: Sequence[Mapping[str, np.ndarray]], lab: Lab, ref: ModelRef
) -> MedicalPatchingResult:
    """Return the result of the layers there are; the others are NaN."""
    plan = facts.plan
    shape = (plan.layers, len(plan.cases), plan.width)
    change, random = (_stacked(parts, name, shape) for name in ("change", "random"))
    identity = _stacked(parts, "identity", shape[:2])
    mask = _mask(plan, len(parts))
    wide = slice(0, 1) if plan.heads else slice(None)
    recovery, by_chance = _recovery(facts, change), _recovery(facts, random)
    moved = change.mean(axis=1) if plan.cases else np.full((plan.layers, plan.width), np.nan)
    arrays: dict[str, Any] = {
        "recovery": recovery[:, wide],
        "logit_difference": moved[:, wide].astype(np.float32),
        "causal_mask": mask[:, wide],
        "recovery_random": by_chance[:, wide],
        "recovery_head": recovery[:, 1:] if plan.heads else None,
        "recovery_head_random": by_chance[:, 1:] if plan.heads else None,
        "identity": identity.max(axis=1, initial=0) if plan.cases else _nothing(plan.layers),
        **_over_pairs(facts, change[..., 0]),
    }
    return MedicalPatchingResult(
        **arrays, **_following(facts, parts, arrays, lab, ref), **_texts(facts, lab, ref)
    )


def _nothing(length: int) -> Float[np.ndarray, "length"]:
    return np.full(length, np.nan, np.float32)


def _stacked(
    parts: Sequence[Mapping[str, np.ndarray]], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    whole = np.full(shape, np.nan, np.float32)
    for layer, part in enumerate(parts):
        whole[layer] = part[name]
    return whole


def _mask(plan: Plan, done: int) -> Bool[np.ndarray, "layer column"]:
    """Say which columns were computed: those whose patch can change any pair's score."""
    found = np.zeros((plan.layers, plan.width), bool)
    for layer in range(done):
        for column in range(plan.width):
            found[layer, column] = any(
                plan.reaches(case, column, layer) for case in range(len(plan.cases))
            )
    return found


def _recovery(
    facts: Facts, change: Float[np.ndarray, "layer pair column"]
) -> Float[np.ndarray, "layer column"]:
    """Return one pair's recovery, NaN for a small gap, or a set's ratio of sums."""
    base, source = facts.ends
    layers, _, columns = change.shape
    if is_one_pair(facts.request):
        if abs(source[0] - base[0]) < SMALLEST_GAP:
            return np.full((layers, columns), np.nan, np.float32)
        return np.asarray(change[:, 0] / (source[0] - base[0]), dtype=np.float32)
    flat = change.transpose(1, 0, 2).reshape(len(base), layers * columns)
    found = ratio_of_sums(flat + base[:, None], base, source)
    return np.asarray(found.reshape(layers, columns), dtype=np.float32)


def _over_pairs(facts: Facts, change: Float[np.ndarray, "layer pair"]) -> dict[str, Any]:
    """Return scores, and for a set each pair's curve, the mean of ratios and the interval."""
    clean, corrupted = facts.base["score"]
    scores: dict[str, Any] = {
        "score_clean": clean,
        "score_corrupted": corrupted,
        "gap": clean - corrupted,
    }
    names = ("recovery_low", "recovery_high", "recovery_mean", "recovery_pair")
    if is_one_pair(facts.request):
        return scores | dict.fromkeys(names)
    base, source = facts.ends
    patched = change.T + base[:, None]
    rng = np.random.default_rng([facts.request.seed, 0])
    curves = np.full((len(facts.cases), len(change)), np.nan, np.float32)
    curves[facts.kept] = ratios(patched, base, source)
    found = (
        *recovery_interval(patched, base, source, DRAWS, rng),
        mean_of_ratios(patched, base, source),
        curves,
    )
    return scores | {
        name: np.asarray(array, dtype=np.float32) for name, array in zip(names, found, strict=True)
    }


def _following(
    facts: Facts,
    parts: Sequence[Mapping[str, np.ndarray]],
    arrays: Mapping[str, Any],
    lab: Lab,
    ref: ModelRef,
) -> dict[str, Any]:
    """Return one pair's next tokens: of both runs, of every patch, and of the best one."""
    empty: dict[str, Any] = {"next_clean": [], "next_corrupted": [], "next_patched": []}
    if not is_one_pair(facts.request):
        return {**empty, "next_id": None, "next_probability": None, "best": None, "words": {}}
    width = arrays["recovery"].shape[1]
    shape = (facts.plan.layers, width, NEXT)
    ids, chances = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for layer, part in enumerate(parts):
        ids[layer], chances[layer] = part["next_id"][:width], part["next_probability"][:width]
    own = [(facts.base["next_id"][s, 0], facts.base["next_probability"][s, 0]) for s in (0, 1)]
    best = _best(arrays["recovery"], arrays["causal_mask"])
    known = [int(i) for i in np.unique([*ids.ravel(), *own[0][0], *own[1][0]])]
    words = dict(zip(map(str, known), lab.models.show(ref, known), strict=True))

    def told(pair: tuple[np.ndarray, np.ndarray]) -> list[list[str | float]]:
        return [[words[str(int(i))], float(p)] for i, p in zip(*pair, strict=True)]

    return {
        "next_id": ids,
        "next_probability": chances,
        "next_clean": told(own[0]),
        "next_corrupted": told(own[1]),
        "next_patched": told((ids[tuple(best)], chances[tuple(best)])) if best else [],
        "best": best,
        "words": words,
    }


def _best(
    recovery: Float[np.ndarray, "layer pos"], mask: Bool[np.ndarray, "layer pos"]
) -> list[int] | None:
    """Return layer and column of the highest recovery that was computed."""
    there = np.where(mask & np.isfinite(recovery), recovery, -np.inf)
    if not np.isfinite(there).any():
        return None
    return [int(i) for i in np.unravel_index(np.argmax(there), there.shape)]


def _texts(facts: Facts, lab: Lab, ref: ModelRef) -> dict[str, Any]:
    request, cases = facts.request, facts.cases
    entry = lab.known.catalog.get(ref.id)
    shown = [lab.models.show(ref, case.base) for case in cases]
    columns = shown[0] if request.positions == "each" else [request.positions]
    return {
        "n": len(facts.kept),
        "layers": list(range(facts.plan.layers)),
        "columns": columns,
        "metric": request.metric,
        "positions": request.positions,
        "direction": request.direction,
        "site": request.site,
        "kv_heads": entry.kv_heads or 0,
        "random_draws": facts.plan.random_draws,
        "pairs": [[p.clean, p.corrupted, p.answer, p.foil] for p in facts.pairs],
        "dropped_because": list(facts.reasons),
        "dropped": dict(Counter(reason for reason in facts.reasons if reason)),
        "tokens_clean": [lab.models.show(ref, case.clean) for case in cases],
        "tokens_corrupted": [lab.models.show(ref, case.corrupted) for case in cases],
        "pairing": [case.pairing.text() for case in cases],
        "alone_clean": [list(case.pairing.alone_clean) for case in cases],
        "alone_corrupted": [list(case.pairing.alone_corrupted) for case in cases],
        "patched_positions": [sorted({p for c in one for p in c}) for one in facts.columns],
        "notes": _notes(facts),
    }


def _notes(facts: Facts) -> list[str]:
    """Say in sentences what a reader must know before believing the numbers."""
    if not is_one_pair(facts.request):
        return _notes_of_set(facts)
    case, unit = facts.cases[0], UNITS[facts.request.metric]
    clean, corrupted = (float(s) for s in facts.base["score"][:, 0])
    notes = []
    if case.clean == case.corrupted:
        notes.append("Both prompts are the same tokens, so no patch can change anything.")
    elif abs(clean - corrupted) < SMALLEST_GAP:
        notes.append(
            f"The clean and the corrupted run differ by {abs(clean - corrupted):.3g} {unit}, less "
            f"than {SMALLEST_GAP}; recovery is not defined."
        )
    if clean <= 0:
        notes.append(f"The clean run does not prefer the answer (score {clean:.3g} {unit}).")
    for side, alone in (("clean", case.pairing.alone_clean),
                        ("corrupted", case.pairing.alone_corrupted)):  # fmt: skip
        if alone:
            listed = ", ".join(map(str, alone[:12])) + (", …" if len(alone) > 12 else "")
            notes.append(f"Positions of the {side} prompt without a partner: {listed}.")
    return notes


def _notes_of_set(facts: Facts) -> list[str]:
    kept, given = len(facts.kept), len(facts.reasons)
    notes = []
    if kept < given:
        counted = Counter(reason for reason in facts.reasons if reason)
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(counted.items()))
        notes.append(f"{given - kept} of {given} pairs were dropped: {listed}.")
    if "answer of several tokens" in facts.reasons:
        notes.append("Answers of several tokens need metric = log_probability.")
    if kept < FEWEST_PAIRS:
        notes.append(f"{kept} pairs are left; an interval needs {FEWEST_PAIRS}.")
    if unequal := sum(len(case.clean) != len(case.corrupted) for case in facts.cases):
        notes.append(f"{unequal} pairs have prompts of unequal length; see their pairing.")
    return notes
