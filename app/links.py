"""A request as a query string and as a command line, and back from both.

A link carries the request's own fields (`?method=knowledge_map&domain=drug`), so it is readable
and stays true after a restart. A long one names the fingerprint (`?method=…&r=…`), which only the
machine that stored the request can resolve. `look.<name>` is what changes the picture only.
"""

import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from backends.contract import Method, Request
from backends.errors import BadRequest
from cache import Store

LONGEST = 1_500
LONGEST_LOOK = 1_500
"""A longer look (a selection of hundreds of points) is in no link: it would be too long to open."""
LOOK = "look."


def changed_fields(method: Method[Any], request: Request) -> dict[str, str]:
    """Return, as text, the fields in which a request differs from the method's defaults."""
    defaults = {name: f.default for name, f in method.request.model_fields.items()}
    fields = request.model_dump(mode="json")
    return {name: _text(value) for name, value in fields.items() if value != defaults[name]}


def link(
    method: Method[Any], request: Request, key: str, look: Mapping[str, Any] | None = None
) -> str:
    """Return the query string of a request, with the look that differs from the default."""
    changed = {LOOK + name: _text(value) for name, value in (look or {}).items()}
    query = "?" + urlencode({"method": method.key} | changed_fields(method, request) | changed)
    if len(query) <= LONGEST:
        return query
    return "?" + urlencode({"method": method.key, "r": key} | changed)


def command(method: Method[Any], request: Request) -> str:
    """Return the command line of a request."""
    options = [
        f"--{name.replace('_', '-')} {shlex.quote(value)}"
        for name, value in changed_fields(method, request).items()
    ]
    return " ".join(["python launch.py run", method.key, *options])


def read_link(text: str, method: Method[Any], store: Store) -> dict[str, Any]:
    """Return the raw fields of a link to this method. Raise `BadRequest` for another one."""
    query = text.partition("?")[2].partition("#")[0]
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    if not pairs:
        raise BadRequest(
            "link", f"The link {text[:80]!r} has no fields; it must have ?method={method.key}."
        )
    return request_fields(pairs, method, store)


def request_fields(pairs: Mapping[str, str], method: Method[Any], store: Store) -> dict[str, Any]:
    """Return the raw fields that a query holds, or those of the fingerprint that it names.

    Names that begin with two underscores are Gradio's own (`__theme`). Raise `BadRequest` for a
    link to another method or a fingerprint that this machine does not know.
    """
    named = pairs.get("method", method.key)
    if named != method.key:
        raise BadRequest("link", f"The link is for method {named[:40]!r}, not {method.key!r}.")
    key = pairs.get("r")
    if key is None:
        left_out = (LOOK, "__")
        own = {k: v for k, v in pairs.items() if not k.startswith(left_out)}
        return {k: v for k, v in own.items() if k != "method"}
    found = store.find_request(key)
    if found is None or found[0] != method.key:
        raise BadRequest("link", f"The request {key[:12]!r} is not known on this machine.")
    return found[1]


def look_of(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return the look that a query asks for; its values are text and may be wrong."""
    return {k.removeprefix(LOOK): v for k, v in pairs.items() if k.startswith(LOOK)}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
