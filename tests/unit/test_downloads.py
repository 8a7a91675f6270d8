"""The export route: a zip for a stored result, a sentence for anything else, nothing computed."""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.downloads import export_route
from app.engine import Engine
from app.settings import Settings
from backends.accept import accept
from backends.jobs.local import LocalRunner
from launch import build
from tests.toy_methods.toy import METHOD


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """An engine that knows the toy too."""
    home = tmp_path_factory.mktemp("downloads")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    made.found.methods["toy"] = METHOD
    yield made
    made.runner.close()


@pytest.fixture
def client(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[TestClient]:
    """A client of the route alone; the runner computes nothing for it."""

    def submitting(*_: object, **__: object) -> None:
        raise AssertionError("an export began a computation")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with TestClient(Starlette(routes=[export_route(engine)])) as made:
        monkeypatch.setattr(LocalRunner, "submit", submitting)
        yield made
    assert list(tmp_path.glob("glasswork-export-*")) == []


@pytest.fixture(scope="module")
def key(engine: Engine) -> str:
    """The fingerprint of a stored result."""
    job = engine.runner.submit(METHOD, accept(METHOD, {"steps": 4, "text": "é"}, engine.known))
    job.result()
    return job.key


def test_a_stored_result_is_a_zip(client: TestClient, key: str) -> None:
    answer = client.get(f"/workbench-results/{key}.zip?method=toy&look.step=2")
    assert answer.status_code == 200
    assert f'filename="toy-{key[:8]}.zip"' in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert found.testzip() is None
        assert {"README.txt", "request.json", "result.json", "result.npz"} <= set(found.namelist())
        assert json.loads(found.read("request.json"))["text"] == "é"


def test_the_same_export_has_the_same_bytes(client: TestClient, key: str) -> None:
    first, second = (client.get(f"/workbench-results/{key}.zip").content for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "name",
    [
        *("ab" * 32, "zz", "AB" * 32, "..%2F..%2Fetc%2Fpasswd", "%00", "x" * 5000, "é"),
        "' OR 1=1 --",
    ],
)
def test_any_other_name_is_a_sentence(client: TestClient, name: str) -> None:
    answer = client.get(f"/workbench-results/{name}.zip")
    assert answer.status_code == 404
    assert len(answer.text) < 200


def test_only_reading_is_allowed(client: TestClient, key: str) -> None:
    assert client.post(f"/workbench-results/{key}.zip").status_code == 405


def test_a_request_whose_result_left_the_cache_is_not_computed(
    client: TestClient, engine: Engine
) -> None:
    gone = "cd" * 32
    engine.store.note_request(gone, "toy", {"steps": 5})
    answer = client.get(f"/workbench-results/{gone}.zip")
    assert (answer.status_code, "left the cache; run it again" in answer.text) == (404, True)


def test_a_request_of_a_method_that_is_gone_is_a_sentence(
    client: TestClient, engine: Engine
) -> None:
    gone = "ef" * 32
    engine.store.note_request(gone, "no_such_method", {"steps": 5})
    assert client.get(f"/workbench-results/{gone}.zip").status_code == 404


def test_a_fault_of_ours_is_an_id_and_is_in_the_log(
    client: TestClient, key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("app.downloads.export_zip", broken)
    answer = client.get(f"/workbench-results/{key}.zip")
    assert answer.status_code == 500
    assert answer.text.startswith("Something went wrong (id ")
    assert "inside" not in answer.text
    assert "inside" in caplog.text
