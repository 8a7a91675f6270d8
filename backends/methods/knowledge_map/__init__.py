"""Knowledge map, geometry branch: how a language model arranges concepts, layer by layer.

Every prompt of a concept set is run through the model once; the residual stream after each block
(`blocks.{l}.hook_resid_post`) at one chosen place of each prompt gives X[l]. Per layer: a picture
(UMAP or PCA in two dimensions), a metric space of up to 30 dimensions, separability of every label
column (silhouette with permutation null and bootstrap interval, and a cross-validated linear
probe beside a shuffled-label control), the nearest other prompts of each prompt, linearity for sets
with a value, stage geometry for sets with stages, and collapse diagnostics.

Position 0 never counts: it carries the massive activations, so a prompt whose chosen token would
stand there is refused. Other positions with large residuals do count; `drop_massive` is there to
see what they change.

Source: "Medical Interpretability and Knowledge Maps of Large Language Models", ICLR 2026,
arXiv 2510.11390; where the paper's protocol is not published (prompts, word lists, token choice,
UMAP settings, stage measures) the choices are this workbench's and docs/methods/knowledge_map.md
names them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from backends.concepts.request import concepts_of
from backends.concepts.table import ConceptSet
from backends.contract import Method
from backends.lab import Lab
from backends.math.geometry import nearest_by_cosine, normalize, token_overlap_distance
from backends.math.layer_scores import collapse, stage_arrays
from backends.math.silhouette import silhouette_samples
from backends.methods.knowledge_map.layers import (
    WARM_UP,
    Frame,
    aligned,
    label_numbers,
    layouts_of,
    pca_spaces,
    raw_part,
    space_part,
)
from backends.methods.knowledge_map.request import KnowledgeMapRequest, check
from backends.methods.knowledge_map.result import KnowledgeMapResult
from backends.methods.knowledge_map.text import STEPS, Text, activations, tokenize
from backends.models.catalog import ModelRef

__all__ = ["METHOD", "KnowledgeMapRequest", "KnowledgeMapResult"]

NEIGHBORS = 10
RAW_COLUMNS = ("silhouette_cosine", "probe_accuracy", "probe_low", "probe_high", "probe_null")
SPACE_COLUMNS = (
    "silhouette",
    "silhouette_low",
    "silhouette_high",
    "silhouette_null",
    "silhouette_z",
    "difference",
    "difference_low",
    "difference_high",
)


def compute(request: KnowledgeMapRequest, lab: Lab) -> KnowledgeMapResult:
    """Capture once, show a PCA, then measure layer by layer."""
    concepts = concepts_of(request, lab.known)
    ref = lab.model(request)
    count = lab.known.catalog.get(ref.id).layers or 0
    layers = list(range(count)) if request.layers == "all" else list(request.layers)
    lab.watch.step(0, STEPS * len(layers), "reading the model")
    with layouts_of(lab, request.projection) as layouts:
        text = tokenize(request, lab, ref, concepts)
        variants = activations(lab, ref, text, layers)
        normal = [normalize(x, request.normalization) for x in variants["prompt"]]
        points = [p for p, _ in normal]
        frame = Frame(request, concepts, layers, label_numbers(concepts), variants, points)
        pca = pca_spaces(points)
        first = _preliminary(frame, lab, ref, text, pca, [dropped for _, dropped in normal])
        lab.watch.show(first)
        layouts.start(frame, pca)
        raw = [raw_part(frame, lab, i) for i in range(len(layers))]
        spaces = [space_part(frame, lab, layouts, i) for i in range(len(layers))]
    lab.watch.step(STEPS * len(layers), STEPS * len(layers), "done")
    lab.note(n=first.n, seed=request.seed, projection=layouts.projection)
    return _joined(first, layouts.projection, text, raw, spaces)


def _preliminary(
    frame: Frame,
    lab: Lab,
    ref: ModelRef,
    text: Text,
    pca: Sequence[np.ndarray],
    dropped: list[int],
) -> KnowledgeMapResult:
    """Return the result with PCA in place of UMAP and without the scores that take time."""
    concepts, raw = frame.concepts, frame.variants["prompt"]
    pictures = aligned([space[:, :2] for space in pca])
    unknown = np.full((len(concepts.labels), len(frame.layers)), np.nan, np.float32)
    collapsed = [collapse(x) for x in raw]
    measures: dict[str, Any] = dict.fromkeys((*RAW_COLUMNS, *SPACE_COLUMNS), unknown)
    measures |= {name: np.array([c[name] for c in collapsed], np.float32) for name in collapsed[0]}
    measures |= stage_arrays(raw, concepts.groups, concepts.values)
    on_line = None if frame.values is None else np.full(len(frame.layers), np.nan, np.float32)
    diseases = list(dict.fromkeys(concepts.groups or []))
    near = [nearest_by_cosine(points, NEIGHBORS) for points in frame.points]
    return KnowledgeMapResult(
        map=pictures,
        map_pca=pictures,
        metric_space=np.stack(pca),
        labels=frame.labels,
        norm=np.stack([np.linalg.norm(x, axis=1) for x in raw]).astype(np.float32),
        neighbors=np.stack([others for others, _ in near]),
        neighbor_cosine=np.stack([cosines for _, cosines in near]),
        **measures,
        silhouette_null_max=np.full(len(concepts.labels), np.nan, np.float32),
        token_overlap=_overlap_scores(text, frame.labels),
        token_count_correlation=_count_correlation(pictures, text),
        r2_pc1=on_line,
        r2_cv=on_line,
        anisotropy=on_line,
        step_size=None,
        n=len(concepts.prompts),
        layers=frame.layers,
        label_columns=list(concepts.labels),
        classes=[concepts.usable_classes(column) for column in concepts.labels],
        dropped=dict(zip(concepts.labels, (frame.labels < 0).sum(axis=1).tolist(), strict=True)),
        prompts=concepts.prompts,
        entities=concepts.entities or [],
        tokens=[lab.models.show(ref, ids) for ids in text.ids["prompt"]],
        values=concepts.values,
        variants=list(concepts.variants),
        diseases=diseases,
        stages=_stage_names(concepts, diseases),
        disease_of=[diseases.index(g) for g in concepts.groups] if concepts.groups else None,
        projection="pca",
        normalization=frame.request.normalization,
        dimensions_dropped=dropped,
    )


def _joined(
    first: KnowledgeMapResult,
    projection: str,
    text: Text,
    raw: Sequence[dict[str, np.ndarray]],
    spaces: Sequence[dict[str, np.ndarray]],
) -> KnowledgeMapResult:
    """Put the layers' parts together."""
    pictures = aligned([space["picture"] for space in spaces])
    draws = np.stack([space["null_draws"] for space in spaces])
    columns = {name: np.stack([r[name] for r in raw], axis=1) for name in RAW_COLUMNS}
    columns |= {name: np.stack([s[name] for s in spaces], axis=1) for name in SPACE_COLUMNS}
    changes: dict[str, Any] = dict(columns)
    if first.r2_cv is not None:
        changes["r2_cv"] = np.stack([r["r2_cv"] for r in raw])
        changes["r2_pc1"] = np.stack([s["r2_pc1"] for s in spaces])
        changes["anisotropy"] = np.stack([s["anisotropy"] for s in spaces])
        changes["step_size"] = np.stack([r["step_size"] for r in raw], axis=1)
    return replace(
        first,
        map=pictures,
        metric_space=np.stack([space["space"] for space in spaces]),
        projection=projection,
        silhouette_null_max=_best_of_null(draws) if len(first.labels) else np.zeros(0, np.float32),
        token_count_correlation=_count_correlation(pictures, text),
        **changes,
    )


