"""Silhouettes of many draws (resamples or label permutations) of one labeled point set at once.

A draw is a class number per point (0, 1, ...) and a weight per point. Unusual: no loop over draws
or classes. A sparse matrix with one row per draw and class, holding the weights of that class's
members, times the distance matrix gives all weighted distance sums; its cost does not grow with
the number of classes. Definitions of a, b and s: `silhouette`.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

# Distance sums of one chunk of draws. Far below what memory allows: chunks this size stay in cache.
CHUNK_BYTES = 8 * 2**20


def resampled(
    classes: Int[np.ndarray, "sample"], resamples: int, rng: np.random.Generator
) -> Float[np.ndarray, "batch sample"]:
    """Draw with replacement within each class; return how often each point was drawn."""
    order, sizes = np.argsort(classes, kind="stable"), np.bincount(classes)
    ends = np.cumsum(sizes)
    first, last = np.repeat(ends - sizes, sizes), np.repeat(ends, sizes)
    drawn = order[rng.integers(first, last, size=(resamples, len(classes)))]
    cells = drawn + len(classes) * np.arange(resamples)[:, None]
    counts = np.bincount(cells.ravel(), minlength=drawn.size)
    return counts.reshape(drawn.shape).astype(np.float64)


def _class_sums(
    distance: Float[np.ndarray, "sample sample"],
    labels: Int[np.ndarray, "batch sample"],
    weights: Float[np.ndarray, "batch sample"],
) -> tuple[Float[np.ndarray, "batch label sample"], Float[np.ndarray, "batch label"]]:
    """Sum the weighted distances to each class, and the weights of each class, in every draw."""
    (draws, points), n_classes = labels.shape, int(labels.max()) + 1
    cells = (labels + n_classes * np.arange(draws)[:, None]).ravel()
    order = np.argsort(labels, axis=1, kind="stable")
    ends = np.cumsum(np.bincount(cells, minlength=draws * n_classes))
    from scipy.sparse import csr_array

    members = csr_array(
        (np.take_along_axis(weights, order, axis=1).ravel(), order.ravel(), np.append(0, ends)),
        shape=(draws * n_classes, points),
    )
    totals = np.bincount(cells, weights.ravel(), minlength=draws * n_classes)
    return (members @ distance).reshape(draws, n_classes, points), totals.reshape(draws, n_classes)


def draw_scores(
    distance: Float[np.ndarray, "sample sample"],
    labels: Int[np.ndarray, "batch sample"],
    weights: Float[np.ndarray, "batch sample"],
) -> tuple[Float[np.ndarray, "batch sample"], Bool[np.ndarray, "batch sample"]]:
    """Score every point in every draw; also say where a point was alone in its class."""
    sums, totals = _class_sums(distance, labels, weights)
    own = labels[:, None]
    others = np.take_along_axis(totals, labels, axis=1) - weights
    is_alone = others <= 0
    a = np.take_along_axis(sums, own, axis=1)[:, 0] / np.where(is_alone, 1.0, others)
    sums /= np.where(totals > 0, totals, 1.0)[:, :, None]
    sums[totals <= 0] = np.inf
    np.put_along_axis(sums, own, np.inf, axis=1)
    b = sums.min(axis=1)
    b[np.isinf(b)] = np.nan  # this draw has no other class
    largest = np.maximum(a, b)
    scores = np.where(
        is_alone | (largest == 0), 0.0, (b - a) / np.where(largest == 0, 1.0, largest)
    )
    return scores, is_alone


def draw_means(
    distance: Float[np.ndarray, "sample sample"],
    labels: Int[np.ndarray, "batch sample"],
    weights: Float[np.ndarray, "batch sample"],
) -> Float[np.ndarray, "batch"]:
    """Average the scores of each draw, a chunk of draws at a time."""
    means = np.full(len(labels), np.nan)
    if not len(labels):
        return means
    chunk = max(1, CHUNK_BYTES // (8 * labels.shape[1] * (int(labels.max()) + 1)))
    sizes = np.bincount(labels[0])
    for start in range(0, len(labels), chunk):
        part = slice(start, start + chunk)
        scores, is_alone = draw_scores(distance, labels[part], weights[part])
        # A singleton of the full set scores 0; one that the draw made is left out.
        counted = weights[part] * ~(is_alone & (sizes[labels[part]] > 1))
        total = counted.sum(axis=1)
        means[part] = (scores * counted).sum(axis=1) / np.where(total > 0, total, np.nan)
    return means
