"""Does our path through a model give the numbers of plain transformers?

The same batch of token ids goes through our `run` and through a freshly loaded model that nothing
has hooked. With the same attention implementation the logits must be equal to the last bit; with
the library's default (`sdpa`), which adds in another order, nearly so.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from backends.models.bridge import Models, filled
from backends.models.catalog import ModelRef
from backends.models.registry import Registry

LARGEST_SDPA = 1e-3
TEXTS = (
    "The patient takes aspirin because of a pain in the chest",
    "The capital of France is",
    "🙂 naïve café, 東京 and مرحبا",
)


@dataclass(frozen=True)
class Parity:
    """Largest absolute differences of logits over all positions of the test texts."""

    eager: float
    sdpa: float
    positions: int


def parity(registry: Registry, models: Models, ref: ModelRef) -> Parity:
    """Compare `run` with plain transformers, eager and sdpa."""
    ids = [one.ids for one in models.encode(ref, TEXTS)]
    ours = models.run(ref, ids, positions="all")["logits"]
    folder = registry.folder(ref)
    differences = {kind: _difference(folder, kind, ref, ids, ours) for kind in ("eager", "sdpa")}
    return Parity(**differences, positions=sum(len(one) for one in ids))


def _difference(
    folder: Any, kind: str, ref: ModelRef, ids: list[list[int]], ours: list[np.ndarray]
) -> float:
    plain = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=getattr(torch, ref.dtype),
        attn_implementation=kind,
        use_safetensors=True,
        local_files_only=True,
    ).eval()
    largest = 0.0
    with torch.inference_mode():
        for one, mine in zip(ids, ours, strict=True):
            batch = torch.as_tensor(filled(np.array([one])))
            logits = plain(input_ids=batch, use_cache=False).logits[0].float().numpy()
            largest = max(largest, float(np.abs(logits - mine).max()))
    return largest
