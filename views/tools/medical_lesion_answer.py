"""One lesioned answer: both answers side by side, and how far the models part at each token."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backends.math.severity import LN2
from backends.methods.medical_lesion_answer import METHOD, MedicalLesionAnswerResult
from views import lesions
from views.contract import Figure, Look, Panel, Tool, View
from views.figure import INK, escape, series_color
from views.plain import assembled, control, line, written
from views.slot import figure_slot

KEY = METHOD.key


def divergence_figure(result: MedicalLesionAnswerResult, look: Look) -> go.Figure:
    """Draw the divergence at each token of the whole model's answer; filled where both agree."""
    x, count = np.arange(result.n, dtype=np.float32), f"N = {result.n} tokens"
    hovers = [
        f"token {i}: {escape(token, 40)}<br>JS: {js:.4f} nats, KL: {kl:.4f} nats"
        f"<br>most probable token: {'the same' if top else 'another'}<br>{count}"
        for i, (token, js, kl, top) in enumerate(
            zip(result.baseline_tokens, result.divergence, result.kl, result.top1, strict=True)
        )
    ]
    curve = line(x, result.divergence, series_color(0), "lesion", hovertext=hovers,
                 hoverinfo="text", customdata=[str(i) for i in range(result.n)])  # fmt: skip
    shapes = ["circle" if top else "circle-open" for top in result.top1]
    curve["marker"] = {"size": 8, "symbol": shapes}
    random = control(x, result.divergence_random, "random direction of equal length",
                     hoverinfo="skip")  # fmt: skip
    limit = {
        **line([-0.5, result.n - 0.5], [LN2, LN2], INK, "nothing shared: ln 2", mode="lines"),
        "line": {"color": INK, "width": 1},
        "hoverinfo": "skip",
    }
    about = f"{count}; hollow: another most probable token; "
    about += f"severity {result.severity:.2f}, random direction {result.severity_random:.2f}"
    return assembled(
        [limit, random, curve],
        f"Divergence along the answer without block {result.layer}",
        xaxis={"title": {"text": "token of the whole model's answer (0 is the first)"},
               "range": [-0.5, result.n - 0.5]},
        yaxis={"title": {"text": "Jensen-Shannon divergence (nats)"}, "range": [-0.02, 0.72]},
        annotations=[written(about)],
    )  # fmt: skip


FIGURES: Mapping[str, Figure] = {"divergence": divergence_figure}


def build() -> Panel:
    """Place both answers above the figure."""
    import gradio as gr

    answers = gr.HTML("", elem_id=f"{KEY}-answers")
    divergence = figure_slot(f"{KEY}-divergence", label="divergence")
    views: list[Any] = [
        View(answers, lambda result, look: lesions.answers_html(result), uses=()),
        View(divergence, divergence_figure, uses=()),
    ]
    return Panel(views)


TOOL = Tool(
    METHOD,
    "Lesioned answer",
    "The answer without one block beside that of the whole model.",
    FIGURES,
    tab="maps",
    order=31,
    fields=("domain", "table", "question", "layer", "ablation", "model"),
    build=build,
    adapt=lesions.adapt,
    caution=lesions.CAUTION,
)
