"""The status page: what is computed, stored, loaded and installed here; and `GET /healthz`.

Each block is one `gr.HTML` with text that is escaped here. Gradio compares old and new text and
changes only what differs, so a button keeps its focus while its row's numbers move.
"""

import html
import logging
import os
import platform
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.engine import Engine
from app.messages import duration, quiet
from app.notes import Notes
from app.pieces import block, cell, facts, size, table
from backends.errors import Cancelled, GlassworkError
from backends.jobs.base import JobState

if TYPE_CHECKING:
    from starlette.requests import Request as WebRequest
    from starlette.responses import JSONResponse
    from starlette.routing import Route

log = logging.getLogger("glasswork.page")

SECONDS = 2.0
_PACKAGES = ("torch", "transformers", "transformer-lens", "gradio", "plotly", "numpy")
_STOP = r"""
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-key]');
  if (button) trigger('stop', {key: button.dataset.key});
});
"""


@dataclass(frozen=True)
class Shown:
    """What the page needs to keep a tab's content fresh.

    `show` returns new values of `outputs`, the timer switched on among them: the listener of the
    tab's `select`. Where there is a timer, `hide` switches it off: the listener, with the output
    `timer`, of the `select` of every other tab. After each of the events `changes` the list of
    models may be another one.
    """

    show: Callable[[], list[Any]]
    outputs: list[Any]
    hide: Callable[[], Any] | None = None
    timer: Any = None
    changes: tuple[Any, ...] = ()


def health(engine: Engine) -> dict[str, Any]:
    """Return what a watchdog asks for. Touches no model and needs no index."""
    root = engine.store.root
    is_well = root.is_dir() and os.access(root, os.W_OK)
    return {
        "status": "ok" if is_well else "degraded",
        "version": own_version(),
        "jobs": len(engine.runner.jobs()),
        "methods": len(engine.found.methods),
        "cache": "ok" if is_well else "its folder is gone or cannot be written",
    }


def health_route(engine: Engine) -> "Route":
    """Return the route GET /healthz: 200 if all is well, else 503."""
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    def answer(request: "WebRequest") -> "JSONResponse":
        found = health(engine)
        code = 200 if found["status"] == "ok" else 503
        return JSONResponse(found, code, {"Cache-Control": "no-store"})

    return Route("/healthz", answer, methods=["GET"])


def build_status(engine: Engine) -> Shown:
    """Draw the status page into the open tab. A timer, off at first, refreshes jobs and cache."""
    import gradio as gr

    blocks = status_blocks(engine)
    slots = []
    for name, draw in blocks.items():
        load = _STOP if name == "jobs" else None
        slots.append(
            gr.HTML(draw(), elem_id=f"status-{name}", js_on_load=load, apply_default_css=False)
        )
    timer = gr.Timer(SECONDS, active=False)
    moving = ("jobs", "cache")

    def tick() -> list[str]:
        return [blocks[name]() for name in moving]

    def stop(event: gr.EventData) -> list[str]:
        stop_job(engine, getattr(event, "key", None))
        return tick()

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}
    timer.tick(tick, None, slots[: len(moving)], **quiet)
    slots[0].stop(stop, None, slots[: len(moving)], **quiet)
    return Shown(
        show=lambda: [*(draw() for draw in blocks.values()), gr.Timer(active=True)],
        outputs=[*slots, timer],
        hide=lambda: gr.Timer(active=False),
        timer=timer,
    )


def status_blocks(engine: Engine) -> dict[str, Callable[[], str]]:
    """Return the blocks by name, each a function that draws it; none of them raises."""
    titles, versions = _titles(), _versions()
    return {
        "jobs": lambda: block("Jobs", lambda: _jobs(engine, titles)),
        "cache": lambda: block("Cache", lambda: _cache(engine)),
        "models": lambda: block("Models", lambda: _models(engine)),
        "machine": lambda: block("This machine", lambda: _machine(engine, versions)),
    }


def stop_job(engine: Engine, key: object) -> bool:
    """End a job for all its followers; False if there is none of this key any more."""
    job = engine.runner.find(str(key))
    if job is not None:
        job.end()
    return job is not None


