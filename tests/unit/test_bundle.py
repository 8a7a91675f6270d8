"""The zip of one result: what is in it, that it opens offline, that no text becomes more."""

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from jaxtyping import Float, Int

from app import bundle
from app.bundle import export_zip, tables
from app.export import request_json, result_json, write_result
from backends.contract import Method, Request
from backends.jobs.base import Stored

KEY = "cd" * 32
NASTY = ["=cmd()", "+1", "-1", "@x", "\tx", "\rx", 'a,"b"\r\nc', "<script>alert(1)</script>"]


class OwnRequest(Request):
    """A request."""

    text: str = "é"


@dataclass(frozen=True)
class OwnResult:
    """A result with every kind of axis and of list."""

    map: Float[np.ndarray, "layer sample 2"]
    norm: Float[np.ndarray, "layer sample"]
    turned: Float[np.ndarray, "3 sample"]
    labels: Int[np.ndarray, "column sample"]
    overlap: Float[np.ndarray, "column"]
    distance: Float[np.ndarray, "stage stage"]
    total: Float[np.ndarray, ""]
    missing: Float[np.ndarray, "layer"] | None
    layers: list[int]
    prompts: list[str]
    tokens: list[list[str]]
    values: list[float | None]
    label_columns: list[str]
    group_of: list[int]
    dropped: dict[str, int]
    notes: str


METHOD = Method("own", 3, OwnRequest, OwnResult, lambda request, lab: None, example=OwnRequest())
SAMPLES = len(NASTY)
RESULT = OwnResult(
    map=np.arange(4 * SAMPLES, dtype=np.float32).reshape(2, SAMPLES, 2) / 10,
    norm=np.full((2, SAMPLES), -0.1, np.float32),
    turned=np.arange(3 * SAMPLES, dtype=np.float32).reshape(3, SAMPLES),
    labels=np.arange(SAMPLES).reshape(1, SAMPLES) - 1,
    overlap=np.array([np.nan], np.float32),
    distance=np.array([[0, 1, 2], [1, 0, np.inf], [2, 1, 0]], np.float32),
    total=np.array(1e-20, np.float32),
    missing=None,
    layers=[3, 9],
    prompts=NASTY,
    tokens=[["=a", " b"]] * SAMPLES,
    values=[None, *[0.5] * (SAMPLES - 1)],
    label_columns=["=HYPERLINK(1)"],
    group_of=list(range(SAMPLES)),
    dropped={"=x": 1},
    notes="=one text",
)
STORED = Stored(RESULT, {"model": "tiny", "n": SAMPLES}, hit=False)
LINES = ("tiny @ 1 <b>", "python launch.py run own")


def curve(result: Any, look: Mapping[str, Any]) -> go.Figure:
    """Return a figure with user text in it, as an escaped title and as data."""
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1], hovertext=[NASTY[-1], look.get("band", "")]))
    return figure.update_layout(meta={"title": "Curve of &lt;script&gt;"})


FIGURES = {"curve": curve, "age": lambda result, look: None, "other": curve}


def made(folder: Path, **changed: Any) -> Path:
    """Write the zip of `RESULT`."""
    given = {"figures": {}, "look": {"band": "7"}, "lines": LINES, "stored": STORED} | changed
    return export_zip(folder, METHOD, OwnRequest(), KEY, **given)


def contents(path: Path) -> dict[str, bytes]:
    """Return what is in a zip, by name."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what is in the zip of `RESULT`."""
    return contents(made(tmp_path_factory.mktemp("zip"), figures=FIGURES))


def test_the_zip_is_named_by_method_and_fingerprint(tmp_path: Path) -> None:
    assert made(tmp_path / "new") == tmp_path / "new" / "own-cdcdcdcd.zip"
    assert [f.name for f in (tmp_path / "new").iterdir()] == ["own-cdcdcdcd.zip"]


def test_it_holds_pictures_tables_arrays_and_request(files: dict[str, bytes]) -> None:
    assert list(files) == [
        *("README.txt", "request.json", "result.json", "result.npz"),
        *("data/sample.csv", "data/column.csv", "data/layer-sample.csv"),
        *("data/column-sample.csv", "data/stage-stage.csv", "data/numbers.csv"),
        *("figures/curve.html", "figures/other.html"),
    ]


def test_request_and_result_are_those_of_the_command_line(
    files: dict[str, bytes], tmp_path: Path
) -> None:
    assert json.loads(files["request.json"]) == request_json(METHOD, OwnRequest())
    assert json.loads(files["result.json"]) == result_json(METHOD, KEY, STORED)
    write_result(tmp_path, METHOD, OwnRequest(), KEY, STORED)
    for written in tmp_path.iterdir():
        assert written.read_bytes() == files[written.name]


def test_notes_are_written_when_there_are_any(tmp_path: Path) -> None:
    assert "notes.json" not in contents(made(tmp_path, notes={}))
    noted = contents(made(tmp_path, notes={"feature 3": "Paris"}))
    assert json.loads(noted["notes.json"]) == {"feature 3": "Paris"}
    assert b"notes.json" in noted["README.txt"]


def test_the_readme_names_every_file_and_the_command(files: dict[str, bytes]) -> None:
    text = files["README.txt"].decode()
    assert all(name in text for name in files)
    assert "notes.json" not in text
    assert LINES[1] in text
    assert "1,048,576" in text


