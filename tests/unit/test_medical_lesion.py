"""Lesions: three architectures, oracles, controls, counts, resume, judges, tables, the page."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForCausalLM

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.concepts import questions as sets
from backends.concepts.medical import LABELS
from backends.errors import BadRequest, Cancelled
from backends.judges import Judge, find_judges
from backends.lab import Lab
from backends.lesions import Text, lesion, own_output, run_baseline, run_changed
from backends.methods import medical_lesion as of_lesion
from backends.methods.medical_lesion import METHOD, MedicalLesionResult, scores
from backends.methods.medical_lesion_answer import METHOD as ANSWER
from backends.methods.medical_lesion_answer import shared_start
from backends.models.bridge import Models
from backends.watch import Watch
from cache import Activations
from launch import build as build_engine
from tests import tiny
from views.contract import Panel
from views.lesions import answers_html
from views.tools import medical_lesion as tool
from views.tools.medical_lesion_answer import divergence_figure

FAMILIES = ("llama", "gpt2", "gpt_neox")
LAYERS = 3
FEW: dict[str, Any] = {"n_questions": 1, "answer_tokens": 3}
NASTY = "<b>x</b> & <script>alert(1)</script>"
BLOCKS = {"llama": "model.layers", "gpt2": "transformer.h", "gpt_neox": "gpt_neox.layers"}
OUTPUTS = {
    "llama": ("self_attn.o_proj", "mlp.down_proj"),
    "gpt2": ("attn.c_proj", "mlp.c_proj"),
    "gpt_neox": ("attention.dense", "mlp.dense_4h_to_h"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models of three architectures, and a copy of each whose block 1 adds nothing."""
    folder = tmp_path_factory.mktemp("lesions")
    for family in FAMILIES:
        tiny.build(folder / family, layers=LAYERS, family=family)
        silent = folder / f"{family}-silent"
        shutil.copytree(folder / family, silent)
        model = AutoModelForCausalLM.from_pretrained(silent)
        for name in OUTPUTS[family]:
            for weights in model.get_submodule(f"{BLOCKS[family]}.1.{name}").parameters():
                weights.data.zero_()
        model.save_pretrained(silent)
    return folder


@contextmanager
def an_engine(home: Path, folders: Path) -> Iterator[Engine]:
    """Open an engine with an empty home."""
    engine = build_engine(Settings(home, folders, 10**9, 10**9, 1, "cpu"))
    yield engine
    engine.runner.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, folders: Path) -> Iterator[Engine]:
    """One engine for the tests that only look at results."""
    with an_engine(tmp_path_factory.mktemp("home"), folders) as engine:
        yield engine


def run(engine: Engine, method: Any = METHOD, **fields: Any) -> Any:
    """Run a request on a tiny model."""
    request = accept(method, {"model": "llama", "answer_tokens": 3, **fields}, engine.known)
    return engine.runner.submit(method, request).result()


def models_of(engine: Engine) -> Models:
    """Return the verbs with a watch of their own."""
    return Models(engine.known.catalog, engine.registry, Activations(engine.disk), Watch())


@contextmanager
def blocks_run(engine: Engine, family: str = "llama") -> Iterator[list[int]]:
    """Count how often each block is run."""
    with engine.registry.use(engine.known.catalog.ref(family, "float32")) as loaded:
        counts = [0] * LAYERS
        handles = []
        for i, block in enumerate(loaded.bridge.original_model.get_submodule(BLOCKS[family])):

            def counting(*_: object, i: int = i) -> None:
                counts[i] += 1

            handles.append(block.mlp.register_forward_pre_hook(counting))
        try:
            yield counts
        finally:
            for handle in handles:
                handle.remove()


# Oracles


class Bench(Lab):
    """A lab without a job: models and what is known."""

    def __init__(self, engine: Engine) -> None:
        self.known, self._models = engine.known, models_of(engine)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layer", range(LAYERS))
