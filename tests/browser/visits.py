"""Open pages in contexts of their own, and say what went wrong in them.

Nothing may be asked for outside 127.0.0.1, and no page may report an error.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    WebError,
    WebSocket,
)

INSIDE = ("data", "blob", "about")
# What the page says comes in order, so what it said before this is told before this is true.
RESTED = "() => new Promise(done => setTimeout(() => done(true), 50))"
FAILURES = Path(__file__).parent / "failures"


class Served(Protocol):
    """What pages are opened on."""

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""

    def tail(self) -> str:
        """The last lines of the log."""


def stays(address: str) -> bool:
    """Say whether an address is on this machine's loopback or inside the page."""
    parts = urlsplit(address)
    return parts.scheme in INSIDE or parts.hostname == "127.0.0.1"


@dataclass
class Recorder:
    """What pages asked for and complained about.

    A test that expects a complaint or an address puts a piece of it into `expected`.
    """

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Record what happens on every page of a context."""
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", self._uncaught)
        context.on("page", lambda page: page.on("websocket", self._socket))

    def outside(self) -> list[str]:
        """Return the addresses that are not on this machine."""
        return [address for address in self.requests if not stays(address)]

    def problems(self) -> list[str]:
        """Return outside addresses and errors that no test expects."""
        found = [*(f"asked for {address}" for address in self.outside()), *self.errors]
        return [text for text in found if not any(piece in text for piece in self.expected)]

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _socket(self, socket: WebSocket) -> None:
        self.requests.append(socket.url)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _uncaught(self, error: WebError) -> None:
        self.errors.append(f"uncaught: {error.error} {error.error.stack}")


@dataclass
class Visits:
    """The pages that one test opens."""

    browser: Browser
    server: Served
    recorder: Recorder = field(default_factory=Recorder)
    pages: list[Page] = field(default_factory=list)

    def open(
        self, path: str = "/", *, width: int = 1440, height: int = 900, dark: bool = False
    ) -> Page:
        """Open a page as a new visitor: own cookies, own storage."""
        context = self.browser.new_context(
            locale="en-US", viewport={"width": width, "height": height}
        )
        self.recorder.watch(context)
        page = context.new_page()
        self.pages.append(page)
        page.goto(address(self.server.url, path, dark=dark))
        return page

    def shoot(self, name: str, folder: Path = FAILURES) -> list[Path]:
        """Save a picture of every page that is still open, and return where."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-")
        taken = []
        for number, page in enumerate(self.pages):
            file = folder / (f"{stem}-{number + 1}.png" if number else f"{stem}.png")
            try:
                page.screenshot(path=file, timeout=5000)
            except Error:  # The page is closed, or the browser is gone.
                continue
            taken.append(file)
        return taken

    def settle(self) -> None:
        """Let every page, popups too, tell what it has still to tell."""
        for page in [p for first in self.pages for p in first.context.pages]:
            with suppress(Error):  # A page may be on its way to another address, or stuck.
                page.wait_for_function(RESTED, timeout=5000)

    def finish(self, name: str, folder: Path = FAILURES) -> None:
        """Close all pages, and complain about what went wrong in them, with pictures."""
        try:
            self.settle()
            problems = self.recorder.problems()
            pictures = self.shoot(name, folder) if problems else []
        finally:
            for page in self.pages:
                page.context.close()
        assert not problems, "\n".join([*problems, *map(str, pictures), self.server.tail()])


def address(url: str, path: str, *, dark: bool = False) -> str:
    """Return an address on the server; Gradio reads the theme from the query."""
    theme = f"{'&' if '?' in path else '?'}__theme=dark" if dark else ""
    return f"{url}{path}{theme}"
