"""Which event of a tool's page calls what: the same for every tool.

All events are private: the public API is made of explicit endpoints (app/api.py).
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from app.drawing import Shown, Updates
from app.tool_page import ToolPage
from app.wiring import Wiring

QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
FREE = {**QUIET, "concurrency_limit": None}
AT_ONCE = {**QUIET, "queue": False}
FOLLOW = """
(value) => {
  document.querySelectorAll('#KEY-tool .gw-figure').forEach(slot => slot.dispatchEvent(
    new CustomEvent('gw-follow', {detail: {control: 'CONTROL', value: String(value)}})));
}
"""
# A number typed beyond a slider's end would be refused by Gradio with an error everywhere.
CLAMP = """
(...values) => {
  IDS.forEach((id, place) => {
    const slider = id && document.querySelector(`[id="${id}"] input[type=range]`);
    if (slider) values[place] = Math.min(Math.max(values[place], slider.min), slider.max);
  });
  return values;
}
"""
PLAY_SECONDS = 0.7


def connect(wiring: Wiring, tab: Any) -> None:
    """Connect a tool's events; the first visit of `tab` fills its form."""
    import gradio as gr

    page = wiring.page
    form, look = list(page.form.values()), list(page.panel.look.values())
    every = outputs(page)

    def visited(request: gr.Request, visits: int) -> Iterator[Updates]:
        yield from wiring.visit(dict(request.query_params), visits)

    tab.select(visited, [page.visits], every, **FREE)
    page.run.click(wiring.run, [page.goes_on, page.shown, *form, *look], every, **FREE)
    page.stop.click(wiring.stop, [page.running], [page.status], **AT_ONCE)
    _connect_form(wiring, form)
    _connect_look(wiring, look, every)
    _connect_clicks(wiring, look, every)
    if page.panel.play:
        _connect_play(wiring, look, every)


def outputs(page: ToolPage) -> list[Any]:
    """Return all components that a handler may change, each once."""
    panel = page.panel
    own = [page.run, page.stop, page.status, page.banner, page.foot]
    states = [page.shown, page.running, page.visits]
    places = [view.place for view in panel.views] + [each.place for each in panel.follow_ups]
    return list(dict.fromkeys([*own, *states, *page.form.values(), *panel.look.values(), *places]))


def _connect_form(wiring: Wiring, form: list[Any]) -> None:
    page = wiring.page
    after = [*form, *page.uploads.values(), page.status]

    def uploaded(name: str) -> Callable[..., Updates]:
        def handler(file: str | None, *values: Any) -> Updates:
            given = dict(zip(page.form, values, strict=True))
            return wiring.form.uploaded(name, file, given)

        return handler

    def changed(name: str) -> Callable[..., Updates]:
        def handler(*values: Any) -> Updates:
            return wiring.form.changed(dict(zip(page.form, values, strict=True)), name)

        return handler

    for name, place in page.uploads.items():
        place.upload(uploaded(name), [place, *form], after, **QUIET)
        place.clear(uploaded(name), [place, *form], after, **QUIET)
    if page.tool.adapt:
        for name in page.tool.fields:
            event = changed(name)
            page.form[name].input(event, form, after, **AT_ONCE, trigger_mode="always_last")


def _connect_look(wiring: Wiring, look: list[Any], every: list[Any]) -> None:
    page, panel = wiring.page, wiring.page.panel

    def moved(name: str) -> Callable[..., Updates]:
        def handler(shown: Shown, running: str, *values: Any) -> Updates:
            return wiring.relook(name, shown, running, *values)

        return handler

    source = [page.shown, page.running, *look]
    clamp = CLAMP.replace("IDS", json.dumps([each.elem_id for each in source]))
    for name, control in panel.look.items():
        event = control.input(
            moved(name), source, every, **AT_ONCE, trigger_mode="always_last", js=clamp
        )
        _ask_after(wiring, name, event, look, every)
        if any(view.moves_with(name) for view in panel.views):
            script = FOLLOW.replace("KEY", wiring.method.key).replace("CONTROL", name)
            control.change(None, [control], None, js=script, api_visibility="private")


def _connect_clicks(wiring: Wiring, look: list[Any], every: list[Any]) -> None:
    import gradio as gr

    page = wiring.page
    source = [page.shown, page.running, *look]

    def picked(name: str, key: str) -> Callable[..., Updates]:
        def handler(event: gr.EventData, shown: Shown, running: str, *values: Any) -> Updates:
            return wiring.pick(name, getattr(event, key, None), shown, running, *values)

        return handler

    for view in page.panel.views:
        if view.click:
            event = view.place.click(picked(view.click, "key"), source, every, **AT_ONCE)
            _ask_after(wiring, view.click, event, look, every)
        if view.select:
            view.place.select(picked(view.select, "keys"), source, every, **AT_ONCE)


def _ask_after(wiring: Wiring, name: str, event: Any, look: list[Any], every: list[Any]) -> None:
    """Run the follow-up requests of a control after it has moved."""
    for follow_up in wiring.page.panel.follow_ups:
        if follow_up.control == name:

            def ask(shown: Shown, *values: Any, each: Any = follow_up) -> Iterator[Updates]:
                yield from wiring.ask(each, shown, *values)

            source = [wiring.page.shown, *look]
            event.then(ask, source, every, **FREE, trigger_mode="always_last")


def _connect_play(wiring: Wiring, look: list[Any], every: list[Any]) -> None:
    import gradio as gr

    page = wiring.page
    timer, playing = gr.Timer(PLAY_SECONDS, active=False), gr.State(False)

    def toggle(is_playing: bool) -> tuple[bool, Any, Any]:
        label = "Play" if is_playing else "Pause"
        return not is_playing, gr.Timer(active=not is_playing), gr.Button(label)

    button = page.panel.play_button
    button.click(toggle, [playing], [playing, timer, button], **AT_ONCE)
    timer.tick(wiring.advance, [page.shown, page.running, *look], every, **AT_ONCE)
