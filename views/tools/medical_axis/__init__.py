"""The medical axis: four techniques on one layer axis, and where they agree."""

from collections.abc import Mapping
from typing import Any

from backends.methods.medical_axis import METHOD, MedicalAxisResult
from views.contract import Figure, Look, Panel, Tool, View
from views.slot import figure_slot
from views.tools.medical_axis.best import best_figure, best_html
from views.tools.medical_axis.curves import curves_figure
from views.tools.medical_axis.knowledge import knowledge_figure
from views.tools.medical_axis.look import chosen_domain, chosen_layer
from views.tools.medical_axis.words import words_html

KEY = METHOD.key
FIGURES: Mapping[str, Figure] = {
    "knowledge": knowledge_figure,
    "curves": curves_figure,
    "best": best_figure,
}


def build() -> Panel:
    """Place the map, then what the chosen domain and layer open."""
    import gradio as gr

    with gr.Row(elem_id=f"{KEY}-controls", elem_classes=["gw-controls"]):
        layer = gr.Slider(0, 29, 0, step=1, label="Layer", elem_id=f"{KEY}-layer", scale=4)
        domain = gr.Dropdown(
            [], value=None, label="Domain", interactive=True, elem_id=f"{KEY}-domain", scale=2
        )
    moves: dict[str, Any] = {"follows": "layer", "click": "layer"}
    views = [
        View(figure_slot(f"{KEY}-knowledge", label="map"), knowledge_figure, uses=(), **moves),
        View(gr.HTML("", elem_id=f"{KEY}-words"), words_html, uses=("layer", "domain")),
        View(figure_slot(f"{KEY}-curves", label="curves"), curves_figure, ("domain",), **moves),
        View(gr.HTML("", elem_id=f"{KEY}-table"), best_html, uses=()),
        View(figure_slot(f"{KEY}-best", "medium", label="best"), best_figure, uses=()),
    ]
    return Panel(views, look={"layer": layer, "domain": domain}, fit=fit)


def fit(result: MedicalAxisResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return what the controls offer and hold."""
    last, domain = result.layers[-1], result.domains[chosen_domain(result, look)]
    return {
        "layer": {"minimum": 0, "maximum": last, "step": 1, "value": chosen_layer(result, look)},
        "domain": {"choices": result.domains, "value": domain},
    }


TOOL = Tool(
    METHOD,
    "All four on one axis",
    "Where geometry, saliency, lesion and patching point at the same layers.",
    FIGURES,
    tab="maps",
    order=50,
    fields=("domains", "model", "models", "quick"),
    build=build,
    caution="Research only. Not for clinical use. No patient data.",
)
