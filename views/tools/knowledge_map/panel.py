"""The map's page: controls over the map, what was clicked below it, then the other figures."""

from typing import Any

from views.contract import Panel, View
from views.slot import figure_slot
from views.tools.knowledge_map.age import age_figure
from views.tools.knowledge_map.collapse import collapse_figure
from views.tools.knowledge_map.details import neighbors_html
from views.tools.knowledge_map.fit import OWN_COLORING, VIEWS, fit
from views.tools.knowledge_map.look import SEARCHED
from views.tools.knowledge_map.map import layer_figure, map_frames
from views.tools.knowledge_map.progression import progression_figure
from views.tools.knowledge_map.selection import selection_html
from views.tools.knowledge_map.separability import separability_figure

KEY = "knowledge_map"


def build() -> Panel:
    """Place controls and figures, and say what depends on what."""
    controls, play = _controls()
    the_map = View(
        figure_slot(f"{KEY}-map", label="knowledge map"),
        layer_figure,
        uses=("column", "view", "search", "point"),
        frames=map_frames,
        follows="layer",
        click="point",
        select="points",
    )
    views = [the_map, *_details(), *_by_layer()]
    return Panel(views, look=controls, fit=fit, play="layer", play_button=play)


def _controls() -> tuple[dict[str, Any], Any]:
    import gradio as gr

    with gr.Row(elem_id=f"{KEY}-controls", elem_classes=["gw-controls"]):
        layer = gr.Slider(0, 29, 29, step=1, label="Layer", elem_id=f"{KEY}-layer", scale=4)
        play = gr.Button("Play", elem_id=f"{KEY}-play", min_width=72, scale=0)
        column = _dropdown("column", "Coloring", [OWN_COLORING], "")
        view = gr.Radio(list(VIEWS), value="one", label="View", elem_id=f"{KEY}-view", scale=2)
        disease = _dropdown("disease", "Disease", [], None, visible=False)
        search = gr.Textbox(
            label="Search",
            placeholder="Highlight prompts that contain…",
            max_lines=1,
            max_length=SEARCHED,
            elem_id=f"{KEY}-search",
            scale=3,
        )
    point, points = _hidden("point"), _hidden("points")
    named = {"layer": layer, "column": column, "view": view, "disease": disease}
    return {**named, "search": search, "point": point, "points": points}, play


def _dropdown(name: str, label: str, choices: list[Any], value: Any, visible: bool = True) -> Any:
    import gradio as gr

    return gr.Dropdown(
        choices,
        value=value,
        label=label,
        visible=visible,
        interactive=True,
        elem_id=f"{KEY}-{name}",
        min_width=140,
        scale=2,
    )


def _hidden(name: str) -> Any:
    import gradio as gr

    return gr.Textbox("", visible="hidden", show_label=False, elem_id=f"{KEY}-{name}")


def _details() -> list[View]:
    import gradio as gr

    near, lasso = (gr.HTML("", elem_id=f"{KEY}-{name}") for name in ("neighbors", "selection"))
    return [
        View(near, neighbors_html, uses=("point", "layer", "column")),
        View(lasso, selection_html, uses=("points", "layer", "column")),
    ]


def _by_layer() -> list[View]:
    """Return F2 to F5. In those over all layers the browser marks the layer by a line."""
    moves: dict[str, Any] = {"uses": (), "follows": "layer", "click": "layer"}
    return [
        View(_slot("separability"), lambda result, look: separability_figure(result, {}), **moves),
        View(_slot("age"), age_figure, uses=("layer",)),
        View(_slot("progression"), progression_figure, uses=("layer", "disease")),
        View(_slot("collapse"), lambda result, look: collapse_figure(result, {}), **moves),
    ]


def _slot(name: str) -> Any:
    return figure_slot(f"{KEY}-{name}", "medium", label=name)
