"""The command line as people and scripts see it: files, exit codes, and one line for a mistake.

Everything runs in processes of its own. Where nothing may be computed, a false `torch` that cannot
be imported stands before the real one, so that a call that passes has not imported it.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from app.describe import describe
from app.settings import PREFIX, SETTINGS
from backends.discovery import find_methods

ROOT = Path(__file__).parents[2]
MAP = ["run", "knowledge_map", "--model", "tiny", "--domain", "symptom"]
FAST = [*MAP, "--projection", "pca", "--layers", "0,1"]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@dataclass(frozen=True)
class Home:
    """A home with the tiny model; `warm` is the folder of a run that was computed there."""

    path: Path
    models: Path
    no_torch: Path
    warm: Path

    def environment(self, torch: bool, **more: str) -> dict[str, str]:
        """Return the environment of a call; without torch nothing can compute."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
        ours = {
            "GLASSWORK_HOME": str(self.path),
            "GLASSWORK_MODELS": str(self.models),
            "GLASSWORK_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": "" if torch else str(self.no_torch),
        }
        return kept | ours | more

    def call(self, *words: str, torch: bool = False, cwd: Path = ROOT, **more: str) -> Any:
        """Run one command and return what it gave."""
        return subprocess.run(
            [sys.executable, str(ROOT / "launch.py"), *words],
            cwd=cwd,
            env=self.environment(torch, **more),
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def entries(self) -> set[str]:
        """Return the names of everything that was ever stored."""
        return {file.name for file in (self.path / "cache").rglob("*.safetensors")}


@pytest.fixture(scope="module")
def first(
    tmp_path_factory: pytest.TempPathFactory, model_folders: Path
) -> tuple[Home, subprocess.CompletedProcess[str]]:
    """A home in which one map was computed, and what that call gave."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "no_torch").mkdir()
    (folder / "no_torch" / "torch.py").write_text("raise RuntimeError('torch was imported')")
    home = Home(folder / "home", model_folders, folder / "no_torch", folder / "warm")
    return home, home.call(*FAST, "--out", str(home.warm), torch=True)


@pytest.fixture(scope="module")
def home(first: tuple[Home, subprocess.CompletedProcess[str]]) -> Home:
    """That home."""
    return first[0]


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_a_run_writes_its_files(
    first: tuple[Home, subprocess.CompletedProcess[str]],
) -> None:
    home, done = first
    assert done.returncode == 0, done.stderr
    written = files(home.warm)
    assert {"request.json", "result.json", "result.npz"} < set(written)
    figures = {Path(name).name for name in written if name.startswith("figures/")}
    assert figures == {"map.html", "separability.html", "collapse.html", "plotly.min.js"}
    where, command, link = done.stdout.splitlines()
    assert where == str(home.warm)
    assert command == (
        "python launch.py run knowledge_map --model tiny --domain symptom --labels body_system "
        "--layers 0,1 --projection pca"
    )
    assert link.startswith("?method=knowledge_map&model=tiny&domain=symptom&")
    assert re.search(r"done: \d+ forward passes, 4 parts computed$", done.stderr.rstrip())
    assert "Warning" not in done.stderr
    assert "Loading" not in done.stderr


def test_the_files_agree(home: Home) -> None:
    request = json.loads((home.warm / "request.json").read_text("utf-8"))
    result = json.loads((home.warm / "result.json").read_text("utf-8"))
    assert request["method"] == result["method"] == "knowledge_map"
    assert request["layers"] == result["values"]["layers"] == [0, 1]
    assert list(result) == ["method", "version", "fingerprint", "values", "arrays", "provenance"]
    with np.load(home.warm / "result.npz", allow_pickle=False) as arrays:
        assert set(arrays) == set(result["arrays"])
        for name, described in result["arrays"].items():
            assert list(arrays[name].shape) == described["shape"]
            assert str(arrays[name].dtype) == described["dtype"]
            assert len(described["axes"]) == arrays[name].ndim
    assert result["provenance"]["model"] == "tiny"
    assert result["provenance"]["n"] == 66


def test_equal_requests_give_equal_files_and_compute_nothing(home: Home, tmp_path: Path) -> None:
    expected = files(home.warm)
    printed = json.loads((home.warm / "result.json").read_text("utf-8"))
    link = home.call(*FAST, "--out", str(tmp_path / "again"))
    ways = {
        "request": ["run", "knowledge_map", "--request", str(home.warm / "request.json")],
        "link": ["run", "knowledge-map", "--link", link.stdout.splitlines()[2]],
        "url": ["run", "knowledge_map", "--link", "http://x.y/" + link.stdout.splitlines()[2]],
        "command": shlex.split(link.stdout.splitlines()[1])[2:],
        "other words": [*MAP, "--layers", "1,0,1", "--projection=pca", "--seed", "00"],
    }
    assert files(tmp_path / "again") == expected
    for name, words in ways.items():
        done = home.call(*words, "--out", str(tmp_path / name))
        assert done.returncode == 0, (name, done.stderr)
        assert "recalled, nothing computed" in done.stderr
        assert files(tmp_path / name) == expected, name
    assert printed["fingerprint"] == json.loads(
        (tmp_path / "link" / "result.json").read_text("utf-8")
    )["fingerprint"]  # fmt: skip


def test_options_override_a_request_and_figures_can_be_left_out(home: Home, tmp_path: Path) -> None:
    request = json.loads((home.warm / "request.json").read_text("utf-8"))
    (tmp_path / "other.json").write_text(json.dumps(request | {"seed": 5, "layers": "all"}))
    words = ["--request", str(tmp_path / "other.json"), "--seed", "0", "--layers", "0,1"]
    out = tmp_path / "out"
    done = home.call("run", "knowledge_map", *words, "--out", str(out), "--figures", "none")
    assert done.returncode == 0, done.stderr
    assert sorted(files(out)) == ["request.json", "result.json", "result.npz"]
    assert (out / "result.npz").read_bytes() == (home.warm / "result.npz").read_bytes()


def test_figures_of_an_earlier_request_do_not_stay(home: Home, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "age.html").write_text("of an earlier request")
    home.call(*FAST, "--out", str(tmp_path))
    assert "figures/age.html" not in files(tmp_path)
    assert files(tmp_path) == files(home.warm)
    home.call(*FAST, "--out", str(tmp_path), "--figures", "none")
    assert [name for name in files(tmp_path) if name.endswith(".html")] == []


def test_without_out_the_folder_is_named_by_the_request(home: Home, tmp_path: Path) -> None:
    done = home.call(*FAST, "--figures", "none", cwd=tmp_path)
    fingerprint = json.loads((home.warm / "result.json").read_text("utf-8"))["fingerprint"]
    name = f"knowledge_map-{fingerprint[:8]}"
    assert done.stdout.splitlines()[0] == name
    assert (tmp_path / name / "result.npz").exists()


def test_a_table_of_the_user_with_tokens_that_repeat(home: Home, tmp_path: Path) -> None:
    cells = ["=cmd()", "<script>alert(1)</script>", "two words", "two", "🙂", "東京", "naïve", "no"]
    lines = [f"The word {c},{c},k{i % 2}" for i, c in enumerate(cells)]
    table = tmp_path / "my table.csv"
    table.write_text("\n".join(["prompt,entity,kind", *lines]), "utf-8")
    words = ["run", "knowledge_map", "--model", "tiny", "--projection", "pca", "--bos", "force"]
    more = ["--token", "first_entity", "--table", str(table), "--out", str(tmp_path / "one")]
    done = home.call(*words, *more, torch=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "one" / "result.json").read_text("utf-8"))
    assert result["provenance"]["bos"] == "force"
    assert result["values"]["entities"] == cells
    assert all(tokens[0] == "<s>" for tokens in result["values"]["tokens"])
    with np.load(tmp_path / "one" / "result.npz", allow_pickle=False) as arrays:
        assert len(np.unique(arrays["map"][0].round(4), axis=0)) < len(cells)
        assert np.isfinite(arrays["silhouette"]).all()
    for page in (tmp_path / "one" / "figures").glob("*.html"):
        assert "<script>alert(1)" not in page.read_text("utf-8")
    request = json.loads((tmp_path / "one" / "request.json").read_text("utf-8"))
    assert request["table"].startswith("sha256:")
    assert str(tmp_path) not in (tmp_path / "one" / "result.json").read_text("utf-8")
    table.unlink()
    again = ["--request", str(tmp_path / "one" / "request.json"), "--out", str(tmp_path / "two")]
    assert home.call("run", "knowledge_map", *again).returncode == 0
    assert files(tmp_path / "two") == files(tmp_path / "one")


GOOD = [f"Text {i},k{i % 2}" for i in range(8)]
FILES: dict[str, bytes] = {
    "one class.csv": "\n".join(["prompt,kind"] + [f"Text {i},a" for i in range(8)]).encode(),
    "two.csv": b"prompt,kind\nOne,a\nTwo,b\n",
    "equal.csv": b"prompt,kind\n" + b"Same,a\nSame,b\n" * 20,
    "nan.csv": "\n".join(["prompt,value", *(f"Text {i},{i}" for i in range(6)), "x,NaN"]).encode(),
    "empty prompt.csv": "\n".join(["prompt,kind", *GOOD, ",k0"]).encode(),
    "no prompt.csv": "\n".join(["text,kind", *GOOD]).encode(),
    "image.csv": PNG,
    "empty.csv": b"",
    "good.csv": "\n".join(["prompt,kind", *GOOD]).encode(),
    "broken.json": b'{"domain": ',
    "list.json": b"[1, 2]",
    "image.json": PNG,
    "other.json": b'{"method": "rope_bands", "layer": 3}',
    "odd.json": b'{"method": "knowledge_map", "domain": ["drug"], "layers": null}',
    "bare.json": b"{}",
    "path.json": b'{"method": "knowledge_map", "table": "good.csv"}',
    "deep.json": b"[" * 100_000,
    "huge.json": b" " * (2**20 + 1),
    "nul.json": b'{"method": "knowledge_map", "table": "a\\u0000b"}',
    "huge value.csv": "\n".join(["prompt,value", *(f"Row {i},1e30{i}" for i in range(6))]).encode(),
    "constant.csv": "\n".join(["prompt,value", *(f"Text {i},4" for i in range(6))]).encode(),
}  # fmt: skip
SECRET = "?method=knowledge_map&model=tiny&table=/etc/passwd"
BAD = [
    (["--layers", "999"], r"Layer 999 is outside 0\.\.1\."),
    (["--layers", "-1"], "Field 'layers': '-1' is no layer; .*"),
    (["--layers", "x"], "Field 'layers': 'x' is no layer; .*"),
    (["--layers", ""], r"No layer was given; tiny has layers 0\.\.1\."),
    (["--domain", "nonsense"], "Field 'domain' is 'nonsense'; it must be 'age', 'symptom', .*"),
    (["--labels", "nonsense"], "Label column 'nonsense' is not there; there are: body_system."),
    (["--model", "no/such-model"], "Model 'no/such-model' is not known here; known: .*tiny."),
    (["--model", ""], "Model '' is not known here; known: .*"),
    (["--colour", "red"], "Option --colour is unknown; there are: --model, .*--link.*"),
    (["--seed", "nan"], "Field 'seed' is 'nan'; it must be a whole number."),
    (["--seed", "-1"], "Field 'seed' is '-1'; it must be at least 0."),
    (["--seed"], "Option '--seed' requires an argument."),
    (["--bos", "maybe"], "Field 'bos' is 'maybe'; it must be 'auto', 'force' or 'none'."),
    (["--figures", "svg"], "--figures is 'svg'; it must be html or none."),
    (["drug"], r"Got unexpected extra argument.*\(drug\).*"),
    (["--table", "none.csv"], "File 'none.csv' cannot be read: No such file or directory."),
    (["--table", "."], "File '.' cannot be read: Is a directory."),
    (["--table", "good.csv", "--domain", "drug"], "A domain and a table were given; .*"),
    (["--table", "one class.csv"], "No label column has two classes of at least 3 prompts; .*"),
    (["--table", "two.csv"], "The table has 2 prompts; 6 to 1000 are allowed."),
    (["--table", "equal.csv"], "Row 2 repeats the prompt of row 1; .*"),
    (["--table", "nan.csv"], r"The value of row 7 is 'NaN'; it must be a number from -1e.*"),
    (["--table", "huge value.csv"], r"The value of row 1 is '1e300'; it must be a number .*"),
    (["--table", "constant.csv"], "The value is 4 in every row; it must vary."),
    (["--table", "empty prompt.csv"], "Row 9 has an empty prompt."),
    (["--table", "no prompt.csv"], "The table has no column prompt; it has: 'text', 'kind'."),
    (["--table", "image.csv"], "The table is not UTF-8 text; save it as CSV in UTF-8."),
    (["--table", "empty.csv"], "The table is empty; .*"),
    (["--request", "none.json"], "There is no file 'none.json'."),
    (["--request", "/dev/zero"], "There is no file '/dev/zero'."),
    (["--request", "huge.json"], "'huge.json' has more than 1048576 bytes."),
    (["--request", "deep.json"], "'deep.json' cannot be read as JSON."),
    (["--request", "bare.json"], "'bare.json' is not a request of knowledge_map."),
    (["--request", "path.json"], "Field 'table': 'good.csv' is not the digest of an .*"),
    (["--request", "broken.json"], "'broken.json' cannot be read as JSON."),
    (["--request", "image.json"], "'image.json' cannot be read as JSON."),
    (["--request", "list.json"], "'list.json' is not a request of knowledge_map."),
    (["--request", "other.json"], "'other.json' is not a request of knowledge_map."),
    (["--request", "odd.json"], r"Field 'domain' is \['drug'\]; it must be .*"),
    (["--request", "nul.json"], "Field 'table': .* is not the digest of an uploaded file .*"),
    (["--request", "list.json", "--link", "?domain=drug"], "Give --request or --link, not both."),
    (["--link", "?method=rope_bands"], "The link is for method 'rope_bands', not .*"),
    (["--link", "?method=knowledge_map&r=1234"], "The request '1234' is not known on this .*"),
    (["--link", "nonsense"], "The link 'nonsense' has no fields; .*"),
    (["--link", SECRET], "Field 'table': '/etc/passwd' is not the digest of an uploaded file .*"),
    (["--out", "good.csv"], "'good.csv' cannot be written: .*"),
]  # fmt: skip


COMMANDS = [
    (["run", "no_such_method"], "Method 'no_such_method' is unknown; there are: .*"),
    (["fly"], "No such command 'fly'.*"),
    (["--fly"], "Option --fly is unknown.*"),
    (["cache", "fly"], "No such command 'fly'.*"),
    (["cache", "show", "--fly"], "Option --fly is unknown.*"),
    (["models", "download", "x"], "'x' is no name of the hub; those are owner/name."),
    (["methods", "no_such_method"], "Method 'no_such_method' is unknown; there are: .*"),
    (["methods", "knowledge_map", "x"], "Got unexpected extra argument.*"),
]
SETTINGS_GIVEN = [
    ("CACHE_GB", "lots", "GLASSWORK_CACHE_GB is 'lots'; it must be a number from 0 to .*"),
    ("THREADS", "-1", "GLASSWORK_THREADS is '-1'; it must be a number from 0 to .*"),
    ("DEVICE", "gpu", "GLASSWORK_DEVICE is 'gpu'; it must be auto, cpu or cuda:0."),
    ("MODELS", "/nowhere", "GLASSWORK_MODELS is '/nowhere'; there is no such folder."),
    ("HOME", "/dev/null/x", "GLASSWORK_HOME is '/dev/null/x'; it cannot be written: .*"),
]


def whole(words: list[str]) -> list[str]:
    """Return a bad call as a whole: what is not given is as in a good one."""
    base = ["run", "knowledge_map"]
    if not {"--request", "--link"} & set(words):
        base += ["--model", "tiny", "--projection", "pca"]
        base += [] if "--table" in words else ["--domain", "symptom"]
    return [*base, *words]


CALLS = [(whole(words), sentence, {}) for words, sentence in BAD]
CALLS += [(words, sentence, {}) for words, sentence in COMMANDS]
CALLS += [(FAST, sentence, {PREFIX + name: value}) for name, value, sentence in SETTINGS_GIVEN]

# Makes calls, each in a fork of one process that has imported what every start imports.
CALLER = """
import json, os, sys, tempfile
import launch

def answer(call):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.environ.update(call["env"])
                sys.argv = ["launch.py", *call["words"]]
                code = launch.main()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = [file.seek(0) or file.read().decode() for file in (out, err)]
        return [code, *texts]

print(json.dumps([answer(call) for call in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def corner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that bad calls name."""
    folder = tmp_path_factory.mktemp("corner")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def answers(home: Home, corner: Path) -> list[tuple[int, str, str]]:
    """What every bad call gave: exit code, standard output, standard error."""
    before, beside = home.entries(), files(corner)
    done = subprocess.run(
        [sys.executable, "-P", "-c", CALLER],
        cwd=corner,
        env=home.environment(torch=False, PYTHONPATH=f"{home.no_torch}{os.pathsep}{ROOT}"),
        input=json.dumps([{"words": words, "env": env} for words, _, env in CALLS]),
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert home.entries() == before
    assert files(corner) == beside
    return [tuple(answer) for answer in json.loads(done.stdout)]


@pytest.mark.parametrize(
    "number",
    range(len(CALLS)),
    ids=[" ".join([*words, *env.values()]) for words, _, env in CALLS],
)
def test_a_bad_call_is_told_in_one_line(answers: list[tuple[int, str, str]], number: int) -> None:
    code, printed, said = answers[number]
    assert (code, printed) == (2, ""), said
    assert said.endswith("\n")
    assert len(said.splitlines()) == 1, said
    assert re.fullmatch(CALLS[number][1], said.rstrip()), said


def test_a_bad_call_of_its_own(home: Home, corner: Path) -> None:
    done = home.call(*MAP, "--layers", "999", cwd=corner)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Layer 999 is outside 0..1.\n"
    assert files(corner) == FILES


def test_methods_are_listed_and_described(home: Home) -> None:
    method = find_methods().methods["knowledge_map"]
    listed = home.call("methods")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert re.search(rf"  knowledge_map +{re.escape(method.about)}", listed.stdout)
    assert json.loads(home.call("methods", "--json").stdout)["knowledge_map"] == method.about
    described = home.call("methods", "knowledge-map", "--json")
    assert (described.returncode, described.stderr) == (0, "")
    assert json.loads(described.stdout) == describe(method)
    readable = home.call("methods", "knowledge_map").stdout
    assert "--normalization" in readable
    assert "silhouette" in readable
    assert "column × layer" in readable


def test_models_are_listed_with_their_state(home: Home, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    shutil.copytree(home.models / "tiny", tmp_path / "tiny")
    done = home.call("models", "list", GLASSWORK_MODELS=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["tiny", "ready", "2"] in [row[:3] for row in rows]
    assert ["smollm2-135m", "ready", "30"] in [row[:3] for row in rows]
    assert any(row[:2] == ["broken", "missing"] for row in rows)


def test_the_doctor_looks_without_computing(home: Home) -> None:
    done = home.call("doctor", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for what in ("python", "torch", "cache files", "methods", "model tiny", "model smollm2-135m"):
        assert re.search(rf"^ok +{what} ", done.stdout, re.MULTILINE), what


def test_help_is_printed(home: Home) -> None:
    done = home.call("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(PREFIX + setting.name in done.stdout for setting in SETTINGS)
    assert all(f"  {name} " in done.stdout for name in ("run", "methods", "cache", "doctor"))
    done = home.call("run", "knowledge_map", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    fields = find_methods().methods["knowledge_map"].request.model_fields
    assert all(f"--{name.replace('_', '-')} " in done.stdout for name in fields)
    done = home.call("run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "knowledge_map" in done.stdout


@pytest.fixture
def copy(home: Home, tmp_path: Path) -> Home:
    """A copy of the warm home, to be spoiled."""
    shutil.copytree(home.path, tmp_path / "home")
    return Home(tmp_path / "home", home.models, home.no_torch, home.warm)


def test_the_cache_is_shown_verified_and_cleared(copy: Home, tmp_path: Path) -> None:
    shown = copy.call("cache", "show")
    assert shown.returncode == 0
    assert re.match(r"\d+ entries, [\d.]+ MB of 20000", shown.stdout)
    assert re.search(r"^  result/knowledge_map/\d+ +\d+ ", shown.stdout, re.MULTILINE)
    assert re.search(r"^  activation/1 +\d+ ", shown.stdout, re.MULTILINE)
    verified = copy.call("cache", "verify")
    assert (verified.returncode, verified.stderr) == (0, "")
    n = len(copy.entries())
    assert verified.stdout == f"{n} files checked, clean\n"
    assert (copy.path / "uploads").is_dir() or not list(copy.path.glob("uploads/*"))
    cleared = copy.call("cache", "clear")
    assert (cleared.returncode, cleared.stdout) == (0, f"{n} entries deleted\n")
    assert copy.entries() == set()
    assert copy.call("cache", "show").stdout.startswith("0 entries")


def test_a_file_that_is_not_what_was_written_is_found(copy: Home) -> None:
    file = max((copy.path / "cache").rglob("*.safetensors"), key=lambda f: f.stat().st_size)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    done = copy.call("cache", "verify")
    assert done.returncode == 1
    assert f"corrupt: {file.stem}" in done.stdout
    assert done.stdout.rstrip().endswith("files checked, NOT clean")
    assert copy.call("doctor", "--quick").returncode == 1


def test_a_fault_of_ours_is_one_line_and_stands_in_the_log(copy: Home, tmp_path: Path) -> None:
    words = [*MAP, "--projection", "pca", "--seed", "9", "--out", str(tmp_path / "out")]
    done = copy.call(*words)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    found = re.fullmatch(r"Something went wrong \(id ([0-9a-f]{4})\); the log has .*", last)
    assert found
    log = (copy.path / "log" / "glasswork.log").read_text("utf-8")
    assert f"id {found[1]}: RuntimeError" in log
    assert "Traceback" not in done.stderr


def interrupted(
    home: Home, words: list[str], ready: Callable[[str], bool], interrupt: Callable[[int], None]
) -> tuple[int, str]:
    """Start a run, interrupt it at the first line that is ready, and return code and lines."""
    with subprocess.Popen(
        [sys.executable, "launch.py", *words],
        cwd=ROOT,
        env=home.environment(torch=True),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if ready(line):
                break
        interrupt(process.pid)
        rest = process.stderr.read()
        return process.wait(100), rest


def test_ctrl_c_stops_a_run(copy: Home, tmp_path: Path) -> None:
    words = [*MAP, "--domain", "drug", "--projection", "pca", "--out", str(tmp_path / "out")]
    code, rest = interrupted(
        copy, words, lambda line: True, lambda pid: os.kill(pid, signal.SIGINT)
    )
    assert code == 130
    assert rest.splitlines()[-1] == "Stopped."
    assert "Traceback" not in rest
    assert not (tmp_path / "out" / "result.json").exists()


@pytest.mark.slow
def test_ctrl_c_of_a_terminal_stops_the_worker_too(copy: Home, tmp_path: Path) -> None:
    words = [*MAP, "--seed", "3", "--out", str(tmp_path / "out")]
    children: list[psutil.Process] = []

    def interrupt(pid: int) -> None:
        children.extend(psutil.Process(pid).children(recursive=True))
        os.killpg(pid, signal.SIGINT)

    code, rest = interrupted(copy, words, lambda line: "preliminary" in line, interrupt)
    assert code == 130
    assert rest.splitlines()[-1] == "Stopped."
    assert "Traceback" not in rest
    assert children
    assert psutil.wait_procs(children, timeout=20)[1] == []
