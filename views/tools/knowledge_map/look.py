"""What the look chooses of a result, and words that several figures share.

A look may come from a link, so that its values are text and may be wrong: an unknown layer, column
or disease is the default.
"""

import numpy as np

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import escape

# Longest names in a legend or at an axis, in characters.
NAME = 24


def shown_layer(result: KnowledgeMapResult, look: Look) -> int:
    """Return the index of the look's layer in `result.layers`; the default is the last."""
    try:
        return result.layers.index(int(look["layer"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return len(result.layers) - 1


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
    if not np.isfinite(value):
        return "not defined"
    return f"{value:.{digits}g}" if 1e-4 < abs(value) < 10**digits else f"{value:,.0f}"
