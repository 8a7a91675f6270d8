"""Names of features and measures, and the marks of the paper's numbers."""

import numpy as np
import plotly.graph_objects as go

from views.figure import INK, significant

FEATURE_NAMES = {
    "hf0_hf1": "HF<sub>0</sub>&HF<sub>1</sub>",
    "hf1": "HF<sub>1</sub>",
    "hf0": "HF<sub>0</sub>",
    "nce": "NCE",
    "ari": "ARI",
    "overlap": "overlap",
    "raw": "labels",
}
MEASURE_NAMES = {
    "c0_bar": "average c<sub>0</sub>",
    "c1_bar": "average c<sub>1</sub>",
    "mean_vi": "mean VI (over ln N)",
    "mean_ari": "mean ARI",
    "mean_overlap": "mean overlap",
}


def diamonds(x: np.ndarray, y: np.ndarray, name: str) -> go.Scatter:
    """Return the paper's numbers, a little right of their places."""
    return go.Scatter(
        x=(x + 0.15).astype(np.float32),
        y=significant(y),
        mode="markers",
        marker={"symbol": "diamond-open", "size": 10, "color": INK},
        name=name,
        hovertext=[f"reported by the MCbiF paper: {value:.3g}" for value in y],
        hoverinfo="text",
    )
