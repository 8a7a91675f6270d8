"""The figures of a sequence of partitions, on results made by hand and on random ones."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from backends.partitions.result import PartitionResult
from tests.partition_results import NASTY, made, random_sequence, three_elements
from views.figure import CATEGORICAL, CONTROL
from views.partitions import look as looks
from views.partitions.boards import (
    board_figure,
    conflict_figure,
    hilbert_figure,
    hovers,
    outline,
)
from views.partitions.curves import lag_profile
from views.partitions.figures import FIGURES
from views.partitions.grids import KINDS, cell_keys, grid_traces, outside, whole_ticks
from views.partitions.sankey import page_sankey
from views.partitions.slices import MOST_BARS, chosen_slice, slice_figure

TAGS = ("<script", "<b>x", "<a ", "<img")
RESULTS: dict[str, PartitionResult] = {
    "three elements": three_elements(),
    "random": random_sequence(draws=20, nasty=True),
    "no null": random_sequence(elements=20, scales=9),
    "one scale": made([[0, 1, 0]]),
    "one element": made([[0]] * 3),
    "one of each": made([[0]]),
    "singletons": made([list(range(5))] * 4),
    "many scales": random_sequence(elements=15, scales=64, most=3),
}
LOOKS: list[dict[str, Any]] = [
    {},
    {"cell": "0,0", "direction": "column", "at": "2", "color": "log", "colorby": "0"},
    {"cell": "1,2", "direction": "lag", "at": 1, "elements": "#0:0,element 1"},
]
CASES = [(kind, name, look) for kind in RESULTS for name in FIGURES for look in LOOKS]


def draw(name: str, result: PartitionResult, **look: Any) -> go.Figure:
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


@pytest.fixture(scope="module")
def all_figures() -> dict[str, dict[str, Any]]:
    """Return every figure of every result as parsed JSON."""
    return {
        f"{kind} {name} {look}": json.loads(draw(name, RESULTS[kind], **look).to_json())
        for kind, name, look in CASES
    }


def test_every_figure_passes_plotlys_checks(all_figures: dict[str, Any]) -> None:
    for figure in all_figures.values():
        go.Figure(figure)


def test_every_figure_has_n_a_title_and_names_on_its_axes(all_figures: dict[str, Any]) -> None:
    for case, figure in all_figures.items():
        layout = figure["layout"]
        assert any("N = " in note["text"] for note in layout["annotations"]), case
        assert layout["meta"]["title"], case
        assert "title" not in layout, case
        axes = [v for k, v in layout.items() if re.match("[xy]axis", k)]
        assert all(axis["title"]["text"] for axis in axes), case


def test_no_text_of_a_user_becomes_a_tag(all_figures: dict[str, Any]) -> None:
    for case, figure in all_figures.items():
        for text in texts(figure):
            assert not any(tag in text for tag in TAGS), (case, text)


def test_no_hover_has_more_than_six_lines(all_figures: dict[str, Any]) -> None:
    for case, figure in all_figures.items():
        for trace in figure["data"]:
            held = trace.get("hovertext", [])
            for text in texts(held if isinstance(held, list) else []):
                assert text.count("<br>") < 6, (case, text)


@pytest.mark.parametrize("name", FIGURES)
def test_drawing_twice_gives_the_same_bytes(name: str) -> None:
    for look in LOOKS:
        first, second = (draw(name, RESULTS["random"], **look).to_json() for _ in range(2))
        assert first == second


# What the look chooses


@pytest.mark.parametrize("cell", [None, "", "x", "3,1", "0,5", "-1,2", "1", "1,2,3", [1, 2]])
def test_a_wrong_cell_is_the_first_of_the_largest_hf1(cell: Any) -> None:
    assert looks.chosen_cell(three_elements(), {"cell": cell}) == (0, 3)


def test_a_cell_is_kept_and_without_cycles_the_default_is_all_scales() -> None:
    assert looks.chosen_cell(three_elements(), {"cell": "2,4"}) == (2, 4)
    assert looks.chosen_cell(made([[0, 1], [0, 0]]), {}) == (0, 1)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("#1", [1]),
        ("#1:0", [0, 1]),
        ("#1:1", [2]),
        ("#1:0-2:1", [1]),
        ("ELEMENT 2", [2]),
        ("#0, #2", [0, 2]),
        ("element", [0, 1, 2]),
        ("#9,#9:0,#1:9,#1:0-9:0", []),
        ("nothing of the kind", []),
        ("", []),
        (None, []),
    ],
)
def test_elements_are_meant_by_number_cluster_link_or_name(wanted: Any, found: list[int]) -> None:
    marked = looks.highlighted(three_elements(), {"elements": wanted})
    assert np.flatnonzero(marked).tolist() == found


def test_colors_come_from_the_scale_of_most_clusters_up_to_eight() -> None:
    rows = [list(range(12)), [x // 2 for x in range(12)], [x // 6 for x in range(12)]]
    assert looks.color_scale(made(rows), {}) == 1
    assert looks.color_scale(made(rows), {"colorby": "2"}) == 2
    assert looks.color_scale(made(rows), {"colorby": "3"}) == 1
    assert looks.color_scale(made([list(range(12)), [*range(9), 0, 0, 0]]), {}) == 1


@pytest.mark.parametrize("direction", ["diagonal", None, 3])
def test_a_wrong_slice_is_a_row(direction: Any) -> None:
    assert looks.chosen_direction({"direction": direction}) == "row"
    assert looks.chosen_place(three_elements(), {"at": "x"}) == 0
    assert looks.chosen_place(three_elements(), {"at": "1e9"}) == 4


def test_ticks_are_thinned_and_escaped() -> None:
    ticks = looks.scale_ticks([f"scale {m}" for m in range(50)])
    assert ticks["tickvals"] == [0, 20, 40]
    down = looks.scale_ticks([f"scale {m}" for m in range(50)], is_down=True)
    assert down["tickvals"] == [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert looks.scale_ticks([NASTY])["ticktext"] == ["&lt;b&gt;x&lt;/b&gt; &amp; …"]


# Grids


def test_a_grid_has_cells_above_its_diagonal_only() -> None:
    heat, hatch = grid_traces(three_elements().hf0, "hf0")
    assert np.isnan(heat["z"][2, :2]).all()
    assert heat["z"][0].tolist() == [3, 2, 1, 1, 1]
    assert heat["text"][0] == ["3", "2", "1", "1", "1"]
    assert heat["text"][4] == ["", "", "", "", "1"]
    assert heat["customdata"][1] == [None, "1,1", "1,2", "1,3", "1,4"]
    assert (heat["zmin"], heat["zmax"]) == (0, 3)
    assert hatch["fillpattern"]["shape"] == "/"


def polygon_area(x: Any, y: Any) -> float:
    """Return the area inside a closed polygon."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    return abs(float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))) / 2


