"""F1, the map: a layer of points with a slider over all layers, or six layers side by side."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import INK, finish, note, scatter, significant
from views.tools.knowledge_map.look import n_prompts, shown_layer
from views.tools.knowledge_map.points import Coloring, Group, coloring, norms, trace

MULTIPLES = 6
# Above this ratio of the widest to the narrowest layer one scale would draw a layer as a dot.
RATIO = 2.0


def map_figure(result: KnowledgeMapResult, look: Look) -> go.Figure:
    """Draw the map of one layer with a slider over all, or six layers for the view `multiples`."""
    colors = coloring(result, look)
    if look.get("view") == "multiples":
        return _multiples(result, colors)
    layer, boxes = shown_layer(result, look), _boxes(result)
    figure = go.Figure([trace(result, group, layer, colors) for group in colors.groups])
    figure.frames = [_frame(result, colors, i, boxes) for i in range(len(result.layers))]
    x, y = _axis_names(result)
    figure.update_xaxes(title_text=x, range=boxes[layer][0])
    figure.update_yaxes(title_text=y, range=boxes[layer][1], scaleanchor="x")
    note(figure, n_prompts(result) + _scale_note(boxes))
    finish(
        figure,
        f"Knowledge map, layer {result.layers[layer]}: {colors.name}",
        legend=_legend(colors),
        margin={"l": 64, "r": 16, "t": 32, "b": 16},
        **colors.layout,
    )
    if len(result.layers) > 1:
        figure.update_layout(sliders=[_slider(result, layer)], updatemenus=[_player(result)])
    return figure


def _legend(colors: Coloring) -> dict[str, Any]:
    return {
        "title": {"text": colors.name},
        "orientation": "v",
        "x": 1.01,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": "left",
    }


def _axis_names(result: KnowledgeMapResult) -> tuple[str, str]:
    kind = result.projection.upper()
    return f"{kind}-1", f"{kind}-2"


def _boxes(result: KnowledgeMapResult) -> list[list[list[float]]]:
    """Return the x and y range of each layer: one for all, unless their sizes differ too much."""
    spans = [_span(result.map[i]) for i in range(len(result.layers))]
    sizes = [max(high - low for low, high in span) for span in spans]
    if max(sizes) <= RATIO * min(sizes):
        spans = [_span(result.map.reshape(-1, 2))] * len(spans)
    return [[_padded(low, high) for low, high in span] for span in spans]


def _span(points: np.ndarray) -> list[tuple[float, float]]:
    inside = points[np.isfinite(points).all(axis=1)]
    if not len(inside):
        return [(-1.0, 1.0), (-1.0, 1.0)]
    return [(float(axis.min()), float(axis.max())) for axis in inside.T]


def _padded(low: float, high: float) -> list[float]:
    room = 0.05 * (high - low) or 1.0
    return [float(v) for v in significant([low - room, high + room])]


def _scale_note(boxes: list[list[list[float]]]) -> str:
    return "" if all(box == boxes[0] for box in boxes) else ", each layer at its own scale"


def _frame(result: KnowledgeMapResult, colors: Coloring, layer: int, boxes: Any) -> go.Frame:
    """Return what changes with the layer: positions, norms, and the ranges where they differ."""
    places = [_moved(result, group, layer) for group in colors.groups]
    x, y = boxes[layer]
    moves = {} if not _scale_note(boxes) else {"xaxis": {"range": x}, "yaxis": {"range": y}}
    return go.Frame(
        name=str(result.layers[layer]),
        data=places,
        traces=list(range(len(places))),
        layout=moves,
    )


def _moved(result: KnowledgeMapResult, group: Group, layer: int) -> Any:
    x, y = significant(result.map[layer, group.samples]).T.copy()
    return scatter(result.n, x=x, y=y, text=norms(result, layer, group.samples))


def _motion(milliseconds: int) -> dict[str, Any]:
    """Return animation options: a jump from layer to layer, for nothing lies between two."""
    return {
        "mode": "immediate",
        "fromcurrent": True,
        "frame": {"duration": milliseconds, "redraw": True},
        "transition": {"duration": 0},
    }


def _slider(result: KnowledgeMapResult, layer: int) -> dict[str, Any]:
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


def _player(result: KnowledgeMapResult) -> dict[str, Any]:
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


def _multiples(result: KnowledgeMapResult, colors: Coloring) -> go.Figure:
    count = min(MULTIPLES, len(result.layers))
    shown = np.unique(np.linspace(0, len(result.layers) - 1, count).round().astype(int)).tolist()
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = make_subplots(
        rows,
        columns,
        subplot_titles=[f"layer {result.layers[i]}" for i in shown],
        horizontal_spacing=0.06,
        vertical_spacing=0.12,
    )
    boxes = _boxes(result)
    for place, layer in enumerate(shown):
        _panel(figure, result, colors, layer, (place, columns, len(shown)), boxes[layer])
    figure.update_annotations(font_size=13)
    if not _scale_note(boxes):
        figure.update_xaxes(showticklabels=False)
        figure.update_xaxes(showticklabels=True, row=rows)
        figure.update_yaxes(showticklabels=False)
        figure.update_yaxes(showticklabels=True, col=1)
    note(figure, n_prompts(result) + _scale_note(boxes), above=24)
    return finish(
        figure,
        f"Knowledge map, {len(shown)} layers: {colors.name}",
        legend=_legend(colors),
        margin={"l": 64, "r": 16, "t": 56, "b": 24},
        **colors.layout,
    )


def _panel(
    figure: go.Figure,
    result: KnowledgeMapResult,
    colors: Coloring,
    layer: int,
    place: tuple[int, int, int],
    box: list[list[float]],
) -> None:
    """Draw one layer of the small multiples; `place`: number, columns, panels."""
    number, columns, panels = place
    at = {"row": number // columns + 1, "col": number % columns + 1}
    for group in colors.groups:
        first = group.named and number == 0
        figure.add_trace(trace(result, group, layer, colors, showlegend=first), **at)
    name = "x" if number == 0 else f"x{number + 1}"
    x, y = _axis_names(result)
    lowest = number + columns >= panels
    figure.update_xaxes(range=box[0], title_text=x if lowest else None, tickangle=0, nticks=4, **at)
    leftmost = at["col"] == 1
    figure.update_yaxes(range=box[1], scaleanchor=name, title_text=y if leftmost else None, **at)
