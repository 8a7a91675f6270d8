"""The line of the shown layer in exported figures by layer; on the page the browser draws it."""

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import INK
from views.plain import Spec, written
from views.tools.knowledge_map.look import setting, shown_layer


def marked(result: KnowledgeMapResult, look: Look) -> Spec:
    """Return a figure's shapes and annotations: its setting, and the line if the look has one."""
    return _marks(result, shown_layer(result, look) if "layer" in look else None)


def _marks(result: KnowledgeMapResult, layer: int | None) -> Spec:
    above = written(setting(result))
    if layer is None:
        return {"annotations": [above]}
    line, label = _line(result, layer)
    return {"shapes": [line], "annotations": [above, label]}


def _line(result: KnowledgeMapResult, layer: int) -> tuple[Spec, Spec]:
    """Return a thin line of ink at the layer of an index, and its label towards the middle."""
    x, last = result.layers[layer], result.layers[-1]
    line = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1}
    line |= {"yref": "y domain", "line": {"color": INK, "width": 1}}
    label = {"text": f"layer {x}", "font": {"size": 11}, "showarrow": False}
    label |= {"x": x, "xref": "x", "xanchor": "right" if 2 * x > last else "left"}
    return line, {**label, "y": 0, "yref": "y domain", "yanchor": "bottom"}
