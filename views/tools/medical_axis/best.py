"""T1, the best-layer table: best score and layer by metric, beside the paper's figures."""

import html

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_axis import MedicalAxisResult
from views.contract import Look
from views.figure import CONTROL, INK, escape, series_color
from views.plain import Spec, assembled, said, written

# Best score (layer), as reported in arXiv 2510.11390 by third-party notes.
PAPER_MODELS = ("Llama3.3-70B", "Gemma3-27B", "MedGemma-27B", "Qwen-32B", "GPT-OSS-120B")
PAPER = {
    "age, R2 linearity": ((1.00, 3), (0.99, 34), (0.98, 24), (0.99, 25), (1.00, 1)),
    "symptoms, silhouette": ((0.19, 63), (-0.10, 12), (-0.08, 12), (0.24, 56), (0.23, 31)),
    "diseases, silhouette": ((0.16, 58), (-0.01, 61), (-0.03, 61), (0.21, 60), (0.10, 32)),
    "drugs by mechanism": ((0.07, 75), (0.03, 45), (-0.01, 44), (0.03, 62), (0.07, 30)),
    "drugs by specialty": ((0.19, 78), (0.05, 44), (0.01, 45), (0.06, 58), (0.07, 33)),
    "dosage, patching P": ((2.64, 79), (0.92, 8), (1.71, 0), (7.33, 0), (4.23, 23)),
}


def metrics_of(result: MedicalAxisResult) -> list[str]:
    """Return the metrics that a result has rows of, in the paper's order."""
    there = {row["metric"] for row in result.best}
    return [metric for metric in PAPER if metric in there]


def best_figure(result: MedicalAxisResult, look: Look) -> go.Figure:
    """Draw best scores by metric: measured, the null of the maximum, the paper's models."""
    metrics = metrics_of(result)
    traces = [_measured(result, m, metrics) for m in range(len(result.models))]
    traces += [_null(result, metrics), _paper(metrics)] if metrics else []
    notes = [written("best layer of each curve; a maximum over layers is high by chance")]
    if not metrics:
        notes = [said("no metric of the table is defined for these domains")]
    return assembled(
        traces,
        "Best layers, beside the paper's models",
        xaxis={"title": {"text": "best score (silhouette, R2, or recovery)"}},
        yaxis={
            "title": {"text": "metric"},
            "tickmode": "array",
            "tickvals": list(range(len(metrics))),
            "ticktext": metrics,
            "range": [max(len(metrics), 1) - 0.5, -0.5],
        },
        annotations=notes,
        margin={"l": 168, "r": 24, "t": 40, "b": 24},
    )


def _measured(result: MedicalAxisResult, m: int, metrics: list[str]) -> Spec:
    model = result.models[m]
    rows = [row for row in result.best if row["model"] == model and row["score"] is not None]
    return {
        "type": "scatter",
        "x": np.array([row["score"] for row in rows], np.float32),
        "y": np.array([metrics.index(row["metric"]) for row in rows], np.float32),
        "mode": "markers+text",
        "text": [f"L{row['layer']}" for row in rows],
        "textposition": "top center",
        "textfont": {"size": 11, "color": INK},
        "marker": {"size": 9, "color": series_color(m)},
        "hovertext": [
            f"{escape(model, 40)}<br>{row['metric']}: {row['score']:.3g} at layer {row['layer']}"
            f"<br>N = {row['n']}"
            for row in rows
        ],
        "hoverinfo": "text",
        "customdata": [str(row["layer"]) for row in rows],
        "name": escape(model, 40),
    }


def _null(result: MedicalAxisResult, metrics: list[str]) -> Spec:
    rows = [row for row in result.best if row["null"] is not None]
    return {
        "type": "scatter",
        "x": np.array([row["null"] for row in rows], np.float32),
        "y": np.array([metrics.index(row["metric"]) for row in rows], np.float32),
        "mode": "markers",
        "marker": {"symbol": "line-ns-open", "size": 14, "color": CONTROL, "line": {"width": 2}},
        "hovertext": [f"shuffled labels, 95 % of the maximum: {row['null']:.3g}" for row in rows],
        "hoverinfo": "text",
        "name": "shuffled labels: 95 % of the best layer",
    }


def _paper(metrics: list[str]) -> Spec:
    x, y, text = [], [], []
    for i, metric in enumerate(metrics):
        for model, (score, layer) in zip(PAPER_MODELS, PAPER[metric], strict=True):
            x.append(score)
            y.append(i + 0.18)
            text.append(f"{model}, reported: {score:g} at layer {layer}")
    return {
        "type": "scatter",
        "x": np.array(x, np.float32),
        "y": np.array(y, np.float32),
        "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 8, "color": INK},
        "hovertext": text,
        "hoverinfo": "text",
        "name": "reported, Marinescu et al.",
    }


def best_html(result: MedicalAxisResult, look: Look) -> str | None:
    """Return the best-layer table, one column for each model."""
    metrics = metrics_of(result)
    if not metrics:
        return None
    head = "".join(f"<th>{html.escape(model)}</th>" for model in result.models)
    rows = "".join(
        f"<tr><th>{metric}</th>{''.join(_cell(result, metric, m) for m in result.models)}"
        f"<td>{_shown(metric)}</td></tr>"
        for metric in metrics
    )
    return (
        "<h3>Best layers</h3><div class='gw-scroll'><table><tr><th>metric</th>"
        f"{head}<th>reported, Llama3.3-70B</th></tr>{rows}</table></div>"
        "<p class='gw-secondary'>Score (layer), 95 % of the best layer with shuffled labels, and "
        "the score at 25, 50, 75 and 100 % of the depth. Prompts, word lists and UMAP settings "
        "differ from the paper's, so the scores cannot be compared one by one.</p>"
    )


def _cell(result: MedicalAxisResult, metric: str, model: str) -> str:
    rows = [r for r in result.best if r["metric"] == metric and r["model"] == model]
    if not rows or rows[0]["score"] is None:
        return "<td>not defined</td>"
    row = rows[0]
    null = "" if row["null"] is None else f"; shuffled {row['null']:.2f}"
    depths = ", ".join("–" if d is None else f"{d:.2f}" for d in row["depths"])
    return f"<td>{row['score']:.2f} (L{row['layer']}){null}; {depths}; N = {row['n']}</td>"


def _shown(metric: str) -> str:
    score, layer = PAPER[metric][0]
    return f"{score:.2f} (L{layer})"
