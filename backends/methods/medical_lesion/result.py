"""What is stored of the lesions of a model's blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class MedicalLesionResult:
    """Severity is 1..10 by the judge; `js` and `kl` are in nats, from the whole model's side.

    Means are over the `n` questions that got an answer, those of the neutral control over
    `n_neutral`; bounds are a 95 % bootstrap interval, NaN below three questions. Rows of
    `severity_question` are NaN for questions without an answer. `severity_identity_patch` is of the
    first question and by divergence; `identity_deviation` is the largest change of a logit there.
    `request` holds the fields that the answer to one lesion needs.
    """

    severity: Float[np.ndarray, "layer"]
    severity_low: Float[np.ndarray, "layer"]
    severity_high: Float[np.ndarray, "layer"]
    js: Float[np.ndarray, "layer"]
    kl: Float[np.ndarray, "layer"]
    top1_agreement: Float[np.ndarray, "layer"]
    delta_nll: Float[np.ndarray, "layer"]
    severity_question: Float[np.ndarray, "prompt layer"]
    severity_random: Float[np.ndarray, "layer"]
    severity_random_low: Float[np.ndarray, "layer"]
    severity_random_high: Float[np.ndarray, "layer"]
    severity_neutral: Float[np.ndarray, "layer"]
    severity_neutral_low: Float[np.ndarray, "layer"]
    severity_neutral_high: Float[np.ndarray, "layer"]
    severity_identity_patch: Float[np.ndarray, "layer"]
    identity_deviation: float
    questions: list[str]
    answers: list[str]
    n: int
    n_neutral: int
    dropped: int
    dropped_neutral: int
    layers: list[int]
    ablation: str
    judge: str
    source: str
    request: dict[str, Any]
