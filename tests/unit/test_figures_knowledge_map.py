"""The figures of the knowledge map, on small results made by hand."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from backends.codec import array_fields
from backends.methods.knowledge_map import KnowledgeMapResult
from views import figure as look_of
from views.tools.knowledge_map import FIGURES, TOOL
from views.tools.knowledge_map.boxes import fitted
from views.tools.knowledge_map.map import layer_figure, map_frames
from views.tools.knowledge_map.plain import numbers

LAYERS, SAMPLES = [0, 5, 9], 20
NASTY = "<b>x</b> & <script>alert(1)</script>"
TAGS = ("<script", "<b>x", "<a ", "<img")


def _f(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


def _labels(classes: int, samples: int = SAMPLES) -> np.ndarray:
    return np.arange(samples) % classes


def drugs(samples: int = SAMPLES, classes: int = 3) -> KnowledgeMapResult:
    """Return a set of two label columns, of which the second dropped the last four prompts."""
    rng = np.random.default_rng(0)
    places = [_f(rng.normal(size=(len(LAYERS), samples, k))) for k in (2, 2, 5)]
    second = _labels(2, samples)
    second[-4:] = -1
    curve = _f([[0.1, 0.3, 0.2], [0.0, np.nan, -0.1]])
    pair = _f([[0.5, 0.6, 0.7], [0.4, 0.5, np.nan]])
    line = ("r2_pc1", "r2_cv", "anisotropy", "step_size", "values", "disease_of")
    stages = ("stage_distance", "csfs", "csls", "loop_ratio", "closure", "spearman")
    difference = _f([[0, 0, 0], [0.1, np.nan, 0.3]])
    return KnowledgeMapResult(
        **dict(zip(("map", "map_pca", "metric_space"), places, strict=True)),
        **dict.fromkeys(line + stages),
        labels=np.array([_labels(classes, samples), second]),
        norm=_f(10 + rng.random((len(LAYERS), samples))),
        neighbors=rng.permuted(np.tile(np.arange(samples), (len(LAYERS), samples, 1)), axis=2)[
            ..., :10
        ],
        neighbor_cosine=_f(np.tile(np.linspace(0.9, 0.1, 10), (len(LAYERS), samples, 1))),
        silhouette=curve,
        silhouette_low=curve - 0.05,
        silhouette_high=curve + 0.05,
        silhouette_null=curve * 0 - 0.02,
        silhouette_z=curve / 0.05,
        silhouette_null_max=_f([0.04, 0.05]),
        silhouette_cosine=curve / 2,
        difference=difference,
        difference_low=difference - _f([[0], [0.05]]),
        difference_high=difference + _f([[0], [0.05]]),
        token_overlap=_f([-0.2, 0.6]),
        token_count_correlation=_f([0.12, np.nan, 0.3]),
        probe_accuracy=pair,
        probe_low=pair - 0.1,
        probe_high=pair + 0.1,
        probe_null=pair * 0 + 0.3,
        participation_ratio=_f([5, 2, 6]),
        participation_ratio_rest=_f([6, 5, 7]),
        mean_cosine=_f([0.2, 0.9, -0.1]),
        median_norm=_f([10, 20, 3000]),
        top3_share=_f([0.1, 0.8, 0.2]),
        n=samples,
        layers=LAYERS,
        label_columns=[f"kind {NASTY}", "second"],
        classes=[[NASTY] + [f"class {i}" for i in range(1, classes)], ["acid", "base"]],
        dropped={f"kind {NASTY}": 0, "second": 4},
        prompts=[f"The patient takes {NASTY} {i}" for i in range(samples)],
        entities=[f"{NASTY} {i}" for i in range(samples)],
        tokens=[["The", " <b>x", "\n", " takes"] for _ in range(samples)],
        variants=["prompt"],
        diseases=[],
        stages=[],
        projection="umap",
        normalization="none",
        dimensions_dropped=[0, 0, 0],
    )


def ages() -> KnowledgeMapResult:
    """Return a set of ages 0 to 19, in three wordings."""
    steps = np.ones((3, len(LAYERS), SAMPLES - 1))
    steps[:, :, 17] = 5.0
    return replace(
        drugs(),
        label_columns=["age_group", "is_adult"],
        values=[float(i) for i in range(SAMPLES)],
        entities=[],
        r2_pc1=_f([0.9, np.nan, 0.8]),
        r2_cv=_f([0.8, 0.9, 0.7]),
        anisotropy=_f([0.5, 0.6, 0.7]),
        step_size=_f(steps),
        variants=["prompt", "prompt_male", "prompt_control"],
    )


def progression() -> KnowledgeMapResult:
    """Return three diseases of 8, 7 and 5 stages; the distances are padded with NaN."""
    sizes = [8, 7, 5]
    distance = np.full((3, len(LAYERS), 8, 8), np.nan)
    for disease, size in enumerate(sizes):
        line = np.arange(size)
        distance[disease, :, :size, :size] = np.abs(line[:, None] - line)
    measure = np.ones((3, len(LAYERS)))
    spearman = measure.copy()
    spearman[1] = np.nan
    return replace(
        drugs(),
        values=[float(stage) for size in sizes for stage in range(size)],
        diseases=[f"kidney {NASTY}", "lung", "liver"],
        disease_of=[disease for disease, size in enumerate(sizes) for _ in range(size)],
        stages=[[f"{NASTY} {k}" if k == 1 else f"stage {k}" for k in range(s)] for s in sizes],
        stage_distance=_f(distance),
        csfs=measure.astype(np.int64),
        csls=np.array([[6] * 3, [5] * 3, [3] * 3]),
        loop_ratio=_f(measure),
        closure=_f(measure),
        spearman=_f(spearman),
    )


SETS = {"drugs": drugs, "ages": ages, "progression": progression}
CASES = [
    (kind, name, look)
    for kind in SETS
    for name in FIGURES
    for look in ({}, {"layer": 5, "column": "second"}, {"view": "multiples"})
    if name in ("map", "separability", "collapse")
    or (kind, name) in (("ages", "age"), ("progression", "progression"))
]


def take(result: KnowledgeMapResult, axis: str, places: list[int]) -> KnowledgeMapResult:
    """Return a result with these places of one axis, in every array that has it."""
    changed = {
        name: np.take(getattr(result, name), places, axes.index(axis))
        for name, axes in array_fields(KnowledgeMapResult).items()
        if axis in axes and getattr(result, name) is not None
    }
    return replace(result, **changed)


def draw(name: str, result: KnowledgeMapResult, **look: Any) -> go.Figure:
    figure = FIGURES[name](result, look)
    assert figure is not None
    return figure


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a figure's JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def array(spec: Any) -> np.ndarray:
    """Return an array of a figure's JSON, which plotly writes in base64."""
    return np.frombuffer(base64.b64decode(spec["bdata"]), spec["dtype"])


