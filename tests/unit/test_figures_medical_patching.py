"""The figures, details and form of patching, on small results made by hand."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from backends.contract import Known
from backends.methods.medical_patching import MedicalPatchingResult
from backends.models.catalog import Catalog
from backends.uploads import Uploads
from views.contract import Panel
from views.tools.medical_patching import FIGURES, TOOL, adapt, fit
from views.tools.medical_patching.board import board_figure
from views.tools.medical_patching.curve import recovery_figure
from views.tools.medical_patching.details import NOTHING, cell_html, pairing_html
from views.tools.medical_patching.pairs import pairs_figure

NASTY = "<b>x</b> & <script>alert(1)</script>"
LAYERS, TOKENS = 3, 4


def _f(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


def board() -> MedicalPatchingResult:
    """Return a board of one pair: three layers, four positions, of which two can matter."""
    mask = np.zeros((LAYERS, TOKENS), bool)
    mask[:2, 2:], mask[2, 3] = True, True
    recovery = np.where(mask, _f([[0, 0, 1, 0.1], [0, 0, 0.5, 0.6], [0, 0, 0, 1]]), 0)
    following = [[NASTY, 0.5], *([f"w{i}", 0.01] for i in range(9))]
    ids = np.tile(np.arange(10, dtype=np.int32), (LAYERS, TOKENS, 1))
    return MedicalPatchingResult(
        recovery=_f(recovery),
        logit_difference=_f(recovery * 4),
        causal_mask=mask,
        recovery_random=_f(recovery * 0.1),
        **dict.fromkeys(("recovery_low", "recovery_high", "recovery_mean", "recovery_pair")),
        **dict.fromkeys(("recovery_head", "recovery_head_random")),
        identity=_f([0, 0, 1e-7]),
        score_clean=_f([3]),
        score_corrupted=_f([-1]),
        gap=_f([4]),
        next_id=ids,
        next_probability=_f(np.tile(np.linspace(0.5, 0.05, 10), (LAYERS, TOKENS, 1))),
        n=1,
        layers=list(range(LAYERS)),
        columns=["The", NASTY, " drug", " is"],
        metric="logit_difference",
        positions="each",
        direction="denoising",
        site="block",
        kv_heads=2,
        random_draws=1,
        pairs=[[NASTY, "corrupted", NASTY, " foil"]],
        dropped_because=[""],
        dropped={},
        tokens_clean=[["The", NASTY, " pain", " is"]],
        tokens_corrupted=[["The", NASTY, " drug", " is"]],
        pairing=["0:0,2:2,3:3"],
        alone_clean=[[1]],
        alone_corrupted=[[1]],
        patched_positions=[[0, 2, 3]],
        next_clean=following,
        next_corrupted=following,
        next_patched=following,
        best=[0, 2],
        words={str(i): NASTY for i in range(10)},
        notes=[f"A note with {NASTY}."],
    )


def pair_set(pairs: int = 5) -> MedicalPatchingResult:
    """Return a set of pairs of which the last was dropped."""
    curve = _f([[1.2], [0.7], [0.0]])
    one = board()
    return replace(
        one,
        recovery=curve,
        logit_difference=curve * 2,
        causal_mask=np.array([[True], [True], [False]]),
        recovery_random=curve * 0.1,
        recovery_low=curve[:, 0] - 0.2,
        recovery_high=curve[:, 0] + 0.2,
        recovery_mean=curve[:, 0] + 0.1,
        recovery_pair=np.tile(curve[:, 0], (pairs, 1)),
        score_clean=_f(np.arange(pairs)),
        score_corrupted=_f(np.arange(pairs) - 3),
        gap=_f([3] * pairs),
        next_id=None,
        next_probability=None,
        n=pairs - 1,
        columns=["entity"],
        positions="entity",
        pairs=[[NASTY, f"corrupted {i}", f" a{i}", NASTY] for i in range(pairs)],
        dropped_because=[""] * (pairs - 1) + ["gap below 0.5"],
        dropped={"gap below 0.5": 1},
        best=None,
        words={},
        next_clean=[],
        next_corrupted=[],
        next_patched=[],
    )


def heads() -> MedicalPatchingResult:
    """Return a board of four heads."""
    one = pair_set()
    grid = _f(np.linspace(-1, 1, 12).reshape(LAYERS, 4))
    return replace(one, site="heads", recovery_head=grid, recovery_head_random=grid * 0.1)


def undefined() -> MedicalPatchingResult:
    """Return a board of a pair with a small gap."""
    nothing = np.full((LAYERS, TOKENS), np.nan, np.float32)
    return replace(board(), recovery=nothing, recovery_random=nothing, best=None)


def empty() -> MedicalPatchingResult:
    """Return a set in which no pair is left."""
    nothing = np.full((LAYERS, 1), np.nan, np.float32)
    flat = dict.fromkeys(("recovery_low", "recovery_high", "recovery_mean"), nothing[:, 0])
    arrays = dict.fromkeys(("recovery", "logit_difference", "recovery_random"), nothing)
    return replace(
        pair_set(), **arrays, **flat, causal_mask=np.zeros((LAYERS, 1), bool), n=0,
        dropped_because=["clean answer wrong"] * 5, identity=nothing[:, 0],
    )  # fmt: skip


RESULTS = [board, pair_set, heads, undefined, empty]


@pytest.mark.parametrize("make", RESULTS)
def test_figures_are_valid_escaped_and_titled(make: Callable[[], MedicalPatchingResult]) -> None:
    for name, draw in FIGURES.items():
        figure = draw(make(), {"cell": "1,2"})
        assert figure is not None or name == "board"
        if figure is None:
            continue
        whole = json.loads(figure.to_json())
        go.Figure(whole)
        assert whole["layout"]["meta"]["title"]
        assert whole["layout"]["xaxis"]["title"]["text"]
        assert whole["layout"]["yaxis"]["title"]["text"]
        assert "<script" not in figure.to_json()
        assert "<b>x" not in figure.to_json()


def test_the_board_shows_both_and_hatches_what_was_not_computed() -> None:
    figure = board_figure(board(), {})
    assert figure is not None
    maps = [t for t in figure.data if t.type == "heatmap"]
    assert [m.name for m in maps] == ["measured", "random direction of equal length"]
    assert np.isnan(maps[0].z[0][0])
    assert maps[0].z[0][2] == 1
    assert maps[0].zmin == -maps[0].zmax
    assert maps[1].zmax == maps[0].zmax
    assert maps[0].customdata[1][3] == "1,3"
    hatches = [t for t in figure.data if t.name == "not computed: cannot change the score"]
    assert len(hatches) == 2
    assert np.isnan(hatches[0].x).sum() == 3
    assert board_figure(pair_set(), {}) is None
    rings = [t for t in board_figure(board(), {"cell": "2,3"}).data if t.type == "scatter"]
    assert any(list(t.x) == [2.5, 3.5, 3.5, 2.5, 2.5] for t in rings)


def test_heads_are_named_with_their_group() -> None:
    figure = board_figure(heads(), {})
    assert figure is not None
    assert "head 3 (KV group 1)" in figure.data[0].hovertext[0][3]
    assert figure.layout.xaxis.title.text == "head"
    assert np.isnan(figure.data[0].z[2]).all()


def test_where_recovery_is_not_defined_the_change_is_drawn() -> None:
    figure = board_figure(undefined(), {})
    assert figure is not None
    assert figure.data[0].z[0][2] == 4
    assert "logits" in figure.data[0].hovertext[0][2]
    assert "not defined" in figure.to_json()
    assert "change (logits)" in recovery_figure(undefined(), {}).layout.yaxis.title.text


def test_the_curve_has_lines_at_0_and_1_an_interval_and_controls() -> None:
    figure = recovery_figure(pair_set(), {})
    names = {trace.name: trace for trace in figure.data}
    assert list(names["ratio of sums"].y[:2]) == pytest.approx([1.2, 0.7])
    assert np.isnan(names["ratio of sums"].y[2])
    assert names["random direction of equal length"].line.dash == "dash"
    assert np.isnan(names["mean of ratios (as the paper)"].y).tolist() == [False, False, True]
    assert "not computed: cannot change the score" in names
    levels = [trace.y[0] for trace in figure.data if trace.mode == "lines+text"]
    assert levels == [0, 1]
    assert "95 % interval: 1.000 to 1.400" in names["ratio of sums"].hovertext[0]
    assert "N = 4 pairs" in figure.layout.annotations[0].text
    lines = [t.name for t in recovery_figure(board(), {}).data if t.legendrank == 1]
    assert len(lines) == 2


def test_a_pair_is_a_row_and_dropped_ones_are_grey() -> None:
    figure = pairs_figure(pair_set(), {})
    names = {trace.name: trace for trace in figure.data if trace.name}
    assert list(names["clean run, counts"].x) == [0, 1, 2, 3]
    assert list(names["corrupted run, dropped"].x) == [1]
    assert "gap below 0.5" in names["clean run, dropped"].hovertext[0]


def test_a_cell_in_numbers() -> None:
    text = cell_html(board(), {"cell": "1,3"})
    assert "0.6" in text
    assert "&lt;script" in text
    assert "<script" not in text
    assert "cannot change" in cell_html(board(), {"cell": "0,0"})
    assert NOTHING in cell_html(pair_set(), {})
    assert "0.7" in cell_html(pair_set(), {"cell": "1,0"})
    assert "head" in cell_html(heads(), {"cell": "1,3"})
    assert fit(board(), {"cell": "9,9"}) == {"cell": {"value": "0,2"}}
    assert fit(pair_set(), {"cell": "x"}) == {"cell": {"value": ""}}


def test_the_pairing_is_shown_whole() -> None:
    text = pairing_html(board(), {})
    assert text is not None
    assert text.count("alone") == 2
    assert text.count("differs") == 1
    assert "<script" not in text
    assert pairing_html(pair_set(), {}) is None


def test_one_source_of_pairs_at_a_time(tmp_path: Path) -> None:
    known = Known(Catalog(tmp_path), Uploads(tmp_path))
    assert adapt({"clean": "a"}, known, "clean")["pairs"] == {"value": None}
    assert adapt({"pairs": "age"}, known, "pairs")["clean"] == {"value": ""}
    assert adapt({"table": "x"}, known, "table")["pairs"] == {"value": None}
    assert adapt({"clean": ""}, known, "clean") == {}
    assert adapt({"model": "tiny"}, known, "model") == {}


def test_the_panel_is_built() -> None:
    def built() -> Panel:
        import gradio as gr

        assert TOOL.build is not None
        with gr.Blocks(analytics_enabled=False):
            return TOOL.build()

    with ThreadPoolExecutor(1) as pool:
        panel = pool.submit(built).result()
    assert set(panel.look) == {"cell"}
    assert [view.click for view in panel.views] == ["cell", "cell", "", "", ""]
