"""The wiring told as stories, with the toy: run, stop, look, links, two visitors at a time."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.points import click_point
from tests.browser.server import OPENER, Server
from tests.browser.visits import Recorder

FIGURE = "#toy-squares .figure"
SLOW = 30_000
RING = "selector => Number(document.querySelector(selector).data[1].x[0])"
LONG = "x" * 50_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Server]:
    """A server of the page with the toy."""
    place = tmp_path_factory.mktemp("toy")
    made = Server(place, model_folders, "tests/browser/serve_toy.py")
    made.start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Wait long for what a busy machine takes long for."""
    expect.set_options(timeout=SLOW)
    yield
    expect.set_options(timeout=5_000)


def health(server: Server) -> dict[str, Any]:
    """Return what the server says about itself."""
    with OPENER.open(f"{server.url}/healthz", timeout=10) as answer:
        return dict(json.load(answer))


def jobs_are(server: Server, count: int, seconds: float = 10) -> bool:
    """Wait until so many jobs are under way, and say whether they are."""
    end = time.monotonic() + seconds
    while health(server)["jobs"] != count and time.monotonic() < end:
        time.sleep(0.05)
    return bool(health(server)["jobs"] == count)


def fill(page: Page, **fields: object) -> None:
    """Fill fields of the form."""
    for name, value in fields.items():
        page.locator(f"#toy-{name} :is(input, textarea)").fill(str(value))


def run(page: Page, **fields: object) -> None:
    """Fill the form and press Run."""
    expect(page.locator("#toy-run")).to_be_enabled()
    fill(page, **fields)
    page.locator("#toy-run").click()


def await_result(page: Page, steps: int) -> None:
    """Wait until the result with so many steps is drawn and its foot stands under it."""
    page.wait_for_function(
        "([selector, count]) => document.querySelector(selector)?.calcdata?.[0]?.length === count"
        " && document.querySelector('#toy-squares .gw-tag').hidden"
        " && !document.querySelector('#toy-foot .gw-links').hidden",
        arg=[FIGURE, steps],
        timeout=SLOW,
    )


def await_ring(page: Page, step: int) -> None:
    """Wait until the figure has its ring at a step."""
    page.wait_for_function(f"([s, step]) => ({RING})(s) === step", arg=[FIGURE, step])


def await_query(page: Page, piece: str) -> None:
    """Wait until the address holds a piece."""
    page.wait_for_function("piece => location.search.includes(piece)", arg=piece)


def data(page: Page, name: str) -> str | None:
    """Return what the figure says of itself: how often it was drawn, the frame that it shows."""
    found: str | None = page.locator(FIGURE).evaluate("(node, name) => node.dataset[name]", name)
    return found