@pytest.mark.parametrize("scales", [2, 3, 7])
def test_the_hatch_covers_the_cells_that_are_no_window(scales: int) -> None:
    (hatch,) = outside(scales)
    assert polygon_area(hatch["x"], hatch["y"]) == scales * (scales - 1) / 2
    assert outside(1) == []


@pytest.mark.parametrize(
    ("direction", "place", "cells"), [("row", 2, 3), ("column", 2, 3), ("lag", 1, 4), ("lag", 4, 1)]
)
def test_the_outline_of_a_slice_holds_its_cells(direction: str, place: int, cells: int) -> None:
    assert polygon_area(*outline(direction, place, 5)) == cells


def test_zero_cycles_have_the_color_of_the_paper_and_one_has_not() -> None:
    for log in (False, True):
        heat = grid_traces(three_elements().hf1 * 40, "hf1", log=log)[0]
        stops = heat["colorscale"]
        one = (np.log1p(1) if log else 1) / heat["zmax"]
        assert stops[0] == [0.0, "#ffffff"]
        assert 0 < stops[1][0] < one
        assert stops[2][1] != "#ffffff"
        assert stops[-1][0] == 1


def test_a_logarithmic_bar_has_whole_numbers_at_their_places() -> None:
    heat = grid_traces(three_elements().hf1 * 100, "hf1", log=True)[0]
    bar = heat["colorbar"]
    assert bar["ticktext"][0] == "0"
    shown = [float(text.replace(",", "")) for text in bar["ticktext"]]
    np.testing.assert_allclose(np.expm1(bar["tickvals"]), shown)


@pytest.mark.parametrize(
    ("top", "ticks"),
    [(1, [0, 1]), (4, [0, 1, 2, 3, 4]), (13, [0, 5, 10]), (60, [*range(0, 61, 10)])],
)
def test_ticks_of_counts_are_whole(top: int, ticks: list[int]) -> None:
    assert whole_ticks(top) == ticks


def test_signed_grids_have_symmetric_limits_and_signs() -> None:
    heat = grid_traces(np.array([[0, -3], [0, 2]]), "signed", name="difference")[0]
    assert (heat["zmin"], heat["zmax"]) == (-3, 3)
    assert heat["text"] == [["+0", "-3"], ["", "+2"]]
    assert grid_traces(np.zeros((2, 2)), "signed", limit=5)[0]["zmax"] == 5


def test_large_grids_have_neither_numbers_nor_sentences() -> None:
    result = RESULTS["many scales"]
    assert "text" not in grid_traces(result.hf0, "hf0")[0]
    assert hovers(result, "hf0") is None
    assert cell_keys(64)[3][63] == "3,63"


def test_a_hover_says_what_is_known_of_a_window() -> None:
    found = hovers(three_elements(), "hf1")
    assert found is not None
    lines = found[0][3].split("<br>")
    assert lines[0] == "scales 1 to 4 (numbers 0 to 3)"
    assert lines[1] == "HF<sub>0</sub> = 1, HF<sub>1</sub> = 1"
    assert lines[2].startswith("c<sub>0</sub> = 0.500")
    assert lines[3] == "k = 3 at s, 2 at t; least between 2"
    assert lines[4] == "N = 3 elements"
    assert lines[5].startswith("shuffled HF<sub>1</sub>: ")


