"""Four techniques on one layer axis: geometry, saliency, lesion and patching of medical domains.

Each technique is a method of its own, recalled or computed. Here its curve is smoothed, layers
where it stands out become intervals, and the number of techniques that cover a layer is counted.

Rules: geometry by the steepest rise (age: high anisotropy); the others by the 75th percentile. No
interval where a curve does not leave its own noise. The agreement is compared with intervals moved
along the layers at random. Source: "Medical Interpretability and Knowledge Maps of Large Language
Models", ICLR 2026, arXiv 2510.11390; guard, chance, stability and the dosage and progression rows
are this workbench's choices, see docs/methods/medical_axis.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from backends.contract import Method
from backends.lab import Lab
from backends.math.intervals import Interval, covered, jaccard, smoothed
from backends.methods.medical_axis.cells import Cell, cell
from backends.methods.medical_axis.request import MedicalAxisRequest, check
from backends.methods.medical_axis.result import TECHNIQUES, MedicalAxisResult

__all__ = ["METHOD", "MedicalAxisRequest", "MedicalAxisResult"]

HIGH_CONFIDENCE = 3
MOVES = 500
REPEATED = ("geometry", "saliency")
# Other seeds of the projection.
SEEDS = (1, 2)

Cells = Mapping[tuple[str, str], Cell | None]


def compute(request: MedicalAxisRequest, lab: Lab) -> MedicalAxisResult:
    """Compute or recall every cell, showing the axis as it grows; then the other models."""
    if request.models:
        return _side_by_side(request, lab)
    ref = lab.model(request)
    layers = lab.known.catalog.get(ref.id).layers or 0
    cells: dict[tuple[str, str], Cell | None] = {}
    wanted = [(d, t) for t in TECHNIQUES for d in request.domain_list]
    repeats = _repeats(request)
    total = len(wanted) + len(repeats)
    for i, (domain, technique) in enumerate(wanted):
        lab.watch.step(i, total, f"{technique} of {domain}")
        cells[domain, technique] = cell(request, lab, domain, technique)
        lab.watch.show(_joined(request, layers, cells, {}))
    stability: dict[tuple[str, str], list[tuple[Interval, ...]]] = {}
    for i, (domain, technique, changes) in enumerate(repeats, len(wanted)):
        lab.watch.step(i, total, f"{technique} of {domain} again, for its stability")
        again = cell(request, lab, domain, technique, **changes)
        if again is not None:
            stability.setdefault((domain, technique), []).append(again.intervals())
    result = _joined(request, layers, cells, stability)
    lab.watch.step(total, total, "done")
    lab.note(n=result.n, seed=request.seed, quick=request.quick)
    return result


def _side_by_side(request: MedicalAxisRequest, lab: Lab) -> MedicalAxisResult:
    """Return the first model's result with the best-layer rows of all of them."""
    fields = request.model_dump() | {"models": ""}
    found = [lab.result("medical_axis", fields | {"model": m}) for m in request.model_list]
    lab.model(request.model_copy(update={"model": request.model_list[0]}))
    lab.note(n=found[0].n, seed=request.seed, quick=request.quick, models=request.model_list)
    first = {name: getattr(found[0], name) for name in MedicalAxisResult.__dataclass_fields__}
    best = [row for one in found for row in one.best]
    return MedicalAxisResult(**first | {"best": best, "models": request.model_list})


def _repeats(request: MedicalAxisRequest) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the repeats of a domain's cell: the other template, and other seeds of the map."""
    if request.quick or not request.stability:
        return []
    other = {"template": "B" if request.template == "A" else "A"}
    is_random = request.projection == "umap"
    changes: dict[str, list[dict[str, Any]]] = {
        "geometry": [other, *({"seed": request.seed + s} for s in SEEDS if is_random)],
        "saliency": [other],
    }
    return [(d, t, change) for t in REPEATED for d in request.domain_list for change in changes[t]]


