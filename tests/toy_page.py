"""The toy's page without a browser: its components, and handlers called as plain functions."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import gradio as gr

from app.engine import Engine
from app.tool_page import ToolPage, build_tool
from app.wiring import Wiring
from tests.toy_methods.toy import METHOD
from views.discovery import find_tools

Made = TypeVar("Made")
LOOK: Mapping[str, Any] = {"step": None, "picked": "", "chosen": ""}


def toy_wiring(engine: Engine, is_first: bool = False) -> Wiring:
    """Draw the toy's page for an engine, which then knows the toy, and return its wiring."""
    engine.found.methods["toy"] = METHOD
    tool = find_tools("tests.toy_tools")["toy"]

    def build() -> Wiring:
        with gr.Blocks(analytics_enabled=False):
            return Wiring(engine, build_tool(tool, engine.known), is_first)

    return in_a_loop(build)


def in_a_loop(build: Callable[[], Made]) -> Made:
    """Build in a running loop; without one, each `gr.Blocks` leaves two loops unclosed."""

    async def made() -> Made:
        return build()

    return asyncio.run(made())


NOTHING = {"__type__": "update"}


@dataclass
class Visitor:
    """One open page: its session's states, and what its components show."""

    wiring: Wiring
    seen: dict[Any, Any] = field(default_factory=dict)

    @property
    def page(self) -> ToolPage:
        """The components."""
        return self.wiring.page

    @property
    def shown(self) -> Any:
        """The request that is shown."""
        return self.seen.get(self.page.shown, {})

    @property
    def running(self) -> str:
        """The id of the run."""
        return str(self.seen.get(self.page.running, ""))

    @property
    def status(self) -> str:
        """What stands under the button."""
        return str(self.seen.get(self.page.status, ""))

    def place(self, elem_id: str) -> Any:
        """Return what the component with this id shows, its update where that is one."""
        return next((v for c, v in self.seen.items() if c.elem_id == elem_id), None)

    def see(self, updates: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Take an answer of the server as the browser does."""
        for component, update in updates.items():
            if update == NOTHING:
                continue
            if isinstance(update, dict) and update.get("__type__") == "update":
                before = self.seen.get(component)
                known = before if isinstance(before, dict) else {}
                self.seen[component] = known | update
            else:
                self.seen[component] = update
        return updates

    def run(self, goes_on: bool = False, look: Mapping[str, Any] = LOOK,
            **form: Any) -> Iterator[Mapping[Any, Any]]:  # fmt: skip
        """Press Run; each answer is seen."""
        given = {**METHOD.example.model_dump(), **form}
        values = [given[name] for name in self.page.form] + list({**LOOK, **look}.values())
        yield from self._watch(self.wiring.run(goes_on, self.shown, *values))

    def visit(self, query: Mapping[str, str], visits: int = 0) -> Iterator[Mapping[Any, Any]]:
        """Open the tool's tab with a query."""
        yield from self._watch(self.wiring.visit(query, visits))

    def relook(self, name: str, **look: Any) -> Mapping[Any, Any]:
        """Move a control."""
        values = {**LOOK, **look}.values()
        return self.see(self.wiring.relook(name, self.shown, self.running, *values))

    def pick(self, name: str, keys: Any, **look: Any) -> Mapping[Any, Any]:
        """Click a point, or select some."""
        values = {**LOOK, **look}.values()
        return self.see(self.wiring.pick(name, keys, self.shown, self.running, *values))

    def advance(self, **look: Any) -> Mapping[Any, Any]:
        """Let the slider play."""
        values = {**LOOK, **look}.values()
        return self.see(self.wiring.advance(self.shown, self.running, *values))

    def ask(self, **look: Any) -> Iterator[Mapping[Any, Any]]:
        """Ask for the follow-up request."""
        follow_up, values = self.page.panel.follow_ups[0], {**LOOK, **look}.values()
        yield from self._watch(self.wiring.ask(follow_up, self.shown, *values))

    def stop(self) -> Mapping[Any, Any]:
        """Press Stop."""
        return self.see(self.wiring.stop(self.running))

    def _watch(self, steps: Iterator[Mapping[Any, Any]]) -> Iterator[Mapping[Any, Any]]:
        try:
            for updates in steps:
                yield self.see(updates)
        finally:
            steps.close()  # type: ignore[attr-defined]


def finish(steps: Iterator[Any]) -> list[Any]:
    """Return all answers that change something."""
    return [each for each in steps if any(update != NOTHING for update in each.values())]


def until(condition: Any, seconds: float = 5.0) -> bool:
    """Wait until a condition holds, and say whether it does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())
