"""Start the page's server as a process of its own, wait until it answers, and end all of it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

ROOT = Path(__file__).parents[2]
OPENER = build_opener(ProxyHandler({}))
NOT_INHERITED = ("GLASSWORK_", "GRADIO_")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """The page's server. `place` gets its log, its temporary folders and, as a rule, its home.

    `script` is what Python runs, relative to the repository: another one may add toy methods.
    """

    place: Path
    models: Path
    script: str = "launch.py"
    home: Path | None = None
    wait: float = 90.0
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    temporary: Path | None = None

    @property
    def url(self) -> str:
        """The page's address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The file of what the server says, over all its starts."""
        return self.place / "server.log"

    def start(self) -> None:
        """Start the server and return when it answers."""
        self.temporary = self.temporary or self._fresh()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, self.script],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._await()
        except BaseException:
            self.stop()
            raise

    def stop(self, patience: float = 10.0) -> None:
        """Ask the whole process group to end, then end it."""
        if self.process is None:
            return
        self._signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        self._signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def restart(self, *, clean_tmp: bool = False) -> None:
        """Start again with the same home and port; with `clean_tmp`, TMPDIR is a new, empty one."""
        self.stop()
        if clean_tmp:
            self.temporary = self._fresh()
        self.start()

    def tail(self, lines: int = 60) -> str:
        """Return the log's last lines."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text("utf-8", errors="replace").splitlines()[-lines:])

    def _fresh(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="tmp-", dir=self.place))

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(NOT_INHERITED)}
        return kept | {
            "GLASSWORK_HOME": str(self.home or self.place / "home"),
            "GLASSWORK_MODELS": str(self.models),
            "GLASSWORK_PORT": str(self.port),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self.temporary),
        }

    def _await(self) -> None:
        assert self.process is not None
        end = time.monotonic() + self.wait
        while not self._answers():
            code = self.process.poll()
            if code is not None:
                raise RuntimeError(f"{self.script} ended with code {code}:\n{self.tail()}")
            if time.monotonic() > end:
                raise TimeoutError(f"no answer in {self.wait:g} s from {self.url}:\n{self.tail()}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with OPENER.open(f"{self.url}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, HTTPException):
            return False

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
