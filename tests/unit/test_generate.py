"""Text and gradients of three architectures: KV cache, edits, seeds, reduced gradients."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from backends.errors import Cancelled
from backends.models.bridge import Models
from backends.models.catalog import Catalog, ModelRef
from backends.models.edits import Edit
from backends.models.gradients import block_gradients
from backends.models.registry import Registry
from backends.watch import Watch
from cache import Activations, Store
from tests import tiny

FAMILIES = ("llama", "gpt2", "gpt_neox")
IDS = [5, 40, 77, 120, 9]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model of each family."""
    folder = tmp_path_factory.mktemp("families")
    for family in FAMILIES:
        tiny.build(folder / family, layers=3, family=family)
    return folder


@pytest.fixture(scope="module")
def registry(folders: Path) -> Registry:
    """A registry of these models."""
    return Registry(Catalog(folders.parent / "home", folders), 10**9, 1, "cpu")


@pytest.fixture
def models(registry: Registry, folders: Path, store: Store) -> Models:
    """The verbs, with a watch of their own."""
    catalog = Catalog(folders.parent / "home", folders)
    return Models(catalog, registry, Activations(store), Watch())


def ref_of(models: Models, family: str) -> ModelRef:
    """Return a model's reference."""
    return models.catalog.ref(family, "float32")


def plain(folders: Path, family: str) -> Any:
    """Return the model by transformers alone."""
    return AutoModelForCausalLM.from_pretrained(folders / family, attn_implementation="eager")


def lesion(layer: int) -> Edit:
    """Return the edit that makes a block give back its input."""
    hooks = f"blocks.{layer}.hook_resid_post", f"blocks.{layer}.hook_resid_pre"
    return Edit(hooks[0], "all", lambda rows, entering: entering, source=hooks[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_is_that_of_whole_passes(models: Models, folders: Path, family: str) -> None:
    ids, model = list(IDS), plain(folders, family)
    for _ in range(8):
        with torch.inference_mode():
            ids.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    assert list(models.generate(ref_of(models, family), IDS, 8)) == ids[len(IDS) :]
    assert models._watch.counts["forward_passes"] == 8


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lesioned_text_is_that_of_whole_lesioned_passes(models: Models, family: str) -> None:
    ref, ids = ref_of(models, family), list(IDS)
    for _ in range(6):
        (logits,) = models.run(ref, [ids], [lesion(1)])["logits"]
        ids.append(int(logits[-1].argmax()))
    assert list(models.generate(ref, IDS, 6, [lesion(1)])) == ids[len(IDS) :]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lesion_takes_attention_and_mlp_away(models: Models, family: str) -> None:
    ref = ref_of(models, family)
    hooks = ["blocks.0.hook_resid_post", "blocks.1.hook_resid_post", "blocks.2.hook_resid_post"]
    seen = models.run(ref, [IDS], [lesion(1)], want=hooks, positions="all")
    np.testing.assert_array_equal(seen[hooks[0]][0], seen[hooks[1]][0])
    whole = models.run(ref, [IDS], want=hooks, positions="all")
    np.testing.assert_array_equal(whole[hooks[0]][0], seen[hooks[0]][0])
    assert np.abs(whole[hooks[2]][0] - seen[hooks[2]][0]).max() > 1e-3


def test_samples_depend_on_the_seed_only(models: Models) -> None:
    ref = ref_of(models, "llama")
    texts = [list(models.generate(ref, IDS, 12, temperature=1.0, seed=s)) for s in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_a_text_ends_at_the_end_token_and_at_the_context(
    models: Models, registry: Registry
) -> None:
    ref = ref_of(models, "llama")
    assert len(list(models.generate(ref, IDS * 25, 10))) == 3
    first = next(models.generate(ref, IDS, 1))
    with registry.use(ref) as loaded:
        inner, before = (
            loaded.bridge.original_model,
            loaded.bridge.original_model.config.eos_token_id,
        )
        inner.config.eos_token_id = first
        assert list(models.generate(ref, IDS, 5)) == []
        inner.config.eos_token_id = before


def test_edits_of_text_are_functions_at_all_positions(models: Models) -> None:
    wrong = Edit("blocks.0.hook_resid_post", "last", lambda rows: rows)
    with pytest.raises(ValueError, match="all positions"):
        list(models.generate(ref_of(models, "llama"), IDS, 1, [wrong]))


def test_text_can_be_stopped(models: Models) -> None:
    text = models.generate(ref_of(models, "llama"), IDS, 50)
    next(text)
    models._watch.stop()
    with pytest.raises(Cancelled):
        next(text)


def log_loss(ids: list[int]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the logarithm of the mean cross-entropy of a text's own tokens."""
    wanted = torch.tensor(ids[1:])
    return lambda logits: torch.nn.functional.cross_entropy(logits[:-1], wanted).log()


def measures(weight: torch.Tensor, gradient: torch.Tensor) -> tuple[float, ...]:
    """Return the sums of absolute gradients and of absolute gradients times weights."""
    return float(gradient.abs().sum()), float((weight * gradient).abs().sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_transformers(models: Models, folders: Path, family: str) -> None:
    found = models.gradients(ref_of(models, family), IDS, log_loss(IDS), measures)
    model = plain(folders, family)
    loss = log_loss(IDS)(model(input_ids=torch.tensor([IDS])).logits[0])
    loss.backward()
    blocks = {"llama": "model.layers", "gpt2": "transformer.h", "gpt_neox": "gpt_neox.layers"}
    names = {"llama": "self_attn", "gpt2": "attn", "gpt_neox": "attention"}
    for layer, block in enumerate(model.get_submodule(blocks[family])):
        for part, name in enumerate((names[family], "mlp")):
            weights = [w for w in block.get_submodule(name).parameters() if w.ndim == 2]
            for number, factors in enumerate(([1.0] * len(weights), weights)):
                products = [f * w.grad for f, w in zip(factors, weights, strict=True)]
                expected = sum(float(p.detach().abs().sum()) for p in products)
                assert found.sums[layer, part, number] == pytest.approx(expected, rel=1e-4)
            assert found.weights[layer, part] == sum(w.numel() for w in weights)
    assert found.loss == pytest.approx(float(loss.detach()), rel=1e-5)


def test_a_block_at_a_time_gives_the_same_numbers(models: Models, registry: Registry) -> None:
    ref, watch = ref_of(models, "llama"), Watch()
    together = models.gradients(ref, IDS, log_loss(IDS), measures)
    with registry.use(ref) as loaded:
        apart = block_gradients(loaded, IDS, log_loss(IDS), measures, watch, most_bytes=0)
        asked = [p.requires_grad for p in loaded.bridge.original_model.parameters()]
    np.testing.assert_allclose(apart.sums, together.sums, rtol=1e-5)
    assert (watch.counts["backward_passes"], models._watch.counts["backward_passes"]) == (3, 1)
    assert len(set(asked)) == 1


def test_a_loss_that_is_not_finite_is_told(models: Models) -> None:
    ref = ref_of(models, "llama")
    with pytest.raises(RuntimeError, match="not finite"):
        models.gradients(ref, IDS, lambda logits: (logits.sum() * 0).log(), measures)
