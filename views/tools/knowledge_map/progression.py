"""F4, progression: does a disease move away from its first stage, or come back to it?"""

from collections.abc import Iterator
from dataclasses import astuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import (
    INK,
    LINE,
    SEQUENTIAL,
    escape,
    finish,
    note,
    series_color,
    series_symbol,
    significant,
)
from views.tools.knowledge_map.look import NAME, number, setting, shown_disease, shown_layer
from views.tools.knowledge_map.points import NORM_UNIT, hover, norms

# Longest stage names at an axis and in a cell, in characters.
STAGE = 14
PATHS, DISTANCES, TABLE = ({"row": 1, "col": 1}, {"row": 1, "col": 2}, {"row": 2, "col": 1})
HEADER = (
    "",
    "disease",
    "space",
    "CSFS, nearest the first stage",
    "CSLS, nearest the last stage",
    "loop ratio R",
    "closure C",
    "rank corr. (Spearman)",
)
WIDTHS = (10, 46, 28, 36, 36, 27, 27, 32)
# Glyphs of `views.figure.SYMBOLS`, for the table is the legend of the paths.
GLYPHS = {"circle": "●", "diamond": "◆", "square": "■"}
# Rows and columns of a heat map up to which its cells hold numbers.
MOST_NUMBERS = 30
# Diseases in the table without scrolling.
MOST_DISEASES = 20
# Heights in px: the plots, the gap below them, the table's head and rows, the margins.
PLOTS, GAP, HEAD, ROW, MARGINS = 300, 128, 52, 24, 64


def progression_figure(result: KnowledgeMapResult, look: Look) -> go.Figure | None:
    """Draw paths, stage distances and measures; None for a set without stages."""
    if not result.diseases or result.stage_distance is None or result.disease_of is None:
        return None
    layer, disease = shown_layer(result, look), shown_disease(result, look)
    figure = _panels(len(result.diseases))
    for other in sorted(range(len(result.diseases)), key=lambda d: d == disease):
        figure.add_trace(_path(result, layer, other, other == disease), **PATHS)
    figure.update_xaxes(title_text="PCA-1", tickangle=0, nticks=5, **PATHS)
    figure.update_yaxes(title_text="PCA-2", scaleanchor="x", **PATHS)
    _distances(figure, result, layer, disease)
    figure.add_trace(_table(result, layer), **TABLE)
    note(figure, setting(result))
    name = escape(result.diseases[disease], NAME)
    return finish(
        figure,
        f"Progression, layer {result.layers[layer]}: {name}",
        showlegend=False,
        height=_height(len(result.diseases)),
    )


def _height(diseases: int) -> int:
    """Return the height in px at which the table shows all its rows; a very long one scrolls."""
    return PLOTS + GAP + HEAD + 2 * ROW * min(diseases, MOST_DISEASES) + MARGINS


def _panels(diseases: int) -> go.Figure:
    inside = _height(diseases) - MARGINS
    return make_subplots(
        2,
        2,
        specs=[[{}, {}], [{"type": "table", "colspan": 2}, None]],
        horizontal_spacing=0.14,
        column_widths=[45, 55],
        vertical_spacing=GAP / inside,
        row_heights=[PLOTS, inside - GAP - PLOTS],
    )


def _samples(result: KnowledgeMapResult, disease: int) -> np.ndarray:
    """Return the samples of a disease, in the order of its stages."""
    samples = np.flatnonzero(np.asarray(result.disease_of) == disease)
    if result.values is None:
        return samples
    return samples[np.argsort(np.asarray(result.values)[samples], kind="stable")]


def _stage(result: KnowledgeMapResult, disease: int, stage: int) -> str:
    return escape(result.stages[disease][stage], STAGE)


def _path(result: KnowledgeMapResult, layer: int, disease: int, shown: bool) -> go.Scatter:
    """Return a disease's way through its stages; the shown one is thick and numbers them."""
    samples = _samples(result, disease)
    x, y = significant(result.map_pca[layer, samples]).T.copy()
    return go.Scatter(
        x=x,
        y=y,
        mode="lines+markers+text" if shown else "lines+markers",
        text=[str(stage) for stage in range(len(samples))],
        textposition="top center",
        line={"color": series_color(disease), "width": 2 if shown else 1},
        marker={"symbol": series_symbol(disease), "size": 8 if shown else 5},
        opacity=1 if shown else 0.6,
        name=escape(result.diseases[disease], NAME),
        customdata=[str(sample) for sample in samples],
        hovertext=[
            f"{hover(result, int(sample), _stage_line(result, disease, stage))}"
            f"<br>norm: {norm} {NORM_UNIT}"
            for stage, (sample, norm) in enumerate(
                zip(samples, norms(result, layer, samples), strict=True)
            )
        ],
        hoverinfo="text",
    )


