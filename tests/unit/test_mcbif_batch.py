"""Many sequences: archives and their dangers, numbers by hand, figures, and runs."""

import base64
import csv
import io
import re
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from app.engine import Engine
from backends.accept import accept
from backends.contract import Known
from backends.errors import BadRequest
from backends.methods.mcbif_batch import METHOD, McbifBatchRequest, McbifBatchResult, frobenius
from backends.methods.mcbif_batch import archive as archive_of
from backends.methods.mcbif_batch import batch as batches
from backends.methods.mcbif_batch.archive import members
from backends.methods.mcbif_batch.batch import batch_of
from backends.models.catalog import Catalog
from backends.uploads import Uploads
from views.contract import Panel
from views.slot import is_slot, shown
from views.tools.mcbif_batch import FIGURES, TOOL
from views.tools.mcbif_batch.compare import compare_figure, distance_html
from views.tools.mcbif_batch.features import features_csv, features_html
from views.tools.mcbif_batch.look import chosen, name_of
from views.tools.mcbif_batch.overview import MOST_DRAWN, averages_figure, distances_figure
from views.tools.mcbif_batch.panel import fit

NASTY = "<b>x</b><script>alert(1)</script>"
# a, b, c: labels [0,1,2], [0,0,1], [0,1,1], [0,1,0], [0,0,0] at the scales 1..5.
THREE = "id,1,2,3,4,5\na,0,0,0,0,0\nb,1,0,1,1,0\nc,2,1,1,0,0\n"
HF0 = [3, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 2, 1, 1]
HF1 = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]
NESTED = "id,1,2,3,4,5\na,0,0,0,0,0\nb,1,0,0,0,0\nc,2,1,1,1,0\n"


@pytest.fixture
def known(tmp_path: Path) -> Known:
    """What `check` may look at: no models, empty uploads."""
    return Known(Catalog(tmp_path), Uploads(tmp_path / "uploads"))


