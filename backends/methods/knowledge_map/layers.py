"""The map's work, layer by layer: each layer's measures are parts, so a stopped run goes on.

UMAP fits run one after the other in the worker process while this process measures probes and
distances, so the two cores of a small machine are both busy.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from backends.concepts.table import ConceptSet
from backends.lab import Lab
from backends.math.geometry import align, n_metric_components, principal_components
from backends.math.layer_scores import raw_measures, space_measures
from backends.math.silhouette import drop_small_classes
from backends.methods.knowledge_map.request import KnowledgeMapRequest
from backends.methods.knowledge_map.text import CAPTURE, RAW, SPACE, STEPS

UMAP_FIT = "backends.math.projection:umap_fit"
WARM_UP = "backends.math.projection:warm_up"


@dataclass(frozen=True)
class Frame:
    """What the measures of every layer need. `points` are normalized activations per layer,
    `variants` the unnormalized ones of all wordings."""

    request: KnowledgeMapRequest
    concepts: ConceptSet
    layers: list[int]
    labels: Int[np.ndarray, "column sample"]
    variants: dict[str, list[np.ndarray]]
    points: list[np.ndarray]

    @property
    def values(self) -> Float[np.ndarray, "sample"] | None:
        """The values of a set on a line, else None."""
        if self.concepts.values is None or self.concepts.groups is not None:
            return None
        return np.array(self.concepts.values)


def label_numbers(concepts: ConceptSet) -> Int[np.ndarray, "column sample"]:
    """Return class numbers per label column; -1 for no label and for classes under 3 prompts."""
    columns = []
    for column, cells in concepts.labels.items():
        usable = {name: number for number, name in enumerate(concepts.usable_classes(column))}
        columns.append(drop_small_classes(np.array([usable.get(c, -1) for c in cells])))
    return np.array(columns, dtype=np.int64).reshape(len(columns), len(concepts.prompts))


def aligned(pictures: Sequence[np.ndarray]) -> Float[np.ndarray, "layer sample 2"]:
    """Turn each layer's picture towards the one before it: rotation and reflection only."""
    turned = [pictures[0] - pictures[0].mean(axis=0)]
    for picture in pictures[1:]:
        turned.append(align(picture, turned[-1]))
    return np.stack(turned).astype(np.float32)


def pca_spaces(points: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return up to 30 principal components per layer, the same number at each."""
    spaces = [principal_components(p, min(30, len(p) - 1)) for p in points]
    width = min(space.shape[1] for space in spaces)
    return [space[:, :width] for space in spaces]


def raw_part(frame: Frame, lab: Lab, i: int) -> dict[str, np.ndarray]:
    """Measure a layer in the space of activations."""
    layer, count = frame.layers[i], len(frame.layers)
    lab.watch.step(CAPTURE * count + RAW * i, STEPS * count, f"layer {layer}: probe and distances")
    variants = [x[i] for x in frame.variants.values()]
    return lab.part(
        "raw",
        {"layer": layer},
        lambda: raw_measures(
            frame.points[i], variants, frame.labels, frame.values, frame.request.seed
        ),
    )


def space_part(frame: Frame, lab: Lab, layouts: "Layouts", i: int) -> dict[str, np.ndarray]:
    """Lay a layer out and measure it there."""
    layer, count = frame.layers[i], len(frame.layers)
    done = (CAPTURE + RAW) * count + SPACE * i
    lab.watch.step(done, STEPS * count, f"layer {layer}: {layouts.projection}, silhouettes")

    def make() -> dict[str, np.ndarray]:
        picture, space = layouts.get(i)
        measures = space_measures(space, frame.labels, frame.values, frame.request.seed)
        return {"picture": picture, "space": space, **measures}

    return lab.part("space", _part_fields(layer), make)


def _part_fields(layer: int) -> dict[str, Any]:
    return {"layer": layer}


@dataclass
class Layouts:
    """The layouts of all layers: UMAP from the worker process, or PCA at once.

    Points that coincide are laid out once and share their place: UMAP is not reproducible with
    rows that repeat. Where fewer than seven points differ, all layers fall back to PCA.
    """

    lab: Lab
    wanted: str
    projection: str = ""
    _pca: list[np.ndarray] = field(default_factory=list)
    _calls: dict[int, tuple[Future[Any], Future[Any], np.ndarray]] = field(default_factory=dict)
    _begun: list[Future[Any]] = field(default_factory=list)

    def begin(self) -> None:
        """Let the worker compile while the model is still being read."""
        if self.wanted == "umap":
            self._begun.append(self.lab.worker.submit(WARM_UP))

    def start(self, frame: Frame, pca: list[np.ndarray]) -> None:
        """Queue the fits of all layers that are not stored yet."""
        self._pca = pca
        unique = [_first_of_equal(points) for points in frame.points]
        fewest = min(len(np.unique(inverse)) for inverse in unique)
        components = n_metric_components(fewest)
        self.projection = "umap" if self.wanted == "umap" and components else "pca"
        if self.projection == "pca":
            return
        for i, layer in enumerate(frame.layers):
            if self.lab.stored_part("space", _part_fields(layer)):
                continue
            first, inverse = np.unique(unique[i], return_inverse=True)
            points, seed = frame.points[i][first], frame.request.seed
            picture = self.lab.worker.submit(UMAP_FIT, points, 2, seed)
            space = self.lab.worker.submit(UMAP_FIT, points, components, seed)
            self._calls[i] = (picture, space, inverse)

    def get(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the picture [sample, 2] and the metric space [sample, component] of a layer."""
        if self.projection == "pca":
            return self._pca[i][:, :2], self._pca[i]
        picture, space, inverse = self._calls[i]
        wait, check = self.lab.worker.wait, self.lab.watch.check
        return wait(picture, check)[inverse], wait(space, check)[inverse]

    def drop(self) -> None:
        """Take back what the worker has not begun."""
        for picture, space, _ in self._calls.values():
            picture.cancel()
            space.cancel()
        for future in self._begun:
            future.cancel()


@contextmanager
def layouts_of(lab: Lab, wanted: str) -> Iterator[Layouts]:
    """Give the layouts of one job and take back what is left of them at its end."""
    layouts = Layouts(lab, wanted)
    layouts.begin()
    try:
        yield layouts
    finally:
        layouts.drop()


def _first_of_equal(points: Float[np.ndarray, "sample d_model"]) -> Int[np.ndarray, "sample"]:
    """Return for each point the index of the first point equal to it."""
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)])
