"""Details of the prompt that was clicked: what it is, and its nearest prompts at the layer."""

from html import escape
from typing import Any

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.tools.knowledge_map.look import clicked, n_prompts, number, shown_layer
from views.tools.knowledge_map.points import NORM_UNIT, kinds, token_text

NOTHING = (
    "Click a point: its ten nearest prompts in the space of activations. "
    "Lasso (in the figure's tool bar) lists points."
)
# Longest prompt in a row of a table, in characters.
ROW = 160


def neighbors_html(result: KnowledgeMapResult, look: Look) -> str:
    """Return the clicked prompt and its neighbors as HTML, or one sentence on what to click."""
    point = clicked(result, look)
    if point is None:
        return f"<p class='gw-secondary'>{text(NOTHING)}</p>"
    about, near = _about(result, look, point), _neighbors(result, look, point)
    return f"<div class='gw-details'>{about}{near}</div>"


def text(value: Any, most: int | None = None) -> str:
    """Return text as HTML that shows it as it is, at most `most` characters of it."""
    plain = str(value).encode("utf-8", "replace").decode()
    return escape(plain if most is None or len(plain) <= most else plain[: most - 1] + "…")


def table(header: list[str], rows: list[list[str]], numeric: set[int], caption: str) -> str:
    """Return a table of cells that are HTML already; `numeric` are the columns of numbers."""

    def line(tag: str, cells: list[str]) -> str:
        classes = [" class='gw-number'" if i in numeric else "" for i in range(len(cells))]
        pairs = zip(classes, cells, strict=True)
        return f"<tr>{''.join(f'<{tag}{c}>{cell}</{tag}>' for c, cell in pairs)}</tr>"

    body = "".join(line("td", row) for row in rows)
    named = f"<caption class='gw-secondary'>{caption}</caption>"
    return f"<table class='gw-table'>{named}<thead>{line('th', header)}</thead>{body}</table>"


def _about(result: KnowledgeMapResult, look: Look, point: int) -> str:
    layer, (name, kind) = shown_layer(result, look), kinds(result, look)
    norm = number(float(result.norm[layer, point]))
    lines = [
        ("prompt", result.prompts[point]),
        ("entity", result.entities[point] if result.entities else ""),
        ("tokens", token_text(result, point)),
        (name, kind[point]),
        (f"norm, layer {result.layers[layer]}", f"{norm} {NORM_UNIT}"),
    ]
    body = "".join(
        f"<tr><th scope='row'>{text(key)}</th><td>{text(value)}</td></tr>"
        for key, value in lines
        if value
    )
    return f"<table class='gw-table'>{body}</table>"


def _neighbors(result: KnowledgeMapResult, look: Look, point: int) -> str:
    layer, (name, kind) = shown_layer(result, look), kinds(result, look)
    near, cosines = result.neighbors[layer, point], result.neighbor_cosine[layer, point]
    rows = [
        [str(rank), text(result.prompts[sample], ROW), text(kind[sample]), _cosine(cosine)]
        for rank, (sample, cosine) in enumerate(
            zip(near.tolist(), cosines.tolist(), strict=True), 1
        )
    ]
    caption = (
        f"The {len(rows)} nearest prompts by cosine similarity of the activations, "
        f"layer {result.layers[layer]}, {n_prompts(result)}"
    )
    return table(["rank", "prompt", text(name), "cosine"], rows, {0, 3}, caption)


def _cosine(value: float) -> str:
    return f"{value:.4f}" if value == value else "not defined"
