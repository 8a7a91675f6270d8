"""The knowledge map: how a language model arranges the concepts of a set, layer by layer."""

from collections.abc import Mapping

from backends.methods.knowledge_map import METHOD
from views.concepts import adapt
from views.contract import Figure, Tool
from views.tools.knowledge_map.age import age_figure
from views.tools.knowledge_map.collapse import collapse_figure
from views.tools.knowledge_map.panel import build
from views.tools.knowledge_map.player import map_figure
from views.tools.knowledge_map.progression import progression_figure
from views.tools.knowledge_map.separability import separability_figure

FIGURES: Mapping[str, Figure] = {
    "map": map_figure,
    "separability": separability_figure,
    "age": age_figure,
    "progression": progression_figure,
    "collapse": collapse_figure,
}

TOOL = Tool(
    METHOD,
    "Map",
    "How the model arranges concepts, layer by layer.",
    FIGURES,
    tab="maps",
    order=10,
    fields=("domain", "table", "labels", "model", "layers", "projection"),
    build=build,
    adapt=adapt,
    caution="Research only. Not for clinical use. No patient data.",
)
