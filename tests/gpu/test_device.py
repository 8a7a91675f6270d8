"""On a CUDA device the verbs give the CPU's numbers, to a stated tolerance."""

from pathlib import Path

import numpy as np
import pytest
import torch

from backends.models.bridge import Models
from backends.models.catalog import Catalog
from backends.models.registry import Registry
from backends.watch import Watch
from cache import Activations, Store

TOLERANCE = 1e-3
IDS = [[5, 9, 40, 77, 3], [8, 8, 200, 41, 6], [300, 2, 17]]

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def _models(device: str, home: Path, folders: Path) -> Models:
    catalog = Catalog(home, folders)
    registry = Registry(catalog, device=device)
    return Models(catalog, registry, Activations(Store(home / device[:4])), Watch())


def test_capture_and_run_agree_with_the_cpu(tmp_path: Path, model_folders: Path) -> None:
    found = []
    for device in ("cpu", "cuda:0"):
        models = _models(device, tmp_path, model_folders)
        ref = models.catalog.ref("tiny", "float32")
        hook = "blocks.1.hook_resid_post"
        rows = models.capture(ref, IDS, [hook], [[1, len(one) - 1] for one in IDS])[hook]
        logits = models.run(ref, IDS, positions="all")["logits"]
        found.append(np.concatenate([*(r.ravel() for r in rows), *(x.ravel() for x in logits)]))
    assert np.abs(found[0] - found[1]).max() < TOLERANCE
