"""Blocks and tables of the models and status pages, as HTML. Every text is escaped here."""

import html
from collections.abc import Callable, Iterable, Sequence

from app.messages import problem, told


def block(title: str, draw: Callable[[], str]) -> str:
    """Return a block of the page; what goes wrong in it is told in it."""
    try:
        body = draw()
    except Exception as error:
        body = problem(told(error))
    return f'<section class="gw-block"><h3>{html.escape(title)}</h3>{body}</section>'


def table(columns: Sequence[str], rows: Iterable[str], numbers: Sequence[int] = ()) -> str:
    """Return a table of rows that are drawn already; `numbers` are columns set to the right.

    Where the window is too narrow for it, it scrolls to the side.
    """
    heads = "".join(
        f'<th scope="col"{_right(i in numbers)}>{html.escape(name)}</th>'
        for i, name in enumerate(columns)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return _scrolling(f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>")


def cell(text: str, is_number: bool = False) -> str:
    """Return a cell with text, escaped."""
    return f"<td{_right(is_number)}>{html.escape(text)}</td>"


def facts(known: dict[str, str]) -> str:
    """Return names and values as a table."""
    rows = (f'<tr><th scope="row">{html.escape(k)}</th>{cell(v)}</tr>' for k, v in known.items())
    return _scrolling(f"<tbody>{''.join(rows)}</tbody>")


def size(number: int) -> str:
    """Return bytes as people say them: kB, MB or GB."""
    unit, name = next((u for u in ((1e9, "GB"), (1e6, "MB")) if number >= u[0]), (1e3, "kB"))
    return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"


def _scrolling(content: str) -> str:
    return f'<div style="overflow-x: auto"><table class="gw-table">{content}</table></div>'


def _right(is_number: bool) -> str:
    return ' class="gw-number"' if is_number else ""
