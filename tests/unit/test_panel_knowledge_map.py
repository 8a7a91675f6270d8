"""The page of the knowledge map: what its controls hold, its details, its form, its places."""

import base64
import csv
import io
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.concepts.medical import LABELS
from backends.concepts.table import read_table
from backends.contract import Known
from backends.errors import BadRequest
from backends.methods.knowledge_map import METHOD, KnowledgeMapResult
from backends.models.catalog import Catalog
from backends.uploads import Uploads
from tests.unit.test_figures_knowledge_map import NASTY, SAMPLES, SETS, drugs, progression, take
from views.concepts import adapt
from views.contract import Panel
from views.slot import is_slot, shown
from views.tools.knowledge_map import TOOL
from views.tools.knowledge_map.details import NOTHING, neighbors_html
from views.tools.knowledge_map.fit import fit
from views.tools.knowledge_map.selection import selection_csv, selection_html

TABLE = "prompt,entity,size,color,note\n" + "".join(
    f"The {i} thing,{i},s{i % 2},c{i % 3},n{i}\n" for i in range(12)
)


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Return the panel, built in a page of its own.

    In the main thread Gradio would make event loops that it never closes.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(built).result()


def built() -> Panel:
    """Build the tool's panel."""
    import gradio as gr

    assert TOOL.build is not None
    with gr.Blocks(analytics_enabled=False):
        return TOOL.build()


@pytest.fixture
def known(tmp_path: Path) -> Known:
    """Return what `adapt` may look at: no models, empty uploads."""
    return Known(Catalog(tmp_path), Uploads(tmp_path / "uploads"))


def adapted(known: Known, table: str | None = None, **values: Any) -> dict[str, Any]:
    """Return what the form offers; `table` is the text of a table."""
    if table is not None:
        file = known.catalog.home / "table.csv"
        file.write_text(table, "utf-8")
        values["table"] = known.uploads.add(file, "table")
    return dict(adapt(values, known, ""))


def values(result: KnowledgeMapResult, **look: Any) -> dict[str, Any]:
    """Return what the controls hold for a wanted look."""
    return {name: props["value"] for name, props in fit(result, look).items()}


# The controls

DEFAULTS = {
    "layer": 9,
    "column": "",
    "view": "one",
    "disease": None,
    "search": "",
    "point": "",
    "points": "",
}


def test_without_a_look_the_controls_hold_the_defaults() -> None:
    assert values(drugs()) == DEFAULTS
    assert values(progression())["disease"] == progression().diseases[0]


@pytest.mark.parametrize(
    "look",
    [
        {"layer": "x", "column": "none such", "view": "three", "disease": "flu", "point": "20"},
        {"layer": None, "column": None, "view": None, "disease": None, "search": None},
        {"layer": [], "column": ["second"], "view": 3, "point": "-1", "points": "x,-2,99,1.5"},
    ],
)
def test_wrong_values_become_the_defaults(look: dict[str, Any]) -> None:
    assert values(drugs(), **look) == DEFAULTS


def test_right_values_of_a_link_are_kept_and_are_text() -> None:
    look = {"layer": "5", "column": "second", "view": "multiples", "search": "a" * 200}
    held = values(drugs(), **look, point="3", points="7,3,7,99,x")
    assert held == {
        "layer": 5,
        "column": "second",
        "view": "multiples",
        "disease": None,
        "search": "a" * 100,
        "point": "3",
        "points": "3,7",
    }


def test_the_slider_goes_through_all_numbers_so_that_it_can_be_played() -> None:
    props = fit(drugs(), {"layer": 7})["layer"]
    assert props == {"minimum": 0, "maximum": 9, "step": 1, "value": 7, "visible": True}
    assert values(drugs(), layer=1_000)["layer"] == 9
    assert values(drugs(), layer="-3")["layer"] == 0


def test_one_layer_needs_no_slider_and_only_stages_a_choice_of_disease() -> None:
    one = replace(take(drugs(), "layer", [1]), layers=[5])
    props = fit(one, {"layer": 3})
    assert (props["layer"]["value"], props["layer"]["visible"]) == (5, False)
    assert not props["disease"]["visible"]
    disease = fit(progression(), {"disease": "liver"})["disease"]
    assert (disease["visible"], disease["value"]) == (True, "liver")
    assert disease["choices"] == progression().diseases


def test_the_coloring_offers_the_sets_own_first() -> None:
    choices = fit(drugs(), {})["column"]["choices"]
    assert choices[0] == ("the set's own", "")
    assert [value for _, value in choices[1:]] == drugs().label_columns


# The prompt that was clicked


