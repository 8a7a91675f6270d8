"""Capture of one middle layer against a plain forward pass, on the embedded model.

Both read the same texts: eight of 128 tokens and the 125 drug prompts. Ours is the verb itself,
with an empty cache: key, forward pass, storing. Order A B A B …, medians. The goal is at most
0.5, and that the logits are never held (the largest growth of memory is far below their size).

Usage: python -m benchmarks.capture
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import torch

from app.settings import read_settings
from backends.concepts.medical import concept_set
from backends.models.bridge import Models, filled, groups
from backends.models.catalog import DEFAULT_MODEL
from backends.watch import Watch
from cache import Activations, Store
from launch import build

REPEATS = 5
LAYER = 15


def main() -> None:
    """Print the ratios."""
    engine = build(read_settings(os.environ))
    ref = engine.known.catalog.ref(DEFAULT_MODEL, "float32")
    drugs = concept_set("drug", "A").prompts
    encoded = engine.runner.models(Watch()).encode(ref, drugs)
    rng = np.random.default_rng(0)
    sets = {
        "8 x 128 tokens": rng.integers(100, 40_000, (8, 128)).tolist(),
        "125 drug prompts": [one.ids for one in encoded],
    }
    with engine.registry.use(ref) as model:
        plain = model.bridge.original_model
        for name, ids in sets.items():
            ours, theirs, held = [], [], []
            for repeat in range(REPEATS):
                theirs.append(_seconds(lambda ids=ids: _plain(plain, ids)))
                with tempfile.TemporaryDirectory() as folder:
                    store = Store(Path(folder))
                    verbs = Models(
                        engine.known.catalog, engine.registry, Activations(store), Watch()
                    )
                    before = psutil.Process().memory_info().rss
                    ours.append(_seconds(lambda ids=ids, verbs=verbs: _capture(verbs, ref, ids)))
                    held.append(psutil.Process().memory_info().rss - before)
                if repeat == 0:
                    ours.clear(), theirs.clear(), held.clear()
            ratio = statistics.median(ours) / statistics.median(theirs)
            print(
                f"{name:<18} ours {statistics.median(ours):.2f} s, plain "
                f"{statistics.median(theirs):.2f} s, ratio {ratio:.2f} (goal 0.50), "
                f"memory kept {max(held) / 2**20:.0f} MiB"
            )
    engine.runner.close()


def _plain(model: torch.nn.Module, ids: Sequence[Sequence[int]]) -> None:
    with torch.inference_mode():
        for group in groups(ids, range(len(ids))):
            batch = torch.as_tensor(filled(np.array([ids[i] for i in group])))
            model(input_ids=batch, use_cache=False)


def _capture(verbs: Models, ref: object, ids: Sequence[Sequence[int]]) -> None:
    last = [[len(one) - 1] for one in ids]
    verbs.capture(ref, ids, [f"blocks.{LAYER}.hook_resid_post"], last)


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
