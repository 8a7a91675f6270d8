"""Lesions (F7): severity by layer beside its controls; a layer opens both answers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.contract import Known
from backends.judges import find_judges
from backends.math.severity import LEAST, MOST
from backends.methods.medical_lesion import METHOD, MedicalLesionResult
from views import lesions
from views.contract import Figure, FollowUp, Look, Panel, Tool, View
from views.figure import INK, band, escape, layer_axis, series_color
from views.partitions.markup import sentence, text
from views.plain import Spec, assembled, control, dashes, interval, line, written
from views.slot import figure_slot

KEY = METHOD.key
# Longest question in the list of the page, in characters.
SHOWN = 90
NONE = ("none", "")


def severity_figure(result: MedicalLesionResult, look: Look) -> go.Figure:
    """Draw the severity by layer with its interval, beside the three controls and the baseline."""
    x, color = result.layers, series_color(0)
    bounds = result.severity_low, result.severity_high
    main = _series(result, line, result.severity, color, "lesion", bounds, _count(result))
    below, above = result.severity_neutral_low, result.severity_neutral_high
    ends = [-0.5, max(x) + 0.5]
    base = {
        **line(ends, [LEAST, LEAST], INK, "whole model: 1", mode="lines", hoverinfo="skip"),
        "line": {"color": INK, "width": 1},
    }
    bands = [interval(x, below, above), band(x, *bounds, color).to_plotly_json()]
    return assembled(
        [*bands, base, *_controls(result), main, *_mark(result, look, (LEAST, MOST), "y")],
        f"Severity of lesions by layer: {escape(result.source, 24)}",
        xaxis=layer_axis(x),
        yaxis={
            "title": {
                "text": f"severity by {escape(result.judge, 24)} (1 the same, 10 nothing shared)"
            },
            "range": [LEAST - 0.3, MOST + 0.3],
            "tickvals": list(range(1, 11)),
        },  # fmt: skip
        annotations=[written(_note(result))],
    )


def _controls(result: MedicalLesionResult) -> list[Spec]:
    """Return the neutral questions, the random direction and the block's own output."""
    own, neutral = _count(result), f"N = {result.n_neutral} neutral questions"
    bounds = result.severity_neutral_low, result.severity_neutral_high
    around = result.severity_random_low, result.severity_random_high
    one = "N = 1 question, by divergence"
    drawn = [
        (result.severity_neutral, "neutral questions", bounds, neutral, "dash"),
        (result.severity_random, "random direction of equal length", around, own, "dot"),
        (result.severity_identity_patch, "own output written back", None, one, "dashdot"),
    ]
    traces = []
    for values, name, limits, count, dash in drawn:
        trace = _series(result, control, values, "", name, limits, count)
        traces.append({**trace, "line": {**trace["line"], "dash": dash}})
    return traces


def _series(
    result: MedicalLesionResult,
    draw: Any,
    values: np.ndarray,
    color: str,
    name: str,
    bounds: tuple[np.ndarray, np.ndarray] | None,
    count: str,
) -> Spec:
    texts = []
    for i, layer in enumerate(result.layers):
        words = [f"layer {layer}", f"{name}: severity {values[i]:.3f}"]
        if bounds is not None and np.isfinite(bounds[0][i]):
            words.append(f"95 % interval: {bounds[0][i]:.3f} to {bounds[1][i]:.3f}")
        texts.append("<br>".join([*words, count]))
    keys = [str(layer) for layer in result.layers]
    hover = {"customdata": keys, "hovertext": texts, "hoverinfo": "text"}
    if color:
        return dict(draw(result.layers, values, color, name, legendrank=1, **hover))
    return dict(draw(result.layers, values, name, legendrank=1_500, **hover))


def shift_figure(result: MedicalLesionResult, look: Look) -> go.Figure:
    """Draw the mean divergence KL and the agreement of the most probable token by layer."""
    x, keys = result.layers, [str(layer) for layer in result.layers]
    panels = [
        ("kl", result.kl, "KL(whole || lesioned) (nats)", "y", 0),
        ("top-1", result.top1_agreement, "top-1 agreement (share)", "y2", 1),
    ]
    traces = []
    for name, values, unit, axis, index in panels:
        hovers = [
            f"layer {layer}<br>{unit.split(' (')[0] if index else 'mean KL, nats'}: {v:.3g}"
            f"<br>{_count(result)}"
            for layer, v in zip(x, values, strict=True)
        ]
        traces.append(line(x, values, series_color(index), name, yaxis=axis, customdata=keys,
                           hovertext=hovers, hoverinfo="text", showlegend=False))  # fmt: skip
        traces += _mark(result, look, _reach(values, index), axis)
    title = {"standoff": 8, "font": {"size": 12}}
    return assembled(
        traces,
        f"Divergence and agreement of lesions by layer: {escape(result.source, 24)}",
        xaxis={**layer_axis(x), "anchor": "y2"},
        yaxis={
            "title": {"text": panels[0][2], **title},
            "domain": [0.54, 1],
            "rangemode": "tozero",
            "exponentformat": "power",
        },
        yaxis2={
            "title": {"text": panels[1][2], **title},
            "domain": [0, 0.46],
            "range": [-0.03, 1.03],
        },
        annotations=[written(_note(result))],
    )


