"""Find a Chromium or Chrome on this machine and start it so that it reaches nothing but it.

`GLASSWORK_TEST_BROWSER=required` makes a missing browser a failure; `.ci/run` sets it.
"""

import os
import shutil

import pytest
from playwright.sync_api import Browser, BrowserType

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "GLASSWORK_TEST_BROWSER"
MISSING = f"no Chromium or Chrome on this machine (looked for {', '.join(NAMES)})"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    # No other name or address is found: what a page asks for outside is seen and does not leave.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def chromium_path() -> str:
    """Return the browser's path; where there is none, skip the test, or fail if it is required."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{MISSING}, and {REQUIRED} is 'required'", pytrace=False)
    pytest.skip(f"{MISSING}; see tests/QUARANTINES.md")


def start(chromium: BrowserType, path: str) -> Browser:
    """Start the browser without a window."""
    return chromium.launch(executable_path=path, args=list(ARGUMENTS))