def behind(result: KnowledgeMapResult, label: str) -> list[Any]:
    """Return the traces that a button of the separability figure shows."""
    figure = draw("separability", result)
    button = next(b for b in figure.layout.updatemenus[0].buttons if b.label == label)
    shown = button.args[0]["visible"]
    return [trace for trace, visible in zip(figure.data, shown, strict=True) if visible]


def listed(values: Any) -> list[Any]:
    """Return coordinates as a frame holds them: undefined ones are None."""
    return [None if not np.isfinite(v) else pytest.approx(float(v), rel=1e-6) for v in values]


@pytest.fixture(scope="module")
def all_figures() -> dict[str, dict[str, Any]]:
    """Return every figure of every set as parsed JSON."""
    return {
        f"{kind} {name} {look}": json.loads(draw(name, SETS[kind](), **look).to_json())
        for kind, name, look in CASES
    }


def test_the_tool_stands_first_in_the_maps_and_names_its_figures() -> None:
    assert (TOOL.tab, TOOL.order, TOOL.title) == ("maps", 10, "Map")
    assert list(TOOL.figures) == ["map", "separability", "age", "progression", "collapse"]


def test_every_figure_has_n_and_a_title_that_only_exports_draw(all_figures: dict[str, Any]) -> None:
    for case, figure in all_figures.items():
        notes = [note["text"] for note in figure["layout"]["annotations"]]
        assert any(f"N = {SAMPLES} prompts" in note for note in notes), case
        assert figure["layout"]["meta"]["title"], case
        assert "title" not in figure["layout"], case


def test_every_axis_has_a_name_or_shares_that_of_its_row_or_column(
    all_figures: dict[str, Any],
) -> None:
    for case, figure in all_figures.items():
        axes = {k: v for k, v in figure["layout"].items() if k[:5] in ("xaxis", "yaxis")}
        named = [k for k, v in axes.items() if v.get("title", {}).get("text")]
        expected = len(axes) - ("multiples" in case and " map " in case) * 2
        assert len(named) == expected, case


