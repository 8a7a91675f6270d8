"""What every method keeps, whatever it computes: these tests run for each that is found."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.describe import describe
from app.engine import Engine
from app.export import write_result
from app.links import link, read_link
from app.settings import Settings
from backends.accept import accept, request_key
from backends.codec import array_fields, pack, unpack, value_fields
from backends.contract import Method
from backends.discovery import Found, find_methods
from backends.errors import BadRequest
from backends.jobs.base import Stored
from launch import build
from views.discovery import find_tools

FOUND = find_methods()
METHODS = list(FOUND.methods.values())
TOOLS = find_tools()
TAKEN = {"revision", "method", "out", "figures", "request", "link", "r", "help"}

each = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.key)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """One engine for all methods of this module."""
    home = tmp_path_factory.mktemp("home")
    made = build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))
    yield made
    made.runner.close()


def small(method: Method[Any], engine: Engine) -> Any:
    """Return the method's small example, as its fields say."""
    raw = method.example.model_dump(mode="json") | dict(method.small)
    return accept(method, raw, engine.known)


@pytest.fixture(scope="module")
def computed(shared: Engine) -> dict[str, Stored]:
    """Every method's small example, computed once."""
    return {m.key: shared.runner.submit(m, small(m, shared)).result() for m in METHODS}


def test_methods_are_found_and_none_is_broken() -> None:
    assert "knowledge_map" in FOUND.methods
    assert FOUND.broken == {}
    assert list(FOUND.methods) == sorted(FOUND.methods)


def test_every_method_has_a_tool_and_no_tool_is_alone() -> None:
    assert set(TOOLS) == set(FOUND.methods)


@each
def test_the_key_is_the_name_of_the_module(method: Method[Any]) -> None:
    assert method.compute.__module__.split(".")[:3] == ["backends", "methods", method.key]
    assert TOOLS[method.key].method is method
    assert method.kind == f"result/{method.key}/{method.version}"
    assert method.about.endswith(".")
    assert method.version >= 1


@each
def test_fields_are_described_frozen_and_have_names_of_their_own(method: Method[Any]) -> None:
    config = method.request.model_config
    assert config["frozen"]
    assert config["extra"] == "forbid"
    names = method.request.model_fields
    assert not TAKEN & set(names)
    assert not [name for name in names if name.startswith(("look.", "_")) or "-" in name]
    assert [name for name, field in names.items() if not field.description] == []
    assert [name for name, field in names.items() if field.is_required()] == []


@each
def test_the_result_is_a_frozen_dataclass_of_arrays_and_values(method: Method[Any]) -> None:
    assert is_dataclass(method.result)
    assert method.result.__dataclass_params__.frozen
    names = {f.name for f in fields(method.result)}
    assert set(array_fields(method.result)) | set(value_fields(method.result)) == names
    assert array_fields(method.result)


@each
def test_the_example_survives_a_link(method: Method[Any], shared: Engine) -> None:
    for request in (method.example, small(method, shared)):
        key = request_key(method, request, shared.known)
        shared.store.note_request(key, method.key, request.model_dump(mode="json"))
        text = link(method, request, key)
        assert accept(method, read_link(text, method, shared.store), shared.known) == request
        raw = json.loads(request.model_dump_json())
        assert accept(method, raw, shared.known) == request


@each
def test_the_small_example_computes_packs_and_unpacks(
    method: Method[Any], computed: dict[str, Stored]
) -> None:
    stored = computed[method.key]
    assert not stored.hit
    assert stored.counts["results_computed"] >= 1
    assert isinstance(stored.result, method.result)
    arrays, values = pack(stored.result)
    json.dumps(values, allow_nan=False)
    for name, axes in array_fields(method.result).items():
        if name in arrays:
            assert arrays[name].ndim == len(axes)
            assert arrays[name].dtype in (np.float32, np.int32, np.int64, np.bool_)
    again = pack(unpack(method.result, arrays, values))
    assert again[1] == values
    assert {n: (a.dtype, a.tobytes()) for n, a in again[0].items()} == {
        n: (a.dtype, a.tobytes()) for n, a in arrays.items()
    }


@each
def test_axes_of_one_name_have_one_length(method: Method[Any], computed: dict[str, Stored]) -> None:
    arrays, _ = pack(computed[method.key].result)
    lengths: dict[str, set[int]] = {}
    for name, array in arrays.items():
        for axis, length in zip(array_fields(method.result)[name], array.shape, strict=True):
            lengths.setdefault(axis, set()).add(length)
    assert {axis: found for axis, found in lengths.items() if len(found) > 1} == {}
    assert {int(axis) for axis in lengths if axis.isdigit()} == {
        length for axis, found in lengths.items() if axis.isdigit() for length in found
    }


