"""What this machine has, and whether our path through the model gives transformers' numbers."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from app.engine import Engine
from backends.errors import GlassworkError
from backends.models.catalog import DEFAULT_MODEL
from backends.watch import Watch

Line = tuple[str, str, bool]
_PACKAGES = (
    "torch",
    "transformers",
    "transformer-lens",
    "gradio",
    "plotly",
    "umap-learn",
    "numba",
    "numpy",
    "pandas",
    "scikit-learn",
    "safetensors",
)


def lines(engine: Engine, with_parity: bool) -> Iterator[Line]:
    """Yield (what, finding, is it well) one by one, the slow ones last."""
    yield "python", f"{platform.python_version()} on {platform.platform()}", True
    for name in _PACKAGES:
        yield _package(name)
    yield "data", str(engine.settings.home), os.access(engine.settings.home, os.W_OK)
    usage = engine.store.usage()
    used, limit = usage.bytes / 1e9, usage.limit / 1e9
    yield "cache", f"{usage.entries} entries, {used:.2f} of {limit:.0f} GB", True
    report = engine.store.verify()
    yield "cache files", f"{report.checked} checked" if report.clean else str(report), report.clean
    for key, reason in engine.found.broken.items():
        yield f"method {key}", reason, False
    yield "methods", ", ".join(engine.found.methods), bool(engine.found.methods)
    for entry in engine.known.catalog.entries():
        if entry.state == "downloadable":
            continue
        state = f"{entry.state}, {entry.source}" + (f": {entry.why}" if entry.why else "")
        yield f"model {entry.id}", state, entry.id != DEFAULT_MODEL or entry.state == "ready"
    if with_parity:
        yield from _computing(engine)


def _package(name: str) -> Line:
    try:
        return name, version(name), True
    except PackageNotFoundError:
        return name, "not installed", False


def _computing(engine: Engine) -> Iterator[Line]:
    import torch

    from backends.models.parity import LARGEST_SDPA, parity

    device = engine.registry.device
    named = torch.cuda.get_device_name(0) if device.startswith("cuda") else platform.machine()
    yield "device", f"{device} ({named}), {torch.get_num_threads()} threads", True
    try:
        ref = engine.known.catalog.ref(DEFAULT_MODEL, "float32")
        found = parity(engine.registry, engine.runner.models(Watch()), ref)
    except GlassworkError as error:
        yield "parity", str(error), False
        return
    positions = f"N = {found.positions} positions, float32"
    yield (
        "parity, eager",
        f"largest logit difference {found.eager:g} to transformers ({positions})",
        found.eager == 0,
    )
    yield (
        "parity, sdpa",
        f"largest logit difference {found.sdpa:.2g} to transformers ({positions})",
        found.sdpa < LARGEST_SDPA,
    )