def test_no_text_of_a_user_becomes_a_tag(all_figures: dict[str, Any]) -> None:
    for case, figure in all_figures.items():
        for text in texts(figure):
            assert not any(tag in text for tag in TAGS), (case, text)


def test_user_text_is_still_there_escaped() -> None:
    point = draw("map", drugs()).data[0]
    lines = point.hovertext[0].split("<br>")
    assert lines[0] == "&lt;b&gt;x&lt;/b&gt; &amp; &lt;script&gt;alert(1)&lt;/script&gt; 0"
    assert lines[2] == "tokens: The · ␣&lt;b&gt;x · ↵ · ␣takes"
    assert len(lines) + point.hovertemplate.count("<br>") <= 6


@pytest.mark.parametrize(("kind", "name", "look"), CASES)
def test_drawing_twice_gives_the_same_bytes(kind: str, name: str, look: dict[str, Any]) -> None:
    result = SETS[kind]()
    assert draw(name, result, **look).to_json() == draw(name, result, **look).to_json()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("drugs", "age"), ("progression", "age"), ("drugs", "progression"), ("ages", "progression")],
)
def test_a_set_without_values_or_stages_lacks_their_figure(kind: str, name: str) -> None:
    assert FIGURES[name](SETS[kind](), {}) is None


def test_a_set_without_label_columns_has_a_map_but_no_separability() -> None:
    result = replace(take(drugs(), "column", []), label_columns=[], classes=[])
    assert FIGURES["separability"](result, {}) is None
    assert [trace.name for trace in draw("map", result).data] == ["all prompts"]


@pytest.mark.parametrize("layer", ["x", None, [], "nan", float("inf")])
def test_an_unknown_layer_shows_the_last(layer: Any) -> None:
    title = draw("map", drugs(), layer=layer).layout.meta["title"]
    assert title.startswith("Knowledge map, layer 9: ")


@pytest.mark.parametrize(
    ("layer", "shown"), [(-3, 0), (2, 0), (3, 5), ("6", 5), (7, 5), (8.0, 9), ("1e9", 9)]
)
def test_a_layer_that_is_not_there_shows_the_nearest(layer: Any, shown: int) -> None:
    title = draw("map", drugs(), layer=layer).layout.meta["title"]
    assert title.startswith(f"Knowledge map, layer {shown}: ")


def test_a_layer_of_a_link_is_text_and_names_the_layer_not_its_index() -> None:
    assert draw("map", drugs(), layer="5").layout.sliders[0].active == 1


@pytest.mark.parametrize("column", ["no such column", 3, None, ["second"]])
def test_an_unknown_column_shows_the_first(column: Any) -> None:
    assert draw("map", drugs(), column=column).to_json() == draw("map", drugs()).to_json()


def test_the_map_has_one_trace_per_class_and_a_frame_per_layer() -> None:
    figure = draw("map", drugs())
    assert [trace.type for trace in figure.data] == ["scatter"] * 3
    assert [frame.name for frame in figure.frames] == ["0", "5", "9"]
    assert all(len(frame.data) == 3 for frame in figure.frames)
    keys = sorted((key for trace in figure.data for key in trace.customdata), key=int)
    assert keys == [str(i) for i in range(SAMPLES)]


def test_the_points_of_the_map_are_those_of_the_layer_to_four_digits() -> None:
    result = drugs()
    for frame, points in zip(draw("map", result).frames, result.map, strict=True):
        x = np.concatenate([trace.x for trace in frame.data])
        members = np.concatenate([np.flatnonzero(result.labels[0] == k) for k in range(3)])
        np.testing.assert_allclose(x, points[members, 0], rtol=1e-3)
        assert x.dtype == np.float32


def test_all_layers_share_their_ranges_and_the_aspect_is_equal() -> None:
    figure = draw("map", drugs())
    assert figure.layout.yaxis.scaleanchor == "x"
    assert all(frame.layout.to_plotly_json() == {} for frame in figure.frames)


def test_layers_of_very_different_size_have_their_own_scale_and_the_figure_says_so() -> None:
    result = drugs()
    grown = result.map * _f([1, 10, 100])[:, None, None]
    figure = draw("map", replace(result, map=grown))
    assert "each layer at its own scale" in figure.layout.annotations[0].text
    first, last = (figure.frames[i].layout.xaxis.range for i in (0, 2))
    assert last[1] - last[0] > 20 * (first[1] - first[0])