def test_only_a_block_that_adds_something_can_be_missed(
    shared: Engine, family: str, layer: int
) -> None:
    """M15 and M16: a change of exactly 0, or of more than 1e-3."""
    lab = Bench(shared)
    for name, is_silent in ((family, False), (f"{family}-silent", layer == 1)):
        ref = shared.known.catalog.ref(name, "float32")
        base = run_baseline(lab, ref, Text("", [5, 40, 77, 120, 9], [3, 8, 60]))
        logits = run_changed(lab, ref, base, layer, lesion(layer, "identity"))
        change = float(np.abs(logits - base.logits).max())
        assert change == 0 if is_silent else change > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_silent_block_has_severity_one(shared: Engine, family: str) -> None:
    result = run(shared, model=f"{family}-silent", **FEW).result
    assert result.severity[1] == 1.0
    assert result.severity_random[1] == 1.0
    assert (result.severity[[0, 2]] > 1).all()
    assert (result.kl[1], result.js[1], result.delta_nll[1]) == (0, 0, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lesion_from_its_block_is_that_of_a_whole_pass(shared: Engine, family: str) -> None:
    """Attention and MLP go together, also where they are parallel."""
    lab = Bench(shared)
    ref, text = shared.known.catalog.ref(family, "float32"), Text("", [5, 40, 77], [120, 9])
    base = run_baseline(lab, ref, text)
    for layer in range(LAYERS):
        found = run_changed(lab, ref, base, layer, lesion(layer, "identity"))
        whole = lab.models.run(
            ref, [text.whole], [lesion(layer, "identity")], positions="all", fill=False
        )["logits"][0]
        np.testing.assert_array_equal(found, whole[2:4])
        same = run_changed(lab, ref, base, layer, own_output(base, layer))
        np.testing.assert_array_equal(same, base.logits)


@pytest.mark.parametrize(
    ("family", "ablation"),
    [*((family, "identity") for family in FAMILIES), ("gpt_neox", "zero"), ("gpt2", "mean")],
)
def test_every_ablation_and_its_controls(shared: Engine, family: str, ablation: str) -> None:
    stored = run(shared, model=family, ablation=ablation, n_questions=2)
    result = stored.result
    assert result.severity.shape == (LAYERS,)
    assert result.severity_question.shape == (2, LAYERS)
    np.testing.assert_allclose(result.severity, result.severity_question.mean(axis=0), rtol=1e-6)
    for name in ("severity", "severity_random", "severity_neutral"):
        assert (getattr(result, name) > 1).all()
        assert np.isnan(getattr(result, f"{name}_low")).all()
    assert (result.severity_identity_patch == 1).all()
    assert result.identity_deviation == 0
    assert (result.top1_agreement >= 0).all()
    assert (result.top1_agreement <= 1).all()
    assert (result.n, result.n_neutral, result.dropped) == (2, 2, 0)
    assert stored.provenance["n"] == 2


def test_zero_takes_all_that_came_before_away(shared: Engine) -> None:
    result = run(shared, ablation="zero", **FEW).result
    assert np.ptp(result.severity) == 0
    assert np.ptp(run(shared, **FEW).result.severity) > 0


def test_the_mean_contribution_is_that_of_neutral_questions(shared: Engine) -> None:
    lab = Bench(shared)
    ref = shared.known.catalog.ref("llama", "float32")
    request = accept(METHOD, {"model": "llama", "ablation": "mean"}, shared.known)
    mean = of_lesion.mean_contributions(request, lab, ref)
    assert mean is not None
    asked = of_lesion.prompt_ids(request, lab, ref, sets.neutral_questions())
    hooks = ["blocks.1.hook_resid_pre", "blocks.1.hook_resid_post"]
    seen = lab.models.run(ref, asked, want=hooks, positions="all")
    given = [b[1:] - a[1:] for a, b in zip(seen[hooks[0]], seen[hooks[1]], strict=True)]
    np.testing.assert_allclose(mean[1], np.concatenate(given).mean(axis=0), atol=1e-6)
    other = accept(METHOD, {"model": "llama"}, shared.known)
    assert of_lesion.mean_contributions(other, lab, ref) is None


# Counts and parts


def test_one_baseline_serves_all_lesions_which_start_at_their_block(
    tmp_path: Path, folders: Path
) -> None:
    with an_engine(tmp_path, folders) as engine, blocks_run(engine) as blocks:
        stored = run(engine, **FEW)
        tokens = 3 * 2
        assert stored.counts["lesions"] == 2 * LAYERS
        # Own lesion, random direction, own output, neutral lesion: four passes from each block.
        assert stored.counts["forward_passes"] == tokens + 2 + 4 * LAYERS
        assert blocks == [tokens + 2 + 4 * (i + 1) for i in range(LAYERS)]
        assert run(engine, **FEW).hit
        assert blocks[0] == tokens + 2 + 4


def test_a_stopped_run_goes_on_and_equals_one_that_was_not(
    tmp_path: Path, folders: Path, shared: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "LAYERS_PER_PART", 1)
    fields = {"n_questions": 2, "seed": 3}
    calls = 0

    def stopped(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise Cancelled
        return run_changed(*given)

    with an_engine(tmp_path, folders) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(scores, "run_changed", stopped)
            with pytest.raises(Cancelled):
                run(engine, **fields)
        again = run(engine, **fields)
    whole = run(shared, **fields)
    assert again.counts["parts_recalled"] == 4
    assert again.counts["lesions"] == whole.counts["lesions"] - 3
    for name in ("severity", "severity_random", "severity_question", "kl"):
        np.testing.assert_array_equal(getattr(again.result, name), getattr(whole.result, name))


def test_the_seed_moves_the_random_direction_only(shared: Engine) -> None:
    one, other = (run(shared, seed=seed, **FEW).result for seed in (0, 1))
    np.testing.assert_array_equal(one.severity, other.severity)
    assert not np.array_equal(one.severity_random, other.severity_random)


def test_questions_without_an_answer_are_dropped_and_counted(
    shared: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter(range(100))
    monkeypatch.setattr(
        scores, "answered", lambda *given: [] if next(asked) in (0, 3) else [5, 6, 7]
    )
    result = run(shared, n_questions=3, seed=9).result
    assert (result.n, result.dropped, result.n_neutral, result.dropped_neutral) == (2, 1, 2, 1)
    assert np.isnan(result.severity_question[0]).all()
    assert result.answers[0] == ""
    assert np.isfinite(result.severity).all()
    assert tool.chosen_question(result, {"question": "0"}) == 1
    monkeypatch.setattr(scores, "answered", lambda *given: [])
    with pytest.raises(BadRequest, match="answers none of 3 questions"):
        run(shared, n_questions=3, seed=10)


def test_a_pass_that_is_not_filled_has_the_numbers_of_its_own_row(shared: Engine) -> None:
    models, ref = models_of(shared), shared.known.catalog.ref("llama", "float32")
    texts = [[5, 40, 77], [9, 8, 7], [5, 6]]
    alone = models.run(ref, texts, positions="all", fill=False)["logits"]
    assert models._watch.counts["forward_passes"] == 3
    for text, found in zip(texts, alone, strict=True):
        again = models.run(ref, [text], positions="all", fill=False)["logits"][0]
        np.testing.assert_array_equal(found, again)
    filled = models.run(ref, texts, positions="all")["logits"]
    for one, other in zip(alone, filled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert models.text(ref, models.encode(ref, ["naïve 🙂"])[0].ids) == "naïve 🙂"


# Judges


def test_judges_are_found_in_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(find_judges()) == ["divergence"]
    folder = tmp_path / "some_judges"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "strict.py").write_text(
        "from backends.judges import Judge\nJUDGE = Judge('strict', lambda *given: 12)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    judge = find_judges("some_judges")["strict"]
    assert judge.judged("q", "a", "b", 0.0) == 10
    with pytest.raises(ValueError, match="gave no number"):
        Judge("x", lambda *given: float("nan")).judged("q", "a", "b", 0.0)


def test_a_judge_that_reads_gets_both_answers(
    shared: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Any, ...]] = []

    def score(*given: Any) -> float:
        heard.append(given)
        return 4.0

    reader = Judge("reader", score, needs_answer=True)
    monkeypatch.setattr(of_lesion, "judge_named", lambda key: reader)
    result = run(shared, n_questions=1, domain="age", seed=5).result
    assert (result.severity == 4).all()
    assert (result.severity_random == 4).all()
    assert (result.severity_identity_patch == 1).all()
    question, before, after, js = heard[0]
    assert (question, before) == (result.questions[0], result.answers[0])
    assert isinstance(after, str)
    assert js == pytest.approx(float(result.js[0]), rel=1e-5)
    assert len(heard) == 3 * LAYERS


# Questions


@pytest.mark.parametrize("domain", LABELS)
def test_every_domain_has_eight_questions_of_its_own(domain: Any) -> None:
    found = sets.questions(domain)
    assert len(set(found)) == 8
    assert not set(found) & set(sets.neutral_questions())
    assert all(question.endswith("?") for question in found)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("", "is empty"),
        ("prompt,kind\na,b\n", "needs one column question; it has: 'prompt', 'kind'"),
        ("question\n", "has 0 questions; 1 to 64"),
        ("question\n" + "".join(f"Why {i}?\n" for i in range(65)), "has 65 questions"),
        ("question,x\nWhy?,1\n  ,2\n", "Row 2 has no question"),
        ("question\nWhy?\nWhy? \n", "Row 2 repeats the question of row 1"),
        ("question\n" + "x" * 1_001, "has 1001 characters"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(table: str, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence):
        sets.read_questions(table.encode())


def test_a_table_is_read_and_not_utf_8_is_refused() -> None:
    found = sets.read_questions("x;question\n1;Why, so?\n\n2;Où?\n".encode())
    assert found == ["Why, so?", "Où?"]
    with pytest.raises(BadRequest, match="UTF-8"):
        sets.read_questions(b"question\n\xff\n")


def uploaded(engine: Engine, text: str) -> str:
    """Put a table into the uploads."""
    file = engine.known.catalog.home / "questions.csv"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    return str(engine.known.uploads.add(file, "table"))


def test_own_questions_and_the_answer_to_one(shared: Engine) -> None:
    table = uploaded(shared, f"question\nWhy pain?\n{NASTY}\n")
    result = run(shared, table=table).result
    assert (result.source, result.n, result.questions[1]) == ("own table", 2, NASTY)
    key, fields = tool.opened(result, {"layer": "2", "question": "1"}) or ("", {})
    assert key == ANSWER.key
    request = accept(ANSWER, fields, shared.known)
    answer = shared.runner.submit(ANSWER, request).result().result
    assert (answer.question, answer.layer, answer.baseline_answer) == (NASTY, 2, result.answers[1])
    assert answer.severity == pytest.approx(float(result.severity_question[1, 2]), rel=1e-6)
    assert "<script>" not in answers_html(replace(answer, baseline_answer=NASTY))


@pytest.mark.parametrize(
    ("method", "fields", "sentence"),
    [
        (METHOD, {"judge": "gpt"}, "Judge 'gpt' is unknown; there are: divergence"),
        (METHOD, {"chat": True}, "no chat template"),
        (METHOD, {"answer_tokens": 65}, "at most 64"),
        (METHOD, {"domain": "drug", "table": f"sha256:{'0' * 64}"}, "domain and a table"),
        (ANSWER, {"layer": 7}, r"Layer 7 is outside 0\.\.2"),
        (ANSWER, {"question": 8}, r"Question 8 is outside 0\.\.7"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(
    shared: Engine, method: Any, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        run(shared, method, **fields)


# The answer


def test_the_lesioned_answer_is_generated_and_compared(shared: Engine) -> None:
    stored = run(shared, ANSWER, layer=1, question=2)
    result = stored.result
    whole = run(shared, n_questions=3).result
    assert result.divergence.shape == (result.n,) == (len(result.baseline_tokens),)
    assert result.severity == pytest.approx(float(whole.severity_question[2, 1]), rel=1e-6)
    assert result.severity == pytest.approx(1 + 9 * result.divergence.mean() / np.log(2), rel=1e-5)
    assert stored.counts["forward_passes"] == 3 + 3 + 3
    one, alone = run(shared, ANSWER, layer=2).result, run(shared, **FEW).result
    assert one.severity_random == pytest.approx(float(alone.severity_random[2]), rel=1e-6)
    assert not np.array_equal(one.divergence_random, one.divergence)
    silent = run(shared, ANSWER, model="llama-silent", layer=1).result
    assert not silent.divergence.any()
    assert silent.severity == 1
    assert silent.baseline_answer == silent.lesioned_answer
    assert silent.same_tokens == silent.n
    assert "Both answers are the same" in answers_html(silent)


def test_where_two_texts_part() -> None:
    assert shared_start([1, 2, 3], [1, 2, 4]) == 2
    assert shared_start([1, 2], [1, 2, 4]) == 2
    assert shared_start([], [1]) == 0


def test_the_answers_are_escaped_and_part_in_bold(shared: Engine) -> None:
    result = run(shared, ANSWER, layer=1).result
    made = replace(
        result,
        question=NASTY,
        baseline_answer="ab<i>\nc",
        lesioned_answer="ab&d",
        baseline_tokens=["a", "b", "<i>\nc"],
        lesioned_tokens=["a", "b", "&d"],
        same_tokens=2,
    )
    found = answers_html(made)
    assert "<td>ab&lt;i&gt;<br>c</td><td>ab<strong>&amp;d</strong></td>" in found
    assert "same 2 of 3 and 3 tokens" in found
    assert "<script" not in found
    assert "No answer" in answers_html(replace(made, lesioned_answer="", lesioned_tokens=[]))
    figure = divergence_figure(replace(made, n=3, **_three(made)), {})
    assert "&lt;i&gt;↵c" in figure.data[2].hovertext[2]
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


def _three(result: Any) -> dict[str, Any]:
    names = ("divergence", "kl", "top1", "delta_nll", "divergence_random")
    return {name: getattr(result, name)[:3] for name in names}


# The page


@pytest.fixture(scope="module")
def result(shared: Engine) -> MedicalLesionResult:
    """A result with intervals."""
    found: MedicalLesionResult = run(shared, n_questions=4).result
    return found


def test_figures_draw_the_controls_dashed_and_the_baseline(result: MedicalLesionResult) -> None:
    figure = tool.severity_figure(result, {})
    named = {trace.name: trace for trace in figure.data if trace.name}
    controls = ("neutral questions", "random direction of equal length", "own output written back")
    assert {*controls, "lesion", "whole model: 1"} == set(named)
    assert {named[name].line.dash for name in controls} == {"dash", "dot", "dashdot"}
    assert {named[name].line.color for name in controls} == {"#6b7280"}
    assert list(named["lesion"].customdata) == ["0", "1", "2"]
    assert list(named["whole model: 1"].y) == [1, 1]
    assert "N = 4 questions" in figure.layout.annotations[0].text
    assert np.isfinite(result.severity_low).all()
    marked = tool.severity_figure(result, {"layer": "2"})
    assert list(marked.data[-1].x) == [2, 2]
    both = tool.shift_figure(result, {"layer": "1"})
    assert both.layout.yaxis.title.text
    assert both.layout.yaxis2.title.text
    assert len(both.data) == 4


def test_controls_offer_layers_and_questions_and_survive_wrong_values(
    result: MedicalLesionResult,
) -> None:
    fit = tool.fit(result, {"layer": "9", "question": "x"})
    assert fit["layer"] == {
        "choices": [("none", ""), ("0", "0"), ("1", "1"), ("2", "2")],
        "value": "",
    }
    assert [value for _, value in fit["question"]["choices"]] == ["0", "1", "2", "3"]
    assert fit["question"]["value"] == "0"
    assert tool.fit(result, {"layer": "1", "question": "3"})["question"]["value"] == "3"
    assert tool.opened(result, {"layer": ""}) is None
    hostile = replace(result, answers=[NASTY] * 4)
    assert "<script" not in tool.questions_html(hostile, {})


def test_the_form_offers_judges_and_a_table_in_place_of_a_domain(shared: Engine) -> None:
    table = uploaded(shared, "question\nWhy?\n")
    judges = {"choices": ["divergence"], "value": "divergence"}
    assert tool.adapt({}, shared.known, "") == {"judge": judges}
    found = tool.adapt({"table": table, "domain": "drug"}, shared.known, "table")
    assert found == {"judge": judges, "domain": {"value": None}}
    found = tool.adapt({"table": table, "domain": "age"}, shared.known, "domain")
    assert found == {"judge": judges, "table": {"value": ""}}


def test_the_panel_asks_for_the_answer_by_both_controls(result: MedicalLesionResult) -> None:
    import gradio as gr

    def built() -> Panel:
        with gr.Blocks(analytics_enabled=False):
            return tool.build()

    with ThreadPoolExecutor(1) as pool:
        panel = pool.submit(built).result()
    assert set(panel.look) == set(tool.fit(result, {})) == {"layer", "question"}
    assert [each.control for each in panel.follow_ups] == ["layer", "question"]
    assert len({each.place for each in panel.follow_ups}) == 1
    for view in panel.views:
        assert view.draw(result, {"layer": "1", "question": "0"})