def _joined(
    request: MedicalAxisRequest,
    layers: int,
    cells: Cells,
    repeats: Mapping[tuple[str, str], Sequence[tuple[Interval, ...]]],
) -> MedicalAxisResult:
    """Put the cells together: intervals, agreement, chance, best layers, what is not defined."""
    domains = request.domain_list
    shape = (len(domains), len(TECHNIQUES), layers)
    grids = {name: np.full(shape, np.nan, np.float32) for name in _GRIDS}
    inside = np.zeros(shape, bool)
    counts = np.zeros(shape[:2], np.int32)
    stability = np.full(shape[:2], np.nan, np.float32)
    intervals, best = [], []
    for d, domain in enumerate(domains):
        for t, technique in enumerate(TECHNIQUES):
            found = cells.get((domain, technique))
            if found is None:
                continue
            for name in _GRIDS:
                grids[name][d, t] = getattr(found, name)
            runs = found.intervals()
            inside[d, t], counts[d, t] = covered(runs, layers), found.n
            same = [runs, *repeats.get((domain, technique), ())]
            stability[d, t] = _mean_jaccard(same, layers)
            intervals += [_named(domain, technique, run, found) for run in runs]
            best += [{"model": request.model, **row} for row in found.best]
    chance, chance_p = _chance(inside, request.seed)
    return MedicalAxisResult(
        curve=grids["curve"],
        curve_low=grids["low"],
        curve_high=grids["high"],
        control=grids["control"],
        smooth=_smooth(grids["curve"]),
        covered=inside,
        agreement=inside.sum(axis=1).astype(np.int32),
        overlap=_overlaps(inside),
        stability=stability,
        counts=counts,
        chance=chance,
        chance_p=chance_p,
        n=int(counts.sum()),
        domains=domains,
        techniques=list(TECHNIQUES),
        layers=list(range(layers)),
        intervals=intervals,
        best=best,
        models=[request.model],
        quick=request.quick,
    )


_GRIDS = ("curve", "low", "high", "control")


def _named(domain: str, technique: str, run: Interval, found: Cell) -> dict[str, Any]:
    return {
        "domain": domain,
        "technique": technique,
        "first": run[0],
        "last": run[1],
        "mean": float(np.nanmean(found.curve[run[0] : run[1] + 1])),
        "n": found.n,
    }


def _smooth(
    curves: Float[np.ndarray, "domain technique layer"],
) -> Float[np.ndarray, "domain technique layer"]:
    rows = curves.reshape(-1, curves.shape[-1])
    return np.stack([smoothed(row) for row in rows]).reshape(curves.shape).astype(np.float32)


def _mean_jaccard(found: Sequence[tuple[Interval, ...]], layers: int) -> float:
    """Return the mean Jaccard index of all pairs; NaN where nothing was repeated or found."""
    pairs = [jaccard(one, other, layers) for i, one in enumerate(found) for other in found[i + 1 :]]
    there = [value for value in pairs if np.isfinite(value)]
    return float(np.mean(there)) if there else float("nan")


def _overlaps(
    inside: Bool[np.ndarray, "domain technique layer"],
) -> Float[np.ndarray, "domain technique technique"]:
    """Return the Jaccard index of the layers of every two techniques of a domain."""
    both = (inside[:, :, None] & inside[:, None]).sum(axis=-1)
    union = (inside[:, :, None] | inside[:, None]).sum(axis=-1)
    is_there = np.asarray(inside.any(axis=-1))
    known = is_there[:, :, None] & is_there[:, None]
    return np.where(known, both / np.maximum(union, 1), np.nan).astype(np.float32)


def _chance(
    inside: Bool[np.ndarray, "domain technique layer"], seed: int
) -> tuple[Float[np.ndarray, "domain"], Float[np.ndarray, "domain"]]:
    """Move every technique's layers around a circle at random; count layers of high confidence.

    NaN for domains in which fewer than three techniques have an interval.
    """
    rng = np.random.default_rng([seed, 7])
    layers = inside.shape[-1]
    mean = np.full(len(inside), np.nan, np.float32)
    p = mean.copy()
    for d in range(len(inside)):
        there = inside[d][inside[d].any(axis=1)]
        if len(there) < HIGH_CONFIDENCE:
            continue
        moves = rng.integers(0, layers, (MOVES, len(there)))
        index = (np.arange(layers) + moves[..., None]) % layers
        moved = np.take_along_axis(np.broadcast_to(there, (MOVES, *there.shape)), index, axis=2)
        counted = np.sum(moved.sum(axis=1) >= HIGH_CONFIDENCE, axis=1)
        observed = int((there.sum(axis=0) >= HIGH_CONFIDENCE).sum())
        mean[d] = counted.mean()
        p[d] = (np.sum(counted >= observed) + 1) / (MOVES + 1)
    return mean, p


METHOD = Method(
    "medical_axis",
    1,
    MedicalAxisRequest,
    MedicalAxisResult,
    compute,
    check=check,
    example=MedicalAxisRequest(),
    small={"model": "tiny", "domains": "symptom", "quick": True},
    seconds=2_700,
)