def test_undefined_coordinates_do_not_spoil_the_ranges() -> None:
    result = drugs()
    holes = result.map.copy()
    holes[0, 0], holes[1] = np.nan, np.nan
    figure = draw("map", replace(result, map=holes))
    assert np.isfinite(figure.layout.xaxis.range).all()


def test_dropped_prompts_are_light_grey_and_named() -> None:
    dropped = draw("map", drugs(), column="second").data[0]
    assert (dropped.name, len(dropped.x)) == ("dropped (class under 3 prompts)", 4)
    assert dropped.marker.color == look_of.FAINT


@pytest.mark.parametrize(("kind", "name", "look"), CASES)
def test_figures_put_together_without_plotlys_checks_pass_them(
    kind: str, name: str, look: dict[str, Any]
) -> None:
    asked = {**look, "point": "3", "search": "patient"}
    for draw_it in (FIGURES[name], layer_figure):
        figure = draw_it(SETS[kind](), asked)
        assert figure is not None
        again = go.Figure(json.loads(figure.to_json()))
        assert json.loads(again.to_json()) == json.loads(figure.to_json())


def test_every_figure_has_the_template_of_the_house(all_figures: dict[str, Any]) -> None:
    house = json.loads(look_of.finish(go.Figure(), "").to_json())["layout"]["template"]
    for case, figure in all_figures.items():
        assert figure["layout"]["template"] == house, case


def test_the_axes_of_the_collapse_have_ticks_of_their_own() -> None:
    axis = draw("collapse", drugs()).layout.yaxis2
    assert (axis.tickmode, axis.overlaying, axis.side) == ("auto", "y", "right")


LOOKS: list[dict[str, Any]] = [
    {},
    {"column": "second", "point": "3"},
    {"point": "0", "search": "TAKES <B>X</b> & <script>alert(1)</script> 1"},
    {"search": "nothing has this"},
]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("look", LOOKS)
def test_a_frame_of_the_map_is_the_figure_drawn_at_that_layer(
    kind: str, look: dict[str, Any]
) -> None:
    result = SETS[kind]()
    holes = result.map.copy()
    holes[1, 4] = np.nan
    result = replace(result, map=holes * _f([1, 10, 100])[:, None, None])
    frames = map_frames(result, look)
    assert list(frames) == [str(layer) for layer in range(10)]
    json.dumps(frames, allow_nan=False)
    for name, frame in frames.items():
        figure = layer_figure(result, {**look, "layer": name})
        assert frame["traces"] == list(range(len(figure.data)))
        for moved, trace in zip(frame["data"], figure.data, strict=True):
            assert moved["x"] == listed(trace.x)
            assert moved["y"] == listed(trace.y)
            assert moved.get("text") == (None if trace.text is None else list(trace.text))
        assert "layout" not in frame
        assert frame["title"] == figure.layout.meta["title"]


def test_layers_are_fitted_into_one_range_and_keep_their_shape() -> None:
    result = drugs()
    small = replace(result, map=result.map * _f([1, 10, 100])[:, None, None] + 7)
    for each in (result, small):
        shown = fitted(each)
        assert np.abs(shown).max() <= 1
        assert shown.dtype == np.float32
        for before, after in zip(each.map, shown, strict=True):
            ratio = np.ptp(before, axis=0) / np.ptp(after, axis=0)
            assert ratio[0] == pytest.approx(ratio[1], rel=1e-4)
    sizes = np.ptp(fitted(small), axis=1).max(axis=1)
    np.testing.assert_allclose(sizes, sizes[0], rtol=1e-2)
    spans, shares = (np.ptp(m, axis=1).max(axis=1) for m in (result.map, fitted(result)))
    np.testing.assert_allclose(shares / shares[0], spans / spans[0], rtol=1e-4)


def test_six_layers_and_the_figure_of_the_page_have_no_slider_and_no_frames_of_plotly() -> None:
    assert map_frames(drugs(), {"view": "multiples"}) == {}
    figure = layer_figure(drugs(), {"layer": 5})
    assert not figure.frames
    assert not figure.layout.sliders
    assert not figure.layout.updatemenus
    drawn, file = (json.loads(f.to_json()) for f in (figure, draw("map", drugs(), layer=5)))
    for one, other in zip(drawn["data"], file["data"], strict=True):
        assert one.keys() == other.keys()
        assert all(one[k] == other[k] for k in one if k not in ("x", "y"))


