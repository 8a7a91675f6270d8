"""Turn the embedded model's GGUF file into a transformers folder, once.

transformers reads the GGUF in about half a minute but refuses to save what it read (the model
counts as quantized, though its weights are plain float32 by then). So the state dict is copied
into the same class built from the configuration without `quantization_config`; the logits of both
differ by exactly 0. The folder is keyed by the file's hash and the version of transformers.
"""

import shutil
import tempfile
from pathlib import Path

from backends.models.catalog import ModelEntry


def converted_folder(home: Path, revision: str) -> Path:
    """Return where the conversion of a file lies, whether it exists or not."""
    from importlib.metadata import version

    return home / "models" / f"{revision[:16]}-transformers-{version('transformers')}"


def convert(source: str, target: str, numbers: dict[str, int]) -> None:
    """Read a GGUF file and write a folder. Runs in a process of its own.

    `numbers` (layers, heads, kv_heads, d_model, vocab) are compared with the configuration read.
    Raise `ValueError` if they differ.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = Path(source)
    read = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32, local_files_only=True
    )
    _compare(read.config, numbers)
    fields = {k: v for k, v in read.config.to_dict().items() if k != "quantization_config"}
    plain = type(read)(type(read.config).from_dict(fields))
    plain.load_state_dict(read.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(
        file.parent, gguf_file=file.name, local_files_only=True
    )
    place = Path(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix="convert-", dir=place.parent))
    try:
        plain.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
        if not place.exists():
            aside.rename(place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def expected_numbers(entry: ModelEntry) -> dict[str, int]:
    """Return the numbers that a conversion of this entry has to find."""
    names = ("layers", "heads", "kv_heads", "d_model", "vocab")
    return {name: value for name in names if (value := getattr(entry, name)) is not None}


def _compare(config: object, numbers: dict[str, int]) -> None:
    names = {
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads",
        "d_model": "hidden_size",
        "vocab": "vocab_size",
    }
    for name, expected in numbers.items():
        found = getattr(config, names[name])
        if found != expected:
            raise ValueError(f"The file says {name} = {found}; the catalog says {expected}.")
