"""The page of one sequence: strip, boards, window, Sankey, slices, curves, contributions.

The tools that make a sequence share it; each gives the key that its components are named after.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from views.contract import Panel, View
from views.partitions.boards import board_figure
from views.partitions.contributions import contributions_json, contributions_place
from views.partitions.curves import NAMES, curve_figure
from views.partitions.fit import COLORS, fit
from views.partitions.look import DIRECTIONS
from views.partitions.nerve import nerve_figure
from views.partitions.sankey import page_sankey
from views.partitions.slices import slice_figure
from views.partitions.strip import strip_html
from views.partitions.window import window_html
from views.slot import figure_slot


def build_panel(key: str) -> Panel:
    """Place controls and figures of a sequence, and say what depends on what."""
    page = _Page(key)
    views = [*page.strip(), *page.boards(), *page.window(), *page.sankey(), *page.slices()]
    views += [*page.curves(), *page.contributions()]
    return Panel(views, look=page.controls, fit=fit)


class _Page:
    """Components are placed in the order in which they are made."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.controls: dict[str, Any] = {}

    def strip(self) -> list[View]:
        return [View(self._html("strip"), strip_html, uses=())]

    def boards(self) -> list[View]:
        import gradio as gr

        self.controls["cell"] = gr.Textbox(
            "", visible="hidden", show_label=False, elem_id=f"{self.key}-cell"
        )
        with self._row("board-controls"):
            self._radio("color", "Colors of counts", COLORS, "linear")
        hilbert = self._pair(("hf0", "hf1"), "large", ("color", "direction"))
        conflict = self._pair(("c0", "delta1"), "medium", ("direction",))
        return [*hilbert, *conflict]

    def _pair(self, names: tuple[str, str], height: str, uses: tuple[str, ...]) -> list[View]:
        import gradio as gr

        views = []
        with gr.Row():
            for name in names:
                draw = partial(board_figure, name=name)
                with gr.Column(min_width=320):
                    view = self._figure(name, draw, uses, "cell", height)
                    views.append(replace(view, marks=("cell", "at")))
        return views

    def window(self) -> list[View]:
        import gradio as gr

        with gr.Row():
            with gr.Column(min_width=320):
                words = View(self._html("window-words"), window_html, uses=("cell",))
            with gr.Column(min_width=320):
                nerve = self._figure("window", nerve_figure, ("cell",), "elements")
        return [words, nerve]

    def sankey(self) -> list[View]:
        import gradio as gr

        with self._row("sankey-controls"):
            self.controls["colorby"] = gr.Dropdown(
                [],
                value=None,
                label="Color by the clusters of scale",
                interactive=True,
                elem_id=f"{self.key}-colorby",
                min_width=200,
            )
            self.controls["elements"] = gr.Textbox(
                label="Highlight",
                placeholder="Elements whose name contains…, or click a cluster",
                max_lines=1,
                max_length=200,
                elem_id=f"{self.key}-elements",
                min_width=240,
            )
        uses = ("colorby", "elements")
        view = self._figure("sankey", page_sankey, uses, "elements", "large")
        return [replace(view, marks=("cell",))]

    def slices(self) -> list[View]:
        import gradio as gr

        with self._row("slice-controls"):
            self._radio("direction", "Slice", DIRECTIONS, "row")
            self.controls["at"] = gr.Slider(
                0,
                1,
                0,
                step=1,
                label="Slice at s, t or t − s (number, from 0)",
                elem_id=f"{self.key}-at",
                min_width=240,
            )
        return [self._figure("slices", slice_figure, ("direction", "at"), "cell")]

    def curves(self) -> list[View]:
        import gradio as gr

        views = []
        for first in range(0, len(NAMES), 2):
            with gr.Row():
                for name in NAMES[first : first + 2]:
                    draw = partial(curve_figure, name=name)
                    with gr.Column(min_width=320):
                        views.append(self._figure(name, draw, (), "cell"))
        return views

    def contributions(self) -> list[View]:
        place = contributions_place(f"{self.key}-elements-table")
        return [View(place, contributions_json, uses=("elements",), click="elements")]

    def _row(self, name: str) -> Any:
        import gradio as gr

        return gr.Row(elem_id=f"{self.key}-{name}", elem_classes=["gw-controls"])

    def _radio(self, name: str, label: str, choices: Any, value: str) -> None:
        import gradio as gr

        self.controls[name] = gr.Radio(
            list(choices), value=value, label=label, elem_id=f"{self.key}-{name}", min_width=240
        )

    def _html(self, name: str) -> Any:
        import gradio as gr

        return gr.HTML("", elem_id=f"{self.key}-{name}")

    def _figure(
        self,
        name: str,
        draw: Callable[..., Any],
        uses: tuple[str, ...],
        click: str = "",
        height: str = "medium",
    ) -> View:
        slot = figure_slot(f"{self.key}-{name}", height, label=name)
        return View(slot, draw, uses=uses, click=click)
