"""The points of a lasso: a table of them, and all of them as a CSV file in a link."""

import base64
import csv
import io
from collections.abc import Iterator

from backends.methods.knowledge_map import KnowledgeMapResult
from views.contract import Look
from views.tools.knowledge_map.details import ROW, table, text
from views.tools.knowledge_map.look import selected, shown_layer
from views.tools.knowledge_map.points import kinds

MOST_ROWS = 200
# A spreadsheet reads a cell that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def selection_html(result: KnowledgeMapResult, look: Look) -> str | None:
    """Return the selected prompts as HTML; None where none is selected."""
    samples = selected(result, look)
    if not samples:
        return None
    name, kind = kinds(result, look)
    rows = [[text(result.prompts[i], ROW), text(kind[i])] for i in samples[:MOST_ROWS]]
    listed = table(["prompt", text(name)], rows, set(), _caption(result, samples))
    content = selection_csv(result, look).encode("utf-8", "replace")
    link = f"data:text/csv;charset=utf-8;base64,{base64.b64encode(content).decode()}"
    download = f"<p><a download='selection.csv' href='{link}'>Download as CSV</a></p>"
    return f"<div class='gw-details'>{download}{listed}</div>"


def _caption(result: KnowledgeMapResult, samples: list[int]) -> str:
    shown = f"; the first {MOST_ROWS} are listed" if len(samples) > MOST_ROWS else ""
    return f"N = {len(samples)} selected of {result.n} prompts{shown}"


def selection_csv(result: KnowledgeMapResult, look: Look) -> str:
    """Return the selected prompts as CSV: texts, labels, value, place and norm at the layer."""
    layer = shown_layer(result, look)
    number = result.layers[layer]
    places = (f"x, layer {number}", f"y, layer {number}", f"norm, layer {number}")
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    optional = ["entity"] * bool(result.entities), ["value"] * (result.values is not None)
    columns = [guarded(name) for name in result.label_columns]
    writer.writerow(["prompt", *optional[0], *columns, *optional[1], *places])
    writer.writerows(list(_cells(result, i, layer)) for i in selected(result, look))
    return file.getvalue()


def _cells(result: KnowledgeMapResult, sample: int, layer: int) -> Iterator[str]:
    yield guarded(result.prompts[sample])
    if result.entities:
        yield guarded(result.entities[sample])
    for labels, classes in zip(result.labels[:, sample], result.classes, strict=True):
        yield guarded(classes[labels]) if labels >= 0 else ""
    if result.values is not None:
        yield f"{result.values[sample]:g}"
    x, y = result.map[layer, sample]
    yield from (f"{value:.6g}" for value in (x, y, result.norm[layer, sample]))


def guarded(cell: str) -> str:
    """Return a text cell that no spreadsheet takes for a formula; numbers need no guard."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell
