"""The lab: everything that a method's `compute` may touch.

It gives the models' verbs, the watch, the worker process, and two verbs of its own: `result`
(another method as a part of this one) and `part` (named arrays, computed once). It also collects
the provenance that is stored with the result.
"""

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from backends.contract import Known, Method, ModelRequest
from backends.jobs.apart import Apart
from backends.models.catalog import ModelRef
from backends.watch import Watch
from cache import Store, fingerprint

_LIBRARIES = ("torch", "transformers", "transformer-lens", "numpy", "umap-learn", "scikit-learn")


class Lab:
    """One per job. `models` is imported late: it brings torch."""

    def __init__(
        self,
        method: Method[Any],
        key: str,
        store: Store,
        known: Known,
        watch: Watch,
        models: Callable[[Watch], Any],
        worker: Apart,
        recall_or_run: Callable[[str, Mapping[str, Any], Watch], Any],
    ) -> None:
        self.known = known
        self.store = store
        self.watch = watch
        self.worker = worker
        self._method = method
        self._key = key
        self._make_models = models
        self._models: Any = None
        self._recall_or_run = recall_or_run
        self.provenance: dict[str, Any] = {"python": platform.python_version()}
        self.provenance["versions"] = {name: version(name) for name in _LIBRARIES}

    @property
    def models(self) -> Any:
        """The verbs that run models (`backends.models.bridge.Models`)."""
        if self._models is None:
            self._models = self._make_models(self.watch)
        return self._models

    def model(self, request: ModelRequest) -> ModelRef:
        """Resolve a request's model and note it in the provenance."""
        ref = self.known.catalog.ref(request.model, request.dtype)
        device = self.models.device
        self.provenance |= {
            "model": ref.id,
            "revision": ref.revision,
            "dtype": ref.dtype,
            "compute_dtype": "float32" if device == "cpu" else ref.dtype,
            "device": device,
            "attention": request.attention,
            "bos": request.bos,
            "chat": request.chat,
        }
        return ref

    def note(self, **facts: Any) -> None:
        """Add facts to the provenance: N, seeds, preconditions that were not met."""
        self.provenance |= facts

    def result(self, key: str, fields: Mapping[str, Any]) -> Any:
        """Return another method's result, recalled or computed under its own fingerprint.

        The other method is named by its key and its request by the fields, so that methods do not
        import each other.
        """
        return self._recall_or_run(key, fields, self.watch)

    def stored_part(self, name: str, fields: Mapping[str, Any]) -> bool:
        """Say whether a part is there, so that slow ones can be started ahead."""
        return self.store.get(self._part_key(name, fields)) is not None

    def part(
        self,
        name: str,
        fields: Mapping[str, Any],
        make: Callable[[], Mapping[str, np.ndarray]],
    ) -> dict[str, np.ndarray]:
        """Return named arrays, computed once and found again after a stop or a crash."""
        kind = f"part/{self._method.key}/{self._method.version}"
        entry = self.store.get_or_compute(
            self._part_key(name, fields), kind, lambda: (make(), {}), wait=self.watch.check
        )
        self.watch.count("parts_recalled" if entry.hit else "parts_computed")
        return entry.arrays

    def _part_key(self, name: str, fields: Mapping[str, Any]) -> str:
        kind = f"part/{self._method.key}/{self._method.version}"
        return fingerprint(kind, {"request": self._key, "name": name, "fields": dict(fields)})
