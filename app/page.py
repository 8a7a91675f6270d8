"""The page: five tabs of tools by discovery, then the models and the status."""

from collections.abc import Callable, Mapping
from typing import Any

from app.api import add_endpoints
from app.engine import Engine
from app.events import AT_ONCE, connect
from app.models_page import build_models
from app.status import Shown, build_status
from app.tool_page import build_tool
from app.wiring import Wiring
from views.contract import Tool
from views.discovery import find_tools
from views.tabs import TABS

TITLE = "Glasswork"


def build_page(
    engine: Engine,
    tools: Mapping[str, Tool] | None = None,
    opened: Callable[[], None] = lambda: None,
) -> Any:
    """Return the page of an engine. No model library is imported, nothing is computed.

    `opened` is called each time someone opens the page.
    """
    import gradio as gr

    found = find_tools() if tools is None else tools
    by_tab = {tab.key: [t for t in found.values() if t.tab == tab.key] for tab in TABS}
    first = next((tool for tab in TABS for tool in by_tab[tab.key]), None)
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True,
                   delete_cache=(3600, 86400)) as page:  # fmt: skip
        gr.HTML(f"<h1 class='gw-title'>{TITLE}</h1>")
        inner: dict[str, Any] = {}
        tabs: list[tuple[Any, Shown | None]] = []
        abouts: list[Any] = []
        with gr.Tabs(selected=first.tab if first else TABS[0].key, elem_id="tabs") as outer:
            for tab in TABS:
                with gr.Tab(tab.title, id=tab.key, elem_id=f"tab-{tab.key}") as place:
                    inner[tab.key] = _tab(
                        engine, tab.sentence, by_tab[tab.key], first, found, abouts
                    )
                tabs.append((place, None))
            for key, build in (("models", build_models), ("status", build_status)):
                with gr.Tab(key.capitalize(), id=key, elem_id=f"tab-{key}") as place:
                    tabs.append((place, build(engine)))
        _refresh(tabs)
        _choose(page, found, outer, inner, opened)
        _explain(page, abouts)
        add_endpoints(engine)
    return page


def _tab(
    engine: Engine,
    sentence: str,
    tools: list[Tool],
    first: Tool | None,
    found: Mapping[str, Tool],
    abouts: list[Any],
) -> Any:
    import gradio as gr

    if not tools:
        gr.HTML(f"<p class='gw-empty'>{sentence}</p>")
        return None
    with gr.Tabs(elem_id=f"tools-{tools[0].tab}", elem_classes=["gw-tools"]) as inner:
        for tool in tools:
            key = tool.method.key
            with gr.Tab(tool.title, id=key, elem_id=f"tool-{key}") as tab:
                content = build_tool(tool, engine.known)
                wiring = Wiring(engine, content, tool is first, found)
            abouts.append(content.about)
            connect(wiring, tab)
    return inner


def _refresh(tabs: list[tuple[Any, Shown | None]]) -> None:
    """Keep what a tab shows fresh while it is the one that is shown."""
    for place, content in tabs:
        if content is not None:
            place.select(content.show, None, content.outputs, **AT_ONCE)
    for _, content in tabs:
        if content is None or content.hide is None:
            continue
        for other, itself in tabs:
            if itself is not content:
                other.select(content.hide, None, [content.timer], **AT_ONCE)


def _explain(page: Any, abouts: list[Any]) -> None:
    """Unfold the explanations at a browser's first visit, which is all that it keeps of it."""
    import gradio as gr

    seen = gr.BrowserState(False, storage_key="glasswork-seen", secret="glasswork")

    def unfolded(was_here: bool) -> list[Any]:
        return [True, *(gr.Accordion(open=not was_here) for _ in abouts)]

    page.load(unfolded, [seen], [seen, *abouts], **AT_ONCE)


def _choose(
    page: Any,
    tools: Mapping[str, Tool],
    outer: Any,
    inner: dict[str, Any],
    opened: Callable[[], None],
) -> None:
    """Let a link choose tab and tool, when the page is opened."""
    import gradio as gr

    places = [place for place in inner.values() if place is not None]

    def chosen(request: gr.Request) -> dict[Any, Any]:
        opened()
        tool = tools.get(request.query_params.get("method", ""))
        if tool is None:
            return {outer: gr.skip()}
        return {
            outer: gr.Tabs(selected=tool.tab),
            inner[tool.tab]: gr.Tabs(selected=tool.method.key),
        }

    page.load(chosen, None, [outer, *places], **AT_ONCE)
