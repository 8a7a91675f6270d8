"""Find methods by scanning a folder: a module with `METHOD` is one. There is no list to edit.

A module that cannot be imported does not stop the others; the tests insist that there is none.
"""

import importlib
import logging
import pkgutil
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from backends.contract import Method
from backends.errors import BadRequest

log = logging.getLogger("glasswork.discovery")


@dataclass(frozen=True)
class Found:
    """The methods of a package by key, and the modules that failed with the reason."""

    methods: dict[str, Method[Any]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def get(self, key: str) -> Method[Any]:
        """Return a method. Raise `BadRequest` with the known keys, or with why it is broken."""
        if key in self.methods:
            return self.methods[key]
        if key in self.broken:
            raise BadRequest("method", f"Method {key!r} cannot be loaded: {self.broken[key]}.")
        raise BadRequest(
            "method", f"Method {key!r} is unknown; there are: {', '.join(sorted(self.methods))}."
        )


def find_methods(package: str = "backends.methods") -> Found:
    """Import every module of a package and collect its `METHOD`, in the order of keys."""
    found = Found()
    for name, attribute, reason in scan(package, "METHOD"):
        if reason is None and attribute.key != name:
            reason = f"its key {attribute.key!r} is not the module's name"
        if reason is None:
            found.methods[name] = attribute
        else:
            found.broken[name] = reason
    return found


def scan(package: str, attribute: str) -> list[tuple[str, Any, str | None]]:
    """Return (module name, its attribute, None) or (module name, None, why it failed)."""
    home = importlib.import_module(package)
    rows: list[tuple[str, Any, str | None]] = []
    for info in sorted(pkgutil.iter_modules(home.__path__), key=lambda info: info.name):
        try:
            module: ModuleType = importlib.import_module(f"{package}.{info.name}")
        except Exception as error:
            log.exception("module %s cannot be imported", info.name)
            rows.append((info.name, None, f"{type(error).__name__}: {error}"))
            continue
        if hasattr(module, attribute):
            rows.append((info.name, getattr(module, attribute), None))
    return rows