def test_before_a_click_one_sentence_says_what_a_click_does() -> None:
    assert neighbors_html(drugs(), {}) == f"<p class='gw-secondary'>{html(NOTHING)}</p>"


def html(text: str) -> str:
    """Return text as it stands in HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#x27;")


def test_the_clicked_prompt_has_its_ten_neighbors_at_the_layer() -> None:
    result = drugs()
    found = neighbors_html(result, {"point": "3", "layer": "5", "column": "second"})
    rows = re.findall(r"<tr><td class='gw-number'>(.*?)</tr>", found)
    assert len(rows) == 10
    for rank, (row, sample) in enumerate(zip(rows, result.neighbors[1, 3], strict=True), 1):
        cells = re.split(r"</?td[^>]*>", row)
        cells = [cell for cell in cells if cell]
        kind = result.classes[1][result.labels[1, sample]]
        kind = kind if result.labels[1, sample] >= 0 else "dropped"
        cosine = f"{result.neighbor_cosine[1, 3, rank - 1]:.4f}"
        assert cells == [str(rank), f"The patient takes {escaped(NASTY)} {sample}", kind, cosine]
    assert "layer 5, N = 20 prompts" in found
    assert "(unit of the residual stream)" in found
    assert found != neighbors_html(result, {"point": "3", "layer": "9", "column": "second"})


def escaped(text: str) -> str:
    """Return NASTY as HTML shows it."""
    return html(text).replace(">", "&gt;")


@pytest.mark.parametrize("kind", SETS)
def test_no_text_of_a_user_becomes_a_tag_in_the_details(kind: str) -> None:
    look = {"point": "1", "points": ",".join(map(str, range(SAMPLES)))}
    result = replace(SETS[kind](), label_columns=[NASTY, "second"])
    for column in ("", NASTY):
        selection = selection_html(result, {**look, "column": column})
        assert selection is not None
        for found in (neighbors_html(result, {**look, "column": column}), selection):
            assert "<script" not in found
            assert "<b>" not in found
            assert "&lt;script&gt;" in found


def test_a_cosine_that_is_not_defined_says_so() -> None:
    result = drugs()
    unknown = replace(result, neighbor_cosine=result.neighbor_cosine * np.nan)
    assert neighbors_html(unknown, {"point": "0"}).count(">not defined</td>") == 10


# The lasso


def downloaded(html_text: str) -> list[list[str]]:
    """Return the rows of the CSV in a link."""
    link = re.search(r"href='data:text/csv;charset=utf-8;base64,([^']*)'", html_text)
    assert link is not None
    content = base64.b64decode(link.group(1)).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(content, newline="")))


def test_without_a_lasso_there_is_no_selection() -> None:
    assert selection_html(drugs(), {}) is None
    assert selection_html(drugs(), {"points": "99,x"}) is None


def test_the_selection_lists_its_prompts_and_links_all_of_them() -> None:
    result = drugs(samples=300)
    look = {"points": ",".join(map(str, range(20, 300))), "layer": 5, "column": "second"}
    found = selection_html(result, look)
    assert found is not None
    assert "N = 280 selected of 300 prompts; the first 200 are listed" in found
    assert found.count("<tr><td>") == 200
    header, *rows = downloaded(found)
    named = [f"{name}, layer 5" for name in ("x", "y", "norm")]
    assert header == ["prompt", "entity", *result.label_columns, *named]
    assert len(rows) == 280
    assert rows[0][:2] == [result.prompts[20], result.entities[20]]
    assert rows[-1][3] == ""
    assert float(rows[3][4]) == pytest.approx(result.map[1, 23, 0], rel=1e-5)
    assert float(rows[3][6]) == pytest.approx(result.norm[1, 23], rel=1e-5)


def test_the_values_of_a_set_are_in_the_file() -> None:
    header, row = list(csv.reader(io.StringIO(selection_csv(SETS["ages"](), {"points": "17"}))))
    assert header[:4] == ["prompt", "age_group", "is_adult", "value"]
    assert row[3] == "17"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_file_is_a_formula(begin: str) -> None:
    bad = f"{begin}cmd()"
    result = replace(
        drugs(),
        prompts=[bad] * SAMPLES,
        entities=[bad] * SAMPLES,
        label_columns=[bad, "second"],
        classes=[[bad, "b", "c"], ["acid", "base"]],
    )
    found = selection_html(result, {"points": "0"})
    assert found is not None
    header, row = downloaded(found)
    assert header[2] == f"'{bad}"
    assert row[:3] == [f"'{bad}"] * 3
    assert row[3] == "acid"
    assert float(row[4]) == pytest.approx(result.map[-1, 0, 0], rel=1e-5)


# The form


@pytest.mark.parametrize("domain", LABELS)
def test_a_domain_offers_its_label_columns(known: Known, domain: Any) -> None:
    names = list(LABELS[domain])
    assert adapted(known, domain=domain) == {"labels": {"choices": names, "value": names[0]}}
    kept = adapted(known, domain=domain, labels=names[-1])
    assert kept["labels"]["value"] == names[-1]
    other = adapted(known, domain=domain, labels="of another set")
    assert other["labels"]["value"] == names[0]


@pytest.mark.parametrize("domain", [{}, {"domain": "no such"}])
def test_without_a_domain_the_form_offers_those_of_the_default(
    known: Known, domain: dict[str, str]
) -> None:
    assert adapted(known, **domain)["labels"]["choices"] == list(LABELS["drug"])


def test_a_table_offers_its_columns_of_two_classes_and_takes_the_place_of_the_domain(
    known: Known,
) -> None:
    found = adapted(known, TABLE, domain="drug", labels="color", template="B")
    assert found == {
        "domain": {"value": None},
        "template": {"value": "A"},
        "labels": {"choices": ["size", "color"], "value": "color"},
    }
    assert adapted(known, TABLE, labels="specialty")["labels"]["value"] == "size"


def test_a_table_without_classes_offers_no_column(known: Known) -> None:
    lines = "prompt,value\n" + "".join(f"The {i} thing,{i}\n" for i in range(12))
    assert adapted(known, lines)["labels"] == {"choices": [], "value": None}


@pytest.mark.parametrize("table", ["", "a,b\n1,2\n", "prompt,kind\nx,y\n"])
def test_a_table_that_cannot_be_read_is_refused(known: Known, table: str) -> None:
    with pytest.raises(BadRequest) as error:
        adapted(known, table)
    assert error.value.field == "table"


def test_what_is_offered_for_a_table_can_be_run(known: Known) -> None:
    columns = adapted(known, TABLE)["labels"]["choices"]
    assert set(columns) < set(read_table(TABLE.encode()).labels)


# The page


def test_the_tool_has_its_first_fields_and_its_caution() -> None:
    assert set(TOOL.fields) <= set(METHOD.request.model_fields)
    assert TOOL.caution == "Research only. Not for clinical use. No patient data."


def test_the_places_are_distinct_and_named_after_the_method(panel: Panel) -> None:
    places = [view.place for view in panel.views] + list(panel.look.values())
    names = [place.elem_id for place in places]
    assert len(set(names)) == len(names)
    assert all(name.startswith("knowledge_map-") for name in names)
    assert panel.play_button.elem_id == "knowledge_map-play"
    assert {"map", *TOOL.figures} <= {name.removeprefix("knowledge_map-") for name in names}


def test_every_view_depends_on_controls_that_are_there(panel: Panel) -> None:
    controls = set(panel.look)
    assert set(fit(drugs(), {})) == controls
    assert panel.play in controls
    for view in panel.views:
        assert view.uses is not None
        assert set(view.uses) <= controls
        assert {view.follows, view.click, view.select} <= controls | {""}
        assert view.frames is None or view.follows
        assert view.follows not in view.uses


LOOKS: list[dict[str, Any]] = [
    {},
    {"point": "1", "points": "1,2", "search": "patient", "layer": 5, "column": "second"},
    {"view": "multiples", "point": "1", "search": "patient"},
]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("look", LOOKS)
def test_every_view_draws_every_kind_of_result(
    panel: Panel, kind: str, look: dict[str, Any]
) -> None:
    result = SETS[kind]()
    in_force = {**dict.fromkeys(panel.look), **look, **values(result, **look)}
    for view in panel.views:
        name = view.place.elem_id.removeprefix("knowledge_map-")
        drawing = view.draw(result, in_force)
        absent = (name, kind) in {("age", "drugs"), ("age", "progression")}
        absent |= name == "progression" and kind != "progression"
        absent |= name == "selection" and "points" not in look
        assert (drawing is None) == absent, name
        if is_slot(view.place) and drawing is not None:
            assert shown(view, result, in_force).startswith('{"data":')
        elif not is_slot(view.place) and drawing is not None:
            assert isinstance(drawing, str)


@pytest.mark.parametrize("of", [lambda panel: panel.views, lambda panel: panel.look.values()])
def test_controls_and_places_are_components(panel: Panel, of: Callable[[Panel], Any]) -> None:
    import gradio as gr

    for each in of(panel):
        assert isinstance(getattr(each, "place", each), gr.blocks.Block)
