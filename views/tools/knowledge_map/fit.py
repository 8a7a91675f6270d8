"""What the map's controls offer and hold for a result and a wanted look, which may be wrong."""

from collections.abc import Mapping
from typing import Any

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.tools.knowledge_map.look import (
    SEARCHED,
    chosen_column,
    clicked,
    selected,
    shown_disease,
    wanted_layer,
)

OWN_COLORING = ("the set's own", "")
VIEWS = (("one layer", "one"), ("six layers", "multiples"))


def fit(result: KnowledgeMapResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return each control's properties. The layer may lie between those of a subset."""
    point, column = clicked(result, look), chosen_column(result, look)
    return {
        "layer": _layer(result, look),
        "column": {
            "choices": [OWN_COLORING, *((name, name) for name in result.label_columns)],
            "value": "" if column is None else result.label_columns[column],
        },
        "view": {"value": "multiples" if look.get("view") == "multiples" else "one"},
        "disease": _disease(result, look),
        "search": {"value": str(look.get("search") or "")[:SEARCHED]},
        "point": {"value": "" if point is None else str(point)},
        "points": {"value": ",".join(str(sample) for sample in selected(result, look))},
    }


def _layer(result: KnowledgeMapResult, look: Look) -> Mapping[str, Any]:
    first, last = result.layers[0], result.layers[-1]
    value, several = wanted_layer(result, look), last > first
    return {"minimum": first, "maximum": last, "step": 1, "value": value, "visible": several}


def _disease(result: KnowledgeMapResult, look: Look) -> Mapping[str, Any]:
    names = result.diseases
    value = names[shown_disease(result, look)] if names else None
    return {"choices": names, "value": value, "visible": bool(names)}
