"""The page of MCbiF: what its controls hold, its words and tables, its form, its places."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.contract import Known
from backends.methods.mcbif import METHOD
from backends.models.catalog import Catalog
from backends.uploads import Uploads
from tests.partition_results import NASTY, made, random_sequence, three_elements
from views.contract import Panel
from views.partitions.contributions import MOST_ROWS, NOT_COMPUTED, contributions_json
from views.partitions.fit import fit
from views.partitions.markup import listed, number
from views.partitions.strip import null_words, strip_html
from views.partitions.window import window_html
from views.slot import is_slot, shown
from views.tools.mcbif import TOOL

DEFAULTS = {
    "cell": "0,3",
    "color": "linear",
    "colorby": "0",
    "elements": "",
    "direction": "row",
    "at": 0,
}


@pytest.fixture(scope="module")
def panel() -> Iterator[Panel]:
    """Return the panel, built in a page of its own.

    In the main thread Gradio would make event loops that it never closes.
    """
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(built).result()


def built() -> Panel:
    """Build the tool's panel."""
    import gradio as gr

    assert TOOL.build is not None
    with gr.Blocks(analytics_enabled=False):
        return TOOL.build()


def values(result: Any, **look: Any) -> dict[str, Any]:
    """Return what the controls hold for a wanted look."""
    return {name: props["value"] for name, props in fit(result, look).items()}


# The controls


def test_without_a_look_the_controls_hold_the_defaults() -> None:
    assert values(three_elements()) == DEFAULTS


@pytest.mark.parametrize(
    "look",
    [
        {"cell": "9,9", "color": "red", "colorby": "9", "direction": "up", "at": "x"},
        {"cell": None, "color": None, "colorby": None, "elements": None, "at": None},
        {"cell": "4,1", "color": [], "colorby": "-1", "direction": [], "at": []},
    ],
)
def test_wrong_values_become_the_defaults(look: dict[str, Any]) -> None:
    assert values(three_elements(), **look) == DEFAULTS


def test_right_values_of_a_link_are_kept() -> None:
    look = {"cell": "1,2", "color": "log", "colorby": "3", "direction": "column", "at": "2"}
    assert values(three_elements(), **look, elements=" #1:0 ") == {
        **look,
        "at": 2,
        "elements": "#1:0",
    }


def test_the_controls_offer_the_scales() -> None:
    props = fit(three_elements(), {"direction": "lag"})
    assert props["colorby"]["choices"][1] == ("2 (k = 2)", "1")
    assert (props["at"]["minimum"], props["at"]["maximum"]) == (0, 4)
    assert props["at"]["value"] == 3


# The strip


def test_the_strip_has_the_numbers_in_words() -> None:
    found = strip_html(three_elements(), {})
    assert "N = 3 elements, M = 5 scales" in found
    assert "0.25 (weighted by scale 0.25)" in found
    assert "0.2 (weighted by scale 0.2)" in found
    assert "1 in the window 1 to 4 and in 1 more" in found
    assert "at least 0 in every layout" in found


@pytest.mark.parametrize(
    ("average", "words"),
    [
        (0.5, "above what shuffling gives (z = 1.5, p = 0.2)"),
        (0.0, "below what shuffling gives (z = 1.5, p = 0.2)"),
        (0.25, "not distinguishable from shuffled labels (z = 1.5, p = 0.2)"),
    ],
)
def test_the_null_is_compared_in_words(average: float, words: str) -> None:
    null = np.linspace(0.2, 0.3, 21).astype(np.float32)
    result = three_elements(c0_bar=average, null_c0_bar=null, null_c1_bar=null)
    expected = f"20 shuffled sequences: 0.203 to 0.297 (95 %); {words}"
    assert null_words(result, "c0") == expected


def test_a_null_that_is_not_there_or_not_all_there_says_so() -> None:
    result = three_elements()
    nothing = np.zeros(0, np.float32)
    assert null_words(made([[0, 1]]), "c1") == "no shuffled sequences were asked for"
    waiting = replace(result, draws=0, draws_wanted=200, null_c0_bar=nothing, null_c1_bar=nothing)
    assert null_words(waiting, "c1") == "shuffled sequences: 0 of 200 so far"
    some = replace(result, draws_wanted=200, c1_z=None, c1_p=None)
    assert null_words(some, "c1").startswith("20 of 200 shuffled sequences so far: ")
    assert "z =" not in null_words(some, "c1")


def test_a_sequence_without_cycles_says_so() -> None:
    assert "no cycle in any window" in strip_html(made([[0, 1], [0, 0]]), {})


# The window


def test_the_window_of_the_cycle_by_hand() -> None:
    found = window_html(three_elements(), {"cell": "0,3"})
    assert "Window of scales 1 to 4 (numbers 0 to 3)" in found
    assert "the coarsest has 2 clusters, their join 1" in found
    assert "Independent cycles of clusters: 1." in found
    assert len(re.findall("<b>element", found)) == 4
    assert "Join of the window: 1 block" in found
    assert "element 0, element 1, element 2" in found
    assert "Shared elements" not in found


def test_neighboring_scales_have_their_contingency() -> None:
    found = window_html(three_elements(), {"cell": "1,2"})
    cells = re.findall(r"<td class='gw-number'>([^<]*)</td>", found.split("Shared elements")[1])
    assert cells == ["1", "1", "1", "·"]
    assert "No cycle of clusters." in found


