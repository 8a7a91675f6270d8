"""Which color an element has in the Sankey: that of its cluster at a chosen scale."""

import numpy as np
from jaxtyping import Int

from backends.partitions.result import PartitionResult
from views.figure import CATEGORICAL, CONTROL
from views.partitions.look import cluster_name


def coloring(
    result: PartitionResult, scale: int
) -> tuple[Int[np.ndarray, "element"], list[str], list[str]]:
    """Return the color of each element by its cluster at a scale, the colors, and their names.

    Of more than eight clusters the seven largest have a color, the others are grey together.
    """
    labels = result.labels[scale]
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    some = order if len(order) <= len(CATEGORICAL) else order[: len(CATEGORICAL) - 1]
    color = np.full(len(sizes), len(some))
    color[some] = np.arange(len(some))
    names = [f"{cluster_name(result, scale, c)} ({sizes[c]:,})" for c in some.tolist()]
    colors = list(CATEGORICAL[: len(some)])
    if len(some) < len(order):
        rest = len(order) - len(some)
        names.append(f"{rest} smaller clusters, grouped ({int(sizes.sum() - sizes[some].sum()):,})")
        colors.append(CONTROL)
    return color[labels], colors, names
