"""The engine as one value: what `launch.py` builds and every door receives."""

from dataclasses import dataclass

from app.settings import Settings
from backends.contract import Known
from backends.discovery import Found
from backends.jobs.local import LocalRunner
from backends.models.registry import Registry
from cache import Store


@dataclass(frozen=True)
class Engine:
    """Stores, models, methods and runner of this process.

    `store` holds results, their parts and requests; `disk` holds activations. They are one, unless
    texts are not kept: then `store` ends with the process.
    """

    settings: Settings
    store: Store
    disk: Store
    known: Known
    registry: Registry
    found: Found
    runner: LocalRunner
