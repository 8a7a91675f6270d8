"""Recovery: how much of the difference between two runs a patch carries over.

P = (D_patched - D_base) / (D_source - D_base), with D the answer's score minus the foil's: 0 when
the patch changes nothing, 1 when the run that is patched behaves as the run it was patched from.
P is not bounded and means nothing where the two runs hardly differ. For several pairs the ratio of
sums weighs each pair by its gap; the mean of ratios, which the paper reports, does not.

Source: arXiv 2510.11390, the normalized logit difference.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

SMALLEST_GAP = 0.5
"""Gap between the clean and the corrupted run below which recovery is not defined."""
FEWEST_PAIRS = 3
"""Number of pairs below which there is no interval."""


def ratios(
    patched: Float[np.ndarray, "pair layer"],
    base: Float[np.ndarray, "pair"],
    source: Float[np.ndarray, "pair"],
) -> Float[np.ndarray, "pair layer"]:
    """Return the recovery of each pair, NaN where both runs have the same score."""
    change = patched.astype(np.float64) - base[:, None]
    gap = (source.astype(np.float64) - base)[:, None]
    found = np.full(change.shape, np.nan)
    np.divide(change, gap, out=found, where=gap != 0)
    return found


def ratio_of_sums(
    patched: Float[np.ndarray, "pair layer"],
    base: Float[np.ndarray, "pair"],
    source: Float[np.ndarray, "pair"],
) -> Float[np.ndarray, "layer"]:
    """Return the summed changes over the summed gaps, NaN where these are 0 or without pairs."""
    whole = np.arange(len(base))[None]
    return np.asarray(_summed(patched, base, source, whole)[0])


def mean_of_ratios(
    patched: Float[np.ndarray, "pair layer"],
    base: Float[np.ndarray, "pair"],
    source: Float[np.ndarray, "pair"],
) -> Float[np.ndarray, "layer"]:
    """Return the mean recovery over the pairs whose runs differ, NaN without any."""
    there = ratios(patched, base, source)[source != base]
    return there.mean(axis=0) if len(there) else np.full(patched.shape[1], np.nan)


def usable(
    clean: Float[np.ndarray, "pair"], corrupted: Float[np.ndarray, "pair"]
) -> tuple[Bool[np.ndarray, "pair"], Bool[np.ndarray, "pair"]]:
    """Say of each pair whether the clean run prefers the answer, and whether the gap is enough.

    The gap is signed: a corrupted run that prefers the answer more than the clean one has none.
    """
    return clean > 0, clean.astype(np.float64) - corrupted >= SMALLEST_GAP


def recovery_interval(
    patched: Float[np.ndarray, "pair layer"],
    base: Float[np.ndarray, "pair"],
    source: Float[np.ndarray, "pair"],
    draws: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "layer"], Float[np.ndarray, "layer"]]:
    """Return the 95 % bootstrap interval over pairs of the ratio of sums, NaN below 3 pairs."""
    pairs, layers = patched.shape
    if pairs < FEWEST_PAIRS:
        return np.full(layers, np.nan), np.full(layers, np.nan)
    drawn = _summed(patched, base, source, rng.integers(0, pairs, (draws, pairs)))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return low, high


def _summed(
    patched: Float[np.ndarray, "pair layer"],
    base: Float[np.ndarray, "pair"],
    source: Float[np.ndarray, "pair"],
    chosen: Int[np.ndarray, "draw chosen"],
) -> Float[np.ndarray, "draw layer"]:
    change = (patched.astype(np.float64) - base[:, None])[chosen].sum(axis=1)
    gap = (source.astype(np.float64) - base)[chosen].sum(axis=1)[:, None]
    found = np.full(change.shape, np.nan)
    np.divide(change, gap, out=found, where=gap != 0)
    return found
