"""Serve a page with the toy method besides the real ones: what browser tests of the wiring open."""

import os
import sys
import time

from app.console import log_file, log_to
from app.engine import Engine
from app.page import build_page
from app.serve import launch
from app.settings import read_settings
from backends.discovery import find_methods
from launch import build
from views.discovery import find_tools


def toy_engine(engine: Engine) -> Engine:
    """Return the engine's like that knows the toy too."""
    methods = find_methods("tests.toy_methods").methods | engine.found.methods
    engine.found.methods.update(methods)
    return engine


def main() -> None:
    """Serve until killed."""
    settings = read_settings(os.environ)
    log_to(log_file(settings.home))
    engine = toy_engine(build(settings))
    tools = find_tools("tests.toy_tools") | find_tools()
    page, address = launch(engine, build_page(engine, tools))
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    try:
        while True:
            time.sleep(1)
    finally:
        page.close(verbose=False)
        engine.runner.close()


if __name__ == "__main__":
    main()
