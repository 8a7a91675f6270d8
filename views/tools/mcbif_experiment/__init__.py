"""The MCbiF experiments: scores of the features beside control and paper, and the measures."""

from collections.abc import Mapping

from backends.methods.mcbif_experiment import METHOD
from views.contract import Figure, Tool
from views.tools.mcbif_experiment.measures import correlations_figure, measures_figure
from views.tools.mcbif_experiment.scores import scores_figure

FIGURES: Mapping[str, Figure] = {
    "scores": scores_figure,
    "measures": measures_figure,
    "correlations": correlations_figure,
}

TOOL = Tool(
    METHOD,
    "Experiments",
    "What Hilbert functions tell a linear model that pairwise measures do not.",
    FIGURES,
    tab="mcbif",
    order=50,
    fields=("task", "n_elements", "step", "n_scales", "n_sequences"),
)
