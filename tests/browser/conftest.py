"""One browser and one server for all stories; a page that must keep quiet and stay at home.

The fixtures live as long as this package's tests and no longer: Playwright's loop would be in the
way of other tests that use asyncio.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.server import Server
from tests.browser.visits import Recorder, Served, Visits

VISITS = pytest.StashKey[Visits]()
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    path = chromium.chromium_path()
    with sync_playwright() as playwright:
        started = chromium.start(playwright.chromium, path)
        yield started
        started.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Server]:
    """The page's server, with the tiny model and a home of its own."""
    made = Server(tmp_path_factory.mktemp("server"), model_folders)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def recorder() -> Recorder:
    """What the pages ask for and complain about; tests add to its `expected`."""
    return Recorder()


@pytest.fixture
def open_page(
    browser: Browser, server: Served, recorder: Recorder, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Open pages, each as a new visitor: `open_page(path="/", width=…, height=…, dark=…)`."""
    visits = Visits(browser, server, recorder)
    request.node.stash[VISITS] = visits
    yield visits.open
    visits.finish(request.node.name)


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """The start page in a window of 1440 x 900."""
    return open_page()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, object]:
    """Add pictures of the pages and the end of the server's log to a failure."""
    report = yield
    visits = item.stash.get(VISITS, None)
    if visits is None or not report.failed or report.when == "teardown":
        return report
    pictures = "\n".join(map(str, visits.shoot(item.name)))
    report.sections.append(("pictures of the pages", pictures))
    report.sections.append(("end of the server's log", visits.server.tail()))
    return report
