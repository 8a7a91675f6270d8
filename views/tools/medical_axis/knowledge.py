"""F9, the knowledge map: which layers each technique points at, domain by domain."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_axis import MedicalAxisResult
from views.contract import Look
from views.figure import layer_axis, series_color
from views.plain import Spec, assembled, hatched, written

# A domain's row is one unit high: four bars above, the strip of agreement below.
BAR, STRIP = 0.15, 0.2
TOP = 0.42


def knowledge_figure(result: MedicalAxisResult, look: Look) -> go.Figure:
    """Draw intervals as bars, one color per technique, over a strip that counts them."""
    traces: list[Spec] = [_strip(result)]
    traces += [_bars(result, t) for t in range(len(result.techniques))]
    if missing := _missing(result):
        traces.append(missing)
    count = len(result.domains)
    return assembled(
        traces,
        "Where the techniques point, by domain",
        xaxis={**layer_axis(result.layers), "zeroline": False},
        yaxis={
            "title": {"text": "domain"},
            "tickmode": "array",
            "tickvals": list(range(count)),
            "ticktext": result.domains,
            "range": [count - 0.45, -0.55],
        },
        annotations=[written(f"{_setting(result)}; strip: techniques that cover a layer, 0 to 4")],
        margin={"l": 96, "r": 64, "t": 40, "b": 24},
    )


def _setting(result: MedicalAxisResult) -> str:
    return f"N in the hovers{', quick' if result.quick else ''}"


def _box(first: float, last: float, low: float, high: float) -> tuple[list[Any], list[Any]]:
    x = [first - 0.5, last + 0.5, last + 0.5, first - 0.5, first - 0.5, np.nan]
    return x, [low, low, high, high, low, np.nan]


def _row(domain: int, technique: int) -> tuple[float, float]:
    """Return lower and upper edge of a technique's bar; y grows downward."""
    top = domain - TOP + technique * BAR
    return top, top + BAR * 0.8


def _bars(result: MedicalAxisResult, technique: int) -> Spec:
    name = result.techniques[technique]
    x: list[float] = []
    y: list[float] = []
    for each in result.intervals:
        if each["technique"] == name:
            domain = result.domains.index(each["domain"])
            across, up = _box(each["first"], each["last"], *_row(domain, technique))
            x, y = x + across, y + up
    return {
        "type": "scatter",
        "x": np.array(x or [np.nan], np.float32),
        "y": np.array(y or [np.nan], np.float32),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": series_color(technique),
        "hoverinfo": "skip",
        "name": name if x else f"{name}: no interval",
        "showlegend": True,
    }


def _strip(result: MedicalAxisResult) -> Spec:
    """Return the strips: squares colored by agreement, which also carry the hovers."""
    x, y, color, text, keys = [], [], [], [], []
    for d, domain in enumerate(result.domains):
        for layer in result.layers:
            x.append(layer)
            y.append(d + TOP - STRIP / 2)
            color.append(int(result.agreement[d, layer]))
            text.append(_hover(result, d, domain, layer))
            keys.append(str(layer))
    most = len(result.techniques)
    return {
        "type": "scatter",
        "x": np.array(x, np.float32),
        "y": np.array(y, np.float32),
        "mode": "markers",
        "marker": {
            "symbol": "square",
            "size": 13,
            "color": np.array(color, np.int32),
            "cmin": 0,
            "cmax": most,
            "colorscale": [[0.0, "#e5e8eb"], [1.0, "#374151"]],
            "line": {"width": 0},
            "showscale": True,
            "colorbar": {
                "title": {"text": "techniques"},
                "tickvals": list(range(most + 1)),
                "thickness": 10,
                "len": 0.5,
            },
        },
        "hovertext": text,
        "hoverinfo": "text",
        "customdata": keys,
        "name": "agreement",
        "showlegend": False,
    }


def _hover(result: MedicalAxisResult, d: int, domain: str, layer: int) -> str:
    lines = [f"{domain}, layer {layer}: {int(result.agreement[d, layer])} techniques"]
    for t, technique in enumerate(result.techniques):
        value = result.curve[d, t, layer]
        if np.isfinite(value):
            mark = " (in an interval)" if result.covered[d, t, layer] else ""
            lines.append(f"{technique}: {value:.3g}, N = {result.counts[d, t]}{mark}")
        else:
            lines.append(f"{technique}: not defined")
    return "<br>".join(lines)


def _missing(result: MedicalAxisResult) -> Spec | None:
    """Return hatch where a technique has no curve for a domain."""
    x: list[float] = []
    y: list[float] = []
    for d, t in zip(*np.nonzero(~np.isfinite(result.curve).any(axis=2)), strict=True):
        across, up = _box(0, result.layers[-1], *_row(int(d), int(t)))
        x, y = x + across, y + up
    return hatched(x, y, "not defined") if x else None
