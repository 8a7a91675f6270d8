"""Sweep: cluster points or a graph once for each value of a parameter, and keep all partitions.

Points are clustered by k-means or agglomerative clustering into k clusters, a graph by Louvain at a
resolution. The partitions in increasing order of the value are a sequence that `mcbif` measures;
the table of labels is put into the uploads for it. Formulas: clusterings.py. Sources: scikit-learn
(k-means), SciPy (trees), NetworkX (Louvain, Blondel et al. 2008); VI: Meila 2007.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from backends.contract import Known, Method
from backends.lab import Lab
from backends.math.partitions import numbered
from backends.math.threads import use_one_blas_thread
from backends.methods.mcbif_sweep.clusterings import cut, inertia, kmeans, louvain, steps, tree
from backends.methods.mcbif_sweep.data import (
    FIELD,
    Graph,
    Points,
    example_graph,
    example_points,
    read_graph,
    read_points,
)
from backends.methods.mcbif_sweep.request import McbifSweepRequest, check_algorithm, values_of
from backends.partitions.raw import label_text
from backends.partitions.table import short

__all__ = ["METHOD", "McbifSweepRequest", "McbifSweepResult"]


@dataclass(frozen=True, slots=True)
class McbifSweepResult:
    """One partition for each scale; a scale is a value of the parameter, in increasing order.

    `labels[m, x]` numbers the clusters within a scale. `variation_of_information` is between each
    scale and the next, in nats. `modularity` (graphs, at resolution 1) and `inertia` (points, in
    squared units of the data) are NaN where they do not apply. `table` is the digest of the label
    table among the uploads, `parameter` is "k" or "resolution".
    """

    labels: Int[np.ndarray, "scale element"]
    n_clusters: Int[np.ndarray, "scale"]
    variation_of_information: Float[np.ndarray, "step"]
    modularity: Float[np.ndarray, "scale"]
    inertia: Float[np.ndarray, "scale"]
    n: int
    scales: list[float]
    elements: list[str]
    source: str
    algorithm: str
    parameter: str
    table: str
    notes: list[str]
    seed: int


def data_of(request: McbifSweepRequest, known: Known) -> Points | Graph:
    """Return what is clustered. Raise `BadRequest` for a file that cannot be used."""
    is_graph = request.source == "graph"
    if request.data is None:
        return example_graph() if is_graph else example_points()
    content = known.uploads.read(request.data, FIELD)
    return read_graph(content) if is_graph else read_points(content)


def check(request: McbifSweepRequest, known: Known) -> None:
    """Refuse an algorithm that does not fit, a file that cannot be used, and wrong values."""
    check_algorithm(request)
    values_of(request, len(data_of(request, known).names))


def compute(request: McbifSweepRequest, lab: Lab) -> McbifSweepResult:
    """Cluster value by value; each is a part."""
    use_one_blas_thread()
    data = data_of(request, lab.known)
    values = values_of(request, len(data.names))
    found = []
    for i, value in enumerate(values):
        lab.watch.step(i, len(values), f"clustering, value {value:g}")
        found.append(
            lab.part("value", {"value": value}, partial(_clustered, request, data, lab, value))
        )
    labels = numbered(np.stack([part["labels"] for part in found]))
    elements = [short(name) for name in data.names]
    lab.watch.step(len(values), len(values), "done")
    lab.note(n=len(elements), seed=request.seed)
    return McbifSweepResult(
        labels=labels,
        n_clusters=labels.max(axis=1) + 1,
        variation_of_information=steps(list(labels)),
        modularity=np.array([part["modularity"] for part in found], np.float32),
        inertia=np.array([part["inertia"] for part in found], np.float32),
        n=len(elements),
        scales=values,
        elements=elements,
        source=request.source,
        algorithm=str(request.algorithm),
        parameter="resolution" if request.algorithm == "louvain" else "k",
        table=lab.known.uploads.add_bytes(label_table(labels, values, elements)),
        notes=data.notes,
        seed=request.seed,
    )


def _clustered(
    request: McbifSweepRequest, data: Points | Graph, lab: Lab, value: float
) -> dict[str, np.ndarray]:
    """Return the partition of one value, and how good it is by its own measure."""
    modularity = spread = np.nan
    if isinstance(data, Graph):
        labels, modularity = louvain(data.edges, data.weights, len(data.names), value, request.seed)
    elif request.algorithm == "kmeans":
        labels = kmeans(data.rows, int(value), request.seed, lab.watch.check)
    else:
        labels = cut(_tree(request, data, lab), int(value))
    if isinstance(data, Points):
        spread = inertia(data.rows, labels)
    return {
        "labels": labels,
        "modularity": np.array(modularity, np.float32),
        "inertia": np.array(spread, np.float32),
    }


def _tree(request: McbifSweepRequest, data: Points, lab: Lab) -> Float[np.ndarray, "merge 4"]:
    merges = partial(tree, data.rows, request.linkage)
    found = lab.part("tree", {}, lambda: {"merges": merges()})
    return found["merges"]


def label_table(
    labels: Int[np.ndarray, "scale element"], scales: Sequence[float], elements: Sequence[str]
) -> bytes:
    """Return a label table as a CSV: one row for each element, one column for each scale."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["element", *(label_text(scale) for scale in scales)])
    for name, row in zip(elements, labels.T.tolist(), strict=True):
        writer.writerow([name, *row])
    return file.getvalue().encode()


METHOD = Method(
    "mcbif_sweep",
    1,
    McbifSweepRequest,
    McbifSweepResult,
    compute,
    check=check,
    example=McbifSweepRequest(),
    small={"values": "2,3,4"},
    seconds=5,
)
