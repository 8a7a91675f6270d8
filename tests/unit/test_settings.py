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
    assert (found.host, found.port, found.keep_texts) == ("127.0.0.1", 7860, True)


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
        "GLASSWORK_HOST": "0.0.0.0",
        "GLASSWORK_PORT": "0",
        "GLASSWORK_KEEP_TEXTS": "yes",
    }
    assert {s.name for s in SETTINGS} == {name.removeprefix(PREFIX) for name in given}
    assert read_settings(given) == Settings(
        tmp_path, tmp_path / "models", 5 * 10**8, 2 * 10**9, 2, "cuda:1", "0.0.0.0", 0, True
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


@pytest.mark.parametrize(
    "value", ["-1", "65536", "80.0", "http", " 80", "+80", "8_0", "²", "9" * 99]
)
def test_a_wrong_port_is_told(value: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_settings({"GLASSWORK_PORT": value})
    assert str(error.value) == (
        f"GLASSWORK_PORT is {value!r}; it must be a whole number from 0 to 65535."
    )
    assert error.value.field == "PORT"


@pytest.mark.parametrize(("value", "port"), [("0", 0), ("65535", 65535), ("08080", 8080)])
def test_a_port_is_read(value: str, port: int) -> None:
    assert read_settings({"GLASSWORK_PORT": value}).port == port


@pytest.mark.parametrize("value", ["example.org", "127.0.0.256", "*", "127.0.0.1:80", "[]", " "])
def test_a_wrong_host_is_told(value: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_settings({"GLASSWORK_HOST": value})
    assert str(error.value) == (
        f"GLASSWORK_HOST is {value!r}; it must be an IP address or localhost."
    )
    assert error.value.field == "HOST"


@pytest.mark.parametrize(
    ("value", "host", "keeps"),
    [
        ("localhost", "localhost", True),
        ("127.0.0.2", "127.0.0.2", True),
        ("::1", "[::1]", True),
        ("[::1]", "[::1]", True),
        ("0.0.0.0", "0.0.0.0", False),
        ("::", "[::]", False),
        ("192.168.0.7", "192.168.0.7", False),
    ],
)
def test_texts_are_kept_where_only_this_machine_can_reach_the_page(
    value: str, host: str, keeps: bool
) -> None:
    found = read_settings({"GLASSWORK_HOST": value})
    assert (found.host, found.keep_texts) == (host, keeps)
    told = {"GLASSWORK_HOST": value, "GLASSWORK_KEEP_TEXTS": "no"}
    assert not read_settings(told).keep_texts
    assert read_settings(told | {"GLASSWORK_KEEP_TEXTS": "yes"}).keep_texts


@pytest.mark.parametrize("value", ["Yes", "true", "1", "on", " "])
def test_a_wrong_choice_on_texts_is_told(value: str) -> None:
    with pytest.raises(BadRequest) as error:
        read_settings({"GLASSWORK_KEEP_TEXTS": value})
    assert str(error.value) == (f"GLASSWORK_KEEP_TEXTS is {value!r}; it must be auto, yes or no.")
    assert error.value.field == "KEEP_TEXTS"


@pytest.mark.parametrize("name", ["HOME", "MODELS"])
def test_a_home_that_nobody_has_is_told(name: str) -> None:
    with pytest.raises(BadRequest, match=f"GLASSWORK_{name} is '~nobody-of-this-name/x'"):
        read_settings({PREFIX + name: "~nobody-of-this-name/x"})


def test_settings_are_frozen_and_explained() -> None:
    assert all(s.help for s in SETTINGS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        read_settings({}).threads = 3  # type: ignore[misc]