def test_the_map_rings_what_was_clicked_its_neighbors_and_what_was_found() -> None:
    result = drugs()
    figure = layer_figure(result, {"layer": 5, "point": "3", "search": "takes"})
    near, point, found = figure.data[-3:]
    assert [t.name for t in (near, point, found)] == ["its neighbors", "selected", "found (20)"]
    places = fitted(result)[1]
    np.testing.assert_allclose(near.x, places[result.neighbors[1, 3], 0], rtol=1e-3)
    np.testing.assert_allclose(point.y, places[[3], 1], rtol=1e-3)
    assert point.marker.line.width > found.marker.line.width > near.marker.line.width
    for ring in (near, point, found):
        assert (ring.hoverinfo, ring.customdata) == ("skip", None)
        assert ring.marker.color == "#0b6e99"


def test_the_search_looks_into_prompts_and_entities_in_any_case() -> None:
    result = replace(drugs(), entities=["Aspirin" if i == 7 else "" for i in range(SAMPLES)])
    assert layer_figure(result, {"search": "ASPI"}).data[-1].name == "found (1)"
    assert layer_figure(result, {"search": "opium"}).data[-1].name == "found (0)"
    plain = [trace.name for trace in layer_figure(result, {"search": " "}).data]
    assert not any(name.startswith("found") for name in plain)


@pytest.mark.parametrize("point", ["", None, "20", "-1", "x", "9" * 5_000, []])
def test_a_point_that_is_not_there_has_no_ring(point: Any) -> None:
    assert len(layer_figure(drugs(), {"point": point}).data) == 3


@pytest.mark.parametrize("name", ["separability", "collapse"])
def test_exports_of_the_figures_by_layer_mark_the_layer(name: str) -> None:
    layout = draw(name, drugs(), layer=5).layout
    assert [shape.x0 for shape in layout.shapes] == [5]
    assert layout.annotations[1].text == "layer 5"
    assert not draw(name, drugs()).layout.shapes


def test_numbers_are_short_decimals_of_four_digits_and_none() -> None:
    given = [[0.1234567, -123456.0, 0.0], [np.nan, 3e-7, 9999.96]]
    assert numbers(given) == [[0.1235, -123500.0, 0.0], [None, 3e-7, 10000.0]]
    assert numbers(np.zeros((2, 0, 2))) == [[], []]


def test_color_and_symbol_tell_twenty_four_classes_apart_and_the_rest_is_one_grey_group() -> None:
    traces = draw("map", drugs(samples=90, classes=24)).data
    assert len({(t.marker.color, t.marker.symbol) for t in traces}) == 24
    assert (traces[0].marker.symbol, traces[8].marker.symbol) == ("circle", "diamond")
    names = [trace.name for trace in draw("map", drugs(samples=90, classes=30)).data]
    assert len(names) == 25
    assert names[0] == "other (6 classes)"


def test_many_points_are_drawn_by_webgl() -> None:
    figure = draw("map", drugs(samples=5_001))
    assert {trace.type for trace in figure.data} == {"scattergl"}
    assert {trace.type for frame in figure.frames for trace in frame.data} == {"scattergl"}


def test_values_or_diseases_color_the_map_unless_a_column_is_chosen() -> None:
    figure = draw("map", ages())
    assert len(figure.data) == 1
    assert figure.layout.coloraxis.colorbar.title.text == "age (years)"
    assert figure.layout.coloraxis.colorscale[0][1] == "#00224e"
    assert len(draw("map", ages(), column="age_group").data) == 3
    assert [trace.name for trace in draw("map", progression()).data][1:] == ["lung", "liver"]


def test_small_multiples_show_at_most_six_layers_with_one_legend() -> None:
    figure = draw("map", drugs(), view="multiples")
    assert [a.text for a in figure.layout.annotations][:3] == ["layer 0", "layer 5", "layer 9"]
    assert len(figure.data) == 9
    assert sum(trace.showlegend for trace in figure.data) == 3
    wide = replace(take(drugs(), "layer", [0] * 12), layers=list(range(12)))
    shown = [a.text for a in draw("map", wide, view="multiples").layout.annotations[:-1]]
    assert shown == [f"layer {i}" for i in (0, 2, 4, 7, 9, 11)]


def test_a_single_layer_needs_no_slider() -> None:
    one = replace(take(drugs(), "layer", [1]), layers=[5])
    assert not draw("map", one).layout.sliders
    assert draw("separability", one).data[0].name is None


