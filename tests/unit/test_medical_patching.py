"""Patching: pairing, oracle M19 on three families, causality, work, and what is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept, request_key
from backends.errors import BadRequest, Cancelled
from backends.jobs.apart import Apart
from backends.jobs.base import Stored
from backends.lab import Lab
from backends.methods.medical_patching import METHOD, MedicalPatchingResult, runs
from backends.methods.medical_patching.pairing import paired
from backends.methods.medical_patching.runs import random_step
from backends.watch import Progress, Watch
from cache import Store
from launch import build
from tests import tiny

FAMILIES = ("llama", "gpt2", "gpt_neox")
LAYERS = 3
ONE = {
    "clean": "The patient complains of chest pain and takes",
    "corrupted": "The patient complains of heart failure and takes",
    "answer": " aspirin",
    "foil": " drug",
}
LONGER = "The patient complains of a heart failure and takes"
Run = Callable[..., Stored]


def loud(folder: Path, family: str, layers: int) -> None:
    """Write a tiny model whose runs differ clearly: its matrices are scaled up."""
    tiny.build(folder, layers=layers, family=family)
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight *= 8
            elif name.endswith(("model.norm.weight", "ln_f.weight", "final_layer_norm.weight")):
                weight *= 6
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with a tiny model of each family, and a deep one."""
    folder = tmp_path_factory.mktemp("families")
    for family in FAMILIES:
        loud(folder / family, family, LAYERS)
    loud(folder / "deep", "llama", 16)
    made = build(Settings(tmp_path_factory.mktemp("home"), folder, 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


@pytest.fixture
def run(families: Engine, tmp_path: Path) -> Run:
    """Run one pair, a set, or a table on a model; recalled if it was run before."""

    def computed(model: str = "llama", table: str | None = None, **fields: Any) -> Stored:
        raw: dict[str, Any] = {"model": model, **fields}
        if table is not None:
            (tmp_path / "table.csv").write_text(table, encoding="utf-8")
            raw["table"] = families.known.uploads.add(tmp_path / "table.csv")
        elif "pairs" not in fields:
            raw = ONE | raw
        return families.runner.submit(METHOD, accept(METHOD, raw, families.known)).result()

    return computed


def table_of(*pairs: tuple[str, str, str, str]) -> str:
    """Return a table of pairs."""
    lines = [",".join(pair) for pair in pairs]
    return "\n".join(["clean,corrupted,answer,foil", *lines]) + "\n"


WORDS = ("pain", "chest", "drug", "heart")
ANSWERS = (" aspirin", " drug", " heart", " pain")
TABLE = table_of(
    *(
        (f"The patient takes {a} every", f"The patient takes {b} every", r, f)
        for a, b in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)
        for r in ANSWERS
        for f in ANSWERS
        if r != f
    )
)
GIVEN = 48


@pytest.mark.parametrize(
    ("clean", "corrupted", "links", "alone"),
    [
        ([1, 2, 3], [1, 9, 3], "0:0,1:1,2:2", ((), ())),
        ([1, 2, 3, 4], [1, 9, 4], "0:0,2:1,3:2", ((1,), ())),
        ([1, 4], [1, 7, 8, 4], "0:0,1:3", ((), (1, 2))),
        ([1, 2], [1, 2, 3], "0:0,1:1", ((), (2,))),
        ([5], [6, 7], "0:1", ((), (0,))),
    ],
)
def test_the_automatic_pairing(
    clean: list[int], corrupted: list[int], links: str, alone: tuple[Any, Any]
) -> None:
    found = paired(clean, corrupted)
    assert found.text() == links
    assert (found.alone_clean, found.alone_corrupted) == alone


def test_a_written_pairing_is_the_one_in_force() -> None:
    found = paired([1, 2, 3], [4, 5], " 2:1, 0:0")
    assert found.links == ((0, 0), (2, 1))
    assert (found.alone_clean, found.alone_corrupted) == ((1,), ())
    assert paired([1, 2, 3], [4, 5], found.text()) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0:0,3:1", "clean prompt has no position 3; it has 0..2"),
        ("0:0,2:2", "corrupted prompt has no position 2; it has 0..1"),
        ("0:0,0:1", "clean position 0 is linked twice"),
        ("0:0,1:0", "corrupted position 0 is linked twice"),
        ("0", "is no link"),
        ("a:b", "is no link"),
        ("0:-1", "is no link"),
        ("0:0,", "is no link"),
    ],
)
def test_a_pairing_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as told:
        paired([1, 2, 3], [4, 5], text)
    assert told.value.field == "pairing"


