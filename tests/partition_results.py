"""Results of sequences of partitions made here, for the tests of figures and pages."""

from dataclasses import replace
from typing import Any

import numpy as np

from backends.math.hilbert import hilbert_functions
from backends.math.partitions import numbered
from backends.partitions.result import PartitionResult

NASTY = "<b>x</b> & <script>alert(1)</script>"
THREE = [[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]]


def made(labels: Any, draws: int = 0, nasty: bool = False, seed: int = 0) -> PartitionResult:
    """Return a result of these labels; of the null, `draws` sequences."""
    rows = numbered(np.asarray(labels))
    scales, elements = rows.shape
    hf0, hf1 = hilbert_functions(rows)
    k = rows.max(axis=1).astype(np.int64) + 1
    c0 = _conflict(hf0, k)
    sizes = [np.bincount(row) for row in rows]
    odd = f" {NASTY}" if nasty else ""
    return PartitionResult(
        hf0=hf0,
        hf1=hf1,
        c0=c0.astype(np.float32),
        delta1=_along(hf1),
        delta1_padded=_along(hf1),
        labels=rows,
        n_clusters=k,
        mcf_c0=(1 - hf0[0] / k).astype(np.float32),
        mcf_delta1=np.diff(hf1[0], prepend=0).astype(np.float32),
        mcf_delta2=np.full(scales, np.nan, np.float32),
        cluster_scale=np.repeat(np.arange(scales), k).astype(np.int32),
        cluster_label=np.concatenate([np.arange(n) for n in k]).astype(np.int32),
        cluster_size=np.concatenate(sizes).astype(np.int32),
        cluster_position=np.concatenate([np.arange(n) for n in k]).astype(np.int32),
        **_null(rows, draws, seed),
        n=elements,
        scales=[float(m + 1) for m in range(scales)],
        scale_names=[f"{m + 1}{odd}" for m in range(scales)],
        elements=[f"element {x}{odd}" for x in range(elements)],
        cluster_names=[[f"cluster {c}{odd}" for c in range(n)] for n in k],
        notes=[f"A note{odd}."],
        c0_bar=_average(c0),
        c1_bar=_average(hf1),
        c0_bar_scale_weighted=_average(c0),
        c1_bar_scale_weighted=_average(hf1),
        mcf_c0_bar=0.0,
        max_hf1=int(hf1.max()),
        crossing_lower_bound=int(np.trace(hf1, 1)),
        crossing_number=int(np.trace(hf1, 1)),
        crossing_number_weighted=int(np.trace(hf1, 1)),
        seed=seed,
    )


def three_elements(**changes: Any) -> PartitionResult:
    """Return the sequence whose Hilbert functions are known by hand."""
    return replace(made(THREE, draws=20), **changes)


def random_sequence(
    elements: int = 12, scales: int = 6, most: int = 4, draws: int = 0, **fields: Any
) -> PartitionResult:
    """Return a sequence of random labels."""
    labels = np.random.default_rng(1).integers(0, most, (scales, elements))
    return made(labels, draws, **fields)


def _null(rows: np.ndarray, draws: int, seed: int) -> dict[str, Any]:
    scales, elements = rows.shape
    names = [f"null_{grid}_{part}" for grid in ("hf0", "hf1") for part in ("low", "mean", "high")]
    found: dict[str, Any] = dict.fromkeys(names, np.full((scales, scales), np.nan, np.float32))
    found |= {"draws": draws, "draws_wanted": draws}
    found |= dict.fromkeys(("c0_z", "c1_z", "c0_p", "c1_p"))
    found |= dict.fromkeys(("null_c0_bar", "null_c1_bar"), np.zeros(0, np.float32))
    names = ["contribution_c0", "contribution_c1"]
    found |= dict.fromkeys(names, np.full(elements, np.nan, np.float32))
    if not draws:
        return found
    rng = np.random.default_rng(seed)
    grids = [hilbert_functions(rng.permuted(rows, axis=1)) for _ in range(draws)]
    k = rows.max(axis=1).astype(np.int64) + 1
    for name, each in zip(("hf0", "hf1"), zip(*grids, strict=True), strict=True):
        low, high = np.percentile(each, (2.5, 97.5), axis=0)
        parts = {"low": low, "mean": np.mean(each, axis=0), "high": high}
        found |= {f"null_{name}_{part}": grid.astype(np.float32) for part, grid in parts.items()}
    for name, value in (("c0", lambda g: _conflict(g[0], k)), ("c1", lambda g: g[1])):
        found[f"null_{name}_bar"] = np.array([_average(value(g)) for g in grids], np.float32)
    found["contribution_c0"] = np.linspace(-0.1, 0.1, elements).astype(np.float32)
    found["contribution_c1"] = np.linspace(0.2, -0.2, elements).astype(np.float32)
    return found | {"c0_z": 1.5, "c1_z": -2.5, "c0_p": 0.2, "c1_p": 0.01}


def _conflict(hf0: np.ndarray, k: np.ndarray) -> np.ndarray:
    grid = np.zeros(hf0.shape)
    for s in range(len(k)):
        grid[s, s:] = 1 - hf0[s, s:] / np.minimum.accumulate(k[s:])
    return grid


def _average(grid: np.ndarray) -> float:
    above = grid[np.triu_indices(len(grid), 1)]
    return float(above.mean()) if above.size else 0.0


def _along(grid: np.ndarray) -> np.ndarray:
    found = np.zeros(grid.shape, np.float32)
    for s in range(len(grid) - 1):
        found[s, s:] = np.gradient(grid[s, s:].astype(float))
    return found
