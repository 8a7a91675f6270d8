"""What stands above a tool's figures: its sentence, and how to read it, from the method's page."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from views.contract import Tool

ROOT = Path(__file__).parents[1]
HEADINGS = ("What this shows", "How to read it", "What it does not show")


def build(tool: Tool) -> Any:
    """Draw the explanation, folded, and return it; the method's whole page is in it."""
    import gradio as gr

    gr.HTML(f"<h2 class='gw-heading'>{tool.title}</h2><p class='gw-sentence'>{tool.sentence}</p>")
    with gr.Accordion(
        "What this shows, and how to read it",
        open=False,
        elem_id=f"{tool.method.key}-about",
        elem_classes=["gw-about"],
    ) as folded:
        gr.Markdown(explanation(tool), elem_classes=["gw-prose"])
        with gr.Accordion("Formula and source: the method's page", open=False):
            gr.Markdown(page(tool.method.key), elem_classes=["gw-prose"])
    return folded


@cache
def page(key: str) -> str:
    """Return a method's page, or a sentence if this installation has no documents."""
    file = ROOT / "docs" / "methods" / f"{key}.md"
    return file.read_text("utf-8") if file.is_file() else f"docs/methods/{key}.md is not here."


def explanation(tool: Tool) -> str:
    """Return the paragraphs of the method's page that explain the figures.

    They begin with **What this shows**, **How to read it**, **What it does not show**.
    """
    text = page(tool.method.key)
    found = [_paragraph(text, heading) for heading in HEADINGS]
    return "\n\n".join(part for part in found if part) or tool.sentence


def _paragraph(text: str, heading: str) -> str:
    match = re.search(rf"^\*\*{heading}\.\*\*.*?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return match.group(0) if match else ""


@cache
def script(name: str) -> str:
    """Return a script of this folder."""
    return (Path(__file__).parent / name).read_text("utf-8")
