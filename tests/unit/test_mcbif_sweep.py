"""The sweep: clusterings by hand, every refusal, its figures, and runs that lead to a table."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest

from app.engine import Engine
from backends.accept import accept
from backends.contract import Known
from backends.errors import BadRequest
from backends.math.partitions import numbered
from backends.methods.mcbif_sweep import METHOD, McbifSweepRequest, McbifSweepResult, label_table
from backends.methods.mcbif_sweep.clusterings import (
    cut,
    inertia,
    kmeans,
    louvain,
    steps,
    tree,
    variation_of_information,
)
from backends.methods.mcbif_sweep.data import (
    MOST_COORDINATES,
    MOST_EDGES,
    MOST_NODES,
    MOST_POINTS,
    example_graph,
    example_points,
    read_graph,
    read_points,
)
from backends.methods.mcbif_sweep.request import values_of
from backends.models.catalog import Catalog
from backends.partitions.table import read_partitions
from backends.uploads import Uploads
from views.contract import Panel
from views.slot import is_slot, shown
from views.tools.mcbif_sweep import (
    FIGURES,
    TOOL,
    adapt,
    clusters_figure,
    link_html,
    neighbors_figure,
)

LINE = np.array([[0.0], [1.0], [5.0], [6.5], [20.0]])


@pytest.fixture
def known(tmp_path: Path) -> Known:
    """What `check` may look at: no models, empty uploads."""
    return Known(Catalog(tmp_path), Uploads(tmp_path / "uploads"))


def same(first: Any, second: Any) -> bool:
    """Say whether two label vectors are the same partition."""
    return bool(np.array_equal(numbered(np.array([first])), numbered(np.array([second]))))


# Clusterings


def test_cuts_of_a_tree_by_hand() -> None:
    merges = tree(LINE, "single")
    wanted = {
        5: [0, 1, 2, 3, 4],
        4: [0, 0, 1, 2, 3],
        3: [0, 0, 1, 1, 2],
        2: [0, 0, 0, 0, 1],
        1: [0, 0, 0, 0, 0],
    }
    for k, labels in wanted.items():
        assert same(cut(merges, k), labels)


@pytest.mark.parametrize("linkage", ["ward", "average", "complete", "single"])
def test_a_cut_has_exactly_k_clusters_even_with_ties(linkage: str) -> None:
    ties = np.array([[x, y] for x in range(4) for y in range(4)], np.float64)
    merges = tree(ties, linkage)
    for k in range(1, 17):
        assert len(np.unique(cut(merges, k))) == k


def test_one_point_is_one_cluster() -> None:
    assert cut(tree(LINE[:1], "ward"), 1).tolist() == [0]
    assert kmeans(LINE[:1], 1, 0).tolist() == [0]


def test_kmeans_by_hand() -> None:
    assert same(kmeans(LINE, 3, 0), [0, 0, 1, 1, 2])
    assert kmeans(LINE, 3, 7).tolist() == kmeans(LINE, 3, 7).tolist()


def test_kmeans_of_equal_points_makes_no_more_clusters_than_there_are_points() -> None:
    assert same(kmeans(np.array([[1.0], [1.0], [2.0]]), 3, 0), [0, 0, 1])


def test_kmeans_can_be_stopped() -> None:
    def stop() -> None:
        raise BadRequest("stop", "Stopped.")

    with pytest.raises(BadRequest):
        kmeans(LINE, 2, 0, stop)


def test_inertia_by_hand() -> None:
    labels = np.array([7, 7, 3, 3, 9])
    assert inertia(LINE, labels) == pytest.approx(0.5 + 1.125)
    assert inertia(LINE, np.arange(5)) == 0


def test_louvain_finds_two_triangles_and_their_modularity() -> None:
    edges = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]])
    labels, modularity = louvain(edges, np.ones(7), 6, 1.0, 0)
    assert same(labels, [0, 0, 0, 1, 1, 1])
    assert modularity == pytest.approx(6 / 7 - 2 * (7 / 14) ** 2)
    alone, _ = louvain(edges, np.ones(7), 6, 100.0, 0)
    assert len(set(alone.tolist())) == 6


def test_louvain_reads_the_weights() -> None:
    ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    assert same(louvain(ring, np.array([9.0, 1, 9, 1]), 4, 1.0, 0)[0], [0, 0, 1, 1])
    assert same(louvain(ring, np.array([1.0, 9, 1, 9]), 4, 1.0, 0)[0], [0, 1, 1, 0])


def test_variation_of_information_by_hand() -> None:
    one, two, fine = np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    assert variation_of_information(two, two) == 0
    assert variation_of_information(one, two) == pytest.approx(np.log(2))
    assert variation_of_information(one, fine) == pytest.approx(np.log(4))
    assert variation_of_information(two, np.array([0, 1, 0, 1])) == pytest.approx(2 * np.log(2))
    assert steps([one, two, fine]).tolist() == pytest.approx([np.log(2), np.log(2)])
    assert steps([one]).shape == (0,)


# Files


@pytest.mark.parametrize(
    "text",
    ["name,x,y\na,1,2\nb,3,4\n", "a,1,2\nb,3,4\n", "\ufeffname;x;y\r\na;1;2\r\n\r\nb;3;4\r\n"],
)
def test_points_may_have_a_header_and_names(text: str) -> None:
    points = read_points(text.encode())
    assert points.rows.tolist() == [[1, 2], [3, 4]]
    assert points.names == ["a", "b"]


def test_points_without_names_are_counted() -> None:
    assert read_points(b"1,2\n3,4\n").names == ["1", "2"]
    assert read_points(b"x\n1\n3\n").rows.tolist() == [[1], [3]]
    assert read_points(b"id,x\n1,5\n2,6\n").rows.tolist() == [[5], [6]]


def test_a_graph_has_nodes_by_first_appearance_and_adds_repeated_edges() -> None:
    graph = read_graph(b"target,weight,source,note\nb,2,a,\na,0.5,b,\nc,1,b,x\nc,3,c,\n")
    assert graph.names == ["a", "b", "c"]
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 2]]
    assert graph.weights.tolist() == [2.5, 1, 3]
    assert graph.notes == ["Edges that repeat a pair of nodes: 1; their weights were added."]
    assert read_graph(b"source\ttarget\na\tb\n").weights.tolist() == [1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The table is empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x,y\n", "has 0 points; 1 to 5,000"),
        (b"x,y\n1,2\n3\n", "Row 2 ends before column 2"),
        (b"1,2\n3,4,5\n", "Row 2 goes on in column 3"),
        (b"x,y\n1,2\n3,\n", "Row 2, column 2 is ''"),
        (b"x,y\n1,nan\n", "Row 1, column 2 is 'nan'"),
        (b"x,y\n1,1e13\n", "Row 1, column 2 is '1e13'"),
        (b"name\na\nb\n", "has 0 coordinates; 1 to 500"),
        (b"1\n" * (MOST_POINTS + 1), "5,001 points; at most 5,000|has 5001 points"),
        (b"1\n" * 20_000, "about 20,000 points; at most 5,000"),
        (b",".join([b"1"] * (MOST_COORDINATES + 1)), "has 501 coordinates"),
    ],
)
def test_points_that_cannot_be_used_are_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        read_points(content)
    assert error.value.field == "data"


def test_the_largest_points_pass() -> None:
    assert len(read_points(b"1\n" * MOST_POINTS).names) == MOST_POINTS


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\nx,y\n", "needs the columns source and target; its first line has: 'a', 'b'"),
        (b"source,target\n", "no edges"),
        (b"source,target\na\n", "Row 1 ends before column 2"),
        (b"source,target\na,\n", "Row 1 has no target"),
        (b"source,target,weight\na,b,0\n", "weight of row 1 is '0'; it must be above 0"),
        (b"source,target,weight\na,b,nan\n", "weight of row 1 is 'nan'"),
        (b"source,target,weight\na,b,inf\n", "weight of row 1 is 'inf'"),
        (
            b"source,target\n" + b"".join(b"a,%d\n" % i for i in range(MOST_NODES)),
            "has 5,001 nodes; at most 5,000",
        ),
        (b"source,target\n" + b"a,b\n" * (MOST_EDGES + 1), "edges; at most 200,000 are allowed"),
    ],
)
def test_graphs_that_cannot_be_used_are_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        read_graph(content)
    assert error.value.field == "data"


def test_the_examples_have_two_levels() -> None:
    points, graph = example_points(), example_graph()
    groups = [name[0] for name in points.names]
    assert same(kmeans(points.rows, 4, 0), np.unique(groups, return_inverse=True)[1])
    fine = [name[:2] for name in points.names]
    assert same(kmeans(points.rows, 12, 0), np.unique(fine, return_inverse=True)[1])
    labels, _ = louvain(graph.edges, graph.weights, 90, 0.8, 0)
    assert same(labels, np.repeat(np.arange(3), 30))


# The request


def test_the_algorithm_is_what_fits_the_source() -> None:
    assert McbifSweepRequest().algorithm == "kmeans"
    assert McbifSweepRequest(source="graph").algorithm == "louvain"
    assert McbifSweepRequest(algorithm="agglomerative").algorithm == "agglomerative"


def test_values_are_sorted_and_auto_ends_at_the_number_of_elements() -> None:
    request = McbifSweepRequest(values=" 4, 2,10,2,")
    assert values_of(request, 10) == [2, 4, 10]
    assert values_of(McbifSweepRequest(), 5) == [2, 3, 4, 5]
    assert values_of(McbifSweepRequest(), 1) == [1]
    assert values_of(McbifSweepRequest(), 999)[-1] == 20
    resolutions = values_of(McbifSweepRequest(source="graph"), 3)
    assert (len(resolutions), resolutions[0], resolutions[-1]) == (20, 0.1, 10)
    assert values_of(McbifSweepRequest(source="graph", values="0.5,1e-3"), 3) == [0.001, 0.5]


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"algorithm": "louvain"}, "algorithm", "there it is kmeans or agglomerative"),
        ({"source": "graph", "algorithm": "kmeans"}, "algorithm", "there it is louvain"),
        ({"values": "0"}, "values", "whole number from 1 to 120"),
        ({"values": "121"}, "values", "whole number from 1 to 120"),
        ({"values": "2.5"}, "values", "whole number"),
        ({"values": "²"}, "values", "whole number"),
        ({"values": ","}, "values", "There are 0 values; 1 to 200"),
        ({"source": "graph", "values": ",".join(map(str, range(1, 202)))}, "values", "201 values"),
        ({"source": "graph", "values": "0"}, "values", "above 0 and at most 1000"),
        ({"source": "graph", "values": "nan"}, "values", "'nan' is no resolution"),
        ({"source": "graph", "values": "inf"}, "values", "'inf' is no resolution"),
        ({"source": "cloud"}, "source", "'cloud'; it must be"),
        ({"data": "sha256:" + "0" * 64}, "data", "is not on this machine"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(
    known: Known, fields: dict[str, str], field: str, sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        accept(METHOD, fields, known)
    assert error.value.field == field


# Runs


def run(engine: Engine, **fields: Any) -> Any:
    """Run the method."""
    return engine.runner.submit(METHOD, accept(METHOD, fields, engine.known)).result()


@pytest.mark.parametrize("algorithm", ["kmeans", "agglomerative", "louvain"])
def test_the_table_in_the_uploads_is_the_sequence(engine: Engine, algorithm: str) -> None:
    source = "graph" if algorithm == "louvain" else "points"
    values = "0.5,1.5" if algorithm == "louvain" else "3,12"
    stored = run(engine, source=source, algorithm=algorithm, values=values)
    result = stored.result
    table = read_partitions(engine.known.uploads.read(result.table))
    assert table.labels.tolist() == result.labels.tolist()
    assert table.scales == result.scales == [float(value) for value in values.split(",")]
    assert table.elements == result.elements
    assert stored.provenance["n"] == result.n == result.labels.shape[1]
    assert np.isnan(result.inertia).all() == (source == "graph")
    assert np.isnan(result.modularity).all() == (source == "points")
    assert result.variation_of_information.shape == (1,)
    if source == "points":
        assert result.n_clusters.tolist() == [3, 12]
    else:
        assert result.n_clusters[0] < result.n_clusters[1]


def test_agglomerative_partitions_are_nested(engine: Engine) -> None:
    labels = run(engine, algorithm="agglomerative").result.labels
    assert labels.max(axis=1).tolist() == list(range(1, 20))
    for coarse, fine in zip(labels, labels[1:], strict=False):
        assert len(np.unique(coarse * 1_000 + fine)) == fine.max() + 1


def test_own_data_is_clustered_and_each_value_is_a_part(engine: Engine) -> None:
    digest = engine.known.uploads.add_bytes(b"id,x\na,0\nb,1\nc,9\n")
    stored = run(engine, data=digest, values="1,2,3")
    assert stored.result.labels.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]
    assert stored.result.elements == ["a", "b", "c"]
    assert stored.counts["parts_computed"] == 3
    assert run(engine, data=digest, values="1,2,3").hit


def test_a_label_table_keeps_names_with_separators() -> None:
    table = label_table(np.array([[0, 1], [0, 0]]), [1.0, 2.5], ['a,"b', "c\nd"])
    found = read_partitions(table)
    assert found.elements == ['a,"b', "c\nd"]
    assert found.scales == [1, 2.5]


# Figures


def result_of(**changes: Any) -> McbifSweepResult:
    """Return a small result made by hand."""
    made = McbifSweepResult(
        labels=np.array([[0, 0, 1], [0, 1, 2]], np.int32),
        n_clusters=np.array([2, 3], np.int32),
        variation_of_information=np.array([0.46], np.float32),
        modularity=np.full(2, np.nan, np.float32),
        inertia=np.array([4.5, 0], np.float32),
        n=3,
        scales=[2.0, 3.0],
        elements=["a", "b", "c"],
        source="points",
        algorithm="kmeans",
        parameter="k",
        table="sha256:" + "a" * 64,
        notes=["<script>alert(1)</script>"],
        seed=0,
    )
    return replace(made, **changes)


def test_clusters_figure() -> None:
    figure = clusters_figure(result_of(), {})
    clusters, measure = figure.data
    assert (list(clusters.x), list(clusters.y)) == ([2, 3], [2, 3])
    assert list(measure.y) == [4.5, 0]
    assert clusters.hovertext[0] == "k = 2<br>2 clusters<br>inertia: 4.5<br>N = 3 points"
    graph = result_of(source="graph", parameter="resolution", modularity=np.float32([0.3, 0.4]))
    drawn = clusters_figure(graph, {})
    assert drawn.layout.xaxis.type == "log"
    assert drawn.data[1].name == "modularity (right)"


def test_neighbors_figure() -> None:
    (trace,) = neighbors_figure(result_of(), {}).data
    assert list(trace.x) == [2.5]
    assert trace.hovertext == ("k = 2 and 3<br>VI: 0.46 nats<br>N = 3 points",)
    alone = result_of(
        labels=np.zeros((1, 3), np.int32),
        n_clusters=np.ones(1, np.int32),
        modularity=np.full(1, np.nan, np.float32),
        inertia=np.ones(1, np.float32),
        variation_of_information=np.zeros(0, np.float32),
        scales=[2.0],
    )
    words = [each.text for each in neighbors_figure(alone, {}).layout.annotations]
    assert "one value has no neighbor" in words


@pytest.mark.parametrize("name", FIGURES)
def test_figures_pass_plotlys_checks_and_have_titles(name: str) -> None:
    import plotly.graph_objects as go

    figure = FIGURES[name](result_of(), {})
    assert figure is not None
    checked = go.Figure(figure.to_plotly_json())
    assert checked.layout.xaxis.title.text
    assert checked.layout.yaxis.title.text
    assert checked.layout.meta["title"]


def test_the_link_opens_the_table_in_the_same_window() -> None:
    found = link_html(result_of(), {})
    (query,) = re.findall(
        r"<a href='\?([^']*)' target='_self'>Open in Hilbert functions</a>", found
    )
    assert parse_qs(query) == {"method": ["mcbif"], "partitions": ["sha256:" + "a" * 64]}
    assert "<script" not in found


def test_the_form_offers_what_fits_the_source(known: Known) -> None:
    points = adapt({"source": "points", "algorithm": "agglomerative"}, known, "")
    assert points == {
        "algorithm": {"choices": ["kmeans", "agglomerative"], "value": "agglomerative"}
    }
    graph = adapt({"source": "graph", "algorithm": "kmeans"}, known, "source")
    assert graph["algorithm"] == {"choices": ["louvain"], "value": "louvain"}
    assert graph["values"] == {"value": "auto"}


def built() -> Panel:
    """Build the tool's panel."""
    import gradio as gr

    assert TOOL.build is not None
    with gr.Blocks(analytics_enabled=False):
        return TOOL.build()


def test_every_view_draws() -> None:
    # In the main thread Gradio would make event loops that it never closes.
    with ThreadPoolExecutor(1) as pool:
        panel = pool.submit(built).result()
    assert len({view.place.elem_id for view in panel.views}) == 3
    for view in panel.views:
        drawn = shown(view, result_of(), {}) if is_slot(view.place) else view.draw(result_of(), {})
        assert drawn