def test_a_nested_window_and_one_scale_are_said_to_nest() -> None:
    for cell in ("0,4", "2,2"):
        found = window_html(three_elements(), {"cell": cell})
        assert "coarser than, or equal to, all others" in found


def test_a_window_that_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.partitions.nerve.MOST_GENERATORS", 5)
    assert "too large to find a cycle" in window_html(three_elements(), {"cell": "0,3"})


def test_long_lists_are_cut_and_counted() -> None:
    found = window_html(made([list(range(40)), list(range(40))]), {"cell": "0,1"})
    assert "40 blocks; the 12 largest are listed" in found
    assert "the 12 largest clusters of each scale" in found
    assert listed([str(i) for i in range(15)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"


def test_no_text_of_a_user_becomes_a_tag() -> None:
    result = random_sequence(draws=20, nasty=True)
    for found in (
        strip_html(result, {}),
        *(window_html(result, {"cell": c}) for c in ("0,4", "1,2")),
    ):
        assert "<script" not in found
        assert "<b>x" not in found
        assert "&lt;script&gt;" in found


def test_a_number_that_is_not_defined_says_so() -> None:
    assert (number(None), number(float("nan")), number(0.12345)) == (
        "not defined",
        "not defined",
        "0.123",
    )


# Contributions


def test_contributions_are_sorted_linked_and_marked() -> None:
    held = json.loads(contributions_json(three_elements(), {"elements": "#2"}))
    assert [row["key"] for row in held["rows"]] == ["#2", "#1", "#0"]
    assert [row["marked"] for row in held["rows"]] == [True, False, False]
    assert held["rows"][0]["values"] == [0.1, -0.2]
    assert "N = 3 of 3 elements" in held["caption"]


def test_contributions_that_are_not_there_are_left_out_or_named() -> None:
    result = three_elements()
    nothing = np.full(3, np.nan, np.float32)
    gone = replace(result, contribution_c0=nothing, contribution_c1=nothing)
    assert json.loads(contributions_json(gone, {})) == {"caption": NOT_COMPUTED, "rows": []}
    some = np.array([0.5, np.nan, 0.25], np.float32)
    held = json.loads(contributions_json(replace(result, contribution_c1=some), {}))
    assert [row["key"] for row in held["rows"]] == ["#2", "#0"]


def test_of_many_elements_the_largest_contributions_are_listed() -> None:
    count = MOST_ROWS + 10
    result = made([[0] * count])
    change = np.linspace(-1, 1, count).astype(np.float32)
    held = json.loads(
        contributions_json(replace(result, contribution_c0=change, contribution_c1=change), {})
    )
    assert len(held["rows"]) == MOST_ROWS
    assert min(abs(row["values"][1]) for row in held["rows"]) > 0.015
    assert f"the {MOST_ROWS} largest changes" in held["caption"]


def test_names_of_elements_stay_text_for_the_browser() -> None:
    result = random_sequence(draws=20, nasty=True)
    names = [row["name"] for row in json.loads(contributions_json(result, {}))["rows"]]
    assert all(name.endswith(NASTY) for name in names)


# The form and the page


def test_the_tool_stands_first_in_its_tab_and_shows_fields_that_are_there() -> None:
    assert (TOOL.tab, TOOL.order, TOOL.title) == ("mcbif", 10, "Hilbert functions")
    assert set(TOOL.fields) <= set(METHOD.request.model_fields)
    assert list(TOOL.figures) == ["hilbert", "conflict", "sankey", "slices", "curves", "window"]


def test_a_file_and_an_example_take_each_others_place(tmp_path: Path) -> None:
    known = Known(Catalog(tmp_path), Uploads(tmp_path / "uploads"))
    assert TOOL.adapt is not None
    file = {"example": "swapped", "partitions": "sha256:0"}
    assert TOOL.adapt(file, known, "partitions") == {"example": {"value": None}}
    assert TOOL.adapt(file, known, "example") == {"partitions": {"value": ""}}
    assert TOOL.adapt({"example": "swapped", "partitions": None}, known, "rows") == {}


def test_the_places_are_distinct_and_named_after_the_method(panel: Panel) -> None:
    places = [view.place for view in panel.views] + list(panel.look.values())
    names = [place.elem_id for place in places]
    assert len(set(names)) == len(names)
    assert all(name.startswith("mcbif-") for name in names)


def test_every_view_depends_on_controls_that_are_there(panel: Panel) -> None:
    controls = set(panel.look)
    assert set(fit(three_elements(), {})) == controls
    for view in panel.views:
        assert view.uses is not None
        assert set(view.uses) <= controls
        assert view.click in controls | {""}


@pytest.mark.parametrize("name", ["three", "random", "one"])
@pytest.mark.parametrize("look", [{}, {"cell": "0,0", "elements": "#0:0", "direction": "lag"}])
def test_every_view_draws_every_kind_of_result(
    panel: Panel, name: str, look: dict[str, Any]
) -> None:
    results = {"three": three_elements(), "random": random_sequence(), "one": made([[0]])}
    result = results[name]
    in_force = {**dict.fromkeys(panel.look), **look, **values(result, **look)}
    for view in panel.views:
        drawing = view.draw(result, in_force)
        if is_slot(view.place):
            assert shown(view, result, in_force).startswith('{"data":')
        else:
            assert isinstance(drawing, str)
