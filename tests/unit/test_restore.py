"""From a link to the page: nothing raises, nothing is computed, what was replaced is named."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from app.engine import Engine
from app.links import LONGEST, link
from app.restore import MOST_SENTENCES, Restored, repaired, restored
from app.settings import Settings
from backends.accept import accept, request_key
from backends.contract import Method, Request
from backends.errors import ModelMissing
from backends.jobs.local import LocalRunner
from backends.methods.knowledge_map import METHOD as MAP
from backends.models import hub
from launch import build
from tests.toy_methods.toy import METHOD, ToyRequest
from tests.toy_page import Visitor, finish, toy_wiring

LONG = 50_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """An engine that many examples share: nothing is computed in it."""
    home = tmp_path_factory.mktemp("restore")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


@dataclass
class Work:
    """What was begun, which a link never does."""

    submitted: int = 0
    downloads: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count what the runner is asked to compute and the hub to send."""
    counted, submit = Work(), LocalRunner.submit

    def counting(*values: Any, **named: Any) -> Any:
        counted.submitted += 1
        return submit(*values, **named)

    def downloading(*values: Any, **named: Any) -> Any:
        counted.downloads += 1
        raise AssertionError("a link began a download")

    monkeypatch.setattr(LocalRunner, "submit", counting)
    monkeypatch.setattr(hub, "download", downloading)
    return counted


def read(engine: Engine, query: Mapping[str, str], method: Method[Any] = METHOD) -> Restored:
    """Read the query of a link."""
    return restored(method, query, engine.known, engine.store)


def banner(visitor: Visitor) -> str:
    """Return what stands above the tool."""
    return str(visitor.seen[visitor.page.banner])


# What a link says


@given(
    steps=st.integers(1, 1000),
    pause=st.floats(0, 10),
    text=st.text(st.characters(codec="utf-8"), max_size=100).filter(lambda t: t[-1:] != "!"),
    look=st.dictionaries(st.sampled_from(["step", "picked"]), st.text("az09 &=%,<é", max_size=9)),
)
@hypothesis(max_examples=80, deadline=None)
def test_request_and_look_survive_a_link(
    shared: Engine, steps: int, pause: float, text: str, look: dict[str, str]
) -> None:
    from urllib.parse import parse_qsl

    request = accept(METHOD, {"steps": steps, "pause": pause, "text": text}, shared.known)
    key = request_key(METHOD, request, shared.known)
    shared.store.note_request(key, "toy", request.model_dump(mode="json"))
    query = dict(parse_qsl(link(METHOD, request, key, look)[1:], keep_blank_values=True))
    assert read(shared, query) == Restored(request, look, [])


@given(query=st.dictionaries(
    st.sampled_from([*ToyRequest.model_fields, "r", "look.step", "look.zzz", "x", "../../", ""])
    | st.text(max_size=5),
    st.sampled_from(["999", "-1", "\x00", "../../etc/passwd", "nan", "1e999", "", "true", "[]"])
    | st.text(max_size=20),
))  # fmt: skip
@hypothesis(max_examples=150, deadline=None)
def test_any_query_gives_a_request(shared: Engine, query: dict[str, str]) -> None:
    found = read(shared, query | {"method": "toy"})
    assert isinstance(found.request, ToyRequest)
    assert len(found.sentences) <= MOST_SENTENCES
    assert all(len(sentence) < 600 for sentence in found.sentences)


MAPS = ["model", "layers", "domain", "labels", "template", "token", "table", "seed", "r", "zzz"]
WRONG = ["999", "\x00", "../../", "tiny", "drug", "A", "sha256:" + "0" * 64, "0,999", "", "x" * 300]


@given(query=st.dictionaries(st.sampled_from(MAPS), st.sampled_from(WRONG)))
@hypothesis(max_examples=100, deadline=None)
def test_any_query_gives_a_map(shared: Engine, query: dict[str, str]) -> None:
    found = read(shared, query | {"method": "knowledge_map"}, MAP)
    assert found.request is not None
    assert accept(MAP, found.request.model_dump(mode="json"), shared.known) == found.request
    assert all(len(sentence) < 600 for sentence in found.sentences)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"steps": "5000"}, "Field 'steps' is '5000'; it must be at most 1000. It was replaced."),
        (
            {"steps": "\x00"},
            "Field 'steps' is '\\x00'; it must be a whole number. It was replaced.",
        ),
        ({"text": "no!"}, "Text 'no!' ends with an exclamation mark. It was replaced."),
        ({"../../": "1"}, "What is unknown here was left out: '../../'."),
        ({"layer": "999", "b": ""}, "What is unknown here was left out: 'layer', 'b'."),
        ({"r": "zz"}, "The request 'zz' is not known on this machine. The example is shown."),
        ({"r": "ab" * 32}, "The request 'abababababab' is not known"),
        ({"text": "x" * LONG}, "Field 'text' has 50000 characters; it must have at most 100."),
        ({"x" * LONG: ""}, f"left out: '{'x' * 40}'."),
    ],
)
def test_what_is_replaced_is_named(shared: Engine, query: dict[str, str], said: str) -> None:
    found = read(shared, query | {"method": "toy"})
    assert found.request == METHOD.example
    assert len(found.sentences) == 1
    assert said in found.sentences[0]


def test_what_can_be_accepted_stays(shared: Engine) -> None:
    found = read(shared, {"method": "toy", "steps": "7", "pause": "x", "text": "kept", "zzz": "1"})
    assert found.request == ToyRequest(steps=7, text="kept")
    assert [sentence.partition(" was ")[2] for sentence in found.sentences] == [
        "left out: 'zzz'.",
        "replaced.",
    ]