def _best_of_null(
    draws: Float[np.ndarray, "layer column permutation"],
) -> Float[np.ndarray, "column"]:
    """Return the 95th percentile of the null silhouette's maximum over layers.

    A best layer is the maximum of many numbers; this is what it has to beat.
    """
    return np.asarray(np.percentile(draws.max(axis=0), 95, axis=-1), dtype=np.float32)


def _overlap_scores(
    text: Text, labels: Int[np.ndarray, "column sample"]
) -> Float[np.ndarray, "column"]:
    """Return the silhouette of token overlap alone: what spelling says of the classes."""
    distance = token_overlap_distance(text.ids["prompt"])
    scores = [
        np.nanmean(silhouette_samples(distance, row)) if len(set(row[row >= 0])) > 1 else np.nan
        for row in labels
    ]
    return np.array(scores, dtype=np.float32)


def _count_correlation(
    pictures: Float[np.ndarray, "layer sample 2"], text: Text
) -> Float[np.ndarray, "layer"]:
    """Return the multiple correlation R of the picture's two axes with the number of tokens.

    Both axes count, because a picture's rotation has no meaning.
    """
    lengths = np.array([len(ids) for ids in text.ids["prompt"]], dtype=np.float64)
    if lengths.std() == 0:
        return np.full(len(pictures), np.nan, np.float32)
    target = lengths - lengths.mean()
    found = []
    for picture in pictures:
        axes = (picture - picture.mean(axis=0)).astype(np.float64)
        fitted = axes @ np.linalg.lstsq(axes, target, rcond=None)[0]
        found.append(np.sqrt((fitted @ fitted) / (target @ target)))
    return np.array(found, np.float32)


def _stage_names(concepts: ConceptSet, diseases: Sequence[str]) -> list[list[str]]:
    if concepts.groups is None or concepts.values is None:
        return []
    names = concepts.stages or concepts.entities or [f"{value:g}" for value in concepts.values]
    rows = sorted(zip(concepts.groups, concepts.values, names, strict=True))
    return [[name for group, _, name in rows if group == disease] for disease in diseases]


METHOD = Method(
    "knowledge_map",
    2,
    KnowledgeMapRequest,
    KnowledgeMapResult,
    compute,
    check=check,
    example=KnowledgeMapRequest(domain="drug"),
    small={"model": "tiny", "projection": "pca", "domain": "symptom", "labels": "body_system"},
    seconds=120,
    warm_up=WARM_UP,
)