def zipped(files: Mapping[str, bytes | str], **options: Any) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, **options)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    """Return an array as an NPY file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def batch(known: Known, content: bytes, **fields: Any) -> list[batches.Sequence]:
    """Return the sequences of an uploaded file."""
    digest = known.uploads.add_bytes(content)
    return batch_of(McbifBatchRequest(sequences=digest, **fields), known)


# Archives


def test_members_are_sorted_and_what_is_no_table_is_left_out() -> None:
    files = {"b.csv": "2", "a/": "", "a/z.csv": "1", ".hidden": "x", "__MACOSX/b.csv": "x",
             "a/.DS_Store": "x"}  # fmt: skip
    assert list(members(zipped(files), "data")) == [("a/z.csv", b"1"), ("b.csv", b"2")]


def test_a_member_that_unpacks_to_more_is_refused_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bomb = zipped({"a.csv": b"0" * (archive_of.LARGEST + 1)})
    assert len(bomb) < 100_000
    with pytest.raises(
        BadRequest, match="'a.csv' in the zip is too large: a table may have 20 MiB"
    ):
        list(members(bomb, "data"))
    monkeypatch.setattr(archive_of, "MOST_BYTES", 10)
    assert len(list(members(zipped({"a": b"12345", "b": b"12345"}), "data"))) == 2
    with pytest.raises(BadRequest, match="'b' in the zip is too large"):
        list(members(zipped({"a": b"12345", "b": b"123456"}), "data"))


def test_a_claimed_size_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = zipped({"a": b"0" * 1_000})
    liar = honest.replace((1_000).to_bytes(4, "little"), (1).to_bytes(4, "little"))
    assert liar != honest
    monkeypatch.setattr(archive_of, "MOST_BYTES", 10)
    try:
        found = list(members(liar, "data"))
    except BadRequest:
        return
    assert len(found[0][1]) <= 10


@pytest.mark.parametrize("count", [2_000, 2_001])
def test_two_thousand_members_are_allowed(count: int) -> None:
    content = zipped({f"{i:04}": "" for i in range(count)})
    if count <= archive_of.MOST_MEMBERS:
        assert len(list(members(content, "data"))) == count
        return
    with pytest.raises(BadRequest, match="has 2,001 members; at most 2,000 are allowed"):
        list(members(content, "data"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PK", "The zip cannot be read"),
        (zipped({"a": "1"})[:-9], "The zip cannot be read"),
        (zipped({"in.ZIP": "1"}), "holds the archive 'in.ZIP'"),
        (zipped({"in.csv": zipped({"a": "1"})}), "holds the zip 'in.csv'"),
        (zipped({"a": b"7" * 400}).replace(b"\x33\x37\x1f", b"\x33\x37\x2f", 1), "cannot be read"),
    ],
)
def test_archives_that_cannot_be_used_are_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        list(members(content, "data"))
    assert error.value.field == "data"


# Sequences


def test_a_zip_gives_names_and_groups(known: Known) -> None:
    found = batch(
        known, zipped({"b/two.csv": NESTED, "a.csv": THREE, "c.json": "[[0],[0],[0],[0],[0]]"})
    )
    assert [(s.name, s.group) for s in found] == [("a.csv", ""), ("b/two.csv", "b"), ("c.json", "")]
    assert found[0].labels.tolist() == [[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]]
    assert found[2].labels.shape == (5, 1)


def test_an_array_of_three_axes_is_a_batch(known: Known) -> None:
    array = np.array([[[0, 1, 2], [0, 0, 1]], [[0, 0, 0], [5, 5, 5]]])
    found = batch(known, npy(array))
    assert [s.name for s in found] == ["1", "2"]
    assert found[0].labels.tolist() == [[0, 1, 2], [0, 0, 1]]
    turned = batch(known, npy(array.transpose(0, 2, 1)), rows="elements")
    assert [s.labels.tolist() for s in turned] == [s.labels.tolist() for s in found]


def test_noise_is_taken_as_asked(known: Known) -> None:
    content = zipped({"a.csv": "1,2\n-1,0\n-1,0\n"})
    assert batch(known, content, noise_label="-1")[0].labels.tolist() == [[0, 1], [0, 0]]
    (found,) = batch(known, content, noise_label="-1", noise="one_cluster")
    assert found.labels.tolist() == [[0, 0], [0, 0]]
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"1,2\n0,0\n", "neither a zip of label tables nor an NPY array of 3 axes"),
        (zipped({}), "holds no label table"),
        (zipped({".x": "1"}), "holds no label table"),
        (zipped({f"{NASTY}.csv": "1,1\n0,0\n"}), "'<b>x.* in the zip: Tied scales"),
        (zipped({"a\nb.csv": ""}), r"'a\\nb.csv' in the zip: The file is empty"),
        (
            zipped({"a.csv": THREE, "b.csv": "1,2\n0,0\n"}),
            "'a.csv' has M = 5 scales and 'b.csv' 2; all sequences need the same",
        ),
        (npy(np.zeros((2, 2))), "has 2 axes; 3 are needed"),
        (npy(np.zeros((0, 2, 2))), "no label table"),
        (npy(np.full((2, 2, 2), np.nan)), "Sequence 1: Row 1, column 1 is nan"),
        (npy(np.zeros((1, 201, 1))), "have 201 scales; 1 to 200"),
        (npy(np.zeros((101, 200, 1), np.int8)), "more than 100 sequences of 200 scales"),
        (npy(np.zeros((2_001, 1, 1), np.int8)), "more than 2,000 sequences of 1 scales"),
    ],
)
def test_batches_that_cannot_be_used_are_refused(
    known: Known, content: bytes, sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        accept(METHOD, {"sequences": known.uploads.add_bytes(content)}, known)
    assert error.value.field == "sequences"


def test_all_labels_together_have_a_limit(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_LABELS", 8)
    assert len(batch(known, npy(np.zeros((2, 2, 2))))) == 2
    with pytest.raises(BadRequest, match="more than 8 labels in all"):
        batch(known, npy(np.zeros((3, 2, 2))))


def test_a_pair_needs_both_and_no_zip(known: Known) -> None:
    digest = known.uploads.add_bytes(THREE.encode())
    for fields, field, sentence in (
        ({"first": digest}, "second", "'second' is needed beside 'first'"),
        ({"second": digest}, "first", "'first' is needed beside 'second'"),
        ({"first": digest, "second": digest, "sequences": digest}, "first", "one or the other"),
    ):
        with pytest.raises(BadRequest, match=sentence) as error:
            accept(METHOD, fields, known)
        assert error.value.field == field
    bad = known.uploads.add_bytes(b"1,1\n0,0\n")
    with pytest.raises(BadRequest, match="Tied scales") as error:
        accept(METHOD, {"first": digest, "second": bad}, known)
    assert error.value.field == "second"
    other = known.uploads.add_bytes(b"1\n0\n")
    with pytest.raises(BadRequest, match="'first' has M = 5 scales and 'second' 1"):
        accept(METHOD, {"first": digest, "second": other}, known)


def test_the_built_in_sequences_are_of_two_kinds(known: Known) -> None:
    found = batch_of(McbifBatchRequest(count=3), known)
    assert [s.group for s in found] == ["order_preserving"] * 3 + ["swapped"] * 3
    assert {s.labels.shape[1] for s in found} == {50}
    assert len({s.labels.tobytes() for s in found}) == 6
    again = batch_of(McbifBatchRequest(count=3), known)
    assert [s.labels.tolist() for s in found] == [s.labels.tolist() for s in again]
    assert METHOD.example.count == 20


# Numbers


def test_frobenius_by_hand() -> None:
    grids = np.array([[[1, 2], [0, 1]], [[1, 5], [0, 5]], [[1, 2], [0, 1]]])
    assert frobenius(grids).tolist() == [[0, 5, 0], [5, 0, 5], [0, 5, 0]]


def run(engine: Engine, **fields: Any) -> Any:
    """Run the method."""
    return engine.runner.submit(METHOD, accept(METHOD, fields, engine.known)).result()


def test_two_tables_are_measured_and_compared(engine: Engine) -> None:
    first, second = (engine.known.uploads.add_bytes(t.encode()) for t in (THREE, NESTED))
    stored = run(engine, first=first, second=second)
    result = stored.result
    assert result.names == ["first", "second"]
    assert result.features_hf0[0].tolist() == HF0
    assert result.features_hf1.tolist() == [HF1, [0] * 10]
    assert result.c0_bar.tolist() == pytest.approx([0.25, 0])
    assert result.c1_bar.tolist() == pytest.approx([0.2, 0])
    assert result.c0_bar_scale_weighted.tolist() == pytest.approx([0.25, 0])
    assert result.n_clusters.tolist() == [[3, 2, 2, 2, 1], [3, 2, 2, 2, 1]]
    # HF_0 differs by 1 in the windows (1,3), (1,4), (2,3), (2,4) and (3,4).
    assert result.distance_hf0[0, 1] == pytest.approx(np.sqrt(5))
    assert result.distance_hf1[0, 1] == pytest.approx(np.sqrt(2))
    assert stored.provenance["n"] == result.n == 2


def test_scales_weigh_and_different_ones_are_counted(engine: Engine) -> None:
    uneven = THREE.replace("1,2,3,4,5", "1,2,3,4,40", 1)
    digest = engine.known.uploads.add_bytes(zipped({"a.csv": THREE, "b.csv": uneven}))
    result = run(engine, sequences=digest).result
    assert result.scale_names == ["1", "2", "3", "4", "5"]
    assert "different scales" in result.notes[0]
    assert result.c1_bar[0] == result.c1_bar[1]
    # Widths 1, 1, 1, 36, 36; the cycle is in the windows (1, 4) and (2, 4).
    assert result.c1_bar_scale_weighted[1] == pytest.approx(72 / (3 + 3 * 36 * 2 + 36**2))


def test_chunks_are_parts_and_their_borders_change_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, 3, (5, 4, 6)).astype(np.int8)
    whole = run(engine, sequences=engine.known.uploads.add_bytes(npy(array)))
    assert whole.counts["parts_computed"] == 1
    monkeypatch.setattr("backends.methods.mcbif_batch.MOST_IN_PART", 2)
    wide = engine.known.uploads.add_bytes(npy(array.astype(np.int16)))
    split = run(engine, sequences=wide)
    assert split.counts["parts_computed"] == 3
    assert split.result.hf1.tolist() == whole.result.hf1.tolist()
    assert split.result.hf0.tolist() == whole.result.hf0.tolist()


def test_order_preserving_sequences_have_no_cycles(engine: Engine) -> None:
    result = run(engine, count=3).result
    assert not result.hf1[:3].any()
    assert (result.c1_bar[3:] >= 0).all()
    assert (result.c0_bar > 0).all()


def test_one_scale_of_one_element_works(engine: Engine) -> None:
    digest = engine.known.uploads.add_bytes(zipped({"a.csv": "1\nx\n"}))
    result = run(engine, sequences=digest).result
    assert result.hf0.tolist() == [[[1]]]
    assert result.features_hf1.shape == (1, 0)
    assert result.c0_bar.tolist() == [0]


# Figures


def result_of(sequences: int = 4, **changes: Any) -> McbifBatchResult:
    """Return a result of sequences with 3 scales, made by hand."""
    upper = np.triu(np.ones((3, 3), np.int32))
    hf0 = np.stack([upper * (i + 1) for i in range(sequences)])
    hf1 = np.stack([np.triu(upper, 1) * (i % 3) for i in range(sequences)])
    ones = np.ones(sequences, np.float32)
    made = McbifBatchResult(
        hf0=hf0,
        hf1=hf1,
        features_hf0=hf0[:, *np.triu_indices(3)],
        features_hf1=hf1[:, *np.triu_indices(3, 1)],
        c0_bar=ones / 4,
        c1_bar=np.arange(sequences, dtype=np.float32),
        c0_bar_scale_weighted=ones / 5,
        c1_bar_scale_weighted=ones,
        distance_hf0=frobenius(hf0),
        distance_hf1=frobenius(hf1),
        n_clusters=np.tile(np.array([3, 2, 1], np.int32), (sequences, 1)),
        n_elements=np.full(sequences, 9, np.int32),
        n=sequences,
        names=[f"{NASTY} {i}" for i in range(sequences)],
        groups=[NASTY if i % 2 else "" for i in range(sequences)],
        scales=[[1.0, 2.0, 3.0]] * sequences,
        scale_names=["1", NASTY, "3"],
        notes=[f"note {NASTY}"],
    )
    return replace(made, **changes)


def test_averages_figure_has_a_trace_for_each_group_and_rings() -> None:
    figure = averages_figure(result_of(), {"a": "1", "b": "3"})
    plain, nasty, rings = figure.data
    assert plain.name == "sequences"
    assert "<b>" not in nasty.name
    assert (list(plain.customdata), list(plain.y)) == (["0", "2"], [0, 2])
    assert (list(rings.y), list(rings.text)) == ([1, 3], ["A", "B"])


def test_more_groups_than_colors_share_the_last() -> None:
    many = result_of(40, groups=[f"g{i}" for i in range(40)])
    figure = averages_figure(many, {})
    assert len(figure.data) == 25
    assert figure.data[23].name == "other groups"
    assert len(figure.data[23].x) == 17


def test_distances_figure() -> None:
    figure = distances_figure(result_of(), {})
    first, second = figure.data
    assert np.asarray(first.z).tolist() == pytest.approx(
        np.asarray([[abs(i - j) * 6**0.5 for j in range(4)] for i in range(4)]), abs=1e-3
    )
    assert first.customdata[0] == ["0", "1", "2", "3"]
    assert second.zmax == pytest.approx(2 * 3**0.5, abs=1e-3)
    large = distances_figure(result_of(MOST_DRAWN + 1), {})
    assert len(large.data[0].z) == MOST_DRAWN
    assert "the first 200 are drawn" in large.layout.annotations[0].text


def test_comparison_has_one_range_for_both_and_a_symmetric_difference() -> None:
    figure = compare_figure(result_of(), {"a": "0", "b": "3"}, "hf0")
    assert figure is not None
    first, second, difference = (t for t in figure.data if t.type == "heatmap")
    assert first.zmax == second.zmax == 4
    assert (difference.zmin, difference.zmax) == (-3, 3)
    assert difference.z[0][1] == -3
    assert np.isnan(difference.z[2][0])
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert compare_figure(result_of(1), {}, "hf0") is None


def test_the_pair_is_the_first_and_the_farthest_unless_chosen() -> None:
    assert chosen(result_of(), {}) == (0, 2)
    assert chosen(result_of(), {"a": "3", "b": "1"}) == (3, 1)
    assert chosen(result_of(), {"a": "9", "b": "x"}) == (0, 2)
    assert chosen(result_of(1), {"b": "-1"}) == (0, 0)
    equal = result_of(distance_hf1=np.zeros((4, 4), np.float32))
    assert chosen(equal, {}) == (0, 3)


def test_distances_in_words() -> None:
    found = distance_html(result_of(), {"a": "0", "b": "3"})
    assert found is not None
    assert "7.348 for HF<sub>0</sub> and 0 for HF<sub>1</sub>" in found
    assert "4 sequences, M = 3 scales, N = 9 elements" in found
    assert distance_html(result_of(1), {}) is None


def test_long_names_show_their_end() -> None:
    result = result_of(names=["folder/" * 9 + "last.csv", "b", "c", "d"])
    assert name_of(result, 0) == "…/folder/folder/last.csv"
    assert name_of(result, 1) == "b"


def test_features_are_a_table_and_a_csv() -> None:
    found = features_html(result_of(names=["=1+1", "b", "c", "d"]), {})
    assert found.count("<tr><td>") == 4
    link = re.search(r"href='data:text/csv;charset=utf-8;base64,([^']*)'", found)
    assert link is not None
    text = base64.b64decode(link.group(1)).decode()
    header, row, *rest = csv.reader(io.StringIO(text, newline=""))
    assert header[7:] == ["hf0_1_1", "hf0_1_2", "hf0_1_3", "hf0_2_2", "hf0_2_3", "hf0_3_3",
                          "hf1_1_2", "hf1_1_3", "hf1_2_3"]  # fmt: skip
    assert row[0] == "'=1+1"
    assert row[2:7] == ["9", "0.25", "0", "0.2", "1"]
    assert row[7:] == ["1"] * 6 + ["0"] * 3
    assert rest[1][7:] == ["3"] * 6 + ["2"] * 3


def test_too_many_features_are_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.tools.mcbif_batch.features.MOST_NUMBERS", 35)
    assert "result.npz" in features_html(result_of(), {})
    assert len(features_csv(result_of()).splitlines()) == 5


@pytest.mark.parametrize("sequences", [1, 4])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_pass_plotlys_checks_and_show_no_tags(name: str, sequences: int) -> None:
    figure = FIGURES[name](result_of(sequences), {})
    if sequences == 1 and name.startswith("compare"):
        assert figure is None
        return
    assert figure is not None
    checked = go.Figure(figure.to_plotly_json())
    assert checked.layout.xaxis.title.text
    assert checked.layout.yaxis.title.text
    assert checked.layout.meta["title"]
    assert "<script" not in checked.to_json()
    assert "<b>x" not in checked.to_json()


def built() -> Panel:
    """Build the tool's panel."""
    import gradio as gr

    assert TOOL.build is not None
    with gr.Blocks(analytics_enabled=False):
        return TOOL.build()


def test_every_view_draws_and_depends_on_controls_that_are_there() -> None:
    # In the main thread Gradio would make event loops that it never closes.
    with ThreadPoolExecutor(1) as pool:
        panel = pool.submit(built).result()
    for result in (result_of(), result_of(1)):
        held = fit(result, {"a": "1"})
        assert set(held) == set(panel.look)
        look = {name: props["value"] for name, props in held.items()}
        for view in panel.views:
            assert view.uses is not None
            assert set(view.uses) <= set(panel.look)
            assert view.click in {"", *panel.look}
            if is_slot(view.place):
                assert isinstance(shown(view, result, look), str)
            else:
                drawn = view.draw(result, look)
                assert drawn is None or "<script" not in drawn
    assert fit(result_of(), {"a": "1"})["a"]["value"] == "1"
    assert not fit(result_of(1), {})["a"]["visible"]