def test_random_steps_have_the_length_of_the_step() -> None:
    step = np.zeros((3, 2, 4), np.float32)
    step[0, 1], step[2] = 2, 1
    drawn = random_step(step, np.random.default_rng(0))
    np.testing.assert_allclose(
        np.linalg.norm(drawn.reshape(3, -1), axis=1), [4, 0, np.sqrt(8)], rtol=1e-6
    )
    assert not drawn[0, 0].any()
    assert not np.allclose(drawn[0, 1], 2)


@pytest.mark.parametrize(
    ("direction", "metric"),
    [("denoising", "logit_difference"), ("noising", "logit_difference"),
     ("denoising", "log_probability")],
)  # fmt: skip
@pytest.mark.parametrize("family", FAMILIES)
def test_all_positions_carry_everything_over(
    run: Run, family: str, direction: str, metric: str
) -> None:
    answer = " heart failure" if metric == "log_probability" else ONE["answer"]
    result = run(family, positions="all", direction=direction, metric=metric, answer=answer).result
    assert abs(result.gap[0]) > 0.5
    assert result.recovery.shape == (LAYERS, 1)
    np.testing.assert_allclose(result.recovery, 1, atol=1e-3)
    assert result.causal_mask.all()
    sign = 1 if direction == "denoising" else -1
    np.testing.assert_allclose(result.logit_difference, sign * result.gap[0], rtol=1e-3)
    assert result.identity.max() <= 1e-5
    assert np.abs(result.recovery_random - 1).max() > 0.05


