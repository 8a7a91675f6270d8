"""The sweep: how many clusters each value gives, and how far neighbors are apart."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go

from backends.contract import Known
from backends.methods.mcbif_sweep import METHOD, McbifSweepResult
from backends.methods.mcbif_sweep.request import ALGORITHMS
from views.contract import Figure, Look, Panel, Tool, View
from views.figure import series_color
from views.partitions.markup import listed, sentence
from views.plain import Spec, assembled, line, said, written
from views.slot import figure_slot

KEY = "mcbif_sweep"
PARAMETERS = {"k": "number of clusters asked for", "resolution": "resolution (log)"}


def clusters_figure(result: McbifSweepResult, look: Look) -> go.Figure:
    """Draw the number of clusters and the partition's own measure by value."""
    measure, values, unit = _measure(result)
    words = _n(result)
    hovers = [
        f"{result.parameter} = {scale:g}<br>{k:,} clusters<br>{measure}: {value:.4g}<br>{words}"
        for scale, k, value in zip(result.scales, result.n_clusters, values, strict=True)
    ]
    own: Spec = {"hovertext": hovers, "hoverinfo": "text"}
    right = {"title": {"text": unit}, "anchor": "x", "overlaying": "y", "side": "right",
             "tickmode": "auto"}  # fmt: skip
    return assembled(
        [
            line(result.scales, result.n_clusters, series_color(0), "clusters (left)", **own),
            line(result.scales, values, series_color(1), f"{measure} (right)", yaxis="y2", **own),
        ],
        "Clusters by value",
        xaxis=_values_axis(result),
        yaxis={"title": {"text": "clusters"}, "rangemode": "tozero"},
        yaxis2=right,
        annotations=[written(_n(result))],
        margin={"l": 64, "r": 64, "t": 40, "b": 24},
    )


def neighbors_figure(result: McbifSweepResult, look: Look) -> go.Figure:
    """Draw the variation of information between each partition and the next."""
    pairs = list(zip(result.scales, result.scales[1:], strict=False))
    middle = [np.sqrt(a * b) if result.parameter == "resolution" else (a + b) / 2 for a, b in pairs]
    hovers = [
        f"{result.parameter} = {a:g} and {b:g}<br>VI: {value:.4g} nats<br>{_n(result)}"
        for (a, b), value in zip(pairs, result.variation_of_information, strict=True)
    ]
    trace = line(
        middle,
        result.variation_of_information,
        series_color(0),
        "VI between neighbors",
        hovertext=hovers,
        hoverinfo="text",
        showlegend=False,
    )
    alone = [] if pairs else [said("one value has no neighbor")]
    return assembled(
        [trace],
        "Variation of information between neighbors",
        xaxis=_values_axis(result),
        yaxis={"title": {"text": "variation of information (nats)"}, "rangemode": "tozero"},
        annotations=[written(_n(result)), *alone],
    )


def _measure(result: McbifSweepResult) -> tuple[str, np.ndarray, str]:
    if result.source == "graph":
        return "modularity", result.modularity, "modularity at resolution 1 (no unit)"
    return "inertia", result.inertia, "inertia (squared unit of the data)"


def _n(result: McbifSweepResult) -> str:
    return f"N = {result.n:,} {'nodes' if result.source == 'graph' else 'points'}"


def _values_axis(result: McbifSweepResult) -> Spec:
    axis: Spec = {"title": {"text": PARAMETERS[result.parameter]}}
    if result.parameter == "k":
        return axis
    ticks = [digit * 10.0**power for power in range(-6, 4) for digit in (1, 2, 5)]
    return axis | {"type": "log", "tickmode": "array", "tickvals": ticks}


def link_html(result: McbifSweepResult, look: Look) -> str:
    """Return what was done to the data and a link that opens the partitions in `mcbif`."""
    query = urlencode({"method": "mcbif", "partitions": result.table})
    count = len(result.scales)
    words = (
        f"{count} {'partition' if count == 1 else 'partitions'} of {_n(result)}, {result.algorithm}"
    )
    link = f"<p><a href='?{query}' target='_self'>Open in Hilbert functions</a></p>"
    return sentence(f"{words}. {listed(result.notes, letters=200)}") + link


def adapt(values: Mapping[str, Any], known: Known, changed: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the algorithms that fit the source; after a change of source, its own values."""
    fitting = ALGORITHMS.get(str(values.get("source")), ALGORITHMS["points"])
    chosen = values.get("algorithm")
    kept = chosen if chosen in fitting else fitting[0]
    offered: dict[str, Mapping[str, Any]] = {"algorithm": {"choices": list(fitting), "value": kept}}
    return offered | ({"values": {"value": "auto"}} if changed == "source" else {})


def build() -> Panel:
    """Place the link above the figures."""
    import gradio as gr

    return Panel(
        [
            View(gr.HTML("", elem_id=f"{KEY}-link"), link_html, uses=()),
            View(figure_slot(f"{KEY}-clusters", "medium", label="clusters"), clusters_figure, ()),
            View(
                figure_slot(f"{KEY}-neighbors", "medium", label="neighbors"), neighbors_figure, ()
            ),
        ]
    )


FIGURES: Mapping[str, Figure] = {"clusters": clusters_figure, "neighbors": neighbors_figure}

TOOL = Tool(
    METHOD,
    "Sweep",
    "Cluster points or a graph over a parameter.",
    FIGURES,
    tab="mcbif",
    order=20,
    fields=("source", "data", "algorithm", "values"),
    build=build,
    adapt=adapt,
)
