"""Rings around points of the map: what was searched for, what was clicked, and its neighbors.

Rings have no hover and no key, so that the points in them can still be pointed at and clicked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.figure import CATEGORICAL, significant
from views.plain import Spec
from views.tools.knowledge_map.look import clicked, found, searched
from views.tools.knowledge_map.plain import scatter_type

ACCENT = CATEGORICAL[0]


@dataclass(frozen=True)
class Ring:
    """Rings of one look. `samples` returns those ringed at the layer of an index."""

    name: str
    samples: Callable[[int], Int[np.ndarray, "sample"]]
    size: int
    width: float


def rings(result: KnowledgeMapResult, look: Look) -> list[Ring]:
    """Return the rings that a look asks for; what was searched for comes last."""
    drawn = []
    point, text = clicked(result, look), searched(look)
    if point is not None:
        near = Ring("its neighbors", lambda layer: result.neighbors[layer, point], 13, 1.0)
        drawn += [near, Ring("selected", lambda layer: np.array([point]), 16, 3.0)]
    if text:
        samples = found(result, text)
        drawn.append(Ring(f"found ({len(samples)})", lambda layer: samples, 13, 2.0))
    return drawn


def ring_trace(
    result: KnowledgeMapResult, ring: Ring, rank: int, layer: int, **fields: Any
) -> Spec:
    """Return rings at the layer of this index; `rank` orders them in the legend."""
    x, y = significant(result.map[layer, ring.samples(layer)]).T.copy()
    line = {"color": ACCENT, "width": ring.width}
    return {
        "type": scatter_type(result.n),
        "x": x,
        "y": y,
        "mode": "markers",
        "name": ring.name,
        "marker": {"symbol": "circle-open", "size": ring.size, "color": ACCENT, "line": line},
        "hoverinfo": "skip",
        "legendgroup": f"ring {rank}",
        "legendrank": 3_000 + rank,
        "showlegend": True,
        **fields,
    }
