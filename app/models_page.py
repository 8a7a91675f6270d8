"""The models page: what is here, what can be had, downloading and deleting models of the hub.

A download runs in a thread of its own and ends with the listener that follows it: when it is done,
at Stop, or when the page is closed. Nothing but the button Download contacts the hub.
"""

import html
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.engine import Engine
from app.messages import duration, problem, quiet, told
from app.pieces import block, cell, size, table
from app.status import Shown
from backends.errors import BadRequest, Cancelled
from backends.models import hub
from backends.models.catalog import HubRecord, ModelEntry, hub_records
from backends.watch import Progress, Watch

EVERY = 0.25
_COLUMNS = ("Model", "Layers", "MB", "License", "Gated", "Note")
_STATES = {"ready": "Ready", "missing": "Not here", "downloadable": "Can be downloaded"}
_SOURCES = {"embedded": "comes with Glasswork", "folder": "folder of GLASSWORK_MODELS"}
_HUB = "https://huggingface.co/"
_UNKNOWN = "–"
_TERMS = "accept its terms on the hub and set HF_TOKEN"


@dataclass(frozen=True)
class Step:
    """What a listener shows next. `key` is that of a download under way, None when it has ended."""

    text: str
    key: str | None = None
    is_error: bool = False

    def html(self) -> str:
        """Return it as the page shows it."""
        if self.is_error:
            return problem(self.text)
        return f'<p role="status">{html.escape(self.text)}</p>'


class Download:
    """One download in a thread; `done` gets its record or its error."""

    def __init__(self, model: str, home: Path) -> None:
        self.model = model
        self.progress = Progress(0, 0, "asking the hub")
        self.watch = Watch(tell=self._hear)
        self.done: Future[HubRecord] = Future()
        # A daemon: the end of the program must not wait for a download.
        threading.Thread(target=self._work, args=(home,), daemon=True).start()

    def line(self) -> str:
        """Say how far it is."""
        now = self.progress
        if self.is_stopping():
            return f"Stopping the download of {self.model}…"
        if not now.total:
            return f"{self.model}: {now.note}"
        left = "" if now.seconds_left is None else f", about {duration(now.seconds_left)} left"
        return f"{self.model}: {_megabytes(now.done)} of {_megabytes(now.total)} MB{left}"

    def is_stopping(self) -> bool:
        """Say whether it was stopped."""
        try:
            self.watch.check()
        except Cancelled:
            return True
        return False

    def _work(self, home: Path) -> None:
        def show(done: int, total: int) -> None:
            self.watch.step(done, total)

        try:
            record = hub.download(self.model, home, check=self.watch.check, show=show)
        except BaseException as error:
            self.done.set_exception(error)
        else:
            self.done.set_result(record)

    def _hear(self, progress: Progress) -> None:
        self.progress = progress


