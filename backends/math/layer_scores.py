"""All measures of one layer of a knowledge map, as named arrays.

`raw` measures are taken in the space of activations, `space` measures in the metric space (UMAP or
PCA of up to 30 dimensions), because UMAP inflates separation and bends straight lines: the first
say what a linear reader sees, the second what the paper reports. Rows are label columns.

Every layer gets equally seeded generators, so that the permutations are the same at each layer and
their maximum over layers is a valid null for the best layer.

Source: arXiv 2510.11390, geometry branch; details in docs/methods/knowledge_map.md.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from backends.math.geometry import mean_cosine, median_norm, participation_ratio, top_share
from backends.math.line import (
    local_anisotropy,
    r2_cross_validated,
    r2_first_component,
    step_sizes,
)
from backends.math.probe import probe_accuracy, shuffled_accuracy
from backends.math.silhouette import (
    distances,
    paired_difference,
    score,
    silhouette_samples,
)
from backends.math.stages import stage_measures

TOP_DIMENSIONS = 3


def collapse(points: Float[np.ndarray, "sample d_model"]) -> dict[str, float]:
    """Return collapse diagnostics of unnormalized activations.

    `participation_ratio_rest` leaves out the three dimensions with the largest sum of squares,
    because a few massive dimensions alone can look like a collapse.
    """
    heaviest = np.argsort((points.astype(np.float64) ** 2).sum(axis=0))[-TOP_DIMENSIONS:]
    rest = np.delete(points, heaviest, axis=1)
    return {
        "participation_ratio": participation_ratio(points),
        "participation_ratio_rest": participation_ratio(rest),
        "mean_cosine": mean_cosine(points),
        "median_norm": median_norm(points),
        "top3_share": top_share(points, TOP_DIMENSIONS),
    }


def raw_measures(
    points: Float[np.ndarray, "sample d_model"],
    variants: Sequence[Float[np.ndarray, "sample d_other"]],
    labels: Int[np.ndarray, "column sample"],
    values: Float[np.ndarray, "sample"] | None,
    seed: int,
) -> dict[str, np.ndarray]:
    """Return the measures of one layer's activations.

    `silhouette_cosine`, `probe_accuracy`, `probe_low`, `probe_high`, `probe_null` [column]; with
    `values` on a line also `r2_cv` [] and `step_size` [variant, step], steps in order of value.
    """
    cosine = distances(points, "cosine")
    probes = [probe_accuracy(points, row, np.random.default_rng([seed, 1])) for row in labels]
    nulls = [shuffled_accuracy(points, row, np.random.default_rng([seed, 2])) for row in labels]
    measures = {
        "silhouette_cosine": [_mean_silhouette(cosine, row) for row in labels],
        "probe_accuracy": [p.accuracy for p in probes],
        "probe_low": [p.low for p in probes],
        "probe_high": [p.high for p in probes],
        "probe_null": nulls,
    }
    found = {name: np.array(column, dtype=np.float32) for name, column in measures.items()}
    if values is not None:
        order = np.argsort(values, kind="stable")
        rng = np.random.default_rng([seed, 3])
        found["r2_cv"] = np.array(r2_cross_validated(points, values, rng), np.float32)
        found["step_size"] = np.stack([step_sizes(x[order]) for x in variants]).astype(np.float32)
    return found


def space_measures(
    space: Float[np.ndarray, "sample component"],
    labels: Int[np.ndarray, "column sample"],
    values: Float[np.ndarray, "sample"] | None,
    seed: int,
) -> dict[str, np.ndarray]:
    """Return the measures of one layer's metric space.

    `silhouette`, its `_low`, `_high`, `_null`, `_z` and the paired `difference`, `_low`, `_high`
    (first column minus this one) [column]; `null_draws` [column, permutation]; with `values` on a
    line also `r2_pc1` and `anisotropy` [].
    """
    distance = distances(space, "euclidean")
    scores = [score(distance, row, np.random.default_rng([seed, 4])) for row in labels]
    pairs = [
        paired_difference(distance, labels[0], row, np.random.default_rng([seed, 5]))
        for row in labels
    ]
    found: dict[str, np.ndarray] = {
        "silhouette": np.array([s.mean for s in scores], np.float32),
        "silhouette_low": np.array([s.low for s in scores], np.float32),
        "silhouette_high": np.array([s.high for s in scores], np.float32),
        "silhouette_null": np.array([s.null_mean for s in scores], np.float32),
        "silhouette_z": np.array([s.z for s in scores], np.float32),
        "null_draws": np.array([s.null for s in scores], np.float32),
        "difference": np.array([p[0] for p in pairs], np.float32),
        "difference_low": np.array([p[1] for p in pairs], np.float32),
        "difference_high": np.array([p[2] for p in pairs], np.float32),
    }
    if values is not None:
        found["r2_pc1"] = np.array(r2_first_component(space, values), np.float32)
        found["anisotropy"] = np.array(local_anisotropy(space), np.float32)
    return found


def stage_arrays(
    layers: Sequence[Float[np.ndarray, "sample d_model"]],
    groups: Sequence[str] | None,
    values: Sequence[float] | None,
) -> dict[str, np.ndarray | None]:
    """Return stage geometry in raw space per group: distances [group, layer, stage, stage], NaN
    where a group has fewer stages, and `csfs`, `csls`, `loop_ratio`, `closure`, `spearman`
    [group, layer]; all None without groups."""
    names = ("csfs", "csls", "loop_ratio", "closure", "spearman")
    if groups is None or values is None:
        return dict.fromkeys(("stage_distance", *names))
    members = [_members(groups, values, group) for group in dict.fromkeys(groups)]
    most = max(len(m) for m in members)
    distance = np.full((len(members), len(layers), most, most), np.nan, np.float32)
    measures = np.zeros((len(names), len(members), len(layers)))
    for g, member in enumerate(members):
        for i, points in enumerate(layers):
            between = distances(points[member], "euclidean")
            distance[g, i, : len(member), : len(member)] = between
            found = stage_measures(between)
            measures[:, g, i] = [getattr(found, name) for name in names]
    kinds = dict.fromkeys(names, np.float32) | {"csfs": np.int32, "csls": np.int32}
    arrays = {name: measures[k].astype(kinds[name]) for k, name in enumerate(names)}
    return {"stage_distance": distance, **arrays}


def _members(groups: Sequence[str], values: Sequence[float], group: str) -> list[int]:
    return sorted((i for i, g in enumerate(groups) if g == group), key=lambda i: values[i])


def _mean_silhouette(
    distance: Float[np.ndarray, "sample sample"], labels: Int[np.ndarray, "sample"]
) -> float:
    kept = labels[labels >= 0]
    if len(np.unique(kept)) < 2:
        return float("nan")
    return float(np.nanmean(silhouette_samples(distance, labels)))
