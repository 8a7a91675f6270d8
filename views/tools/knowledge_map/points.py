"""The points of the map in groups of one color and symbol, and what their hover says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from plotly.colors import get_colorscale

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import (
    DISTINCT,
    FAINT,
    LINE,
    SEQUENTIAL,
    escape,
    series_color,
    series_symbol,
    significant,
)
from views.plain import Spec
from views.tools.knowledge_map.look import NAME, chosen_column, number, value_name
from views.tools.knowledge_map.plain import scatter_type

# Longest line of a hover, in characters: it fits a figure of 500 px.
HOVER = 60
# A light edge keeps overlapping points apart.
EDGE = {"color": "#ffffff", "width": 0.6}
NORM_UNIT = "(unit of the residual stream)"


@dataclass(frozen=True)
class Group:
    """Samples that look alike. `rank` orders the legend, `name` is already escaped."""

    name: str
    samples: Int[np.ndarray, "sample"]
    marker: dict[str, Any]
    rank: int
    named: bool = field(default=True)


@dataclass(frozen=True)
class Coloring:
    """What colors the map: a name for title and legend, groups, a hover line per sample.

    `layout` holds the color bar of values.
    """

    name: str
    groups: list[Group]
    line: Callable[[int], str]
    layout: dict[str, Any] = field(default_factory=dict)


def coloring(result: KnowledgeMapResult, look: Look) -> Coloring:
    """Choose the coloring: the look's column, else diseases, else values, else the first column."""
    if is_by_value(result, look):
        return by_value(value_name(result), np.asarray(result.values))
    return by_class(*classes_of(result, look))


def is_by_value(result: KnowledgeMapResult, look: Look) -> bool:
    """Say whether values color the map."""
    has_values = result.values is not None and not result.diseases
    return has_values and chosen_column(result, look) is None


def classes_of(
    result: KnowledgeMapResult, look: Look
) -> tuple[str, Int[np.ndarray, "sample"], list[str]]:
    """Return the classes that color the map: their column's name, class numbers, names."""
    column = chosen_column(result, look)
    if column is None and result.diseases and result.disease_of is not None:
        return "disease", np.asarray(result.disease_of), result.diseases
    if not result.label_columns:
        return "prompts", np.zeros(result.n, int), ["all prompts"]
    column = column or 0
    return result.label_columns[column], result.labels[column], result.classes[column]


def kinds(result: KnowledgeMapResult, look: Look) -> tuple[str, list[str]]:
    """Return the name of what colors the map and each sample's class or value, not escaped."""
    if is_by_value(result, look):
        return value_name(result), [f"{value:g}" for value in result.values or []]
    name, labels, classes = classes_of(result, look)
    return name, [classes[label] if label >= 0 else "dropped" for label in labels]


def by_class(name: str, labels: Int[np.ndarray, "sample"], classes: list[str]) -> Coloring:
    """Color by class. Beyond those that color and symbol tell apart, the smallest are grey."""
    counts = np.bincount(labels[labels >= 0], minlength=len(classes))
    kept = sorted(np.argsort(-counts, kind="stable")[:DISTINCT].tolist())
    rest = len(classes) - len(kept)
    groups = [
        Group(
            escape(classes[c], NAME),
            np.flatnonzero(labels == c),
            {"color": series_color(i), "symbol": series_symbol(i), "size": 8, "line": EDGE},
            i,
        )
        for i, c in enumerate(kept)
    ]
    others = np.flatnonzero((labels >= 0) & ~np.isin(labels, kept))
    grey = {"color": LINE, "symbol": "circle-open", "size": 6}
    faint = {"color": FAINT, "symbol": "x", "size": 5}
    behind = [
        Group("dropped (class under 3 prompts)", np.flatnonzero(labels < 0), faint, 2_000),
        Group(f"other ({rest} class{'es' if rest > 1 else ''})", others, grey, 1_500),
    ]
    drawn = [group for group in behind + groups if len(group.samples)]

    def line(sample: int) -> str:
        label = int(labels[sample])
        shown = escape(classes[label], HOVER) if label >= 0 else "dropped"
        return f"{escape(name, NAME)}: {shown}"

    return Coloring(escape(name, NAME), drawn, line)


def by_value(name: str, values: Float[np.ndarray, "sample"]) -> Coloring:
    """Color by value, from low (dark) to high (light)."""
    marker = {"color": significant(values), "coloraxis": "coloraxis", "size": 8, "line": EDGE}
    bar = {"title": {"text": name, "font": {"size": 13}}, "thickness": 12, "outlinewidth": 0}
    group = Group(name, np.arange(len(values)), marker, 0, named=False)
    scale = {"coloraxis": {"colorscale": get_colorscale(SEQUENTIAL), "colorbar": bar}}
    return Coloring(name, [group], lambda sample: f"{name}: {values[sample]:g}", scale)


def hover(result: KnowledgeMapResult, sample: int, line: str) -> str:
    """Return the hover of a sample without its norm: entity, prompt, tokens, class or value."""
    prompt = escape(result.prompts[sample], HOVER)
    entity = escape(result.entities[sample], HOVER) if result.entities else ""
    lines = [entity, prompt, f"tokens: {escape(token_text(result, sample), HOVER)}", line]
    return "<br>".join(text for text in lines if text)


def token_text(result: KnowledgeMapResult, sample: int) -> str:
    """Return the tokens of a prompt with dots between and visible spaces, not escaped."""
    return " · ".join(token.replace(" ", "␣") for token in result.tokens[sample])


def norms(result: KnowledgeMapResult, layer: int, samples: Int[np.ndarray, "sample"]) -> list[str]:
    """Return the norms of samples as text."""
    return [number(value) for value in result.norm[layer, samples].tolist()]


def trace(
    result: KnowledgeMapResult, group: Group, layer: int, colors: Coloring, **fields: Any
) -> Spec:
    """Return one group's points at the layer of this index."""
    x, y = significant(result.map[layer, group.samples]).T.copy()
    return {
        "type": scatter_type(result.n),
        "x": x,
        "y": y,
        "mode": "markers",
        "name": group.name,
        "marker": group.marker,
        "customdata": [str(sample) for sample in group.samples],
        "hovertext": [
            hover(result, int(sample), colors.line(int(sample))) for sample in group.samples
        ],
        "text": norms(result, layer, group.samples),
        "hovertemplate": f"%{{hovertext}}<br>norm: %{{text}} {NORM_UNIT}<extra></extra>",
        "legendgroup": group.name,
        "legendrank": 1_000 + group.rank,
        "showlegend": group.named,
        **fields,
    }
