"""Every setting, in one place: name, default, help. Read once from `GLASSWORK_*`, then frozen.

Lower layers never see this object: `launch.py` hands values down as constructor arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from backends.errors import BadRequest

PREFIX = "GLASSWORK_"


@dataclass(frozen=True)
class Setting:
    """One setting. The environment variable is `GLASSWORK_` and the name."""

    name: str
    default: str
    help: str


SETTINGS = (
    Setting("HOME", "", "Folder of all data; empty: the platform's user data folder"),
    Setting("MODELS", "", "Folder of model folders; empty: HOME/models-local"),
    Setting("CACHE_GB", "20", "Size of the cache in gigabytes; least recently used entries go"),
    Setting("MEMORY_GB", "8", "Memory for loaded models in gigabytes; idle ones go"),
    Setting("THREADS", "0", "Threads of torch; 0: torch decides"),
    Setting("DEVICE", "auto", "Device that computes: auto, cpu or cuda:0"),
)


@dataclass(frozen=True)
class Settings:
    """The settings in force."""

    home: Path
    models: Path
    cache_bytes: int
    memory_bytes: int
    threads: int
    device: str


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings. Raise `BadRequest` naming the variable and what it may be."""
    given = {s.name: environment.get(PREFIX + s.name, "") or s.default for s in SETTINGS}
    home = _folder("HOME", given["HOME"] or str(user_data_path("glasswork", appauthor=False)))
    models = _folder("MODELS", given["MODELS"] or str(home / "models-local"))
    if given["MODELS"] and not models.is_dir():
        sentence = f"{PREFIX}MODELS is {given['MODELS']!r}; there is no such folder."
        raise BadRequest("MODELS", sentence)
    return Settings(
        home=home,
        models=models,
        cache_bytes=int(_number("CACHE_GB", given) * 10**9),
        memory_bytes=int(_number("MEMORY_GB", given) * 10**9),
        threads=int(_number("THREADS", given)),
        device=_device(given["DEVICE"]),
    )


def _folder(name: str, value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise BadRequest(name, f"{PREFIX}{name} is {value!r}; there is no such user.") from None


def _number(name: str, given: Mapping[str, str]) -> float:
    try:
        value = float(given[name])
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise BadRequest(
            name, f"{PREFIX}{name} is {given[name]!r}; it must be a number from 0 to 1000000."
        )
    return value


def _device(value: str) -> str:
    number = value.removeprefix("cuda:")
    if value in ("auto", "cpu") or (number != value and number.isdigit()):
        return value
    raise BadRequest("DEVICE", f"{PREFIX}DEVICE is {value!r}; it must be auto, cpu or cuda:0.")
