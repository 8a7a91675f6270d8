"""Form pieces: one component for each field of a request, made from what the request declares."""

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from backends.contract import Known, Method, UploadMark
from backends.models.catalog import ModelEntry

MOST_RADIO = 3
STATES = {"ready": "", "downloadable": " (to be downloaded)", "missing": " (not here)"}


def is_upload(field: FieldInfo) -> bool:
    """Say whether a request's field holds an uploaded file."""
    marked = any(isinstance(m, UploadMark) for m in field.metadata)
    return marked or "UploadMark" in repr(field.annotation)


def component(
    method: Method[Any], name: str, known: Known, offered: Mapping[str, Any] | None = None
) -> Any:
    """Return the component of a field, holding the example's value.

    `offered` is what a tool's `adapt` says of the field: one with choices becomes a list of them.
    """
    import gradio as gr

    field = method.request.model_fields[name]
    common = {
        "label": label(name),
        "info": hint(name, field),
        "value": plain(getattr(method.example, name)),
        "elem_id": f"{method.key}-{name.replace('_', '-')}",
        "elem_classes": ["gw-field"],
        "interactive": True,
    }
    if name == "model":
        return gr.Dropdown(choices=model_choices(method, known), filterable=True, **common)
    if offered and "choices" in offered:
        return gr.Dropdown(**{**common, **offered})
    choices = literal_choices(field.annotation)
    kinds = set(_parts(field.annotation))
    if choices and len(choices) <= MOST_RADIO and type(None) not in kinds:
        return gr.Radio(choices, **common)
    if choices:
        return gr.Dropdown(choices, **common)
    if bool in kinds:
        return gr.Checkbox(**common)
    if kinds & {int, float} and not is_listed(field):
        return gr.Number(precision=0 if int in kinds else None, **common)
    return gr.Textbox(lines=1, max_lines=8, max_length=_longest(field), **common)


def label(name: str) -> str:
    """Return a field's name for people: `prefix_length` is "Prefix length"."""
    return name.replace("_", " ").capitalize()


def hint(name: str, field: FieldInfo) -> str | None:
    """Return what stands under a field's name, unless it says the same."""
    return None if field.description == label(name) else field.description


def plain(value: Any) -> Any:
    """Return a request's value as its component holds it."""
    if isinstance(value, list | tuple):
        return ",".join(str(each) for each in value)
    return value


def model_choices(method: Method[Any], known: Known) -> list[tuple[str, str]]:
    """Return the models that can do what a method needs, each with its state, ready ones first."""
    needed = set(method.requires)
    entries = [e for e in known.catalog.entries() if e.state != "ready" or needed <= e.capabilities]
    entries.sort(key=lambda e: list(STATES).index(e.state))
    return [(_shown(entry), entry.id) for entry in entries]


def _shown(entry: ModelEntry) -> str:
    return f"{entry.id}{STATES[entry.state]}"


def literal_choices(annotation: Any) -> list[str]:
    """Return the choices of a field that allows nothing else; empty for any other field."""
    parts = [p for p in _parts(annotation) if p is not type(None)]
    if not parts or not all(get_origin(p) is Literal for p in parts):
        return []
    return [str(choice) for part in parts for choice in get_args(part)]


def is_listed(field: FieldInfo) -> bool:
    """Say whether a field holds several numbers, which are typed with commas between."""
    return any(get_origin(part) in (tuple, list) for part in _parts(field.annotation))


def _parts(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [inner for part in get_args(annotation) for inner in _parts(part)]
    return [annotation]


def _longest(field: FieldInfo) -> int:
    """Return a generous cap for the browser; the request's own limit speaks in a sentence."""
    limits: list[int] = [m.max_length for m in field.metadata if hasattr(m, "max_length")]
    return max([100_000, *(2 * limit for limit in limits)])


def upload(method: Method[Any], name: str) -> Any:
    """Return the component that takes a file for a field whose own component holds the digest."""
    import gradio as gr

    return gr.File(
        label=label(name),
        elem_id=f"{method.key}-{name.replace('_', '-')}-file",
        elem_classes=["gw-upload"],
        height=84,
    )


def raw(method: Method[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a form's values as raw fields. Empty is not given where the default is empty too.

    Elsewhere an emptied number is given as empty text, so that it is refused, not replaced unseen.
    """
    defaults = {name: field.default for name, field in method.request.model_fields.items()}
    given = {name: "" if value is None else value for name, value in values.items()}
    return {
        name: value
        for name, value in given.items()
        if not (value == "" and defaults[name] in ("", None))
    }
