"""F5, collapse: does a layer hold many directions, or one that all prompts share?"""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import (
    INK,
    finish,
    gaps,
    layer_axis,
    note,
    series_color,
    significant,
)
from views.tools.knowledge_map.look import number, setting, shown_layer


def collapse_figure(result: KnowledgeMapResult, look: Look) -> go.Figure:
    """Draw participation ratio (left axis), mean cosine and top-3 share (right axis) by layer."""
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    for i, (name, values, right) in enumerate(_curves(result)):
        figure.add_trace(_line(result, name, values, i), secondary_y=right)
    figure.update_xaxes(layer_axis(result.layers))
    figure.update_yaxes(
        type="log",
        title_text="participation ratio (dimensions, log)",
        range=_log_reach(result),
        tickmode="array",
        tickvals=[m * 10**p for p in range(5) for m in (1, 2, 5)],
        secondary_y=False,
    )
    figure.update_yaxes(
        title_text="cosine, share of squared norm (no unit)",
        range=_reach(result),
        tickmode="auto",
        secondary_y=True,
    )
    if "layer" in look:
        shown = result.layers[shown_layer(result, look)]
        figure.add_vline(
            shown,
            line={"color": INK, "width": 1},
            annotation={"text": f"layer {shown}", "font": {"size": 11}},
            annotation_position="bottom right",
        )
    note(figure, setting(result))
    return finish(
        figure,
        "Collapse diagnostics by layer",
        margin={"l": 64, "r": 64, "t": 40, "b": 24},
    )


def _curves(result: KnowledgeMapResult) -> list[tuple[str, np.ndarray, bool]]:
    return [
        ("participation ratio", result.participation_ratio, False),
        (
            "participation ratio without the top 3 dimensions",
            result.participation_ratio_rest,
            False,
        ),
        ("mean cosine (right)", result.mean_cosine, True),
        ("share of squared norm in the top 3 dimensions (right)", result.top3_share, True),
    ]


def _line(result: KnowledgeMapResult, name: str, values: np.ndarray, index: int) -> Any:
    plain = name.removesuffix(" (right)")
    norm = "median norm {}, in units of the residual stream"
    count = "R of the map with token count: {}<br>"
    hovers = [
        f"layer {layer}<br>{plain}: {number(value)}<br>"
        f"{norm.format(number(result.median_norm[i]))}<br>"
        f"{count.format(number(result.token_count_correlation[i])) if index == 0 else ''}"
        f"N = {result.n} prompts"
        for i, (layer, value) in enumerate(zip(result.layers, values, strict=True))
    ]
    return go.Scatter(
        x=np.array(result.layers, np.float32),
        y=significant(values),
        mode="lines+markers",
        line={"color": series_color(index), "width": 2},
        marker={"size": 5},
        name=gaps(name, values),
        customdata=[str(layer) for layer in result.layers],
        hovertext=hovers,
        hoverinfo="text",
    )


def _reach(result: KnowledgeMapResult) -> list[float]:
    cosine = result.mean_cosine[np.isfinite(result.mean_cosine)]
    lowest = min(0.0, float(cosine.min())) if len(cosine) else 0.0
    return [float(v) for v in significant([lowest * 1.05, 1.05])]


def _log_reach(result: KnowledgeMapResult) -> list[float]:
    """Return the range of the ratio's axis, in powers of ten: from 1, a single direction."""
    both = np.r_[result.participation_ratio, result.participation_ratio_rest, 1.0]
    return [float(v) for v in significant(np.log10([0.9, 1.2 * np.nanmax(both)]))]