def test_undefined_silhouettes_are_gaps_that_the_legend_names_never_zeros() -> None:
    figure = json.loads(draw("separability", drugs()).to_json())
    line = next(t for t in figure["data"] if t.get("name", "").startswith("second"))
    assert line["name"] == "second (2 classes, N = 16), not defined at 1 layer"
    np.testing.assert_allclose(array(line["y"]), [0, np.nan, -0.1], rtol=1e-3)
    assert "not defined" in line["hovertext"][1]
    assert line["customdata"] == ["0", "5", "9"]


def test_layers_where_no_column_is_defined_are_hatched() -> None:
    result = drugs()
    nothing = result.silhouette.copy()
    nothing[:, 1] = np.nan
    hatched = draw("separability", replace(result, silhouette=nothing)).data[0]
    assert (hatched.name, hatched.fillpattern.shape) == ("not defined", "/")
    np.testing.assert_allclose(hatched.x[:4], [2.5, 2.5, 7, 7])


def test_a_preliminary_result_without_scores_can_be_drawn() -> None:
    result = ages()
    nothing = result.silhouette * np.nan
    unknown = {
        name: nothing
        for name in vars(KnowledgeMapResult)
        if name.startswith(("silhouette", "probe", "difference")) and name != "silhouette_null_max"
    }
    empty = replace(
        result,
        **unknown,
        silhouette_null_max=_f([np.nan, np.nan]),
        r2_pc1=_f([np.nan] * 3),
        step_size=None,
    )
    names = [trace.name for trace in draw("separability", empty).data if trace.visible]
    assert "age_group (3 classes, N = 20): not defined" in names
    paired = [trace.name for trace in behind(empty, "difference")]
    assert paired == ["not defined", None, "minus is_adult (N = 16): not defined"]
    notes = [note.text for note in draw("age", empty).layout.annotations]
    assert "step sizes: not computed" in notes


def test_separability_draws_line_band_null_and_null_maximum_per_column() -> None:
    figure = draw("separability", drugs())
    shown = [trace for trace in figure.data if trace.visible]
    kinds = [
        "fill" if t.fill else (t.line.dash or "solid") for t in shown if t.name != "not defined"
    ]
    assert kinds == ["fill"] * 2 + ["dash"] * 2 + ["dot"] * 2 + ["solid"] * 2
    named = [t.name for t in shown if t.showlegend is not False]
    assert named.count("permutation null (mean)") == 1
    assert named.count("95 % of the null maximum") == 1
    assert {t.line.color for t in shown if t.line.dash == "dash"} == {look_of.CONTROL}


def test_the_toggle_changes_traces_and_the_name_of_the_axis() -> None:
    figure = draw("separability", drugs())
    buttons = figure.layout.updatemenus[0].buttons
    labels = ["metric space", "raw cosine", "probe accuracy", "difference"]
    assert [b.label for b in buttons] == labels
    visible = np.array([b.args[0]["visible"] for b in buttons])
    assert visible.shape == (4, len(figure.data))
    assert (visible.sum(axis=0) == 1).all()
    assert list(visible[0]) == [trace.visible for trace in figure.data]
    titles = [b.args[1]["yaxis.title.text"] for b in buttons]
    assert len(set(titles)) == 4


def test_the_hover_of_a_silhouette_has_value_interval_z_and_n() -> None:
    line = next(t for t in draw("separability", drugs()).data if (t.name or "")[:6] == "second")
    lines = line.hovertext[2].split("<br>")
    assert lines == [
        "second, layer 9",
        "silhouette, metric space: -0.1",
        "95 % interval: -0.15 to -0.05",
        "permutation null (mean): -0.02",
        "z against the null: -2",
        "N = 16 prompts",
    ]


def test_the_difference_has_a_line_and_a_band_for_each_column_but_the_first() -> None:
    hatched, band, line = behind(drugs(), "difference")
    assert hatched.name == "not defined"
    assert (band.fill, band.fillcolor) == ("toself", "rgba(213,94,0,0.18)")
    assert line.name == "minus second (N = 16), not defined at 1 layer"
    assert line.y.dtype == np.float32
    np.testing.assert_allclose(line.y, [0.1, np.nan, 0.3], rtol=1e-3)
    figure = draw("separability", drugs())
    changes = figure.layout.updatemenus[0].buttons[3].args[1]
    assert changes["yaxis.title.text"] == (
        "silhouette of kind &lt;b&gt;x&lt;/b&gt; &amp; &lt;script… minus that of the others"
    )
    assert changes["yaxis.range"][0] < 0 < 0.35 < changes["yaxis.range"][1]
    assert figure.layout.yaxis.zeroline


