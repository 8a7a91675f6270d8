"""The command line: click commands made from what methods declare.

Exit codes: 0 done; 2 a request that the user can mend, told in exactly one line on standard error;
130 stopped; 1 anything else, told in one line, with the traceback in the log.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from filelock import FileLock

from app import doctor as checks
from app.console import ProgressLine, libraries_silenced, log_file
from app.describe import describe, field_text, readable, two_columns
from app.engine import Engine
from app.export import provenance_line, remove_figures, write_figures, write_result
from app.links import command, link, read_link
from app.messages import told
from app.settings import PREFIX, SETTINGS
from backends.accept import accept, request_key
from backends.contract import Method
from backends.errors import BadRequest, Cancelled, GlassworkError, ModelMissing
from backends.jobs.base import Stored
from backends.models import hub
from backends.watch import Progress
from cache import fingerprint
from views.fields import is_upload

LARGEST_REQUEST = 2**20

_NAMES = {"token_normalize_func": lambda name: name.replace("_", "-")}
_COLUMNS = "{:<12} {:>6} {:>8}  {}"


def run_cli(arguments: Sequence[str], build: Callable[[], Engine]) -> int:
    """Run one command and return its exit code."""
    try:
        code = group(build).main(list(arguments), prog_name="launch.py", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (BadRequest, ModelMissing) as error:
        return _say(str(error), 2)
    except GlassworkError as error:
        return _say(str(error), 130 if isinstance(error, Cancelled) else 1)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.exceptions.NoSuchOption as error:
        return _say(_no_such_option(error), 2)
    except click.ClickException as error:
        return _say(error.format_message(), 2)
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not fail again when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (click.Abort, KeyboardInterrupt):
        return _say("Stopped.", 130)
    except Exception as error:
        return _say(told(error), 1)


def group(build: Callable[[], Engine]) -> click.Group:
    """Return the commands. `build` makes the engine when the first command needs it."""
    main = click.Group(
        "launch.py",
        help=_help(),
        context_settings=_NAMES,
        invoke_without_command=True,
        callback=lambda: _serve(build),
    )
    main.add_command(_methods(build))
    main.add_command(_Run(build))
    main.add_command(_models(build))
    main.add_command(_doctor(build))
    main.add_command(_cache(build))
    return main


def _serve(build: Callable[[], Engine]) -> None:
    """Serve the page, where no command is given, until Ctrl-C."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    engine = build()
    click.echo("Starting.", err=True)
    with libraries_silenced(log_file(engine.settings.home)):
        from app.serve import launch

        page, address = launch(engine)
        click.echo(f"Glasswork is at {address}  (Ctrl-C ends it)")
        try:
            page.block_thread()
        finally:
            page.close(verbose=False)


class _Run(click.Group):
    """`run KEY`: one subcommand per method, made when it is asked for."""

    def __init__(self, build: Callable[[], Engine]) -> None:
        super().__init__("run", help="Run a method and write its result and figures as files.")
        self._build = build

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._build().found.methods)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        engine = self._build()
        return _method_command(engine, engine.found.get(cmd_name.replace("-", "_")))


def _method_command(engine: Engine, method: Method[Any]) -> click.Command:
    params: list[click.Parameter] = [
        click.Option(["--" + name.replace("_", "-"), name], help=field_text(field), metavar="VALUE")
        for name, field in describe(method)["fields"].items()
    ]
    params += [
        click.Option(["--out", "_out"], metavar="DIR", help="Folder to write to."),
        click.Option(["--figures", "_figures"], default="html", help="html or none."),
        click.Option(
            ["--request", "_request"], metavar="FILE", help="A request.json to start from."
        ),
        click.Option(["--link", "_link"], metavar="URL", help="A link to start from."),
    ]

    def callback(
        _out: str | None, _figures: str, _request: str | None, _link: str | None, **given: Any
    ) -> None:
        if _figures not in ("html", "none"):
            raise BadRequest("figures", f"--figures is {_figures!r}; it must be html or none.")
        raw = _start(method, engine, _request, _link)
        options = {name: value for name, value in given.items() if value is not None}
        raw |= _with_uploads(method, options, engine)
        _run_method(engine, method, raw, _out, _figures)

    return click.Command(
        method.key, params=params, callback=callback, help=method.about, context_settings=_NAMES
    )


