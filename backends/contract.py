"""What a method is: a request, a result, and a function between them.

A request is flat, frozen and JSON-valued; equal requests give equal results. A result is a frozen
dataclass of NumPy arrays and JSON values. `compute` gets a `Lab`, which is everything it may
touch; `check` gets what can be known without loading a model. The pattern of capabilities declared
as data follows LIT; see docs/adding-a-method.md.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from backends.models.catalog import DEFAULT_MODEL, Catalog
from backends.uploads import Uploads


class Request(BaseModel):
    """Base of all requests: frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ModelRequest(Request):
    """Base of requests that run a language model."""

    model: str = Field(DEFAULT_MODEL, description="Model")
    dtype: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Precision of the weights; a CPU always computes in float32"
    )
    attention: Literal["eager"] = Field("eager", description="Attention implementation")
    bos: Literal["auto", "force", "none"] = Field(
        "auto", description="BOS token: as the tokenizer does, always, or never"
    )
    chat: bool = Field(False, description="Wrap each prompt in the model's chat template")


@dataclass(frozen=True)
class UploadMark:
    """Marks a field that holds a file's digest; doors put the file itself into `Uploads`."""


def _digest(value: str) -> str:
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
        raise ValueError(f"{value!r} is not the digest of an uploaded file (sha256:…)")
    return value


Upload = Annotated[str, AfterValidator(_digest), UploadMark()]


def _numbers(value: object) -> object:
    if value == "all":
        return value
    listed = value.split(",") if isinstance(value, str) else value
    parts = listed if isinstance(listed, list | tuple) else [listed]
    return [_number(part) for part in parts if not (isinstance(part, str) and not part.strip())]


def _number(part: object) -> int:
    if isinstance(part, int) and not isinstance(part, bool) and part >= 0:
        return part
    if isinstance(part, str) and part.strip().isdecimal() and len(part) < 10:
        return int(part)
    shown = repr(part)[:40]
    raise ValueError(f"{shown} is no layer; it must be all, or numbers from 0 joined by commas")


def _ascending(value: object) -> object:
    return value if isinstance(value, str) else tuple(sorted(set(value)))  # type: ignore[call-overload]


Layers = Annotated[
    Literal["all"] | tuple[Annotated[int, Field(ge=0)], ...],
    BeforeValidator(_numbers),
    AfterValidator(_ascending),
]
"""`all`, or block numbers separated by commas; 0 is the first block."""


@dataclass(frozen=True)
class Known:
    """What `check` may look at: numbers of models and files of the user, never a loaded model."""

    catalog: Catalog
    uploads: Uploads


R = TypeVar("R", bound=Request)


@dataclass(frozen=True)
class Method(Generic[R]):
    """One method. `version` is raised whenever the meaning of its numbers changes.

    `example` is what the page opens with; `small` overrides its fields so that it ends within two
    seconds on the tiny model of the tests. `requires` names capabilities of a model (`rotary`),
    `seconds` is the expected order of time of the example. `warm_up` names a function of the worker
    process (`package.module:function`) that makes a first run start sooner.
    """

    key: str
    version: int
    request: type[R]
    result: type[Any]
    compute: Callable[[R, Any], Any]
    example: R
    check: Callable[[R, Known], None] = lambda request, known: None
    small: Mapping[str, Any] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    seconds: int | float = 10
    warm_up: str = ""

    @property
    def about(self) -> str:
        """The first line of the module's docstring: what the method is, in one sentence."""
        return (sys.modules[self.compute.__module__].__doc__ or self.key).split("\n")[0]

    @property
    def kind(self) -> str:
        """The kind of a stored result of this method."""
        return f"result/{self.key}/{self.version}"
