"""The joined axis on the tiny model: cells, agreement, chance, resume, several models, figures."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.errors import BadRequest, ModelMissing
from backends.jobs.base import Stored
from backends.methods.medical_axis import METHOD, MedicalAxisResult, _chance, _overlaps, _repeats
from backends.methods.medical_axis.cells import best_row
from backends.methods.medical_axis.request import MedicalAxisRequest
from launch import build
from tests import tiny
from views.tools.medical_axis import FIGURES, fit
from views.tools.medical_axis.best import best_html
from views.tools.medical_axis.words import words_html


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine with two tiny models."""
    home = tmp_path_factory.mktemp("home")
    for name, layers in (("tiny", 4), ("other", 3)):
        tiny.build(home / "models" / name, layers=layers)
    made = build(Settings(home, home / "models", 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


def run(engine: Engine, **fields: Any) -> Stored:
    """Run a quick request."""
    given = {"model": "tiny", "quick": True, "domains": "symptom,dosage", **fields}
    return engine.runner.submit(METHOD, accept(METHOD, given, engine.known)).result()


@pytest.fixture(scope="module")
def axis(shared: Engine) -> MedicalAxisResult:
    """Two domains, one of which has a patching row only."""
    return run(shared).result


def test_cells_are_the_curves_of_their_methods(shared: Engine, axis: MedicalAxisResult) -> None:
    assert axis.domains == ["symptom", "dosage"]
    assert axis.curve.shape == (2, 4, 4)
    lesion = shared.found.get("medical_lesion")
    fields = {"model": "tiny", "domain": "symptom", "n_questions": 3}
    stored = shared.runner.submit(lesion, accept(lesion, fields, shared.known)).result()
    assert stored.hit
    np.testing.assert_array_equal(axis.curve[0, 2], stored.result.severity)
    np.testing.assert_array_equal(axis.control[0, 2], stored.result.severity_random)
    assert axis.counts[0, 2] == stored.result.n


def test_dosage_has_a_patching_row_only(axis: MedicalAxisResult) -> None:
    assert np.isnan(axis.curve[1, :3]).all()
    assert axis.counts[1, :3].tolist() == [0, 0, 0]
    assert np.isnan(axis.stability).all()


def test_agreement_counts_what_is_covered(axis: MedicalAxisResult) -> None:
    np.testing.assert_array_equal(axis.agreement, axis.covered.sum(axis=1))
    for each in axis.intervals:
        place = axis.domains.index(each["domain"]), axis.techniques.index(each["technique"])
        assert axis.covered[place][each["first"] : each["last"] + 1].all()


def test_a_second_run_recalls_and_a_wider_one_repeats_no_cell(shared: Engine) -> None:
    assert run(shared).hit
    counts = run(shared, domains="symptom").counts
    assert counts["results_recalled"] == 4
    assert counts["results_computed"] == 1
    assert "forward_passes" not in counts


def test_several_models_stand_side_by_side(shared: Engine) -> None:
    result = run(shared, domains="symptom", models="tiny, other").result
    assert result.models == ["tiny", "other"]
    assert {row["model"] for row in result.best} == {"tiny", "other"}
    assert result.curve.shape[-1] == 4
    assert "other" in best_html(result, {})


def test_figures_and_words(axis: MedicalAxisResult) -> None:
    for look in ({}, {"domain": "dosage", "layer": "2"}, {"domain": "none", "layer": "x"}):
        for draw in FIGURES.values():
            figure = draw(axis, look)
            assert figure.layout.meta["title"]
            assert figure.to_json()
        assert "<h3>" in words_html(axis, look)
    assert "not defined" in words_html(axis, {"domain": "dosage"})
    assert fit(axis, {"layer": 99})["layer"]["value"] == 3


def test_chance_moves_intervals_around() -> None:
    inside = np.zeros((2, 4, 40), bool)
    inside[0, :3, 10:14] = True
    inside[1, :2, 10:14] = True
    mean, p = _chance(inside, 0)
    assert mean[0] < 1
    assert p[0] < 0.05
    assert np.isnan(mean[1])
    overlap = _overlaps(inside)
    assert overlap[0, 0, 1] == 1
    assert np.isnan(overlap[0, 0, 3])


def test_best_rows() -> None:
    curve = np.array([np.nan, 0.5, 0.2, 0.1])
    row = best_row("m", curve, 9, 0.4)
    assert (row["score"], row["layer"], row["null"], row["n"]) == (0.5, 1, 0.4, 9)
    assert row["depths"][-1] == 0.1
    assert best_row("m", np.full(3, np.nan), 9)["score"] is None


def test_repeats() -> None:
    full = MedicalAxisRequest(domains="drug")
    assert [change for _, _, change in _repeats(full)] == [
        {"template": "B"},
        {"seed": 1},
        {"seed": 2},
        {"template": "B"},
    ]
    assert _repeats(MedicalAxisRequest(domains="drug", quick=True)) == []
    assert len(_repeats(MedicalAxisRequest(domains="drug", projection="pca"))) == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"domains": "drug,heart"}, "'heart' is no domain"),
        ({"domains": " , "}, "no domain was given"),
        ({"models": ",".join("abcdefg")}, "7 models were given"),
        ({"n_prompts": 2}, "at least 3"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(
    shared: Engine, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        run(shared, **fields)


def test_a_model_that_is_not_here(shared: Engine) -> None:
    with pytest.raises(ModelMissing, match="'absent'"):
        run(shared, models="tiny,absent")