def fits(page: Page) -> bool:
    """Say whether the document is not wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_from_the_keyboard_to_a_figure_that_is_explored(page: Page) -> None:
    expect(page.locator("#toy-run")).to_be_enabled()
    expect(page.locator("#toy-squares h3")).to_be_hidden()
    fill(page, steps=8, pause=0.4)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "toy-run":
            break
    assert page.evaluate("document.activeElement.id") == "toy-run"
    page.keyboard.press("Enter")

    expect(page.locator("#toy-status progress")).to_be_visible()
    expect(page.locator("#toy-stop")).to_be_visible()
    expect(page.locator("#toy-squares .gw-tag")).to_be_visible()
    await_result(page, 8)
    expect(page.locator("#toy-stop")).to_be_hidden()
    expect(page.locator("#toy-squares h3")).to_have_text("Squares of steps")
    expect(page.locator("#toy-foot .gw-provenance")).to_have_text("N 8 · toy version 1")
    await_query(page, "?method=toy&steps=8&pause=0.4")
    await_ring(page, 7)

    click_point(page, FIGURE, 0, 3)
    expect(page.locator("#toy-card")).to_contain_text("picked: 3 at step 7")
    expect(page.locator("#toy-opened")).to_have_text("4")
    await_query(page, "look.picked=3")

    drawn, slider = data(page, "drawn"), page.locator("#toy-step input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    await_ring(page, 5)
    expect(page.locator("#toy-card")).to_contain_text("picked: 3 at step 5")
    await_query(page, "look.step=5")
    assert (data(page, "frame"), data(page, "drawn")) == ("5", drawn)

    page.locator("#toy-step input[type=number]").fill("999")
    await_query(page, "?method=toy&steps=8&pause=0.4&look.picked=3")  # Step 7 is the default.
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    await_ring(page, 5)
    await_query(page, "look.step=5")

    drawn = data(page, "drawn")
    page.evaluate("document.body.classList.add('dark')")
    page.wait_for_function(f"n => document.querySelector('{FIGURE}').dataset.drawn > n", arg=drawn)
    await_ring(page, 5)

    page.locator("#toy-play").click()
    expect(page.locator("#toy-play")).to_have_text("Pause")
    await_ring(page, 7)
    await_ring(page, 1)
    page.locator("#toy-play").click()
    expect(page.locator("#toy-play")).to_have_text("Play")
    page.wait_for_timeout(1000)
    stands = page.evaluate(RING, FIGURE)
    page.wait_for_timeout(1000)
    assert page.evaluate(RING, FIGURE) == stands
    await_query(page, f"look.step={stands}")

    page.reload()
    await_result(page, 8)
    await_ring(page, stands)
    expect(page.locator("#toy-card")).to_contain_text(f"picked: 3 at step {stands}")
    expect(page.locator("#toy-status")).to_have_text("Recalled; nothing was computed.")
    expect(page.locator("#toy-steps input")).to_have_value("8")
    expect(page.locator("#toy-banner .gw-banner")).to_have_count(0)


def test_what_is_wrong_stands_at_its_field_until_it_is_right(page: Page) -> None:
    run(page, steps=5000)
    expect(page.locator("#toy-steps.gw-wrong")).to_contain_text("must be at most 1000")
    expect(page.locator("#toy-status .gw-error")).to_contain_text("must be at most 1000")
    run(page, steps=4, text="no!")
    expect(page.locator("#toy-text.gw-wrong")).to_contain_text("exclamation mark")
    expect(page.locator("#toy-steps.gw-wrong")).to_have_count(0)
    run(page, steps="")
    expect(page.locator("#toy-steps.gw-wrong")).to_contain_text("must be a whole number")
    run(page, steps=4, text="<b>yes</b>")
    await_result(page, 4)
    expect(page.locator(".gw-wrong")).to_have_count(0)
    expect(page.locator("#toy-squares h3")).to_have_text("Squares of <b>yes</b>")
    page.locator("#toy-more button").first.click()
    page.locator("#toy-fail input").check()
    run(page, steps=2)
    expect(page.locator("#toy-status .gw-error")).to_contain_text("Something went wrong (id ")
    expect(page.locator("#toy-run")).to_be_enabled()


def test_stop_and_pages_that_are_closed(open_page: Callable[..., Page], server: Server) -> None:
    page = open_page("/?method=toy")
    run(page, steps=500, pause=0.2)
    expect(page.locator("#toy-squares .gw-tag")).to_be_visible()
    page.locator("#toy-stop").click()
    expect(page.locator("#toy-status")).to_contain_text("Stopp", timeout=3000)
    expect(page.locator("#toy-status")).to_contain_text("What was computed is kept")
    assert jobs_are(server, 0)

    run(page, steps=501, pause=0.2)
    expect(page.locator("#toy-stop")).to_be_visible()
    page.close()
    assert jobs_are(server, 0)

    page = open_page("/?method=toy")
    expect(page.locator("#toy-run")).to_be_enabled()
    page.locator("#toy-goes-on input").check()
    run(page, steps=502, pause=0.2)
    expect(page.locator("#toy-status progress")).to_be_visible()
    page.close()
    time.sleep(2)
    assert jobs_are(server, 1)

    page, other = open_page(), open_page()
    other.get_by_role("tab", name="Status").click()
    row = other.locator("#status-jobs tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("of 502")
    page.goto(server.url + "/" + str(row.locator("a").get_attribute("href")))
    expect(page.locator("#toy-stop")).to_be_visible()
    expect(page.locator("#toy-steps input")).to_have_value("502")
    row.locator("button").click()
    expect(page.locator("#toy-status")).to_have_text("Stopped on the status page.")
    expect(other.locator("#status-jobs")).to_contain_text("Nothing is being computed.")
    assert jobs_are(server, 0)


BAD_LINKS = [
    (
        "method=toy&layer=3&%00=1&../../=2&steps=999999&pause=%00&text=kept",
        ["left out: 'layer', '\\x00', '../../'.", "'steps' is '999999'", "'pause' is '\\x00'"],
    ),
    ("method=toy&r=../../etc/passwd&look.step=999", ["is not known on this machine"]),
    (f"method=toy&steps=../../&text={LONG}", ["50000 characters", "'steps' is '../../'"]),
    ("method=no_such_tool&steps=3", ["'no_such_tool' is unknown here"]),
]


def test_links_that_are_wrong_open_with_a_banner(
    page: Page, server: Server, recorder: Recorder
) -> None:
    for query, said in BAD_LINKS:
        page.goto(f"{server.url}/?{query}")
        for piece in said:
            expect(page.locator("#toy-banner .gw-banner")).to_contain_text(piece)
        expect(page.locator("#toy-run")).to_be_enabled()
        expect(page.locator("#toy-squares")).to_contain_text("Press Run to draw this figure.")
        assert fits(page)
    assert health(server)["jobs"] == 0
    page.goto(f"{server.url}/?method=knowledge_map&model=tiny&layers=999")
    expect(page.locator("#knowledge_map-run")).to_be_visible()
    expect(page.locator("#knowledge_map-banner .gw-banner")).to_contain_text("Layer 999 is outside")
    page.get_by_role("tab", name="Toy").click()
    expect(page.locator("#toy-steps input")).to_have_value("3")
    expect(page.locator("#toy-banner .gw-banner")).to_have_count(0)
    assert health(server)["jobs"] == 0


def test_a_copied_link_opens_the_same_picture_after_a_restart(
    open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page("/?method=toy")
    run(page, steps=6, pause=0.01)
    await_result(page, 6)
    page.locator("#toy-step input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    await_query(page, "look.step=4")
    page.locator("#toy-foot [data-copies=link]").click()
    expect(page.locator("#toy-foot .gw-copied")).not_to_be_empty()
    link = page.locator("#toy-foot .gw-copy").input_value()
    page.context.close()

    server.restart(clean_tmp=True)
    parts = urlsplit(link)
    page = open_page(f"{parts.path}?{parts.query}")
    await_result(page, 6)
    await_ring(page, 4)
    expect(page.locator("#toy-status")).to_have_text("Recalled; nothing was computed.")
    with page.expect_download() as download:
        page.locator("#toy-foot [data-opens=export]").click()
    assert re.fullmatch(r"toy-[0-9a-f]{8}\.zip", download.value.suggested_filename)

    page.goto(f"{server.url}{parts.path}?{parts.query}9&look.picked=%00&look.zzz=1")
    await_result(page, 6)
    await_ring(page, 5)  # look.step=49 is past the end.
    expect(page.locator("#toy-banner .gw-banner")).to_have_count(0)


def test_two_visitors_at_the_same_moment_each_get_their_own(
    open_page: Callable[..., Page],
) -> None:
    visitors = [open_page("/?method=toy"), open_page("/?method=toy")]
    for turn in range(4):
        counts = (10 + turn, 30 + turn)
        for page, count in zip(visitors, counts, strict=True):
            expect(page.locator("#toy-run")).to_be_enabled()
            fill(page, steps=count, pause=0.01)
        for page in visitors:
            page.locator("#toy-run").evaluate("node => node.click()")
        for page, count in zip(visitors, counts, strict=True):
            await_result(page, count)
            await_query(page, f"steps={count}&")


def test_a_dark_narrow_page_fits(open_page: Callable[..., Page]) -> None:
    page = open_page("/?method=toy", width=400, height=800, dark=True)
    expect(page.locator("body.dark")).to_have_count(1)
    run(page, steps=5, text="a long text without any blank " * 3)
    await_result(page, 5)
    assert fits(page)
    ink = page.evaluate("s => document.querySelector(s).layout.font.color", FIGURE)
    assert ink == "#e6e9ec"
    await_query(page, "__theme=dark")
    page.goto(page.url.replace("steps=5", "zzz=1"))
    expect(page.locator("#toy-banner .gw-banner")).to_be_visible()
    assert fits(page)
