"""Everything that is measured of one sequence of partitions, part by part.

Grids and Sankey layout come first and are shown; the null and the contributions of the elements
follow in parts, so that they can be stopped, go on, and are drawn as they come.

Null: the labels are permuted within each scale, which keeps the cluster sizes and breaks every
relation between scales. z = (observed - mean) / standard deviation over the draws; p is two-sided,
2 min(#{draws >= observed} + 1, #{draws <= observed} + 1) / (draws + 1), at most 1.

Contribution of an element: the average conflict without it (and without its twins, the elements
that no scale separates from it) minus the average with it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from backends.lab import Lab
from backends.math import conflicts
from backends.math.hilbert import compile_kernels, hilbert_functions
from backends.math.nerve import betti_curves, simplex_count
from backends.math.partitions import numbered, reduced
from backends.math.sankey import optimize
from backends.partitions.result import PartitionResult
from backends.partitions.sequence import PartitionSequence

# Beta_2 of a larger nerve would take minutes.
MOST_SIMPLICES = 20_000
# Size (elements times scales squared) of the work of one part: a second or two.
PART = 4_000_000
# Fewest draws that a standard deviation is taken from.
FEWEST_DRAWS = 20

Fields = dict[str, Any]


def analyze(
    sequence: PartitionSequence,
    lab: Lab,
    draws: int,
    contributions: bool,
    seed: int,
    made: Callable[..., Any] = PartitionResult,
) -> Any:
    """Return what `made` makes of the fields of a `PartitionResult`.

    `lab` gives the parts and is told of the progress.
    """
    labels = sequence.labels
    groups = int(reduced(labels).labels.shape[1]) if contributions else 0
    total = 1 + draws + groups
    lab.watch.step(0, total, "Hilbert functions")
    fields = _grids(sequence, lab, seed) | _unknown(labels, draws, seed)
    lab.watch.show(made(**fields))
    if draws or groups:
        lab.watch.step(1, total, "compiling the inner loops")
        compile_kernels()
    for null in _null(labels, lab, draws, seed, total):
        fields |= _compared(fields, null, labels)
        lab.watch.show(made(**fields))
    if contributions:
        fields |= _contributions(fields, labels, lab, 1 + draws, total)
    lab.watch.step(total, total, "done")
    lab.note(n=labels.shape[1], seed=seed, draws=draws)
    return made(**fields)


def _grids(sequence: PartitionSequence, lab: Lab, seed: int) -> Fields:
    """Return everything but null and contributions."""
    labels = sequence.labels
    hf0, hf1 = _grids_part(lab, labels)
    n_clusters = labels.max(axis=1).astype(np.int64) + 1
    c0 = conflicts.zero_conflict(hf0, n_clusters)
    layout = optimize(labels, seed, check=lab.watch.check)
    return {
        "hf0": hf0,
        "hf1": hf1,
        "c0": c0.astype(np.float32),
        "delta1": conflicts.delta1(hf1).astype(np.float32),
        "delta1_padded": conflicts.delta1_padded(hf1).astype(np.float32),
        "labels": labels,
        "n_clusters": n_clusters,
        **_companion(labels, hf0, hf1),
        **_clusters(labels),
        "cluster_position": np.concatenate(layout.position).astype(np.int32),
        "n": labels.shape[1],
        "scales": list(sequence.scales),
        "scale_names": list(sequence.scale_names),
        "elements": list(sequence.elements),
        "cluster_names": [list(names) for names in sequence.cluster_names],
        "notes": list(sequence.notes),
        "c0_bar": conflicts.average(c0),
        "c1_bar": conflicts.average(hf1),
        "c0_bar_scale_weighted": conflicts.scale_weighted(c0, sequence.scales),
        "c1_bar_scale_weighted": conflicts.scale_weighted(hf1, sequence.scales),
        "max_hf1": int(hf1.max()),
        "crossing_lower_bound": int(np.trace(hf1, 1)),
        "crossing_number": int(layout.crossings),
        "crossing_number_weighted": int(layout.crossings_weighted),
    }


def _grids_part(lab: Lab, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    def made() -> Mapping[str, np.ndarray]:
        hf0, hf1 = hilbert_functions(labels, lab.watch.check)
        return {"hf0": hf0, "hf1": hf1}

    part = lab.part("grids", {}, made)
    return part["hf0"], part["hf1"]


def _companion(
    labels: Int[np.ndarray, "scale element"],
    hf0: Int[np.ndarray, "scale scale"],
    hf1: Int[np.ndarray, "scale scale"],
) -> Fields:
    """Return the one-parameter companion: row s = 0. Degree 2 is NaN for large sequences."""
    ratio = 1 - hf0[0] / (labels.max(axis=1) + 1)
    second = np.full(len(labels), np.nan)
    small = reduced(labels)
    scales, elements = small.labels.shape
    if simplex_count(scales, elements, 2) <= MOST_SIMPLICES:
        second = _changes(betti_curves(small.labels, 2)[2][small.row_of])
    return {
        "mcf_c0": ratio.astype(np.float32),
        "mcf_delta1": _changes(hf1[0]).astype(np.float32),
        "mcf_delta2": second.astype(np.float32),
        "mcf_c0_bar": float(ratio[:-1].mean()) if len(ratio) > 1 else 0.0,
    }


def _changes(curve: np.ndarray) -> np.ndarray:
    return np.diff(curve, prepend=0).astype(np.float64)


def _clusters(labels: Int[np.ndarray, "scale element"]) -> Fields:
    sizes = [np.bincount(row) for row in labels]
    return {
        "cluster_scale": np.repeat(np.arange(len(sizes)), [len(s) for s in sizes]).astype(np.int32),
        "cluster_label": np.concatenate([np.arange(len(s)) for s in sizes]).astype(np.int32),
        "cluster_size": np.concatenate(sizes).astype(np.int32),
    }


def _unknown(labels: np.ndarray, draws: int, seed: int) -> Fields:
    """Return null and contributions as long as nothing is known of them."""
    scales, elements = labels.shape
    grid = np.full((scales, scales), np.nan, np.float32)
    names = [f"null_{degree}_{what}" for degree in ("hf0", "hf1") for what in _BAND]
    return {
        **dict.fromkeys(names, grid),
        "null_c0_bar": np.zeros(0, np.float32),
        "null_c1_bar": np.zeros(0, np.float32),
        "contribution_c0": np.full(elements, np.nan, np.float32),
        "contribution_c1": np.full(elements, np.nan, np.float32),
        "draws": 0,
        "draws_wanted": draws,
        **dict.fromkeys(("c0_z", "c1_z", "c0_p", "c1_p")),
        "seed": seed,
    }


_BAND = ("low", "mean", "high")

# The null


def _null(
    labels: np.ndarray, lab: Lab, draws: int, seed: int, total: int
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the grids of the draws so far, each time their number has doubled, and of all."""
    size = _per_part(labels)
    parts: list[dict[str, np.ndarray]] = []
    shown = 0
    for first in range(0, draws, size):
        lab.watch.step(1 + first, total, f"shuffled sequence {first + 1} of {draws}")
        last = min(first + size, draws)

        def made(first: int = first, last: int = last) -> Mapping[str, np.ndarray]:
            return _drawn(labels, range(first, last), seed, lab.watch.check)

        parts.append(lab.part("null", {"first": first, "last": last}, made))
        if last == draws or last >= max(FEWEST_DRAWS, 2 * shown):
            shown = last
            yield {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _per_part(labels: np.ndarray) -> int:
    scales, elements = labels.shape
    return int(np.clip(PART // (elements * scales**2), 1, 20))


def _drawn(
    labels: np.ndarray, draws: range, seed: int, check: Callable[[], None]
) -> dict[str, np.ndarray]:
    """Return the grids of sequences whose labels are permuted within each scale."""
    pairs = []
    for draw in draws:
        rng = np.random.default_rng([seed, draw])
        pairs.append(hilbert_functions(rng.permuted(labels, axis=1), check))
    hf0, hf1 = (np.stack(grids).astype(np.int32) for grids in zip(*pairs, strict=True))
    return {"hf0": hf0, "hf1": hf1}


def _compared(fields: Fields, null: Mapping[str, np.ndarray], labels: np.ndarray) -> Fields:
    """Return the null's band per cell and what it says of both averages."""
    found: Fields = {"draws": len(null["hf0"])}
    n_clusters = labels.max(axis=1).astype(np.int64) + 1
    ratios = [conflicts.zero_conflict(g.astype(np.int64), n_clusters) for g in null["hf0"]]
    for degree, grids in (("hf0", null["hf0"]), ("hf1", null["hf1"])):
        low, high = np.percentile(grids, (2.5, 97.5), axis=0)
        for what, grid in zip(_BAND, (low, grids.mean(axis=0), high), strict=True):
            found[f"null_{degree}_{what}"] = grid.astype(np.float32)
    for name, each in (("c0", ratios), ("c1", list(null["hf1"]))):
        averages = np.array([conflicts.average(grid) for grid in each])
        found[f"null_{name}_bar"] = averages.astype(np.float32)
        found |= _scored(name, fields[f"{name}_bar"], averages)
    return found


def _scored(name: str, observed: float, draws: Float[np.ndarray, "draw"]) -> Fields:
    """Return z and the two-sided p of an average; None without enough draws or spread."""
    spread = float(draws.std(ddof=1)) if len(draws) >= FEWEST_DRAWS else 0.0
    if spread <= 1e-12:
        return {f"{name}_z": None, f"{name}_p": None}
    near = 1e-9 * max(1.0, abs(observed))
    beyond = min(np.sum(draws >= observed - near), np.sum(draws <= observed + near))
    return {
        f"{name}_z": float((observed - draws.mean()) / spread),
        f"{name}_p": float(min(1.0, 2 * (beyond + 1) / (len(draws) + 1))),
    }


# Contributions


def _contributions(
    fields: Fields, labels: np.ndarray, lab: Lab, done: int, total: int
) -> dict[str, np.ndarray]:
    """Return the change of both averages when an element and its twins are left out."""
    distinct = reduced(labels)
    groups = int(distinct.twin_of.max()) + 1
    columns = np.array([np.argmax(distinct.twin_of == group) for group in range(groups)])
    size, found = _per_part(labels), []
    for first in range(0, groups, size):
        lab.watch.step(done + first, total, f"without element {first + 1} of {groups}")
        left_out = range(first, min(first + size, groups))

        def made(left_out: range = left_out) -> Mapping[str, np.ndarray]:
            return {"averages": _without(labels[:, columns], left_out, lab.watch.check)}

        found.append(lab.part("without", {"first": first}, made)["averages"])
    changes = np.concatenate(found) - [fields["c0_bar"], fields["c1_bar"]]
    by_element = changes[distinct.twin_of].astype(np.float32)
    return {"contribution_c0": by_element[:, 0], "contribution_c1": by_element[:, 1]}


def _without(
    labels: np.ndarray, left_out: range, check: Callable[[], None]
) -> Float[np.ndarray, "group 2"]:
    """Return both averages without each of some columns; NaN where nothing is left."""
    found = []
    for column in left_out:
        rest = np.delete(labels, column, axis=1)
        if not rest.shape[1]:
            found.append((np.nan, np.nan))
            continue
        rest = numbered(rest)
        hf0, hf1 = hilbert_functions(rest, check)
        c0 = conflicts.zero_conflict(hf0, rest.max(axis=1).astype(np.int64) + 1)
        found.append((conflicts.average(c0), conflicts.average(hf1)))
    return np.array(found)
