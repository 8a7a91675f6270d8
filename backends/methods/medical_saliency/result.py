"""The result of saliency: curves over the layers, and what they are means of."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True)
class MedicalSaliencyResult:
    """Saliency in mean |d log L / d weight|; weighted, in mean |weight x gradient| (no unit).

    `prompt` is a prompt of the set in its order, `neutral` a neutral one. A skipped prompt is NaN
    in `saliency_prompt` and counts in no mean; its loss is there. Losses are in nats a token.
    `contrast` is a ratio. Intervals are NaN for fewer than three prompts.
    """

    saliency: Float[np.ndarray, "layer"]
    saliency_low: Float[np.ndarray, "layer"]
    saliency_high: Float[np.ndarray, "layer"]
    saliency_attention: Float[np.ndarray, "layer"]
    saliency_mlp: Float[np.ndarray, "layer"]
    saliency_weighted: Float[np.ndarray, "layer"]
    saliency_weighted_low: Float[np.ndarray, "layer"]
    saliency_weighted_high: Float[np.ndarray, "layer"]
    contrast: Float[np.ndarray, "layer"]
    contrast_low: Float[np.ndarray, "layer"]
    contrast_high: Float[np.ndarray, "layer"]
    neutral: Float[np.ndarray, "layer"]
    neutral_low: Float[np.ndarray, "layer"]
    neutral_high: Float[np.ndarray, "layer"]
    neutral_weighted: Float[np.ndarray, "layer"]
    neutral_weighted_low: Float[np.ndarray, "layer"]
    neutral_weighted_high: Float[np.ndarray, "layer"]
    saliency_prompt: Float[np.ndarray, "prompt layer"]
    saliency_neutral: Float[np.ndarray, "neutral layer"]
    loss: Float[np.ndarray, "prompt"]
    loss_neutral: Float[np.ndarray, "neutral"]
    n: int
    n_neutral: int
    skipped: int
    skipped_neutral: int
    unpredicted: int
    layers: list[int]
    source: str
    target: str
    prompts: list[str]
    entities: list[str]
    tokens: list[list[str]]
    lengths: list[int]
    neutral_prompts: list[str]
    neutral_tokens: list[list[str]]
    neutral_lengths: list[int]
