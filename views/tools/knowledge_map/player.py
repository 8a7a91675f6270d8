"""F1, the map as a file: a layer with a slider and a player of its own, for exports."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import INK, significant
from views.plain import Spec
from views.tools.knowledge_map.boxes import box_moves, layer_boxes
from views.tools.knowledge_map.look import shown_layer
from views.tools.knowledge_map.map import layer_figure
from views.tools.knowledge_map.plain import scatter_type
from views.tools.knowledge_map.points import coloring, norms
from views.tools.knowledge_map.rings import rings


def map_figure(result: KnowledgeMapResult, look: Look) -> go.Figure:
    """Draw the map of one layer with a slider over all, or six layers for the view `multiples`."""
    figure = go.Figure(layer_figure(result, look))
    if look.get("view") == "multiples":
        return figure
    figure.frames = _frames(result, look)
    if len(result.layers) > 1:
        slider = _slider(result, shown_layer(result, look))
        figure.update_layout(sliders=[slider], updatemenus=[_player()])
    return figure


def _frames(result: KnowledgeMapResult, look: Look) -> list[Spec]:
    """Return what changes with the layer: positions, norms, and the ranges where they differ."""
    colors, marks, boxes = coloring(result, look), rings(result, look), layer_boxes(result)

    def frame(layer: int) -> Spec:
        places = [_moved(result, layer, group.samples) for group in colors.groups]
        places += [_moved(result, layer, mark.samples(layer)) for mark in marks]
        return {
            "name": str(result.layers[layer]),
            "data": places,
            "traces": list(range(len(places))),
            "layout": box_moves(boxes, layer),
        }

    return [frame(layer) for layer in range(len(result.layers))]


def _moved(result: KnowledgeMapResult, layer: int, samples: np.ndarray) -> Spec:
    x, y = significant(result.map[layer, samples]).T.copy()
    texts = norms(result, layer, samples)
    return {"type": scatter_type(result.n), "x": x, "y": y, "text": texts}


def _motion(milliseconds: int) -> Spec:
    """Return animation options: a jump from layer to layer, for nothing lies between two."""
    return {
        "mode": "immediate",
        "fromcurrent": True,
        "frame": {"duration": milliseconds, "redraw": True},
        "transition": {"duration": 0},
    }


def _slider(result: KnowledgeMapResult, layer: int) -> Spec:
    steps = [
        {"label": str(name), "method": "animate", "args": [[str(name)], _motion(0)]}
        for name in result.layers
    ]
    return {
        "active": layer,
        "steps": steps,
        "currentvalue": {"prefix": "layer ", "xanchor": "left"},
        "x": 0,
        "len": 1,
        "pad": {"t": 56},
        "ticklen": 4,
        "bgcolor": "rgba(107,114,128,0.25)",
        "borderwidth": 0,
    }


def _player() -> Spec:
    play = {"label": "Play", "method": "animate", "args": [None, _motion(500)]}
    pause = {"label": "Pause", "method": "animate", "args": [[None], _motion(0)]}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "buttons": [play, pause],
        "x": 1,
        "xanchor": "right",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 44},
        "bgcolor": "#eef1f4",
        "bordercolor": "#d9dee3",
        "font": {"color": INK, "size": 12},
    }
