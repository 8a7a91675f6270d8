"""What the browser tests stand on: recorder, clicks on points, server, and a missing browser."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import plotly.graph_objects as go
import psutil
import pytest
from playwright.sync_api import Browser, Error, Page
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from tests.browser import chromium
from tests.browser.conftest import VISITS
from tests.browser.points import click_point, point_at
from tests.browser.server import Server
from tests.browser.visits import Recorder, Visits, address, stays

SLOT = "#toy .figure"
OUTSIDE = "http://example.invalid/picture.png"


def figure() -> go.Figure:
    """Draw two plots, the second far down: points on a line; categories, dates and cells."""
    drawn = make_subplots(rows=2, cols=2, row_heights=[0.3, 0.7])
    drawn.add_scatter(x=[0, 1, 2], y=[5, 6, 4], customdata=["a", "b", "c"], row=1, col=1)
    drawn.add_scattergl(x=[1, 10, 100], y=[1, 2, 3], customdata=["d", "e", "f"], row=1, col=2)
    drawn.add_scatter(
        x=["2020-01-01", "2020-01-02"], y=["one", "two"], customdata=["g", "h"], row=2, col=1
    )
    cells = [["0.0", "0.1", "0.2"], ["1.0", "1.1", "1.2"]]
    drawn.add_heatmap(z=[[1, 2, 3], [4, 5, 6]], customdata=cells, row=2, col=2)
    drawn.update_xaxes(type="log", row=1, col=2)
    return drawn.update_layout(height=2000, width=1600)


PLAIN = """<!doctype html><link rel="icon" href="data:,"><title>Toy</title>
<div style="height:400px">above</div>"""


def chart() -> str:
    """Return a page with the figure in a box that scrolls; it says which keys were clicked."""
    return f"""{PLAIN}<script src="/plotly.js"></script>
<div id="toy" style="width:700px;height:600px;overflow:auto"><div class="figure"></div></div>
<script>
window.clicked = [];
const node = document.querySelector({SLOT!r}), drawn = {figure().to_json()};
window.Plotly.newPlot(node, drawn.data, drawn.layout).then(() =>
  node.on('plotly_click', e => window.clicked.push(e.points[0].customdata)));
</script>"""


class Answers(BaseHTTPRequestHandler):
    """Serve a plain page, one with the figure, and plotly.js."""

    def do_GET(self) -> None:
        """Answer by the path alone."""
        made = {"/chart": chart, "/plotly.js": get_plotlyjs}.get(self.path, lambda: PLAIN)
        body = made().encode()
        kind = "javascript" if self.path.endswith(".js") else "html"
        self.send_response(200)
        self.send_header("Content-Type", f"text/{kind};charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@dataclass
class ToyServer:
    """A server in a thread."""

    url: str

    def tail(self) -> str:
        """Return what stands for the log's end."""
        return "the toy server's log"