def test_the_hover_of_a_difference_has_both_z_and_says_what_compares() -> None:
    result = replace(drugs(), label_columns=["first", "second"])
    lines = behind(result, "difference")[-1].hovertext
    assert lines[2].split("<br>") == [
        "first minus second, layer 9",
        "difference of silhouettes: 0.3",
        "95 % interval: 0.25 to 0.35",
        "z against the null: 4 and -2",
        "3 and 2 classes: compare z, not raw silhouettes",
        "N = 16 prompts",
    ]
    assert lines[1].split("<br>")[1] == "difference of silhouettes: not defined"
    same = replace(result, classes=[["a", "b"], ["c", "d"]])
    assert not any("compare z" in text for text in behind(same, "difference")[-1].hovertext)


def test_the_n_of_a_difference_counts_the_prompts_labeled_in_both_columns() -> None:
    result = drugs()
    labels = result.labels.copy()
    labels[0, :3] = -1
    line = behind(replace(result, labels=labels), "difference")[-1]
    assert line.name.startswith("minus second (N = 13)")
    assert line.hovertext[0].endswith("N = 13 prompts")


def test_a_single_label_column_has_no_difference() -> None:
    one = take(drugs(), "column", [1])
    one = replace(one, label_columns=["second"], classes=[["acid", "base"]])
    buttons = draw("separability", one).layout.updatemenus[0].buttons
    assert [b.label for b in buttons] == ["metric space", "raw cosine", "probe accuracy"]


def test_token_overlap_lies_as_grey_dots_under_the_raw_cosine() -> None:
    traces = behind(drugs(), "raw cosine")
    assert [t.line.dash for t in traces] == ["dot", "dot", None, None]
    assert {t.line.color for t in traces[:2]} == {look_of.CONTROL}
    assert {t.name for t in traces[:2]} == {"token overlap alone (control)"}
    assert [t.showlegend for t in traces[:2]] == [True, False]
    assert traces[1].hovertext.split("<br>") == [
        "second",
        "token overlap alone (control): 0.6",
        "N = 16 prompts",
    ]
    np.testing.assert_allclose(traces[1].x, [-0.5, 0, 5, 9, 9.5])
    np.testing.assert_allclose(traces[1].y, [0.6] * 5, rtol=1e-3)
    buttons = draw("separability", drugs()).layout.updatemenus[0].buttons
    assert buttons[1].args[1]["yaxis.range"][1] > 0.6


def test_an_undefined_token_overlap_is_left_out_and_the_next_one_is_in_the_legend() -> None:
    levels = [
        trace
        for trace in behind(replace(drugs(), token_overlap=_f([np.nan, 0.6])), "raw cosine")
        if trace.line.dash == "dot"
    ]
    assert [(t.hovertext.split("<br>")[0], t.showlegend) for t in levels] == [("second", True)]


def test_the_hover_of_a_permutation_null_names_its_column_as_it_is_written() -> None:
    result = replace(drugs(), label_columns=["%{x}", "second"])
    nulls = [trace for trace in behind(result, "metric space") if trace.line.dash == "dash"]
    assert [null.hovertext[1] for null in nulls] == [
        "%{x}, layer 5<br>permutation null (mean): -0.02<br>N = 20 prompts",
        "second, layer 5<br>permutation null (mean): not defined<br>N = 16 prompts",
    ]


def test_no_hover_of_the_separability_is_longer_than_six_lines() -> None:
    for trace in draw("separability", drugs()).data:
        hovers = [trace.hovertext] if isinstance(trace.hovertext, str) else trace.hovertext or []
        assert all(len(hover.split("<br>")) <= 6 for hover in hovers)


def test_the_age_figure_marks_the_step_to_adulthood() -> None:
    figure = draw("age", ages())
    marked = next(trace for trace in figure.data if trace.name == "17 and 18")
    assert list(marked.text) == ["17", "18"]
    result = replace(ages(), label_columns=["parity", "second"])
    figure = draw("age", result)
    assert "17 and 18" not in [trace.name for trace in figure.data]
    assert figure.layout.xaxis3.title.text == "value at the step's start"


def test_the_steps_have_one_line_per_variant_and_controls_lie_under_them() -> None:
    steps = [trace for trace in draw("age", ages()).data if trace.name.startswith("J, ")]
    assert [trace.name for trace in steps] == ["J, control", "J, prompt", "J, male"]
    assert (steps[0].line.dash, steps[0].line.color) == ("dash", look_of.CONTROL)
    np.testing.assert_array_equal(steps[1].x, np.arange(SAMPLES - 1))
    assert "grammar changes at 1" in steps[1].hovertext[0]
    assert "grammar" not in steps[1].hovertext[2]
    assert "J = 5 median steps" in steps[1].hovertext[17]


