"""How figures look: the plotly template, the colors, and the forms that carry meaning.

The visual language is written once, here: categorical colors that hold for color-blind readers,
grey dashes for controls, a thin line of ink for baselines, a band at 18 % for intervals, light grey
hatch for what is not defined. Text of users is escaped here before plotly reads it as HTML.

Figures draw for plotly.js 4, the version inside plotly 7. Colors that a dark page must turn are
`INK` (baselines, marks) and the font's, which pieces inherit from the layout.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

INK = "#1b1f24"
SECONDARY = "#59636e"
LINE = "#9aa4ae"
FAINT = "#c4cad0"
CONTROL = "#6b7280"
CATEGORICAL = (
    "#0b6e99",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7a5195",
    "#6b7280",
)
SYMBOLS = ("circle", "diamond", "square")
SEQUENTIAL = "Cividis"
DIVERGING = ((0.0, "#8c510a"), (0.5, "#f5f5f5"), (1.0, "#01665e"))
CYCLIC = "IceFire"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

# Classes that color and symbol can tell apart.
DISTINCT = len(CATEGORICAL) * len(SYMBOLS)
# Above this number of points a scatter is drawn by WebGL.
MANY_POINTS = 5_000

# The tool bar keeps picture, zoom, pan and reset; nothing is sent to a cloud service.
TOOLS_LEFT_OUT = (
    "sendChartToCloud",
    "select2d",
    "lasso2d",
    "zoomIn2d",
    "zoomOut2d",
    "autoScale2d",
)

_AXIS = {
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": LINE,
    "showline": True,
    "linecolor": LINE,
    "showgrid": False,
    "zeroline": False,
    "automargin": True,
    "title": {"standoff": 8, "font": {"size": 13}},
}
# A line break, a tab or another control character of a text would break a hover.
_GLYPHS = {ord("\n"): "↵", ord("\t"): "⇥", **{c: "" for c in range(32) if c not in (9, 10)}}


def template() -> go.layout.Template:
    """Return the project's plotly template: light, no grid, ticks outward."""
    return go.layout.Template(
        layout={
            "colorway": CATEGORICAL,
            "colorscale": {"sequential": SEQUENTIAL, "diverging": DIVERGING},
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": "#ffffff",
            "plot_bgcolor": "#ffffff",
            "hovermode": "closest",
            "hoverlabel": {"align": "left", "namelength": -1, "font": {"family": FONT, "size": 12}},
            "legend": {"font": {"size": 12}, "tracegroupgap": 4},
            "modebar": {"remove": TOOLS_LEFT_OUT},
            "xaxis": _AXIS,
            "yaxis": _AXIS,
        }
    )


def escape(text: str, limit: int | None = None) -> str:
    """Return text that plotly shows as it is: no tags, no line breaks, at most `limit` characters.

    Line breaks and tabs become glyphs. The limit counts characters as shown.
    """
    shown = text.translate(_GLYPHS).encode("utf-8", "replace").decode()
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return html.escape(shown, quote=False)


def alpha(color: str, opacity: float) -> str:
    """Return `#rrggbb` as rgba with the given opacity, 0..1."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def series_color(index: int) -> str:
    """Return the categorical color of series `index`; the ninth has the first color again."""
    return CATEGORICAL[index % len(CATEGORICAL)]


def series_symbol(index: int) -> str:
    """Return the marker symbol of series `index`; it changes where the colors start again."""
    return SYMBOLS[index // len(CATEGORICAL) % len(SYMBOLS)]


def control_line(dash: str = "dash") -> dict[str, Any]:
    """Return the line style of a control."""
    return {"color": CONTROL, "width": 1.5, "dash": dash}


def baseline(figure: go.Figure, y: float, label: str, **place: Any) -> None:
    """Draw a baseline: a thin line of ink at `y`, labeled right of its end. `place`: row, col."""
    figure.add_hline(
        y,
        line={"color": INK, "width": 1},
        annotation={"text": label, "font": {"size": 11}, "align": "left"},
        annotation_position="right",
        **place,
    )


def scatter(points: int, **fields: Any) -> go.Scatter | go.Scattergl:
    """Return a scatter trace; one of many points is drawn by WebGL."""
    return (go.Scattergl if points > MANY_POINTS else go.Scatter)(**fields)


def significant(values: Any, digits: int = 4) -> np.ndarray:
    """Round to significant digits, as float32. NaN and infinity stay."""
    exact = np.asarray(values, np.float64)
    safe = np.where(np.isfinite(exact) & (exact != 0), exact, 1.0)
    step = 10.0 ** (np.floor(np.log10(np.abs(safe))) - digits + 1)
    return np.where(safe == exact, np.round(safe / step) * step, exact).astype(np.float32)


def runs(defined: Any) -> list[slice]:
    """Return the maximal runs of true values, as slices."""
    edges = np.flatnonzero(np.diff(np.r_[0, np.asarray(defined, bool).astype(int), 0]))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _loops(x: Any, low: Any, high: Any, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the outlines of a band, one for each run of defined values, with NaN between."""
    x, low, high = (np.asarray(v, np.float64) for v in (x, low, high))
    across: list[np.ndarray] = [np.array([])]
    up: list[np.ndarray] = [np.array([])]
    for run in runs(np.isfinite(low) & np.isfinite(high)):
        alone = run.stop - run.start == 1
        along = x[run][[0, 0]] + [-half, half] if alone else x[run]
        below, above = (np.broadcast_to(v[run], along.shape) for v in (low, high))
        across += [along, along[::-1], np.array([np.nan])]
        up += [below, above[::-1], np.array([np.nan])]
    return significant(np.concatenate(across)), significant(np.concatenate(up))


