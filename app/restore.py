"""From a link to a request that can be shown: what cannot be accepted becomes the example's value.

Each replacement is named in a sentence. Nothing is computed or downloaded here: a link may come
from anyone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.links import look_of, request_fields
from backends.accept import accept
from backends.contract import Known, Method, Request
from backends.errors import BadRequest, GlassworkError
from cache import Store

MOST_SENTENCES = 8
LONGEST_SENTENCE = 300


@dataclass(frozen=True)
class Restored:
    """What a link asks for: a request that was accepted, a look, and what had to be replaced.

    `request` is None where not even the example can be accepted (its model is not here).
    """

    request: Request | None
    look: dict[str, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)


def restored(method: Method[Any], query: Mapping[str, str], known: Known, store: Store) -> Restored:
    """Read the query of a link to this method, or of none."""
    is_ours = query.get("method") == method.key
    if not is_ours:
        request, sentences = repaired(method, {}, known)
        return Restored(request, {}, sentences)
    try:
        raw = request_fields(query, method, store)
    except BadRequest as error:
        request, more = repaired(method, {}, known)
        return Restored(request, look_of(query), [f"{error} The example is shown.", *more])
    request, sentences = repaired(method, raw, known)
    return Restored(request, look_of(query), sentences)


def repaired(
    method: Method[Any], raw: Mapping[str, Any], known: Known
) -> tuple[Request | None, list[str]]:
    """Return the request of raw fields, with the example's values where they are not accepted."""
    example = method.example.model_dump(mode="json")
    own = {name: value for name, value in raw.items() if name in example}
    sentences = _left_out([name for name in raw if name not in example])
    fields = own or dict(example)
    while True:
        try:
            return accept(method, fields, known), sentences[:MOST_SENTENCES]
        except GlassworkError as error:
            culprit = error.field if isinstance(error, BadRequest) else "model"
            if fields == example:
                return None, [*sentences[: MOST_SENTENCES - 1], _cut(str(error))]
            if culprit in fields and fields[culprit] != example[culprit]:
                fields[culprit] = example[culprit]
                sentences.append(f"{_cut(str(error))} It was replaced.")
            else:
                fields = dict(example)
                sentences.append(f"{_cut(str(error))} The example is shown.")


def _left_out(names: list[str]) -> list[str]:
    """Name all unknown fields at once: to try them one by one takes minutes for thousands."""
    if not names:
        return []
    listed = ", ".join(repr(name[:40]) for name in names[:MOST_SENTENCES])
    more = f" and {len(names) - MOST_SENTENCES:,} more" if len(names) > MOST_SENTENCES else ""
    return [f"What is unknown here was left out: {listed}{more}."]


def _cut(sentence: str) -> str:
    """Return a sentence about a link, which may quote as much as its author likes, cut to size."""
    return sentence if len(sentence) <= LONGEST_SENTENCE else f"{sentence[:LONGEST_SENTENCE]}…"
