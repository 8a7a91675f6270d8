"""F8, the curve: recovery by layer with its interval, lines at 0 and 1, and its controls."""

import numpy as np
import plotly.graph_objects as go

from backends.methods.medical_patching import MedicalPatchingResult
from views.contract import Look
from views.figure import INK, band, layer_axis, series_color, significant
from views.plain import Spec, assembled, control, hatched, line, said, written
from views.tools.medical_patching.words import (
    RANDOM,
    above,
    column_name,
    count,
    is_defined,
    note,
    unit,
)

# Positions of a board that get a line: those with the largest recovery.
MOST_LINES = 3


def recovery_figure(result: MedicalPatchingResult, look: Look) -> go.Figure:
    """Draw recovery by layer; where it is not defined, the change of the score."""
    x, shown = result.layers, _columns(result)
    there = result.causal_mask.any(axis=1)
    traces: list[Spec] = []
    if result.recovery_low is not None and result.recovery_high is not None:
        low, high = (
            np.where(there, b, np.nan) for b in (result.recovery_low, result.recovery_high)
        )
        traces.append(band(x, low, high, series_color(0)).to_plotly_json())
    if is_defined(result):
        traces += [_baseline(x, 0), _baseline(x, 1)]
        traces += [_random(result, column, not i) for i, column in enumerate(shown)]
    if result.recovery_mean is not None and result.n:
        means = np.where(there, result.recovery_mean, np.nan)
        dotted = line(x, means, series_color(1), "mean of ratios (as the paper)")
        traces.append({**dotted, "mode": "lines", "line": {**dotted["line"], "dash": "dot"}})
    traces += [_main(result, column, i) for i, column in enumerate(shown)]
    traces += _hatch(result, shown)
    words = "recovery (0 none, 1 full)" if is_defined(result) else f"change ({unit(result)})"
    empty = [] if result.n else [said("not enough data: no pair is left")]
    return assembled(
        traces,
        "Recovery by layer",
        xaxis=layer_axis(x),
        yaxis={"title": {"text": words}},
        annotations=[written(note(result)), *empty],
        margin={"l": 64, "r": 32, "t": above(result), "b": 24},
    )


def _values(result: MedicalPatchingResult) -> np.ndarray:
    values = result.recovery if is_defined(result) else result.logit_difference
    return np.where(result.causal_mask, values, np.nan)


def _columns(result: MedicalPatchingResult) -> list[int]:
    """Return the columns that get a line: the only one, or those with the largest values."""
    peaks = np.nan_to_num(np.abs(_values(result))).max(axis=0)
    best = np.argsort(-peaks, kind="stable")[: MOST_LINES if len(peaks) > 1 else 1]
    return sorted(int(column) for column in best if peaks[column] or len(peaks) == 1)


def _main(result: MedicalPatchingResult, column: int, index: int) -> Spec:
    values = _values(result)[:, column]
    name = "ratio of sums" if result.recovery_pair is not None else column_name(result, column)
    hovers = []
    for layer, value in zip(result.layers, values, strict=True):
        words = [f"layer {layer}, {name}", f"{value:+.3f}"]
        if result.recovery_low is not None and result.recovery_high is not None:
            low, high = result.recovery_low[layer], result.recovery_high[layer]
            words += [f"95 % interval: {low:.3f} to {high:.3f}"] if np.isfinite(low) else []
        hovers.append("<br>".join([*words, count(result)]))
    keys = [f"{layer},{column}" for layer in result.layers]
    return line(
        result.layers, values, series_color(index), name, customdata=keys, hovertext=hovers,
        hoverinfo="text", legendrank=1,
    )  # fmt: skip


def _random(result: MedicalPatchingResult, column: int, is_first: bool) -> Spec:
    values = np.where(result.causal_mask[:, column], result.recovery_random[:, column], np.nan)
    draws = f", mean of {result.random_draws}" if result.random_draws > 1 else ""
    hovers = [
        f"layer {layer}<br>{RANDOM}{draws}: {value:+.3f}<br>{count(result)}"
        for layer, value in zip(result.layers, values, strict=True)
    ]
    return control(
        result.layers, values, f"{RANDOM}{draws}", hovertext=hovers, hoverinfo="text",
        legendrank=1_500, legendgroup="random", showlegend=is_first,
    )  # fmt: skip


def _baseline(x: list[int], value: float) -> Spec:
    ends = [-0.5, max(x) + 0.5]
    drawn = line(ends, [value] * 2, INK, "", mode="lines+text", hoverinfo="skip", showlegend=False)
    words = ["", f"{value:g}"]
    return {**drawn, "line": {"color": INK, "width": 1}, "text": words,
            "textposition": "middle right", "cliponaxis": False, "marker": {"size": 0}}  # fmt: skip


def _hatch(result: MedicalPatchingResult, shown: list[int]) -> list[Spec]:
    """Return hatch where nothing that is drawn was computed."""
    missing = ~result.causal_mask[:, shown].any(axis=1) if shown else np.ones(0, bool)
    if not missing.any() or not result.n:
        return []
    values = [v for v in (0.0, 1.0, *_values(result)[:, shown].ravel()) if np.isfinite(v)]
    low, high = significant([min(values), max(values)])
    x: list[float] = []
    y: list[float] = []
    for layer in np.flatnonzero(missing):
        x += [layer - 0.5, layer + 0.5, layer + 0.5, layer - 0.5, np.nan]
        y += [low, low, high, high, np.nan]
    return [hatched(x, y, "not computed: cannot change the score")]
