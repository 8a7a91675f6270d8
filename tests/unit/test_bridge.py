"""The verbs that run a model give the numbers of plain transformers, whatever is cached already."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from backends.errors import BadRequest, Cancelled, ModelMissing
from backends.models.bridge import ROWS, TOKENS_PER_PASS, Models, filled
from backends.models.catalog import DEFAULT_MODEL, Catalog, ModelRef
from backends.models.convert import convert, expected_numbers
from backends.models.edits import Edit
from backends.models.parity import LARGEST_SDPA, parity
from backends.models.registry import Registry
from backends.watch import Watch
from cache import Activations, Store

HOOKS = ("blocks.0.hook_resid_post", "blocks.1.hook_resid_post")
TEXTS = ("The patient takes aspirin", "The doctor gave", "heart failure 🙂", "pain", " a")
"""Texts of different numbers of tokens, so that each is a pass of its own."""


@pytest.fixture(scope="module")
def catalog(model_folders: Path) -> Catalog:
    """A catalog with the tiny model."""
    return Catalog(model_folders.parent / "home", model_folders)


@pytest.fixture(scope="module")
def registry(catalog: Catalog) -> Registry:
    """A registry that keeps the tiny model once it is loaded."""
    return Registry(catalog, threads=1, device="cpu")


@pytest.fixture(scope="module")
def ref(catalog: Catalog) -> ModelRef:
    """The tiny model in float32."""
    return catalog.ref("tiny", "float32")


@pytest.fixture(scope="module")
def plain(model_folders: Path) -> Any:
    """The tiny model as transformers loads it, hooked by nobody."""
    return AutoModelForCausalLM.from_pretrained(
        model_folders / "tiny", attn_implementation="eager", local_files_only=True
    ).eval()


@pytest.fixture
def models(catalog: Catalog, registry: Registry, store: Store) -> Models:
    """The verbs, with an empty cache and a watch of their own."""
    return Models(catalog, registry, Activations(store), Watch())


def ids_of(models: Models, ref: ModelRef, texts: Sequence[str] = TEXTS) -> list[list[int]]:
    """Return texts as token ids."""
    return [one.ids for one in models.encode(ref, texts)]


def passes(models: Models) -> int:
    """Return how many forward passes were made."""
    return models._watch.counts["forward_passes"]


def last(ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the last position of each text."""
    return [[len(one) - 1] for one in ids]


