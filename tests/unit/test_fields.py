"""Form pieces: which component a field of a request becomes, and what it gives back."""

from typing import Any, Literal

import pytest
from pydantic import Field

from app.engine import Engine
from backends.accept import accept
from backends.contract import Layers, Method, ModelRequest, Upload
from backends.errors import BadRequest
from backends.methods.knowledge_map import METHOD as MAP
from tests.toy_methods import toy
from views import fields


class Everything(ModelRequest):
    """One field of each kind."""

    count: int = Field(3, ge=1, description="Count")
    share: float = Field(0.5, description="A share of the whole")
    maybe: int | None = Field(None, description="A number or nothing")
    few: Literal["a", "b"] = Field("a", description="One of two")
    many: Literal["a", "b", "c", "d"] = Field("a", description="One of four")
    some: Literal["a", "b"] | None = Field(None, description="One of two or nothing")
    text: str = Field("", max_length=70_000, description="Text")
    word: str = Field("word", max_length=10, description="A word")
    needed: str = Field("x", min_length=1, description="Needed")
    layers: Layers = Field("all", description="Layers")
    table: Upload | None = Field(None, description="A table")
    flag: bool = Field(False, description="A flag")


METHOD = Method("every", 1, Everything, toy.ToyResult, lambda *_: None, example=Everything())


def kind(engine: Engine, name: str, **more: Any) -> str:
    """Return the kind of component that a field becomes."""
    return str(fields.component(METHOD, name, engine.known, **more).get_block_name())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("model", "dropdown"), ("count", "number"), ("share", "number"), ("maybe", "number")),
        *(("few", "radio"), ("many", "dropdown"), ("some", "dropdown"), ("text", "textbox")),
        *(("layers", "textbox"), ("table", "textbox"), ("flag", "checkbox"), ("chat", "checkbox")),
        *(("attention", "radio"), ("dtype", "radio")),
    ],
)
def test_a_field_becomes(engine: Engine, name: str, expected: str) -> None:
    assert kind(engine, name) == expected


def test_what_a_tool_offers_becomes_a_list(engine: Engine) -> None:
    made = fields.component(METHOD, "word", engine.known, {"choices": ["x", "y"], "value": "y"})
    assert (made.get_block_name(), made.value) == ("dropdown", "y")
    assert [value for _, value in made.choices] == ["x", "y"]
    assert kind(engine, "word", offered={"placeholder": "soon"}) == "textbox"


def test_a_component_says_what_it_is_for(engine: Engine) -> None:
    made = fields.component(METHOD, "share", engine.known)
    assert (made.label, made.info, made.elem_id) == ("Share", "A share of the whole", "every-share")
    assert fields.component(METHOD, "count", engine.known).info is None
    assert fields.component(METHOD, "count", engine.known).precision == 0
    assert made.precision is None


def test_long_texts_fit(engine: Engine) -> None:
    assert fields.component(METHOD, "text", engine.known).max_length == 140_000
    assert fields.component(METHOD, "word", engine.known).max_length == 100_000


def test_models_are_listed_with_their_state(engine: Engine) -> None:
    choices = fields.model_choices(MAP, engine.known)
    assert ("tiny", "tiny") in choices
    states = [fields.STATES[e.state] for e in engine.known.catalog.entries()]
    assert sorted(shown.replace(given, "", 1) for shown, given in choices) == sorted(states)
    shown = [text for text, _ in choices]
    assert shown == sorted(shown, key=lambda text: ("to be" in text, "not here" in text))


def test_which_fields_are_uploads() -> None:
    found = [n for n, f in Everything.model_fields.items() if fields.is_upload(f)]
    assert found == ["table"]
    assert [n for n, f in MAP.request.model_fields.items() if fields.is_upload(f)] == ["table"]


def test_a_list_is_typed_with_commas() -> None:
    assert fields.plain((0, 3, 7)) == fields.plain([0, 3, 7]) == "0,3,7"
    assert (fields.plain("all"), fields.plain(None), fields.plain(2)) == ("all", None, 2)


def test_an_untouched_form_is_the_example(engine: Engine) -> None:
    for method in (toy.METHOD, MAP):
        form = {n: fields.component(method, n, engine.known).value for n in
                method.request.model_fields}  # fmt: skip
        request = method.request.model_validate(fields.raw(method, form))
        assert request == method.example


def test_empty_is_not_given_where_the_default_is_empty() -> None:
    assert fields.raw(METHOD, {"text": "", "maybe": None, "some": "", "table": ""}) == {}
    assert fields.raw(METHOD, {"text": "a", "maybe": 0, "flag": False}) == {
        "text": "a",
        "maybe": 0,
        "flag": False,
    }


@pytest.mark.parametrize("name", ["count", "share", "many", "needed"])
def test_what_was_emptied_is_refused_not_replaced_unseen(engine: Engine, name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        accept(METHOD, fields.raw(METHOD, {name: None, "model": "tiny"}), engine.known)
    assert caught.value.field == name
