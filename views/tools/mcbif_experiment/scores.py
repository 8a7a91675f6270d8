"""F1, scores: what a linear model makes of each feature vector, beside control and paper."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.mcbif_experiment import McbifExperimentResult
from views.contract import Look
from views.figure import (
    CONTROL,
    band,
    baseline,
    control_line,
    finish,
    note,
    series_color,
    significant,
)
from views.tools.mcbif_experiment.words import FEATURE_NAMES, diamonds

SCORES = {
    "classification": "accuracy on the test part (0 to 1)",
    "regression": "R² on the test part",
}
CHANCE = {"classification": (0.5, "chance"), "regression": (0.0, "mean")}
# Lower end of the axis; what lies below is said.
LOWEST = -1.0
# Half the width of a control.
HALF = 0.3


def scores_figure(result: McbifExperimentResult, look: Look) -> go.Figure:
    """Draw the score of each feature vector with its interval, its control and the paper's."""
    figure = go.Figure([*_controls(result), *_papers(result), _scores(result)])
    names = [FEATURE_NAMES[name] for name in result.features]
    figure.update_xaxes(
        title_text="feature vector",
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[-0.6, len(names) - 0.4],
    )
    seen = np.concatenate([result.score_low, result.score, result.score_control_least])
    low = max(LOWEST, min(0.0, float(np.nanmin(seen)) - 0.05))
    figure.update_yaxes(title_text=SCORES[result.task], range=[low, 1.05])
    baseline(figure, *CHANCE[result.task])
    note(figure, _sizes(result), above=22)
    note(figure, _cautions(result))
    margin = {"l": 64, "r": 72, "t": 64, "b": 24}
    return finish(figure, f"Scores of linear models: {result.task}", margin=margin)


def _sizes(result: McbifExperimentResult) -> str:
    return (
        f"{result.task}: {result.n:,} sequences of N = {result.n_elements}, "
        f"M = {result.n_scales}; {result.n_train:,} to fit, {result.n_test:,} to test"
    )


def _cautions(result: McbifExperimentResult) -> str:
    """Say what lies below the axis, and of which size the paper's figures are."""
    words = []
    for what, scores in (("", result.score), ("controls of ", result.score_control)):
        below = [
            f"{FEATURE_NAMES[name]} ({score:,.3g})"
            for name, score in zip(result.features, scores, strict=True)
            if score < LOWEST
        ]
        if below:
            words.append(f"below the axis: {what}{', '.join(below)}")
    if result.paper_size is None:
        words.append(f"no figures of the paper for N = {result.n_elements}")
    elif not result.is_paper_size:
        words.append("the paper's are of another size")
    return "; ".join(words)


def _scores(result: McbifExperimentResult) -> go.Scatter:
    """Return points with their intervals as bars."""
    score = significant(result.score)
    return go.Scatter(
        x=np.arange(len(score), dtype=np.float32),
        y=score,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": significant(result.score_high - result.score),
            "arrayminus": significant(result.score - result.score_low),
            "thickness": 2,
            "width": 6,
        },
        mode="markers",
        marker={"color": series_color(0), "size": 9},
        name=f"measured, 95 % interval of {result.resamples:,} resamples",
        customdata=list(result.features),
        hovertext=[_hover(result, i) for i in range(len(score))],
        hoverinfo="text",
    )


def _hover(result: McbifExperimentResult, i: int) -> str:
    name = result.features[i]
    lines = [
        f"{FEATURE_NAMES[name]}: {result.n_values[i]:,} values",
        f"{SCORES[result.task]}: {result.score[i]:.3f}",
        f"95 % interval: {result.score_low[i]:.3f} to {result.score_high[i]:.3f}",
        f"shuffled targets: {result.score_control[i]:.3f} "
        f"({result.score_control_least[i]:.3f} to {result.score_control_most[i]:.3f})",
    ]
    if name in result.not_converged:
        lines.append("stopped after 1,000 iterations")
    return "<br>".join([*lines, f"N = {result.n_test:,} test sequences"])


def _controls(result: McbifExperimentResult) -> list[go.Scatter]:
    """Return a dashed piece of line for each feature, on the range over the shuffles."""
    places = np.arange(len(result.features))
    low, high = result.score_control_least, result.score_control_most
    name = f"control: shuffled targets, mean and range of {result.shuffles}"
    ranges = [
        band([i - HALF, i + HALF], low[[i, i]], high[[i, i]], CONTROL, legendgroup="control")
        for i in places
    ]
    line = go.Scatter(
        x=(places[:, None] + [-HALF, HALF, np.nan]).reshape(-1).astype(np.float32),
        y=np.repeat(significant(result.score_control), 3),
        mode="lines",
        line=control_line(),
        name=name,
        legendgroup="control",
        hoverinfo="skip",
    )
    return [*ranges, line]


def _papers(result: McbifExperimentResult) -> list[go.Scatter]:
    there = np.flatnonzero(np.isfinite(result.score_paper))
    if not len(there):
        return []
    return [diamonds(there, result.score_paper[there], f"MCbiF paper ({result.paper_size})")]
