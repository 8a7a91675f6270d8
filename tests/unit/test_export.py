"""Exported files: the design's fields, the same bytes each time, nothing of an earlier request."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from jaxtyping import Float, Int

from app import export
from app.export import request_json, result_json, write_figures, write_result
from backends.contract import Method, Request
from backends.jobs.base import Stored

KEY = "cd" * 32


class OwnRequest(Request):
    """A request."""

    text: str = "é"


@dataclass(frozen=True)
class OwnResult:
    """A result with an array that may be missing and numbers that may be undefined."""

    scores: Float[np.ndarray, "layer head"]
    counts: Int[np.ndarray, "layer"] | None
    tau_50_low: float
    tau_50_high: float
    names: list[str]


METHOD = Method("own", 3, OwnRequest, OwnResult, lambda request, lab: None, example=OwnRequest())
RESULT = OwnResult(
    np.array([[0.5, np.nan]], np.float32), None, float("nan"), 2.5, ["東京", "<script>"]
)
STORED = Stored(RESULT, {"model": "tiny", "n": 3}, hit=False, counts={"forward_passes": 5})


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def figure(title: str, y: float = 1.0) -> go.Figure:
    """Return a figure with a title in its meta, as views make them."""
    return go.Figure(go.Scatter(x=[0, 1], y=[0, y])).update_layout(meta={"title": title})


def test_request_json() -> None:
    assert request_json(METHOD, OwnRequest(text="a")) == {"method": "own", "text": "a"}


def test_result_json() -> None:
    assert result_json(METHOD, KEY, STORED) == {
        "method": "own",
        "version": 3,
        "fingerprint": KEY,
        "values": {"tau_50_low": None, "tau_50_high": 2.5, "names": ["東京", "<script>"]},
        "arrays": {
            "scores": {"dtype": "float32", "shape": [1, 2], "axes": ["layer", "head"]},
        },
        "provenance": {"model": "tiny", "n": 3},
    }


def test_files_of_a_result(tmp_path: Path) -> None:
    write_result(tmp_path / "new" / "folder", METHOD, OwnRequest(), KEY, STORED)
    folder = tmp_path / "new" / "folder"
    assert sorted(files(folder)) == ["request.json", "result.json", "result.npz"]
    assert json.loads((folder / "request.json").read_text("utf-8")) == {
        "method": "own",
        "text": "é",
    }
    text = (folder / "result.json").read_text("utf-8")
    assert json.loads(text) == result_json(METHOD, KEY, STORED)
    assert "NaN" not in text
    assert "東京" in text
    with np.load(folder / "result.npz", allow_pickle=False) as arrays:
        assert list(arrays) == ["scores"]
        assert arrays["scores"].dtype == np.float32
        assert np.array_equal(arrays["scores"], RESULT.scores, equal_nan=True)


def test_a_hit_writes_the_same_bytes_as_a_computation(tmp_path: Path) -> None:
    write_result(tmp_path / "a", METHOD, OwnRequest(), KEY, STORED)
    write_result(tmp_path / "b", METHOD, OwnRequest(), KEY, replace(STORED, hit=True, counts={}))
    write_figures(tmp_path / "a", {"curve": lambda result, look: figure("Curve")}, RESULT)
    write_figures(tmp_path / "b", {"curve": lambda result, look: figure("Curve")}, RESULT)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    before = files(tmp_path / "a")
    write_result(tmp_path / "a", METHOD, OwnRequest(), KEY, STORED)
    write_figures(tmp_path / "a", {"curve": lambda result, look: figure("Curve")}, RESULT)
    assert files(tmp_path / "a") == before


def test_another_result_replaces_the_files(tmp_path: Path) -> None:
    write_result(tmp_path, METHOD, OwnRequest(), KEY, STORED)
    counted = replace(STORED, result=replace(RESULT, counts=np.array([4])))
    write_result(tmp_path, METHOD, OwnRequest(), KEY, counted)
    with np.load(tmp_path / "result.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["counts", "scores"]


def test_figures_are_pages_that_open_offline(tmp_path: Path) -> None:
    drawn: list[tuple[Any, Any]] = []

    def curve(result: Any, look: Any) -> go.Figure:
        drawn.append((result, look))
        return figure("Curve of <i>scores</i>")

    assert write_figures(tmp_path, {"curve": curve}, RESULT) == ["curve"]
    assert drawn == [(RESULT, {})]
    page = (tmp_path / "figures" / "curve.html").read_text("utf-8")
    assert 'id="curve"' in page
    assert "Curve of" in page
    assert 'src="plotly.min.js"' in page
    assert "http://" not in page
    assert "cdn" not in page
    assert len(page) < 50_000
    script = (tmp_path / "figures" / "plotly.min.js").read_bytes()
    assert b"plotly.js v4" in script[:200]


def test_a_figure_without_anything_to_draw_is_left_out(tmp_path: Path) -> None:
    figures = {"curve": lambda result, look: figure("Curve"), "age": lambda result, look: None}
    assert write_figures(tmp_path, figures, RESULT) == ["curve"]
    assert sorted(files(tmp_path)) == ["figures/curve.html", "figures/plotly.min.js"]


def test_a_figure_of_an_earlier_request_goes(tmp_path: Path) -> None:
    write_figures(tmp_path, {"age": lambda result, look: figure("Age")}, RESULT)
    (tmp_path / "figures" / "mine.html").write_text("a file of the user")
    assert write_figures(tmp_path, {"age": lambda result, look: None}, RESULT) == []
    assert sorted(files(tmp_path)) == ["figures/mine.html", "figures/plotly.min.js"]


def test_a_result_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    odd = replace(STORED, provenance={"seconds": float("nan")})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_result(tmp_path, METHOD, OwnRequest(), KEY, odd)


def test_files_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"a": b"old a", "b": b"old b"}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    written = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        if ".b." in self.name:
            raise OSError(28, "No space left on device", str(self))
        return written(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        export._write_together(tmp_path, {"a": b"new a", "b": b"new b"})
    monkeypatch.undo()
    assert files(tmp_path) == before
    export._write_together(tmp_path, {"a": b"new a", "b": b"new b"})
    assert files(tmp_path) == {"a": b"new a", "b": b"new b"}


def test_lines_stand_under_a_figure_escaped(tmp_path: Path) -> None:
    drawn = {"one": lambda result, look: figure("One")}
    write_figures(tmp_path, drawn, None, ["model @ 1 <b>", "python launch.py run x"])
    page = (tmp_path / "figures" / "one.html").read_text("utf-8")
    assert "<p>model @ 1 &lt;b&gt;</p>" in page
    assert "<p>python launch.py run x</p>" in page
