"""Settings are read once from the environment; a wrong one is told in a sentence."""

import dataclasses
from pathlib import Path

import pytest

from app.settings import PREFIX, SETTINGS, Settings, read_settings
from backends.errors import BadRequest


def test_defaults() -> None:
    found = read_settings({})
    assert found.home.name == "glasswork"
    assert found.home.is_absolute()
    assert found.models == found.home / "models-local"
    assert (found.cache_bytes, found.memory_bytes) == (20 * 10**9, 8 * 10**9)
    assert (found.threads, found.device) == (0, "auto")


def test_an_empty_variable_is_the_default() -> None:
    assert read_settings({PREFIX + s.name: "" for s in SETTINGS}) == read_settings({})


def test_every_setting_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    given = {
        "GLASSWORK_HOME": str(tmp_path),
        "GLASSWORK_MODELS": "~/models",
        "GLASSWORK_CACHE_GB": "0.5",
        "GLASSWORK_MEMORY_GB": "2",
        "GLASSWORK_THREADS": "2",
        "GLASSWORK_DEVICE": "cuda:1",
    }
    assert {s.name for s in SETTINGS} == {name.removeprefix(PREFIX) for name in given}
    assert read_settings(given) == Settings(
        tmp_path, tmp_path / "models", 5 * 10**8, 2 * 10**9, 2, "cuda:1"
    )


def test_other_variables_do_not_count() -> None:
    assert read_settings({"HOME": "/x", "CACHE_GB": "1"}) == read_settings({})


@pytest.mark.parametrize("name", ["CACHE_GB", "MEMORY_GB", "THREADS"])
@pytest.mark.parametrize("value", ["x", "-1", "nan", "inf", "1e9", "1,5", " ", "5 GB"])
def test_a_wrong_number_is_told(name: str, value: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_settings({PREFIX + name: value})
    assert str(error.value) == (
        f"GLASSWORK_{name} is {value!r}; it must be a number from 0 to 1000000."
    )
    assert error.value.field == name


@pytest.mark.parametrize("value", ["gpu", "cuda", "cuda:", "cuda:x", "CPU", "cpu:0", "mps"])
def test_a_wrong_device_is_told(value: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_settings({"GLASSWORK_DEVICE": value})
    assert str(error.value) == (f"GLASSWORK_DEVICE is {value!r}; it must be auto, cpu or cuda:0.")


@pytest.mark.parametrize("name", ["HOME", "MODELS"])
def test_a_home_that_nobody_has_is_told(name: str) -> None:
    with pytest.raises(BadRequest, match=f"GLASSWORK_{name} is '~nobody-of-this-name/x'"):
        read_settings({PREFIX + name: "~nobody-of-this-name/x"})


def test_settings_are_frozen_and_explained() -> None:
    assert all(s.help for s in SETTINGS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        read_settings({}).threads = 3  # type: ignore[misc]
