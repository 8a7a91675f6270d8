"""MCbiF over the layers of a model: where the clusters of a concept set nest or contradict.

The activations of a concept set are clustered at each layer (or at many numbers of clusters of one
layer), and the sequence of partitions is measured as by the method `mcbif`. Two controls stand
beside it: labels shuffled within each layer, and one layer clustered again and again with other
seeds, which shows what the clustering alone contradicts.

The points are the metric space (up to 30 principal components) of the method `knowledge_map`.
Source: the measures are of MCbiF, arXiv 2510.14710; their use on layers is this workbench's.
"""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field

from backends.concepts.request import ConceptRequest, check_concepts
from backends.contract import Known, Method
from backends.errors import BadRequest
from backends.lab import Lab
from backends.math.conflicts import average, zero_conflict
from backends.math.hilbert import hilbert_functions
from backends.math.partitions import numbered
from backends.partitions.analysis import analyze
from backends.partitions.clustering import Algorithm, cluster
from backends.partitions.result import PartitionResult
from backends.partitions.sequence import PartitionSequence

DEFAULT_CLUSTERS = 8
MOST_CLUSTERS = 100
# Most resolutions of one layer, from two clusters up.
MOST_RESOLUTIONS = 24


class McbifLayersRequest(ConceptRequest):
    """Which concept set of which model, and how it is clustered."""

    over: Literal["layers", "resolutions"] = Field(
        "layers", description="What a scale is: a layer, or a number of clusters of one layer"
    )
    algorithm: Algorithm = Field("kmeans", description="Clustering")
    n_clusters: int = Field(
        0, ge=0, le=MOST_CLUSTERS, description="Clusters per layer; 0: as many as there are classes"
    )
    layer: int | None = Field(
        None, ge=0, description="Layer of the resolutions and of the reseeded control; empty: last"
    )
    draws: int = Field(200, ge=0, le=1_000, description="Shuffled sequences; 0 for none")
    contributions: bool = Field(False, description="Leave out each prompt in turn")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of clustering, null and layout")


@dataclass(frozen=True, slots=True)
class McbifLayersResult(PartitionResult):
    """What is measured of any sequence of partitions, and what is known of this one.

    `reseeded_*` are the grids of one layer clustered with other seeds, as many times as there are
    scales: contradictions of the clustering alone. Agglomerative clustering has no seed, so they
    hold no conflict there. `agreement` is the adjusted Rand index of each scale's clusters with
    the classes of the label column, NaN without one; prompts without a class are left out.
    """

    reseeded_hf0: Int[np.ndarray, "scale scale"]
    reseeded_hf1: Int[np.ndarray, "scale scale"]
    agreement: Float[np.ndarray, "scale"]
    reseeded_c0_bar: float
    reseeded_c1_bar: float
    over: str
    algorithm: str
    layer: int
    clusters: list[int]
    label_column: str
    classes: list[str]
    prompts: list[str]


def check(request: McbifLayersRequest, known: Known) -> None:
    """Refuse a layer that the model lacks and more clusters than prompts."""
    entry = known.catalog.get(request.model)
    if request.layer is not None:
        entry.check_layers((request.layer,), "layer")
    count = len(check_concepts(request, known).prompts)
    if request.n_clusters > count:
        raise BadRequest(
            "n_clusters",
            f"Field 'n_clusters' is {request.n_clusters}; the set has {count} prompts.",
        )


def compute(request: McbifLayersRequest, lab: Lab) -> McbifLayersResult:
    """Recall or compute the map, cluster its layers, and measure the sequence."""
    ref = lab.model(request)
    shared = {name: getattr(request, name) for name in ConceptRequest.model_fields}
    last = (lab.known.catalog.get(ref.id).layers or 1) - 1
    layer = last if request.layer is None else request.layer
    layers = "all" if request.over == "layers" else (layer,)
    fields = {**shared, "layers": layers, "projection": "pca", "seed": request.seed}
    found = lab.result("knowledge_map", fields)
    counts = _counts(request, found)
    labels = _clustered(request, lab, found, counts)
    again = _reseeded(request, lab, found, layer, counts)
    sequence = _sequence(request, found, labels, counts)
    hf0, hf1 = hilbert_functions(again, lab.watch.check)
    n_clusters = again.max(axis=1).astype(np.int64) + 1
    made = functools.partial(
        McbifLayersResult,
        reseeded_hf0=hf0,
        reseeded_hf1=hf1,
        agreement=_agreement(labels, found),
        reseeded_c0_bar=average(zero_conflict(hf0, n_clusters)),
        reseeded_c1_bar=average(hf1),
        over=request.over,
        algorithm=request.algorithm,
        layer=layer,
        clusters=counts,
        label_column=found.label_columns[0] if found.label_columns else "",
        classes=found.classes[0] if found.classes else [],
        prompts=found.prompts,
    )
    result: McbifLayersResult = analyze(
        sequence, lab, request.draws, request.contributions, request.seed, made
    )
    return result