def _reach(values: np.ndarray, index: int) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (0.0, 1.0) if index or not len(known) else (0.0, float(known.max()))


def _mark(
    result: MedicalLesionResult, look: Look, ends: tuple[float, float], axis: str
) -> list[Spec]:
    """Return a line at the chosen layer, if there is one."""
    layer = chosen_layer(result, look)
    return [] if layer is None else [dashes([layer] * 2, ends, yaxis=axis, showlegend=False)]


def _count(result: MedicalLesionResult) -> str:
    return f"N = {result.n} questions"


def _note(result: MedicalLesionResult) -> str:
    """Return both numbers of questions, the ablation, and what was left out."""
    words = [_count(result), f"{result.n_neutral} neutral", f"ablation: {escape(result.ablation)}"]
    dropped = result.dropped + result.dropped_neutral
    if dropped:
        words.append(f"{dropped} without an answer left out")
    words.append(f"largest change by own output: {result.identity_deviation:g} logits")
    return "; ".join(words)


def chosen_layer(result: MedicalLesionResult, look: Look) -> int | None:
    """Return the chosen layer, None for none or a wrong one."""
    wanted = str(look.get("layer"))
    return int(wanted) if wanted in map(str, result.layers) else None


def chosen_question(result: MedicalLesionResult, look: Look) -> int:
    """Return the chosen question that has an answer, else the first of these."""
    choices = _answered(result)
    wanted = str(look.get("question"))
    return int(wanted) if wanted in map(str, choices) else choices[0]


def _answered(result: MedicalLesionResult) -> list[int]:
    known = np.isfinite(result.severity_question).all(axis=1)
    return [int(i) for i in np.flatnonzero(known)] or [0]


def opened(result: MedicalLesionResult, look: Look) -> tuple[str, Mapping[str, Any]] | None:
    """Return the request for both answers to the chosen question; None without a layer."""
    layer = chosen_layer(result, look)
    if layer is None:
        return None
    question = chosen_question(result, look)
    return "medical_lesion_answer", {**result.request, "layer": layer, "question": question}


def questions_html(result: MedicalLesionResult, look: Look) -> str:
    """Return the whole model's answer to the chosen question, and what a click does."""
    number = chosen_question(result, look)
    told = text(result.answers[number])
    hint = "Click a layer, or choose one, to read the answer without that block."
    return f"<p>{told}</p>{sentence(f'The answer of the whole model. {hint}')}"


def fit(result: MedicalLesionResult, look: Look) -> Mapping[str, Mapping[str, Any]]:
    """Return what the controls offer and hold."""
    layer = chosen_layer(result, look)
    return {
        "layer": {
            "choices": [NONE, *((str(each), str(each)) for each in result.layers)],
            "value": "" if layer is None else str(layer),
        },
        "question": {
            "choices": [(result.questions[i][:SHOWN], str(i)) for i in _answered(result)],
            "value": str(chosen_question(result, look)),
        },
    }


FIGURES: Mapping[str, Figure] = {"severity": severity_figure, "shift": shift_figure}


def build() -> Panel:
    """Place the figures, and the answers to the chosen question at the chosen layer."""
    import gradio as gr

    severity = figure_slot(f"{KEY}-severity", label="severity")
    with gr.Row(elem_id=f"{KEY}-controls", elem_classes=["gw-controls"]):
        layer = _dropdown("layer", "Lesioned layer", [NONE], "", 1)
        question = _dropdown("question", "Question", [], None, 4)
    told, answers = (gr.HTML("", elem_id=f"{KEY}-{name}") for name in ("baseline", "answers"))
    shift = figure_slot(f"{KEY}-shift", "medium", label="shift")
    clicked: dict[str, Any] = {"uses": ("layer",), "click": "layer"}
    views = [
        View(severity, severity_figure, **clicked),
        View(told, questions_html, uses=("question",)),
        View(shift, shift_figure, **clicked),
    ]
    shown = [
        FollowUp(name, answers, opened, lambda result, look: lesions.answers_html(result))
        for name in ("layer", "question")
    ]
    return Panel(views, {"layer": layer, "question": question}, fit, shown)


def _dropdown(name: str, label: str, choices: list[Any], value: Any, scale: int) -> Any:
    import gradio as gr

    return gr.Dropdown(
        choices,
        value=value,
        label=label,
        interactive=True,
        elem_id=f"{KEY}-{name}",
        min_width=140,
        scale=scale,
    )


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Offer the judges that there are, and a table in place of a domain."""
    judges, wanted = sorted(find_judges()), values.get("judge")
    judge = {"choices": judges, "value": wanted if wanted in judges else "divergence"}
    return {"judge": judge, **lesions.adapt(values, known, changed)}


TOOL = Tool(
    METHOD,
    "Lesion",
    "How much worse the answers become without each block.",
    FIGURES,
    tab="maps",
    order=30,
    fields=("domain", "table", "model", "ablation", "n_questions", "answer_tokens"),
    build=build,
    adapt=adapt,
    caution=lesions.CAUTION,
)
