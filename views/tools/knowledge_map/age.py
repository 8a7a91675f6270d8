"""F3, values: do ages lie on a line, and where does the line break?

Left the path through the values on the map, right the measures of a line by layer, below the step
from each value to the next. The panels stand in two rows, so that they stay legible at 500 px.
"""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import (
    INK,
    LINE,
    SEQUENTIAL,
    baseline,
    control_line,
    escape,
    finish,
    gaps,
    layer_axis,
    note,
    scatter,
    series_color,
    significant,
)
from views.tools.knowledge_map.look import (
    NAME,
    has_ages,
    n_prompts,
    number,
    setting,
    shown_layer,
    value_name,
)
from views.tools.knowledge_map.points import NORM_UNIT, hover, norms

# The prompts of these variants are controls: the same numbers of another thing, or in words.
CONTROLS = {"prompt_control": "dash", "prompt_words": "dot"}
ADULT = (17.0, 18.0)
PATH, MEASURES, STEPS = ({"row": 1, "col": 1}, {"row": 1, "col": 2}, {"row": 2, "col": 1})


def age_figure(result: KnowledgeMapResult, look: Look) -> go.Figure | None:
    """Draw path, linearity and steps of a set with values; None for a set without."""
    if result.values is None or result.diseases or result.r2_pc1 is None:
        return None
    layer = shown_layer(result, look)
    panels = [[{}, {}], [{"colspan": 2}, None]]
    figure = make_subplots(
        2, 2, specs=panels, horizontal_spacing=0.18, vertical_spacing=0.2, row_heights=[5, 4]
    )
    _path(figure, result, layer)
    _measures(figure, result)
    _steps(figure, result, layer)
    note(figure, setting(result), above=52)
    kind = "age" if has_ages(result) else "value"
    return finish(
        figure,
        f"Values on the map, layer {result.layers[layer]}: {kind}",
        coloraxis={"colorscale": SEQUENTIAL, "colorbar": _color_bar(result)},
        margin={"l": 64, "r": 56, "t": 88, "b": 24},
    )


def _color_bar(result: KnowledgeMapResult) -> dict[str, Any]:
    return {
        "title": {"text": value_name(result), "side": "top", "font": {"size": 12}},
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "len": 0.41,
        "y": 1,
        "yanchor": "bottom",
        "ypad": 4,
        "thickness": 8,
        "outlinewidth": 0,
    }


def _path(figure: go.Figure, result: KnowledgeMapResult, layer: int) -> None:
    values = np.asarray(result.values, np.float64)
    order = np.argsort(values, kind="stable")
    line = {int(i): f"{value_name(result)}: {values[i]:g}" for i in order}
    x, y = significant(result.map[layer, order]).T.copy()
    trace = scatter(
        result.n,
        x=x,
        y=y,
        mode="lines+markers",
        line={"color": LINE, "width": 1},
        marker={"color": significant(values[order]), "coloraxis": "coloraxis", "size": 6},
        customdata=[str(i) for i in order],
        hovertext=[hover(result, i, text) for i, text in line.items()],
        text=norms(result, layer, order),
        hovertemplate=f"%{{hovertext}}<br>norm: %{{text}} {NORM_UNIT}<extra></extra>",
        name="path",
        showlegend=False,
    )
    figure.add_trace(trace, **PATH)
    if _has_adulthood(result):
        figure.add_trace(_adulthood(result, layer), **PATH)
    kind = result.projection.upper()
    figure.update_xaxes(title_text=f"{kind}-1", tickangle=0, nticks=5, **PATH)
    figure.update_yaxes(title_text=f"{kind}-2", scaleanchor="x", **PATH)


def _has_adulthood(result: KnowledgeMapResult) -> bool:
    return has_ages(result) and set(ADULT) <= set(result.values or [])


def _adulthood(result: KnowledgeMapResult, layer: int) -> go.Scatter:
    """Return rings around the last child's age and the first adult's."""
    values = np.asarray(result.values)
    places = [int(np.flatnonzero(values == age)[0]) for age in ADULT]
    x, y = significant(result.map[layer, places]).T.copy()
    return go.Scatter(
        x=x,
        y=y,
        mode="markers+text",
        marker={"symbol": "circle-open", "size": 12, "color": INK, "line": {"width": 1.5}},
        text=[f"{age:g}" for age in ADULT],
        textposition=["top left", "bottom right"],
        hoverinfo="skip",
        name="17 and 18",
        showlegend=False,
    )


