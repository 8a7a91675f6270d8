"""Curves over the scales: from the first scale on, by length of the window, and MCF.

Controls are sequences whose labels are permuted within each scale: grey dashes with a 95 % band.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.figure import series_color
from views.partitions.look import counted, n_scales, scale_name, scale_ticks
from views.plain import Spec, assembled, control, interval, line, written

SUB = {"hf0": "HF<sub>0</sub>", "hf1": "HF<sub>1</sub>"}
NAMES = ("clusters", "cycles", "lag_components", "lag_cycles", "mcf_conflict", "mcf_changes")
TITLES = {
    "clusters": "Clusters, and components from the first scale on",
    "cycles": "Independent cycles from the first scale on",
    "lag_components": "Components by length of the window",
    "lag_cycles": "Cycles by length of the window",
    "mcf_conflict": "Conflict from the first scale on (MCF)",
    "mcf_changes": "Classes born and died from the first scale on (MCF)",
}
HEIGHT = 340


def curve_figure(result: PartitionResult, look: Look, name: str) -> go.Figure:
    """Draw one of `NAMES`."""
    traces, right, up = _PANELS[name](result, "x", "y")
    return assembled(
        traces,
        TITLES[name],
        xaxis=right,
        yaxis=up,
        annotations=[written(counted(result))],
        height=HEIGHT,
        showlegend=True,
    )


def curves_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw all curves, two in a row."""
    traces, layout, headings = [], {}, []
    for i, name in enumerate(NAMES):
        number = str(i + 1) if i else ""
        x, y = f"x{number}", f"y{number}"
        some, right, up = _PANELS[name](result, x, y)
        column, row = i % 2, i // 2
        wide, high = [0.55 * column, 0.55 * column + 0.45], [0.74 - 0.37 * row, 1.0 - 0.37 * row]
        layout[f"xaxis{number}"] = {**right, "anchor": y, "domain": wide}
        layout[f"yaxis{number}"] = {**up, "anchor": x, "domain": high}
        traces += some
        heading = written(TITLES[name])
        headings.append({**heading, "xref": f"{x} domain", "yref": f"{y} domain"})
    headings.append(written(counted(result), above=24))
    return assembled(traces, "Curves over the scales", **layout, annotations=headings,
                     margin={"l": 64, "r": 24, "t": 56, "b": 24})  # fmt: skip


Panel = tuple[list[Spec], Spec, Spec]


def along(result: PartitionResult, kind: str, s: Any, t: Any, **fields: Any) -> list[Spec]:
    """Return a Hilbert function along windows (s, t), with its null under it where it is there."""
    x = fields.pop("at", t)
    name, color = SUB[kind], series_color(0 if kind == "hf0" else 1)
    low, mean, high = (getattr(result, f"null_{kind}_{p}")[s, t] for p in ("low", "mean", "high"))
    traces = []
    if np.isfinite(mean).any():
        traces += [interval(x, low, high, **fields),
                   control(x, mean, f"{name}, shuffled ({result.draws} draws, 95 %)",
                           hoverinfo="skip", **fields)]  # fmt: skip
    values = getattr(result, kind)[s, t]
    keys = [f"{a},{b}" for a, b in zip(*np.broadcast_arrays(s, t), strict=True)]
    hovers = [
        f"scales {scale_name(result, a)} to {scale_name(result, b)}<br>{name} = {v:,}"
        f"<br>N = {result.n:,} elements"
        for (a, b), v in zip(np.broadcast(s, t), values.tolist(), strict=True)
    ]
    return [*traces, line(x, values, color, name, customdata=keys, **_hovers(hovers), **fields)]


