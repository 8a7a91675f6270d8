"""Activation patching: which layer's output carries the answer from one prompt to another.

A pair is a clean and a corrupted prompt with an answer each. The score is the answer's minus the
foil's, at the prompt's end. One run is patched: in one layer, at chosen positions, a block's,
attention's, MLP's or head's output is replaced by that of the other run. Recovery is the share of
the difference between both runs that the patch carries over (backends/math/recovery.py).

Controls are part of every result: a patch with the run's own output, and steps of equal length in
random directions.

Source: "Medical Interpretability and Knowledge Maps of Large Language Models", ICLR 2026,
arXiv 2510.11390, branch patching; positions, prompts and pairs are this workbench's choices, which
docs/methods/medical_patching.md names.
"""

import functools
from collections.abc import Sequence

import numpy as np

from backends.contract import Method
from backends.lab import Lab
from backends.math.recovery import usable
from backends.methods.medical_patching.cases import Case, cases_of, columns_of
from backends.methods.medical_patching.join import Facts, joined
from backends.methods.medical_patching.request import (
    MedicalPatchingRequest,
    check,
    is_one_pair,
    pairs_of,
)
from backends.methods.medical_patching.result import MedicalPatchingResult
from backends.methods.medical_patching.runs import Plan, Source, base_part, layer_part

__all__ = ["METHOD", "MedicalPatchingRequest", "MedicalPatchingResult"]

REPEATS = 8
"""Random directions of one pair with one column; boards and sets have one each."""


def compute(request: MedicalPatchingRequest, lab: Lab) -> MedicalPatchingResult:
    """Run both prompts of every pair, then patch layer by layer."""
    ref = lab.model(request)
    entry = lab.known.catalog.get(ref.id)
    layers = entry.layers or 0
    lab.watch.step(0, layers, "reading the model")
    cases = cases_of(request, lab, ref)
    columns = [columns_of(request, case) for case in cases]
    base = dict(lab.part("base", {}, lambda: base_part(lab, ref, cases)))
    base["score"] = np.where([case.is_scored for case in cases], base["score"], np.float32("nan"))
    reasons = _reasons(request, base["score"])
    kept = [i for i, reason in enumerate(reasons) if not reason]
    plan = _plan(request, cases, columns, kept, layers, entry.heads or 0)
    source = Source(lab, ref, plan)
    scores = base["score"][1 if request.direction == "denoising" else 0][kept]
    facts = Facts(request, pairs_of(request, lab.known), cases, columns, reasons, base, plan)
    parts: list[dict[str, np.ndarray]] = []
    for layer in range(layers):
        lab.watch.step(layer, layers, f"layer {layer}")
        make = functools.partial(layer_part, source, layer, scores)
        parts.append(lab.part("layer", {"layer": layer}, make))
        if layer + 1 < layers:
            lab.watch.show(joined(facts, parts, lab, ref))
    lab.watch.step(layers, layers, "done")
    lab.note(n=len(kept), seed=request.seed)
    return joined(facts, parts, lab, ref)


def _reasons(request: MedicalPatchingRequest, scores: np.ndarray) -> list[str]:
    """Return why each pair is dropped, empty where it counts; one pair always counts."""
    if is_one_pair(request):
        return [""]
    right, enough = usable(*scores)
    reasons = np.where(right, np.where(enough, "", "gap below 0.5"), "clean answer wrong")
    found = np.where(np.isnan(scores[0]), "answer of several tokens", reasons)
    return [str(reason) for reason in found]


def _plan(
    request: MedicalPatchingRequest,
    cases: Sequence[Case],
    columns: Sequence[Sequence[Sequence[int]]],
    kept: Sequence[int],
    layers: int,
    heads: int,
) -> Plan:
    is_alone = is_one_pair(request) and request.positions != "each" and request.site != "heads"
    return Plan(
        cases=[cases[i] for i in kept],
        columns=[columns[i] for i in kept],
        site=request.site,
        layers=layers,
        heads=heads if request.site == "heads" else 0,
        random_draws=REPEATS if is_alone else 1,
        extended=request.positions == "all",
        seed=request.seed,
    )


METHOD = Method(
    "medical_patching",
    1,
    MedicalPatchingRequest,
    MedicalPatchingResult,
    compute,
    check=check,
    example=MedicalPatchingRequest(positions="each"),
    small={
        "model": "tiny",
        "clean": "The patient takes aspirin every day",
        "corrupted": "The doctor takes aspirin every day",
        "answer": " drug",
        "foil": " pain",
    },
    seconds=30,
)
