"""One door for all doors: a request is parsed and checked; a mistake is told in one sentence."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.accept import accept, request_key
from backends.contract import Known, Request
from backends.errors import BadRequest, ModelMissing
from backends.methods.knowledge_map import METHOD, KnowledgeMapRequest
from backends.models.catalog import Catalog
from backends.uploads import Uploads
from tests import tiny
from tests.toy_methods import toy

BASE = {"model": "tiny", "domain": "symptom"}
TABLE = "prompt,entity,kind,other\n" + "".join(
    f"The word {w},{w},{'ab'[i % 2]},{'abcdef'[i]}\n"
    for i, w in enumerate(["one", "two", "three", "four", "five", "six"])
)


@pytest.fixture
def known(tmp_path: Path, model_folders: Path) -> Known:
    """What a check may look at: the tiny model and an empty folder of uploads."""
    return Known(Catalog(tmp_path, model_folders), Uploads(tmp_path / "uploads"))


def upload(known: Known, tmp_path: Path, text: str = TABLE) -> str:
    """Put a table into the uploads and return its digest."""
    (tmp_path / "table.csv").write_text(text)
    return known.uploads.add(tmp_path / "table.csv")


def refused(known: Known, **raw: Any) -> BadRequest:
    """Return the error of a request that must be refused, in one sentence."""
    with pytest.raises(BadRequest) as error:
        accept(METHOD, BASE | raw, known)
    assert re.fullmatch(r"[A-Z].*[^.]\.", str(error.value))
    assert str(error.value).isprintable()
    return error.value


def test_a_good_request_is_parsed_from_text(known: Known) -> None:
    raw = BASE | {"layers": "0,1", "seed": "7", "chat": "false", "projection": "pca"}
    assert accept(METHOD, raw, known) == KnowledgeMapRequest(
        model="tiny", domain="symptom", layers=(0, 1), seed=7, projection="pca"
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("colour", "red", "Field 'colour' is unknown; knowledge_map has: model, dtype, .*, seed."),
        ("projection", "tsne", "Field 'projection' is 'tsne'; it must be 'umap' or 'pca'."),
        ("domain", "nonsense", "Field 'domain' is 'nonsense'; it must be 'age', .* 'progression'."),
        ("domain", ["drug"], r"Field 'domain' is \['drug'\]; it must be 'age', .*"),
        ("dtype", "int8", "Field 'dtype' is 'int8'; it must be 'float32', .* or 'float16'."),
        ("attention", "sdpa", "Field 'attention' is 'sdpa'; it must be 'eager'."),
        ("bos", "maybe", "Field 'bos' is 'maybe'; it must be 'auto', 'force' or 'none'."),
        ("template", "C", "Field 'template' is 'C'; it must be 'A' or 'B'."),
        ("token", "first", "Field 'token' is 'first'; it must be 'last_prompt', .*"),
        ("normalization", "l2", "Field 'normalization' is 'l2'; it must be 'none', 'unit', .*"),
        ("chat", "perhaps", "Field 'chat' is 'perhaps'; it must be true or false."),
        ("seed", "x", "Field 'seed' is 'x'; it must be a whole number."),
        ("seed", "nan", "Field 'seed' is 'nan'; it must be a whole number."),
        ("seed", float("nan"), "Field 'seed' is nan: .*"),
        ("seed", "1.5", "Field 'seed' is '1.5'; it must be a whole number."),
        ("seed", "", "Field 'seed' is ''; it must be a whole number."),
        ("seed", None, "Field 'seed' is None; it must be a whole number."),
        ("seed", "-1", "Field 'seed' is '-1'; it must be at least 0."),
        ("seed", 2**31, "Field 'seed' is 2147483648; it must be at most 2147483647."),
        ("seed", "9" * 5000, "Field 'seed' is '9{76}….*"),
        ("labels", "x" * 201, "Field 'labels' has 201 characters; it must have at most 200."),
        ("labels", 5, "Field 'labels' is 5: .* string.*"),
        ("labels", "nonsense", "Label column 'nonsense' is not there; there are: body_system."),
        ("labels", "specialty", "Label column 'specialty' is not there; there are: body_system."),
        ("layers", "x", "Field 'layers'.* 'x'.* all, or numbers from 0 joined by commas."),
        ("layers", "0-5", "Field 'layers'.* '0-5'.* all, or numbers from 0 joined by commas."),
        ("layers", "1.5", "Field 'layers'.* '1.5'.* all, or numbers from 0 joined by commas."),
        ("layers", "-1", "Field 'layers'.* '-1'.* all, or numbers from 0 joined by commas."),
        ("layers", "0;1", "Field 'layers'.* '0;1'.* all, or numbers from 0 joined by commas."),
        ("layers", [0, "x"], "Field 'layers'.* 'x'.* all, or numbers from 0 joined by commas."),
        ("layers", [[0]], r"Field 'layers'.* \[0\].* all, or numbers from 0 joined by commas."),
        ("layers", -1, "Field 'layers'.* -1.* all, or numbers from 0 joined by commas."),
        ("layers", None, "Field 'layers'.* None.* all, or numbers from 0 joined by commas."),
        ("layers", {"a": 1}, "Field 'layers'.* all, or numbers from 0 joined by commas."),
        ("layers", "", r"No layer was given; tiny has layers 0\.\.1."),
        ("layers", ",", r"No layer was given; tiny has layers 0\.\.1."),
        ("layers", "999", r"Layer 999 is outside 0\.\.1."),
        ("layers", "0,2", r"Layer 2 is outside 0\.\.1."),
        ("layers", 2, r"Layer 2 is outside 0\.\.1."),
        ("table", "table.csv", "Field 'table': 'table.csv' is not the digest of an uploaded .*"),
        ("table", "sha256:0", "Field 'table': 'sha256:0' is not the digest of an uploaded .*"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_the_value_and_what_is_allowed(
    known: Known, field: str, value: Any, sentence: str
) -> None:
    error = refused(known, **({"domain": None} if field == "table" else {}), **{field: value})
    assert re.fullmatch(sentence, str(error))
    assert error.field == field
    assert len(str(error)) < 300


def test_a_domain_and_a_table_are_one_too_many(known: Known, tmp_path: Path) -> None:
    error = refused(known, table=upload(known, tmp_path))
    assert str(error) == "A domain and a table were given; give one of them."


def test_a_table_has_no_template(known: Known, tmp_path: Path) -> None:
    error = refused(known, domain=None, table=upload(known, tmp_path), template="B")
    assert str(error) == "A template applies to built-in domains only, not to a table."


def test_a_table_that_is_not_here(known: Known) -> None:
    error = refused(known, domain=None, table="sha256:" + "0" * 64)
    assert str(error) == "The uploaded file sha256:000000000000… is not on this machine."
    assert error.field == "table"


def test_a_table_that_cannot_be_used(known: Known, tmp_path: Path) -> None:
    digest = upload(known, tmp_path, "text\nhello\n")
    assert str(refused(known, domain=None, table=digest)) == (
        "The table has no column prompt; it has: 'text'."
    )


def test_labels_of_a_table(known: Known, tmp_path: Path) -> None:
    digest = upload(known, tmp_path)
    fine = accept(METHOD, {"model": "tiny", "table": digest, "labels": "kind"}, known)
    assert (fine.domain, fine.table, fine.labels) == (None, digest, "kind")
    error = refused(known, domain=None, table=digest, labels="other")
    assert str(error) == (
        "Label column 'other' has 0 classes of at least 3 prompts; at least 2 are needed."
    )
    assert str(refused(known, domain=None, table=digest, labels="entity")) == (
        "Label column 'entity' is not there; there are: kind, other."
    )


def test_tokens_of_entities(known: Known, tmp_path: Path) -> None:
    digest = upload(known, tmp_path)
    raw = {"model": "tiny", "table": digest, "token": "mean_entity"}
    assert accept(METHOD, raw, known).token == "mean_entity"
    digest = upload(known, tmp_path, TABLE.replace("entity", "thing"))
    assert str(refused(known, domain=None, table=digest, token="last_entity")) == (
        "Token last_entity needs a column entity, which the table lacks."
    )
    for cell in ("nine", "", " "):
        digest = upload(known, tmp_path, TABLE.replace("two,two", f"two,{cell}"))
        assert str(refused(known, domain=None, table=digest, token="first_entity")) == (
            f"The entity {cell!r} of row 2 is not in its prompt."
        )


def test_models_that_are_not_here(known: Known) -> None:
    with pytest.raises(ModelMissing, match="Model 'no/such-model' is not known here; known: "):
        accept(METHOD, BASE | {"model": "no/such-model"}, known)


def test_a_check_of_a_method_without_a_model(known: Known) -> None:
    with pytest.raises(BadRequest, match="Text 'hey!' ends with") as error:
        accept(toy.METHOD, {"text": "hey!"}, known)
    assert error.value.field == "text"
    assert accept(toy.METHOD, {"steps": "2"}, known).steps == 2


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        ("all", "all"),
        ("0,1", (0, 1)),
        ("1,0,1", (0, 1)),
        (" 1 , 0 ", (0, 1)),
        ("0,,1,", (0, 1)),
        ([1, 0, 1], (0, 1)),
        ((1,), (1,)),
        ("1", (1,)),
        (1, (1,)),
    ],
)
def test_spellings_of_layers(known: Known, raw: Any, parsed: Any) -> None:
    assert accept(METHOD, BASE | {"layers": raw}, known).layers == parsed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"labels": "body_system"}),
        ({}, {"seed": "0", "token": "last_prompt", "layers": "all", "chat": False, "table": None}),
        ({"layers": "1,0"}, {"layers": [0, 1]}),
        ({"seed": "007"}, {"seed": 7.0}),
        ({"labels": ""}, {}),
        ({"chat": "true"}, {"chat": True}),
        ({"domain": None}, {"domain": "drug"}),
        ({"domain": None, "labels": "specialty"}, {"domain": "drug", "labels": ""}),
    ],
)
def test_equal_requests_have_equal_fingerprints(
    known: Known, one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = (accept(METHOD, BASE | raw, known) for raw in (one, other))
    assert first == second
    assert request_key(METHOD, first, known) == request_key(METHOD, second, known)
    assert re.fullmatch("[0-9a-f]{64}", request_key(METHOD, first, known))


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"layers": "0"},
        {"domain": "drug"},
        {"template": "B"},
        {"token": "mean_entity"},
        {"normalization": "unit"},
        {"projection": "pca"},
        {"dtype": "bfloat16"},
        {"bos": "force"},
        {"chat": True},
    ],
)
def test_every_field_counts(known: Known, change: dict[str, Any]) -> None:
    first, second = (accept(METHOD, BASE | raw, known) for raw in ({}, change))
    assert request_key(METHOD, first, known) != request_key(METHOD, second, known)


def test_the_version_of_the_method_counts(known: Known) -> None:
    request = accept(METHOD, BASE, known)
    newer = replace(METHOD, version=METHOD.version + 1)
    assert request_key(newer, request, known) != request_key(METHOD, request, known)


def test_the_revision_of_the_model_counts(known: Known, tmp_path: Path) -> None:
    tiny.build(tmp_path / "models" / "tiny", seed=1)
    other = Known(Catalog(tmp_path, tmp_path / "models"), known.uploads)
    request = accept(METHOD, BASE, known)
    assert request_key(METHOD, request, known) != request_key(METHOD, request, other)


def test_the_content_of_a_table_counts_and_its_path_does_not(known: Known, tmp_path: Path) -> None:
    def key(text: str, name: str) -> str:
        (tmp_path / name).write_text(text)
        digest = known.uploads.add(tmp_path / name)
        raw = {"model": "tiny", "table": digest}
        return request_key(METHOD, accept(METHOD, raw, known), known)

    assert key(TABLE, "a.csv") == key(TABLE, "b.csv")
    assert key(TABLE, "a.csv") != key(TABLE.replace("six", "ten"), "a.csv")


def test_a_request_is_frozen(known: Known) -> None:
    request: Request = accept(METHOD, BASE, known)
    with pytest.raises(ValueError, match="frozen"):
        request.seed = 3  # type: ignore[attr-defined]
    assert hash(request) == hash(accept(METHOD, BASE, known))