def _hovers(texts: list[str]) -> Spec:
    return {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def scale_axis(result: PartitionResult, title: str) -> Spec:
    """Return an x axis of scales."""
    return {"title": {"text": title, "standoff": 8}, "range": [-0.5, n_scales(result) - 0.5],
            **scale_ticks(result.scale_names)}  # fmt: skip


def _up(title: str, **fields: Any) -> Spec:
    return {"title": {"text": title, "standoff": 8}, "rangemode": "tozero", **fields}


def _clusters(result: PartitionResult, x: str, y: str) -> Panel:
    t, place = np.arange(n_scales(result)), {"xaxis": x, "yaxis": y}
    hovers = [
        f"scale {scale_name(result, m)}<br>k = {k:,} clusters<br>N = {result.n:,} elements"
        for m, k in enumerate(result.n_clusters.tolist())
    ]
    keys = [f"{m},{m}" for m in t.tolist()]
    k = line(t, result.n_clusters, series_color(2), "k: clusters", customdata=keys,
             **_hovers(hovers), **place)  # fmt: skip
    hf0 = along(result, "hf0", np.zeros_like(t), t, **place)
    return [k, *hf0], scale_axis(result, "scale t"), _up("number")


def _cycles(result: PartitionResult, x: str, y: str) -> Panel:
    t, place = np.arange(n_scales(result)), {"xaxis": x, "yaxis": y}
    hf1 = along(result, "hf1", np.zeros_like(t), t, **place)
    return hf1, scale_axis(result, "scale t"), _up("HF<sub>1</sub> (independent cycles)")


def lag_profile(
    grid: Int[np.ndarray, "scale scale"] | Float[np.ndarray, "scale scale"],
) -> Float[np.ndarray, "scale"]:
    """Return the mean of a grid over all windows of each length l = t - s."""
    return np.array([np.diagonal(grid, lag).mean() for lag in range(len(grid))], np.float32)


def _lags(result: PartitionResult, x: str, y: str, kind: str) -> Panel:
    lags, place = np.arange(n_scales(result)), {"xaxis": x, "yaxis": y}
    means, null = (lag_profile(g) for g in (getattr(result, kind), _null_mean(result, kind)))
    name, traces = f"mean {SUB[kind]}", []
    if np.isfinite(null).any():
        traces.append(control(lags, null, f"{name}, shuffled", hoverinfo="skip", **place))
    hovers = [
        f"windows of length {lag}<br>{name} = {v:,.4g}<br>N = {len(lags) - lag} windows"
        for lag, v in enumerate(means.tolist())
    ]
    color = series_color(0 if kind == "hf0" else 1)
    traces.append(line(lags, means, color, name, **_hovers(hovers), **place))
    right = {"title": {"text": "length t − s (number of scales)", "standoff": 8},
             "range": [-0.5, len(lags) - 0.5]}  # fmt: skip
    return traces, right, _up(f"mean {SUB[kind]} over s")


def _null_mean(result: PartitionResult, kind: str) -> np.ndarray:
    return np.asarray(getattr(result, f"null_{kind}_mean"))


def _conflict(result: PartitionResult, x: str, y: str) -> Panel:
    trace = _companion(result, "c<sub>0</sub>", result.mcf_c0, 3, x, y)
    right = scale_axis(result, "scale t")
    return [trace], right, _up("c<sub>0</sub> (share of clusters)", range=[0, 1.02])


def _changes(result: PartitionResult, x: str, y: str) -> Panel:
    traces = [
        _companion(result, "δ<sub>1</sub>", result.mcf_delta1, 4, x, y),
        _companion(result, "δ<sub>2</sub>", result.mcf_delta2, 5, x, y),
    ]
    up = _up("δ (classes born minus died)", zeroline=True, rangemode="normal")
    return traces, scale_axis(result, "scale t"), up


def _companion(
    result: PartitionResult, name: str, values: np.ndarray, color: int, x: str, y: str
) -> Spec:
    hovers = [
        f"scale {scale_name(result, m)}<br>{name} = {v:.4g}<br>N = {result.n:,} elements"
        for m, v in enumerate(values.tolist())
    ]
    missing = "" if np.isfinite(values).any() else ": not computed, the nerve is too large"
    fields = {**_hovers(hovers), "xaxis": x, "yaxis": y, "showlegend": True}
    t = np.arange(n_scales(result))
    return line(t, values, series_color(color), name + missing, **fields)


_PANELS: dict[str, Callable[[PartitionResult, str, str], Panel]] = {
    "clusters": _clusters,
    "cycles": _cycles,
    "lag_components": partial(_lags, kind="hf0"),
    "lag_cycles": partial(_lags, kind="hf1"),
    "mcf_conflict": _conflict,
    "mcf_changes": _changes,
}
