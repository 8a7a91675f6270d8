"""F2, separability: how well a label column's classes lie apart, layer by layer.

Four measures behind one toggle: the silhouette in the metric space with its interval and its
permutation null, the silhouette of the raw activations with cosine distance beside that of token
overlap alone, the accuracy of a linear probe beside the same probe on shuffled labels, and, for
several columns, the silhouette of the first minus that of each other with its paired interval.
"""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import (
    CONTROL,
    INK,
    band,
    control_line,
    escape,
    gaps,
    hatch,
    layer_axis,
    series_color,
    series_symbol,
    significant,
)
from views.plain import Spec, assembled
from views.tools.knowledge_map.layer_line import marked
from views.tools.knowledge_map.look import NAME, number


@dataclass(frozen=True)
class Measure:
    """One setting of the toggle. Arrays are column × layer; levels are one number per column.

    `paired` measures compare the first column with each other one, and have no line for the first.
    """

    button: str
    axis: str
    value: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    control: np.ndarray | None = None
    control_name: str = ""
    z: np.ndarray | None = None
    levels: np.ndarray | None = None
    levels_name: str = ""
    levels_in_color: bool = False
    paired: bool = False


def separability_figure(result: KnowledgeMapResult, look: Look) -> go.Figure | None:
    """Draw a line per label column over the layers; None for a set without label columns."""
    if not result.label_columns:
        return None
    measures = _measures(result)
    drawn = [_traces(result, measure) for measure in measures]
    title = "Separability: " + ", ".join(escape(name, NAME) for name in result.label_columns)
    return assembled(
        [{**trace, "visible": i == 0} for i, traces in enumerate(drawn) for trace in traces],
        title,
        xaxis=layer_axis(result.layers),
        yaxis={
            "title": {"text": measures[0].axis},
            "range": _reach(measures[0]),
            "zeroline": True,
            "zerolinecolor": INK,
            "zerolinewidth": 1,
        },
        updatemenus=[_toggle(measures, [len(traces) for traces in drawn])],
        margin={"l": 64, "r": 24, "t": 88, "b": 24},
        **marked(result, look),
    )


def _measures(result: KnowledgeMapResult) -> list[Measure]:
    space = Measure(
        "metric space",
        "silhouette, metric space (-1 to 1)",
        result.silhouette,
        result.silhouette_low,
        result.silhouette_high,
        result.silhouette_null,
        "permutation null (mean)",
        result.silhouette_z,
        result.silhouette_null_max,
        "95 % of the null maximum",
        levels_in_color=True,
    )
    cosine = Measure(
        "raw cosine",
        "silhouette, raw cosine distance (-1 to 1)",
        result.silhouette_cosine,
        levels=result.token_overlap,
        levels_name="token overlap alone (control)",
    )
    probe = Measure(
        "probe accuracy",
        "accuracy of a linear probe (0 to 1)",
        result.probe_accuracy,
        result.probe_low,
        result.probe_high,
        result.probe_null,
        "shuffled labels",
    )
    if len(result.label_columns) < 2:
        return [space, cosine, probe]
    difference = Measure(
        "difference",
        f"silhouette of {escape(result.label_columns[0], NAME)} minus that of the others",
        result.difference,
        result.difference_low,
        result.difference_high,
        paired=True,
    )
    return [space, cosine, probe, difference]


def _traces(result: KnowledgeMapResult, measure: Measure) -> list[Spec]:
    """Return a measure's traces: hatch and controls first, so that they lie under the lines."""
    columns = range(int(measure.paired), len(result.label_columns))
    low, high = _reach(measure)
    defined = np.isfinite(measure.value[columns]).any(axis=0)
    hatched = hatch(result.layers, defined, low, high, legendrank=2_000)
    traces = [] if hatched is None else [hatched.to_plotly_json()]
    if measure.low is not None and measure.high is not None:
        traces += [
            band(
                result.layers,
                measure.low[c],
                measure.high[c],
                series_color(c),
                legendgroup=f"column {c}",
            ).to_plotly_json()
            for c in columns
        ]
    if measure.control is not None:
        traces += [_control(result, measure, c) for c in columns]
    if measure.levels is not None:
        known = [c for c in columns if np.isfinite(measure.levels[c])]
        traces += [_level(result, measure, c, named=c == known[0]) for c in known]
    return traces + [_line(result, measure, c) for c in columns]


def _line(result: KnowledgeMapResult, measure: Measure, column: int) -> Spec:
    name = _column_name(result, measure, column)
    hover = _paired_hover if measure.paired else _hover
    return {
        "type": "scatter",
        "x": np.array(result.layers, np.float32),
        "y": significant(measure.value[column]),
        "mode": "lines+markers",
        "line": {"color": series_color(column), "width": 2},
        "marker": {"size": 5, "symbol": series_symbol(column)},
        "name": gaps(name, measure.value[column]),
        "legendgroup": f"column {column}",
        "legendrank": 1_000 + column,
        "customdata": [str(layer) for layer in result.layers],
        "hovertext": [hover(result, measure, column, i) for i in range(len(result.layers))],
        "hoverinfo": "text",
    }


