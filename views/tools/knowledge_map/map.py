"""F1, the map on the page: the points of one layer, and where they move at each other layer.

The layer is chosen beside the figure. So the figure has no slider; the browser moves the points by
frames, which are plain dictionaries.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
import plotly.graph_objects as go

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.plain import Spec, assembled, written
from views.tools.knowledge_map.boxes import Box, fitted, layer_boxes, scale_note
from views.tools.knowledge_map.look import (
    chosen_column,
    n_prompts,
    nearest_layer,
    shown_layer,
    slider_layers,
)
from views.tools.knowledge_map.plain import grid, numbers
from views.tools.knowledge_map.points import Coloring, coloring, norms, trace
from views.tools.knowledge_map.rings import ring_trace, rings

MULTIPLES = 6
# The axes have no unit: the layer's points fill them, and numbers on them would mean nothing.
BARE = {"range": [-1.0, 1.0], "showticklabels": False, "ticks": ""}


def layer_figure(result: KnowledgeMapResult, look: Look) -> go.Figure:
    """Draw the map of one layer, or of six layers for the view `multiples`."""
    colors = coloring(result, look)
    if look.get("view") == "multiples":
        return _multiples(result, look, colors)
    layer, (x, y) = shown_layer(result, look), _axis_names(result)
    return assembled(
        _traces(replace(result, map=fitted(result)), look, colors, layer),
        _title(result, colors, layer),
        xaxis={"title": {"text": x}, **BARE},
        yaxis={"title": {"text": y}, "scaleanchor": "x", **BARE},
        annotations=[written(n_prompts(result) + scale_note(layer_boxes(result)))],
        margin={"l": 40, "r": 16, "t": 32, "b": 40},
        **_shared(result, look, colors),
    )


def _title(result: KnowledgeMapResult, colors: Coloring, layer: int) -> str:
    return f"Knowledge map, layer {result.layers[layer]}: {colors.name}"


def _traces(
    result: KnowledgeMapResult, look: Look, colors: Coloring, layer: int, **fields: Any
) -> list[Spec]:
    points = [trace(result, group, layer, colors, **fields) for group in colors.groups]
    marks = enumerate(rings(result, look))
    return points + [ring_trace(result, ring, i, layer, **fields) for i, ring in marks]


def _shared(result: KnowledgeMapResult, look: Look, colors: Coloring) -> Spec:
    """Return legend and colors. Zoom and lasso stay while the same points are drawn again."""
    points, panels = crc32(result.map.tobytes()), look.get("view") == "multiples"
    revision = f"{points} {chosen_column(result, look)} {panels}"
    return {"legend": legend(colors), "uirevision": revision, **colors.layout}


def legend(colors: Coloring) -> Spec:
    """Return a legend right of the plot, or over it where the color bar stands there."""
    if colors.layout:
        right = {"x": 0.9, "xanchor": "right", "y": 1, "yref": "paper", "yanchor": "bottom"}
        return {"orientation": "h", **right}
    beside = {"x": 1.01, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "top"}
    return {"title": {"text": colors.name}, "orientation": "v", **beside}


def _axis_names(result: KnowledgeMapResult) -> tuple[str, str]:
    kind = result.projection.upper()
    return f"{kind}-1", f"{kind}-2"


def map_frames(result: KnowledgeMapResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return a frame for each value of the layer slider; none for six layers side by side."""
    if look.get("view") == "multiples":
        return {}
    colors, marks = coloring(result, look), rings(result, look)
    groups = [group.samples for group in colors.groups]
    places = numbers(fitted(result))

    def frame(layer: int) -> Spec:
        texts = norms(result, layer, np.arange(result.n))
        moved = [_moved(places[layer], samples) for samples in groups]
        named = [{**m, "text": [texts[i] for i in s]} for m, s in zip(moved, groups, strict=True)]
        data = named + [_moved(places[layer], mark.samples(layer)) for mark in marks]
        return {
            "data": data,
            "traces": list(range(len(data))),
            "title": _title(result, colors, layer),
        }

    frames = [frame(layer) for layer in range(len(result.layers))]
    return {str(layer): frames[nearest_layer(result, layer)] for layer in slider_layers(result)}


def _moved(places: list[list[Any]], samples: np.ndarray) -> Spec:
    points = [places[i] for i in samples.tolist()]
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def _multiples(result: KnowledgeMapResult, look: Look, colors: Coloring) -> go.Figure:
    count = min(MULTIPLES, len(result.layers))
    shown = np.unique(np.linspace(0, len(result.layers) - 1, count).round().astype(int)).tolist()
    columns = min(3, len(shown))
    titles = [f"layer {result.layers[i]}" for i in shown]
    layout = grid(-(-len(shown) // columns), columns, titles, horizontal=0.06, vertical=0.12)
    boxes, traces = layer_boxes(result), []
    for place, layer in enumerate(shown):
        traces += _panel_traces(result, look, colors, layer, place)
        _set_axes(layout, result, (place, columns, len(shown)), boxes, layer)
    for heading in layout["annotations"]:
        heading["font"] = {"size": 13}
    layout["annotations"].append(written(n_prompts(result) + scale_note(boxes), above=24))
    return assembled(
        traces,
        f"Knowledge map, {len(shown)} layers: {colors.name}",
        margin={"l": 64, "r": 16, "t": 56, "b": 24},
        **layout,
        **_shared(result, look, colors),
    )


def _panel_traces(
    result: KnowledgeMapResult, look: Look, colors: Coloring, layer: int, place: int
) -> list[Spec]:
    """Return one layer of the small multiples; only the first one stands in the legend."""
    number = str(place + 1) if place else ""
    traces = _traces(result, look, colors, layer, xaxis=f"x{number}", yaxis=f"y{number}")
    return traces if place == 0 else [{**each, "showlegend": False} for each in traces]


def _set_axes(
    layout: Spec,
    result: KnowledgeMapResult,
    place: tuple[int, int, int],
    boxes: list[Box],
    layer: int,
) -> None:
    """Name and scale a panel's axes; `place`: number, columns, panels."""
    panel, columns, panels = place
    number = str(panel + 1) if panel else ""
    (x, y), own = _axis_names(result), bool(scale_note(boxes))
    is_lowest, is_leftmost = panel + columns >= panels, panel % columns == 0
    across: Spec = {"range": boxes[layer][0], "tickangle": 0, "nticks": 4}
    across |= {"title": {"text": x}} if is_lowest else {}
    up: Spec = {"range": boxes[layer][1], "scaleanchor": f"x{number}"}
    up |= {"title": {"text": y}} if is_leftmost else {}
    layout[f"xaxis{number}"] |= {**across, "showticklabels": own or is_lowest}
    layout[f"yaxis{number}"] |= {**up, "showticklabels": own or is_leftmost}
