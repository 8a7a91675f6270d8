"""What a tool's page shows for a result: values for its figures, controls and foot."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict
from urllib.parse import urlencode

from app.export import provenance_line
from app.links import LONGEST_LOOK, LOOK, command, link
from app.tool_page import ToolPage
from backends.contract import Request
from backends.jobs.base import Stored
from views.contract import View
from views.figure import sentence_figure
from views.slot import is_slot, show, shown

Updates = dict[Any, Any]


class Shown(TypedDict, total=False):
    """What a session shows: a request's fingerprint and fields. Empty before the first result."""

    key: str
    request: dict[str, Any]


def fitted(page: ToolPage, result: Any, look: Mapping[str, Any]) -> tuple[dict[str, Any], Updates]:
    """Return the look in force for a result, and what the controls then offer and hold."""
    import gradio as gr

    props = {name: _slidable(p) for name, p in page.panel.fit(result, look).items()}
    in_force = {name: look.get(name) for name in page.panel.look}
    in_force |= {name: p["value"] for name, p in props.items() if "value" in p}
    return in_force, {page.panel.look[name]: gr.update(**p) for name, p in props.items()}


def _slidable(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return a control's properties; a slider with one place to stand stands still."""
    low, high = props.get("minimum"), props.get("maximum")
    if low is None or high is None:
        return dict(props)
    stands_still = high <= low
    return {**props, "maximum": low + 1 if stands_still else high, "interactive": not stands_still}


def drawn(
    page: ToolPage,
    result: Any,
    look: Mapping[str, Any],
    views: Sequence[View] | None = None,
    preliminary: bool = False,
) -> Updates:
    """Draw a result into all views of a tool, or into some."""
    chosen = page.panel.views if views is None else views
    return {view.place: value(view, result, look, preliminary) for view in chosen}


def value(view: View, result: Any, look: Mapping[str, Any], preliminary: bool = False) -> Any:
    """Return what a view's place takes."""
    import gradio as gr

    if is_slot(view.place):
        return shown(view, result, look, preliminary)
    drawing = view.draw(result, look)
    return gr.update(visible=False) if drawing is None else gr.update(value=drawing, visible=True)


def placeholder(page: ToolPage, sentence: str) -> Updates:
    """Return a tool's figures before its first result: one sentence in the first one's place."""
    updates: Updates = {}
    for view in page.panel.views:
        if is_slot(view.place):
            updates[view.place] = "" if updates else show(sentence_figure(sentence))
    return updates


def foot(
    page: ToolPage, request: Request, key: str, stored: Stored, look: Mapping[str, Any]
) -> str:
    """Return what stands under the figures: provenance, link, command line, export."""
    method = page.tool.method
    default, _ = fitted(page, stored.result, {})
    changed = {
        name: value
        for name, value in look.items()
        if value not in (None, "", default.get(name)) and len(str(value)) <= LONGEST_LOOK
    }
    query = urlencode({"method": method.key} | {LOOK + k: v for k, v in changed.items()})
    return json.dumps(
        {
            "provenance": provenance_line(method, stored.provenance),
            "link": link(method, request, key, changed),
            "command": command(method, request),
            "export": f"workbench-results/{key}.zip?{query}",
        }
    )
