"""Start Glasswork: settings → store → models → runner → command line.

The only place that builds objects; everything else receives them. Nothing that computes is
imported here.
"""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from functools import cache
from pathlib import Path

if __name__ == "__main__":
    # Until `main` runs, libraries are being imported: Ctrl-C just ends that.
    signal.signal(signal.SIGINT, lambda *_: (os.write(2, b"Stopped.\n"), os._exit(130)))

from app.cli import run_cli
from app.console import log_file, log_to
from app.engine import Engine
from app.settings import Settings, read_settings
from backends.contract import Known
from backends.discovery import find_methods
from backends.errors import BadRequest
from backends.jobs.local import LocalRunner
from backends.models.catalog import Catalog
from backends.models.registry import Registry
from backends.uploads import Uploads
from backends.watch import Watch
from cache import Activations, Store


def build(settings: Settings) -> Engine:
    """Build the engine. Opens the store; loads no model."""
    disk = Store(settings.home / "cache", settings.cache_bytes)
    kept = settings.home if settings.keep_texts else _folder_of_this_session()
    store = disk if settings.keep_texts else Store(kept / "cache", settings.cache_bytes)
    catalog = Catalog(settings.home, settings.models)
    registry = Registry(catalog, settings.memory_bytes, settings.threads, settings.device)
    known = Known(catalog, Uploads(kept / "uploads"))
    found = find_methods()
    activations = Activations(disk)

    def models(watch: Watch) -> object:
        from backends.models.bridge import Models

        return Models(catalog, registry, activations, watch)

    runner = LocalRunner(store, known, found.get, models)
    return Engine(settings, store, disk, known, registry, found, runner)


def _folder_of_this_session() -> Path:
    """Return a folder that is gone when the program ends: texts are not kept."""
    folder = Path(tempfile.mkdtemp(prefix="glasswork-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def main() -> int:
    """Run the command line and return the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # Threads that wait for each other by spinning make a busy machine several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    engines: list[Engine] = []

    @cache
    def engine() -> Engine:
        settings = read_settings(os.environ)
        try:
            log_to(log_file(settings.home))
            engines.append(build(settings))
        except OSError as error:
            sentence = f"GLASSWORK_HOME is {str(settings.home)!r}; it cannot be written"
            raise BadRequest("HOME", f"{sentence}: {error.strerror}.") from error
        return engines[0]

    try:
        return run_cli(sys.argv[1:], engine)
    finally:
        for each in engines:
            each.runner.close()


if __name__ == "__main__":
    sys.exit(main())
