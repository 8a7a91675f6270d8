"""Both Hilbert functions against one-parameter persistence per row (gudhi), and their growth.

The peer is what a careful user would write with a library: for each start scale s, the 2-skeleton
of the occurrence nerve of the scales s.. with the largest scale as filtration value, persistence
over Z/2, and the intervals alive at t. Sequences are noisy coarsenings. Ours runs once before, so
that its inner loops are compiled.

Goals: N = 120, M = 24 at least 10 times faster for both grids (aim: 25) and 100 times for HF_0
alone; N = 100, M = 20 under 0.5 s; N = 500, M = 50 under 10 s; N = 2,000, M = 50 within 30 s and
2 GB.

Usage: python -m benchmarks.hilbert [picture.html]
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import gudhi
import numpy as np
import plotly.graph_objects as go

from backends.math.hilbert import compile_kernels, hilbert_functions, zeroth_function
from backends.math.partitions import numbered, reduced
from backends.partitions.generators import noisy_coarsening
from views.figure import finish

COMPARED = ((50, 20), (100, 20), (120, 24), (200, 20))
GROWTH = ((100, 10), (100, 20), (200, 30), (500, 20), (500, 50), (1_000, 50), (2_000, 50))
REPEATS = 3


def per_row(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both Hilbert functions by persistence, row by row."""
    scales = len(labels)
    grids = np.zeros((2, scales, scales), np.int64)
    for s in range(scales):
        tree = _nerve(labels[s:])
        tree.compute_persistence(
            homology_coeff_field=2, min_persistence=0, persistence_dim_max=True
        )
        for degree in (0, 1):
            bars = tree.persistence_intervals_in_dimension(degree)
            for t in range(s, scales):
                grids[degree, s, t] = np.sum((bars[:, 0] <= t - s) & (bars[:, 1] > t - s))
    return grids[0], grids[1]


def _nerve(labels: np.ndarray) -> gudhi.SimplexTree:
    """Return the 2-skeleton of the occurrence nerve."""
    sizes = labels.max(axis=1) + 1
    vertices = labels + np.r_[0, np.cumsum(sizes)[:-1]][:, None]
    tree = gudhi.SimplexTree()
    for size in (1, 2, 3):
        if size > len(labels):
            break
        chosen = np.array(list(combinations(range(len(labels)), size)))
        simplices = vertices[chosen].transpose(1, 0, 2).reshape(size, -1)
        values = np.repeat(chosen[:, -1], labels.shape[1]).astype(float)
        simplices, first = np.unique(simplices, axis=1, return_index=True)
        tree.insert_batch(simplices, values[first])
    return tree


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of a piece of work."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Print seconds and ratios; draw the growth into a file if one is named."""
    began = time.perf_counter()
    compile_kernels()
    print(f"compiling or loading the inner loops: {time.perf_counter() - began:.1f} s")
    rng = np.random.default_rng(0)
    peer = {}
    for n, m in COMPARED:
        labels = reduced(numbered(noisy_coarsening(n, m, rng))).labels
        for ours, theirs in zip(hilbert_functions(labels), per_row(labels), strict=True):
            assert np.array_equal(ours, theirs)
        both = seconds(lambda labels=labels: hilbert_functions(labels))
        zeroth = seconds(lambda labels=labels: zeroth_function(labels))
        peer[n, m] = seconds(lambda labels=labels: per_row(labels), 1)
        print(
            f"N = {n}, M = {m}: both {1e3 * both:.1f} ms, HF_0 {1e3 * zeroth:.2f} ms, gudhi "
            f"{peer[n, m]:.2f} s; gudhi / both {peer[n, m] / both:.0f}, "
            f"gudhi / HF_0 {peer[n, m] / zeroth:.0f}"
        )
    ours = {}
    for n, m in GROWTH:
        labels = noisy_coarsening(n, m, rng)
        ours[n, m] = seconds(lambda labels=labels: hilbert_functions(labels), 1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"N = {n}, M = {m}: both {ours[n, m]:.3f} s, peak of the process {peak:.2f} GB")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(growth_figure(ours, peer).to_html(), "utf-8")


def growth_figure(
    ours: dict[tuple[int, int], float], peer: dict[tuple[int, int], float]
) -> go.Figure:
    """Draw seconds by number of generators, both axes logarithmic."""
    figure = go.Figure()
    for name, times in (("this workbench", ours), ("gudhi per row", peer)):
        points = sorted((n * m, value, f"N = {n}, M = {m}") for (n, m), value in times.items())
        x, y, words = zip(*points, strict=True)
        figure.add_scatter(x=x, y=y, text=words, mode="lines+markers", name=name)
    figure.update_xaxes(type="log", title_text="N × M")
    figure.update_yaxes(type="log", title_text="seconds, both grids")
    return finish(figure, "Time of both Hilbert functions")


if __name__ == "__main__":
    main()
