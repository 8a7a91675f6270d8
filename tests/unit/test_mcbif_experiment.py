"""The MCbiF experiments: splits and scores by hand, small runs of both tasks, their figures."""

import json
from typing import Any

import numpy as np
import pytest

from app.engine import Engine
from backends.accept import accept
from backends.errors import BadRequest, Cancelled
from backends.math.hilbert import hilbert_functions
from backends.methods import mcbif_experiment
from backends.methods.mcbif_experiment import METHOD, McbifExperimentResult, learning, paper
from backends.methods.mcbif_experiment.request import McbifExperimentRequest, plan_of
from backends.methods.mcbif_experiment.sequences import drawn, measured
from views.tools.mcbif_experiment.measures import correlations_figure, measures_figure
from views.tools.mcbif_experiment.scores import scores_figure

REGRESSION = {"task": "regression", "n_scales": 6, "n_sequences": 150}


def run(engine: Engine, **fields: Any) -> Any:
    request = accept(METHOD, fields, engine.known)
    return engine.runner.submit(METHOD, request).result()


def result(task: str = "classification", **fields: Any) -> McbifExperimentResult:
    """Return a small result made by hand: four sequences, two features, two measures."""
    is_regression = task == "regression"
    whole: dict[str, Any] = {
        "score": np.array([0.75, 0.5], np.float32),
        "score_low": np.array([0.6, 0.25], np.float32),
        "score_high": np.array([0.9, 0.625], np.float32),
        "score_control": np.array([0.5, 0.375], np.float32),
        "score_control_least": np.array([0.4, 0.25], np.float32),
        "score_control_most": np.array([0.6, 0.5], np.float32),
        "score_paper": np.array([0.97, np.nan], np.float32),
        "n_values": np.array([3, 6]),
        "target": np.array([4, 7, 0, 5] if is_regression else [0, 0, 1, 1]),
        "is_kept": np.array([True, True, not is_regression, True]),
        "crossing_bound": np.array([2, 3, 0, 1]),
        "c0_bar": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "c1_bar": np.array([0, 0, 1, 2], np.float32),
        "mean_vi": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "mean_ari": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "mean_overlap": np.array([0.1, 0.2, 0.3, 0.4], np.float32),
        "measure_correlation": np.array([0.25, 0.5], np.float32),
        "correlation_paper": np.array([0.27, 0.47], np.float32),
        "n": 4,
        "task": task,
        "features": ["hf1", "raw"],
        "measures": ["c0_bar", "c1_bar"],
        "measure_p": [None, None] if is_regression else [0.25, 1e-310],
        "not_converged": ["raw"],
        "n_elements": 5,
        "n_scales": 3,
        "n_train": 2,
        "n_test": 2,
        "bound_violations": 0 if is_regression else None,
        "bound_score": -3.5 if is_regression else None,
        "paper_size": "N = 5, M = 20, 20,000 sequences",
        "is_paper_size": False,
        "resamples": 5_000,
        "shuffles": 5,
        "seed": 0,
    }
    return McbifExperimentResult(**(whole | fields))


# Sizes


def test_what_is_left_out_is_the_small_replication() -> None:
    small = plan_of(McbifExperimentRequest())
    assert (small.elements, small.step, small.scales, small.total) == (100, 5, 22, 1_200)
    regression = plan_of(McbifExperimentRequest(task="regression"))
    assert (regression.elements, regression.scales, regression.total) == (5, 20, 6_000)
    full = plan_of(McbifExperimentRequest(n_elements=500, step=18, n_sequences=1_870))
    assert (full.scales, full.total) == (30, 3_740)
    assert paper.size(full) == ("N = 500, M = 30, 1,870 sequences per class", True)
    assert not paper.size(small)[1]
    assert paper.size(regression) == ("N = 5, M = 20, 20,000 sequences", False)


