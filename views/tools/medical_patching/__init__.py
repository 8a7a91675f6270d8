"""Patching: which layer's output carries the answer from one prompt to another."""

from collections.abc import Mapping
from typing import Any

from backends.concepts.pairs import COLUMNS
from backends.contract import Known
from backends.methods.medical_patching import METHOD, MedicalPatchingResult
from views.contract import Figure, Look, Panel, Tool, View
from views.slot import figure_slot
from views.tools.medical_patching.board import board_figure
from views.tools.medical_patching.curve import recovery_figure
from views.tools.medical_patching.details import cell_html, pairing_html
from views.tools.medical_patching.pairs import pairs_figure
from views.tools.medical_patching.words import chosen_cell

KEY = METHOD.key

FIGURES: Mapping[str, Figure] = {
    "board": board_figure,
    "recovery": recovery_figure,
    "pairs": pairs_figure,
}


def build() -> Panel:
    """Place the board, the clicked cell's numbers, the curve, the pairing and the pairs."""
    import gradio as gr

    cell = gr.Textbox("", visible="hidden", show_label=False, elem_id=f"{KEY}-cell")
    clicks: dict[str, Any] = {"uses": ("cell",), "click": "cell"}
    board = View(figure_slot(f"{KEY}-board", label="board"), board_figure, **clicks)
    curve = View(
        figure_slot(f"{KEY}-recovery", "medium", "recovery"), recovery_figure, uses=(), click="cell"
    )
    numbers = View(gr.HTML("", elem_id=f"{KEY}-numbers"), cell_html, uses=("cell",))
    links = View(gr.HTML("", elem_id=f"{KEY}-pairing-in-force"), pairing_html, uses=())
    pairs = View(figure_slot(f"{KEY}-gaps", "medium", "pairs"), pairs_figure, uses=())
    return Panel([board, curve, numbers, links, pairs], look={"cell": cell}, fit=fit)


def fit(result: MedicalPatchingResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return the cell that is shown: the clicked one, else the best."""
    cell = chosen_cell(result, look)
    return {"cell": {"value": "" if cell is None else f"{cell[0]},{cell[1]}"}}


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Keep one source of pairs: what was changed last empties the other two."""
    texts, nothing = {name: {"value": ""} for name in COLUMNS}, {"value": None}
    if changed == "pairs" and values.get("pairs"):
        return {**texts, "table": {"value": ""}}
    if changed == "table" and values.get("table"):
        return {**texts, "pairs": nothing}
    if changed in COLUMNS and values.get(changed):
        return {"pairs": nothing, "table": {"value": ""}}
    return {}


TOOL = Tool(
    METHOD,
    "Patching",
    "Which layer's output carries the answer from one prompt to another.",
    FIGURES,
    tab="maps",
    order=40,
    fields=(
        "clean",
        "corrupted",
        "answer",
        "foil",
        "pairs",
        "table",
        "positions",
        "metric",
        "site",
        "model",
    ),
    build=build,
    adapt=adapt,
    caution="Research only. Not for clinical use. No patient data.",
)
