"""Clusterings of points that several methods use, by scikit-learn."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Algorithm = Literal["kmeans", "agglomerative"]
Linkage = Literal["ward", "average", "complete", "single"]

# Starts of k-means; the best of them is kept.
STARTS = 10


def cluster(
    points: Float[np.ndarray, "sample dimension"],
    count: int,
    algorithm: Algorithm,
    seed: int,
    linkage: Linkage = "ward",
) -> Int[np.ndarray, "sample"]:
    """Return the cluster of each point, `count` clusters in all.

    k-means takes the best of ten starts by `seed`. Agglomerative clustering has no chance in it.
    """
    from sklearn.cluster import AgglomerativeClustering, KMeans
    from threadpoolctl import threadpool_limits

    rows = np.asarray(points, np.float64)
    method = (
        KMeans(count, n_init=STARTS, random_state=seed)
        if algorithm == "kmeans"
        else AgglomerativeClustering(count, linkage=linkage)
    )
    # One thread, so that equal requests give equal bytes.
    with threadpool_limits(1):
        return np.asarray(method.fit_predict(rows), np.int64)
