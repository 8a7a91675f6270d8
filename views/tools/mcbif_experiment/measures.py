"""F2 and F3, measures: by class, or against the crossing number."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.methods.mcbif_experiment import McbifExperimentResult
from views.contract import Look
from views.figure import SECONDARY, baseline, finish, note, scatter, series_color, significant
from views.tools.mcbif_experiment.words import MEASURE_NAMES, diamonds

CLASSES = ("kept", "swapped")
# Width of one of the plots of measures, as a part of the figure's.
WIDTH = 0.13

Spec = dict[str, Any]


def measures_figure(result: McbifExperimentResult, look: Look) -> go.Figure:
    """Draw the measures by class, or the crossing number against the average 1-conflict."""
    if result.task == "regression":
        return _crossings(result)
    figure = go.Figure()
    count = len(result.measures)
    for i, name in enumerate(result.measures):
        for trace in _boxes(result, name, i):
            figure.add_trace(trace)
        left = i * (1 - WIDTH) / (count - 1)
        across = {"domain": [left, left + WIDTH], "anchor": _axis("y", i), "tickangle": 0}
        title = {"text": "order of the elements" if i == count // 2 else ""}
        up = {"title": {"text": MEASURE_NAMES[name]}, "anchor": _axis("x", i)}
        figure.update_layout({f"xaxis{i + 1}": {**across, "title": title}, f"yaxis{i + 1}": up})
        figure.add_annotation(_p_value(result, i))
    margin = {"l": 64, "r": 24, "t": 64, "b": 24}
    finish(figure, "Measures by class", margin=margin, height=420)
    note(figure, f"N = {result.n // 2:,} sequences per class; Mann-Whitney p", above=28)
    return figure


def _axis(letter: str, i: int) -> str:
    return f"{letter}{i + 1}" if i else letter


def _boxes(result: McbifExperimentResult, name: str, i: int) -> list[go.Box]:
    values = getattr(result, name)
    return [
        go.Box(
            y=significant(values[result.target == one]),
            name=words,
            xaxis=_axis("x", i),
            yaxis=_axis("y", i),
            boxpoints="outliers",
            marker={"color": series_color(one), "size": 3},
            line={"width": 1.5},
            legendgroup=words,
            showlegend=i == 0,
        )
        for one, words in enumerate(CLASSES)
    ]


def _p_value(result: McbifExperimentResult, i: int) -> Spec:
    p = result.measure_p[i]
    words = "p: not defined" if p is None else f"p {_small(p)}"
    place = {"x": 0, "y": 1, "xref": f"{_axis('x', i)} domain", "yref": f"{_axis('y', i)} domain"}
    anchor = {"xanchor": "left", "yanchor": "bottom", "yshift": 4, "showarrow": False}
    return {**place, **anchor, "text": words, "font": {"size": 12, "color": SECONDARY}}


def _small(p: float) -> str:
    return "< 1e-300" if p < 1e-300 else f"= {p:.2g}"


def _crossings(result: McbifExperimentResult) -> go.Figure:
    x, y = result.c1_bar[result.is_kept], result.target[result.is_kept]
    trace = scatter(
        len(x),
        x=significant(x),
        y=y.astype(np.float32),
        mode="markers",
        marker={"color": series_color(0), "size": 5, "opacity": 0.35},
        name="sequence",
        customdata=np.flatnonzero(result.is_kept).astype(np.float32),
        hovertemplate="average c<sub>1</sub>: %{x}<br>crossings: %{y}<extra></extra>",
    )
    figure = go.Figure(trace)
    figure.update_xaxes(title_text=MEASURE_NAMES["c1_bar"] + " (cycles per window)")
    figure.update_yaxes(title_text="crossing number y of the layout (pairs of links)")
    r = float(result.measure_correlation[result.measures.index("c1_bar")])
    left = result.n - len(x)
    note(
        figure,
        f"Pearson r = {r:.3f}, N = {len(x):,} sequences ({left:,} left out); "
        f"y below its lower bound: {result.bound_violations}",
    )
    return finish(figure, "Crossing number against the average 1-conflict")


def correlations_figure(result: McbifExperimentResult, look: Look) -> go.Figure | None:
    """Draw the correlation of each measure with the crossing number; None for classes."""
    if result.task == "classification":
        return None
    found, reported = result.measure_correlation, result.correlation_paper
    kept = int(result.is_kept.sum())
    names = [MEASURE_NAMES[name] for name in result.measures]
    pairs = zip(names, found, strict=True)
    points = go.Scatter(
        x=np.arange(len(found), dtype=np.float32),
        y=significant(found),
        mode="markers",
        marker={"color": series_color(0), "size": 9},
        name="measured",
        customdata=list(result.measures),
        hovertext=[f"{name}<br>Pearson r: {r:.3f}<br>N = {kept:,}" for name, r in pairs],
        hoverinfo="text",
    )
    there = np.flatnonzero(np.isfinite(reported))
    paper = [diamonds(there, reported[there], "MCbiF paper (presumably N = 5)")]
    figure = go.Figure([*(paper if len(there) else []), points])
    figure.update_xaxes(
        title_text="measure of the sequence",
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[-0.6, len(names) - 0.4],
    )
    figure.update_yaxes(title_text="Pearson r with the crossing number (-1 to 1)", range=[-1, 1])
    baseline(figure, 0.0, "0")
    note(figure, f"N = {kept:,} sequences")
    return finish(figure, "Measures and the crossing number")
