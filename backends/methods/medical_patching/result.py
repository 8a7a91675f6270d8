"""What patching returns: recovery by layer, its controls, and the pairs behind it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class MedicalPatchingResult:
    """Recovery and its controls. Undefined numbers are NaN in the arrays.

    Axes: `pos` is a column of the board: every position of the patched prompt for `each`, else one
    for all patched positions together; `pair` is every pair given, dropped ones too; `rank` orders
    next tokens. A score is the answer's minus the foil's, in logits or nats per token.
    `logit_difference` is the patched run's score minus that of the run that is patched, for a set
    its mean over the pairs that count. It and `recovery` are 0 where `causal_mask` is false:
    nothing was computed there. `identity` is the largest change by a patch with the run's own
    output.
    """

    recovery: Float[np.ndarray, "layer pos"]
    logit_difference: Float[np.ndarray, "layer pos"]
    causal_mask: Bool[np.ndarray, "layer pos"]
    recovery_random: Float[np.ndarray, "layer pos"]
    recovery_low: Float[np.ndarray, "layer"] | None
    recovery_high: Float[np.ndarray, "layer"] | None
    recovery_mean: Float[np.ndarray, "layer"] | None
    recovery_pair: Float[np.ndarray, "pair layer"] | None
    recovery_head: Float[np.ndarray, "layer head"] | None
    recovery_head_random: Float[np.ndarray, "layer head"] | None
    identity: Float[np.ndarray, "layer"]
    score_clean: Float[np.ndarray, "pair"]
    score_corrupted: Float[np.ndarray, "pair"]
    gap: Float[np.ndarray, "pair"]
    next_id: Int[np.ndarray, "layer pos rank"] | None
    next_probability: Float[np.ndarray, "layer pos rank"] | None
    n: int
    layers: list[int]
    columns: list[str]
    metric: str
    positions: str
    direction: str
    site: str
    kv_heads: int
    random_draws: int
    pairs: list[list[str]]
    dropped_because: list[str]
    dropped: dict[str, int]
    tokens_clean: list[list[str]]
    tokens_corrupted: list[list[str]]
    pairing: list[str]
    alone_clean: list[list[int]]
    alone_corrupted: list[list[int]]
    patched_positions: list[list[int]]
    next_clean: list[list[str | float]]
    next_corrupted: list[list[str | float]]
    next_patched: list[list[str | float]]
    best: list[int] | None
    words: dict[str, str]
    notes: list[str]
