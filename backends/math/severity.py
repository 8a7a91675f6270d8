"""Severity of a lesion: how far next-token distributions move along an answer.

With p the distribution of the whole model and q that of the changed one, at each position that
predicts a token of the answer, in nats:

    JS = (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2, between 0 and ln 2
    severity = 1 + 9 * mean JS / ln 2, so that equal distributions give 1 and disjoint ones 10

Everything is computed in float64 from logits. With g = log p - log q, the logarithm of p / m is
ln 2 - log(1 + exp(-g)), which is exactly 0 where p and q are equal.

Source: own measure on the scale of 1 to 10 of arXiv 2510.11390, where a language model judges.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

LEAST, MOST = 1.0, 10.0
RESAMPLES = 200
# Fewer values than this have no interval.
FEWEST = 3
LN2 = float(np.log(2))
# Positions at once: what they need stays in the processor's cache.
ROWS = 8
# Above it, exp is not finite in float64.
LARGEST_EXPONENT = 700


@dataclass(frozen=True)
class Shift:
    """How the distributions moved at each position of an answer; in nats but for `same_top`.

    `same_top` is 1 where the most probable token is the same, else 0. `delta_nll` is how much less
    probable the answer's token became.
    """

    js: Float[np.ndarray, "pos"]
    kl: Float[np.ndarray, "pos"]
    same_top: Float[np.ndarray, "pos"]
    delta_nll: Float[np.ndarray, "pos"]

    @property
    def severity(self) -> float:
        """The severity of the mean divergence, 1..10."""
        return severity(float(self.js.mean()))


def severity(js: float) -> float:
    """Return the severity of a mean Jensen-Shannon divergence in nats, 1..10."""
    return min(LEAST + (MOST - LEAST) * max(js, 0.0) / LN2, MOST)


def log_probabilities(logits: Float[np.ndarray, "pos vocab"]) -> Float[np.ndarray, "pos vocab"]:
    """Return the logarithm of the softmax of each row, in float64."""
    parts = [_log_softmax(logits[at : at + ROWS]).numpy() for at in range(0, len(logits), ROWS)]
    return np.concatenate(parts)


def shift(
    whole: Float[np.ndarray, "pos vocab"],
    changed: Float[np.ndarray, "pos vocab"],
    answer: Int[np.ndarray, "pos"],
) -> Shift:
    """Compare log-probabilities of a whole model with the logits of a changed one."""
    parts = []
    for at in range(0, len(answer), ROWS):
        rows = slice(at, at + ROWS)
        parts.append(_shift(whole[rows], changed[rows], answer[rows]))
    return Shift(*np.concatenate(parts, axis=1))


def _shift(whole: np.ndarray, changed: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Return the four measures of some positions; torch is four times as fast here as NumPy."""
    import torch

    log_p, log_q = torch.from_numpy(whole), _log_softmax(changed)
    p, q, gap = log_p.exp(), log_q.exp(), log_p - log_q
    # The library's logarithm of 2 may differ from ours in the last bit.
    middle = LN2 - torch.nn.functional.softplus(-gap, threshold=LARGEST_EXPONENT)
    middle[gap == 0] = 0
    js = ((p * middle).sum(1) + (q * (middle - gap)).sum(1)) / 2
    same = (log_p.argmax(1) == log_q.argmax(1)).double()
    nll = gap[torch.arange(len(gap)), torch.from_numpy(answer)]
    measures: np.ndarray = torch.stack([js, (p * gap).sum(1), same, nll]).numpy()
    return measures


def _log_softmax(logits: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(logits).double().log_softmax(1)


def mean_interval(
    rows: Float[np.ndarray, "prompt layer"], seed: int, number: int = 0
) -> tuple[Float[np.ndarray, "layer"], Float[np.ndarray, "layer"], Float[np.ndarray, "layer"]]:
    """Return mean, low and high (95 % bootstrap over prompts) of each layer, as float32.

    Rows with NaN do not count; below three that do, the interval is NaN, without any the mean too.
    `number` tells curves of one seed apart.
    """
    known = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    unknown = np.full(rows.shape[1], np.nan, np.float32)
    mean = known.mean(axis=0).astype(np.float32) if len(known) else unknown
    if len(known) < FEWEST:
        return mean, unknown, unknown
    drawn = np.random.default_rng([seed, number]).integers(len(known), size=(RESAMPLES, len(known)))
    low, high = np.percentile(known[drawn].mean(axis=1), [2.5, 97.5], axis=0)
    return mean, low.astype(np.float32), high.astype(np.float32)