def test_the_progression_draws_a_path_per_disease_and_no_padding() -> None:
    figure = draw("progression", progression(), disease="liver", layer=5)
    assert [t.type for t in figure.data] == ["scatter"] * 3 + ["heatmap", "table"]
    assert figure.data[2].name == "liver"
    heat = figure.data[3]
    assert heat.z.shape == (5, 5)
    assert heat.text[0][4] == "4"


def test_stages_are_ordered_by_their_value() -> None:
    result = progression()
    values = list(result.values or [])
    values[15:20] = [4.0, 3.0, 2.0, 1.0, 0.0]
    path = draw("progression", replace(result, values=values), disease="liver").data[2]
    assert list(path.customdata) == ["19", "18", "17", "16", "15"]


def test_the_table_has_a_raw_and_a_metric_row_per_disease_and_no_empty_number() -> None:
    cells = draw("progression", progression()).data[-1].cells["values"]
    assert list(cells[2]) == ["raw", "metric"] * 3
    assert cells[-1][2] == "not defined"
    assert cells[3][2] == "1 (&lt;b&gt;x&lt;/b&gt; &amp; &lt;s…)"
    assert all(text for column in cells[2:] for text in column)


def test_two_stages_have_no_measures_in_the_metric_space() -> None:
    result = progression()
    of = [0] * 8 + [1] * 10 + [2] * 2
    stages = [result.stages[0], [f"s{i}" for i in range(10)], ["a", "b"]]
    wide = np.zeros((3, 3, 10, 10))
    figure = draw(
        "progression", replace(result, disease_of=of, stages=stages, stage_distance=_f(wide))
    )
    assert [column[5] for column in figure.data[-1].cells["values"]][3:] == ["not defined"] * 5


def test_collapse_has_two_axes_and_marks_the_layer_of_the_look() -> None:
    figure = draw("collapse", drugs(), layer=5)
    assert [trace.yaxis for trace in figure.data] == ["y", "y", "y2", "y2"]
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].x0 == 5
    assert "median norm 3,000, in units of the residual stream" in figure.data[0].hovertext[2]
    assert not draw("collapse", drugs()).layout.shapes


def test_the_participation_ratio_names_the_correlation_with_token_count() -> None:
    traces = draw("collapse", drugs()).data
    count = "R of the map with token count"
    assert traces[0].hovertext[0].split("<br>")[3] == f"{count}: 0.12"
    assert f"{count}: not defined" in traces[0].hovertext[1]
    assert not any(count in text for trace in traces[1:] for text in trace.hovertext)


def test_escape_leaves_no_tags_breaks_or_lone_surrogates_and_counts_what_is_shown() -> None:
    assert look_of.escape("a<b>&\n\tc\x07") == "a&lt;b&gt;&amp;↵⇥c"
    assert look_of.escape("<<<<<<", 4) == "&lt;&lt;&lt;…"
    assert look_of.escape("\ud800") == "?"


def test_significant_rounds_and_keeps_what_is_not_finite() -> None:
    rounded = look_of.significant([123456, -0.00123456, 0, np.nan, np.inf])
    np.testing.assert_allclose(rounded, [123500, -0.001235, 0, np.nan, np.inf], rtol=1e-6)
    assert rounded.dtype == np.float32


def test_a_band_has_gaps_and_a_lone_value_keeps_a_width() -> None:
    shape = look_of.band([0, 1, 2, 3], [0, 1, np.nan, 5], [1, 2, np.nan, 6], "#0b6e99")
    np.testing.assert_allclose(shape.x, [0, 1, 1, 0, np.nan, 2.8, 3.2, 3.2, 2.8, np.nan], rtol=1e-4)
    np.testing.assert_allclose(shape.y, [0, 1, 2, 1, np.nan, 5, 5, 6, 6, np.nan], rtol=1e-4)
    assert shape.fillcolor == "rgba(11,110,153,0.18)"


@pytest.mark.parametrize(
    ("layers", "ticks"), [([3], [0, 1, 2, 3]), (range(30), [0, 5, 10, 15, 20, 25]), ([0], [0])]
)
def test_layer_ticks(layers: Any, ticks: list[int]) -> None:
    assert look_of.layer_axis(list(layers))["tickvals"] == ticks
