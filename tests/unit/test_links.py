"""A request survives a link and a command line; a long one is found by its fingerprint."""

import shlex
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.links import LONGEST, changed_fields, command, link, read_link
from backends.accept import accept, request_key
from backends.concepts.medical import LABELS
from backends.contract import Known, Method
from backends.errors import BadRequest
from backends.methods.knowledge_map import METHOD, KnowledgeMapRequest
from backends.models.catalog import DEFAULT_MODEL, Catalog
from backends.uploads import Uploads
from cache import Store
from tests.toy_methods import toy

KEY = "ab" * 32


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Known:
    """What a check may look at: the models, and no uploads."""
    home = tmp_path_factory.mktemp("home")
    return Known(Catalog(home, model_folders), Uploads(home / "uploads"))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that several tests share."""
    return Store(tmp_path_factory.mktemp("store"))


def choices(field: str) -> Any:
    """Return a strategy for the literals of a request's field."""
    return st.sampled_from(get_args(KnowledgeMapRequest.model_fields[field].annotation))


@st.composite
def maps(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a request for a built-in domain."""
    domain = draw(st.sampled_from(sorted(LABELS)))
    layers = st.lists(st.integers(0, 1), min_size=1) | st.just("all")
    fixed = {name: draw(choices(name)) for name in ("template", "token", "normalization", "bos")}
    return fixed | {
        "model": "tiny",
        "domain": domain,
        "labels": draw(st.sampled_from(LABELS[domain])),
        "layers": draw(layers),
        "projection": draw(choices("projection")),
        "dtype": draw(choices("dtype")),
        "chat": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**31 - 1)),
    }


def through(method: Method[Any], request: Any, known: Known, store: Store) -> Any:
    """Return a request after its way through a link."""
    key = request_key(method, request, known)
    store.note_request(key, method.key, request.model_dump(mode="json"))
    return accept(method, read_link(link(method, request, key), method, store), known)


@given(fields=maps())
@settings(max_examples=60, deadline=None)
def test_a_map_survives_a_link(known: Known, kept: Store, fields: dict[str, Any]) -> None:
    request = accept(METHOD, fields, known)
    assert through(METHOD, request, known, kept) == request


@given(fields=maps())
@settings(max_examples=60, deadline=None)
def test_a_map_survives_a_command(known: Known, fields: dict[str, Any]) -> None:
    request = accept(METHOD, fields, known)
    assert accept(METHOD, options(command(METHOD, request)), known) == request


@given(text=st.text(max_size=100), pause=st.floats(0, 10), fail=st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_text_survives_a_link_and_a_command(
    known: Known, kept: Store, text: str, pause: float, fail: bool
) -> None:
    request = toy.ToyRequest(text=text.rstrip("!"), pause=pause, fail=fail)
    assert through(toy.METHOD, request, known, kept) == request
    assert accept(toy.METHOD, options(command(toy.METHOD, request)), known) == request


def options(line: str) -> dict[str, str]:
    """Return the options of a command line as a shell would split it."""
    words = shlex.split(line)
    assert words[:3] == ["python", "launch.py", "run"]
    pairs = zip(words[4::2], words[5::2], strict=True)
    return {name.removeprefix("--").replace("-", "_"): value for name, value in pairs}


def test_a_link_is_readable_and_holds_what_differs() -> None:
    request = KnowledgeMapRequest(domain="age", layers=(0, 1), seed=3, chat=True)
    assert link(METHOD, request, KEY) == (
        "?method=knowledge_map&chat=true&domain=age&labels=age_group&layers=0%2C1&seed=3"
    )
    assert changed_fields(METHOD, request)["layers"] == "0,1"
    assert changed_fields(toy.METHOD, toy.ToyRequest()) == {}
    assert link(toy.METHOD, toy.ToyRequest(), KEY) == "?method=toy"


@pytest.mark.parametrize(
    "text",
    [
        "?method=toy&steps=5",
        "http://127.0.0.1:7860/?method=toy&steps=5",
        "https://example.org/some/page?steps=5&method=toy#part",
        "?steps=5",
        "?method=toy&steps=5&look.layer=3&look.column=a",
    ],
)
def test_spellings_of_a_link(store: Store, text: str) -> None:
    assert read_link(text, toy.METHOD, store) == {"steps": "5"}


@pytest.mark.parametrize("text", ["", "?", "toy", "method=toy&steps=5", "http://[::1"])
def test_a_link_without_fields_is_refused(store: Store, text: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_link(text, toy.METHOD, store)
    assert str(error.value) == f"The link {text!r} has no fields; it must have ?method=toy."


def test_empty_and_odd_values_are_kept(store: Store) -> None:
    assert read_link("?method=toy&text=", toy.METHOD, store) == {"text": ""}
    assert read_link("?text=a%26b%3Dc%23d+e", toy.METHOD, store) == {"text": "a&b=c#d e"}


def test_unknown_fields_of_a_link_are_told_by_accept(known: Known, store: Store) -> None:
    with pytest.raises(BadRequest, match="Field 'colour' is unknown"):
        accept(METHOD, read_link("?method=knowledge_map&colour=red", METHOD, store), known)


def test_a_link_to_another_method_is_refused(store: Store) -> None:
    with pytest.raises(BadRequest) as error:
        read_link("?method=toy&steps=5", METHOD, store)
    assert str(error.value) == "The link is for method 'toy', not 'knowledge_map'."
    assert error.value.field == "link"


def test_a_long_request_is_found_by_its_fingerprint(store: Store) -> None:
    request = KnowledgeMapRequest(layers=tuple(range(500)))
    short = link(METHOD, request, KEY)
    assert short == f"?method=knowledge_map&r={KEY}"
    store.note_request(KEY, METHOD.key, request.model_dump(mode="json"))
    assert METHOD.request.model_validate(read_link(short, METHOD, store)) == request


def test_only_what_is_too_long_is_found_by_fingerprint(store: Store) -> None:
    few, many = (KnowledgeMapRequest(layers=tuple(range(n))) for n in (200, 320))
    assert "layers=" in link(METHOD, few, KEY)
    assert len(link(METHOD, few, KEY)) <= LONGEST
    assert link(METHOD, many, KEY).endswith(KEY)


def test_a_fingerprint_that_nobody_knows_is_told(store: Store) -> None:
    with pytest.raises(BadRequest) as error:
        read_link(f"?method=toy&r={KEY}", toy.METHOD, store)
    assert str(error.value) == "The request 'abababababab' is not known on this machine."
    store.note_request(KEY, "toy", {"steps": 5})
    assert read_link(f"?method=toy&r={KEY}", toy.METHOD, store) == {"steps": 5}
    with pytest.raises(BadRequest, match="'abababababab' is not known on this machine"):
        read_link(f"?method=knowledge_map&r={KEY}", METHOD, store)


def test_a_command_can_be_pasted_into_a_shell() -> None:
    text = 'it\'s $HOME `ls` "quoted"; rm -rf / & \\ \n -x'
    line = command(toy.METHOD, toy.ToyRequest(text=text, steps=5, fail=True))
    assert line.startswith("python launch.py run toy --steps 5 --text ")
    assert options(line) == {"steps": "5", "text": text, "fail": "true"}
    assert command(toy.METHOD, toy.ToyRequest()) == "python launch.py run toy"


def test_a_table_is_named_by_its_digest() -> None:
    digest = "sha256:" + "0" * 64
    request = KnowledgeMapRequest(model=DEFAULT_MODEL, table=digest)
    pairs = dict(parse_qsl(link(METHOD, request, KEY)[1:]))
    assert pairs == {"method": "knowledge_map", "table": digest}
