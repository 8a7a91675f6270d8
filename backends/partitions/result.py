"""What is measured of a sequence of partitions; the methods' results build on it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """Grids, averages, Sankey layout, null and contributions of one sequence of partitions.

    Grids have row = s (start scale) and column = t (end scale), and 0 where s > t. `scale` counts
    the partitions in increasing order of their scale, `element` the elements of the set, `cluster`
    the clusters of all scales one after the other, `draw` the draws of the null. Hilbert functions
    count components (`hf0`) and independent cycles (`hf1`) over Z/2. Conflicts have no unit.
    NaN means not defined or not computed.

    `labels[m, x]` numbers the clusters within a scale. Of the clusters, `cluster_scale` is the
    scale, `cluster_label` the number there, `cluster_size` the number of elements,
    `cluster_position` the place in the optimized layout, from the top.

    `null_*` come from `draws` sequences whose labels are permuted within each scale (sizes kept);
    `contribution_*` is the average without the element minus the average with it, so that an
    element that makes conflicts has a negative one.
    """

    hf0: Int[np.ndarray, "scale scale"]
    hf1: Int[np.ndarray, "scale scale"]
    c0: Float[np.ndarray, "scale scale"]
    delta1: Float[np.ndarray, "scale scale"]
    delta1_padded: Float[np.ndarray, "scale scale"]
    labels: Int[np.ndarray, "scale element"]
    n_clusters: Int[np.ndarray, "scale"]
    mcf_c0: Float[np.ndarray, "scale"]
    mcf_delta1: Float[np.ndarray, "scale"]
    mcf_delta2: Float[np.ndarray, "scale"]
    cluster_scale: Int[np.ndarray, "cluster"]
    cluster_label: Int[np.ndarray, "cluster"]
    cluster_size: Int[np.ndarray, "cluster"]
    cluster_position: Int[np.ndarray, "cluster"]
    null_hf0_low: Float[np.ndarray, "scale scale"]
    null_hf0_mean: Float[np.ndarray, "scale scale"]
    null_hf0_high: Float[np.ndarray, "scale scale"]
    null_hf1_low: Float[np.ndarray, "scale scale"]
    null_hf1_mean: Float[np.ndarray, "scale scale"]
    null_hf1_high: Float[np.ndarray, "scale scale"]
    null_c0_bar: Float[np.ndarray, "draw"]
    null_c1_bar: Float[np.ndarray, "draw"]
    contribution_c0: Float[np.ndarray, "element"]
    contribution_c1: Float[np.ndarray, "element"]
    n: int
    scales: list[float]
    scale_names: list[str]
    elements: list[str]
    cluster_names: list[list[str]]
    notes: list[str]
    c0_bar: float
    c1_bar: float
    c0_bar_scale_weighted: float
    c1_bar_scale_weighted: float
    mcf_c0_bar: float
    max_hf1: int
    crossing_lower_bound: int
    crossing_number: int
    crossing_number_weighted: int
    draws: int
    draws_wanted: int
    c0_z: float | None
    c1_z: float | None
    c0_p: float | None
    c1_p: float | None
    seed: int
