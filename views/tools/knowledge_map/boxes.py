"""The x and y ranges of the map's layers: one for all, or one each where their sizes differ."""

import numpy as np
from jaxtyping import Float

from backends.methods.knowledge_map import KnowledgeMapResult
from views.figure import significant
from views.plain import Spec

# Above this ratio of the widest to the narrowest layer one scale would draw a layer as a dot.
RATIO = 2.0

Box = list[list[float]]


def layer_boxes(result: KnowledgeMapResult) -> list[Box]:
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


def scale_note(boxes: list[Box]) -> str:
    """Return what the line over the plot says of the layers' scales."""
    return "" if all(box == boxes[0] for box in boxes) else ", each layer at its own scale"


def fitted(result: KnowledgeMapResult) -> Float[np.ndarray, "layer sample 2"]:
    """Return the map with each layer moved and scaled, both axes alike, into -1..1.

    Layers of comparable size share one scale, as in `layer_boxes`. Nothing is lost, as the axes
    have no unit; and the browser can move the points without drawing new axes.
    """
    boxes = np.array(layer_boxes(result))
    middle = boxes.mean(axis=2)[:, None, :]
    half = np.ptp(boxes, axis=2).max(axis=1)[:, None, None] / 2
    return np.asarray((result.map - middle) / half, np.float32)


def box_moves(boxes: list[Box], layer: int) -> Spec:
    """Return the axes' ranges at a layer, empty where all layers share them."""
    x, y = boxes[layer]
    return {"xaxis": {"range": x}, "yaxis": {"range": y}} if scale_note(boxes) else {}