@pytest.fixture(scope="module")
def server() -> Iterator[ToyServer]:
    """A server of the toy page, in place of the page's own."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    yield ToyServer(f"http://127.0.0.1:{http.server_port}")
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def visits(browser: Browser, server: ToyServer) -> Visits:
    """Visits that the test itself finishes."""
    return Visits(browser, server)


def test_these_tests_are_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("browser")


KEYS: list[tuple[int, int | tuple[int, int], str]] = [
    *((0, 0, "a"), (0, 2, "c"), (1, 0, "d"), (1, 1, "e"), (2, 0, "g"), (2, 1, "h")),
    *((3, (0, 0), "0.0"), (3, (1, 2), "1.2"), (0, 1, "b")),
]


def test_clicks_hit_the_points_and_are_no_double_clicks(open_page: Callable[..., Page]) -> None:
    page = open_page("/chart")
    for trace, index, _ in KEYS:
        click_point(page, SLOT, trace, index)
    assert page.evaluate("window.clicked") == [key for _, _, key in KEYS]


def test_a_point_that_is_not_there_or_covered_is_an_error(open_page: Callable[..., Page]) -> None:
    page = open_page("/chart", width=500)
    with pytest.raises(Error, match="trace 0 has no point 9"):
        point_at(page, SLOT, 0, 9)
    lid = "<p id=lid style=position:fixed;inset:0;margin:0>"
    page.evaluate("lid => document.body.insertAdjacentHTML('beforeend', lid)", lid)
    with pytest.raises(Error, match="covered or out of view: <p id="):
        point_at(page, SLOT, 0, 0)


def test_visitors_differ_in_window_theme_and_storage(open_page: Callable[..., Page]) -> None:
    wide, narrow = open_page(), open_page("/?layer=3", width=400, height=700, dark=True)
    wide.evaluate("localStorage.setItem('mine', 1)")
    assert narrow.evaluate("localStorage.getItem('mine')") is None
    assert (wide.viewport_size, narrow.viewport_size) == (
        {"width": 1440, "height": 900},
        {"width": 400, "height": 700},
    )
    assert narrow.url.endswith("/?layer=3&__theme=dark")
    assert wide.evaluate("navigator.language") == "en-US"


def test_a_quiet_page_has_no_problems(page: Page, recorder: Recorder) -> None:
    page.evaluate("fetch('data:,x').then(() => fetch(URL.createObjectURL(new Blob(['x']))))")
    assert recorder.problems() == []
    assert any(a.startswith("blob:") for a in recorder.requests)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (f"fetch('{OUTSIDE}', {{mode: 'no-cors'}}).catch(() => 0)", f"asked for {OUTSIDE}"),
        (
            "new Promise(done => new WebSocket('ws://example.invalid/').onerror = () => done(1))",
            "console: WebSocket connection to 'ws://example.invalid/' failed",
        ),
        ("console.error('it hurts')", "console: it hurts"),
        ("void setTimeout(() => { throw new Error('broken') })", "uncaught: broken"),
        ("void Promise.reject(new Error('forgotten'))", "uncaught: forgotten"),
    ],
)
def test_what_goes_wrong_fails_the_test_with_a_picture(
    visits: Visits, tmp_path: Path, script: str, complaint: str
) -> None:
    visits.open().context.route(OUTSIDE, lambda route: route.abort())
    visits.pages[0].evaluate(script)
    with pytest.raises(AssertionError) as caught:
        visits.finish("a story[1]", tmp_path)
    assert complaint in str(caught.value)
    assert "the toy server's log" in str(caught.value)
    assert (tmp_path / "a-story-1.png").read_bytes().startswith(b"\x89PNG")
    assert visits.pages[0].is_closed()


def test_what_another_page_of_the_visitor_does_counts_too(visits: Visits, tmp_path: Path) -> None:
    page = visits.open()
    with page.expect_popup() as popup:
        page.evaluate("void open('/other')")
    popup.value.evaluate("console.error('from the popup')")
    with pytest.raises(AssertionError, match="from the popup"):
        visits.finish("popup", tmp_path)


def test_nothing_can_leave_even_without_a_route(page: Page, recorder: Recorder) -> None:
    recorder.expected += ["192.0.2.1", "example.invalid", "ERR_NAME_NOT_RESOLVED"]
    ask = "a => fetch(a, {mode: 'no-cors'}).then(() => 'left', e => e.message)"
    for asked in ("http://192.0.2.1/", OUTSIDE):
        assert page.evaluate(ask, asked) == "Failed to fetch"
    assert recorder.outside() == ["http://192.0.2.1/", OUTSIDE]


def test_expected_complaints_and_warnings_are_no_problem(visits: Visits, tmp_path: Path) -> None:
    page = visits.open()
    visits.recorder.expected.append("on purpose")
    page.evaluate("console.error('on purpose'); console.warn('only a warning')")
    visits.finish("expected", tmp_path)
    assert len(visits.recorder.errors) == 1


def test_the_hook_finds_the_pages_of_a_test(page: Page, request: pytest.FixtureRequest) -> None:
    assert request.node.stash[VISITS].pages == [page]


@pytest.mark.parametrize(
    ("asked", "inside"),
    [
        *(("http://127.0.0.1:7860/x", True), ("ws://127.0.0.1:1/", True), ("data:,x", True)),
        *(("blob:http://127.0.0.1/1", True), ("about:srcdoc", True)),
        *(("http://127.0.0.1.example.com/", False), ("https://example.com/127.0.0.1", False)),
        *(("http://127.0.0.1@example.com/", False), ("file:///etc/passwd", False)),
    ],
)
def test_which_addresses_are_inside(asked: str, inside: bool) -> None:
    assert stays(asked) is inside


def test_the_theme_joins_the_query() -> None:
    assert address("http://h", "/", dark=True) == "http://h/?__theme=dark"
    assert address("http://h", "/?a=1", dark=True) == "http://h/?a=1&__theme=dark"
    assert address("http://h", "/?a=1") == "http://h/?a=1"


def test_a_missing_browser_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(chromium.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no Chromium .* tests/QUARANTINES\.md"):
        chromium.chromium_path()


def test_a_missing_browser_that_is_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv(chromium.REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match="no Chromium"):
        chromium.chromium_path()


def test_the_first_browser_found_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("google-chrome", "chromium-browser"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium.chromium_path() == str(tmp_path / "chromium-browser")


SCRIPT = """
import http.server, json, os, subprocess, sys, time
home = os.environ["GLASSWORK_HOME"]
os.makedirs(home, exist_ok=True)
child = subprocess.Popen(["sleep", "600"], start_new_session=False)
told = {k: v for k, v in os.environ.items() if k.startswith(("GLASSWORK", "HF", "OMP", "TMP"))}
told |= {"pid": os.getpid(), "child": child.pid, "tmp": os.listdir(os.environ["TMPDIR"])}
with open(home + "/starts", "a") as starts:
    starts.write(json.dumps(told) + "\\n")
