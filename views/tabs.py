"""The tabs of the page, in order: key, title, and what a tab will hold while it has no tool."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tab:
    """One tab. `sentence` is shown as long as no tool is there."""

    key: str
    title: str
    sentence: str


TABS = (
    Tab(
        "sae",
        "SAE features",
        "Here you will browse the features of sparse autoencoders: what makes each of them active, "
        "what it promotes, and what steering with it does.",
    ),
    Tab("maps", "Knowledge maps", ""),
    Tab(
        "rope",
        "RoPE heads",
        "Here you will see which heads deposit attention at which distance, band by rotary band.",
    ),
    Tab(
        "diffusion",
        "Diffusion",
        "Here you will follow at which step of a diffusion run a concept enters the image.",
    ),
    Tab("mcbif", "MCbiF", ""),
)
