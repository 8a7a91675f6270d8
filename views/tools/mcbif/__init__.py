"""MCbiF: the Hilbert functions of one sequence of partitions, and where its clusters conflict."""

from collections.abc import Mapping
from typing import Any

from backends.contract import Known
from backends.methods.mcbif import METHOD
from views.contract import Figure, Panel, Tool
from views.partitions.figures import FIGURES as SHARED
from views.partitions.panel import build_panel

FIGURES: Mapping[str, Figure] = dict(SHARED)


def build() -> Panel:
    """Place controls and figures."""
    return build_panel(METHOD.key)


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Let a file take the place of the example, and an example that is chosen that of the file."""
    if changed == "example" and values.get("example"):
        return {"partitions": {"value": ""}}
    return {"example": {"value": None}} if values.get("partitions") else {}


TOOL = Tool(
    METHOD,
    "Hilbert functions",
    "How a sequence of partitions nests, and over which windows of scales its clusters conflict.",
    FIGURES,
    tab="mcbif",
    order=10,
    fields=("example", "partitions", "rows", "draws"),
    build=build,
    adapt=adapt,
)