def test_equal_calls_give_equal_bytes(tmp_path: Path) -> None:
    one = {"figures": {"curve": curve}}
    first = made(tmp_path / "a", **one).read_bytes()
    recalled = replace(STORED, hit=True, counts={"forward_passes": 3})
    assert made(tmp_path / "b", stored=recalled, **one).read_bytes() == first
    with zipfile.ZipFile(tmp_path / "a" / "own-cdcdcdcd.zip") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_a_figure_is_drawn_with_the_look_and_one_without_anything_is_left_out(
    files: dict[str, bytes],
) -> None:
    assert "figures/age.html" not in files
    assert (
        b'"hovertext":["\\u003cscript\\u003ealert(1)\\u003c\\u002fscript\\u003e","7"]'
        in (files["figures/curve.html"])
    )


class Loaded(HTMLParser):
    """Collects what a page loads from elsewhere, its scripts, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.loaded += [f"{tag} {v}" for k, v in attrs if k in ("src", "href", "data", "srcset")]

    def handle_data(self, data: str) -> None:
        (self.scripts if self._inside == "script" else self.text).append(data)


@pytest.fixture(scope="module")
def page(files: dict[str, bytes]) -> Loaded:
    """Return the first picture, read as a browser reads it."""
    read = Loaded()
    read.feed(files["figures/curve.html"].decode())
    read.close()
    return read


def test_a_picture_opens_alone_and_loads_nothing(page: Loaded) -> None:
    assert page.loaded == []
    assert any("plotly.js v" in script[:300] for script in page.scripts)
    assert not any("@import" in text or "url(" in text for text in page.text)


def test_a_picture_has_its_title_and_lines_and_no_button_that_shares_it(page: Loaded) -> None:
    text = "\n".join(page.text)
    assert "Curve of <script>" in text
    assert all(line in text for line in LINES)
    drawing = next(script for script in page.scripts if "Plotly.newPlot(" in script[:500])
    assert '"modeBarButtonsToRemove": ["sendChartToCloud"]' in drawing
    assert "alert(1)</" not in drawing


def test_arrays_of_the_same_axes_share_a_table_and_layers_have_their_numbers() -> None:
    table = rows(tables(RESULT)["layer-sample"])
    assert list(table[0]) == ["layer", "sample", "map_0", "map_1", "norm"]
    assert len(table) == 2 * SAMPLES
    assert list(table[1].values()) == ["3", "1", "0.2", "0.3", "-0.1"]
    assert (table[SAMPLES]["layer"], table[SAMPLES]["sample"]) == ("9", "0")
    assert float(table[SAMPLES]["map_1"]) == pytest.approx(float(RESULT.map[1, 0, 1]))


def test_a_list_stands_in_the_table_of_the_axis_that_it_describes() -> None:
    found = tables(RESULT)
    samples, columns = rows(found["sample"]), rows(found["column"])
    lists = ["prompts", "tokens", "values", "group_of"]
    assert list(samples[0]) == ["sample", *lists, "turned_0", "turned_1", "turned_2"]
    assert samples[2]["turned_1"] == str(float(SAMPLES + 2))
    assert [row["values"] for row in samples[:2]] == ["", "0.5"]
    assert json.loads(samples[0]["tokens"]) == ["=a", " b"]
    assert columns == [{"column": "0", "label_columns": "'=HYPERLINK(1)", "overlap": ""}]


def test_a_list_whose_name_says_nothing_describes_the_only_axis_of_its_length() -> None:
    three = replace(RESULT, group_of=[5, 6, 7])
    assert "stage,group_of\r\n0,5\r\n" in tables(three)["stage"]
    two_axes = {"overlap": np.zeros(3, np.float32), "labels": np.zeros((3, SAMPLES), np.int64)}
    assert "group_of" not in "".join(tables(replace(three, **two_axes)).values())


def test_the_layers_are_counted_from_0_where_their_numbers_are_not_known() -> None:
    table = rows(tables(replace(RESULT, layers=[]))["layer-sample"])
    assert [table[0]["layer"], table[-1]["layer"]] == ["0", "1"]


def test_an_axis_that_occurs_twice_has_two_columns_and_undefined_is_empty() -> None:
    table = rows(tables(RESULT)["stage-stage"])
    assert list(table[0]) == ["stage", "stage_2", "distance"]
    assert list(table[5].values()) == ["1", "2", ""]


def test_single_numbers_share_a_table_of_one_row() -> None:
    assert rows(tables(RESULT)["numbers"]) == [{"total": "1e-20"}]


def test_an_array_without_rows_is_a_table_without_rows() -> None:
    empty = replace(
        RESULT,
        overlap=np.zeros(0, np.float32),
        labels=np.zeros((0, SAMPLES), np.int64),
        label_columns=[],
    )
    assert tables(empty)["column-sample"] == "column,sample,labels\r\n"


def test_no_text_of_a_user_is_a_formula_and_all_are_read_back() -> None:
    prompts = [row["prompts"] for row in rows(tables(RESULT)["sample"])]
    assert prompts == [f"'{text}" for text in NASTY[:6]] + NASTY[6:]
    every = [cell for text in tables(RESULT).values() for cell in csv.reader(io.StringIO(text))]
    texts = [
        text for row in every for text in row if not text.lstrip("-").replace(".", "").isdigit()
    ]
    assert not [text for text in texts if text[:1] in tuple("=+-@\t\r")]


def test_a_table_of_too_many_rows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_ROWS", SAMPLES)
    assert set(tables(RESULT)) == {"sample", "column", "column-sample", "numbers"}


def test_a_failure_leaves_no_part_and_the_earlier_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made(tmp_path).read_bytes()

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        made(tmp_path)
    monkeypatch.undo()
    assert [(f.name, f.read_bytes()) for f in tmp_path.iterdir()] == [("own-cdcdcdcd.zip", before)]


def test_a_figure_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(result: Any, look: Any) -> go.Figure:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        made(tmp_path / "new", figures={"curve": curve, "wrong": fails})
    assert not (tmp_path / "new").exists()