@pytest.mark.parametrize("site", ["block", "attention", "mlp"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_board_is_what_a_plain_hook_gives(
    run: Run, families: Engine, family: str, site: str
) -> None:
    result = run(family, positions="each", site=site).result
    models = families.runner.models(Watch())
    ref = families.known.catalog.ref(family, "float32")
    clean, corrupted = (models.encode(ref, [ONE[s]])[0].ids for s in ("clean", "corrupted"))
    assert result.recovery.shape == (LAYERS, len(corrupted)) == (LAYERS, len(result.columns))
    from backends.models.edits import Edit

    answer, foil = (models.encode(ref, [ONE[s]])[0].ids[0] for s in ("answer", "foil"))
    (plain,) = models.run(ref, [corrupted])["logits"]
    base = plain[0, answer] - plain[0, foil]
    assert result.score_corrupted[0] == pytest.approx(base, abs=1e-6)
    for layer in range(LAYERS):
        hook = runs.hook_of(site, layer)
        (rows,) = models.run(ref, [clean], want=(hook,), positions="all")[hook]
        for position in range(len(corrupted)):
            edit = Edit(hook, [[position]], rows[[position]])
            (logits,) = models.run(ref, [corrupted], [edit])["logits"]
            moved = logits[0, answer] - logits[0, foil] - base
            computed = result.causal_mask[layer, position]
            assert abs(moved) < 1e-4 or computed
            if computed:
                assert result.logit_difference[layer, position] == pytest.approx(moved, abs=1e-4)
                expected = moved / result.gap[0]
                assert result.recovery[layer, position] == pytest.approx(expected, abs=1e-4)
            else:
                assert result.recovery[layer, position] == 0
    assert not result.causal_mask[:, :4].any()
    assert result.causal_mask[-1].nonzero()[0].tolist() == [len(corrupted) - 1]
    assert result.causal_mask[:-1, 4:].all()


def test_the_work_is_at_most_six_tenths_of_full_runs(run: Run, families: Engine) -> None:
    with block_calls(families, "deep") as calls:
        stored = run("deep", positions="each", seed=5)
    assert stored.result.causal_mask.any()
    assert stored.counts["forward_passes"] == 16 + 2
    assert sum(calls) <= 0.6 * 16 * stored.counts["forward_passes"]
    assert calls == [3 + layer for layer in range(16)]


@contextmanager
def block_calls(engine: Engine, model: str) -> Iterator[list[int]]:
    """Count how often each block runs."""
    with engine.registry.use(engine.known.catalog.ref(model, "float32")) as loaded:
        blocks = loaded.bridge.original_model.model.layers
        calls = [0] * len(blocks)

        def counting(layer: int) -> Any:
            def hook(*_: object) -> None:
                calls[layer] += 1

            return hook

        handles = [
            block.mlp.register_forward_pre_hook(counting(layer))
            for layer, block in enumerate(blocks)
        ]
        try:
            yield calls
        finally:
            for handle in handles:
                handle.remove()


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_one_by_one_and_together(run: Run, family: str) -> None:
    heads = run(family, site="heads", positions="entity").result
    whole = run(family, site="attention", positions="entity").result
    assert heads.recovery_head.shape == (LAYERS, 4)
    np.testing.assert_allclose(heads.recovery, whole.recovery, atol=1e-4)
    assert heads.causal_mask.tolist() == [[True], [True], [False]]
    assert not heads.recovery_head[-1].any()
    assert np.ptp(heads.recovery_head[0]) > 1e-4
    assert heads.identity.max() <= 1e-5
    assert heads.kv_heads == (2 if family == "llama" else 4)


def test_identical_prompts_are_nothing_to_recover(run: Run) -> None:
    for positions in ("all", "entity", "each"):
        result = run(corrupted=ONE["clean"], positions=positions).result
        assert np.isnan(result.recovery).all()
        assert np.abs(result.logit_difference).max() < 1e-5
        assert "same tokens" in result.notes[0]
        assert result.identity.max() < 1e-5
        assert result.best is None


def test_a_small_gap_keeps_the_logits(run: Run, engine: Engine) -> None:
    request = accept(METHOD, {**ONE, "model": "tiny", "positions": "all"}, engine.known)
    result = engine.runner.submit(METHOD, request).result().result
    assert 0 < abs(result.gap[0]) < 0.5
    assert np.isnan(result.recovery).all()
    assert np.isnan(result.recovery_random).all()
    np.testing.assert_allclose(result.logit_difference, result.gap[0], atol=1e-5)
    assert any("less than 0.5" in note for note in result.notes)


def test_unequal_lengths_are_paired_and_what_is_left_is_named(run: Run) -> None:
    result = run(corrupted=LONGER, positions="each").result
    assert len(result.tokens_corrupted[0]) == len(result.tokens_clean[0]) + 1
    assert result.pairing == ["0:0,1:1,2:2,3:3,4:5,5:6,6:7,7:8"]
    assert (result.alone_clean, result.alone_corrupted) == ([[]], [[4]])
    assert any("without a partner: 4" in note for note in result.notes)
    assert not result.causal_mask[:, 4].any()
    assert result.causal_mask[0, 5:].all()
    written = run(corrupted=LONGER, positions="each", pairing=result.pairing[0]).result
    assert np.array_equal(written.logit_difference, result.logit_difference)
    other = run(corrupted=LONGER, positions="each", pairing="4:4,7:8").result
    assert other.causal_mask[0].nonzero()[0].tolist() == [4, 8]
    noising = run(corrupted=LONGER, positions="each", direction="noising").result
    assert len(noising.columns) == len(noising.tokens_clean[0])


def test_a_set_counts_drops_and_interval(run: Run) -> None:
    result = run(table=TABLE).result
    kept = [not reason for reason in result.dropped_because]
    assert 3 <= result.n == sum(kept) < GIVEN
    assert sum(result.dropped.values()) == GIVEN - result.n
    right, enough = result.score_clean > 0, result.gap >= 0.5
    assert (right & enough).tolist() == kept
    curves = result.recovery_pair[kept]
    assert np.isnan(result.recovery_pair[[not k for k in kept]]).all()
    np.testing.assert_allclose(result.recovery_mean, curves.mean(axis=0), rtol=1e-4)
    sums = (curves * result.gap[kept][:, None]).sum(axis=0) / result.gap[kept].sum()
    np.testing.assert_allclose(result.recovery[:, 0], sums, rtol=1e-4, atol=1e-6)
    assert (result.recovery_low <= result.recovery[:, 0] + 1e-6).all()
    assert (result.recovery_high >= result.recovery[:, 0] - 1e-6).all()
    assert f"{GIVEN - result.n} of {GIVEN} pairs were dropped" in result.notes[0]
    assert result.next_id is None


def test_a_set_in_which_no_pair_counts(run: Run) -> None:
    result = run(table=table_of(("The a", "The a", " a", " the"))).result
    assert result.n == 0
    assert np.isnan(result.recovery).all()
    assert not result.causal_mask.any()
    assert "1 of 1 pairs were dropped" in result.notes[0]


def test_a_built_in_set_drops_answers_of_several_tokens(run: Run) -> None:
    result = run(pairs="symptom").result
    assert result.dropped["answer of several tokens"] == result.dropped_because.count(
        "answer of several tokens"
    )
    assert np.isnan(result.gap[result.dropped_because.index("answer of several tokens")])
    assert "Answers of several tokens need metric = log_probability." in result.notes


def test_next_tokens_are_probabilities_in_order(run: Run) -> None:
    result = run(positions="last").result
    assert result.best is not None
    for words in (result.next_clean, result.next_corrupted, result.next_patched):
        chances = [chance for _, chance in words]
        assert len(chances) == 10
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1
    last = run(positions="all").result
    assert [w for w, _ in last.next_patched] == [w for w, _ in last.next_clean]


def test_a_stopped_run_repeats_no_finished_layer(families: Engine, tmp_path: Path) -> None:
    request = accept(METHOD, {**ONE, "model": "llama", "positions": "each"}, families.known)
    key = request_key(METHOD, request, families.known)
    store, worker = Store(tmp_path / "store"), Apart()
    partial: list[MedicalPatchingResult] = []

    def compute(tell: Callable[[Watch, Progress], None]) -> tuple[Any, Watch]:
        watch = Watch(tell=lambda progress: tell(watch, progress))
        lab = Lab(METHOD, key, store, families.known, watch, families.runner.models, worker,
                  lambda *_: None)  # fmt: skip
        try:
            return METHOD.compute(request, lab), watch
        except Cancelled:
            return None, watch

    def stop_after_one(watch: Watch, progress: Progress) -> None:
        if progress.partial is not None:
            partial.append(progress.partial)
            watch.stop()

    nothing, first = compute(stop_after_one)
    assert nothing is None
    assert first.counts["parts_computed"] == 2
    assert np.isnan(partial[0].recovery[1:]).all()
    assert not partial[0].causal_mask[1:].any()
    result, second = compute(lambda watch, progress: None)
    assert second.counts["parts_recalled"] == 2
    assert second.counts["parts_computed"] == LAYERS - 1
    assert np.array_equal(result.recovery[0], partial[0].recovery[0])
    worker.close()


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"answer": " heart failure"}, "answer", "2 tokens .* log_probability"),
        ({"foil": " complains of"}, "foil", "2 tokens"),
        ({"foil": ONE["answer"]}, "foil", "must differ"),
        ({"clean": " "}, "clean", "empty"),
        ({"answer": ""}, "answer", "empty"),
        ({"clean": "pain " * 200}, "clean", "reads at most 128"),
        ({"pairing": "0:0,99:1"}, "pairing", "no position 99"),
        ({"pairing": "0:0", "positions": "last"}, "pairing", "No position of last"),
        ({"site": "heads", "positions": "each"}, "positions", "no positions"),
        ({"clean": "x" * 4_001}, "clean", "4000"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(
    run: Run, fields: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(BadRequest, match=words) as told:
        run(**fields)
    assert told.value.field == field or not field


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"positions": "each"}, "positions"), ({"pairing": "0:0"}, "pairing")],
)
def test_what_a_set_does_not_take(run: Run, fields: dict[str, str], field: str) -> None:
    with pytest.raises(BadRequest) as told:
        run(pairs="age", **fields)
    assert told.value.field == field


def test_two_sources_are_told_apart(families: Engine) -> None:
    with pytest.raises(BadRequest, match="give one of them"):
        accept(METHOD, {**ONE, "pairs": "age"}, families.known)


def test_nothing_given_is_a_starter() -> None:
    assert METHOD.request().pairs == "symptom"
    board = METHOD.request(positions="each")
    assert (board.pairs, bool(board.clean)) == (None, True)


def test_a_model_without_the_site_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runs.SITES, "mlp", "hook_that_is_not_there")
    with pytest.raises(BadRequest, match="no output of the kind mlp") as told:
        run(site="mlp", positions="all", seed=77)
    assert told.value.field == "site"
