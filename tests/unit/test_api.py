"""The HTTP API over a real server: same results and sentences as elsewhere, and jobs that end."""

import gc
import json
import logging
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from app.api import add_endpoints, answer_json, endpoint_for
from app.engine import Engine
from app.export import request_json, result_json
from app.settings import Settings
from backends.accept import accept
from backends.contract import Method
from backends.discovery import Found, find_methods
from backends.errors import GlassworkError
from backends.jobs.base import Stored
from launch import build
from tests.toy_methods.toy import ToyRequest, ToyResult

pytestmark = pytest.mark.timeout(120)
TOY = find_methods("tests.toy_methods").get("toy")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """An engine that has the toy method too."""
    home = tmp_path_factory.mktemp("api")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    yield replace(made, found=Found(made.found.methods | {"toy": TOY}))
    made.runner.close()


def free_port() -> int:
    """Return a port that no one uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def client(engine: Engine) -> Iterator[Client]:
    """A client of a server that has the endpoints and no page."""
    files = engine.settings.home / "gradio"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(files))
        patch.setattr(tempfile, "tempdir", str(engine.settings.home))
        with gr.Blocks(analytics_enabled=False) as demo:
            add_endpoints(engine)
        _, url, _ = demo.launch(
            server_name="127.0.0.1",
            server_port=free_port(),
            prevent_thread_lock=True,
            quiet=True,
            ssr_mode=False,
            run_history=False,
        )
        made = Client(url, verbose=False, analytics_enabled=False, download_files=files / "client")
        yield made
        made.close()
        demo.close(verbose=False)
    del demo
    gc.collect()


def ended(engine: Engine, within: float = 5) -> bool:
    """Say whether no job is under way, or soon is none."""
    until = time.monotonic() + within
    while engine.runner.jobs() and time.monotonic() < until:
        time.sleep(0.02)
    return not engine.runner.jobs()


def sentence(engine: Engine, method: Method[Any], **fields: Any) -> str:
    """Return the sentence with which the door refuses a request."""
    with pytest.raises(GlassworkError) as caught:
        accept(method, fields, engine.known)
    return str(caught.value)


def test_there_is_one_endpoint_per_method(client: Client, engine: Engine) -> None:
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert sorted(named) == sorted(f"/{key}" for key in engine.found.methods)
    assert {"/knowledge_map", "/mcbif", "/toy"} <= set(named)


def test_an_endpoint_has_the_fields_of_the_request(client: Client) -> None:
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    toy = named["/toy"]
    assert toy["description"] == TOY.about
    parameters = {p["parameter_name"]: p for p in toy["parameters"]}
    assert {name: p["parameter_default"] for name, p in parameters.items()} == (
        ToyRequest().model_dump()
    )
    assert parameters["steps"]["python_type"] == {
        "type": "int",
        "description": "Steps (at least 1; at most 1000; default 3)",
    }
    kinds = {
        p["parameter_name"]: p["python_type"]["type"] for p in named["/knowledge_map"]["parameters"]
    }
    assert "'progression'" in kinds["domain"]
    assert kinds["layers"] == "Literal[all] | list[int]"
    assert "Primary label column" in client.view_api(return_format="str", print_info=False)


def test_a_field_without_a_default_has_the_one_of_the_example(engine: Engine) -> None:
    class Needed(ToyRequest):
        what: str

    parameters = endpoint_for(
        replace(TOY, request=Needed, example=Needed(what="a", steps=9)), engine
    ).__signature__.parameters
    assert (parameters["what"].default, parameters["steps"].default) == ("a", 3)


def test_a_result_is_the_runners_with_its_request_and_arrays(
    client: Client, engine: Engine
) -> None:
    answer, file = client.predict(steps=4, text="<b>é", api_name="/toy")
    request = ToyRequest(steps=4, text="<b>é")
    job = engine.runner.submit(TOY, request)
    stored = job.result()
    assert stored.hit
    assert {name: answer[name] for name in result_json(TOY, job.key, stored)} == (
        result_json(TOY, job.key, stored)
    )
    assert answer["request"] == request_json(TOY, request)
    assert answer["data"] == {"squares": [0.0, 1.0, 4.0, 9.0]}
    assert answer["data_left_out"] is None
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays["squares"].dtype == np.float32
        assert arrays["squares"].tolist() == [0, 1, 4, 9]


def test_progress_comes_before_the_result(client: Client) -> None:
    job = client.submit(steps=4, pause=0.3, text="progress", api_name="/toy")
    answer, _ = job.result()
    shown = [output for output, file in job.outputs()[:-1] if file is None]
    assert [output["progress"]["done"] for output in shown] == sorted(
        output["progress"]["done"] for output in shown
    )
    assert {output["fingerprint"] for output in shown} == {answer["fingerprint"]}
    assert shown[0]["progress"]["total"] == 4


def test_the_map_over_the_api_is_the_runners(client: Client, engine: Engine) -> None:
    method = engine.found.get("knowledge_map")
    fields = {**method.small, "layers": "0"}
    answer, file = client.predict(**fields, api_name="/knowledge_map")
    result = engine.runner.submit(method, accept(method, fields, engine.known)).result().result
    assert answer["values"]["prompts"] == result.prompts
    undefined_as_nan = np.array(answer["data"]["silhouette"], np.float32)
    np.testing.assert_array_equal(undefined_as_nan, result.silhouette)
    with np.load(file, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["map"], result.map)


def test_a_client_that_cancels_ends_the_job(client: Client, engine: Engine) -> None:
    job = client.submit(steps=1000, pause=0.1, text="cancel", api_name="/toy")
    while not job.outputs():
        time.sleep(0.02)
    assert [state.method for state in engine.runner.jobs()] == ["toy"]
    job.cancel()
    assert ended(engine)


def test_a_client_that_goes_away_ends_the_job(client: Client, engine: Engine) -> None:
    import httpx

    base = client.src.rstrip("/") + "/gradio_api/call/toy"
    fields = [1000, 0.1, "gone", False]
    event = httpx.post(base, json={"data": fields}, timeout=10).json()["event_id"]
    with httpx.stream("GET", f"{base}/{event}", timeout=10) as answer:
        line = next(line for line in answer.iter_lines() if line.startswith("data:"))
        assert json.loads(line[5:])[0]["progress"]["total"] == 1000
        assert len(engine.runner.jobs()) == 1
    assert ended(engine)


def test_two_clients_share_a_job_and_one_may_leave(client: Client, engine: Engine) -> None:
    # Gradio cancels all calls that one client has of an endpoint.
    other = Client(client.src, verbose=False, analytics_enabled=False)
    fields = {"steps": 10, "pause": 0.2, "text": "two", "api_name": "/toy"}
    calls = [each.submit(**fields) for each in (other, client)]
    while not all(call.outputs() for call in calls):
        time.sleep(0.02)
    assert [state.followers for state in engine.runner.jobs()] == [2]
    calls[0].cancel()
    other.close()
    assert calls[1].result(timeout=20)[0]["values"]["steps"] == 10


@pytest.mark.parametrize(
    "fields", [{"steps": 0}, {"steps": "x"}, {"text": "hey!"}, {"text": 3}, {"fail": "maybe"}]
)
def test_a_mistake_gets_the_sentence_of_every_door(
    client: Client, engine: Engine, fields: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AppError) as caught:
        client.predict(**fields, api_name="/toy")
    assert str(caught.value) == sentence(engine, TOY, **fields)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("table", ["/etc/passwd", "sha256:x", f"sha256:{'0' * 64}"])
def test_files_are_named_by_digests_that_are_known_here(
    client: Client, engine: Engine, table: str
) -> None:
    with pytest.raises(AppError) as caught:
        client.predict(table=table, api_name="/knowledge_map")
    method = engine.found.get("knowledge_map")
    assert str(caught.value) == sentence(engine, method, table=table)


def test_a_file_of_the_client_is_no_digest(client: Client, tmp_path: Path) -> None:
    from gradio_client import handle_file

    (tmp_path / "table.csv").write_text("prompt\na\n")
    with pytest.raises(AppError, match=r"^Field 'table' is \{.*: input should be a valid string"):
        client.predict(table=handle_file(tmp_path / "table.csv"), api_name="/knowledge_map")


def test_a_job_that_someone_stops_ends_with_a_word(client: Client, engine: Engine) -> None:
    call = client.submit(steps=1000, pause=0.1, text="stop", api_name="/toy")
    while not call.outputs():
        time.sleep(0.02)
    job = engine.runner.find(engine.runner.jobs()[0].key)
    assert job is not None
    job.end()
    with pytest.raises(AppError, match=r"^Stopped\.$"):
        call.result(timeout=10)


def test_a_fault_has_a_number_and_its_text_stays_out_of_the_log(
    engine: Engine, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(request: ToyRequest, lab: Any) -> ToyResult:
        raise ValueError(f"cannot read {request.text}")

    caplog.set_level(logging.DEBUG)
    answers = endpoint_for(replace(TOY, compute=fails), engine)(text="my secret")
    with pytest.raises(gr.Error, match=r"Something went wrong \(id [0-9a-f]{4}\);") as caught:
        list(answers)
    assert not caught.value.print_exception
    number = caught.value.message.split("id ")[1][:4]
    assert f"id {number}: ValueError" in caplog.text
    assert "in fails" in caplog.text
    assert "secret" not in caplog.text + capfd.readouterr().err
    assert ended(engine)


@pytest.mark.parametrize(("numbers", "is_sent"), [(99_999, True), (100_000, False)])
def test_many_numbers_are_in_the_file_only(numbers: int, is_sent: bool) -> None:
    squares = np.ones(numbers, np.float32)
    squares[:2] = np.nan, np.inf
    answer = answer_json(
        TOY, ToyRequest(), "ab" * 32, Stored(ToyResult(squares, numbers, ""), {}, hit=True)
    )
    text = json.dumps(answer, allow_nan=False)
    if is_sent:
        assert answer["data"]["squares"][:3] == [None, None, 1.0]
        assert answer["data_left_out"] is None
    else:
        assert answer["data"] is None
        assert "100,000 numbers" in answer["data_left_out"]
        assert "result.npz" in answer["data_left_out"]
        assert len(text) < 1_000