def _stage_line(result: KnowledgeMapResult, disease: int, stage: int) -> str:
    name = escape(result.diseases[disease], NAME)
    return f"{name}, stage {stage}: {escape(result.stages[disease][stage], NAME)}"


def _distances(figure: go.Figure, result: KnowledgeMapResult, layer: int, disease: int) -> None:
    assert result.stage_distance is not None
    count = len(result.stages[disease])
    distance = result.stage_distance[disease, layer, :count, :count]
    stages = [f"{k} {escape(name, NAME)}" for k, name in enumerate(result.stages[disease])]
    heat = go.Heatmap(
        z=significant(distance),
        text=[[number(value) for value in row] for row in distance],
        texttemplate="%{text}" if count <= MOST_NUMBERS else None,
        colorscale=SEQUENTIAL,
        zmin=0,
        showscale=False,
        customdata=[[f"{i}.{j}" for j in range(count)] for i in range(count)],
        hovertext=[[f"stages {a} and {b}" for b in stages] for a in stages],
        hovertemplate=f"%{{hovertext}}<br>distance: %{{text}} {NORM_UNIT}<extra></extra>",
        hoverongaps=False,
    )
    figure.add_trace(heat, **DISTANCES)
    title = f"stage, {escape(result.diseases[disease], NAME)}{_listed(stages)}"
    figure.update_xaxes(title_text=title, dtick=1, **DISTANCES)
    figure.update_yaxes(title_text="stage", dtick=1, autorange="reversed", **DISTANCES)


def _listed(stages: list[str], width: int = 38, most: int = 4) -> str:
    """Return the stages' names as small lines under an axis title."""
    lines = [""]
    for stage in stages:
        joined = f"{lines[-1]}, {stage}" if lines[-1] else stage
        lines[-1:] = [joined] if len(joined) <= width or not lines[-1] else [lines[-1], stage]
    shown = lines[:most] + (["…"] if len(lines) > most else [])
    return "".join(f'<br><span style="font-size:11px">{line}</span>' for line in shown)


def _table(result: KnowledgeMapResult, layer: int) -> go.Table:
    rows = [row for d in range(len(result.diseases)) for row in _rows(result, layer, d)]
    marks = [series_color(i // 2) for i in range(len(rows))]
    clear = "rgba(0,0,0,0)"
    return go.Table(
        columnwidth=list(WIDTHS),
        header={
            "values": list(HEADER),
            "align": "left",
            "fill": {"color": clear},
            "line": {"color": LINE},
            "font": {"size": 12},
            "height": HEAD,
        },
        cells={
            "values": [list(column) for column in zip(*rows, strict=True)],
            "align": ["left"] * 5 + ["right"] * 3,
            "fill": {"color": clear},
            "line": {"color": LINE},
            "font": {"size": 12, "color": [marks] + [INK] * (len(HEADER) - 1)},
            "height": ROW,
        },
    )


def _rows(result: KnowledgeMapResult, layer: int, disease: int) -> Iterator[list[str]]:
    mark = GLYPHS[series_symbol(disease)]
    name = escape(result.diseases[disease], NAME)
    arrays = (result.csfs, result.csls, result.loop_ratio, result.closure, result.spearman)
    raw = [float("nan") if a is None else float(a[disease, layer]) for a in arrays]
    yield [mark, name, "raw", *_cells(result, disease, raw)]
    yield ["", "", "metric", *_cells(result, disease, _metric_measures(result, layer, disease))]


def _cells(result: KnowledgeMapResult, disease: int, values: list[float]) -> list[str]:
    count = len(result.stages[disease])
    stages = [
        f"{v:.0f} ({_stage(result, disease, int(v))})" if 0 <= v < count else "not defined"
        for v in values[:2]
    ]
    return stages + [f"{v:.2f}" if np.isfinite(v) else "not defined" for v in values[2:]]


def _metric_measures(result: KnowledgeMapResult, layer: int, disease: int) -> list[float]:
    """Return the stage measures in the metric space, NaN where there are too few stages."""
    from backends.math.stages import stage_measures

    points = result.metric_space[layer, _samples(result, disease)].astype(np.float64)
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    if len(points) < 3 or not np.isfinite(distance).all():
        return [float("nan")] * 5
    return [float(value) for value in astuple(stage_measures(distance))]
