"""The result of the experiments: scores of the features, and measures of every sequence."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class McbifExperimentResult:
    """Scores are accuracies (classification, 0..1) or R² (regression, up to 1) on the test part.

    `feature` follows `features`, `measure` follows `measures`, `sequence` the sequences in the
    order they were drawn. NaN means not defined. `score_control` is the mean score of models
    fitted to shuffled targets, `score_control_least` and `score_control_most` are its range over
    the shuffles. `target` is the class, 1 where elements were swapped, or the crossing number;
    `is_kept` says which sequences the task uses; `crossing_bound` is sum_m HF_1(m, m + 1).
    `measure_p` (classification) are two-sided Mann-Whitney p values, `measure_correlation`
    (regression) Pearson correlations with the target.
    """

    score: Float[np.ndarray, "feature"]
    score_low: Float[np.ndarray, "feature"]
    score_high: Float[np.ndarray, "feature"]
    score_control: Float[np.ndarray, "feature"]
    score_control_least: Float[np.ndarray, "feature"]
    score_control_most: Float[np.ndarray, "feature"]
    score_paper: Float[np.ndarray, "feature"]
    n_values: Int[np.ndarray, "feature"]
    target: Int[np.ndarray, "sequence"]
    is_kept: Bool[np.ndarray, "sequence"]
    crossing_bound: Int[np.ndarray, "sequence"]
    c0_bar: Float[np.ndarray, "sequence"]
    c1_bar: Float[np.ndarray, "sequence"]
    mean_vi: Float[np.ndarray, "sequence"]
    mean_ari: Float[np.ndarray, "sequence"]
    mean_overlap: Float[np.ndarray, "sequence"]
    measure_correlation: Float[np.ndarray, "measure"]
    correlation_paper: Float[np.ndarray, "measure"]
    n: int
    task: str
    features: list[str]
    measures: list[str]
    measure_p: list[float | None]
    not_converged: list[str]
    n_elements: int
    n_scales: int
    n_train: int
    n_test: int
    bound_violations: int | None
    bound_score: float | None
    paper_size: str | None
    is_paper_size: bool
    resamples: int
    shuffles: int
    seed: int
