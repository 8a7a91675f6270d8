"""Serve the page: on loopback, without telemetry, with our own routes beside Gradio's."""

import os
import threading
from pathlib import Path
from typing import Any

from app.downloads import export_route
from app.engine import Engine
from app.look import CSS, theme
from app.page import build_page
from app.status import health_route
from backends.errors import BadRequest
from views.slot import ASSETS

WARM_UP_AFTER = 4.0
"""Seconds from the first page to the warm-up."""
UPLOAD_LIMIT = "64mb"
"""What the server takes at all; below it the uploads say their own limit in a sentence."""


def launch(engine: Engine, page: Any = None) -> tuple[Any, str]:
    """Start serving; return the page, whose `close` ends it, and its address."""
    os.environ.setdefault("GRADIO_TEMP_DIR", str(engine.settings.home / "tmp"))
    page = page or build_page(engine, opened=WarmUp(engine).begin)
    page.queue(default_concurrency_limit=8, max_size=200)
    try:
        _, address, _ = page.launch(
            server_name=engine.settings.host,
            server_port=engine.settings.port or None,
            prevent_thread_lock=True,
            quiet=True,
            show_error=False,
            share=False,
            ssr_mode=False,
            run_history=False,
            enable_monitoring=False,
            state_session_capacity=500,
            max_threads=80,
            footer_links=["api"],
            max_file_size=UPLOAD_LIMIT,
            theme=theme(),
            css=CSS,
            app_kwargs={"routes": routes(engine)},
        )
    except OSError as error:
        raise BadRequest("PORT", _taken(engine)) from error
    return page, str(address)


class WarmUp:
    """Prepares the worker process once, a little after the first page was opened.

    What it prepares (UMAP's compilation) takes half a minute of one core, so the page comes first;
    and a run that has begun by then prepares what it needs by itself.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._once = threading.Lock()

    def begin(self) -> None:
        """Start the clock at the first call."""
        if self._once.acquire(blocking=False):
            timer = threading.Timer(WARM_UP_AFTER, self._warm_up)
            timer.daemon = True
            timer.start()

    def _warm_up(self) -> None:
        self._engine.runner.warm_up(self._engine.found.methods.values())


def routes(engine: Engine) -> list[Any]:
    """Return our routes: the drawing library, exports of stored results, health."""
    import plotly
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

    folder = Path(plotly.__file__).parent / "package_data"
    assets = Mount(f"/{ASSETS}", StaticFiles(directory=folder))
    return [assets, export_route(engine), health_route(engine)]


def _taken(engine: Engine) -> str:
    port = engine.settings.port
    return f"GLASSWORK_PORT is {port}, which cannot be listened on; set another, or 0 for any."