@each
def test_provenance_says_what_computed(method: Method[Any], computed: dict[str, Stored]) -> None:
    provenance = computed[method.key].provenance
    assert {"python", "versions", "n"} <= set(provenance)
    if "model" in method.request.model_fields:
        assert provenance["model"] == "tiny"
        assert {"revision", "dtype", "device", "attention", "bos"} <= set(provenance)
    assert not {"seconds", "time", "hit"} & set(provenance)


@each
def test_a_second_run_is_a_hit_of_the_same_bytes(
    method: Method[Any], shared: Engine, computed: dict[str, Stored], tmp_path: Path
) -> None:
    request = small(method, shared)
    job = shared.runner.submit(method, request)
    again = job.result()
    assert again.hit
    assert again.counts == {}
    for folder, stored in ((tmp_path / "a", computed[method.key]), (tmp_path / "b", again)):
        write_result(folder, method, request, job.key, stored)
    for file in ("request.json", "result.json", "result.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@each
def test_figures_are_json_with_titles(method: Method[Any], computed: dict[str, Stored]) -> None:
    drawn = 0
    for name, draw in TOOLS[method.key].figures.items():
        figure = draw(computed[method.key].result, {})
        if figure is None:
            continue
        drawn += 1
        plain = json.loads(figure.to_json())
        assert plain["data"], f"{name} is empty"
        layout = plain["layout"]
        assert layout["meta"]["title"], f"{name} has no title"
        axes = [layout[axis] for axis in layout if axis.startswith(("xaxis", "yaxis"))]
        titled = [axis.get("title", {}).get("text") for axis in axes]
        assert axes, f"{name} has no axes"
        assert any(titled), f"{name} has no axis title"
        for kind in ("xaxis", "yaxis"):
            own = [layout[axis] for axis in layout if axis.startswith(kind)]
            assert any(axis.get("title", {}).get("text") for axis in own), (
                f"{name}: no {kind} title"
            )
        before = figure.to_json()
        assert draw(computed[method.key].result, {}).to_json() == before
    assert drawn > 0


@each
def test_the_description_is_complete(method: Method[Any]) -> None:
    described = describe(method)
    assert list(described) == ["key", "version", "fields", "example", "arrays", "values"]
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert (described["key"], described["version"]) == (method.key, method.version)
    assert list(described["fields"]) == list(method.request.model_fields)
    assert all("default" in f and "description" in f for f in described["fields"].values())
    assert method.request.model_validate(described["example"]) == method.example
    assert described["arrays"] == array_fields(method.result)
    assert described["values"] == value_fields(method.result)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a good method, broken ones and modules that are no methods."""
    folder = tmp_path / "found_methods"
    folder.mkdir()
    toy = (Path(__file__).parents[1] / "toy_methods" / "toy.py").read_text("utf-8")
    modules = {
        "__init__": '"""Methods."""',
        "toy": toy,
        "no_import": "import a_module_that_is_not_there",
        "no_syntax": "def",
        "raises": "raise RuntimeError('broken on purpose')",
        "other_name": toy,
        "no_method": '"""Words that methods share."""',
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield "found_methods"
    for name in [m for m in sys.modules if m.split(".")[0] == "found_methods"]:
        del sys.modules[name]


def test_a_broken_module_is_reported_and_the_others_live(package: str) -> None:
    found = find_methods(package)
    assert list(found.methods) == ["toy"]
    assert sorted(found.broken) == ["no_import", "no_syntax", "other_name", "raises"]
    assert found.broken["raises"] == "RuntimeError: broken on purpose"
    assert "a_module_that_is_not_there" in found.broken["no_import"]
    assert found.broken["other_name"] == "its key 'toy' is not the module's name"
    assert found.get("toy").key == "toy"
    with pytest.raises(BadRequest, match="'raises' cannot be loaded: RuntimeError: broken on purp"):
        found.get("raises")
    with pytest.raises(BadRequest, match="Method 'none' is unknown; there are: toy"):
        found.get("none")


def test_nothing_is_found_where_nothing_is() -> None:
    with pytest.raises(BadRequest, match="Method 'toy' is unknown"):
        Found().get("toy")


@each
def test_the_command_line_prints_one_json_object(method: Method[Any], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "launch.py", "methods", method.key, "--json"],
        cwd=Path(__file__).parents[2],
        env={"GLASSWORK_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == describe(method)
