"""Saliency (F6): how strongly the loss of medical prompts depends on each block's weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.contract import Known
from backends.methods.medical_saliency import METHOD, MedicalSaliencyResult
from views import concepts
from views.contract import Figure, Look, Tool
from views.figure import INK, band, escape, layer_axis, series_color
from views.plain import Spec, assembled, control, interval, line, said, written

# Where the largest value is more than this many times the smallest, the axis is logarithmic.
WIDE = 20
_EQUAL = {"text": "1: neutral prompts", "x": 1, "xref": "paper", "xanchor": "right", "y": 1,
          "yref": "y", "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}  # fmt: skip
UNITS = {
    "saliency": "mean |d log L / d weight| (per unit of weight)",
    "saliency_weighted": "mean |weight × d log L / d weight| (no unit)",
}


def saliency_figure(result: MedicalSaliencyResult, look: Look) -> go.Figure:
    """Draw the saliency of blocks, of their attention and MLP, and of the neutral prompts."""
    parts = [
        _line(result, result.saliency_attention, 1, "attention"),
        _line(result, result.saliency_mlp, 2, "MLP"),
    ]
    return _over_layers(result, "saliency", "neutral", parts, "Saliency by layer")


def weighted_figure(result: MedicalSaliencyResult, look: Look) -> go.Figure:
    """Draw |weight x gradient|, beside that of the neutral prompts."""
    title = "Saliency by layer, gradients times weights"
    return _over_layers(result, "saliency_weighted", "neutral_weighted", [], title)


def contrast_figure(result: MedicalSaliencyResult, look: Look) -> go.Figure:
    """Draw the saliency divided by that of the neutral prompts."""
    x, color = result.layers, series_color(0)
    ends = [-0.5, max(x) + 0.5]
    bounds = result.contrast_low, result.contrast_high
    equal = {**line(ends, [1, 1], INK, "", mode="lines", hoverinfo="skip", showlegend=False),
             "line": {"color": INK, "width": 1}}  # fmt: skip
    ratio = line(x, result.contrast, color, f"{_name(result)} / neutral", **_hover(
        result, "ratio to the neutral prompts", result.contrast, bounds,
        f"N = {result.n} and {result.n_neutral} neutral prompts"))  # fmt: skip
    drawn = band(x, *bounds, color).to_plotly_json()
    empty = [] if np.isfinite(result.contrast).any() else [said("No neutral prompt counts.")]
    return assembled(
        [drawn, equal, ratio],
        f"Saliency of {_name(result)} prompts against neutral prompts",
        xaxis=layer_axis(x),
        yaxis={"title": {"text": "saliency / neutral saliency (ratio)"}},
        annotations=[written(_note(result)), _EQUAL, *empty],
    )


def _over_layers(
    result: MedicalSaliencyResult, name: str, other: str, parts: Sequence[Spec], title: str
) -> go.Figure:
    x, color, unit = result.layers, series_color(0), UNITS[name]
    mean, low, high = (getattr(result, name + end) for end in ("", "_low", "_high"))
    base, below, above = (getattr(result, other + end) for end in ("", "_low", "_high"))
    neutral = control(x, base, "neutral prompts", legendrank=1_500, **_hover(
        result, unit, base, (below, above), f"N = {result.n_neutral} neutral prompts"))  # fmt: skip
    main = line(x, mean, color, "block" if parts else _name(result), legendrank=1, **_hover(
        result, unit, mean, (low, high), f"N = {result.n} prompts"))  # fmt: skip
    bands = [interval(x, below, above), band(x, low, high, color).to_plotly_json()]
    return assembled(
        [*bands, neutral, *parts, main],
        f"{title}: {_name(result)}",
        xaxis=layer_axis(x),
        yaxis=_axis(unit, [trace["y"] for trace in (main, neutral, *parts)]),
        annotations=[written(_note(result))],
    )


def _line(result: MedicalSaliencyResult, values: np.ndarray, index: int, name: str) -> Spec:
    hover = _hover(result, f"{name}, {UNITS['saliency']}", values, None, f"N = {result.n} prompts")
    return line(result.layers, values, series_color(index), name, **hover)


def _axis(unit: str, drawn: Sequence[np.ndarray]) -> Spec:
    """Return the y axis, logarithmic where the values are positive and wide apart."""
    values = np.concatenate(drawn)
    inside = values[np.isfinite(values)]
    title = {"title": {"text": unit}}
    if len(inside) and inside.min() > 0 and inside.max() > WIDE * inside.min():
        return {**title, "type": "log", "exponentformat": "power", "dtick": "D2"}
    return {**title, "rangemode": "tozero", "exponentformat": "power"}


def _hover(
    result: MedicalSaliencyResult,
    what: str,
    values: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray] | None,
    count: str,
) -> Spec:
    texts = []
    for i, layer in enumerate(result.layers):
        lines = [f"layer {layer}", f"{what.split(' (')[0]}: {values[i]:.3g}"]
        if bounds is not None and np.isfinite(bounds[0][i]):
            lines.append(f"95 % interval: {bounds[0][i]:.3g} to {bounds[1][i]:.3g}")
        texts.append("<br>".join([*lines, count]))
    keys = [str(layer) for layer in result.layers]
    return {"customdata": keys, "hovertext": texts, "hoverinfo": "text"}


def _name(result: MedicalSaliencyResult) -> str:
    return escape(result.source, 24)


def _note(result: MedicalSaliencyResult) -> str:
    """Return both numbers of prompts, their mean losses, and what was left out."""
    words = [
        f"N = {result.n} prompts{_loss(result.loss)}",
        f"{result.n_neutral} neutral{_loss(result.loss_neutral)}",
        f"loss of {'the entity' if result.target == 'entity' else 'the last token'}",
    ]
    skipped = result.skipped + result.skipped_neutral
    if skipped:
        words.append(f"{skipped} skipped (loss below 1e-6)")
    return "; ".join(words)


def _loss(losses: np.ndarray) -> str:
    known = losses[np.isfinite(losses)]
    return f" (mean loss {known.mean():.2f} nats a token)" if len(known) else ""


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Let a table take the place of a domain, and a newly chosen domain that of a table."""
    offered = concepts.adapt(values, known, changed)
    return {name: change for name, change in offered.items() if name != "labels"}


FIGURES: Mapping[str, Figure] = {
    "saliency": saliency_figure,
    "contrast": contrast_figure,
    "weighted": weighted_figure,
}

TOOL = Tool(
    METHOD,
    "Saliency",
    "How strongly the loss of medical prompts depends on the weights of each block.",
    FIGURES,
    tab="maps",
    order=20,
    fields=("domain", "table", "model", "target", "n_prompts"),
    adapt=adapt,
    caution="Research only. Not for clinical use. No patient data.",
)
