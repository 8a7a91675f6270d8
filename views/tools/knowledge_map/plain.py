"""Grids of plots and scatters as plain dictionaries; see `views/plain.py` for why."""

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from plotly.subplots import make_subplots

from views.figure import MANY_POINTS, significant
from views.plain import Spec


def grid(rows: int, columns: int, titles: Sequence[str], **spacing: float) -> Spec:
    """Return the axes and headings of a grid of plots; those without a title are left out."""
    layout = deepcopy(_grid(rows, columns, **spacing))
    left_out = [i + 1 for i in range(len(titles), rows * columns)]
    for name in [f"{axis}axis{i}" for axis in "xy" for i in left_out]:
        del layout[name]
    headings = zip(layout["annotations"], titles, strict=False)
    layout["annotations"] = [{**heading, "text": text} for heading, text in headings]
    return layout


@cache
def _grid(rows: int, columns: int, **spacing: float) -> Spec:
    titles = ["·"] * (rows * columns)
    figure = make_subplots(rows, columns, subplot_titles=titles, **_spaced(spacing))
    layout = dict(figure.layout.to_plotly_json())
    layout.pop("template", None)
    return layout


def _spaced(spacing: Spec) -> Spec:
    return {f"{direction}_spacing": value for direction, value in spacing.items()}


def scatter_type(points: int) -> str:
    """Return the type of a scatter trace; one of many points is drawn by WebGL."""
    return "scattergl" if points > MANY_POINTS else "scatter"


def numbers(values: Any) -> list[Any]:
    """Return an array as nested lists of short decimals of four digits, None for undefined ones."""
    rounded = significant(values).astype(np.float64)
    is_number = np.isfinite(rounded)
    safe = np.where(is_number & (rounded != 0), rounded, 1.0)
    scale = 10.0 ** np.clip(3 - np.floor(np.log10(np.abs(safe))), 0, 22)
    # Divided by a power of ten, and not multiplied by one, a number is the nearest to its decimal.
    decimals = (np.round(np.where(is_number, rounded, 0.0) * scale) / scale).astype(object)
    decimals[~is_number] = None
    return list(decimals.tolist())
