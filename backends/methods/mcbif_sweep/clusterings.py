"""Clusterings of the sweep, one partition for each value, and what is measured of them.

k-means keeps the best of 10 starts by inertia. Agglomerative clustering builds one tree and cuts it
into k clusters, so its partitions are nested. Louvain maximizes modularity with a resolution.

    inertia = sum over elements of ||x - mean of its cluster||²
    modularity Q = 1/(2m) sum over i, j of (A_ij - d_i d_j / (2m)) [same cluster]      resolution 1
    variation of information VI = 2 H(a, b) - H(a) - H(b), in nats
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

STARTS = 10


def kmeans(
    points: Float[np.ndarray, "element coordinate"],
    k: int,
    seed: int,
    check: Callable[[], None] = lambda: None,
) -> Int[np.ndarray, "element"]:
    """Return the best of `STARTS` k-means clusterings. `check` is called before each.

    Fewer distinct points than `k` make as many clusters as there are distinct points.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    distinct = min(k, len(np.unique(points, axis=0)))
    best: tuple[float, np.ndarray] | None = None
    with threadpool_limits(1):
        for start in range(STARTS):
            check()
            state = int(np.random.default_rng([seed, start]).integers(2**31))
            model = KMeans(distinct, n_init=1, random_state=state).fit(points)
            if best is None or model.inertia_ < best[0] * (1 - 1e-9):
                best = float(model.inertia_), model.labels_
    assert best is not None
    return np.asarray(best[1], np.int32)


def tree(
    points: Float[np.ndarray, "element coordinate"], linkage: str
) -> Float[np.ndarray, "merge 4"]:
    """Return the merges of agglomerative clustering with Euclidean distance."""
    from scipy.cluster import hierarchy

    if len(points) == 1:
        return np.zeros((0, 4))
    return np.asarray(hierarchy.linkage(points, linkage), np.float64)


def cut(merges: Float[np.ndarray, "merge 4"], k: int) -> Int[np.ndarray, "element"]:
    """Return the partition into exactly `k` clusters, 1 to the number of elements."""
    n = len(merges) + 1
    root = np.arange(2 * n - 1)
    for i, (first, second) in enumerate(merges[: n - k, :2].astype(np.int64)):
        root[[first, second]] = n + i
    # Every node's parent has a higher number, so one pass from the top finds all roots.
    for node in range(2 * n - 2, -1, -1):
        root[node] = root[root[node]]
    return np.asarray(root[:n], np.int32)


def louvain(
    edges: Int[np.ndarray, "edge 2"],
    weights: Float[np.ndarray, "edge"],
    n: int,
    resolution: float,
    seed: int,
) -> tuple[Int[np.ndarray, "element"], float]:
    """Return Louvain communities of an undirected graph and their modularity at resolution 1."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    pairs = zip(edges.tolist(), weights.tolist(), strict=True)
    graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in pairs)
    found = networkx.community.louvain_communities(
        graph, weight="weight", resolution=resolution, seed=seed
    )
    labels = np.zeros(n, np.int32)
    for number, community in enumerate(found):
        labels[list(community)] = number
    return labels, float(networkx.community.modularity(graph, found, weight="weight"))


def inertia(
    points: Float[np.ndarray, "element coordinate"], labels: Int[np.ndarray, "element"]
) -> float:
    """Return the sum of squared distances to the clusters' means, in squared units of the data."""
    _, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), points.shape[1]))
    np.add.at(sums, cluster.reshape(-1), points)
    return float(((points - (sums / sizes[:, None])[cluster.reshape(-1)]) ** 2).sum())


def variation_of_information(
    first: Int[np.ndarray, "element"], second: Int[np.ndarray, "element"]
) -> float:
    """Return VI in nats: 0 for equal partitions, at most ln N."""
    pair = first.astype(np.int64) * (int(second.max()) + 1) + second
    return max(0.0, 2 * _entropy(pair) - _entropy(first) - _entropy(second))


def _entropy(labels: np.ndarray) -> float:
    _, counts = np.unique(labels, return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log(share)).sum())


def steps(labels: Sequence[np.ndarray]) -> Float[np.ndarray, "step"]:
    """Return VI between each partition and the next."""
    found = [variation_of_information(a, b) for a, b in zip(labels, labels[1:], strict=False)]
    return np.array(found, np.float32)