def _column_name(result: KnowledgeMapResult, measure: Measure, column: int) -> str:
    name, kept = escape(result.label_columns[column], NAME), _kept(result, measure, column)
    if measure.paired:
        return f"minus {name} (N = {kept})"
    classes = len(result.classes[column])
    return f"{name} ({classes} class{'' if classes == 1 else 'es'}, N = {kept})"


def _kept(result: KnowledgeMapResult, measure: Measure, column: int) -> int:
    """Return the number of prompts a value is from: labeled in the column, paired in both."""
    labeled = result.labels[[0, column] if measure.paired else [column]] >= 0
    return int(np.sum(labeled.all(axis=0)))


def _hover(result: KnowledgeMapResult, measure: Measure, column: int, layer: int) -> str:
    name = escape(result.label_columns[column], NAME)
    lines = [
        f"{name}, layer {result.layers[layer]}",
        f"{measure.axis.split(' (')[0]}: {number(measure.value[column, layer])}",
    ]
    lines += _interval(measure, column, layer)
    if measure.control is not None:
        lines.append(f"{measure.control_name}: {number(measure.control[column, layer])}")
    if measure.z is not None:
        lines.append(f"z against the null: {number(measure.z[column, layer])}")
    return "<br>".join([*lines, f"N = {_kept(result, measure, column)} prompts"])


def _interval(measure: Measure, column: int, layer: int) -> list[str]:
    if measure.low is None or measure.high is None:
        return []
    low, high = (number(bound[column, layer]) for bound in (measure.low, measure.high))
    return [f"95 % interval: {low} to {high}"]


def _paired_hover(result: KnowledgeMapResult, measure: Measure, column: int, layer: int) -> str:
    """Return the hover of a difference, with the z values, which compare where scores do not."""
    first, other = (escape(result.label_columns[c], NAME) for c in (0, column))
    z = [number(result.silhouette_z[c, layer]) for c in (0, column)]
    classes = [len(result.classes[c]) for c in (0, column)]
    lines = [
        f"{first} minus {other}, layer {result.layers[layer]}",
        f"difference of silhouettes: {number(measure.value[column, layer])}",
        *_interval(measure, column, layer),
        f"z against the null: {z[0]} and {z[1]}",
    ]
    if classes[0] != classes[1]:
        lines.append(f"{classes[0]} and {classes[1]} classes: compare z, not raw silhouettes")
    return "<br>".join([*lines, f"N = {_kept(result, measure, column)} prompts"])


def _control(result: KnowledgeMapResult, measure: Measure, column: int) -> Spec:
    assert measure.control is not None
    name, n = escape(result.label_columns[column], NAME), _kept(result, measure, column)
    hovers = [
        f"{name}, layer {layer}<br>{measure.control_name}: {number(value)}<br>N = {n} prompts"
        for layer, value in zip(result.layers, measure.control[column], strict=True)
    ]
    return {
        "type": "scatter",
        "x": np.array(result.layers, np.float32),
        "y": significant(measure.control[column]),
        "mode": "lines",
        "line": control_line(),
        "name": measure.control_name,
        "legendgroup": "control",
        "legendrank": 1_500,
        "showlegend": column == 0,
        "customdata": [str(layer) for layer in result.layers],
        "hovertext": hovers,
        "hoverinfo": "text",
    }


def _level(result: KnowledgeMapResult, measure: Measure, column: int, named: bool) -> Spec:
    """Return a column's level across the plot, with points at the layers for the hover."""
    assert measure.levels is not None
    x = np.array([-0.5, *result.layers, max(result.layers) + 0.5], np.float32)
    color = {"color": series_color(column)} if measure.levels_in_color else {}
    lines = [
        escape(result.label_columns[column], NAME),
        f"{measure.levels_name}: {number(measure.levels[column])}",
        f"N = {_kept(result, measure, column)} prompts",
    ]
    return {
        "type": "scatter",
        "x": x,
        "y": significant(np.full(len(x), measure.levels[column])),
        "mode": "lines",
        "line": {**control_line("dot"), **color},
        "name": measure.levels_name,
        "legendgroup": "level",
        "legendrank": 1_600,
        "showlegend": named,
        "hovertext": "<br>".join(lines),
        "hoverinfo": "text",
    }


def _reach(measure: Measure) -> list[float]:
    """Return the y range of a measure: all that is drawn, and zero."""
    drawn = [measure.value, measure.low, measure.high, measure.control, measure.levels]
    values = np.concatenate([[0.0], *(np.ravel(part) for part in drawn if part is not None)])
    inside = values[np.isfinite(values)]
    room = 0.06 * (inside.max() - inside.min()) or 0.1
    return [float(v) for v in significant([inside.min() - room, inside.max() + room])]


def _toggle(measures: list[Measure], counts: list[int]) -> Spec:
    owner = np.repeat(np.arange(len(measures)), counts)
    buttons = [
        {
            "label": measure.button,
            "method": "update",
            "args": [
                {"visible": (owner == i).tolist()},
                {"yaxis.title.text": measure.axis, "yaxis.range": _reach(measure)},
            ],
        }
        for i, measure in enumerate(measures)
    ]
    return {
        "type": "buttons",
        "direction": "left",
        "buttons": buttons,
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 28, "t": 0},
        "bgcolor": "#eef1f4",
        "bordercolor": CONTROL,
        "font": {"color": INK, "size": 12},
    }
