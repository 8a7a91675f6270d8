"""Every setting, in one place: name, default, help. Read once from `GLASSWORK_*`, then frozen.

Lower layers never see this object: `launch.py` hands values down as constructor arguments.
"""

import ipaddress
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
    Setting("HOST", "127.0.0.1", "Address the page listens on; 0.0.0.0: every address"),
    Setting("PORT", "7860", "Port the page listens on; 0: any free one"),
    Setting(
        "KEEP_TEXTS",
        "auto",
        "Keep own texts, uploads and their results on disk: auto, yes or no; "
        "auto: yes if HOST is a loopback address",
    ),
)


@dataclass(frozen=True)
class Settings:
    """The settings in force. `host` is written as in a URL: an IPv6 address has brackets.

    `keep_texts` says whether prompts, uploads and results of requests with texts of the user's own
    stay on disk.
    """

    home: Path
    models: Path
    cache_bytes: int
    memory_bytes: int
    threads: int
    device: str
    host: str = "127.0.0.1"
    port: int = 7860
    keep_texts: bool = True


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings. Raise `BadRequest` naming the variable and what it may be."""
    given = {s.name: environment.get(PREFIX + s.name, "") or s.default for s in SETTINGS}
    home = _folder("HOME", given["HOME"] or str(user_data_path("glasswork", appauthor=False)))
    models = _folder("MODELS", given["MODELS"] or str(home / "models-local"))
    if given["MODELS"] and not models.is_dir():
        sentence = f"{PREFIX}MODELS is {given['MODELS']!r}; there is no such folder."
        raise BadRequest("MODELS", sentence)
    host, is_loopback = _host(given["HOST"])
    return Settings(
        home=home,
        models=models,
        cache_bytes=int(_number("CACHE_GB", given) * 10**9),
        memory_bytes=int(_number("MEMORY_GB", given) * 10**9),
        threads=int(_number("THREADS", given)),
        device=_device(given["DEVICE"]),
        host=host,
        port=_port(given["PORT"]),
        keep_texts=_keep_texts(given["KEEP_TEXTS"], is_loopback),
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


def _host(value: str) -> tuple[str, bool]:
    """Return the address as in a URL, and whether only this machine can reach it."""
    if value == "localhost":
        return value, True
    try:
        address = ipaddress.ip_address(value.removeprefix("[").removesuffix("]"))
    except ValueError:
        sentence = f"{PREFIX}HOST is {value!r}; it must be an IP address or localhost."
        raise BadRequest("HOST", sentence) from None
    return (f"[{address}]" if address.version == 6 else str(address)), address.is_loopback


def _port(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) <= 5 and int(value) <= 65535:
        return int(value)
    sentence = f"{PREFIX}PORT is {value!r}; it must be a whole number from 0 to 65535."
    raise BadRequest("PORT", sentence)


def _keep_texts(value: str, is_loopback: bool) -> bool:
    if value not in ("auto", "yes", "no"):
        sentence = f"{PREFIX}KEEP_TEXTS is {value!r}; it must be auto, yes or no."
        raise BadRequest("KEEP_TEXTS", sentence)
    return is_loopback if value == "auto" else value == "yes"
