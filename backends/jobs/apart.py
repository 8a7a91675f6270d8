"""Work in another process: what a thread cannot interrupt, or must not share.

A model conversion and a UMAP fit are single long calls into foreign code, and two UMAP fits at
once in one process can abort it. They run here: a conversion in a process that is killed when its
user gives up, UMAP fits one after the other in one process that stays warm.

Functions are named, `package.module:function`, so that a process imports only what it runs.
"""

import importlib
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any

Check = Callable[[], None]
SECONDS_TO_START = 30
"""How long closing waits for the pid of a process that has only just been started."""


def run_apart(function: str, *arguments: Any, check: Check = lambda: None) -> Any:
    """Run a named function in a process of its own; kill it when `check` raises."""
    apart = Apart()
    try:
        return apart.wait(apart.submit(function, *arguments), check)
    finally:
        apart.close()


class Apart:
    """One worker process, started at the first call and again after it died."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._pid: Future[int] | None = None
        self._lock = threading.Lock()

    def submit(self, function: str, *arguments: Any) -> "Future[Any]":
        """Queue a call of `package.module:function` with picklable arguments."""
        with self._lock:
            try:
                return self._started().submit(_call, function, arguments)
            except BrokenProcessPool:
                self._pool = None
                return self._started().submit(_call, function, arguments)

    def wait(self, future: "Future[Any]", check: Check = lambda: None, every: float = 0.1) -> Any:
        """Return a call's answer; `check` runs while waiting. If it raises, the call is dropped."""
        while True:
            try:
                return future.result(timeout=every)
            except TimeoutError:
                if future.done():
                    raise
                try:
                    check()
                except BaseException:
                    future.cancel()
                    raise

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            pool, self._pool = self._pool, None
            if pool is None or self._pid is None:
                return
            try:
                pid = self._pid.result(timeout=SECONDS_TO_START)
            except (CancelledError, BrokenProcessPool, TimeoutError):
                pid = None
            pool.shutdown(wait=False, cancel_futures=True)
            if pid is not None:
                _kill(pid)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent
            )
            self._pid = self._pool.submit(os.getpid)
        return self._pool


def _kill(pid: int) -> None:
    import psutil

    try:
        psutil.Process(pid).kill()
    except psutil.NoSuchProcess:
        return


def _end_with_parent() -> None:
    """Let the process die with its parent, which a pool does not see to after a kill -9."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _call(function: str, arguments: tuple[Any, ...]) -> Any:
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)
