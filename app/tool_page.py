"""The page of one tool: form, Run and Stop at the left, figures and their foot at the right.

Only layout. What happens when something is pressed stands in `app/wiring.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app import about
from app.messages import duration
from backends.contract import Known
from backends.jobs.local import LONG
from views import fields
from views.contract import Panel, Tool, View
from views.slot import figure_slot

FOOT = """
<div class='gw-provenance'></div>
<div class='gw-links' hidden>
  <button type='button' class='gw-quiet' data-copies='link'>Copy link</button>
  <button type='button' class='gw-quiet' data-copies='command'>Copy command</button>
  <a class='gw-quiet' data-opens='export' download>Export</a>
  <span class='gw-secondary gw-copied' role='status'></span>
  <input class='gw-copy' aria-label='text to copy' readonly hidden>
</div>
"""


@dataclass(frozen=True)
class ToolPage:
    """The components of one tool. `form` has a component per request field; those of `uploads`
    take the file whose digest the form's component holds."""

    tool: Tool
    form: Mapping[str, Any]
    uploads: Mapping[str, Any]
    panel: Panel
    run: Any
    stop: Any
    goes_on: Any
    status: Any
    banner: Any
    foot: Any
    shown: Any
    running: Any
    visits: Any
    about: Any


def build_tool(tool: Tool, known: Known) -> ToolPage:
    """Draw a tool into the open tab."""
    import gradio as gr

    key = tool.method.key
    banner = gr.HTML("", elem_id=f"{key}-banner", elem_classes=["gw-message"])
    with gr.Row(elem_id=f"{key}-tool", elem_classes=["gw-tool"]):
        with gr.Column(min_width=300, scale=0, elem_classes=["gw-left"]):
            form, uploads = _form(tool, known)
            run, stop, goes_on = _buttons(tool)
            status = gr.HTML("", elem_id=f"{key}-status", elem_classes=["gw-status"])
            if tool.caution:
                gr.HTML(f"<p class='gw-caution'>{tool.caution}</p>")
        with gr.Column(min_width=320, scale=1, elem_classes=["gw-right"]):
            explanation = about.build(tool)
            panel = tool.build() if tool.build else plain_panel(tool)
            foot = gr.HTML(
                html_template=FOOT,
                js_on_load=about.script("foot.js"),
                elem_id=f"{key}-foot",
                elem_classes=["gw-foot"],
                apply_default_css=False,
            )
    return ToolPage(
        tool, form, uploads, panel, run, stop, goes_on, status, banner, foot,
        gr.State({}), gr.State(""), gr.State(0), explanation,
    )  # fmt: skip


def plain_panel(tool: Tool) -> Panel:
    """Return a panel of a tool's figures, one below the other, without controls."""
    key = tool.method.key
    return Panel(
        [View(figure_slot(f"{key}-{name}"), draw, uses=()) for name, draw in tool.figures.items()]
    )


def _form(tool: Tool, known: Known) -> tuple[dict[str, Any], dict[str, Any]]:
    import gradio as gr

    method, form, uploads = tool.method, {}, {}
    names = list(method.request.model_fields)
    first = tool.fields or tuple(names)
    example = method.example.model_dump(mode="json")
    adapted = tool.adapt(example, known, "") if tool.adapt else {}

    def place(name: str) -> None:
        if fields.is_upload(method.request.model_fields[name]):
            uploads[name] = fields.upload(method, name)
        form[name] = fields.component(method, name, known, adapted.get(name))

    with gr.Accordion("Settings", elem_classes=["gw-drawer"]):
        for name in first:
            place(name)
        rest = [name for name in names if name not in first]
        if rest:
            with gr.Accordion("More settings", open=False, elem_id=f"{method.key}-more"):
                for name in rest:
                    place(name)
    return {name: form[name] for name in names}, uploads


def _buttons(tool: Tool) -> tuple[Any, Any, Any]:
    import gradio as gr

    key, is_long = tool.method.key, tool.method.seconds > LONG
    with gr.Row(elem_classes=["gw-buttons"]):
        # It can be pressed once the first visit has filled the form.
        run = gr.Button(
            run_label(tool),
            variant="primary",
            interactive=False,
            elem_id=f"{key}-run",
            min_width=120,
        )
        stop = gr.Button("Stop", visible=False, elem_id=f"{key}-stop", min_width=80)
    goes_on = gr.Checkbox(
        is_long,
        label="Go on when the page is closed",
        elem_id=f"{key}-goes-on",
        elem_classes=["gw-goes-on"],
    )
    return run, stop, goes_on


def run_label(tool: Tool) -> str:
    """Return the words of the Run button: with the time that the example takes."""
    return f"Run · about {duration(tool.method.seconds)}"
