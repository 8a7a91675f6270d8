"""How the page looks: Gradio's theme with our colors, and the style sheet beside this module.

One accent for the primary button, the focus ring and the selection; everything else is ink on
paper. No font is loaded from elsewhere.
"""

from pathlib import Path
from typing import Any

CSS = (Path(__file__).parent / "look.css").read_text("utf-8")
SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
LIGHT = {"paper": "#ffffff", "panel": "#f6f7f8", "ink": "#1b1f24", "secondary": "#59636e",
         "line": "#d9dee3", "accent": "#0b6e99"}  # fmt: skip
DARK = {"paper": "#14171a", "panel": "#1b1f24", "ink": "#e6e9ec", "secondary": "#9aa4ae",
        "line": "#2d343b", "accent": "#58b4dd"}  # fmt: skip

_ROLES = {
    "paper": ("body_background_fill", "background_fill_primary", "block_background_fill",
              "input_background_fill", "checkbox_background_color"),
    "panel": ("background_fill_secondary", "button_secondary_background_fill"),
    "ink": ("body_text_color", "block_label_text_color", "block_title_text_color",
            "button_secondary_text_color", "checkbox_label_text_color"),
    "secondary": ("body_text_color_subdued", "block_info_text_color"),
    "line": ("border_color_primary", "input_border_color", "block_border_color",
             "checkbox_border_color", "button_secondary_border_color"),
    "accent": ("button_primary_background_fill", "border_color_accent",
               "slider_color", "checkbox_background_color_selected", "input_border_color_focus",
               "link_text_color", "loader_color"),
}  # fmt: skip


def theme() -> Any:
    """Return the theme. A role has one color on the light page and one on the dark."""
    import gradio as gr

    colors: dict[str, str] = {}
    for role, names in _ROLES.items():
        colors |= dict.fromkeys(names, LIGHT[role])
        colors |= {f"{name}_dark": DARK[role] for name in names}
    base = gr.themes.Base(font=SANS, font_mono=MONO, text_size="md", radius_size="sm")
    return base.set(
        **colors,
        button_primary_background_fill_hover=LIGHT["accent"],
        button_primary_background_fill_hover_dark=DARK["accent"],
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark=DARK["paper"],
        block_shadow="none",
        block_border_width="0px",
        block_padding="0px",
        input_shadow="none",
        button_primary_shadow="none",
        button_secondary_shadow="none",
    )