def _start(
    method: Method[Any], engine: Engine, request: str | None, url: str | None
) -> dict[str, Any]:
    if request is not None and url is not None:
        raise BadRequest("request", "Give --request or --link, not both.")
    if url is not None:
        # A link may come from anyone: it names files by digest, and a path in it is refused.
        return read_link(url, method, engine.store)
    if request is None:
        return {}
    return _read_request(method, Path(request))


def _read_request(method: Method[Any], file: Path) -> dict[str, Any]:
    """Read a request's fields. As a link, it may come from anyone: files are named by digest."""
    shown = str(file)
    try:
        if not file.is_file():
            raise BadRequest("request", f"There is no file {shown!r}.")
        if file.stat().st_size > LARGEST_REQUEST:
            raise BadRequest("request", f"{shown!r} has more than {LARGEST_REQUEST} bytes.")
        fields = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadRequest("request", f"{shown!r} cannot be read as JSON.") from error
    if not isinstance(fields, dict) or fields.pop("method", None) != method.key:
        raise BadRequest("request", f"{shown!r} is not a request of {method.key}.")
    return fields


def _with_uploads(method: Method[Any], raw: dict[str, Any], engine: Engine) -> dict[str, Any]:
    """Put files that are named by path into the uploads; digests pass."""
    fields = dict(raw)
    for name, field in method.request.model_fields.items():
        value = fields.get(name)
        if is_upload(field) and isinstance(value, str) and not value.startswith("sha256:"):
            fields[name] = engine.known.uploads.add(Path(value), name)
    return fields


def _run_method(
    engine: Engine, method: Method[Any], raw: dict[str, Any], out: str | None, figures: str
) -> None:
    from views.discovery import figures_of  # It brings plotly.

    request = accept(method, raw, engine.known)
    key = request_key(method, request, engine.known)
    folder = Path(out or f"{method.key}-{key[:8]}")
    if folder.resolve().is_relative_to(engine.disk.root.resolve()):
        raise BadRequest("out", f"{str(folder)!r} is inside the cache.")
    with libraries_silenced(log_file(engine.settings.home)) as terminal, _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        line = ProgressLine(terminal)
        stored = _follow(engine.runner.submit(method, request), line)
        with _alone(engine, folder):
            write_result(folder, method, request, key, stored)
            if figures == "html":
                lines = (provenance_line(method, stored.provenance), command(method, request))
                write_figures(folder, figures_of(method.key), stored.result, lines)
            elif (folder / "figures").is_dir():
                remove_figures(folder, figures_of(method.key))
        line.done(stored.hit, stored.counts)
    click.echo(f"{folder}")
    click.echo(command(method, request))
    click.echo(link(method, request, key))


def _alone(engine: Engine, folder: Path) -> FileLock:
    """Let one run at a time write into a folder, so that its files belong together."""
    name = fingerprint("out", {"folder": str(folder.resolve())})
    locks = engine.settings.home / "locks"
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileLock(locks / f"{name}.lock")


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = Path(error.filename or "/")
        if not (place.is_relative_to(folder) or folder.is_relative_to(place)):
            raise
        raise BadRequest("out", f"{str(folder)!r} cannot be written: {error.strerror}.") from error


def _follow(job: Any, line: ProgressLine) -> Stored:
    try:
        for progress in job.events():
            line.show(progress)
        result: Stored = job.result()
        return result
    except KeyboardInterrupt:
        job.stop()
        raise Cancelled from None


def _methods(build: Callable[[], Engine]) -> click.Command:
    @click.command("methods", help="List the methods, or one method's fields and results.")
    @click.argument("key", required=False)
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    def methods(key: str | None, as_json: bool) -> None:
        found = build().found
        if key is None:
            rows = {m.key: m.about for m in found.methods.values()}
            click.echo(json.dumps(rows, indent=2) if as_json else two_columns(rows))
            return
        method = found.get(key.replace("-", "_"))
        described = describe(method)
        text = json.dumps(described, indent=2) if as_json else readable(method.about, described)
        click.echo(text)

    return methods


