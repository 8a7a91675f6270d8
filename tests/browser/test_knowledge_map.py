"""The knowledge map told as stories, on the tiny model: run, explore, own table, export, links."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.points import click_point
from tests.browser.server import OPENER, Server
from tests.browser.visits import Recorder

MAP = "#knowledge_map-map .figure"
STATUS = "#knowledge_map-status"
SYMPTOMS = "/?method=knowledge_map&model=tiny&domain=symptom&projection=pca"
SLOW = 60_000
DRAWN = """
selector => document.querySelector(selector)?.calcdata
  && document.querySelector(selector).closest('.gw-figure').querySelector('.gw-tag').hidden
"""


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """Wait long for what a busy machine takes long for."""
    expect.set_options(timeout=SLOW)
    yield
    expect.set_options(timeout=5_000)


def run(page: Page) -> None:
    """Press Run and wait for the result."""
    expect(page.locator("#knowledge_map-run")).to_be_enabled()
    page.locator("#knowledge_map-run").click()
    expect(page.locator(STATUS)).to_contain_text(re.compile("Done|Recalled"))
    page.wait_for_function(DRAWN, arg=MAP, timeout=SLOW)


def upload(page: Page, folder: Path, name: str, content: bytes) -> None:
    """Give a file as the own table; from the disk, which is much faster than as bytes."""
    (folder / name).write_bytes(content)
    page.locator("#knowledge_map-table-file input[type=file]").set_input_files(folder / name)


def text_of(page: Page, thing: str) -> str:
    """Return the text of a component."""
    return page.locator(f"#knowledge_map-{thing}").inner_text()


def test_a_link_waits_for_run_and_the_map_is_explored(
    open_page: Callable[..., Page], server: Server, recorder: Recorder, tmp_path: Path
) -> None:
    page = open_page(SYMPTOMS)
    expect(page.locator(MAP)).to_contain_text("Press Run")
    with OPENER.open(f"{server.url}/healthz", timeout=10) as answer:
        assert json.load(answer)["jobs"] == 0
    expect(page.locator("#knowledge_map-tool")).to_contain_text("Not for clinical use")
    run(page)
    expect(page.locator("#knowledge_map-foot")).to_contain_text("tiny @")

    click_point(page, MAP, 0, 1)
    expect(page.locator("#knowledge_map-neighbors tbody tr").nth(9)).to_be_attached()
    assert "10 nearest prompts" in text_of(page, "neighbors")
    expect(page).to_have_url(re.compile(r"look\.point=\d+"))

    drawn = page.locator(MAP).get_attribute("data-drawn")
    page.locator("#knowledge_map-layer input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(MAP)).to_have_attribute("data-frame", "0")
    expect(page.locator("#knowledge_map-map h3")).to_contain_text("layer 0")
    expect(page.locator("#knowledge_map-neighbors")).to_contain_text("layer 0")
    assert page.locator(MAP).get_attribute("data-drawn") == drawn, "the server drew the map again"

    page.locator("#knowledge_map-search input").press_sequentially("pain")
    expect(page.locator(MAP)).to_contain_text(re.compile(r"found \([1-9]"))
    link = page.url
    again = open_page(link.removeprefix(server.url))
    expect(again.locator(STATUS)).to_contain_text("Recalled")
    expect(again.locator("#knowledge_map-map h3")).to_contain_text("layer 0")
    expect(again.locator(MAP)).to_contain_text(re.compile(r"found \([1-9]"))
    expect(again.locator("#knowledge_map-neighbors")).to_contain_text("layer 0")

    with again.expect_download() as download:
        again.locator("#knowledge_map-foot [data-opens=export]").click()
    archive = zipfile.ZipFile(download.value.path())
    assert {"request.json", "result.json", "result.npz", "figures/map.html"} <= set(
        archive.namelist()
    )
    archive.extract("figures/map.html", tmp_path)
    recorder.expected.append("file://")
    exported = again.context.new_page()
    exported.goto((tmp_path / "figures/map.html").as_uri())
    exported.wait_for_selector(".main-svg", state="attached")
    expect(exported.locator("body")).to_contain_text("layer 0")


def test_several_points_are_listed_and_downloaded(open_page: Callable[..., Page]) -> None:
    page = open_page(SYMPTOMS)
    run(page)
    page.locator(f"{MAP} .modebar-btn[data-val=lasso]").click()
    box = page.locator(f"{MAP} .nsewdrag").bounding_box()
    assert box
    left, top, right, low = box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]
    page.mouse.move(left + 2, top + 2)
    page.mouse.down()
    for x, y in ((right - 2, top + 2), (right - 2, low - 2), (left + 2, low - 2)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    expect(page.locator("#knowledge_map-selection")).to_contain_text("selected of")
    address = page.locator("#knowledge_map-selection a[download]").get_attribute("href")
    assert address is not None
    assert address.startswith("data:text/csv")
    with page.expect_download() as download:
        page.locator("#knowledge_map-selection a[download]").click()
    text = Path(download.value.path()).read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = re.search(r"N = (\d+) selected", text_of(page, "selection"))
    assert shown is not None
    assert len(rows) == int(shown[1]) > 5
    assert all(row["prompt"] for row in rows)


def hostile_table() -> bytes:
    """Return a table whose cells and header try to be markup, formulas and scripts."""
    header = ["prompt", "<script>alert(1)</script>", "=cmd()"]
    rows = [
        [f"Word {i} <img src=x onerror=alert({i})>", "=1+1" if i % 2 else "<b>odd</b>", f"@{i % 2}"]
        for i in range(12)
    ]
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue().encode()


def test_an_own_table_is_shown_as_text(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(SYMPTOMS)
    page.evaluate("window.alert = text => { window.alerted = text; }")
    expect(page.locator("#knowledge_map-run")).to_be_enabled()
    upload(page, tmp_path, "mine.csv", hostile_table())
    expect(page.locator("#knowledge_map-table :is(input, textarea)")).to_have_value(
        re.compile("^sha256:")
    )
    expect(page.locator("#knowledge_map-labels input")).to_have_value("<script>alert(1)</script>")
    run(page)
    click_point(page, MAP, 0, 0)
    expect(page.locator("#knowledge_map-neighbors")).to_contain_text("<img src=x")
    assert page.locator("#knowledge_map-neighbors img").count() == 0
    assert page.locator(f"{MAP} img").count() == 0
    assert page.evaluate("window.alerted") is None
    assert "sha256%3A" in page.url or "sha256:" in unquote(page.url)

    page.locator("#knowledge_map-domain input").click()
    page.get_by_role("option", name="disease").click()
    expect(page.locator("#knowledge_map-labels input")).to_have_value("specialty")
    run(page)
    expect(page.locator("#knowledge_map-map h3")).to_contain_text("specialty")


BAD_FILES = [
    ("picture.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe", "not UTF-8"),
    ("short.csv", b"prompt,label\na,b\n", "6 to 1000 are allowed"),
    ("other.csv", b"text\n" * 10, "no column prompt"),
    ("large.csv", b"prompt,label\n" + b"x" * (21 * 2**20), "at most 20 MiB"),
]


def test_a_bad_file_gets_a_sentence_and_nothing_else_stops(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(SYMPTOMS)
    expect(page.locator("#knowledge_map-run")).to_be_enabled()
    for name, content, sentence in BAD_FILES:
        upload(page, tmp_path, name, content)
        expect(page.locator("#knowledge_map-table.gw-wrong")).to_contain_text(sentence)
        page.locator("#knowledge_map-domain input").click()
        page.get_by_role("option", name="symptom").click()
        expect(page.locator(".gw-wrong")).to_have_count(0)
    run(page)


@pytest.mark.parametrize("domain", ["age", "progression"])
def test_the_other_sets_have_their_figures(open_page: Callable[..., Page], domain: str) -> None:
    page = open_page(f"/?method=knowledge_map&model=tiny&domain={domain}&projection=pca")
    run(page)
    page.wait_for_function(DRAWN, arg=f"#knowledge_map-{domain} .figure", timeout=SLOW)
    other = {"age": "progression", "progression": "age"}[domain]
    expect(page.locator(f"#knowledge_map-{other}")).to_be_hidden()
    disease = page.locator("#knowledge_map-disease")
    expect(disease).to_be_visible() if domain == "progression" else expect(disease).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True])
def test_narrow_windows_and_the_other_tabs(open_page: Callable[..., Page], dark: bool) -> None:
    page = open_page(SYMPTOMS, width=400, dark=dark)
    run(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    wide = open_page("/", dark=dark)
    for name, words in (
        ("SAE features", "sparse autoencoders"),
        ("RoPE heads", "rotary"),
        ("Diffusion", "diffusion run"),
        ("Models", "tiny"),
        ("Status", "Nothing is being computed"),
    ):
        wide.get_by_role("tab", name=name).click()
        expect(wide.locator(".tabitem:visible").first).to_contain_text(words)


ODD_LINKS = {
    "model=tiny&domain=symptom&projection=pca&layers=999": "Layer 999 is outside 0..1",
    "model=../../etc/passwd": "is not known here",
    "model=tiny&domain=%00": "must be",
    "model=tiny&table=../../secret": "is not the digest",
    "model=tiny&domain=symptom&projection=pca&nonsense=1": "left out: 'nonsense'",
    "model=tiny&labels=" + "x" * 50_000: "must have at most 200",
    "r=" + "0" * 64: "is not known on this machine",
}


def test_odd_links_open_with_a_banner_and_compute_nothing(
    open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page("/")
    for query, words in ODD_LINKS.items():
        page.goto(f"{server.url}/?method=knowledge_map&{query}")
        expect(page.locator("#knowledge_map-banner")).to_contain_text(words)
        expect(page.locator("#knowledge_map-run")).to_be_enabled()
        with OPENER.open(f"{server.url}/healthz", timeout=10) as answer:
            assert json.load(answer)["jobs"] == 0
