"""Sentences of the page as HTML: progress, what went wrong, banners. Every text is escaped."""

import html
import logging
import secrets
import traceback
from collections.abc import Sequence
from typing import Any

from backends.errors import GlassworkError
from backends.jobs.base import Stored
from backends.watch import Progress

log = logging.getLogger("glasswork.page")


def message(text: str) -> str:
    """Return a plain sentence for the status line."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def told(error: BaseException) -> str:
    """Return the sentence of an error; what is not meant for users goes to the log under an id.

    The log gets a fault's type and place. Its message may hold text of a user and is left out.
    """
    if isinstance(error, GlassworkError):
        return str(error)
    number = secrets.token_hex(2)
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("id %s: %s\n%s", number, type(error).__name__, where)
    return f"Something went wrong (id {number}); the log has the details."


def problem(text: str) -> str:
    """Return a sentence about something that went wrong."""
    return f"<p class='gw-error' role='alert'>{html.escape(text)}</p>"


def banner(sentences: Sequence[str]) -> str:
    """Return what stands above a tool when a link could not be followed in all."""
    if not sentences:
        return ""
    lines = "".join(f"<li>{html.escape(each)}</li>" for each in sentences)
    return f"<div class='gw-banner' role='alert'><ul>{lines}</ul></div>"


def progress(state: Progress) -> str:
    """Return what is being done, how far it is, and the time left."""
    facts = [state.note or "starting"]
    share = min(1.0, state.done / state.total) if state.total else None
    if share is not None:
        facts.append(f"{100 * share:.0f} %")
    if state.seconds_left is not None:
        facts.append(f"about {duration(state.seconds_left)} left")
    bar = "" if share is None else f"<progress max='1' value='{share:.3f}'></progress>"
    return f"<p>{html.escape(' · '.join(facts))}</p>{bar}"


def done(stored: Stored) -> str:
    """Return that a result is there, and what was computed for it."""
    if stored.hit:
        return message("Recalled; nothing was computed.")
    counts = [
        f"{n} {name.replace('_', ' ')}"
        for name, n in sorted(stored.counts.items())
        if not name.startswith("results")
    ]
    return message(f"Done: {', '.join(counts)}." if counts else "Done.")


def duration(seconds: float) -> str:
    """Return a time as people say it: seconds, minutes, or hours and minutes."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def quiet(text: str) -> str:
    """Return a sentence in the secondary color."""
    return f"<p class='gw-secondary'>{html.escape(text)}</p>"


def right(info: str | None) -> dict[str, Any]:
    """Return a field's look when nothing is wrong with it."""
    return {"info": info, "elem_classes": ["gw-field"]}


def wrong(sentence: str) -> dict[str, Any]:
    """Return a field's look with the sentence that says what is wrong with it."""
    return {"info": sentence, "elem_classes": ["gw-field", "gw-wrong"], "visible": True}
