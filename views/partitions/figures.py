"""The figures of one sequence by the name of their exported file."""

from collections.abc import Mapping

from views.contract import Figure
from views.partitions.boards import conflict_figure, hilbert_figure
from views.partitions.curves import curves_figure
from views.partitions.nerve import nerve_figure
from views.partitions.sankey import sankey_figure
from views.partitions.slices import slice_figure

FIGURES: Mapping[str, Figure] = {
    "hilbert": hilbert_figure,
    "conflict": conflict_figure,
    "sankey": sankey_figure,
    "slices": slice_figure,
    "curves": curves_figure,
    "window": nerve_figure,
}
