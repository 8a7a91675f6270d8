"""A sequence of partitions of one set: what every source of label tables comes down to."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True)
class PartitionSequence:
    """Labels by scale and element, with the names that figures show.

    `labels[m, x]` is the cluster of element x at scale m, numbered 0.. within each scale in the
    order of first appearance. `scales` increase strictly. `cluster_names[m][c]` is what the
    source called cluster c of scale m. `notes` are sentences on what was done to the source
    (scales sorted, gaps, noise), for the reader of a figure.
    """

    labels: Int[np.ndarray, "scale element"]
    scales: list[float]
    scale_names: list[str]
    elements: list[str]
    cluster_names: list[list[str]]
    notes: list[str] = field(default_factory=list)
