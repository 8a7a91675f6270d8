"""MCbiF told as stories: open by link, own table, windows, highlighted elements, slices, export."""

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.points import click_point
from tests.browser.server import Server

THREE = "/?method=mcbif&example=three_elements&draws=20"
STATUS = "#mcbif-status"
SLOW = 60_000
FIGURES = {f"figures/{name}.html" for name in ("hilbert", "conflict", "sankey", "slices")}
# A preliminary picture has a tag.
DRAWN = """
selector => document.querySelector(selector)?.calcdata
  && document.querySelector(selector).closest('.gw-figure').querySelector('.gw-tag').hidden
"""
DRAWN_AGAIN = "([selector, before]) => document.querySelector(selector).dataset.drawn !== before"
TRACE_OF = """
([selector, key]) => {
  const traces = document.querySelector(selector)._fullData;
  const found = traces.find(t => Array.from(t.customdata || []).includes(key));
  return [found.index, found.customdata.indexOf(key)];
}
"""


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Wait long for what a busy machine takes long for."""
    expect.set_options(timeout=SLOW)
    yield
    expect.set_options(timeout=5_000)


def figure(name: str) -> str:
    """Return the selector of a figure."""
    return f"#mcbif-{name} .figure"


def run(page: Page) -> None:
    """Press Run and wait for the result and its last figure."""
    expect(page.locator("#mcbif-run")).to_be_enabled()
    page.locator("#mcbif-run").click()
    expect(page.locator(STATUS)).to_contain_text(re.compile("Done|Recalled"))
    page.wait_for_function(DRAWN, arg=figure("mcf_changes"), timeout=SLOW)


def drawn(page: Page, name: str) -> str | None:
    """Return how often a figure was drawn."""
    return page.locator(figure(name)).get_attribute("data-drawn")


def wait_drawn(page: Page, name: str, before: str | None) -> None:
    """Wait until a figure was drawn again."""
    page.wait_for_function(DRAWN_AGAIN, arg=[figure(name), before], timeout=SLOW)


def click_key(page: Page, name: str, key: str) -> None:
    """Click the point of a figure that means something."""
    trace, point = page.evaluate(TRACE_OF, [figure(name), key])
    click_point(page, figure(name), trace, point)


def test_a_link_shows_the_boards_and_a_cell_opens_its_window(
    open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page(THREE)
    expect(page.locator(figure("hf0"))).to_contain_text("Press Run")
    run(page)
    expect(page.locator("#mcbif-strip")).to_contain_text("N = 3 elements, M = 5 scales")
    expect(page.locator("#mcbif-strip")).to_contain_text("1 in the window 1 to 4")
    expect(page.locator("#mcbif-window-words")).to_contain_text("Window of scales 1 to 4")
    expect(page.locator("#mcbif-window-words")).to_contain_text("A shortest cycle of elements")
    expect(page.locator(figure("window"))).to_contain_text("a cycle through 3 clusters")

    before = [drawn(page, name) for name in ("sankey", "hf0", "hf1")]
    rings = [page.locator(f"#mcbif-{name} .gw-ring") for name in ("hf0", "c0")]
    places = [ring.get_attribute("d") or "" for ring in rings]
    assert all(places)
    click_point(page, figure("hf1"), 0, (1, 2))
    expect(page.locator("#mcbif-window-words")).to_contain_text("Window of scales 2 to 3")
    expect(page.locator("#mcbif-window-words")).to_contain_text("Shared elements of the two scales")
    for ring, place in zip(rings, places, strict=True):
        expect(ring).not_to_have_attribute("d", place)
    expect(page.locator("#mcbif-sankey .gw-shade")).to_have_count(2)
    assert [drawn(page, name) for name in ("sankey", "hf0", "hf1")] == before
    expect(page).to_have_url(re.compile(r"look\.cell=1%2C2"))

    again = open_page(page.url.removeprefix(server.url))
    expect(again.locator(STATUS)).to_contain_text("Recalled")
    expect(again.locator("#mcbif-window-words")).to_contain_text("Window of scales 2 to 3")


def own_table() -> bytes:
    """Return a label table whose names try to be markup."""
    file = io.StringIO()
    names = ["<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "=cmd()", "plain"]
    rows = [[name, i, i // 2, (i + 1) // 2 % 2, 0] for i, name in enumerate(names)]
    csv.writer(file).writerows([["element", "0.1", "0.2", "0.4", "0.9"], *rows])
    return file.getvalue().encode()


def test_an_own_table_is_shown_and_its_elements_are_highlighted(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(THREE)
    page.evaluate("window.alert = text => { window.alerted = text; }")
    expect(page.locator("#mcbif-run")).to_be_enabled()
    page.locator("#mcbif-partitions-file input[type=file]").set_input_files(
        {"name": "mine.csv", "mimeType": "text/csv", "buffer": own_table()}
    )
    expect(page.locator("#mcbif-partitions :is(input, textarea)")).to_have_value(
        re.compile("^sha256:")
    )
    expect(page.locator("#mcbif-example input")).to_have_value("")
    run(page)
    expect(page.locator("#mcbif-strip")).to_contain_text("N = 4 elements, M = 4 scales")

    before = drawn(page, "sankey")
    click_key(page, "sankey", "#1:0")
    wait_drawn(page, "sankey", before)
    expect(page.locator(figure("sankey"))).to_contain_text("highlighted: N = 2 elements")
    expect(page.locator("#mcbif-elements :is(input, textarea)")).to_have_value("#1:0")

    rows = page.locator("#mcbif-elements-table tbody tr")
    expect(rows).to_have_count(4)
    expect(page.locator("#mcbif-elements-table tr[aria-selected]")).to_have_count(2)
    page.locator("#mcbif-elements-table th button").first.click()
    expect(rows.last.locator("button")).to_have_text("plain")
    rows.last.locator("button").click()
    expect(page.locator("#mcbif-elements-table tr[aria-selected]")).to_have_count(1)
    expect(page.locator(figure("sankey"))).to_contain_text("highlighted: N = 1 elements")
    assert page.locator("#mcbif-tool img[src=x]").count() == 0
    assert page.evaluate("window.alerted") is None


def test_a_slice_moves_and_an_anti_diagonal_has_no_barcode(open_page: Callable[..., Page]) -> None:
    page = open_page(THREE)
    run(page)
    heading = page.locator("#mcbif-slices h3")
    expect(heading).to_have_text("Slice along the row s = 1 (number 0)")
    expect(page.locator(figure("slices"))).to_contain_text("bars of cycles (N = 1)")
    line = page.locator("#mcbif-hf1 .gw-line")
    place = line.get_attribute("d") or ""
    page.locator("#mcbif-at input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    expect(heading).to_have_text("Slice along the row s = 2 (number 1)")
    expect(line).not_to_have_attribute("d", place)
    page.locator("#mcbif-direction").get_by_text("anti-diagonal").click()
    expect(heading).to_have_text("Slice along the anti-diagonal t − s = 1")
    expect(page.locator(figure("slices"))).to_contain_text("An anti-diagonal has no barcode")


def test_everything_is_exported(open_page: Callable[..., Page]) -> None:
    page = open_page(THREE)
    run(page)
    with page.expect_download() as download:
        page.locator("#mcbif-foot [data-opens=export]").click()
    names = set(zipfile.ZipFile(download.value.path()).namelist())
    assert {"request.json", "result.json", "result.npz"} | FIGURES <= names


def test_a_dark_narrow_window_holds_the_page(open_page: Callable[..., Page]) -> None:
    page = open_page(THREE, width=400, dark=True)
    run(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    width = page.locator(figure("hf1")).bounding_box()
    assert width
    assert width["width"] > 250
