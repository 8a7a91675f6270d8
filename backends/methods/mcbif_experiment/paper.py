"""What the MCbiF paper reports for its two experiments (arXiv 2510.14710), as far as it is known.

Accuracies of logistic regression, R² of linear regression, and correlations with the crossing
number.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from backends.methods.mcbif_experiment.request import Plan

Numbers = Mapping[str, float]

ACCURACY: Numbers = {
    "hf1": 0.97,
    "hf0_hf1": 0.95,
    "hf0": 0.56,
    "raw": 0.53,
    "nce": 0.50,
    "ari": 0.49,
    "overlap": 0.46,
}
R2: Mapping[int, Numbers] = {
    5: {
        "raw": 0.078,
        "hf0": 0.147,
        "hf1": 0.486,
        "hf0_hf1": 0.539,
        "nce": 0.392,
        "ari": 0.166,
        "overlap": 0.413,
    },
    10: {
        "raw": 0.038,
        "hf0": 0.214,
        "hf1": 0.448,
        "hf0_hf1": 0.516,
        "nce": 0.457,
        "ari": 0.246,
        "overlap": 0.345,
    },
}
# Which N they belong to is not said; presumably 5.
CORRELATION: Numbers = {
    "c1_bar": 0.47,
    "c0_bar": 0.27,
    "mean_vi": 0.20,
    "mean_ari": -0.22,
    "mean_overlap": -0.12,
}


def scores(plan: Plan, features: Sequence[str]) -> Float[np.ndarray, "feature"]:
    """Return the reported scores; NaN where there is none for this number of elements."""
    known = ACCURACY if plan.task == "classification" else R2.get(plan.elements, {})
    return np.array([known.get(name, np.nan) for name in features], np.float32)


def correlations(plan: Plan, measures: Sequence[str]) -> Float[np.ndarray, "measure"]:
    """Return the reported correlations with the crossing number; NaN for other sizes."""
    known = CORRELATION if plan.task == "regression" and plan.elements == 5 else {}
    return np.array([known.get(name, np.nan) for name in measures], np.float32)


def size(plan: Plan) -> tuple[str | None, bool]:
    """Return the size of the reported experiment in words, and whether it is the plan's."""
    if plan.task == "classification":
        words = "N = 500, M = 30, 1,870 sequences per class"
        return words, (plan.elements, plan.step, plan.total) == (500, 18, 3_740)
    if plan.elements not in R2:
        return None, False
    words = f"N = {plan.elements}, M = 20, 20,000 sequences"
    return words, (plan.scales, plan.total) == (20, 20_000)
