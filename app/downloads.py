"""`GET /workbench-results/<fingerprint>.zip`: a stored result and its figures, as one file.

The name of a result is its fingerprint, so whoever asks has seen it. Only stored results are given
out; nothing is computed.
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.bundle import export_zip
from app.engine import Engine
from app.export import provenance_line
from app.links import command, look_of
from app.messages import told
from app.notes import Notes
from backends.accept import accept
from backends.errors import BadRequest, GlassworkError
from views.discovery import figures_of

if TYPE_CHECKING:
    from starlette.requests import Request as WebRequest
    from starlette.responses import Response
    from starlette.routing import Route


def export_route(engine: Engine) -> "Route":
    """Return the route that exports a stored result with the look that the query names."""
    from starlette.background import BackgroundTask
    from starlette.responses import FileResponse, PlainTextResponse
    from starlette.routing import Route

    def answer(request: "WebRequest") -> "Response":
        folder = tempfile.TemporaryDirectory(prefix="glasswork-export-")
        try:
            look = look_of(request.query_params)
            file = exported(engine, request.path_params["key"], look, Path(folder.name))
        except GlassworkError as error:
            folder.cleanup()
            return PlainTextResponse(str(error), 404)
        except Exception as error:
            folder.cleanup()
            return PlainTextResponse(told(error), 500)
        return FileResponse(file, filename=file.name, background=BackgroundTask(folder.cleanup))

    return Route("/workbench-results/{key}.zip", answer)


def exported(engine: Engine, key: str, look: Mapping[str, Any], folder: Path) -> Path:
    """Write the zip of a stored result. Raise `BadRequest` for a name without one."""
    found = engine.store.find_request(key) if re.fullmatch(r"[0-9a-f]{64}", key) else None
    if found is None:
        raise BadRequest("link", f"There is no result {key[:12]!r} on this machine.")
    method = engine.found.get(found[0])
    request = accept(method, found[1], engine.known)
    stored = engine.runner.recall(method, key)
    if stored is None:
        raise BadRequest("link", f"The result {key[:12]!r} left the cache; run it again.")
    lines = (provenance_line(method, stored.provenance), command(method, request))
    notes = Notes(engine.settings.home).get(key)
    return export_zip(
        folder, method, request, key, stored, figures_of(method.key), look, lines, notes
    )
