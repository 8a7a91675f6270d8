"""The patching board against transformer-lens's own helper, on the embedded model and one pair.

The peer is `transformer_lens.patching.get_act_patch_resid_pre` over layers and positions: one
forward pass of the whole model per cell. Ours patches block outputs, which are the next block's
input, and computes a control of the same size besides. Both give the change that a patch makes to
the logit difference; where both patch the same place they are compared. Order A B A B, medians; the
peer is timed on a few layers, evenly spread, and scaled, because each of its cells costs the same.
The goal is at least 2 times faster.

Usage: python -m benchmarks.patching [layers of the peer]
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformer_lens import patching

from app.engine import Engine
from app.settings import read_settings
from backends.accept import accept, request_key
from backends.jobs.apart import Apart
from backends.lab import Lab
from backends.methods.medical_patching import METHOD
from backends.models.bridge import Models
from backends.models.catalog import DEFAULT_MODEL
from backends.watch import Watch
from cache import Activations, Store
from launch import build

REPEATS = 3


def main() -> None:
    """Print seconds, the ratio, and the largest difference between both boards."""
    engine = build(read_settings(os.environ))
    ref = engine.known.catalog.ref(DEFAULT_MODEL, "float32")
    count = engine.known.catalog.get(ref.id).layers or 0
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    layers = np.unique(np.linspace(1, count - 1, wanted).astype(int)).tolist()
    with engine.registry.use(ref) as model:
        ours, theirs = [], []
        for _ in range(REPEATS):
            began = time.perf_counter()
            peer = _peer(engine, model, ref, layers)
            theirs.append((time.perf_counter() - began) * count / len(layers))
            began = time.perf_counter()
            board = _ours(engine)
            ours.append(time.perf_counter() - began)
    change = board.logit_difference[[layer - 1 for layer in layers]]
    mask = board.causal_mask[[layer - 1 for layer in layers]]
    apart = np.abs(np.where(mask, change - (peer - board.score_corrupted[0]), 0)).max()
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(
        f"{count} layers x {board.recovery.shape[1]} positions: ours {statistics.median(ours):.1f} "
        f"s with its control, peer {statistics.median(theirs):.1f} s (from {len(layers)} layers), "
        f"peer / ours {ratio:.1f} (goal 2), largest difference {apart:.1e} logits"
    )
    engine.runner.close()


def _ours(engine: Engine) -> Any:
    """Compute the board with an empty cache."""
    request = accept(METHOD, {"positions": "each"}, engine.known)
    with tempfile.TemporaryDirectory() as folder:
        store, worker = Store(Path(folder)), Apart()

        def models(watch: Watch) -> Models:
            return Models(engine.known.catalog, engine.registry, Activations(store), watch)

        key = request_key(METHOD, request, engine.known)
        lab = Lab(METHOD, key, store, engine.known, Watch(), models, worker, lambda *_: None)
        result = METHOD.compute(request, lab)
        worker.close()
    return result


def _peer(engine: Engine, model: Any, ref: Any, layers: list[int]) -> np.ndarray:
    """Return the patched logit differences [layer, pos] of some layers."""
    request = METHOD.example
    verbs = engine.runner.models(Watch())
    texts = [request.clean, request.corrupted, request.answer, request.foil]
    bos = ("auto", "auto", "none", "none")
    ids = [verbs.encode(ref, [t], b)[0].ids for t, b in zip(texts, bos, strict=True)]
    clean, corrupted = (torch.tensor([one]) for one in ids[:2])
    answer, foil = ids[2][0], ids[3][0]

    def metric(logits: torch.Tensor) -> torch.Tensor:
        return logits[0, -1, answer] - logits[0, -1, foil]

    metric_of: Callable[[torch.Tensor], torch.Tensor] = metric
    cells = [(layer, p) for layer in layers for p in range(len(ids[1]))]
    with torch.inference_mode():
        _, cache = model.bridge.run_with_cache(clean)
        found = patching.generic_activation_patch(
            model.bridge,
            corrupted,
            cache,
            metric_of,
            patch_setter=patching.layer_pos_patch_setter,
            activation_name="resid_pre",
            index_df=pd.DataFrame(cells, columns=["layer", "pos"]),
        )
    return found.reshape(len(layers), -1).numpy()


if __name__ == "__main__":
    main()
