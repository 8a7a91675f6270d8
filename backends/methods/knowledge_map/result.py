"""The map's result: pictures, metric spaces and measures, layer by layer."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class KnowledgeMapResult:
    """The map and its measures. Undefined numbers are NaN in the arrays.

    Axes: `sample` is a prompt of the set's first variant, `column` a label column (the one that
    the request names first), `disease` a group of stages, `step` the way from one value to the
    next, `neighbor` one of the nearest other prompts, the nearest first. `map` axes have no unit.
    Norms are in units of the residual stream.
    """

    map: Float[np.ndarray, "layer sample 2"]
    map_pca: Float[np.ndarray, "layer sample 2"]
    metric_space: Float[np.ndarray, "layer sample component"]
    labels: Int[np.ndarray, "column sample"]
    norm: Float[np.ndarray, "layer sample"]
    neighbors: Int[np.ndarray, "layer sample neighbor"]
    neighbor_cosine: Float[np.ndarray, "layer sample neighbor"]
    silhouette: Float[np.ndarray, "column layer"]
    silhouette_low: Float[np.ndarray, "column layer"]
    silhouette_high: Float[np.ndarray, "column layer"]
    silhouette_null: Float[np.ndarray, "column layer"]
    silhouette_z: Float[np.ndarray, "column layer"]
    silhouette_null_max: Float[np.ndarray, "column"]
    silhouette_cosine: Float[np.ndarray, "column layer"]
    difference: Float[np.ndarray, "column layer"]
    difference_low: Float[np.ndarray, "column layer"]
    difference_high: Float[np.ndarray, "column layer"]
    token_overlap: Float[np.ndarray, "column"]
    token_count_correlation: Float[np.ndarray, "layer"]
    probe_accuracy: Float[np.ndarray, "column layer"]
    probe_low: Float[np.ndarray, "column layer"]
    probe_high: Float[np.ndarray, "column layer"]
    probe_null: Float[np.ndarray, "column layer"]
    participation_ratio: Float[np.ndarray, "layer"]
    participation_ratio_rest: Float[np.ndarray, "layer"]
    mean_cosine: Float[np.ndarray, "layer"]
    median_norm: Float[np.ndarray, "layer"]
    top3_share: Float[np.ndarray, "layer"]
    r2_pc1: Float[np.ndarray, "layer"] | None
    r2_cv: Float[np.ndarray, "layer"] | None
    anisotropy: Float[np.ndarray, "layer"] | None
    step_size: Float[np.ndarray, "variant layer step"] | None
    stage_distance: Float[np.ndarray, "disease layer stage stage"] | None
    csfs: Int[np.ndarray, "disease layer"] | None
    csls: Int[np.ndarray, "disease layer"] | None
    loop_ratio: Float[np.ndarray, "disease layer"] | None
    closure: Float[np.ndarray, "disease layer"] | None
    spearman: Float[np.ndarray, "disease layer"] | None
    n: int
    layers: list[int]
    label_columns: list[str]
    classes: list[list[str]]
    dropped: dict[str, int]
    prompts: list[str]
    entities: list[str]
    tokens: list[list[str]]
    values: list[float] | None
    variants: list[str]
    diseases: list[str]
    stages: list[list[str]]
    disease_of: list[int] | None
    projection: str
    normalization: str
    dimensions_dropped: list[int]