class Downloads:
    """The downloads that this process has under way, by a key that only their page knows."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running: dict[str, Download] = {}

    def follow(self, model: object) -> Iterator[Step]:
        """Download a model and tell how far it is. Closing the iterator stops the download."""
        key = secrets.token_hex(8)
        try:
            name = wanted_name(self._engine, model)
            download = self._running[key] = Download(name, self._engine.settings.home)
            yield Step(download.line(), key)
            while not _is_done(download.done):
                yield Step(download.line(), key)
            yield Step(f"{name} is ready, at revision {download.done.result().revision[:8]}.")
        except Cancelled:
            yield Step(f"The download of {name} was stopped; nothing of it is kept.")
        except Exception as error:
            yield Step(told(error), is_error=True)
        finally:
            self.stop(key)
            self._running.pop(key, None)

    def stop(self, key: object) -> None:
        """Stop a download, if it is still under way."""
        download = self._running.get(str(key))
        if download is not None:
            download.watch.stop()


def delete_model(engine: Engine, model: object) -> Step:
    """Delete a downloaded model and say so."""
    try:
        hub.delete(str(model), engine.settings.home)
    except Exception as error:
        return Step(told(error), is_error=True)
    return Step(f"{model} is deleted.")


def build_models(engine: Engine) -> Shown:
    """Draw the models page into the open tab."""
    import gradio as gr

    with gr.Row():
        with gr.Column():
            wanted, start, stop, said = _download_form(engine)
        with gr.Column():
            held, ask, asked, sure, delete, keep, told_of = _delete_form(engine)
    listing = _slot("models-table", models_html(engine))
    downloads, key, model = Downloads(engine), gr.State(""), gr.State("")
    outputs = [listing, wanted, held]

    def show() -> list[Any]:
        choices = gr.Dropdown(choices=offered(engine))
        return [models_html(engine), choices, _held(engine)]

    def run(name: str | None) -> Iterator[dict[Any, Any]]:
        for step in downloads.follow(name):
            runs = step.key is not None
            fresh = {} if runs else dict(zip(outputs, show(), strict=True))
            yield fresh | {
                said: step.html(),
                key: step.key or "",
                start: gr.Button(interactive=not runs),
                stop: gr.Button(visible=runs),
            }

    def question(name: str | None) -> dict[Any, Any]:
        if not name:
            return closed() | {told_of: problem("No model was chosen.")}
        return {sure: gr.Column(visible=True), asked: _question(engine, name), model: name}

    def closed() -> dict[Any, Any]:
        return {sure: gr.Column(visible=False), told_of: "", model: ""}

    def remove(name: str) -> dict[Any, Any]:
        step = delete_model(engine, name)
        return dict(zip(outputs, show(), strict=True)) | closed() | {told_of: step.html()}

    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    forms = [*outputs, said, key, start, stop]
    # Without a limit of its own a second download would wait in silence instead of being refused.
    ran = start.click(run, wanted, forms, concurrency_limit=None, **quiet)
    stop.click(downloads.stop, key, None, queue=False, **quiet)
    answer = [sure, told_of, model]
    ask.click(question, held, [*answer, asked], queue=False, **quiet)
    held.input(closed, None, answer, queue=False, **quiet)
    keep.click(closed, None, answer, queue=False, **quiet)
    gone = delete.click(remove, model, [*outputs, *answer], **quiet)
    return Shown(show=show, outputs=outputs, changes=(ran, gone))


def _download_form(engine: Engine) -> tuple[Any, ...]:
    import gradio as gr

    wanted = gr.Dropdown(
        offered(engine),
        value=None,
        allow_custom_value=True,
        label="Download from the Hugging Face hub",
        info="A model of the list, or any other as owner/name",
        elem_id="models-wanted",
    )
    with gr.Row():
        start = gr.Button("Download", variant="primary", elem_id="models-download")
        stop = gr.Button("Stop", visible=False, elem_id="models-stop")
    return wanted, start, stop, _slot("models-progress", "")


def _delete_form(engine: Engine) -> tuple[Any, ...]:
    import gradio as gr

    held = _held(engine)
    with gr.Row():
        ask = gr.Button("Delete", elem_id="models-delete")
    with gr.Column(visible=False, elem_id="models-sure") as sure:
        asked = _slot("models-question", "")
        with gr.Row():
            delete = gr.Button("Delete for good", variant="stop", elem_id="models-delete-for-good")
            keep = gr.Button("Keep", elem_id="models-keep")
    return held, ask, asked, sure, delete, keep, _slot("models-deleted", "")


def _slot(name: str, value: str) -> Any:
    import gradio as gr

    return gr.HTML(value, elem_id=name, js_on_load=None, apply_default_css=False)


def _held(engine: Engine) -> Any:
    """Return the dropdown of models that can be deleted, with nothing chosen."""
    import gradio as gr

    names = sorted(hub_records(engine.settings.home))
    text = "A model that was downloaded" if names else "Nothing was downloaded"
    label = "Delete from this machine"
    return gr.Dropdown(names, value=None, label=label, info=text, elem_id="models-held")


def offered(engine: Engine) -> list[str]:
    """Return the models that can be downloaded by name."""
    return [e.id for e in engine.known.catalog.entries() if e.state == "downloadable"]


def models_html(engine: Engine) -> str:
    """Return the table of all models, by state."""
    return block("Models", lambda: _listing(engine.known.catalog.entries()))


def wanted_name(engine: Engine, model: object) -> str:
    """Return the name of a model of the hub, given as name or address."""
    name = str(model or "").strip().removeprefix(_HUB).strip("/")
    if not name:
        raise BadRequest("model", "No model was chosen; choose one, or type owner/name.")
    entry = {e.id: e for e in engine.known.catalog.entries()}.get(name)
    if entry is not None and entry.source != "hub":
        raise BadRequest("model", f"{name!r} is here already and is no model of the hub.")
    return name


def _listing(entries: list[ModelEntry]) -> str:
    rows: list[str] = []
    for state, title in _STATES.items():
        group = [entry for entry in entries if entry.state == state]
        if group:
            span = f'colspan="{len(_COLUMNS)}" scope="colgroup"'
            rows.append(f"<th {span}>{title} ({len(group)})</th>")
        rows += [_row(entry) for entry in group]
    return table(_COLUMNS, rows, numbers=(1, 2)) + quiet(f"{_UNKNOWN} not known")


def _row(entry: ModelEntry) -> str:
    gated = {True: "yes", False: "no", None: _UNKNOWN}[entry.gated]
    return "".join(
        [
            cell(entry.id),
            cell(_UNKNOWN if entry.layers is None else str(entry.layers), True),
            cell(_megabytes(entry.bytes) if entry.bytes else _UNKNOWN, True),
            cell(entry.license or _UNKNOWN),
            cell(gated),
            cell(_note(entry)),
        ]
    )


def _note(entry: ModelEntry) -> str:
    """Say where a ready model is from, or why another is not here."""
    if entry.state == "ready":
        return _SOURCES.get(entry.source) or f"downloaded, revision {(entry.revision or '')[:8]}"
    why = entry.why.partition("get it with: ")[0].rstrip("; ")
    return why or (_TERMS if entry.gated else "")


def _megabytes(number: int) -> str:
    return f"{number / 1e6:,.0f}" if number >= 1e7 else f"{number / 1e6:.1f}"


def _question(engine: Engine, model: str) -> str:
    record = hub_records(engine.settings.home).get(model)
    held = f" ({size(record.bytes)})" if record else ""
    return f"<p>Delete {html.escape(model)}{held}? It can be downloaded again.</p>"


def _is_done(future: "Future[Any]") -> bool:
    return bool(wait([future], timeout=EVERY).done)
