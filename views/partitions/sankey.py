"""The Sankey diagram of a sequence: columns are scales, ribbons are elements that clusters share.

It is drawn on ordinary axes from the positions of the optimized layout, because plotly's own Sankey
moves nodes. Ribbons have the color of the cluster that their elements belong to at a chosen scale.
A click on a node or a ribbon highlights its elements in all columns.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Int

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.figure import INK, LINE, alpha
from views.partitions.coloring import coloring
from views.partitions.flow import Nodes, Ribbons, columns, height, majority, nodes, ribbons
from views.partitions.look import (
    ACCENT,
    chosen_cell,
    cluster_key,
    cluster_name,
    color_scale,
    counted,
    highlighted,
    link_key,
    n_scales,
    scale_name,
)
from views.plain import CLICK, Spec, area, assembled, boxes, marked, unseen, written

MOST_RIBBONS = 2_000
# Half the width of a node, in columns.
HALF = 0.06
# Places of a gap at which a ribbon's edge is drawn, for few ribbons and for many.
PLACES, FEWER_PLACES, MANY = 9, 6, 600
# Distance of the points of a node that can be hovered and clicked, as a share of the height.
POINTS = 1 / 24


def sankey_figure(result: PartitionResult, look: Look) -> go.Figure:
    """Draw the Sankey with the columns of the selected window highlighted."""
    drawing = _Drawing(result, look)
    shown = drawing.shown
    step = 1 + len(shown) // 14
    ticks = list(range(0, len(shown), step))
    labels = [f"{scale_name(result, shown[i], 12)}<br>k = {drawing.k[shown[i]]}" for i in ticks]
    return assembled(
        [*drawing.ribbons(), *drawing.nodes(), drawing.points(), *drawing.middles()],
        "Sankey diagram of the sequence",
        xaxis={"title": {"text": "scale; k is its number of clusters", "standoff": 8},
               "tickmode": "array", "tickvals": ticks, "ticktext": labels,
               "range": [-0.3, len(shown) - 0.7]},
        yaxis={"title": {"text": "elements, stacked by cluster", "standoff": 8},
               "range": [height(result) * 1.01, -height(result) * 0.01],
               "showticklabels": False, "ticks": ""},
        annotations=[written(drawing.note())],
        margin={"l": 40, "r": 16, "t": 72, "b": 24},
        hoverdistance=60,
        legend=drawing.legend(),
    )  # fmt: skip


def page_sankey(result: PartitionResult, look: Look) -> go.Figure:
    """Draw the Sankey for the page, whose browser shades the columns outside the window."""
    whole = f"0,{n_scales(result) - 1}"
    figure = sankey_figure(result, {**look, "cell": whole})
    shown = columns(n_scales(result), 0, n_scales(result) - 1)
    return marked(figure, shown, cell="window")


@dataclass
class _Drawing:
    result: PartitionResult
    look: Look

    @cached_property
    def window(self) -> tuple[int, int]:
        return chosen_cell(self.result, self.look)

    @cached_property
    def shown(self) -> list[int]:
        return columns(n_scales(self.result), *self.window)

    @cached_property
    def k(self) -> list[int]:
        return [int(k) for k in self.result.n_clusters]

    @cached_property
    def marked(self) -> Bool[np.ndarray, "element"]:
        return highlighted(self.result, self.look)

    @cached_property
    def at(self) -> Nodes:
        return nodes(self.result)

    @cached_property
    def coloring(self) -> tuple[Int[np.ndarray, "element"], list[str], list[str]]:
        return coloring(self.result, color_scale(self.result, self.look))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.shown, self.shown[1:], strict=False))

    @cached_property
    def found(self) -> tuple[list[Ribbons], str]:
        """Return the ribbons of each gap, and what was done to have few enough of them."""
        color = self.coloring[0]
        split = [ribbons(self.result, self.at, p, color, self.marked) for p in self.pairs]
        if _total(split) <= MOST_RIBBONS:
            return split, ""
        whole = [
            ribbons(self.result, self.at, p, majority(self.result, p, color), self.marked)
            for p in self.pairs
        ]
        return _widest(whole)

    @cached_property
    def places(self) -> int:
        return PLACES if _total(self.found[0]) <= MANY else FEWER_PLACES

    def ribbons(self) -> list[Spec]:
        """Return the ribbons: one trace for each color inside and outside the window."""
        _, colors, names = self.coloring
        s, t = self.window
        some = bool(self.marked.any())
        traces = []
        for color, (paint, name) in enumerate(zip(colors, names, strict=True)):
            for is_inside in (False, True):
                parts = [
                    (i, _taken(each, each.color == color))
                    for i, (each, (a, b)) in enumerate(zip(self.found[0], self.pairs, strict=True))
                    if (s <= a and b <= t) == is_inside
                ]
                opacity = (0.1 if some else 0.18) if not is_inside else (0.22 if some else 0.6)
                traces.append(
                    _filled(parts, alpha(paint, opacity), name, str(color), is_inside, self.places)
                )
        return [*_once(traces), *self._overlay()]

    def _overlay(self) -> list[Spec]:
        if not self.marked.any():
            return []
        zero = np.zeros(len(self.marked), np.int64)
        parts = [
            (i, ribbons(self.result, self.at, pair, zero, self.marked, only_marked=True))
            for i, pair in enumerate(self.pairs)
        ]
        name = f"highlighted: N = {int(self.marked.sum()):,} elements"
        return [_filled(parts, ACCENT, name, "marked", True, self.places)]

    def nodes(self) -> list[Spec]:
        """Return the nodes, those of the window in ink."""
        s, t = self.window
        size, top, traces = self.result.cluster_size, self.at.top, []
        for is_inside, paint in ((False, LINE), (True, INK)):
            places = [(i, m) for i, m in enumerate(self.shown) if (s <= m <= t) == is_inside]
            x = [i for i, m in places for _ in range(self.k[m])]
            here = np.array([c for _, m in places for c in self.at.of[m, : self.k[m]]], np.int64)
            outlines = boxes(x, top[here], top[here] + size[here], HALF)
            traces.append(area(*outlines, paint, showlegend=False))
        return traces

    def points(self) -> Spec:
        """Return the points of the nodes that are hovered and clicked; they are not seen."""
        result, step = self.result, height(self.result) * POINTS
        x, y, keys, texts = [], [], [], []
        for i, m in enumerate(self.shown):
            for c in range(self.k[m]):
                cluster = self.at.of[m, c]
                size, top = int(result.cluster_size[cluster]), float(self.at.top[cluster])
                several = max(1, round(size / step))
                x += [i] * several
                y += [top + size * (j + 0.5) / several for j in range(several)]
                keys += [cluster_key(m, c)] * several
                texts += [self._node_text(m, c, size)] * several
        return unseen(x, y, keys, texts, CLICK)

    def _node_text(self, m: int, c: int, size: int) -> str:
        result = self.result
        inside = int(self.marked[result.labels[m] == c].sum())
        lines = [
            f"cluster {cluster_name(result, m, c)} (number {c})",
            f"scale {scale_name(result, m)} (number {m}), k = {self.k[m]}",
            f"N = {size:,} elements",
            *([f"{inside:,} of them highlighted"] if self.marked.any() else []),
        ]
        return "<br>".join(lines)

    def middles(self) -> list[Spec]:
        """Return the points in the middle of the ribbons; they are not seen."""
        x, y, keys, texts = [], [], [], []
        for i, (each, (a, b)) in enumerate(zip(self.found[0], self.pairs, strict=True)):
            label = self.result.cluster_label
            first, second = label[each.source].tolist(), label[each.target].tolist()
            x += [i + 0.5] * len(first)
            y += ((each.left + each.right + each.width) / 2).tolist()
            keys += [link_key((a, c), (b, d)) for c, d in zip(first, second, strict=True)]
            texts += self._link_texts((a, b), first, second, each.width.tolist())
        return [unseen(x, y, keys, texts, CLICK)] if x else []

    def _link_texts(
        self, pair: tuple[int, int], first: list[int], second: list[int], width: list[int]
    ) -> list[str]:
        a, b = pair
        left, right = (f" at scale {scale_name(self.result, m)}" for m in pair)
        from_ = {c: cluster_name(self.result, a, c) for c in set(first)}
        to = {d: cluster_name(self.result, b, d) for d in set(second)}
        return [
            f"from {from_[c]}{left}<br>to {to[d]}{right}<br>N = {n:,} elements of this color"
            for c, d, n in zip(first, second, width, strict=True)
        ]

    def legend(self) -> Spec:
        """Return the legend below, which says what the colors are."""
        scale = scale_name(self.result, color_scale(self.result, self.look), 12)
        return {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom",
                "title": {"text": f"clusters at scale {scale} (elements)", "side": "top",
                          "font": {"size": 12}}}  # fmt: skip

    def note(self) -> str:
        """Return what stands over the plot."""
        result, (s, t) = self.result, self.window
        lines = [
            counted(result),
            f"{result.crossing_number:,} crossings (every layout: at least "
            f"{result.crossing_lower_bound:,})",
        ]
        if (s, t) != (0, n_scales(result) - 1):
            lines.append(f"window: scales {scale_name(result, s)} to {scale_name(result, t)}")
        if len(self.shown) < n_scales(result):
            lines.append(f"{len(self.shown)} of {n_scales(result)} scales drawn")
        return "<br>".join(lines) + self.found[1]


def _total(found: list[Ribbons]) -> int:
    return sum(len(each.width) for each in found)


def _widest(found: list[Ribbons]) -> tuple[list[Ribbons], str]:
    """Return at most the allowed number of ribbons, the widest, and what was left out in words."""
    words, total = "; each link in its most frequent color", _total(found)
    if total <= MOST_RIBBONS:
        return found, words
    width = np.concatenate([each.width for each in found])
    kept = np.zeros(total, bool)
    # Of equal widths, multiples of the golden ratio take evenly from all columns.
    spread = np.arange(total) * 0.6180339887 % 1
    kept[np.lexsort((spread, -width))[:MOST_RIBBONS]] = True
    ends = np.cumsum([len(each.width) for each in found])[:-1]
    parts = [_taken(e, k) for e, k in zip(found, np.split(kept, ends), strict=True)]
    return parts, f"{words}; the {MOST_RIBBONS:,} widest of {total:,} links drawn"


def _taken(each: Ribbons, which: np.ndarray) -> Ribbons:
    fields = ("left", "right", "width", "color", "source", "target")
    return replace(each, **{name: getattr(each, name)[which] for name in fields})


def _once(traces: list[Spec]) -> list[Spec]:
    """Drop traces without ribbons; of each color, name the first of the others in the legend."""
    seen: set[str] = set()
    kept = [each for each in traces if len(each["x"])]
    for each in reversed(kept):
        each["showlegend"] = each["legendgroup"] not in seen
        seen.add(each["legendgroup"])
    return kept


def _filled(
    parts: list[tuple[int, Ribbons]],
    paint: str,
    name: str,
    group: str,
    is_inside: bool,
    places: int,
) -> Spec:
    """Return the ribbons of several gaps as one trace of polygons."""
    along = np.linspace(0, 1, places)
    curve = along**2 * (3 - 2 * along)
    across = HALF + (1 - 2 * HALF) * along
    x, y = [np.empty((0, 2 * places))], [np.empty((0, 2 * places))]
    for i, each in parts:
        upper = each.left[:, None] + (each.right - each.left)[:, None] * curve
        lower = upper + each.width[:, None]
        y.append(np.hstack([upper, lower[:, ::-1]]))
        x.append(np.tile(np.r_[i + across, i + across[::-1]], (len(upper), 1)))
    fields = {"name": name, "legendgroup": group, "legendrank": 1 if is_inside else 2}
    return area(np.concatenate(x), np.concatenate(y), paint, **fields)