def test_reported_scores_belong_to_the_number_of_elements() -> None:
    seven = plan_of(McbifExperimentRequest(task="regression", n_elements=7))
    assert np.isnan(paper.scores(seven, ["hf1"])).all()
    assert np.isnan(paper.correlations(seven, ["c1_bar"])).all()
    assert paper.size(seven) == (None, False)
    ten = plan_of(McbifExperimentRequest(task="regression", n_elements=10))
    assert paper.scores(ten, ["hf1", "nce"]) == pytest.approx([0.448, 0.457])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n_elements": 9}, "is 9, outside 10 to 500, the range for classification."),
        ({"n_elements": 501}, "is 501, outside 10 to 500"),
        ({"n_sequences": 5_001}, "is 5,001, outside 20 to 5,000"),
        ({"step": 0}, "is 0, outside 1 to 500"),
        ({"step": 1}, "Step 1 with 100 elements makes 101 partitions; at most 60 are allowed."),
        ({"task": "regression", "n_elements": 100}, "is 100, outside 4 to 12"),
        ({"task": "regression", "n_scales": 3}, "is 3, outside 4 to 30"),
        ({"task": "regression", "n_sequences": 99}, "is 99, outside 100 to 20,000"),
    ],
)
def test_sizes_out_of_range_are_refused(
    engine: Engine, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        accept(METHOD, fields, engine.known)


def test_fields_of_the_other_task_are_not_looked_at(engine: Engine) -> None:
    accept(METHOD, {"n_scales": 99}, engine.known)
    accept(METHOD, {"task": "regression", "step": 0}, engine.known)


# Sequences


def test_features_of_one_sequence() -> None:
    plan = plan_of(McbifExperimentRequest(n_elements=20, step=4, n_sequences=20))
    assert plan.scales == 7
    row = measured(plan, 39, lambda: None)
    labels = drawn(plan, 39)
    hf0, hf1 = hilbert_functions(labels)
    assert row["raw"].tolist() == labels.reshape(-1).tolist()
    assert row["hf0"].tolist() == hf0[np.triu_indices(7)].tolist()
    assert row["hf1"].tolist() == hf1[np.triu_indices(7, 1)].tolist()
    assert (row["nce"].shape, row["ari"].shape, row["overlap"].shape) == ((49,), (21,), (21,))
    assert row["c1_bar"] == pytest.approx(hf1.sum() / 21)
    assert row["crossing_bound"] == np.trace(hf1, 1)
    assert (row["target"], measured(plan, 19, lambda: None)["target"]) == (1, 0)


def test_crossing_numbers_are_not_below_their_bound() -> None:
    plan = plan_of(McbifExperimentRequest(task="regression", n_elements=6, n_scales=8))
    rows = [measured(plan, i, lambda: None) for i in range(20)]
    assert all(row["target"] >= row["crossing_bound"] for row in rows)
    assert max(row["target"] for row in rows) > 0


# Learning


def test_targets_that_are_left_out() -> None:
    target = np.r_[np.zeros(10, int), np.full(1_980, 5), [1], np.full(8, 9), [50]]
    kept = learning.kept_targets(target)
    assert not kept[:10].any()
    assert kept[10:1_990].all()
    assert kept[1_990]  # 10 of 2,000 are below it: more than 0.1 %
    assert not kept[-1]


def test_rare_targets_join_the_next() -> None:
    target = np.array([1] + [2] * 6 + [3] * 2 + [4] * 5 + [9, 10])
    groups = learning.strata(target)
    assert groups.tolist() == [0] * 7 + [1] * 9
    assert learning.strata(np.array([1, 2, 3])).tolist() == [0, 0, 0]


def test_splits_are_stratified_and_do_not_overlap() -> None:
    target = np.repeat([0, 1], 50)
    train, test = learning.split("classification", target, 0)
    assert (len(train), len(test)) == (80, 20)
    assert target[test].sum() == 10
    assert not set(train) & set(test)
    again = learning.split("classification", target, 0)
    assert np.array_equal(train, again[0])
    train, test = learning.split("regression", target, 0)
    assert (len(train), len(test)) == (64, 20)


def test_scores_by_hand() -> None:
    weights = np.array([[1.0, 1, 1, 1], [0, 2, 2, 0]])
    right = learning.scores(
        "classification", np.array([0, 1, 1, 0]), np.array([[0.0, 1, 0, 1], [0, 1, 1, 0]]), weights
    )
    assert right.tolist() == [[0.5, 1], [0.5, 1]]
    target = np.array([1, 2, 3, 6])
    predicted = np.array([[1.0, 2, 3, 6], [3, 3, 3, 3], [2, 2, 4, 4]])
    r2 = learning.scores("regression", target, predicted, weights)
    # Around the mean 3: 4 + 1 + 0 + 9 = 14; the second resample is 2, 2, 3, 3 around 2.5.
    assert r2[0] == pytest.approx([1, 0, 1 - (1 + 0 + 1 + 4) / 14])
    assert r2[1] == pytest.approx([1, 1 - 2 / 1, 1 - 2 / 1])
    equal = learning.scores("regression", np.array([2, 2, 2, 2]), predicted, weights)
    assert np.isnan(equal).all()


def test_intervals_hold_the_binomial_spread() -> None:
    target = np.ones(400, int)
    predicted = np.repeat([[1.0, 0.0]], 200, axis=0).T.reshape(1, -1)
    low, high = learning.intervals("classification", target, predicted, 2_000, 0, lambda: None)
    spread = 1.96 * np.sqrt(0.25 / 400)
    assert low[0] == pytest.approx(0.5 - spread, abs=0.006)
    assert high[0] == pytest.approx(0.5 + spread, abs=0.006)
    again = learning.intervals("classification", target, predicted, 2_000, 0, lambda: None)
    assert again.tolist() == [low.tolist(), high.tolist()]


def test_models_find_what_is_linear_and_their_controls_do_not() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 4))
    classes = (points[:, 0] > 0).astype(np.int64)
    found = learning.predict("classification", points[:200], classes[:200], points[200:], 0)
    assert np.mean(found["predicted"] == classes[200:]) > 0.9
    assert found["control"].shape == (5, 100)
    assert 0.3 < np.mean(found["control"] == classes[200:]) < 0.7
    assert found["is_converged"].tolist() == [True]
    values = np.rint(10 * points[:, 1]).astype(np.int64)
    found = learning.predict("regression", points[:200], values[:200], points[200:], 0)
    assert found["predicted"] == pytest.approx(10 * points[200:, 1], abs=0.5)