@cache
def own_version() -> str:
    """Return the version of Glasswork, installed or run from its sources."""
    try:
        return version("glasswork")
    except PackageNotFoundError:
        file = Path(__file__).parents[1] / "pyproject.toml"
    try:
        return str(tomllib.loads(file.read_text("utf-8"))["project"]["version"])
    except (OSError, ValueError, KeyError):
        return "unknown"


def _titles() -> dict[str, str]:
    from views.discovery import find_tools

    return {key: tool.title for key, tool in find_tools().items()}


def _jobs(engine: Engine, titles: dict[str, str]) -> str:
    jobs = engine.runner.jobs()
    if not jobs:
        return quiet("Nothing is being computed.")
    rows = [
        _job_row(job, titles.get(job.method, job.method), _is_ending(engine, job)) for job in jobs
    ]
    columns = ("Method", "Now", "Done", "Time left", "Time so far", "Followers", "", "")
    return table(columns, rows, numbers=(2, 3, 4, 5))


def _job_row(job: JobState, title: str, is_ending: bool) -> str:
    now, key = job.progress, html.escape(job.key)
    done = f"{now.done:,} of {now.total:,}" if now.total else ""
    link = f"?method={html.escape(job.method)}&amp;r={key}"
    stop = "disabled>Stopping…" if is_ending else 'title="Stops it for all who follow it">Stop'
    return "".join(
        [
            f'<td>{html.escape(title)} <span class="gw-secondary">{key[:8]}</span></td>',
            cell(now.note),
            cell(done, True),
            cell("" if now.seconds_left is None else f"about {duration(now.seconds_left)}", True),
            cell(duration(job.seconds), True),
            cell(str(job.followers), True),
            f'<td><a href="{link}">Open</a></td>',
            f'<td><button type="button" class="gw-button" data-key="{key}" {stop}</button></td>',
        ]
    )


def _is_ending(engine: Engine, state: JobState) -> bool:
    """Say whether somebody has stopped a job that has not come to its next step yet."""
    job = engine.runner.find(state.key)
    try:
        if job is not None:
            job.watch.check()
    except Cancelled:
        return True
    return False


def _cache(engine: Engine) -> str:
    usage = engine.store.usage()
    rows = [
        cell(kind) + cell(f"{count:,}", True) + cell(size(held), True)
        for kind, (count, held) in sorted(usage.by_kind.items())
    ]
    entries = "1 entry" if usage.entries == 1 else f"{usage.entries:,} entries"
    text = f"<p>{entries}, {size(usage.bytes)} of {size(usage.limit)}</p>"
    return text + (table(("Kind", "Entries", "Size"), rows, numbers=(1, 2)) if rows else "")


def _models(engine: Engine) -> str:
    entries = engine.known.catalog.entries()
    ready = [e.id for e in entries if e.state == "ready"]
    offered = sum(e.state == "downloadable" for e in entries)
    missing = len(entries) - len(ready) - offered
    text = f"<p>{len(ready)} ready, {offered} can be downloaded, {missing} not here</p>"
    in_memory = [f"{ref.id} ({ref.dtype}, {size(held)})" for ref, held in engine.registry.loaded()]
    return text + facts({"Ready": ", ".join(ready), "In memory": ", ".join(in_memory) or "none"})


def _machine(engine: Engine, versions: str) -> str:
    import psutil

    settings, memory = engine.settings, psutil.virtual_memory()
    rows = {
        "Device": _device(engine),
        "Threads": str(settings.threads or f"torch decides ({os.cpu_count()} cores)"),
        "Memory": f"{size(memory.available)} of {size(memory.total)} free",
        "Data folder": f"{settings.home}, {_free(settings.home)}",
        "Notes": _notes(settings.home),
        "Versions": versions,
    }
    return facts(rows)


def _device(engine: Engine) -> str:
    """Name the device. Which one `auto` is, torch is asked only where it has loaded a model."""
    if engine.registry.loaded():
        return engine.registry.device
    wanted = engine.settings.device
    return "chosen when the first model is loaded" if wanted == "auto" else wanted


def _free(home: Path) -> str:
    try:
        return f"{size(shutil.disk_usage(home).free)} free on its disk"
    except OSError as error:
        return f"which cannot be read: {error.strerror}"


def _notes(home: Path) -> str:
    try:
        return str(Notes(home).count())
    except GlassworkError as error:
        return str(error)


def _versions() -> str:
    found = [f"Glasswork {own_version()}", f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not installed")
    return ", ".join(found)
