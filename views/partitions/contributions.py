"""The contribution of each element to the average conflicts, as a table that can be sorted.

The browser sorts it (`contributions.js`). A click on a row highlights its element in the Sankey.
Nothing of the value is interpolated into HTML.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from backends.partitions.result import PartitionResult
from views.contract import Look
from views.partitions.look import element_key, highlighted

# Rows in the page; above it those of the largest absolute contributions.
MOST_ROWS = 500
TEMPLATE = "<p class='gw-secondary'></p><div class='gw-details' tabindex='0'></div>"
NOT_COMPUTED = "Contributions of the elements: not computed."


def contributions_place(elem_id: str) -> Any:
    """Return an empty place for the table."""
    import gradio as gr

    return gr.HTML(
        html_template=TEMPLATE,
        js_on_load=_script(),
        elem_id=elem_id,
        apply_default_css=False,
    )


@cache
def _script() -> str:
    return (Path(__file__).parent / "contributions.js").read_text("utf-8")


def contributions_json(result: PartitionResult, look: Look) -> str:
    """Return the table as the JSON that the place takes."""
    changes = np.stack([result.contribution_c0, result.contribution_c1], 1).astype(np.float64)
    there = np.flatnonzero(np.isfinite(changes).all(axis=1))
    if not there.size:
        return json.dumps({"caption": NOT_COMPUTED, "rows": []})
    order = there[np.argsort(changes[there, 1], kind="stable")]
    if len(order) > MOST_ROWS:
        size = np.abs(changes[order]).max(axis=1)
        order = order[np.sort(np.argsort(-size, kind="stable")[:MOST_ROWS])]
    marked = highlighted(result, look)
    rows = [
        {
            "key": element_key(x),
            "name": result.elements[x].encode("utf-8", "replace").decode()[:80],
            "values": [float(f"{v:.4g}") for v in changes[x].tolist()],
            "marked": bool(marked[x]),
        }
        for x in order.tolist()
    ]
    header = ["element", "change of average c₀", "change of average c₁"]
    return json.dumps({"caption": _caption(result, len(there)), "header": header, "rows": rows})


def _caption(result: PartitionResult, count: int) -> str:
    listed = f"; the {MOST_ROWS} largest changes are listed" if count > MOST_ROWS else ""
    return (
        f"Averages without an element (and its twins) minus those with it, N = {count:,} of "
        f"{result.n:,} elements{listed}. Negative: the element makes conflict. Click a row to "
        "highlight its element, a heading to sort."
    )
