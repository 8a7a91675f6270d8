"""The four curves of one domain, one below the other, with bands, controls and intervals."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_axis import MedicalAxisResult
from views.contract import Look
from views.figure import alpha, band, layer_axis, series_color
from views.plain import Spec, assembled, control, line, said, written
from views.tools.medical_axis.look import chosen_domain

UNITS = {
    "geometry": "silhouette",
    "saliency": "|d log L / d weight|",
    "lesion": "severity (1 to 10)",
    "patching": "recovery",
}
GEOMETRY = {"age": "local anisotropy", "progression": "Spearman, mean"}
CONTROLS = {
    "geometry": "shuffled labels",
    "saliency": "neutral prompts",
    "lesion": "random direction",
    "patching": "random direction",
}
GAP, HEIGHT = 0.05, 720


def curves_figure(result: MedicalAxisResult, look: Look) -> go.Figure:
    """Draw every technique's curve of the chosen domain."""
    d = chosen_domain(result, look)
    traces: list[Spec] = []
    layout: Spec = {}
    notes = [written(f"{result.domains[d]}: " + ", ".join(_counted(result, d)))]
    step = (1 + GAP) / len(result.techniques)
    for t, technique in enumerate(result.techniques):
        number = "" if t == 0 else str(t + 1)
        names: Spec = {"xaxis": "x", "yaxis": f"y{number}"}
        top = 1 - t * step
        layout[f"yaxis{number}"] = {
            "title": {"text": _unit(result, d, technique), "font": {"size": 12}},
            "domain": [max(0.0, top - step + GAP), top],
            "anchor": "x",
        }
        if not np.isfinite(result.curve[d, t]).any():
            words = f"{technique}: not defined for {result.domains[d]}"
            notes.append(said(words, "x", f"y{number}"))
            layout[f"yaxis{number}"] |= {"range": [0, 1], "showticklabels": False}
            continue
        traces += _curve(result, d, t, names)
    last = f"y{len(result.techniques)}"
    return assembled(
        traces,
        f"Four techniques on {result.domains[d]}",
        xaxis={**layer_axis(result.layers), "anchor": last},
        annotations=notes,
        height=HEIGHT,
        margin={"l": 84, "r": 24, "t": 40, "b": 24},
        **layout,
    )


def _unit(result: MedicalAxisResult, d: int, technique: str) -> str:
    own = GEOMETRY.get(result.domains[d]) if technique == "geometry" else None
    return own or UNITS[technique]


def _counted(result: MedicalAxisResult, d: int) -> list[str]:
    pairs = zip(result.techniques, result.counts[d], strict=True)
    return [f"{technique} N = {count}" for technique, count in pairs if count]


def _curve(result: MedicalAxisResult, d: int, t: int, names: Spec) -> list[Spec]:
    technique, color = result.techniques[t], series_color(t)
    layers, values = np.array(result.layers, np.float32), result.curve[d, t]
    traces: list[Spec] = [_interval(result, d, t, run, names) for run in _runs(result, d, t)]
    if np.isfinite(result.control[d, t]).any():
        name = CONTROLS[technique]
        known = {"hoverinfo": "skip", "showlegend": True, **names}
        traces.append(control(layers, result.control[d, t], f"{technique}: {name}", **known))
    low, high = result.curve_low[d, t], result.curve_high[d, t]
    if np.isfinite(low).any():
        traces.append(band(layers, low, high, color, **names).to_plotly_json())
    hovers = [
        f"layer {layer}<br>{technique}: {value:.4g}<br>"
        f"95 %: {a:.4g} to {b:.4g}<br>{CONTROLS[technique]}: {c:.4g}<br>"
        f"N = {result.counts[d, t]}"
        for layer, value, a, b, c in zip(
            result.layers, values, low, high, result.control[d, t], strict=True
        )
    ]
    traces.append(
        line(
            layers,
            values,
            color,
            technique,
            hovertext=[
                text.replace("nan to nan", "not defined").replace("nan", "not defined")
                for text in hovers
            ],
            hoverinfo="text",
            customdata=[str(layer) for layer in result.layers],
            **names,
        )  # fmt: skip
    )
    return traces


def _runs(result: MedicalAxisResult, d: int, t: int) -> list[tuple[int, int]]:
    wanted = result.domains[d], result.techniques[t]
    return [
        (each["first"], each["last"])
        for each in result.intervals
        if (each["domain"], each["technique"]) == wanted
    ]


def _interval(result: MedicalAxisResult, d: int, t: int, run: tuple[int, int], names: Spec) -> Spec:
    """Return the shade of an interval, as high as the curve with its band."""
    parts = (result.curve[d, t], result.curve_low[d, t], result.curve_high[d, t])
    known = np.concatenate([part[np.isfinite(part)] for part in parts])
    low, high = float(known.min()), float(known.max())
    first, last = run[0] - 0.5, run[1] + 0.5
    return {
        "type": "scatter",
        "x": np.array([first, last, last, first, first], np.float32),
        "y": np.array([low, low, high, high, low], np.float32),
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": alpha(series_color(t), 0.12),
        "hoverinfo": "skip",
        "showlegend": False,
        **names,
    }