print("serving", flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["GLASSWORK_PORT"])), Answer
    ).serve_forever()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that serves /healthz, has a child, and notes how it was started."""
    file = tmp_path / "serve.py"
    file.write_text(SCRIPT, "utf-8")
    return file


def starts(server: Server) -> list[dict]:
    """Return what each start of the script noted."""
    import json

    lines = (server.place / "home/starts").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_server_starts_again_with_its_home_and_ends_with_its_children(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSWORK_THREADS", "7")
    server = Server(tmp_path, tmp_path / "models", str(script))
    try:
        server.start()
        Path(str(server.temporary), "left").touch()
        server.restart()
        server.restart(clean_tmp=True)
        first, second, third = starts(server)
        assert alive(third["pid"])
        assert alive(third["child"])
    finally:
        server.stop()
    server.stop()
    assert not any(alive(s[key]) for s in (first, second, third) for key in ("pid", "child"))
    assert first["GLASSWORK_HOME"] == third["GLASSWORK_HOME"] == str(tmp_path / "home")
    assert first["GLASSWORK_PORT"] == third["GLASSWORK_PORT"] == str(server.port)
    assert "GLASSWORK_THREADS" not in first
    assert (first["HF_HUB_OFFLINE"], first["OMP_NUM_THREADS"]) == ("1", "1")
    assert first["TMPDIR"] == second["TMPDIR"] != third["TMPDIR"]
    assert (first["tmp"], second["tmp"], third["tmp"]) == ([], ["left"], [])
    assert server.tail().count("serving") == 3
    assert "GLASSWORK_HOME" not in os.environ


def test_a_server_that_dies_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no luck today')", "utf-8")
    with pytest.raises(RuntimeError, match="ended with code 1:\nno luck today"):
        Server(tmp_path, tmp_path, str(broken)).start()


def test_a_server_that_never_answers_is_ended(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.py"
    stuck.write_text("import time; print('thinking'); time.sleep(600)", "utf-8")
    server = Server(tmp_path, tmp_path, str(stuck), wait=2)
    with pytest.raises(TimeoutError, match=r"no answer in 2 s .*\nthinking"):
        server.start()
    assert server.process is None
