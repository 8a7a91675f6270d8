"""Saliency: its formula by hand, its counts, three architectures, refusals, figures."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from transformers import AutoModelForCausalLM

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept, request_key
from backends.errors import BadRequest, Cancelled, ModelMissing
from backends.jobs.apart import Apart
from backends.jobs.base import Stored
from backends.lab import Lab
from backends.methods.medical_saliency import METHOD, MedicalSaliencyResult, curves
from backends.methods.medical_saliency.curves import (
    TooSmall,
    absolute_sums,
    block_means,
    log_loss,
    mean_curve,
    ratio_curve,
    resampled,
)
from backends.watch import Progress, Watch
from cache import Store
from launch import build
from tests import tiny
from views.tools.medical_saliency import TOOL, contrast_figure, saliency_figure, weighted_figure

FAMILIES = ("tiny", "gpt2", "gpt_neox")
CURVES = ("saliency", "saliency_weighted", "neutral", "neutral_weighted", "contrast")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with a model of each architecture, and one whose block 1 writes nothing."""
    folder = tmp_path_factory.mktemp("models")
    for name in FAMILIES:
        tiny.build(folder / name, family="llama" if name == "tiny" else name)
    _silent(tiny.build(folder / "silent", layers=3))
    home = tmp_path_factory.mktemp("home")
    made = build(Settings(home, folder, 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


def _silent(folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.model.layers[1].self_attn.o_proj.weight.zero_()
        model.model.layers[1].mlp.down_proj.weight.zero_()
    model.save_pretrained(folder)


def run(engine: Engine, **fields: Any) -> Stored:
    """Run a request on four symptoms."""
    given = {"model": "tiny", "domain": "symptom", "n_prompts": 4, **fields}
    return engine.runner.submit(METHOD, accept(METHOD, given, engine.known)).result()


@pytest.fixture(scope="module")
def four(shared: Engine) -> MedicalSaliencyResult:
    """Four symptoms on the tiny model."""
    return run(shared).result


def table(engine: Engine, tmp_path: Path, header: str, rows: list[str]) -> str:
    """Upload a table and return its digest."""
    file = tmp_path / "table.csv"
    file.write_text("\n".join([header, *rows]), "utf-8")
    return engine.known.uploads.add(file)


def test_the_gradient_of_the_log_loss_by_hand() -> None:
    weight = torch.zeros(1, requires_grad=True)
    logits = torch.stack([torch.cat([weight, torch.zeros(1)]), torch.zeros(2)])
    loss = log_loss([1, 0], [1])(logits)
    assert float(loss.detach().exp()) == pytest.approx(0.693147, abs=1e-6)
    loss.backward()
    assert float(weight.grad) == pytest.approx(-0.721348, abs=1e-6)


def test_the_loss_is_the_mean_over_the_target_tokens() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]]))
    expected = -(np.log(0.25) + np.log(0.8)) / 2
    assert float(log_loss([0, 1, 2], [1, 2])(logits)) == pytest.approx(np.log(expected), abs=1e-6)


def test_a_loss_without_a_useful_logarithm_is_told() -> None:
    with pytest.raises(TooSmall) as told:
        log_loss([0, 1], [1])(torch.tensor([[0.0, 40.0], [0.0, 0.0]]))
    assert told.value.loss < 1e-6


def test_means_of_a_block_weigh_its_parts_by_their_weights() -> None:
    sums = np.array([[[6.0, 1.0], [12.0, 3.0]], [[0.0, 0.0], [4.0, 2.0]]])
    means = block_means(sums, np.array([[2, 4], [0, 4]]))
    np.testing.assert_allclose(means[0], [[3, 1], [3, np.nan], [3, 1]])
    np.testing.assert_allclose(means[1], [[4 / 6, 0.5], [0.5, np.nan], [0.75, 0.5]], rtol=1e-6)
    assert absolute_sums(torch.tensor([2.0, -3.0]), torch.tensor([-1.0, 5.0])) == (6, 17)


