"""Pieces of HTML for the tables beside the figures; text of users is escaped here."""

from html import escape
from typing import Any


def text(value: Any, most: int | None = None) -> str:
    """Return text as HTML that shows it as it is, at most `most` characters of it."""
    plain = str(value).encode("utf-8", "replace").decode()
    return escape(plain if most is None or len(plain) <= most else plain[: most - 1] + "…")


def table(header: list[str], rows: list[list[str]], numeric: set[int], caption: str) -> str:
    """Return a table of cells that are HTML already; `numeric` are the columns of numbers."""
    lines = "".join(_line("td", row, numeric) for row in rows)
    named = f"<caption class='gw-secondary'>{caption}</caption>"
    head = f"<thead>{_line('th', header, numeric)}</thead>"
    return f"<table class='gw-table'>{named}{head}<tbody>{lines}</tbody></table>"


def _line(tag: str, cells: list[str], numeric: set[int]) -> str:
    classes = [" class='gw-number'" if i in numeric else "" for i in range(len(cells))]
    pairs = zip(classes, cells, strict=True)
    return f"<tr>{''.join(f'<{tag}{c}>{cell}</{tag}>' for c, cell in pairs)}</tr>"


def pairs(lines: list[tuple[str, str]]) -> str:
    """Return a table of names and values that are HTML already."""
    body = "".join(f"<tr><th scope='row'>{name}</th><td>{value}</td></tr>" for name, value in lines)
    return f"<table class='gw-table'><tbody>{body}</tbody></table>"


def sentence(words: str) -> str:
    """Return a sentence in the secondary color; the words are HTML already."""
    return f"<p class='gw-secondary'>{words}</p>"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with significant digits; what is not a number is not defined."""
    return "not defined" if value is None or value != value else f"{value:.{digits}g}"


def listed(names: list[str], most: int = 12, letters: int = 24) -> str:
    """Return the first names as HTML, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(text(name, letters) for name in names[:most]) + more