def _counts(request: McbifLayersRequest, found: Any) -> list[int]:
    """Return the number of clusters at each scale."""
    if request.over == "resolutions":
        return list(range(2, min(MOST_RESOLUTIONS + 2, found.n + 1)))
    classes = len(found.classes[0]) if found.classes else 0
    wanted = request.n_clusters or classes or DEFAULT_CLUSTERS
    return [min(wanted, found.n)] * len(found.layers)


def _clustered(
    request: McbifLayersRequest, lab: Lab, found: Any, counts: Sequence[int]
) -> Int[np.ndarray, "scale sample"]:
    """Return the clusters of each layer, or of one layer at each number of clusters."""
    rows = []
    for i, count in enumerate(counts):
        index = i if request.over == "layers" else 0
        lab.watch.step(i, len(counts), f"clustering layer {found.layers[index]}")
        rows.append(_part(request, lab, found, index, count, request.seed))
    return numbered(np.stack(rows))


def _reseeded(
    request: McbifLayersRequest, lab: Lab, found: Any, layer: int, counts: Sequence[int]
) -> Int[np.ndarray, "scale sample"]:
    """Return one layer's clusters by as many other seeds as there are scales."""
    index, count = found.layers.index(layer), counts[len(counts) // 2]
    rows = []
    for i in range(len(counts)):
        lab.watch.step(i, len(counts), f"clustering layer {layer} with other seeds")
        rows.append(_part(request, lab, found, index, count, (request.seed + 1 + i) % 2**31))
    return numbered(np.stack(rows))


def _part(
    request: McbifLayersRequest, lab: Lab, found: Any, index: int, count: int, seed: int
) -> Int[np.ndarray, "sample"]:
    def made() -> Mapping[str, np.ndarray]:
        points = found.metric_space[index]
        return {"labels": cluster(points, count, request.algorithm, seed)}

    fields = {"layer": found.layers[index], "count": count, "seed": seed}
    return lab.part("clusters", fields, made)["labels"]


def _sequence(
    request: McbifLayersRequest,
    found: Any,
    labels: Int[np.ndarray, "scale sample"],
    counts: Sequence[int],
) -> PartitionSequence:
    over_layers = request.over == "layers"
    scales = [float(each) for each in (found.layers if over_layers else counts)]
    return PartitionSequence(
        labels=labels.astype(np.int32),
        scales=scales,
        scale_names=[f"{each:g}" for each in scales],
        elements=list(found.entities or found.prompts),
        cluster_names=[_names(row, found) for row in labels],
        notes=[_note(request, found, counts)],
    )


def _names(row: Int[np.ndarray, "sample"], found: Any) -> list[str]:
    """Name each cluster by its most frequent class."""
    names = []
    for number in range(int(row.max()) + 1):
        classes = [found.classes[0][c] for c in _classes(found)[row == number] if c >= 0]
        most = Counter(classes).most_common(1)
        size = int(np.sum(row == number))
        names.append(f"{most[0][0]} ({most[0][1]} of {size})" if most else f"cluster {number + 1}")
    return names


def _classes(found: Any) -> Int[np.ndarray, "sample"]:
    return found.labels[0] if len(found.labels) else np.full(found.n, -1)


def _note(request: McbifLayersRequest, found: Any, counts: Sequence[int]) -> str:
    space = f"{found.metric_space.shape[2]} principal components"
    if request.over == "layers":
        return f"A scale is a layer: {counts[0]} clusters by {request.algorithm} in its {space}."
    return (
        f"A scale is a number of clusters: {counts[0]} to {counts[-1]} by {request.algorithm} in "
        f"the {space} of layer {found.layers[0]}."
    )


def _agreement(labels: Int[np.ndarray, "scale sample"], found: Any) -> Float[np.ndarray, "scale"]:
    from sklearn.metrics import adjusted_rand_score

    classes = _classes(found)
    has_class = classes >= 0
    if not has_class.any():
        return np.full(len(labels), np.nan, np.float32)
    scores = [adjusted_rand_score(classes[has_class], row[has_class]) for row in labels]
    return np.array(scores, np.float32)


METHOD = Method(
    "mcbif_layers",
    1,
    McbifLayersRequest,
    McbifLayersResult,
    compute,
    check=check,
    example=McbifLayersRequest(domain="drug"),
    small={"model": "tiny", "domain": "symptom", "labels": "body_system", "draws": 20},
    seconds=90,
)
