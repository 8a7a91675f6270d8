"""What a tool is: the figures of one method, and where the page shows them.

A figure is a pure function of a stored result and the look (what changes only the picture: the
layer shown, the coloring). It returns None where the request has nothing of that kind to draw.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from backends.contract import Method

Look = Mapping[str, Any]
Figure = Callable[[Any, Look], go.Figure | None]


@dataclass(frozen=True)
class Tool:
    """The views of one method. `figures` maps a name, which is also the exported file's, to a
    function; `tab` and `order` say where the page shows it."""

    method: Method[Any]
    title: str
    sentence: str
    figures: Mapping[str, Figure]
    tab: str
    order: int = 100