def test_a_layer_that_the_model_lacks_is_named(shared: Engine) -> None:
    found = read(shared, {"method": "knowledge_map", "model": "tiny", "layers": "999"}, MAP)
    assert found.request is not None
    assert (found.request.model, found.request.layers) == ("tiny", "all")
    assert found.sentences == ["Layer 999 is outside 0..1. It was replaced."]


def test_thousands_of_unknown_names_take_no_time(shared: Engine) -> None:
    began = time.monotonic()
    found = read(shared, {"method": "toy"} | {f"k{n}": "1" for n in range(5000)})
    assert time.monotonic() - began < 2
    assert len(found.sentences) == 1
    assert found.sentences[0].endswith(" and 4,992 more.")


def test_the_fingerprint_of_another_method_is_not_ours(shared: Engine) -> None:
    key = "cd" * 32
    shared.store.note_request(key, "knowledge_map", {"domain": "age"})
    found = read(shared, {"method": "toy", "r": key, "look.step": "2"})
    assert (found.request, found.look) == (METHOD.example, {"step": "2"})
    assert "is not known on this machine" in found.sentences[0]


def test_a_stored_request_that_is_no_longer_accepted_is_repaired(shared: Engine) -> None:
    key = "ef" * 32
    shared.store.note_request(key, "toy", {"steps": 7, "gone": 1})
    found = read(shared, {"method": "toy", "r": key})
    assert found.request == ToyRequest(steps=7)
    assert found.sentences == ["What is unknown here was left out: 'gone'."]


def test_a_long_request_comes_back_by_its_fingerprint(shared: Engine) -> None:
    request = ToyRequest(text="é" * 100, steps=3)
    key = request_key(METHOD, request, shared.known)
    assert len(link(METHOD, request, key)) < LONGEST
    shared.store.note_request(key, "toy", request.model_dump(mode="json"))
    assert read(shared, {"method": "toy", "r": key}).request == request


def test_a_link_to_another_tool_or_to_none_gives_the_example(shared: Engine) -> None:
    for query in ({}, {"method": "knowledge_map", "steps": "7"}, {"steps": "7"}):
        assert read(shared, query) == Restored(METHOD.example, {}, [])


class Required(Request):
    """A request with a field that has no default."""

    count: int
    other: int = 1


def test_the_example_stands_in_where_there_is_no_default(shared: Engine) -> None:
    example = Required(count=4, other=2)
    method = Method("toy", 1, Required, METHOD.result, METHOD.compute, example=example)
    assert repaired(method, {"count": "x", "other": "3"}, shared.known)[0] == Required(
        count=4, other=3
    )
    assert repaired(method, {"other": "3"}, shared.known)[0] == example
    assert repaired(method, {"zzz": "3"}, shared.known)[0] == example


def test_an_example_whose_model_is_not_here_gives_nothing_and_says_why(shared: Engine) -> None:
    def check(request: Request, known: Any) -> None:
        raise ModelMissing("Model 'big' is not here.")

    method = Method("toy", 1, ToyRequest, METHOD.result, METHOD.compute, METHOD.example, check)
    request, sentences = repaired(method, {"steps": "4"}, shared.known)
    assert request is None
    assert sentences[-1] == "Model 'big' is not here."


# What the page does with it


@pytest.mark.parametrize(
    "query",
    [
        {"steps": "7"},
        {"steps": "999999", "zzz": "\x00", "look.step": "999", "look.zzz": "x"},
        {"layer": "999", "text": "../../"},
        {"r": "ab" * 32},
        {"text": "x" * LONG, "look.picked": "y" * LONG},
    ],
)
def test_opening_a_link_begins_nothing(engine: Engine, work: Work, query: dict[str, str]) -> None:
    visitor = Visitor(toy_wiring(engine))
    finish(visitor.visit({"method": "toy"} | query))
    assert work == Work()
    assert engine.runner.jobs() == []
    assert visitor.shown == {}
    assert visitor.place("toy-steps")["value"] in (3, 7)
    assert "Press Run" in visitor.place("toy-squares")


def test_a_link_to_a_model_that_is_not_here_begins_no_download(engine: Engine, work: Work) -> None:
    visitor = Visitor(toy_wiring(engine))
    finish(visitor.visit({"method": "toy", "model": "org/huge-model"}))
    found = read(engine, {"method": "knowledge_map", "model": "org/huge-model"}, MAP)
    assert found.request == MAP.example
    assert "org/huge-model" in found.sentences[0]
    assert work == Work()


LOOKS = ["0", "3", "999", "-1", "x", "", "\x00", "1e9", "nan", "9" * 5000, "../../", "<b>"]


def test_a_stored_result_opens_with_any_look(engine: Engine, work: Work) -> None:
    first = Visitor(toy_wiring(engine))
    finish(first.run(steps=5))
    for step in LOOKS:
        visitor = Visitor(first.wiring)
        finish(visitor.visit({"method": "toy", "steps": "5", "look.step": step,
                              "look.picked": step, "look.zzz": step}))  # fmt: skip
        assert visitor.shown == first.shown
        assert 0 <= visitor.place("toy-step")["value"] <= 4
        assert "Recalled" in visitor.status
        assert "<b>" not in visitor.place("toy-card")["value"]
    assert work.submitted == 1


def test_the_banner_escapes_what_a_link_says(engine: Engine) -> None:
    visitor = Visitor(toy_wiring(engine))
    finish(visitor.visit({"method": "toy", "<img src=x onerror=alert(1)>": "1", "steps": "<i>"}))
    assert "<img" not in banner(visitor)
    assert "<i>" not in banner(visitor)
    assert banner(visitor).count("<li>") == 2