def test_intervals_are_of_resampled_prompts() -> None:
    rows = np.random.default_rng(0).normal(5, 1, (40, 2)).astype(np.float32)
    curve = mean_curve(rows, resampled(rows, 0, 0))
    np.testing.assert_allclose(curve.mean, rows.mean(axis=0), rtol=1e-6)
    width, normal = curve.high - curve.low, 2 * 1.96 * rows.std(axis=0) / np.sqrt(40)
    np.testing.assert_allclose(width, normal, rtol=0.25)
    again = mean_curve(rows, resampled(rows, 0, 0))
    assert all(np.array_equal(a, b) for a, b in zip(curve, again, strict=True))
    assert not np.array_equal(curve.low, mean_curve(rows, resampled(rows, 1, 0)).low)


def test_two_prompts_have_no_interval_and_none_no_mean() -> None:
    two = mean_curve(np.ones((2, 3), np.float32), resampled(np.ones((2, 3), np.float32), 0, 0))
    assert two.mean.tolist() == [1, 1, 1]
    assert np.isnan([two.low, two.high]).all()
    assert np.isnan(mean_curve(np.zeros((0, 3), np.float32)).mean).all()


def test_the_contrast_is_a_ratio_of_means() -> None:
    over, under = np.full((5, 2), 6, np.float32), np.full((3, 2), 4, np.float32)
    assert [row.tolist() for row in ratio_curve(over, under, 0)] == [[1.5, 1.5]] * 3
    assert np.isnan(ratio_curve(over, under[:2], 0).low).all()


