"""One cell of the axis: the curve of one domain by one technique, from that technique's method."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from backends.lab import Lab
from backends.math.intervals import Interval, half_width, high_intervals, rise_intervals
from backends.methods.medical_axis.request import (
    QUICK_PROMPTS,
    QUICK_QUESTIONS,
    MedicalAxisRequest,
)

SHARED = ("model", "dtype", "attention", "bos", "chat")
# Domains that a technique has data for.
HAS = {
    "geometry": ("age", "symptom", "disease", "progression", "drug"),
    "saliency": ("age", "symptom", "disease", "progression", "drug"),
    "lesion": ("age", "symptom", "disease", "progression", "drug"),
    "patching": ("age", "symptom", "disease", "drug", "dosage"),
}
METRICS = {
    "age": (("age, R2 linearity", "r2_pc1", 0),),
    "symptom": (("symptoms, silhouette", "silhouette", 0),),
    "disease": (("diseases, silhouette", "silhouette", 0),),
    "drug": (
        ("drugs by mechanism", "silhouette", 1),
        ("drugs by specialty", "silhouette", 0),
    ),
}
"""Rows of the best-layer table: name, array, label column."""


@dataclass(frozen=True)
class Cell:
    """A curve over layers with its band, its control, N, and rows for the best-layer table."""

    curve: Float[np.ndarray, "layer"]
    low: Float[np.ndarray, "layer"]
    high: Float[np.ndarray, "layer"]
    control: Float[np.ndarray, "layer"]
    n: int
    rises: bool = False
    best: list[dict[str, Any]] = field(default_factory=list)

    def intervals(self) -> tuple[Interval, ...]:
        """Return where the curve stands out, by the rule of its technique."""
        rule = rise_intervals if self.rises else high_intervals
        return rule(self.curve, half_width(self.low, self.high))


def cell(
    request: MedicalAxisRequest, lab: Lab, domain: str, technique: str, **changes: Any
) -> Cell | None:
    """Compute or recall a cell; None where a technique has no data for a domain.

    `changes` replace the template or the seed, for repeats.
    """
    if domain not in HAS[technique]:
        return None
    method, fields = _asked(request, domain, technique)
    shared = {name: getattr(request, name) for name in SHARED} | {"seed": request.seed}
    found = lab.result(method, {**shared, **fields, **changes})
    return _CELLS[technique](request, domain, found)


def _asked(request: MedicalAxisRequest, domain: str, technique: str) -> tuple[str, dict[str, Any]]:
    """Return the method of a technique, and the fields of its request that are not shared."""
    quick = request.quick
    of_set = {"domain": domain, "template": request.template}
    questions = QUICK_QUESTIONS if quick else request.n_questions
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "geometry": (
            "knowledge_map",
            {**of_set, "projection": "pca" if quick else request.projection},
        ),
        "saliency": (
            "medical_saliency",
            {**of_set, "n_prompts": QUICK_PROMPTS if quick else request.n_prompts},
        ),
        "lesion": ("medical_lesion", {"domain": domain, "n_questions": questions}),
        "patching": ("medical_patching", {"pairs": domain, "positions": "entity"}),
    }
    return asked[technique]


def _geometry(request: MedicalAxisRequest, domain: str, found: Any) -> Cell:
    unknown = np.full(len(found.layers), np.nan, np.float32)
    best = [_best(found, *row) for row in METRICS.get(domain, ())]
    if domain == "age":
        return Cell(found.anisotropy, unknown, unknown, unknown, found.n, best=best)
    if domain == "progression":
        return _progression(found, request.seed, unknown)
    return Cell(
        found.silhouette[0],
        found.silhouette_low[0],
        found.silhouette_high[0],
        found.silhouette_null[0],
        found.n,
        rises=True,
        best=best,
    )


def _progression(found: Any, seed: int, unknown: np.ndarray) -> Cell:
    """Return the mean rank correlation over diseases, with a bootstrap over them."""
    rows = np.asarray(found.spearman, np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 3:
        return Cell(unknown, unknown, unknown, unknown, len(rows), rises=True)
    drawn = np.random.default_rng(seed).integers(0, len(rows), (200, len(rows)))
    low, high = np.percentile(rows[drawn].mean(axis=1), (2.5, 97.5), axis=0)
    mean = rows.mean(axis=0).astype(np.float32)
    low, high = low.astype(np.float32), high.astype(np.float32)
    return Cell(mean, low, high, unknown, len(rows), rises=True)


def _best(found: Any, name: str, array: str, column: int) -> dict[str, Any]:
    """Return a row of the best-layer table: the maximum, its layer, and what chance would give.

    The maximum over layers is biased upward: `null` is the 95th percentile of the null's maximum,
    `depths` are the values at 25, 50, 75 and 100 % of the layers.
    """
    values = np.asarray(getattr(found, array), np.float64)
    curve = values[column] if values.ndim == 2 else values
    null = float(found.silhouette_null_max[column]) if array == "silhouette" else float("nan")
    return best_row(name, curve, found.n, null)


def best_row(
    name: str, curve: Float[np.ndarray, "layer"], n: int, null: float = float("nan")
) -> dict[str, Any]:
    """Return a row of the best-layer table; None where a number is not defined."""
    if not np.isfinite(curve).any():
        return {"metric": name, "score": None, "layer": None, "null": None, "depths": [], "n": n}
    layer, last = int(np.nanargmax(curve)), len(curve) - 1
    depths = [float(curve[round(last * share)]) for share in (0.25, 0.5, 0.75, 1.0)]
    return {
        "metric": name,
        "score": float(curve[layer]),
        "layer": layer,
        "null": null if np.isfinite(null) else None,
        "depths": [d if np.isfinite(d) else None for d in depths],
        "n": n,
    }


def _saliency(request: MedicalAxisRequest, domain: str, found: Any) -> Cell:
    if request.saliency == "contrast":
        even = np.ones_like(found.contrast)
        return Cell(found.contrast, found.contrast_low, found.contrast_high, even, found.n)
    return Cell(found.saliency, found.saliency_low, found.saliency_high, found.neutral, found.n)


def _lesion(request: MedicalAxisRequest, domain: str, found: Any) -> Cell:
    return Cell(
        found.severity,
        found.severity_low,
        found.severity_high,
        found.severity_random,
        found.n,
    )


def _patching(request: MedicalAxisRequest, domain: str, found: Any) -> Cell:
    curve, random = found.recovery[:, 0], found.recovery_random[:, 0]
    unknown = np.full_like(curve, np.nan)
    low = unknown if found.recovery_low is None else found.recovery_low
    high = unknown if found.recovery_high is None else found.recovery_high
    best = [best_row("dosage, patching P", curve, found.n)] if domain == "dosage" else []
    return Cell(curve, low, high, random, found.n, best=best)


_CELLS = {
    "geometry": _geometry,
    "saliency": _saliency,
    "lesion": _lesion,
    "patching": _patching,
}
