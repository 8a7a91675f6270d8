"""UMAP as the worker process runs it: reproducible, within its limits, and true to clear clusters.

Measures are asserted, never coordinates (M24 to M26 of the oracle table). UMAP compiles for
20 to 60 s per process, so everything that fits is slow.
"""

import numpy as np
import pytest
from jaxtyping import Float

from backends.math import projection
from backends.math.geometry import n_metric_components
from backends.math.projection import exact_neighbors, umap_fit, warm_up
from backends.math.silhouette import distances, silhouette_samples


def noise(n: int, width: int = 64, seed: int = 0) -> Float[np.ndarray, "sample d_model"]:
    """Return Gaussian noise in float32."""
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def silhouette(points: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean silhouette."""
    return float(silhouette_samples(distances(points, "euclidean"), labels).mean())


def test_exact_neighbors_are_those_of_brute_force() -> None:
    points = noise(200, 16)
    index, distance = exact_neighbors(points, 15)
    all_pairs = np.linalg.norm(points[:, None].astype(np.float64) - points[None], axis=2)
    expected = np.argsort(all_pairs, axis=1, kind="stable")[:, :15]
    assert index.shape == distance.shape == (200, 15)
    assert (index.dtype, distance.dtype) == (np.int32, np.float32)
    assert np.array_equal(index, expected)
    assert np.array_equal(index[:, 0], np.arange(200))
    assert np.allclose(distance, np.take_along_axis(all_pairs, expected, 1), atol=1e-3)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="31 points are too few for 30 components"):
        umap_fit(noise(31), 30, seed=0)
    with pytest.raises(ValueError, match="3 points are too few for 2 components"):
        umap_fit(noise(3), 2, seed=0)


def test_rows_that_repeat_are_refused() -> None:
    points = noise(40)
    points[7] = points[31]
    with pytest.raises(ValueError, match="Rows that repeat"):
        umap_fit(points, 2, seed=0)


@pytest.mark.slow
def test_a_seed_gives_equal_bytes_and_another_one_other_bytes() -> None:
    points = noise(60)
    for components in (2, 30):
        first = umap_fit(points, components, seed=3)
        assert first.shape == (60, components)
        assert first.dtype == np.float32
        assert np.isfinite(first).all()
        assert umap_fit(points.copy(), components, seed=3).tobytes() == first.tobytes()
        assert umap_fit(points, components, seed=4).tobytes() != first.tobytes()


@pytest.mark.slow
def test_the_smallest_sets() -> None:
    assert umap_fit(noise(32), 30, seed=0).shape == (32, 30)
    # M24: 31 points get 29 components by the rule, so that nothing fails.
    assert n_metric_components(31) == 29
    assert umap_fit(noise(31), 29, seed=0).shape == (31, 29)
    assert n_metric_components(7) == 5
    assert np.isfinite(umap_fit(noise(7), 5, seed=0)).all()
    assert umap_fit(noise(4), 2, seed=0).shape == (4, 2)


@pytest.mark.slow
def test_noise_has_no_clusters() -> None:
    # M25
    points = noise(90)
    labels = np.random.default_rng(1).integers(0, 3, size=90)
    assert abs(silhouette(points, labels)) < 0.06
    for seed in range(3):
        assert abs(silhouette(umap_fit(points, 30, seed), labels)) < 0.06


@pytest.mark.slow
def test_three_blobs_are_three_clusters() -> None:
    # M26
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 64)) * 3
    labels = np.repeat(np.arange(3), 30)
    points = (centers[labels] + rng.normal(size=(90, 64))).astype(np.float32)
    for seed in range(3):
        assert silhouette(umap_fit(points, 30, seed), labels) > 0.9


@pytest.mark.slow
def test_neighbors_that_are_handed_over_give_the_same_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = np.repeat(np.arange(3), 40)
    points = noise(120) + 4 * noise(3, seed=1)[labels]
    inside = umap_fit(points, 5, seed=0)
    monkeypatch.setattr(projection, "EXACT_INSIDE_UMAP", 100)
    handed = umap_fit(points, 5, seed=0)
    assert handed.tobytes() == umap_fit(points, 5, seed=0).tobytes()
    assert silhouette(inside, labels) > 0.8
    assert silhouette(handed, labels) > 0.8


@pytest.mark.slow
def test_warming_up_leaves_a_fit_as_it_was() -> None:
    before = umap_fit(noise(50), 5, seed=0)
    warm_up()
    assert umap_fit(noise(50), 5, seed=0).tobytes() == before.tobytes()
