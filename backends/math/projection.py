"""UMAP, made to be run in the worker process (`backends.jobs.apart`).

The first fit of a process compiles for 20 to 90 s, and two fits at once can abort it, hence one
process that stays warm. Neighbors are exact up to 10,000 points: computing them costs less than
compiling the approximate search. A seeded fit gives equal bytes on one machine; coordinates are
never comparable between machines, so only measures are.

McInnes, Healy, Melville (2018), "UMAP", arXiv 1802.03426.
"""

import warnings

import numpy as np
from jaxtyping import Float

from backends.math.threads import use_one_blas_thread

EXACT_UP_TO = 10_000
EXACT_INSIDE_UMAP = 4_096


def umap_fit(
    points: Float[np.ndarray, "sample d_model"],
    n_components: int,
    seed: int,
    n_neighbors: int = 15,
    min_dist: float = 0.1,
) -> Float[np.ndarray, "sample component"]:
    """Return UMAP coordinates, euclidean, with spectral initialization.

    `n_neighbors` is lowered to sample - 1. Raise `ValueError` when there are fewer than
    n_components + 2 samples, below which the spectral initialization is undefined, and for
    rows that repeat, with which a seed does not make the result reproducible.
    """
    n = len(points)
    if n < n_components + 2:
        raise ValueError(f"{n} points are too few for {n_components} components.")
    if len(np.unique(points, axis=0)) < n:
        raise ValueError("Rows that repeat cannot be laid out reproducibly.")
    from umap import UMAP

    use_one_blas_thread()
    neighbors = min(n_neighbors, n - 1)
    known = {}
    if EXACT_INSIDE_UMAP <= n <= EXACT_UP_TO:
        known["precomputed_knn"] = exact_neighbors(points, neighbors)
    fit = UMAP(
        n_components=n_components,
        n_neighbors=neighbors,
        min_dist=min_dist,
        metric="euclidean",
        random_state=seed,
        n_jobs=1,
        **known,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fit.fit_transform(points), dtype=np.float32)


def exact_neighbors(
    points: Float[np.ndarray, "sample d_model"], n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and euclidean distances of the nearest points, each point itself first."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(points)
    distance, index = search.kneighbors(points)
    return index.astype(np.int32), distance.astype(np.float32)


def warm_up(n_samples: int = 64, n_features: int = 8) -> None:
    """Fit twice on noise, so that everything a later fit needs is compiled."""
    points = np.random.default_rng(0).normal(size=(n_samples, n_features)).astype(np.float32)
    for n_components in (2, 5):
        umap_fit(points, n_components, seed=0)