def whole(ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return all positions of each text."""
    return [list(range(len(one))) for one in ids]


def hooked(plain: Any, batch: np.ndarray) -> dict[str, np.ndarray]:
    """Return what forward hooks on the blocks of plain transformers see, and the logits."""
    seen: dict[str, np.ndarray] = {}
    handles = []
    for layer, block in enumerate(plain.model.layers):

        def keep(module: Any, inputs: Any, output: Any, name: str = HOOKS[layer]) -> None:
            tensor = output[0] if isinstance(output, tuple) else output
            seen[name] = tensor.numpy().copy()

        handles.append(block.register_forward_hook(keep))
    with torch.inference_mode():
        logits = plain(input_ids=torch.as_tensor(batch), use_cache=False).logits
    seen["logits"] = logits.numpy()
    for handle in handles:
        handle.remove()
    return seen


@contextmanager
def calls_of(registry: Registry, ref: ModelRef) -> Iterator[dict[str, int]]:
    """Count how often each block's attention and the unembedding are called."""
    with registry.use(ref) as loaded:
        inner = loaded.bridge.original_model
        parts = {"head": inner.lm_head}
        parts |= {f"block {i}": block.mlp for i, block in enumerate(inner.model.layers)}
        counts = dict.fromkeys(parts, 0)

        def counting(name: str) -> Any:
            def hook(*_: object) -> None:
                counts[name] += 1

            return hook

        handles = [part.register_forward_pre_hook(counting(n)) for n, part in parts.items()]
        try:
            yield counts
        finally:
            for handle in handles:
                handle.remove()


def test_capture_equals_a_plain_hook_on_the_same_batch(
    models: Models, ref: ModelRef, plain: Any
) -> None:
    ids = ids_of(models, ref)
    rows = models.capture(ref, ids, HOOKS, whole(ids))
    assert list(rows) == list(HOOKS)
    for i, one in enumerate(ids):
        expected = hooked(plain, filled(np.array([one])))
        for hook in HOOKS:
            assert rows[hook][i].dtype == np.float32
            assert np.array_equal(rows[hook][i], expected[hook][0])


def test_the_last_layer_is_captured_before_the_final_norm(
    models: Models, ref: ModelRef, plain: Any
) -> None:
    ids = ids_of(models, ref, ["The patient takes aspirin"])
    row = models.capture(ref, ids, HOOKS[1:], last(ids))[HOOKS[1]][0]
    batch = torch.as_tensor(filled(np.array(ids)))
    with torch.inference_mode():
        states = plain(input_ids=batch, use_cache=False, output_hidden_states=True).hidden_states
        normed = plain.model.norm(torch.as_tensor(row)).numpy()
    assert np.allclose(states[-1][0, -1].numpy(), normed[0], atol=1e-6)
    assert not np.allclose(states[-1][0, -1].numpy(), row[0], atol=1e-2)


def test_positions_are_kept_in_their_order(models: Models, ref: ModelRef) -> None:
    ids = ids_of(models, ref, ["The patient takes aspirin"])
    all_rows = models.capture(ref, ids, HOOKS[:1], whole(ids))[HOOKS[0]][0]
    some = models.capture(ref, ids, HOOKS[:1], [[2, 0]])[HOOKS[0]][0]
    assert np.array_equal(some, all_rows[[2, 0]])


def test_rows_do_not_depend_on_neighbors_or_on_what_is_cached(
    catalog: Catalog, registry: Registry, ref: ModelRef, tmp_path: Path
) -> None:
    def captured(folder: str, *calls: Sequence[int]) -> dict[int, np.ndarray]:
        own = Models(catalog, registry, Activations(Store(tmp_path / folder)), Watch())
        ids = ids_of(own, ref, [f"patient {chr(97 + i)} has pain" for i in range(ROWS + 1)])
        found = {}
        for call in calls:
            some = [ids[i] for i in call]
            rows = own.capture(ref, some, HOOKS, last(some))
            found |= {i: np.stack([rows[h][n] for h in HOOKS]) for n, i in enumerate(call)}
        return found

    every = range(ROWS + 1)
    together = captured("b", every)
    alone = captured("a", [0], [7], [ROWS])
    backwards = captured("c", list(reversed(every)))
    mixed = captured("d", [3, 7], every)
    assert len(alone) == 3
    for i in every:
        assert np.array_equal(alone.get(i, together[i]), together[i])
        assert np.array_equal(backwards[i], together[i])
        assert np.array_equal(mixed[i], together[i])


def test_a_second_capture_runs_nothing_and_loads_no_model(
    models: Models, ref: ModelRef, catalog: Catalog, store: Store
) -> None:
    ids = ids_of(models, ref)
    first = models.capture(ref, ids, HOOKS, last(ids))
    assert passes(models) > 0
    empty = Registry(catalog, device="cpu")
    again = Models(catalog, empty, Activations(store), Watch())
    second = again.capture(ref, ids, HOOKS, last(ids))
    assert passes(again) == 0
    assert empty.loaded() == []
    for hook in HOOKS:
        assert all(np.array_equal(a, b) for a, b in zip(first[hook], second[hook], strict=True))


def test_only_what_is_missing_runs(models: Models, ref: ModelRef) -> None:
    ids = ids_of(models, ref)
    assert len({len(one) for one in ids}) == len(ids)
    models.capture(ref, ids[:2], HOOKS, last(ids[:2]))
    assert passes(models) == 2
    models.capture(ref, ids, HOOKS, last(ids))
    assert passes(models) == len(ids)
    models.capture(ref, ids, HOOKS[:1], last(ids))
    assert passes(models) == len(ids)
    models.capture(ref, ids[:1], HOOKS[:1], [[0]])
    assert passes(models) == len(ids) + 1


def test_texts_of_one_length_share_passes(models: Models, ref: ModelRef) -> None:
    ids = [[5, 6, number] for number in range(ROWS + 1)]
    models.capture(ref, ids, HOOKS[:1], last(ids))
    assert passes(models) == 2
    long = [[7] * (TOKENS_PER_PASS // 2 - 1) + [number] for number in range(4)]
    models.capture(ref, long, HOOKS[:1], last(long))
    assert passes(models) == 4


def test_capture_of_layer_0_runs_nothing_after_it(
    models: Models, ref: ModelRef, registry: Registry
) -> None:
    ids = ids_of(models, ref, TEXTS[:1])
    with calls_of(registry, ref) as counts:
        models.capture(ref, ids, HOOKS[:1], last(ids))
        assert counts == {"head": 0, "block 0": 1, "block 1": 0}
        models.capture(ref, ids, HOOKS, last(ids))
        assert counts == {"head": 0, "block 0": 2, "block 1": 1}
        models.run(ref, ids)
        assert counts == {"head": 1, "block 0": 3, "block 1": 2}


def test_progress_is_told_and_a_stopped_capture_goes_on(
    models: Models, ref: ModelRef, catalog: Catalog, registry: Registry, store: Store
) -> None:
    ids = ids_of(models, ref)
    told: list[tuple[int, int]] = []

    def stop_at_two(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            models._watch.stop()

    with pytest.raises(Cancelled):
        models.capture(ref, ids, HOOKS, last(ids), stop_at_two)
    assert told == [(0, 5), (1, 5), (2, 5)]
    again = Models(catalog, registry, Activations(store), Watch())
    told.clear()
    again.capture(ref, ids, HOOKS, last(ids), lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]
    assert passes(again) == 3


def test_an_unknown_hook_is_told(models: Models, ref: ModelRef) -> None:
    with pytest.raises(ValueError, match="'blocks.2.hook_resid_post' is not one of this model's"):
        models.capture(ref, [[5, 6]], ["blocks.2.hook_resid_post"], [[1]])
    with pytest.raises(ValueError, match="'blocks.0.hook_nothing' is not one of this model's"):
        models.run(ref, [[5, 6]], [Edit("blocks.0.hook_nothing", "all", np.zeros(32))])
    with pytest.raises(ValueError, match="'hook_nothing' is not one of this model's"):
        models.run(ref, [[5, 6]], want=("hook_nothing",))


def test_a_text_without_tokens_is_told(models: Models, ref: ModelRef) -> None:
    with pytest.raises(ValueError, match="Text 1 has no tokens"):
        models.run(ref, [[5], []])


def test_logits_are_those_of_transformers(models: Models, ref: ModelRef, plain: Any) -> None:
    ids = ids_of(models, ref)
    logits = models.run(ref, ids, positions="all")["logits"]
    at_end = models.run(ref, ids)["logits"]
    for i, one in enumerate(ids):
        expected = hooked(plain, filled(np.array([one])))["logits"][0]
        assert np.array_equal(logits[i], expected)
        assert at_end[i].shape == (1, expected.shape[1])
        assert np.array_equal(at_end[i][0], expected[-1])


def test_run_gives_hooks_at_the_positions_asked_for(
    models: Models, ref: ModelRef, plain: Any
) -> None:
    ids = ids_of(models, ref)
    at = [[0, len(one) - 1] for one in ids]
    rows = models.run(ref, ids, want=(*HOOKS, "logits"), positions=at)
    for i, one in enumerate(ids):
        expected = hooked(plain, filled(np.array([one])))
        for name in (*HOOKS, "logits"):
            assert np.array_equal(rows[name][i], expected[name][0, at[i]])


def test_a_capture_leaves_no_hook_behind(models: Models, ref: ModelRef, plain: Any) -> None:
    ids = ids_of(models, ref, TEXTS[:1])
    edit = Edit(HOOKS[0], "all", np.zeros(32, dtype=np.float32))
    models.run(ref, ids, [edit])
    models.capture(ref, ids, HOOKS[:1], last(ids))
    expected = hooked(plain, filled(np.array(ids)))["logits"][0, -1]
    assert np.array_equal(models.run(ref, ids)["logits"][0][0], expected)


@pytest.mark.parametrize("positions", ["all", "last", [[0], [1], [0], [0], [0]]])
def test_an_identity_edit_changes_nothing(models: Models, ref: ModelRef, positions: Any) -> None:
    ids = ids_of(models, ref)
    edit = Edit(HOOKS[0], positions, lambda rows: rows)
    changed = models.run(ref, ids, [edit], positions="all")["logits"]
    expected = models.run(ref, ids, positions="all")["logits"]
    assert all(np.array_equal(a, b) for a, b in zip(changed, expected, strict=True))


def test_a_zeroing_edit_changes_what_comes_after_it(models: Models, ref: ModelRef) -> None:
    ids = ids_of(models, ref, TEXTS[:2])
    edit = Edit(HOOKS[0], "all", np.zeros(32, dtype=np.float32))
    rows = models.run(ref, ids, [edit], want=(*HOOKS, "logits"), positions="all")
    expected = models.run(ref, ids, want=("logits",), positions="all")["logits"]
    for i in range(2):
        assert not rows[HOOKS[0]][i].any()
        assert not rows[HOOKS[1]][i].any()
        assert np.abs(rows["logits"][i] - expected[i]).max() > 1e-3


def test_an_edit_at_one_position_leaves_those_before_it(models: Models, ref: ModelRef) -> None:
    ids = ids_of(models, ref, TEXTS[:1])
    place = len(ids[0]) - 2
    edit = Edit(HOOKS[0], [[place]], lambda rows: rows + 1)
    changed = models.run(ref, ids, [edit], positions="all")["logits"][0]
    expected = models.run(ref, ids, positions="all")["logits"][0]
    assert np.array_equal(changed[:place], expected[:place])
    assert (changed[place:] != expected[place:]).any(axis=1).all()


def test_a_change_for_each_sample(models: Models, ref: ModelRef) -> None:
    ids = ids_of(models, ref)
    at = [[0] if len(one) == 1 else [0, len(one) - 1] for one in ids]
    change = [np.full((len(p), 32), i, dtype=np.float32) for i, p in enumerate(at)]
    rows = models.run(ref, ids, [Edit(HOOKS[0], at, change)], want=HOOKS[:1], positions=at)
    for i in range(len(ids)):
        assert np.array_equal(rows[HOOKS[0]][i], change[i])


def test_a_patch_of_the_own_rows_changes_nothing_and_of_others_carries_over(
    models: Models, ref: ModelRef
) -> None:
    clean, corrupted = [5, 6, 7, 8], [9, 6, 7, 8]
    rows = models.capture(ref, [clean], HOOKS[:1], whole([clean]))[HOOKS[0]]
    expected = models.run(ref, [clean])["logits"][0]
    assert np.array_equal(
        models.run(ref, [clean], [Edit(HOOKS[0], "all", rows)])["logits"][0], expected
    )
    patched = models.run(ref, [corrupted], [Edit(HOOKS[0], "all", rows)])["logits"][0]
    assert np.array_equal(patched, expected)
    assert not np.array_equal(models.run(ref, [corrupted])["logits"][0], expected)


def test_edits_apply_in_order(models: Models, ref: ModelRef) -> None:
    first = Edit(HOOKS[0], "all", np.full(32, 2, dtype=np.float32))
    second = Edit(HOOKS[0], "all", lambda rows: rows * 3)
    rows = models.run(ref, [[5, 6]], [first, second], want=HOOKS[:1])
    assert (rows[HOOKS[0]][0] == 6).all()


def test_an_edit_that_does_not_fire_is_an_error(models: Models, ref: ModelRef) -> None:
    late = Edit(HOOKS[1], "all", np.zeros(32, dtype=np.float32))
    with pytest.raises(RuntimeError, match="did not fire: blocks.1.hook_resid_post"):
        models.run(ref, [[5, 6]], [late], stop=1, want=HOOKS[:1])
    nowhere = Edit(HOOKS[0], [[]], np.zeros(32, dtype=np.float32))
    with pytest.raises(RuntimeError, match="did not fire: blocks.0.hook_resid_post"):
        models.run(ref, [[5, 6]], [nowhere])
    with pytest.raises(RuntimeError, match="did not fire: blocks.1.hook_resid_post"):
        models.run(ref, [[5, 6]], stop=1, want=HOOKS)


def test_a_run_from_block_1_equals_the_whole(
    models: Models, ref: ModelRef, registry: Registry
) -> None:
    ids = ids_of(models, ref)
    resid = models.capture(ref, ids, HOOKS[:1], whole(ids))[HOOKS[0]]
    expected = models.run(ref, ids, want=(HOOKS[1], "logits"), positions="all")
    with calls_of(registry, ref) as counts:
        found = models.run(
            ref, ids, start=1, resid=resid, want=(HOOKS[1], "logits"), positions="all"
        )
        assert counts == {"head": len(ids), "block 0": 0, "block 1": len(ids)}
    for name in (HOOKS[1], "logits"):
        assert all(np.array_equal(a, b) for a, b in zip(found[name], expected[name], strict=True))
    whole_again = models.run(ref, ids, positions="all")["logits"]
    assert np.array_equal(whole_again[0], expected["logits"][0])


def test_another_residual_gives_other_logits(models: Models, ref: ModelRef) -> None:
    zero = models.run(ref, [[5, 6]], start=1, resid=[np.zeros((2, 32), dtype=np.float32)])
    assert not np.array_equal(zero["logits"][0], models.run(ref, [[5, 6]])["logits"][0])


def test_a_run_that_stops_runs_nothing_after_it(
    models: Models, ref: ModelRef, registry: Registry
) -> None:
    ids = ids_of(models, ref, TEXTS[:1])
    captured = models.capture(ref, ids, HOOKS[:1], whole(ids))[HOOKS[0]][0]
    with calls_of(registry, ref) as counts:
        rows = models.run(ref, ids, stop=1, want=HOOKS[:1], positions="all")
        assert counts == {"head": 0, "block 0": 1, "block 1": 0}
    assert np.array_equal(rows[HOOKS[0]][0], captured)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"start": 1}, "start = 1 and resid go together"),
        ({"resid": [np.zeros((2, 32), np.float32)]}, "start = 0 and resid go together"),
        ({"start": -1}, "start = -1 is below 0"),
        ({"stop": 0, "want": HOOKS[:1]}, "stop = 0 must be above start = 0"),
        (
            {"start": 1, "stop": 1, "resid": [np.zeros((2, 32), np.float32)], "want": HOOKS[:1]},
            "stop = 1 must be above start = 1",
        ),
        ({"stop": 1}, "A pass that stops has no logits"),
        ({"start": 2, "resid": [np.zeros((2, 32), np.float32)]}, "'blocks.2.hook_resid_pre'"),
    ],
)
def test_arguments_that_contradict_each_other(
    models: Models, ref: ModelRef, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        models.run(ref, [[5, 6]], **arguments)


def test_a_text_longer_than_the_context_is_refused(models: Models, ref: ModelRef) -> None:
    with pytest.raises(BadRequest, match=r"Text 2 has \d+ tokens; tiny reads at most 128") as error:
        models.encode(ref, ["pain", "x" * 200])
    assert error.value.field == "text"
    assert len(models.encode(ref, ["x" * 128])[0].ids) == 128


def test_tokens_are_shown(models: Models, ref: ModelRef) -> None:
    assert models.show(ref, ids_of(models, ref, [" patient"])[0]) == [" patient"]


def test_bfloat16_weights_compute_in_float32_and_are_kept_apart(
    models: Models, ref: ModelRef, catalog: Catalog, registry: Registry
) -> None:
    half = catalog.ref("tiny", "bfloat16")
    ids = ids_of(models, ref, TEXTS[:1])
    rows = models.capture(ref, ids, HOOKS, last(ids))
    assert passes(models) == 1
    halves = models.capture(half, ids, HOOKS, last(ids))
    assert passes(models) == 2
    for hook in HOOKS:
        assert halves[hook][0].dtype == np.float32
        difference = np.abs(halves[hook][0] - rows[hook][0]).max()
        assert 0 < difference < 0.05
    with registry.use(half) as loaded:
        assert {p.dtype for p in loaded.bridge.original_model.parameters()} == {torch.float32}
        weights = loaded.bridge.original_model.model.norm.weight
        assert torch.equal(weights, weights.bfloat16().float())
    bits = halves[HOOKS[1]][0].view(np.uint32)
    assert (bits & 0xFFFF).any()


def test_idle_models_go_when_the_budget_is_passed(catalog: Catalog) -> None:
    one, two, three = (catalog.ref("tiny", d) for d in ("float32", "bfloat16", "float16"))
    tight = Registry(catalog, budget=1, threads=1, device="cpu")
    with tight.use(one):
        with tight.use(two):
            assert [ref for ref, _ in tight.loaded()] == [one, two]
        with tight.use(three):
            assert [ref for ref, _ in tight.loaded()] == [one, three]
    size = tight.loaded()[0][1]
    roomy = Registry(catalog, budget=2 * size, threads=1, device="cpu")
    for ref in (one, two, one, three):
        with roomy.use(ref) as loaded:
            assert loaded.bytes == size
    assert [ref for ref, _ in roomy.loaded()] == [one, three]
    roomy.drop_idle()
    assert roomy.loaded() == []


def test_parity(models: Models, ref: ModelRef, registry: Registry) -> None:
    found = parity(registry, models, ref)
    assert found.eager == 0
    assert 0 <= found.sdpa < LARGEST_SDPA
    assert found.positions > 30


@pytest.mark.slow
def test_the_embedded_model_is_converted_once_and_has_parity(tmp_path: Path, store: Store) -> None:
    catalog = Catalog(tmp_path)
    registry = Registry(catalog, threads=1, device="cpu")
    models = Models(catalog, registry, Activations(store), Watch())
    ref = catalog.ref(DEFAULT_MODEL, "float32")
    found = parity(registry, models, ref)
    assert found.eager == 0
    assert 0 < found.sdpa < LARGEST_SDPA

    (folder,) = (tmp_path / "models").iterdir()
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert Registry(catalog).folder(ref) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made

    ids = ids_of(models, ref, ["The capital of France is"])
    best = int(models.run(ref, ids)["logits"][0][0].argmax())
    assert models.show(ref, [best]) == [" Paris"]
    text = "naïve 🙂 user 東京"
    (encoded,) = models.encode(ref, [text], chat=True)
    shown = models.show(ref, encoded.ids)
    assert shown[0] == "<|im_start|>"
    own = encoded.covering(0, len(text))
    assert own == list(range(own[0], own[-1] + 1))
    assert shown[own[0] - 1] == "\n"
    assert shown[own[-1] + 1] == "<|im_end|>"


def test_a_file_that_is_not_what_the_catalog_says_is_not_converted(
    catalog: Catalog, plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = expected_numbers(catalog.get("tiny"))
    assert numbers == {"layers": 2, "heads": 4, "kv_heads": 2, "d_model": 32, "vocab": 357}
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: plain)
    with pytest.raises(ValueError, match="The file says layers = 2; the catalog says 31"):
        convert("model.gguf", str(tmp_path / "other"), numbers | {"layers": 31})
    assert not (tmp_path / "other").exists()


def _broken(folder: Path, **fields: Any) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | fields), encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"num_hidden_layers": 3}, "its weights lack 9 of the tensors .* 'model.layers.2."),
        ({"vocab_size": 999}, "cannot be read: "),
        ({"model_type": "no_such_type"}, "cannot be read: "),
    ],
)
def test_a_model_whose_weights_do_not_fit_is_refused(
    tmp_path: Path, model_folders: Path, fields: dict[str, Any], sentence: str
) -> None:
    shutil.copytree(model_folders / "tiny", tmp_path / "models" / "tiny")
    _broken(tmp_path / "models" / "tiny", **fields)
    catalog = Catalog(tmp_path, tmp_path / "models")
    registry = Registry(catalog, device="cpu")
    with (
        pytest.raises(ModelMissing, match=sentence),
        registry.use(catalog.ref("tiny", "float32")),
    ):
        pass


def test_a_model_without_a_tokenizer_is_refused(tmp_path: Path, model_folders: Path) -> None:
    shutil.copytree(model_folders / "tiny", tmp_path / "models" / "tiny")
    (tmp_path / "models" / "tiny" / "tokenizer.json").write_text("{", encoding="utf-8")
    catalog = Catalog(tmp_path, tmp_path / "models")
    with pytest.raises(ModelMissing, match="Model 'tiny' cannot be read: "):
        Registry(catalog, device="cpu").tokenizer(catalog.ref("tiny", "float32"))
