"""F5, collapse: does a layer hold many directions, or one that all prompts share?"""

import numpy as np
import plotly.graph_objects as go

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import gaps, layer_axis, series_color, significant
from views.plain import Spec, assembled
from views.tools.knowledge_map.layer_line import marked
from views.tools.knowledge_map.look import number


def collapse_figure(result: KnowledgeMapResult, look: Look) -> go.Figure:
    """Draw participation ratio (left axis), mean cosine and top-3 share (right axis) by layer."""
    return assembled(
        [_line(result, curve, i) for i, curve in enumerate(_curves(result))],
        "Collapse diagnostics by layer",
        xaxis=layer_axis(result.layers),
        yaxis=_left(result),
        yaxis2=_right(result),
        margin={"l": 64, "r": 64, "t": 40, "b": 24},
        **marked(result, look),
    )


def _left(result: KnowledgeMapResult) -> Spec:
    return {
        "type": "log",
        "title": {"text": "participation ratio (dimensions, log)"},
        "range": _log_reach(result),
        "tickmode": "array",
        "tickvals": [m * 10**p for p in range(5) for m in (1, 2, 5)],
    }


def _right(result: KnowledgeMapResult) -> Spec:
    return {
        "title": {"text": "cosine, share of squared norm (no unit)"},
        "range": _reach(result),
        "tickmode": "auto",
        "anchor": "x",
        "overlaying": "y",
        "side": "right",
    }


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


def _line(result: KnowledgeMapResult, curve: tuple[str, np.ndarray, bool], index: int) -> Spec:
    name, values, is_right = curve
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
    return {
        "type": "scatter",
        "x": np.array(result.layers, np.float32),
        "y": significant(values),
        "mode": "lines+markers",
        "line": {"color": series_color(index), "width": 2},
        "marker": {"size": 5},
        "name": gaps(name, values),
        "customdata": [str(layer) for layer in result.layers],
        "hovertext": hovers,
        "hoverinfo": "text",
        "yaxis": "y2" if is_right else "y",
    }


def _reach(result: KnowledgeMapResult) -> list[float]:
    cosine = result.mean_cosine[np.isfinite(result.mean_cosine)]
    lowest = min(0.0, float(cosine.min())) if len(cosine) else 0.0
    return [float(v) for v in significant([lowest * 1.05, 1.05])]


def _log_reach(result: KnowledgeMapResult) -> list[float]:
    """Return the range of the ratio's axis, in powers of ten: from 1, a single direction."""
    both = np.r_[result.participation_ratio, result.participation_ratio_rest, 1.0]
    return [float(v) for v in significant(np.log10([0.9, 1.2 * np.nanmax(both)]))]
