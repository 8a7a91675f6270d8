"""A toy method for tests of the engine: counts to `steps`, slowly, and squares what it counts.

It needs no model, reports progress, shows a preliminary result, keeps every step as a part, and
fails when asked to. `backends.discovery` finds it here as it finds any method.
"""

import time
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from pydantic import Field

from backends.contract import Known, Method, Request
from backends.errors import BadRequest
from backends.lab import Lab


class ToyRequest(Request):
    """What to count."""

    steps: int = Field(3, ge=1, le=1000, description="Steps")
    pause: float = Field(0.0, ge=0, le=10, description="Seconds of each step")
    text: str = Field("", max_length=100, description="A text that is given back")
    fail: bool = Field(False, description="Raise an error at the end")


@dataclass(frozen=True)
class ToyResult:
    """The squares of 0..steps-1."""

    squares: Float[np.ndarray, "step"]
    steps: int
    text: str


def check(request: ToyRequest, known: Known) -> None:
    """Refuse a text that shouts."""
    if request.text.endswith("!"):
        raise BadRequest("text", f"Text {request.text!r} ends with an exclamation mark.")


def compute(request: ToyRequest, lab: Lab) -> ToyResult:
    """Square the numbers from 0, one part each."""
    squares: list[float] = []
    for step in range(request.steps):
        lab.watch.step(step, request.steps, f"step {step}")

        def make(step: int = step) -> dict[str, np.ndarray]:
            lab.watch.count("steps_made")
            time.sleep(request.pause)
            return {"square": np.array([float(step) ** 2], dtype=np.float32)}

        squares.append(float(lab.part("square", {"step": step}, make)["square"][0]))
        if step == 0:
            lab.watch.show(_result(request, squares))
    if request.fail:
        raise ValueError("the toy was told to fail")
    lab.note(n=request.steps)
    return _result(request, squares)


def _result(request: ToyRequest, squares: list[float]) -> ToyResult:
    return ToyResult(np.array(squares, dtype=np.float32), len(squares), request.text)


METHOD = Method(
    "toy", 1, ToyRequest, ToyResult, compute, check=check, example=ToyRequest(), seconds=1
)
