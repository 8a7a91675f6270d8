"""The joined axis: one curve for each domain and technique, and where they agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

TECHNIQUES = ("geometry", "saliency", "lesion", "patching")


@dataclass(frozen=True, slots=True)
class MedicalAxisResult:
    """Curves of the first model. NaN means not defined for this domain, or not computed yet.

    Units: geometry is a silhouette (age: local anisotropy; progression: mean Spearman correlation
    over diseases), saliency mean |d log L / d weight| or a ratio, lesion a severity 1..10, patching
    a recovery (1: all). `control` is the technique's own: permutation null, neutral prompts, random
    direction, random direction. `covered` says which layers lie in an interval, `agreement` how
    many techniques cover a layer, `overlap` is the Jaccard index of two techniques' layers.
    `chance` is the mean number of layers that at least three techniques cover when every
    technique's intervals are moved along the layers at random, `chance_p` the share of such moves
    with at least as many as found. `stability` is the mean Jaccard index of a technique's layers
    over templates and seeds. `best` rows are the best layers, for each model.
    """

    curve: Float[np.ndarray, "domain technique layer"]
    curve_low: Float[np.ndarray, "domain technique layer"]
    curve_high: Float[np.ndarray, "domain technique layer"]
    control: Float[np.ndarray, "domain technique layer"]
    smooth: Float[np.ndarray, "domain technique layer"]
    covered: Bool[np.ndarray, "domain technique layer"]
    agreement: Int[np.ndarray, "domain layer"]
    overlap: Float[np.ndarray, "domain technique technique"]
    stability: Float[np.ndarray, "domain technique"]
    counts: Int[np.ndarray, "domain technique"]
    chance: Float[np.ndarray, "domain"]
    chance_p: Float[np.ndarray, "domain"]
    n: int
    domains: list[str]
    techniques: list[str]
    layers: list[int]
    intervals: list[dict[str, Any]]
    best: list[dict[str, Any]]
    models: list[str]
    quick: bool
