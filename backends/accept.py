"""The one way from raw fields to a request: parse by the fields' types, then the method's check.

The page, links, the command line, the API and workers all come through here, so the same mistake
gets the same sentence everywhere: it names the value and the allowed range.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from backends.contract import Known, Method, R
from backends.errors import BadRequest
from cache import fingerprint


def accept(method: Method[R], raw: Mapping[str, Any], known: Known) -> R:
    """Return a checked request. Raise `BadRequest` or `ModelMissing`; nothing is loaded."""
    try:
        request = method.request.model_validate(dict(raw))
    except ValidationError as error:
        raise _bad(method, error.errors()[0]) from None
    if method.requires and (model := getattr(request, "model", None)):
        _check_capabilities(method, model, known)
    method.check(request, known)
    return request


def _check_capabilities(method: Method[Any], model: str, known: Known) -> None:
    lacking = [c for c in method.requires if c not in known.catalog.get(model).capabilities]
    if lacking:
        raise BadRequest(
            "model", f"Model {model!r} lacks what {method.key} needs: {', '.join(lacking)}."
        )


def request_key(method: Method[Any], request: Any, known: Known) -> str:
    """Return a request's fingerprint: the name of its result, its job and its link."""
    fields = request.model_dump(mode="json")
    if model := fields.get("model"):
        fields["revision"] = known.catalog.ref(model, fields["dtype"]).revision
    return fingerprint(method.kind, fields)


def _bad(method: Method[Any], detail: ErrorDetails) -> BadRequest:
    where = [part for part in detail["loc"] if isinstance(part, str)]
    field = where[0] if where else "request"
    title = f"Field {field!r}"
    return BadRequest(field, _sentence(method, title, field, detail))


def _sentence(method: Method[Any], title: str, field: str, detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    value = _short(detail.get("input"))
    limits = {
        "greater_than_equal": ("ge", "at least"),
        "greater_than": ("gt", "above"),
        "less_than_equal": ("le", "at most"),
        "less_than": ("lt", "below"),
    }
    if kind == "extra_forbidden":
        names = ", ".join(method.request.model_fields)
        return f"Field {field!r} is unknown; {method.key} has: {names}."
    if kind == "missing":
        return f"{title} is needed."
    if kind == "literal_error":
        return f"{title} is {value}; it must be {context['expected']}."
    if kind in limits:
        key, word = limits[kind]
        return f"{title} is {value}; it must be {word} {context[key]}."
    if kind == "string_too_short" and context.get("min_length") == 1:
        return f"{title} is empty."
    if kind in ("string_too_short", "string_too_long"):
        bound = context.get("min_length", context.get("max_length"))
        word = "at least" if kind == "string_too_short" else "at most"
        length = len(detail["input"])
        return f"{title} has {length} characters; it must have {word} {bound}."
    whole = dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number")
    whole |= {"float_parsing": "a number", "bool_parsing": "true or false"}
    if kind in whole:
        return f"{title} is {value}; it must be {whole[kind]}."
    if kind == "value_error" and not detail["loc"]:
        sentence = str(context["error"])
        return f"{sentence[0].upper()}{sentence[1:]}."
    if kind == "value_error":
        return f"{title}: {context['error']}."
    return f"{title} is {value}: {detail['msg'][0].lower()}{detail['msg'][1:]}."


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
