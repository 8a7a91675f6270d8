"""What is loaded: one bridge per `ModelRef`, within a memory budget.

A model is loaded under a lock of its own, pinned while in use, and the least recently used idle
one is dropped when the budget is passed. Called only inside `backends/models`.
"""

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.errors import BadRequest, ModelMissing, OutOfMemory
from backends.jobs.apart import run_apart
from backends.models.catalog import Catalog, ModelRef
from backends.models.convert import converted_folder, expected_numbers

log = logging.getLogger("glasswork.models")

Check = Callable[[], None]


@dataclass
class Loaded:
    """A model in memory. `lock` is held during a forward pass: hooks belong to the module."""

    bridge: Any
    tokenizer: Any
    device: str
    bytes: int
    lock: Any = field(default_factory=threading.RLock)
    pins: int = 0
    used: float = 0.0


class Registry:
    """Loads models on one device. `budget` is in bytes, `threads` 0 leaves torch's own choice."""

    def __init__(
        self, catalog: Catalog, budget: int = 8 * 2**30, threads: int = 0, device: str = "auto"
    ) -> None:
        self._catalog = catalog
        self._budget = budget
        self._threads = threads
        self._wanted_device = device
        self._loaded: dict[ModelRef, Loaded] = {}
        self._tokenizers: dict[str, Any] = {}
        self._locks: dict[ModelRef, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def device(self) -> str:
        """The device in force, `cpu` or `cuda:0`. Imports torch."""
        import torch

        wanted = self._wanted_device
        count = torch.cuda.device_count()
        if wanted.startswith("cuda:") and int(wanted.removeprefix("cuda:")) >= count:
            raise BadRequest(
                "DEVICE", f"Device {wanted} is not here; there are {count} CUDA devices."
            )
        if wanted != "auto":
            return wanted
        return "cuda:0" if count else "cpu"

    @contextmanager
    def use(self, ref: ModelRef, check: Check = lambda: None) -> Iterator[Loaded]:
        """Give a loaded model, pinned for as long as the block lasts.

        `check` is called while a conversion is waited for and may raise to give up.
        """
        with self._lock:
            lock = self._locks.setdefault(ref, threading.Lock())
        with lock:
            loaded = self._loaded.get(ref) or self._loaded_now(ref, check)
            with self._lock:
                self._loaded[ref] = loaded
                loaded.pins += 1
        try:
            self._make_room(keep=ref)
            yield loaded
        except Exception as error:
            if _is_memory(error):
                raise _out_of_memory(ref, loaded.device) from error
            raise
        finally:
            with self._lock:
                loaded.used = time.monotonic()
                loaded.pins -= 1

    def tokenizer(self, ref: ModelRef, check: Check = lambda: None) -> Any:
        """Return the tokenizer of a model without loading its weights."""
        from transformers import AutoTokenizer

        if ref.revision not in self._tokenizers:
            folder = self.folder(ref, check)
            with _readable(ref):
                self._tokenizers[ref.revision] = AutoTokenizer.from_pretrained(
                    folder, local_files_only=True, trust_remote_code=False
                )
        return self._tokenizers[ref.revision]

    def folder(self, ref: ModelRef, check: Check = lambda: None) -> Path:
        """Return a transformers folder of a model, converting the embedded one at first use."""
        entry = self._catalog.get(ref.id)
        assert entry.path is not None
        if entry.path.is_dir():
            return entry.path
        folder = converted_folder(self._catalog.home, ref.revision)
        if not folder.exists():
            log.info("converting %s, once", ref.id)
            work = "backends.models.convert:convert"
            run_apart(work, str(entry.path), str(folder), expected_numbers(entry), check=check)
        return folder

    def drop_idle(self) -> None:
        """Forget all models that nobody uses."""
        with self._lock:
            for ref in [r for r, m in self._loaded.items() if m.pins == 0]:
                del self._loaded[ref]
        _collect()

    def loaded(self) -> list[tuple[ModelRef, int]]:
        """Return what is in memory, with bytes."""
        with self._lock:
            return [(ref, model.bytes) for ref, model in self._loaded.items()]

    def _make_room(self, keep: ModelRef) -> None:
        with self._lock:
            idle = [r for r, m in self._loaded.items() if m.pins == 0 and r != keep]
            dropped = 0
            for ref in sorted(idle, key=lambda ref: self._loaded[ref].used):
                if sum(m.bytes for m in self._loaded.values()) <= self._budget:
                    break
                log.info("dropping %s to stay within the memory budget", ref.id)
                del self._loaded[ref]
                dropped += 1
        if dropped:
            _collect()

    def _loaded_now(self, ref: ModelRef, check: Check) -> Loaded:
        """Load a model; where memory is short, drop the idle ones and try once more."""
        try:
            return self._load(ref, check)
        except Exception as error:
            if not _is_memory(error):
                raise
        self.drop_idle()
        try:
            return self._load(ref, check)
        except Exception as error:
            if _is_memory(error):
                raise _out_of_memory(ref, self.device) from error
            raise

    def _load(self, ref: ModelRef, check: Check) -> Loaded:
        import torch
        from transformers import AutoModelForCausalLM

        if self._threads:
            torch.set_num_threads(self._threads)
        folder, tokenizer, device = self.folder(ref, check), self.tokenizer(ref, check), self.device
        with _readable(ref):
            model, report = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=getattr(torch, ref.dtype),
                attn_implementation="eager",
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        _check_complete(ref, report)
        if device == "cpu":
            model = model.float()
        model = model.to(device).eval().requires_grad_(False)
        size = sum(p.numel() * p.element_size() for p in model.parameters())
        return Loaded(_bridge(folder, model, tokenizer, device), tokenizer, device, size)


def _bridge(folder: Path, model: Any, tokenizer: Any, device: str) -> Any:
    from transformer_lens.model_bridge import TransformerBridge

    bridge = TransformerBridge.boot_transformers(
        str(folder), hf_model=model, tokenizer=tokenizer, dtype=model.dtype, device=device
    )
    return bridge.eval()


@contextmanager
def _readable(ref: ModelRef) -> Iterator[None]:
    """Say in one sentence why a folder's model or tokenizer cannot be read."""
    try:
        yield
    except Exception as error:
        if _is_memory(error):
            raise
        log.exception("%s cannot be read", ref.id)
        reason = (str(error).strip().split("\n") or [""])[0][:120]
        raise ModelMissing(
            f"Model {ref.id!r} cannot be read: {type(error).__name__}: {reason}"
        ) from error


def _check_complete(ref: ModelRef, report: dict[str, Any]) -> None:
    """Refuse a model whose weights are not all in its files: the rest would be random numbers."""
    for name, words in (("missing_keys", "lack"), ("mismatched_keys", "have another shape for")):
        if found := sorted(str(key) for key in report.get(name) or ()):
            raise ModelMissing(
                f"Model {ref.id!r} cannot be read: its weights {words} {len(found)} of the tensors "
                f"that its config.json asks for, {found[0]!r} for one."
            )


def _is_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _out_of_memory(ref: ModelRef, device: str) -> OutOfMemory:
    return OutOfMemory(
        f"{ref.id} ran out of memory on {device}: "
        "choose a smaller model, fewer or shorter prompts, or a lower precision."
    )


def _collect() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