def test_iterations_that_run_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MAX_ITERATIONS", 1)
    points = np.random.default_rng(0).normal(size=(60, 5))
    found = learning.predict("classification", points, np.arange(60) % 2, points, 0)
    assert found["is_converged"].tolist() == [False]


# Runs


def test_a_classification(engine: Engine) -> None:
    stored = run(engine, n_elements=16, step=2, n_sequences=40)
    found = stored.result
    assert (found.n, found.n_scales, found.n_train, found.n_test) == (80, 10, 64, 16)
    assert stored.provenance["n"] == 80
    assert found.target.tolist() == [0] * 40 + [1] * 40
    assert not found.c1_bar[:40].any()
    assert found.c1_bar[40:].any()
    assert found.is_kept.all()
    assert np.all(found.score_low <= found.score)
    assert np.all(found.score <= found.score_high)
    assert np.all(found.score_control_least <= found.score_control)
    assert np.all(found.score_control <= found.score_control_most)
    assert found.n_values.tolist() == [100, 45, 55, 100, 45, 45, 160]
    assert found.measure_p[found.measures.index("c1_bar")] < 0.01
    assert found.bound_violations is None
    assert np.isnan(found.measure_correlation).all()
    for draw in (scores_figure, measures_figure):
        assert json.loads(draw(found, {}).to_json())["data"]
    assert correlations_figure(found, {}) is None


def test_a_regression(engine: Engine) -> None:
    found = run(engine, **REGRESSION).result
    assert (found.n, found.n_elements) == (150, 5)
    assert found.bound_violations == 0
    assert found.bound_score < 1
    kept = found.is_kept
    assert found.n_train + found.n_test < kept.sum()
    assert (found.target[kept] > 0).all()
    expected = np.corrcoef(found.c1_bar[kept], found.target[kept])[0, 1]
    assert found.measure_correlation[1] == pytest.approx(expected, abs=1e-6)
    assert found.measure_p == [None] * 5
    for draw in (scores_figure, measures_figure, correlations_figure):
        assert json.loads(draw(found, {}).to_json())["data"]


