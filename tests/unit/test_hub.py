"""Models of the hub, against a small stand-in: what is fetched, noted, refused, stopped, deleted.

The stand-in answers the requests that the installed huggingface_hub makes. It is no proof that the
real hub answers so.
"""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.errors import BadRequest, Cancelled, ModelMissing
from backends.models.catalog import DEFAULT_MODEL, HUB_MODELS, Catalog, ModelEntry, hub_folder
from backends.models.hub import delete, download
from launch import build
from tests import tiny

ROOT = Path(__file__).parents[2]
MODEL = "EleutherAI/pythia-70m"
OTHER = "someone/own_model.v2"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "model.safetensors"
UNWANTED = {
    "pytorch_model.bin": b"pickled",
    "modeling_own.py": b"raise SystemExit",
    "weights.pt": b"pickled",
    "README.md": b"# Read me",
    "consolidated.safetensors": b"a second copy",
    "onnx/model.safetensors": b"another kind",
    "original/params.json": b"{}",
}


@dataclass
class StandIn:
    """A hub with one model, under any name that starts with a known owner.

    `refused` maps a part of a path to a status and an error code; `half` is set when half of the
    weights were sent and the rest is held back until `go_on`.
    """

    files: dict[str, bytes]
    url: str = ""
    sha: str = COMMIT
    gated: Any = False
    tags: list[str] = field(default_factory=lambda: ["safetensors", "license:apache-2.0"])
    sizes: dict[str, int] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    holds: bool = False
    half: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    garbage: bool = False
    name: str = ""

    def close(self) -> None:
        """Stop answering."""
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def start(self) -> None:
        """Answer from a thread."""
        stand_in = self

        class Handler(_Handler):
            hub = stand_in

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()


