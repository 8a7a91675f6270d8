"""Many sequences: average conflicts, distances, and two Hilbert functions side by side."""

from collections.abc import Mapping

import plotly.graph_objects as go

from backends.methods.mcbif_batch import METHOD, McbifBatchResult
from views.contract import Figure, Look, Tool
from views.tools.mcbif_batch.compare import compare_figure
from views.tools.mcbif_batch.overview import averages_figure, distances_figure
from views.tools.mcbif_batch.panel import build


def compare_hf0_figure(result: McbifBatchResult, look: Look) -> go.Figure | None:
    """Draw HF_0 of two sequences and their difference."""
    return compare_figure(result, look, "hf0")


def compare_hf1_figure(result: McbifBatchResult, look: Look) -> go.Figure | None:
    """Draw HF_1 of two sequences and their difference."""
    return compare_figure(result, look, "hf1")


FIGURES: Mapping[str, Figure] = {
    "averages": averages_figure,
    "distances": distances_figure,
    "compare_hf0": compare_hf0_figure,
    "compare_hf1": compare_hf1_figure,
}

TOOL = Tool(
    METHOD,
    "Many sequences",
    "How a batch of sequences of partitions differ in their Hilbert functions.",
    FIGURES,
    tab="mcbif",
    order=30,
    fields=("sequences", "first", "second", "rows", "count"),
    build=build,
)