@pytest.mark.parametrize("draw", [hilbert_figure, conflict_figure])
def test_the_ring_lies_around_the_selected_cell(draw: Any) -> None:
    figure = draw(three_elements(), {"cell": "1,3"})
    ring = next(trace for trace in figure.data if trace.name == "selected window")
    assert (min(ring.x), max(ring.x), min(ring.y), max(ring.y)) == (2.5, 3.5, 0.5, 1.5)
    assert list(figure.layout.yaxis.range) == [4.5, -0.5]


@pytest.mark.parametrize("name", ["hf0", "hf1", "c0", "delta1"])
def test_on_the_page_the_browser_marks_window_and_slice(name: str) -> None:
    figure = board_figure(three_elements(), {"cell": "1,3", "direction": "lag"}, name)
    assert not [trace for trace in figure.data if trace.name in ("selected window", "slice")]
    assert figure.layout.meta["marks"] == {"cell": "cell", "at": "lag"}
    assert figure.layout.meta["last"] == 4
    again = board_figure(three_elements(), {"cell": "0,0", "direction": "lag", "at": 2}, name)
    assert again.to_json() == figure.to_json()


def test_the_page_s_sankey_does_not_depend_on_the_window() -> None:
    one, other = (page_sankey(three_elements(), {"cell": cell}) for cell in ("1,3", "0,0"))
    assert one.to_json() == other.to_json()
    assert one.layout.meta["columns"] == [0, 1, 2, 3, 4]
    assert one.layout.meta["marks"] == {"cell": "window"}


def test_every_kind_of_grid_has_a_name() -> None:
    assert all(kind.name for kind in KINDS.values())


# Slices and curves


@pytest.mark.parametrize(
    ("look", "windows"),
    [
        ({"direction": "row", "at": 3}, [(3, 3), (3, 4)]),
        ({"direction": "column", "at": 1}, [(0, 1), (1, 1)]),
        ({"direction": "lag", "at": 3}, [(0, 3), (1, 4)]),
    ],
)
def test_a_slice_takes_the_windows_of_its_line(look: Any, windows: list[tuple[int, int]]) -> None:
    line = chosen_slice(three_elements(), look)
    assert list(zip(line.s.tolist(), line.t.tolist(), strict=True)) == windows


def bars(figure: go.Figure) -> list[Any]:
    """Return the traces of the barcode."""
    return [trace for trace in figure.data if (trace.name or "").startswith("bars")]


def test_the_barcode_of_the_first_row_by_hand() -> None:
    zeroth, first = bars(slice_figure(three_elements(), {"direction": "row", "at": 0}))
    np.testing.assert_allclose(zeroth.x[:6], [0, 1, np.nan, 0, 2, np.nan])
    np.testing.assert_allclose(first.x, [3, 4, np.nan])
    assert first.name == "bars of cycles (N = 1)"
    assert first.hovertext[0].endswith("ends at scale 5")


def test_an_anti_diagonal_has_no_barcode_and_says_why() -> None:
    figure = slice_figure(three_elements(), {"direction": "lag", "at": 1})
    assert bars(figure) == []
    assert any("no barcode" in note.text for note in figure.layout.annotations)


def test_a_large_sequence_has_no_barcode_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.partitions.slices.MOST_GENERATORS", 5)
    figure = slice_figure(RESULTS["random"], {})
    assert bars(figure) == []
    assert any("Too large" in note.text for note in figure.layout.annotations)


def test_many_bars_are_cut_to_the_longest_and_counted() -> None:
    result = made([list(range(MOST_BARS + 30)), [0] * (MOST_BARS + 30)])
    zeroth = bars(slice_figure(result, {"at": 0}))[0]
    assert zeroth.name == f"bars of components (N = {MOST_BARS + 30}, the {MOST_BARS} longest)"
    assert len(zeroth.x) == 3 * MOST_BARS
    assert zeroth.x[1::3].max() == 1.5


def test_the_lag_profile_is_the_mean_of_each_diagonal() -> None:
    assert lag_profile(np.array([[1, 2, 9], [0, 3, 4], [0, 0, 5]])).tolist() == [3, 3, 9]


def test_the_null_is_grey_dashes_below_its_curve_only_where_it_is_known() -> None:
    def dashed(result: PartitionResult) -> list[str]:
        lines = draw("curves", result).data
        return [t.name for t in lines if t.line.dash == "dash" and t.line.color == CONTROL]

    assert len(dashed(three_elements())) == 4
    assert dashed(RESULTS["no null"]) == []


def test_what_the_companion_lacks_is_named() -> None:
    names = [trace.name for trace in draw("curves", three_elements()).data]
    assert "δ<sub>2</sub>: not computed, the nerve is too large" in names
    known = replace(three_elements(), mcf_delta2=np.zeros(5, np.float32))
    assert "δ<sub>2</sub>" in [trace.name for trace in draw("curves", known).data]


def test_the_colors_of_the_house() -> None:
    assert CATEGORICAL[0] == looks.ACCENT
