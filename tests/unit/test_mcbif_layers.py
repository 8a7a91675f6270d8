"""Partitions over the layers of the tiny model: clusters, controls, names, figures."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.errors import BadRequest
from backends.jobs.base import Stored
from backends.math.conflicts import average
from backends.math.hilbert import hilbert_functions
from backends.methods.mcbif_layers import METHOD, McbifLayersResult
from backends.partitions.clustering import cluster
from launch import build
from views.tools.mcbif_layers import agreement_figure, boards, layers_figure


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """One engine for the tests of this module."""
    home = tmp_path_factory.mktemp("home")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


def run(engine: Engine, **fields: Any) -> Stored:
    """Run a request on the symptoms."""
    given = {"model": "tiny", "domain": "symptom", "draws": 20, "n_clusters": 4, **fields}
    return engine.runner.submit(METHOD, accept(METHOD, given, engine.known)).result()


@pytest.fixture(scope="module")
def layers(shared: Engine) -> McbifLayersResult:
    """The layers of the tiny model."""
    return run(shared).result


def test_each_layer_is_clustered_in_the_map_s_metric_space(
    shared: Engine, layers: McbifLayersResult
) -> None:
    assert layers.scales == [0, 1]
    assert layers.n_clusters.tolist() == layers.clusters == [4, 4]
    found = shared.found.get("knowledge_map")
    fields = {"model": "tiny", "domain": "symptom", "projection": "pca"}
    the_map = shared.runner.submit(found, accept(found, fields, shared.known)).result()
    assert the_map.hit
    for layer in (0, 1):
        again = cluster(the_map.result.metric_space[layer], 4, "kmeans", 0)
        assert adjusted_rand_score(again, layers.labels[layer]) == 1
    hf0, hf1 = hilbert_functions(layers.labels)
    np.testing.assert_array_equal(layers.hf1, hf1)
    np.testing.assert_array_equal(layers.hf0, hf0)


def test_the_reseeded_layer_is_a_control_of_its_own(layers: McbifLayersResult) -> None:
    assert layers.layer == 1
    assert layers.reseeded_c1_bar == average(layers.reseeded_hf1)
    assert np.diag(layers.reseeded_hf0).tolist() == [4, 4]


def test_agglomerative_clusters_have_no_seed(shared: Engine) -> None:
    result = run(shared, algorithm="agglomerative").result
    assert (result.reseeded_c0_bar, result.reseeded_c1_bar) == (0, 0)


def test_clusters_are_named_by_their_most_frequent_class(layers: McbifLayersResult) -> None:
    names = [name for row in layers.cluster_names for name in row]
    assert len(names) == 8
    assert all(name.split(" (")[0] in layers.classes for name in names)
    assert len(layers.elements) == layers.n == len(layers.prompts)
    assert np.isfinite(layers.agreement).all()


def test_resolutions_of_one_layer(shared: Engine) -> None:
    result = run(shared, over="resolutions", layer=0, n_clusters=0).result
    assert (result.layer, result.scales[0]) == (0, 2)
    assert result.n_clusters.tolist() == result.clusters
    assert layers_figure(result, {}).layout.meta["title"].startswith("Partitions of layer 0")


def test_a_table_without_labels(shared: Engine, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    rows = [f"The patient has pain {i},{i}" for i in range(9)]
    file.write_text("\n".join(["prompt,value", *rows]), "utf-8")
    digest = shared.known.uploads.add(file)
    result = run(shared, table=digest, domain=None, n_clusters=0).result
    assert result.clusters == [8, 8]
    assert np.isnan(result.agreement).all()
    assert result.cluster_names[0][0] == "cluster 1"
    assert agreement_figure(result, {}) is None


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"layer": 2}, "Layer 2 is outside 0..1"),
        ({"n_clusters": 99, "domain": "progression"}, "'n_clusters' is 99; the set has"),
        ({"n_clusters": 101}, "at most 100"),
        ({"labels": "none"}, "'none' is not there"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(
    shared: Engine, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        run(shared, **fields)


def test_figures_show_the_controls(layers: McbifLayersResult) -> None:
    figure = layers_figure(layers, {})
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(heatmaps) == 6
    assert [trace.showscale for trace in heatmaps] == [False, False, True] * 2
    assert len({(trace.zmin, trace.zmax) for trace in heatmaps[:3]}) == 1
    assert [board.heading for board in boards(layers)] == [
        "measured",
        "shuffled within scales, mean of 20",
        "layer 1 alone, 2 seeds",
    ]
    assert "adjusted Rand index" in agreement_figure(layers, {}).layout.yaxis.title.text
    unknown = np.full_like(layers.null_hf1_mean, np.nan)
    early = replace(layers, null_hf0_mean=unknown, null_hf1_mean=unknown, draws=0)
    assert "not computed" in layers_figure(early, {}).layout.annotations[1].text
