"""Random sequences of partitions: the two learning tasks of the MCbiF paper, and examples.

Every generator draws from the given random generator only, so equal seeds give equal sequences.
Labels are numbered from 0 in the order of first appearance at each scale. Source of the tasks:
MCbiF, arXiv 2510.14710; what is not said there is decided here, see each function.
"""

from functools import cache

import numpy as np
from jaxtyping import Float, Int

from backends.math.partitions import numbered


def uniform_sequence(n: int, m: int, rng: np.random.Generator) -> Int[np.ndarray, "scale element"]:
    """Draw singletons, then m - 2 uniform set partitions of 2..n-1 blocks, then one block.

    Block counts are multinomial with the Stirling numbers of the second kind as weights, and a
    partition is uniform among those of its number of blocks. Partitions are sorted by decreasing
    number of blocks. n is at least 3, m at least 2.
    """
    if n < 3 or m < 2:
        raise ValueError(f"{n} elements, {m} scales: at least 3 and 2 are needed")
    weights, _ = _stirling(n)
    drawn = rng.multinomial(m - 2, weights)
    blocks = np.repeat(np.arange(2, n), drawn)[::-1]
    return numbered(np.vstack([np.arange(n), _uniform(n, blocks, rng), np.zeros(n, np.int64)]))


def _uniform(
    n: int, blocks: Int[np.ndarray, "row"], rng: np.random.Generator
) -> Int[np.ndarray, "row element"]:
    """Draw a uniform partition for each number of blocks.

    Element x (the last first) is alone in a new block with probability S(x-1, k-1) / S(x, k), k
    blocks among the first x elements; else it joins one of the k blocks of those before it.
    """
    _, alone = _stirling(n)
    left = blocks.copy()
    is_new = np.zeros((len(blocks), n), bool)
    for x in range(n, 0, -1):
        is_new[:, x - 1] = rng.random(len(blocks)) < alone[x, left]
        left = left - is_new[:, x - 1]
    there = np.cumsum(is_new, axis=1)
    joined = np.floor(rng.random(is_new.shape) * there).astype(np.int64)
    return np.where(is_new, there - 1, joined)


@cache
def _stirling(n: int) -> tuple[Float[np.ndarray, "count"], Float[np.ndarray, "size blocks"]]:
    """Return the weights of 2..n-1 blocks, and S(x-1, k-1) / S(x, k) for x, k = 0..n."""
    rows = [[1] + [0] * n]
    for _ in range(n):
        above = rows[-1]
        rows.append([0] + [k * above[k] + above[k - 1] for k in range(1, n + 1)])
    alone = np.zeros((n + 1, n + 1))
    for x in range(1, n + 1):
        for k in range(1, x + 1):
            alone[x, k] = rows[x - 1][k - 1] / rows[x][k]
    total = sum(rows[n][2:n])
    return np.array([count / total for count in rows[n][2:n]]), alone


def order_preserving(
    n: int, step: int, rng: np.random.Generator
) -> Int[np.ndarray, "scale element"]:
    """Draw partitions into intervals of one order: class 0 of the classification task.

    Between singletons and one block, the partition of index m = 1, 1 + step, ... < n cuts the
    order at n - m different random places of 0..n-1; a cut at 0 separates nothing, so there are
    n - m or n - m + 1 clusters.
    """
    return numbered(_intervals(n, step, rng))


def swapped(
    n: int, step: int, rng: np.random.Generator, probability: float = 0.1
) -> Int[np.ndarray, "scale element"]:
    """Draw an order-preserving sequence and swap elements: class 1 of the classification task.

    In each partition between the first and the last, two random elements change places with the
    given probability; if that happens nowhere, in one random partition. If both are in one cluster,
    or both alone in theirs, nothing changes. n is at least 2.
    """
    rows = _intervals(n, step, rng)
    middle = np.arange(1, len(rows) - 1)
    chosen = middle[rng.random(len(middle)) < probability]
    for m in chosen if len(chosen) else rng.choice(middle, 1):
        pair = rng.choice(n, 2, replace=False)
        rows[m, pair] = rows[m, pair[::-1]]
    return numbered(rows)


def _intervals(n: int, step: int, rng: np.random.Generator) -> np.ndarray:
    if n < 2 or step < 1:
        raise ValueError(f"{n} elements, step {step}: at least 2 and 1 are needed")
    rows = [np.arange(n)]
    for m in range(1, n, step):
        is_cut = np.zeros(n, np.int64)
        is_cut[rng.choice(n, n - m, replace=False)] = 1
        rows.append(np.cumsum(is_cut))
    return np.vstack([*rows, np.zeros(n, np.int64)])


def noisy_coarsening(
    n: int, m: int, rng: np.random.Generator, flip: float = 0.1
) -> Int[np.ndarray, "scale element"]:
    """Draw a nested sequence from singletons to one block, with each label replaced at random.

    The numbers of clusters are geometric. A label is replaced, with probability `flip`, by one of
    the clusters of its scale.
    """
    counts = np.maximum(np.rint(np.geomspace(n, 1, m)), 1).astype(np.int64)
    counts[0] = n
    label = rng.permutation(n)
    rows = []
    for before, count in zip([n, *counts[:-1]], counts, strict=True):
        label = (rng.permutation(before) * count // before)[label]
        is_flipped = rng.random(n) < flip
        rows.append(np.where(is_flipped, rng.integers(0, count, n), label))
    return numbered(np.stack(rows))


SMALL_GROUPS, LARGE_GROUPS = 12, 3
# Expected neighbors of a node in its small group, in the rest of its large one, and elsewhere.
NEIGHBORS = (7.0, 4.0, 2.0)


def block_model(
    n: int, rng: np.random.Generator, scales: int
) -> tuple[Int[np.ndarray, "scale element"], Float[np.ndarray, "scale"]]:
    """Cluster a graph with two nested levels of groups; return labels and resolutions.

    The graph is a stochastic block model of 12 small groups in 3 large ones, clustered by the
    Louvain method at resolutions from 6 down to 0.3, so that the sequence goes from fine to coarse.
    n is at least 24.
    """
    import networkx as nx

    if n < 2 * SMALL_GROUPS:
        raise ValueError(f"{n} elements: at least {2 * SMALL_GROUPS} are needed")
    sizes = np.bincount(np.arange(n) * SMALL_GROUPS // n)
    small = n / SMALL_GROUPS
    large = n / LARGE_GROUPS
    chance = np.minimum(1, np.array(NEIGHBORS) / [small - 1, large - small, n - large])
    group = np.arange(SMALL_GROUPS) * LARGE_GROUPS // SMALL_GROUPS
    density = np.where(group[:, None] == group, chance[1], chance[2])
    np.fill_diagonal(density, chance[0])
    seeds = rng.integers(0, 2**31, scales + 1).tolist()
    graph = nx.stochastic_block_model(sizes.tolist(), density.tolist(), seed=seeds[0])
    resolutions = np.geomspace(6.0, 0.3, scales)
    labels = np.zeros((scales, n), np.int64)
    for m, resolution in enumerate(resolutions):
        found = nx.community.louvain_communities(
            graph, resolution=float(resolution), seed=seeds[m + 1]
        )
        for cluster, members in enumerate(found):
            labels[m, list(members)] = cluster
    return numbered(labels), resolutions
