"""Our vectorized silhouette with its draws against a loop over scikit-learn's.

125 points in 30 dimensions, 38 classes of at least three, 200 resamples and 500 permutations; the
loop is measured on 20 draws and scaled. The goal for 30 layers and three label columns is 10 s.

Usage: python -m benchmarks.silhouette
"""

import statistics
import time

import numpy as np
from sklearn.metrics import silhouette_score

from backends.math.silhouette import distances, score
from backends.math.threads import use_one_blas_thread

REPEATS = 5
DRAWS = 700
LOOPED = 20


def main() -> None:
    """Print seconds and ratio."""
    use_one_blas_thread()
    rng = np.random.default_rng(0)
    labels = np.arange(125) % 38
    points = rng.normal(size=(125, 30)) + rng.normal(size=(38, 30))[labels]
    distance = distances(points, "euclidean")
    ours, theirs = [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(LOOPED):
            silhouette_score(distance, rng.permutation(labels), metric="precomputed")
        theirs.append((time.perf_counter() - began) * DRAWS / LOOPED)
        began = time.perf_counter()
        score(distance, labels, np.random.default_rng(0))
        ours.append(time.perf_counter() - began)
    mine, loop = statistics.median(ours), statistics.median(theirs)
    print(
        f"{DRAWS} draws: ours {mine:.3f} s, scikit-learn in a loop {loop:.2f} s, "
        f"ratio {mine / loop:.3f}; 90 such calls {90 * mine:.1f} s (goal 10 s)"
    )


if __name__ == "__main__":
    main()
