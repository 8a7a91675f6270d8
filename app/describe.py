"""What a method takes and gives, as one JSON object and as text for people."""

import json
from typing import Any

from backends.codec import array_fields, value_fields
from backends.contract import Method

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "maxLength": "at most {} characters",
}


def describe(method: Method[Any]) -> dict[str, Any]:
    """Return what a method takes and gives: fields with defaults and ranges, arrays with axes."""
    schema = method.request.model_json_schema()["properties"]
    hidden = {"title"}
    fields = {
        name: {k: v for k, v in field.items() if k not in hidden} for name, field in schema.items()
    }
    return {
        "key": method.key,
        "version": method.version,
        "fields": fields,
        "example": method.example.model_dump(mode="json"),
        "arrays": array_fields(method.result),
        "values": value_fields(method.result),
    }


def readable(about: str, described: dict[str, Any]) -> str:
    """Return a method's description as text."""
    rows = {f"--{n.replace('_', '-')}": field_text(f) for n, f in described["fields"].items()}
    arrays = {name: " × ".join(axes) or "one number" for name, axes in described["arrays"].items()}
    return "\n".join(
        [
            f"{described['key']}, version {described['version']}",
            about,
            "",
            "Fields",
            two_columns(rows),
            "",
            "Arrays and their axes",
            two_columns(arrays),
            "",
            "Values",
            "  " + ", ".join(described["values"]),
        ]
    )


def field_text(field: dict[str, Any]) -> str:
    """Return one line on a field of a request's JSON schema: meaning, choices or range, default."""
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    closed = all("enum" in kind or "const" in kind for kind in kinds)
    choices = [c for kind in kinds for c in kind.get("enum", [kind.get("const")])] if closed else []
    facts = [", ".join(map(str, choices))] if choices else []
    facts += [text.format(k[b]) for b, text in _BOUNDS.items() for k in kinds if b in k]
    if "default" not in field:
        facts.append("needed")
    elif field["default"] not in (None, ""):
        facts.append(f"default {json.dumps(field['default']).strip(chr(34))}")
    text = str(field.get("description", ""))
    return f"{text} ({'; '.join(facts)})" if facts else text


def two_columns(rows: dict[str, str]) -> str:
    """Return names and texts in two columns."""
    width = max((len(name) for name in rows), default=0)
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in rows.items())
