"""Saliency of a block, and its mean over prompts with a bootstrap interval.

The loss of a prompt is log(L), L the mean cross-entropy (nats) of its target tokens: its gradient
is that of L divided by L, so that prompts of different loss compare.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

DRAWS = 200
FEWEST = 3
"""Fewest prompts that have an interval."""
LEAST_LOSS = 1e-6
"""Below this cross-entropy in nats the logarithm says nothing, and the prompt is skipped."""


class TooSmall(Exception):
    """Raised in the forward pass of a prompt whose loss has no useful logarithm."""

    def __init__(self, loss: float) -> None:
        super().__init__(f"{loss:g} nats")
        self.loss = loss


class Curve(NamedTuple):
    """A mean over prompts and its 95 % interval, which is NaN for fewer than three prompts."""

    mean: Float[np.ndarray, "layer"]
    low: Float[np.ndarray, "layer"]
    high: Float[np.ndarray, "layer"]


def log_loss(ids: Sequence[int], positions: Sequence[int]) -> Callable[[Any], Any]:
    """Return log of the mean cross-entropy of the tokens at `positions`, from logits [pos, vocab].

    The function raises `TooSmall` where the cross-entropy is below `LEAST_LOSS`.
    """
    import torch

    wanted = torch.tensor([ids[position] for position in positions])
    before = [position - 1 for position in positions]

    def loss(logits: Any) -> Any:
        mean = torch.nn.functional.cross_entropy(logits[before], wanted.to(logits.device))
        value = float(mean.detach())
        if value < LEAST_LOSS:
            raise TooSmall(value)
        return mean.log()

    return loss


def absolute_sums(weight: Any, gradient: Any) -> tuple[float, float]:
    """Return the sums over a matrix of |gradient| and of |weight x gradient|."""
    exact = gradient.float()
    return float(exact.abs().sum()), float((weight.float() * exact).abs_().sum())


def block_means(
    sums: Float[np.ndarray, "layer 2 measure"], weights: Int[np.ndarray, "layer 2"]
) -> Float[np.ndarray, "measure part layer"]:
    """Return means over weights: of the whole block, of its attention and of its MLP.

    A part without weights is NaN.
    """
    totals = np.concatenate([sums.sum(axis=1, keepdims=True), sums], axis=1)
    counts = np.concatenate([weights.sum(axis=1, keepdims=True), weights], axis=1)[..., None]
    means = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    return np.asarray(means.transpose(2, 1, 0), dtype=np.float32)


def mean_curve(rows: Float[np.ndarray, "sample layer"], draws: np.ndarray | None = None) -> Curve:
    """Return the mean of rows, and the interval of the means of `draws` of them."""
    return _curve(_means(rows, np.ones((1, len(rows))))[0], draws)


def ratio_curve(
    over: Float[np.ndarray, "sample layer"],
    under: Float[np.ndarray, "neutral layer"],
    seed: int,
) -> Curve:
    """Return the ratio of two means; both are resampled for the interval."""
    mean = mean_curve(over).mean / mean_curve(under).mean
    above, below = resampled(over, seed, 0), resampled(under, seed, 1)
    return _curve(mean, None if above is None or below is None else above / below)


def resampled(
    rows: Float[np.ndarray, "sample layer"], seed: int, stream: int
) -> Float[np.ndarray, "draw layer"] | None:
    """Return the means of rows drawn with replacement, None for fewer than three rows.

    Equal seed and stream draw the same prompts, so that measures of one set go together.
    """
    if len(rows) < FEWEST:
        return None
    random = np.random.default_rng([seed, stream])
    return _means(rows, random.multinomial(len(rows), [1 / len(rows)] * len(rows), DRAWS))


def _means(rows: np.ndarray, counts: np.ndarray) -> Float[np.ndarray, "draw layer"]:
    if not len(rows):
        return np.full((len(counts), rows.shape[1]), np.nan)
    return np.asarray(counts @ rows.astype(np.float64) / len(rows))


def _curve(mean: np.ndarray, draws: np.ndarray | None) -> Curve:
    unknown = np.full((2, len(mean)), np.nan)
    bounds = unknown if draws is None else np.percentile(draws, (2.5, 97.5), axis=0)
    return Curve(*(np.asarray(row, np.float32) for row in (mean, *bounds)))
