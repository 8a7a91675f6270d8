"""The request of the experiments: which task, how large; the sizes that follow, and their check."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from backends.contract import Known, Request
from backends.errors import BadRequest

Task = Literal["classification", "regression"]


class McbifExperimentRequest(Request):
    """Which of the paper's two experiments, and its size; what is left out is the small one's."""

    task: Task = Field(
        "classification",
        description="classification: is one order of the elements kept? "
        "regression: how many crossings has the Sankey diagram?",
    )
    n_elements: int | None = Field(
        None, description="Elements; if empty 100 (classification) or 5 (regression)"
    )
    step: int | None = Field(
        None, description="Classification: distance of the partitions' indices; if empty 5"
    )
    n_scales: int | None = Field(None, description="Regression: partitions; if empty 20")
    n_sequences: int | None = Field(
        None,
        description="Sequences; if empty 600 per class (classification) or 6,000 (regression)",
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of sequences, splits and resamples")


@dataclass(frozen=True)
class Plan:
    """A request's sizes with nothing left out. `total` counts the sequences of both classes."""

    task: Task
    elements: int
    step: int
    scales: int
    total: int
    seed: int


# Allowed sizes by task: elements, scales, sequences (per class or in all).
ALLOWED = {
    "classification": {"n_elements": (10, 500), "step": (1, 500), "n_sequences": (20, 5_000)},
    "regression": {"n_elements": (4, 12), "n_scales": (4, 30), "n_sequences": (100, 20_000)},
}
SMALL = {
    "classification": {"n_elements": 100, "step": 5, "n_sequences": 600},
    "regression": {"n_elements": 5, "n_scales": 20, "n_sequences": 6_000},
}
MOST_SCALES = 60


def plan_of(request: McbifExperimentRequest) -> Plan:
    """Fill in what the request leaves out."""
    sizes = {}
    for name, small in SMALL[request.task].items():
        given = getattr(request, name)
        sizes[name] = small if given is None else given
    elements, sequences = sizes["n_elements"], sizes["n_sequences"]
    if request.task == "regression":
        return Plan(request.task, elements, 0, sizes["n_scales"], sequences, request.seed)
    step = sizes["step"]
    scales = 2 + len(range(1, elements, max(step, 1)))
    return Plan(request.task, elements, step, scales, 2 * sequences, request.seed)


def check(request: McbifExperimentRequest, known: Known) -> None:
    """Raise `BadRequest` for sizes outside the ranges of the task."""
    for name, (least, most) in ALLOWED[request.task].items():
        value = getattr(request, name)
        if value is not None and not least <= value <= most:
            raise BadRequest(
                name,
                f"Field {name!r} is {value:,}, outside {least:,} to {most:,}, the range for "
                f"{request.task}.",
            )
    plan = plan_of(request)
    if request.task == "classification" and plan.scales > MOST_SCALES:
        raise BadRequest(
            "step",
            f"Step {plan.step} with {plan.elements} elements makes {plan.scales} partitions; "
            f"at most {MOST_SCALES} are allowed.",
        )