def _models(build: Callable[[], Engine]) -> click.Command:
    models = click.Group("models", help="Language models.", context_settings=_NAMES)

    @models.command("list", help="List the models and whether they are ready.")
    def list_() -> None:
        entries = build().known.catalog.entries()
        row = f"{{:<{max(len(e.id) for e in entries)}}} {_COLUMNS}".format
        click.echo(row("model", "state", "layers", "MB", "license, or why not"))
        for e in entries:
            size = "" if e.bytes is None else f"{e.bytes / 1e6:.0f}"
            layers = "" if e.layers is None else str(e.layers)
            click.echo(row(e.id, e.state, layers, size, e.why or e.license or "license unknown"))

    @models.command("download", help="Download a model of the Hugging Face hub (owner/name).")
    @click.argument("model", metavar="ID")
    def download(model: str) -> None:
        engine = build()
        known = {e.id: e for e in engine.known.catalog.entries()}.get(model)
        if known is not None and known.source != "hub":
            raise BadRequest("model", f"{model!r} is here already and is no model of the hub.")
        if known is not None and known.state == "ready":
            click.echo(f"{model} is here already, at revision {known.revision}.")
            return
        with libraries_silenced(log_file(engine.settings.home)) as terminal:
            line = ProgressLine(terminal)

            def show(done: int, total: int) -> None:
                note = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB"
                line.show(Progress(done, total, note))

            record = hub.download(model, engine.settings.home, show=show)
            line.done(False, {})
        click.echo(f"{model} is ready, at revision {record.revision}.")

    @models.command("delete", help="Delete a model that was downloaded.")
    @click.argument("model", metavar="ID")
    def delete(model: str) -> None:
        hub.delete(model, build().settings.home)
        click.echo(f"{model} is deleted.")

    return models


def _doctor(build: Callable[[], Engine]) -> click.Command:
    @click.command("doctor", help="Show versions, devices, cache, models, and parity.")
    @click.option("--quick", is_flag=True, help="Do not load the model.")
    def doctor(quick: bool) -> None:
        engine = build()
        well = True
        with libraries_silenced(log_file(engine.settings.home)):
            for name, finding, is_well in checks.lines(engine, with_parity=not quick):
                click.echo(f"{'ok ' if is_well else 'NO '} {name:<20} {finding}")
                well &= is_well
        if not well:
            raise click.exceptions.Exit(1)

    return doctor


def _cache(build: Callable[[], Engine]) -> click.Command:
    cache = click.Group("cache", help="The cache on disk.")

    @cache.command("show", help="Show what the cache holds.")
    def show() -> None:
        usage = build().disk.usage()
        click.echo(
            f"{usage.entries} entries, {usage.bytes / 1e6:.1f} MB of {usage.limit / 1e6:.0f}"
        )
        for kind, (count, size) in sorted(usage.by_kind.items()):
            click.echo(f"  {kind:<32} {count:>7} {size / 1e6:>10.1f} MB")

    @cache.command("clear", help="Delete everything that was computed; uploads stay.")
    def clear() -> None:
        click.echo(f"{build().disk.clear()} entries deleted")

    @cache.command("verify", help="Read every file and compare it with the index.")
    def verify() -> None:
        report = build().disk.verify()
        for name in ("corrupt", "missing", "unindexed", "stale"):
            for each in getattr(report, name):
                click.echo(f"{name}: {each}")
        click.echo(f"{report.checked} files checked, {'clean' if report.clean else 'NOT clean'}")
        if not report.clean:
            raise click.exceptions.Exit(1)

    return cache


def _help() -> str:
    settings = "\n".join(f"{PREFIX}{s.name}: {s.help}." for s in SETTINGS)
    about = "Glasswork: what happens inside a language model. Without a command: serve the page."
    return f"{about}\n\n\b\nSettings\n{settings}"


def _no_such_option(error: click.exceptions.NoSuchOption) -> str:
    options = error.ctx.command.params if error.ctx else []
    names = ", ".join(p.opts[0] for p in options if isinstance(p, click.Option))
    return f"Option {error.option_name} is unknown; there are: {names}."


def _say(text: str, code: int) -> int:
    sys.stderr.write(" ".join(text.split()) + "\n")
    return code