def test_saliency_is_the_mean_gradient_of_transformers(
    shared: Engine, four: MedicalSaliencyResult
) -> None:
    folder = shared.known.catalog.get("tiny").path
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    models = shared.runner.models(Watch())
    one = models.encode(shared.known.catalog.ref("tiny", "float32"), [four.prompts[2]])[0]
    start = four.prompts[2].rindex(four.entities[2])
    at = one.covering(start, len(four.prompts[2]))
    logits = model(input_ids=torch.tensor([one.ids])).logits[0]
    loss = torch.nn.functional.cross_entropy(
        logits[[p - 1 for p in at]], torch.tensor([one.ids[p] for p in at])
    )
    loss.log().backward()
    assert four.loss[2] == pytest.approx(float(loss.detach()), rel=1e-5)
    for layer, block in enumerate(model.model.layers):
        weights = [w for w in block.parameters() if w.ndim == 2]
        total = sum(float(w.grad.abs().sum()) for w in weights)
        expected = total / sum(w.numel() for w in weights)
        assert four.saliency_prompt[2, layer] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(four.saliency, four.saliency_prompt.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(four.contrast, four.saliency / four.neutral, rtol=1e-5)


def test_weights_before_a_zero_projection_have_no_gradient(shared: Engine) -> None:
    seen: list[tuple[tuple[int, ...], float]] = []

    def kept(weight: torch.Tensor, gradient: torch.Tensor) -> tuple[float, ...]:
        seen.append((tuple(weight.shape), float(gradient.abs().sum())))
        return absolute_sums(weight, gradient)

    models = shared.runner.models(Watch())
    ref = shared.known.catalog.ref("silent", "float32")
    found = models.gradients(ref, [5, 40, 77, 9], log_loss([5, 40, 77, 9], [2, 3]), kept)
    size = len(seen) // 3
    block = seen[size : 2 * size]
    assert (size, sum(total == 0 for _, total in block)) == (7, 5)
    # Only o_proj and down_proj, which are 32 wide on the side that they write to, have one.
    assert sorted(shape for shape, total in block if total > 0) == [(32, 32), (32, 64)]
    assert all(total > 0 for _, total in seen[:size])
    assert found.sums[1, :, 1].tolist() == [0, 0]  # zero weights times any gradient


@pytest.mark.parametrize("family", FAMILIES)
def test_every_architecture_has_curves(shared: Engine, family: str) -> None:
    stored = run(shared, model=family, target="last")
    result = stored.result
    assert result.layers == [0, 1]
    assert (result.n, result.n_neutral, result.skipped) == (4, 4, 0)
    for name in CURVES:
        low, mean, high = (getattr(result, name + end) for end in ("_low", "", "_high"))
        assert (low <= mean).all(), name
        assert (mean <= high).all(), name
        assert (mean > 0).all(), name
    between = np.sort([result.saliency_attention, result.saliency_mlp], axis=0)
    assert (between[0] <= result.saliency).all()
    assert (result.saliency <= between[1]).all()
    assert stored.provenance["n"] == 4


def test_one_backward_pass_for_each_prompt(shared: Engine) -> None:
    first = run(shared, seed=7)
    assert first.counts["backward_passes"] == 8
    assert first.counts["parts_computed"] == 8
    assert "forward_passes" not in first.counts
    again = run(shared, seed=7)
    assert again.hit
    assert again.counts == {}


def test_prompts_are_evenly_spaced_and_matched_in_length(
    shared: Engine, four: MedicalSaliencyResult
) -> None:
    assert four.prompts[0].endswith("chest pain")
    assert four.prompts[-1].endswith("loss of appetite")
    assert len(set(four.neutral_prompts)) == len(four.neutral_lengths) == 4
    many = run(shared, n_prompts=1_000, domain="progression").result
    assert (many.n, many.n_neutral) == (50, 50)
    assert four.tokens[0][0] in (" chest", "chest")


def test_the_last_token_alone_or_the_whole_entity(
    shared: Engine, four: MedicalSaliencyResult
) -> None:
    last = run(shared, target="last").result
    assert [tokens[-1:] for tokens in four.tokens] == last.tokens
    ages = run(shared, domain="age").result
    assert "".join(ages.tokens[-1]).strip() == "100"
    assert ages.prompts[-1].endswith("old")


def test_a_stopped_run_repeats_nothing(
    shared: Engine, four: MedicalSaliencyResult, tmp_path: Path
) -> None:
    request = accept(METHOD, {"model": "tiny", "domain": "symptom", "n_prompts": 4}, shared.known)
    key, store = request_key(METHOD, request, shared.known), Store(tmp_path / "store")
    partial: list[MedicalSaliencyResult] = []

    def tell(progress: Progress) -> None:
        if progress.partial is not None:
            partial.append(progress.partial)
        if len(partial) == 3:
            watch.stop()

    def lab(seen: Watch) -> Lab:
        return Lab(METHOD, key, store, shared.known, seen, shared.runner.models, Apart(),
                   lambda *_: None)  # fmt: skip

    watch = Watch(tell=tell)
    with pytest.raises(Cancelled):
        METHOD.compute(request, lab(watch))
    assert watch.counts["backward_passes"] == 3
    assert [(p.n, p.n_neutral) for p in partial] == [(1, 0), (1, 1), (2, 1)]
    assert np.isnan(partial[0].contrast).all()
    goes_on = Watch()
    result = METHOD.compute(request, lab(goes_on))
    assert goes_on.counts["backward_passes"] == 5
    assert goes_on.counts["parts_recalled"] == 3
    assert np.array_equal(result.saliency_prompt, four.saliency_prompt)
    assert np.array_equal(result.contrast_low, four.contrast_low)


def test_prompts_of_too_small_a_loss_are_skipped_and_counted(
    shared: Engine, four: MedicalSaliencyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = float(np.sort(four.loss)[1:3].mean())
    monkeypatch.setattr(curves, "LEAST_LOSS", least)
    stored = run(shared, seed=11)
    result, kept = stored.result, four.loss > least
    assert (result.n, result.skipped, kept.sum()) == (2, 2, 2)
    assert stored.counts["backward_passes"] == result.n + result.n_neutral
    assert np.isnan(result.saliency_prompt[~kept]).all()
    np.testing.assert_array_equal(result.saliency, mean_curve(four.saliency_prompt[kept]).mean)
    np.testing.assert_allclose(result.loss, four.loss, rtol=1e-5)
    assert np.isnan(result.saliency_low).all()
    monkeypatch.setattr(curves, "LEAST_LOSS", 1e3)
    with pytest.raises(BadRequest, match="predicts every target with a loss below"):
        run(shared, seed=12)


def test_target_tokens_at_position_0_are_left_out_and_counted(
    shared: Engine, tmp_path: Path
) -> None:
    rows = [f"{word} pain,{word} pain,{i}" for i, word in enumerate("abcdef")]
    digest = table(shared, tmp_path, "prompt,entity,value", rows)
    result = run(shared, domain=None, table=digest).result
    assert (result.unpredicted, result.source) == (4, "table")
    assert ["".join(tokens) for tokens in result.tokens] == [" pain"] * 4


def test_what_the_user_can_mend_is_a_sentence(shared: Engine, tmp_path: Path) -> None:
    rows = [f"{word},{word},{i}" for i, word in enumerate("abcdef")]
    alone = table(shared, tmp_path, "prompt,entity,value", rows)
    with pytest.raises(BadRequest, match="'a' has no token after position 0"):
        run(shared, domain=None, table=alone)
    assert run(shared, domain=None, table=alone, bos="force").result.n == 4
    wrong = table(shared, tmp_path, "prompt,entity,value", [*rows[:5], "f,g,7"])
    with pytest.raises(BadRequest, match="The entity 'g' of row 6 is not in its prompt"):
        run(shared, domain=None, table=wrong)
    plain = table(shared, tmp_path, "prompt,value", [f"pain {i},{i}" for i in range(6)])
    with pytest.raises(BadRequest, match="needs a column entity"):
        run(shared, domain=None, table=plain)
    assert run(shared, domain=None, table=plain, target="last").result.entities == [""] * 4


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n_prompts": 1}, "at least 2"),
        ({"n_prompts": 1_001}, "at most 1,?000"),
        ({"domain": "none"}, "domain"),
        ({"labels": "body_system"}, "labels"),
    ],
)
def test_wrong_fields_are_refused(shared: Engine, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        run(shared, **fields)


def test_an_unknown_model_is_refused(shared: Engine) -> None:
    with pytest.raises(ModelMissing, match="'none' is not known"):
        run(shared, model="none")


def test_figures_draw_controls_and_intervals(four: MedicalSaliencyResult) -> None:
    for draw in (saliency_figure, contrast_figure, weighted_figure):
        go.Figure(json.loads(draw(four, {}).to_json()))
    names = [trace.name for trace in saliency_figure(four, {}).data]
    assert names == [None, None, "neutral prompts", "attention", "MLP", "block"]
    neutral, main = saliency_figure(four, {}).data[2::3]
    assert neutral.line.dash == "dash"
    assert main.customdata == ("0", "1")
    assert "N = 4 prompts" in main.hovertext[0]
    assert "95 % interval" in main.hovertext[0]
    np.testing.assert_allclose(main.y, four.saliency, rtol=1e-3)
    np.testing.assert_allclose(contrast_figure(four, {}).data[2].y, four.contrast, rtol=1e-3)
    note = contrast_figure(four, {}).layout.annotations[0].text
    assert note.startswith("N = 4 prompts (mean loss ")


def test_a_wide_range_has_a_logarithmic_axis(four: MedicalSaliencyResult) -> None:
    assert saliency_figure(four, {}).layout.yaxis.type is None
    wide = replace(four, saliency=np.array([1e-6, 1.0], np.float32))
    assert saliency_figure(wide, {}).layout.yaxis.type == "log"


def test_figures_of_a_result_without_neutral_prompts(four: MedicalSaliencyResult) -> None:
    unknown = np.full(2, np.nan, np.float32)
    names = [f.name for f in MedicalSaliencyResult.__dataclass_fields__.values()]
    empty = {n: unknown for n in names if n.startswith(("neutral", "contrast"))
             and isinstance(getattr(four, n), np.ndarray)}  # fmt: skip
    early = replace(four, **empty, n_neutral=0, loss_neutral=np.full(4, np.nan, np.float32))
    assert "No neutral prompt" in contrast_figure(early, {}).layout.annotations[2].text
    assert saliency_figure(early, {}).data
    assert "skipped" in saliency_figure(replace(four, skipped=2), {}).layout.annotations[0].text


def test_a_table_takes_the_place_of_a_domain(shared: Engine, tmp_path: Path) -> None:
    assert TOOL.adapt is not None
    digest = table(shared, tmp_path, "prompt,value", [f"pain {i},{i}" for i in range(6)])
    changes = TOOL.adapt({"table": digest, "domain": "drug"}, shared.known, "table")
    assert changes == {"domain": {"value": None}, "template": {"value": "A"}}
    changes = TOOL.adapt({"table": digest, "domain": "age"}, shared.known, "domain")
    assert changes == {"table": {"value": ""}}