def test_a_run_goes_on_with_its_parts(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*arguments: Any) -> Any:
        raise Cancelled

    fields = {"n_elements": 12, "step": 4, "n_sequences": 60, "seed": 3}
    with monkeypatch.context() as patch:
        patch.setattr(mcbif_experiment, "_fitted", stopped)
        with pytest.raises(Cancelled):
            run(engine, **fields)
    stored = run(engine, **fields)
    assert stored.counts["parts_recalled"] == 2
    assert stored.counts["parts_computed"] == 7


def test_sequences_without_crossings_are_not_enough(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcbif_experiment, "FEWEST", 150)
    with pytest.raises(BadRequest, match="of 100 sequences have crossings; at least 150 are"):
        run(engine, **{**REGRESSION, "n_sequences": 100})


def test_large_fits_go_to_the_worker(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"n_elements": 12, "step": 4, "n_sequences": 20}
    here = run(engine, **fields)
    assert run(engine, **fields).hit
    other = METHOD.__class__(**{**vars(METHOD), "version": 2})
    monkeypatch.setattr(mcbif_experiment, "LARGE", 0)
    request = accept(other, fields, engine.known)
    apart = engine.runner.submit(other, request).result()
    assert not apart.hit
    assert apart.result.score.tolist() == here.result.score.tolist()
    assert apart.result.score_control.tolist() == here.result.score_control.tolist()


# Figures


def test_scores_figure() -> None:
    figure = scores_figure(result(), {})
    first, _, control, reported, points = figure.data
    assert first.fill == "toself"
    assert [min(first.y[:4]), max(first.y[:4])] == pytest.approx([0.4, 0.6])
    assert control.line.dash == "dash"
    assert [v for v in control.y if np.isfinite(v)] == [0.5] * 3 + [0.375] * 3
    assert np.isnan(control.x[2])
    assert reported.marker.symbol == "diamond-open"
    assert reported.y.tolist() == pytest.approx([0.97])
    assert points.y.tolist() == [0.75, 0.5]
    assert points.error_y.array.tolist() == pytest.approx([0.15, 0.125])
    assert points.error_y.arrayminus.tolist() == pytest.approx([0.15, 0.25])
    assert points.customdata == ("hf1", "raw")
    assert "stopped after 1,000 iterations" in points.hovertext[1]
    assert max(text.count("<br>") for text in points.hovertext) < 6
    words = " ".join(a.text for a in figure.layout.annotations)
    assert "N = 5" in words
    assert "of another size" in words
    assert "chance" in words


def test_scores_without_the_paper_and_far_below_the_axis() -> None:
    nothing = np.full(2, np.nan, np.float32)
    poor = result(
        "regression",
        score=np.array([0.4, -12.3], np.float32),
        score_control=np.array([-0.1, -4.56], np.float32),
        score_paper=nothing,
        paper_size=None,
    )
    figure = scores_figure(poor, {})
    assert len(figure.data) == 4
    words = " ".join(a.text for a in figure.layout.annotations)
    assert "below the axis: labels (-12.3)" in words
    assert "controls of labels (-4.56)" in words
    assert "no figures of the paper for N = 5" in words
    assert figure.layout.yaxis.range[0] == -1


def test_boxes_by_class() -> None:
    figure = measures_figure(result(), {})
    assert len(figure.data) == 4
    assert figure.data[2].y.tolist() == [0, 0]
    assert figure.data[3].y.tolist() == [1, 2]
    assert figure.data[3].yaxis == "y2"
    texts = [a.text for a in figure.layout.annotations]
    assert "p = 0.25" in texts
    assert "p < 1e-300" in texts
    assert figure.layout.yaxis2.title.text == "average c<sub>1</sub>"


def test_crossings_and_correlations() -> None:
    found = result("regression")
    figure = measures_figure(found, {})
    assert figure.data[0].x.tolist() == [0, 0, 2]
    assert figure.data[0].y.tolist() == [4, 7, 5]
    assert figure.data[0].customdata.tolist() == [0, 1, 3]
    words = figure.layout.annotations[0].text
    assert "r = 0.500, N = 3 sequences (1 left out)" in words
    reported, points = correlations_figure(found, {}).data
    assert points.y.tolist() == [0.25, 0.5]
    assert reported.y.tolist() == pytest.approx([0.27, 0.47])