def _measures(figure: go.Figure, result: KnowledgeMapResult) -> None:
    curves = [
        ("R² on PC1", result.r2_pc1),
        ("R², cross-validated", result.r2_cv),
        ("anisotropy A", result.anisotropy),
    ]
    for i, (name, values) in enumerate(curves):
        if values is not None:
            figure.add_trace(_measure(result, name, values, i), **MEASURES)
    figure.update_xaxes(layer_axis(result.layers, most=6), **MEASURES)
    figure.update_yaxes(title_text="R² or A (no unit)", **MEASURES)


def _measure(result: KnowledgeMapResult, name: str, values: np.ndarray, index: int) -> go.Scatter:
    hovers = [
        f"{name}, layer {layer}<br>{number(value)}<br>{n_prompts(result)}"
        for layer, value in zip(result.layers, values, strict=True)
    ]
    return go.Scatter(
        x=np.array(result.layers, np.float32),
        y=significant(values),
        mode="lines+markers",
        line={"color": series_color(index), "width": 2},
        marker={"size": 4},
        name=gaps(name, values),
        customdata=[str(layer) for layer in result.layers],
        hovertext=hovers,
        hoverinfo="text",
    )


def _steps(figure: go.Figure, result: KnowledgeMapResult, layer: int) -> None:
    figure.update_xaxes(title_text=f"{value_name(result)} at the step's start", **STEPS)
    figure.update_yaxes(title_text="J (median step = 1)", rangemode="tozero", **STEPS)
    if result.step_size is None:
        words = {"text": "step sizes: not computed", "showarrow": False}
        figure.add_annotation(**words, x=0.5, y=0.5, xref="x3 domain", yref="y3 domain")
        return
    order = sorted(range(len(result.variants)), key=lambda v: result.variants[v] not in CONTROLS)
    for variant in order:
        figure.add_trace(_step_line(result, layer, variant), **STEPS)
    baseline(figure, 1.0, "median<br>step", **STEPS)
    if _has_adulthood(result):
        figure.add_vline(
            ADULT[0],
            line={"color": INK, "width": 1, "dash": "dot"},
            annotation={"text": "17 to 18", "font": {"size": 11}},
            annotation_position="top right",
            **STEPS,
        )


def _starts(result: KnowledgeMapResult, steps: int) -> np.ndarray:
    """Return the value that each step starts from."""
    values = np.unique(np.asarray(result.values, np.float64))
    return values[:-1] if len(values) == steps + 1 else np.sort(result.values or [])[:steps]


def _step_line(result: KnowledgeMapResult, layer: int, variant: int) -> go.Scatter:
    assert result.step_size is not None
    sizes, name = result.step_size[variant, layer], result.variants[variant]
    starts = _starts(result, len(sizes))
    control = CONTROLS.get(name)
    plain = escape(name.removeprefix("prompt_"), NAME)
    main = [v for v in result.variants if v not in CONTROLS]
    color = series_color(3 + main.index(name)) if control is None else ""
    return go.Scatter(
        x=significant(starts),
        y=significant(sizes),
        mode="lines",
        line=control_line(control) if control else {"color": color, "width": 2},
        name=f"J, {plain}" + (" (control)" if control and plain != "control" else ""),
        legendrank=1_100 if control else 1_050,
        customdata=[f"{value:g}" for value in starts],
        hovertext=[
            f"{plain}: step from {start:g}<br>J = {number(size)} median steps"
            f"<br>layer {result.layers[layer]}" + _grammar(result, start)
            for start, size in zip(starts, sizes, strict=True)
        ],
        hoverinfo="text",
    )


def _grammar(result: KnowledgeMapResult, start: float) -> str:
    touches_one = has_ages(result) and start in (0.0, 1.0)
    return "<br>grammar changes at 1 (year, years)" if touches_one else ""
