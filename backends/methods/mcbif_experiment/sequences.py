"""The sequences of an experiment and their features, in parts."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from backends.lab import Lab
from backends.math import conflicts, hilbert, sankey
from backends.math.partition_features import (
    compare,
    hf0_vector,
    hf1_vector,
    mean_vi,
    upper_vector,
)
from backends.methods.mcbif_experiment.request import Plan
from backends.partitions.generators import order_preserving, swapped, uniform_sequence

Table = dict[str, np.ndarray]

# Labels in the sequences of one part: one or two seconds of work.
PART = 250_000
# Below this number of labels in all, compiling costs more than it brings.
FEW = 20_000


def drawn(plan: Plan, index: int) -> Int[np.ndarray, "scale element"]:
    """Draw one sequence; the first half of a classification keeps its order."""
    rng = np.random.default_rng([plan.seed, index])
    if plan.task == "regression":
        return uniform_sequence(plan.elements, plan.scales, rng)
    make = order_preserving if index < plan.total // 2 else swapped
    return make(plan.elements, plan.step, rng)


def measured(plan: Plan, index: int, check: Callable[[], None]) -> Table:
    """Return features, measures and target of one sequence."""
    labels = drawn(plan, index)
    hf0, hf1 = hilbert.hilbert_functions(labels, check)
    n_clusters = labels.max(axis=1).astype(np.int64) + 1
    found = compare(labels)
    ari, overlap = upper_vector(found.ari), upper_vector(found.overlap)
    return {
        "raw": labels.reshape(-1).astype(np.int16),
        "hf0": hf0_vector(hf0).astype(np.int32),
        "hf1": hf1_vector(hf1).astype(np.int32),
        "nce": found.nce.reshape(-1).astype(np.float32),
        "ari": ari.astype(np.float32),
        "overlap": overlap.astype(np.float32),
        "c0_bar": np.array(conflicts.average(conflicts.zero_conflict(hf0, n_clusters)), np.float32),
        "c1_bar": np.array(conflicts.average(hf1), np.float32),
        "mean_vi": np.array(mean_vi(found.nce), np.float32),
        "mean_ari": np.array(ari.mean(), np.float32),
        "mean_overlap": np.array(overlap.mean(), np.float32),
        "crossing_bound": np.array(np.trace(hf1, 1), np.int64),
        "target": np.array(_target(plan, index, labels, check), np.int64),
    }


def _target(
    plan: Plan, index: int, labels: Int[np.ndarray, "scale element"], check: Callable[[], None]
) -> int:
    if plan.task == "classification":
        return int(index >= plan.total // 2)
    return sankey.optimize(labels, plan.seed, check=check).crossings


def all_measured(plan: Plan, lab: Lab, steps: int) -> Table:
    """Return `measured` of all sequences, one row each. `steps` is the work of the whole run."""
    labels = plan.total * plan.elements * plan.scales
    if labels >= FEW:
        lab.watch.step(0, steps, "compiling the inner loops")
        hilbert.compile_kernels()
        if plan.task == "regression":
            sankey.compile_sweep()
    size = int(np.clip(PART // (plan.elements * plan.scales), 1, 100))
    parts = []
    for first in range(0, plan.total, size):
        indices = range(first, min(first + size, plan.total))

        def make(indices: range = indices) -> Table:
            return _rows(plan, indices, lab, steps)

        lab.watch.step(first, steps, f"sequence {first + 1:,} of {plan.total:,}")
        parts.append(lab.part("sequences", {"first": first, "last": indices.stop}, make))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rows(plan: Plan, indices: range, lab: Lab, steps: int) -> Table:
    rows = []
    for index in indices:
        lab.watch.step(index, steps, f"sequence {index + 1:,} of {plan.total:,}")
        rows.append(measured(plan, index, lab.watch.check))
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
