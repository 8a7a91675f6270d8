"""What the look chooses of a result, and words that several figures share.

A look may come from a link, so that its values are text and may be wrong: a layer between those of
the result is the nearest one, anything else that is not there is the default.
"""

import math
from typing import Any

import numpy as np

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import escape

# Longest names in a legend or at an axis, in characters.
NAME = 24
# Longest text to search for, in characters.
SEARCHED = 100


def wanted_layer(result: KnowledgeMapResult, look: Look) -> int:
    """Return the whole number from the first to the last layer that the look asks for.

    The default is the last layer; a subset of layers may lack the number.
    """
    try:
        asked = round(float(look["layer"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return result.layers[-1]
    return min(max(asked, result.layers[0]), result.layers[-1])


def shown_layer(result: KnowledgeMapResult, look: Look) -> int:
    """Return the index in `result.layers` of the layer nearest to the look's."""
    return nearest_layer(result, wanted_layer(result, look))


def nearest_layer(result: KnowledgeMapResult, layer: int) -> int:
    """Return the index of the layer nearest to a number; of two equally near ones the lower."""
    return min(range(len(result.layers)), key=lambda i: abs(result.layers[i] - layer))


def slider_layers(result: KnowledgeMapResult) -> range:
    """Return every number that a slider from the first to the last layer can hold."""
    return range(result.layers[0], result.layers[-1] + 1)


def searched(look: Look) -> str:
    """Return the text that the look searches for, empty for none."""
    text = str(look.get("search") or "")[:SEARCHED]
    return text if text.strip() else ""


def found(result: KnowledgeMapResult, text: str) -> np.ndarray:
    """Return the samples whose prompt or entity contains a text; case does not matter."""
    wanted = text.casefold()
    entities = result.entities or [""] * result.n
    pairs = zip(result.prompts, entities, strict=True)
    return np.flatnonzero([any(wanted in part.casefold() for part in pair) for pair in pairs])


def clicked(result: KnowledgeMapResult, look: Look) -> int | None:
    """Return the sample that was clicked, None for none."""
    return next(iter(_samples(result, look.get("point"))), None)


def selected(result: KnowledgeMapResult, look: Look) -> list[int]:
    """Return the samples of the lasso, in the set's order."""
    return sorted(set(_samples(result, look.get("points"))))


def _samples(result: KnowledgeMapResult, text: Any) -> list[int]:
    parts = [] if text is None else [part.strip() for part in str(text).split(",")]
    listed = [int(part) for part in parts if part.isdecimal() and len(part) < 10]
    return [sample for sample in listed if sample < result.n]


def chosen_column(result: KnowledgeMapResult, look: Look) -> int | None:
    """Return the index of the look's label column, None if it names none of the result's."""
    name = look.get("column")
    return result.label_columns.index(name) if name in result.label_columns else None


def shown_disease(result: KnowledgeMapResult, look: Look) -> int:
    """Return the index of the look's disease; the default is the first."""
    name = look.get("disease")
    return result.diseases.index(name) if name in result.diseases else 0


def has_ages(result: KnowledgeMapResult) -> bool:
    """Say whether the values are ages of people, in years."""
    marked = {"is_adult", "age_group"} & set(result.label_columns)
    return bool(marked) and result.values is not None and not result.diseases


def value_name(result: KnowledgeMapResult) -> str:
    """Return the name of the values, with their unit."""
    return "age (years)" if has_ages(result) else "value"


def n_prompts(result: KnowledgeMapResult) -> str:
    """Return N in words."""
    return f"N = {result.n} prompts"


def setting(result: KnowledgeMapResult) -> str:
    """Return N and how the activations were normalized, which the scores depend on."""
    text = f"{n_prompts(result)}, normalization: {escape(result.normalization)}"
    dropped = max(result.dimensions_dropped, default=0)
    return f"{text} (up to {dropped} dimensions of a layer dropped)" if dropped else text


def number(value: float, digits: int = 3) -> str:
    """Return a number with significant digits, never as a power of ten; NaN is not defined."""
    if not math.isfinite(value):
        return "not defined"
    return f"{value:.{digits}g}" if 1e-4 < abs(value) < 10**digits else f"{value:,.0f}"