def band(x: Any, low: Any, high: Any, color: str, half: float = 0.2, **fields: Any) -> go.Scatter:
    """Return an interval as a band of the series' color at 18 %.

    Undefined bounds leave a gap; a value alone gets a band of `half` a width to each side.
    """
    across, up = _loops(x, low, high, half)
    return go.Scatter(
        **{
            "x": across,
            "y": up,
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": alpha(color, 0.18),
            "hoverinfo": "skip",
            "showlegend": False,
            **fields,
        }
    )


def hatch(x: Any, defined: Any, low: float, high: float, **fields: Any) -> go.Scatter | None:
    """Return light grey hatch over the places of `x` that are not defined, None if all are."""
    missing = ~np.asarray(defined, bool)
    if not missing.any():
        return None
    x = np.asarray(x, np.float64)
    middle = (x[1:] + x[:-1]) / 2
    left, right = np.r_[x[0] - 0.5, middle], np.r_[middle, x[-1] + 0.5]
    boxes = [(left[run][0], right[run][-1]) for run in runs(missing)]
    return go.Scatter(
        x=np.array([v for a, b in boxes for v in (a, a, b, b, np.nan)], np.float32),
        y=np.array([low, high, high, low, np.nan] * len(boxes), np.float32),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillpattern={"shape": "/", "fgcolor": FAINT, "bgcolor": "rgba(0,0,0,0)", "size": 6},
        hoverinfo="skip",
        name="not defined",
        **fields,
    )


def gaps(name: str, values: Any) -> str:
    """Return a series' legend name, which says where the series is not defined."""
    missing = int(np.sum(~np.isfinite(values)))
    if missing == np.size(values):
        return f"{name}: not defined"
    places = "1 layer" if missing == 1 else f"{missing} layers"
    return f"{name}, not defined at {places}" if missing else name


def layer_axis(layers: Sequence[int], most: int = 9) -> dict[str, Any]:
    """Return an x axis of layers from 0: integer ticks, at most `most` and the last layer's."""
    last = max(layers)
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500) if last / s <= most)
    ticks = list(range(0, last + 1, step))
    return {
        "title": {"text": "layer (0 is the first block)"},
        "tickmode": "array",
        "tickvals": ticks,
        "range": [-0.5, last + 0.5],
    }


def note(figure: go.Figure, text: str, above: int = 6) -> None:
    """Write a line (N, a setting) `above` px over the plot's left end; right is the tool bar."""
    figure.add_annotation(
        text=text,
        x=0,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=above,
        showarrow=False,
        font={"size": 12},
    )


def sentence_figure(sentence: str) -> go.Figure:
    """Return axes without data that say in one sentence what will appear."""
    figure = go.Figure()
    figure.add_annotation(
        text=escape(sentence), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
    )
    bare = {"showticklabels": False, "range": [0, 1], "ticks": ""}
    return finish(figure, "", xaxis=bare, yaxis=bare, dragmode=False)


def finish(figure: go.Figure, title: str, **layout: Any) -> go.Figure:
    """Give a figure the template, margins and its title, which only exports draw.

    The title lies in `layout.meta`; the legend stands below, at the figure's lower edge. `layout`
    overrides any of it.
    """
    below = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
    figure.update_layout(
        template=template(),
        meta={"title": title},
        margin={"l": 64, "r": 24, "t": 40, "b": 24},
        legend=below,
    )
    return figure.update_layout(**layout)