class _Handler(BaseHTTPRequestHandler):
    hub: StandIn

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        self.hub.asked.append(f"{self.command} {path}")
        for part, (status, code) in self.hub.refused.items():
            if part in path:
                return self._send(status, b"", {"X-Error-Code": code} if code else {})
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)", path):
            return self._json(self._info(found[1]))
        if re.fullmatch(rf"/api/models/[^/]+/[^/]+/tree/{self.hub.sha}", path):
            return self._json(self._tree())
        if found := re.fullmatch(rf"/[^/]+/[^/]+/resolve/{self.hub.sha}/(.+)", path):
            return self._file(found[1])
        return self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def _info(self, model: str) -> dict[str, Any]:
        sizes = {name: len(content) for name, content in self.hub.files.items()} | self.hub.sizes
        return {
            "id": self.hub.name or model,
            "sha": self.hub.sha,
            "gated": self.hub.gated,
            "tags": self.hub.tags,
            "siblings": [{"rfilename": name, "size": size} for name, size in sizes.items()],
        }

    def _tree(self) -> list[dict[str, Any]]:
        return [
            {"type": "file", "path": name, "size": len(content), "oid": f"{i:040x}"}
            for i, (name, content) in enumerate(self.hub.files.items())
        ]

    def _file(self, name: str) -> None:
        content = self.hub.files[name]
        headers = {"ETag": f'"{name}"', "X-Repo-Commit": self.hub.sha}
        if self.command == "GET" and name == WEIGHTS and self.hub.holds:
            return self._send_half(content, headers)
        return self._send(200, content, headers)

    def _json(self, value: Any) -> None:
        content = b"<html>Log in" if self.hub.garbage else json.dumps(value).encode()
        self._send(200, content, {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _send_half(self, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.hub.half.set()
        self.hub.go_on.wait(60)


@pytest.fixture
def stand_in(
    model_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StandIn]:
    """A hub that has the tiny model, and an environment that leads to it only."""
    files = {f.name: f.read_bytes() for f in sorted((model_folders / "tiny").iterdir())}
    made = StandIn(files | UNWANTED)
    made.start()
    monkeypatch.setenv("HF_ENDPOINT", made.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    return tmp_path / "home"


def entry(home: Path, model: str = MODEL) -> ModelEntry:
    """Return an entry whatever its state."""
    return next(e for e in Catalog(home).entries() if e.id == model)


def left(home: Path) -> set[str]:
    """Return the names of what lies beside the models, the lock aside."""
    return {f.name for f in (home / "models" / "hub").iterdir()} - {".lock"}


def refused(home: Path, model: str = MODEL) -> str:
    """Return the sentence of a download that fails, which leaves nothing."""
    with pytest.raises((ModelMissing, BadRequest)) as error:
        download(model, home)
    sentence = str(error.value)
    assert "\n" not in sentence
    assert sentence.endswith(".") or sentence.endswith("?")
    assert left(home) == set()
    assert not (home / "models.json").exists()
    return sentence


def test_what_is_offered_is_not_known_further(home: Path) -> None:
    found = {e.id: e for e in Catalog(home).entries() if e.source == "hub"}
    assert tuple(found) == HUB_MODELS
    for model, each in found.items():
        assert each.state == "downloadable"
        assert each.why == f"get it with: python launch.py models download {model}"
        assert (each.layers, each.bytes, each.license, each.revision) == (None,) * 4
    gated = {each.id.split("/")[0] for each in found.values() if each.gated}
    assert gated == {"meta-llama", "google"}
    assert {e.gated for e in found.values()} == {True, None}
    with pytest.raises(ModelMissing, match=f"'{MODEL}' is not on this machine: get it with: "):
        Catalog(home).get(MODEL)


def test_a_download_is_ready_with_its_numbers_and_commit(
    home: Path, stand_in: StandIn, model_folders: Path
) -> None:
    shown: list[tuple[int, int]] = []
    record = download(MODEL, home, show=lambda done, total: shown.append((done, total)))
    wanted = {name: content for name, content in stand_in.files.items() if name not in UNWANTED}
    assert record.files == {name: len(content) for name, content in wanted.items()}
    assert record.revision == COMMIT
    assert shown[-1] == (record.bytes, record.bytes)
    assert all(0 <= done <= total == record.bytes for done, total in shown)
    folder = hub_folder(home, MODEL)
    assert folder == home / "models" / "hub" / "EleutherAI__pythia-70m"
    assert {f.name: f.read_bytes() for f in folder.iterdir()} == wanted
    found = Catalog(home).get(MODEL)
    assert (found.state, found.source, found.path) == ("ready", "hub", folder)
    assert (found.layers, found.d_model, found.heads) == (tiny.LAYERS, tiny.D_MODEL, 4)
    assert (found.license, found.gated, found.revision) == ("apache-2.0", False, COMMIT)
    assert Catalog(home).ref(MODEL, "float32").revision == COMMIT
    assert left(home) == {folder.name}
    assert not (folder.parent.parent / "hf").exists()
    fetched = {a.partition(f"/resolve/{COMMIT}/")[2] for a in stand_in.asked if "/resolve/" in a}
    assert fetched == set(wanted)
    assert not any("/resolve/main" in a or "/revision/main" in a for a in stand_in.asked)


def test_what_was_downloaded_can_be_run(settings: Settings, stand_in: StandIn) -> None:
    download(OTHER, settings.home)
    engine = build(settings)
    try:
        stored = _run_map(engine, OTHER)
    finally:
        engine.runner.close()
    assert stored.result.layers == [0, 1]
    assert stored.provenance["model"] == OTHER
    assert stored.provenance["revision"] == COMMIT


def _run_map(engine: Engine, model: str) -> Any:
    method = engine.found.get("knowledge_map")
    raw = {"model": model, "domain": "symptom", "layers": "0,1", "projection": "pca"}
    return engine.runner.submit(method, accept(method, raw, engine.known)).result()


def test_a_second_download_asks_nobody(home: Path, stand_in: StandIn) -> None:
    first = download(MODEL, home)
    stand_in.asked.clear()
    assert download(MODEL, home) == first
    assert stand_in.asked == []


def test_a_model_that_is_not_offered_is_listed_once_it_is_here(
    home: Path, stand_in: StandIn
) -> None:
    assert OTHER not in {e.id for e in Catalog(home).entries()}
    download(OTHER, home)
    assert entry(home, OTHER).state == "ready"
    download(MODEL, home)
    assert {e.id for e in Catalog(home).entries() if e.state == "ready"} >= {MODEL, OTHER}
    delete(OTHER, home)
    assert OTHER not in {e.id for e in Catalog(home).entries()}
    assert left(home) == {hub_folder(home, MODEL).name}


def test_a_deleted_model_can_be_had_again_at_the_newer_commit(
    home: Path, stand_in: StandIn
) -> None:
    download(MODEL, home)
    delete(MODEL, home)
    assert left(home) == set()
    assert entry(home).state == "downloadable"
    stand_in.sha = COMMIT[::-1]
    assert download(MODEL, home).revision == COMMIT[::-1]
    assert Catalog(home).ref(MODEL, "float32").revision == COMMIT[::-1]


@pytest.mark.parametrize("model", [DEFAULT_MODEL, "tiny", MODEL, "no/such", "../home"])
def test_only_what_was_downloaded_can_be_deleted(home: Path, model: str) -> None:
    with pytest.raises(BadRequest) as error:
        delete(model, home)
    assert str(error.value) == (
        f"{model!r} was not downloaded from the hub; only such models can be deleted here."
    )


@pytest.mark.parametrize("model", ["gpt2", "a/b/c", "../../etc", "a__b/c", "a/.b", "a/b\n", ""])
def test_other_names_are_no_names_of_the_hub(home: Path, model: str) -> None:
    with pytest.raises(BadRequest, match="is no name of the hub; those are owner/name"):
        download(model, home)
    assert not home.exists()


def test_names_that_the_library_refuses_are_told(home: Path, stand_in: StandIn) -> None:
    assert refused(home, "a/b--c") == "'a/b--c' is no name of the hub; those are owner/name."
    assert stand_in.asked == []


def _unknown(hub: StandIn) -> None:
    hub.refused["/api/models/"] = (404, "RepoNotFound")


def _unknown_or_private(hub: StandIn) -> None:
    hub.refused["/api/models/"] = (401, "")


def _gated(hub: StandIn) -> None:
    hub.gated = "manual"
    hub.refused["/resolve/"] = (401, "GatedRepo")


def _not_on_the_list(hub: StandIn) -> None:
    hub.refused["/resolve/"] = (403, "GatedRepo")


def _forbidden(hub: StandIn) -> None:
    hub.refused["/api/models/"] = (403, "")


def _down(hub: StandIn) -> None:
    hub.close()


def _busy(hub: StandIn) -> None:
    hub.refused["/api/models/"] = (503, "")


def _no_hub(hub: StandIn) -> None:
    hub.garbage = True


def _no_commit(hub: StandIn) -> None:
    hub.sha = "main"


def _no_safetensors(hub: StandIn) -> None:
    hub.files = {"config.json": hub.files["config.json"]} | UNWANTED


def _no_config(hub: StandIn) -> None:
    del hub.files["config.json"]


def _code(hub: StandIn) -> None:
    config = json.loads(hub.files["config.json"]) | {"auto_map": {"AutoModel": "modeling_own.Own"}}
    hub.files["config.json"] = json.dumps(config).encode()


def _other_kind(hub: StandIn) -> None:
    hub.files["config.json"] = b'{"architectures": ["BertModel"]}'


def _broken_config(hub: StandIn) -> None:
    hub.files["config.json"] = b"[1"


def _no_layers(hub: StandIn) -> None:
    hub.files["config.json"] = b'{"architectures": ["LlamaForCausalLM"]}'


def _huge(hub: StandIn) -> None:
    hub.sizes[WEIGHTS] = 10**18


def _shorter(hub: StandIn) -> None:
    hub.sizes[WEIGHTS] = len(hub.files[WEIGHTS]) + 1


def _renamed(hub: StandIn) -> None:
    hub.name = "new-owner/pythia-70m"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_unknown, "The hub knows no model '{m}', or shows it only with a valid HF_TOKEN."),
        (_unknown_or_private, "The hub knows no model '{m}', or shows it only with .*"),
        (_gated, r"The hub does not give out '{m}' \(401\): accept its terms at .*{m} and set .*"),
        (_not_on_the_list, r"The hub does not give out '{m}' \(403\): .* set HF_TOKEN .*"),
        (_forbidden, r"The hub does not give out '{m}' \(403\): .*"),
        (_down, "The hub cannot be reached at http://127.*; all that is here works without it."),
        (_busy, "The hub answered 503 when asked for '{m}'; try again later."),
        (_no_hub, "The answer for '{m}' is not one of a hub; is HF_ENDPOINT .* right.*"),
        (_no_commit, "The answer for '{m}' is not one of a hub; .*"),
        (_no_safetensors, "Model '{m}' cannot be used: it has no .safetensors weights, and .*"),
        (_no_config, "Model '{m}' cannot be used: it has no config.json."),
        (_code, "Model '{m}' cannot be used: it needs code of its own, which is never run."),
        (_other_kind, "Model '{m}' cannot be used: it is not a causal language model .*"),
        (_broken_config, "Model '{m}' cannot be used: its config.json cannot be read."),
        (_no_layers, "Model '{m}' cannot be used: .* does not say how many layers it has."),
        (_huge, r"{m} needs 1000000000.0 GB; [\d.]+ GB are free on the disk."),
        (_shorter, "The download of '{m}' broke off; start it again."),
        (_renamed, "The hub calls this model 'new-owner/pythia-70m'; ask for it by that name."),
    ],
)
def test_what_cannot_be_had_is_told_in_a_sentence(
    home: Path, stand_in: StandIn, spoil: Callable[[StandIn], None], sentence: str
) -> None:
    spoil(stand_in)
    assert re.fullmatch(sentence.format(m=MODEL), refused(home))
    assert entry(home).state == "downloadable"
    assert Catalog(home).get(DEFAULT_MODEL).state == "ready"


def test_no_weights_are_fetched_of_a_model_that_is_refused(home: Path, stand_in: StandIn) -> None:
    _code(stand_in)
    refused(home)
    assert [a for a in stand_in.asked if WEIGHTS in a] == []
    assert [a for a in stand_in.asked if "config.json" in a] != []


def test_a_token_goes_to_the_hub(
    home: Path, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    answer = _Handler._answer

    def noting(self: _Handler) -> None:
        seen.append(self.headers.get("Authorization"))
        answer(self)

    monkeypatch.setattr(_Handler, "_answer", noting)
    monkeypatch.setenv("HF_TOKEN", "hf_only_a_test")
    download(MODEL, home)
    assert set(seen) == {"Bearer hf_only_a_test"}
    assert "hf_only" not in (home / "models.json").read_text()


def test_a_full_disk_is_told() -> None:
    from backends.models.hub import _sentence

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert _sentence(MODEL, full) == f"The disk is full; '{MODEL}' was not downloaded."
    outer = OSError("outer")
    outer.__cause__ = full
    assert _sentence(MODEL, outer) == f"The disk is full; '{MODEL}' was not downloaded."


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path, stand_in: StandIn) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(ModelMissing, match=r"cannot be written: .*"):
        download(MODEL, tmp_path / "home")


def test_giving_up_ends_the_process_and_leaves_nothing(home: Path, stand_in: StandIn) -> None:
    stand_in.holds = True
    children: set[psutil.Process] = set()
    before = set(psutil.Process().children(recursive=True))
    shown: list[int] = []

    def check() -> None:
        if stand_in.half.is_set():
            children.update(set(psutil.Process().children(recursive=True)) - before)
            raise Cancelled

    with pytest.raises(Cancelled):
        download(MODEL, home, check, lambda done, total: shown.append(done))
    fetching = [c for c in children if "resource_tracker" not in " ".join(_words(c))]
    assert [c for c in fetching if c.is_running() and c.status() != psutil.STATUS_ZOMBIE] == []
    assert fetching
    assert left(home) == set()
    assert not (home / "models.json").exists()
    assert entry(home).state == "downloadable"


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def start(home: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a command of the command line."""
    environment = dict(os.environ) | {
        "GLASSWORK_HOME": str(home),
        "GLASSWORK_MODELS": "",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, str(ROOT / "launch.py"), "models", *words],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(home: Path, *words: str) -> tuple[int, str, list[str]]:
    """Run a command; return its exit code, its output, and the lines on standard error."""
    with start(home, *words) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err.splitlines()


def test_the_command_line_stops_at_an_interrupt(home: Path, stand_in: StandIn) -> None:
    stand_in.holds = True
    with start(home, "download", MODEL) as process:
        assert stand_in.half.wait(120)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Stopped."
    assert "Traceback" not in err
    assert left(home) == set()
    assert entry(home).state == "downloadable"


def test_a_killed_download_counts_as_nothing_and_is_cleared(home: Path, stand_in: StandIn) -> None:
    stand_in.holds = True
    with start(home, "download", MODEL) as process:
        assert stand_in.half.wait(120)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.communicate(timeout=120)
    psutil.wait_procs(children, timeout=60)
    assert [name for name in left(home) if name.startswith(".part-")] != []
    assert entry(home).state == "downloadable"
    stand_in.go_on.set()
    stand_in.holds = False
    download(MODEL, home)
    assert left(home) == {hub_folder(home, MODEL).name}
    assert entry(home).state == "ready"


def test_one_download_at_a_time(home: Path, stand_in: StandIn) -> None:
    told: list[str] = []

    def show(done: int, total: int) -> None:
        if not told:
            with pytest.raises(BadRequest) as error:
                delete(OTHER, home)
            told.append(str(error.value))

    download(MODEL, home, show=show)
    assert told == ["Another download or deletion is under way; wait until it has ended."]
    assert entry(home).state == "ready"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x89PNG",
        b"[]",
        b'{"a/b": {"revision": "main", "files": {}, "bytes": 0, "downloaded": ""}}',
        b'{"../b": {"revision": "%s", "files": {}, "bytes": 0, "downloaded": ""}}' % (b"0" * 40),
    ],
)
def test_an_unreadable_record_counts_as_empty(
    home: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    home.mkdir()
    (home / "models.json").write_bytes(content)
    assert entry(home).state == "downloadable"
    assert {e.id for e in Catalog(home).entries()} == {DEFAULT_MODEL, *HUB_MODELS}
    assert "models.json cannot be read and counts as empty" in caplog.text


def test_a_broken_record_is_mended_by_a_download(home: Path, stand_in: StandIn) -> None:
    download(MODEL, home)
    (home / "models.json").write_text("{")
    assert entry(home).state == "downloadable"
    download(MODEL, home)
    assert entry(home).state == "ready"
    assert list(json.loads((home / "models.json").read_text())) == [MODEL]
    assert left(home) == {hub_folder(home, MODEL).name}


@pytest.mark.parametrize("loss", ["gone", "cut", "folder"])
def test_a_model_with_missing_files_is_not_ready(home: Path, stand_in: StandIn, loss: str) -> None:
    download(MODEL, home)
    weights = hub_folder(home, MODEL) / WEIGHTS
    if loss == "gone":
        weights.unlink()
    elif loss == "cut":
        os.truncate(weights, 100)
    else:
        hub_folder(home, MODEL).rename(home / "elsewhere")
    assert entry(home).state == "downloadable"
    assert entry(home).why.startswith("not all of its files are there any more; get it with: ")
    download(MODEL, home)
    assert entry(home).state == "ready"


def test_a_folder_hides_the_hub_model_of_its_name(
    home: Path, tmp_path: Path, stand_in: StandIn
) -> None:
    download(MODEL, home)
    tiny.build(tmp_path / "own" / MODEL, layers=1)
    found = [e for e in Catalog(home, tmp_path / "own").entries() if e.id == MODEL]
    assert [(e.source, e.layers) for e in found] == [("folder", 1)]


def test_the_command_line_downloads_lists_and_deletes(home: Path, stand_in: StandIn) -> None:
    code, out, err = call(home, "download", MODEL)
    assert (code, out) == (0, f"{MODEL} is ready, at revision {COMMIT}.\n"), err
    assert "Warning" not in "".join(err)
    rows = [line.split() for line in call(home, "list")[1].splitlines()]
    assert [MODEL, "ready", str(tiny.LAYERS)] in [row[:3] for row in rows]
    assert next(row for row in rows if row[0] == MODEL)[-1] == "apache-2.0"
    offered = next(row for row in rows if row[0] == "openai-community/gpt2")
    assert offered[1] == "downloadable"
    assert offered[-5:] == ["python", "launch.py", "models", "download", offered[0]]
    stand_in.asked.clear()
    again = call(home, "download", MODEL)
    assert again == (0, f"{MODEL} is here already, at revision {COMMIT}.\n", [])
    assert stand_in.asked == []
    assert call(home, "delete", MODEL) == (0, f"{MODEL} is deleted.\n", [])
    assert entry(home).state == "downloadable"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("delete", DEFAULT_MODEL), "'smollm2-135m' was not downloaded from the hub; .*"),
        (("download", DEFAULT_MODEL), "'smollm2-135m' is here already and is no model of the hub."),
        (("download", "gpt2"), "'gpt2' is no name of the hub; those are owner/name."),
        (("download", "no/such"), "The hub knows no model 'no/such', .*"),
    ],
)
def test_mistakes_on_the_command_line(
    home: Path, stand_in: StandIn, words: tuple[str, str], sentence: str
) -> None:
    _unknown(stand_in)
    code, out, err = call(home, *words)
    assert (code, out, len(err)) == (2, "", 1), err
    assert re.fullmatch(sentence, err[0])
