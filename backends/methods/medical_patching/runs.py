"""The patched runs of one layer: which changes, in how few passes, and what they are scored.

A patch at layer l leaves every block below l as it was, so a pass starts at block l from the
residual stream that was captured of the run that is patched. All patches of a layer that read the
same number of tokens share passes. With each patch go its controls: a patch with the run's own
output, and steps of the same length in random directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from backends.errors import BadRequest
from backends.lab import Lab
from backends.methods.medical_patching.cases import Case, Text, log_probability
from backends.models.catalog import ModelRef

SITES = {
    "block": "hook_resid_post",
    "attention": "hook_attn_out",
    "mlp": "hook_mlp_out",
    "heads": "attn.hook_z",
}
NEXT = 10
"""Next tokens that are kept of a run."""


@dataclass(frozen=True)
class Plan:
    """What is patched in every layer. `columns[case]` are lists of base positions.

    `heads` is 0 unless single heads are patched: then column 0 is all heads together, and column
    1 + h is head h. `extended` adds an answer's own tokens to the positions.
    """

    cases: Sequence[Case]
    columns: Sequence[Sequence[Sequence[int]]]
    site: str
    layers: int
    heads: int
    random_draws: int
    extended: bool
    seed: int

    @property
    def width(self) -> int:
        """The number of columns."""
        most = max((len(c) for c in self.columns), default=1)
        return 1 + self.heads if self.heads else most

    def positions(self, case: int, column: int) -> Sequence[int]:
        """Return the base positions of a column."""
        return self.columns[case][0 if self.heads else column]

    def reaches(self, case: int, column: int, layer: int) -> bool:
        """Say whether a column's patch can change anything, so that it is computed."""
        is_last = layer == self.layers - 1
        return any(self.cases[case].reaches(p, is_last) for p in self.positions(case, column))


@dataclass(frozen=True)
class Patch:
    """One score to be found: a case, a column (-1 is the identity control), a random draw or -1."""

    case: int
    column: int
    draw: int = -1


@dataclass
class Source:
    """What was captured: entering residual streams and site outputs, by token ids and layer."""

    lab: Lab
    ref: ModelRef
    plan: Plan
    _rows: dict[str, dict[tuple[int, ...], np.ndarray]] = field(default_factory=dict)

    def entering(self, layer: int, ids: Sequence[int]) -> Float[np.ndarray, "pos d_model"]:
        """Return what enters a block."""
        return self._captured()[f"blocks.{layer}.hook_resid_pre"][tuple(ids)]

    def outputs(self, layer: int) -> dict[tuple[int, ...], np.ndarray]:
        """Return the site's output [pos, ...] of every text at a layer."""
        hook = hook_of(self.plan.site, layer)
        return self._captured()[hook] if self.plan.site != "heads" else self._heads(layer, hook)

    def _texts(self) -> list[list[int]]:
        every = [ids for c in self.plan.cases for t in c.texts for ids in (t.base, t.source)]
        return [list(ids) for ids in dict.fromkeys(map(tuple, every))]

    def _captured(self) -> dict[str, dict[tuple[int, ...], np.ndarray]]:
        if not self._rows:
            texts, layers = self._texts(), range(self.plan.layers)
            hooks = [f"blocks.{layer}.hook_resid_pre" for layer in layers]
            if self.plan.site != "heads":
                hooks += [hook_of(self.plan.site, layer) for layer in layers]
            hooks.sort(key=lambda hook: int(hook.split(".")[1]))
            whole = [list(range(len(ids))) for ids in texts]
            with site_errors(self.ref, self.plan.site):
                rows = self.lab.models.capture(self.ref, texts, hooks, whole)
            keys = [tuple(ids) for ids in texts]
            self._rows = {hook: dict(zip(keys, rows[hook], strict=True)) for hook in hooks}
        return self._rows

    def _heads(self, layer: int, hook: str) -> dict[tuple[int, ...], np.ndarray]:
        """Run one block of every text: the cache of activations has no place for heads."""
        texts = self._texts()
        resid = [self.entering(layer, ids) for ids in texts] if layer else None
        stop = layer + 1 if layer + 1 < self.plan.layers else None
        with site_errors(self.ref, self.plan.site):
            rows = self.lab.models.run(
                self.ref, texts, start=layer, stop=stop, resid=resid, want=(hook,), positions="all"
            )
        return dict(zip(map(tuple, texts), rows[hook], strict=True))


class site_errors:
    """Turn a hook that the model does not have into a sentence at the field `site`."""

    def __init__(self, ref: ModelRef, site: str) -> None:
        self._sentence = f"{ref.id} has no output of the kind {site} to patch; choose another site."

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, ValueError) and "is not one of this model's" in str(error):
            raise BadRequest("site", self._sentence) from error


def hook_of(site: str, layer: int) -> str:
    """Return the hook of a site."""
    return f"blocks.{layer}.{SITES[site]}"


def patches_of(plan: Plan, layer: int) -> list[Patch]:
    """Return what is to be computed at a layer: no patch that cannot change anything."""
    found = []
    for case in range(len(plan.cases)):
        mine = [Patch(case, -1)]
        for column in range(plan.width):
            if plan.reaches(case, column, layer):
                mine += [Patch(case, column, d) for d in range(-1, plan.random_draws)]
        found += mine
    return found


def layer_part(source: Source, layer: int, base_scores: np.ndarray) -> dict[str, np.ndarray]:
    """Run a layer's patches; return changes of the score, controls, and next tokens."""
    plan = source.plan
    change, random = np.zeros((2, len(plan.cases), plan.width), np.float32)
    identity = np.zeros(len(plan.cases), np.float32)
    tokens = np.zeros((plan.width, NEXT), np.int32)
    chances = np.zeros((plan.width, NEXT), np.float32)
    for patch, found in patched_runs(source, layer, patches_of(plan, layer)).items():
        moved = score(plan.cases[patch.case], [run.score for run in found])
        moved -= base_scores[patch.case]
        if patch.column < 0:
            identity[patch.case] = abs(moved)
        elif patch.draw >= 0:
            random[patch.case, patch.column] += moved / plan.random_draws
        else:
            change[patch.case, patch.column] = moved
            tokens[patch.column], chances[patch.column] = found[0].following
    return {"change": change, "random": random, "identity": identity, "next_id": tokens,
            "next_probability": chances}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What is kept of a run: its text's score and the likeliest next tokens."""

    score: float
    following: tuple[np.ndarray, np.ndarray]


def patched_runs(source: Source, layer: int, patches: Sequence[Patch]) -> dict[Patch, list[Seen]]:
    """Return, for every patch, what was seen in the runs of its case's texts."""
    if not patches:
        return {}
    from backends.models.bridge import groups

    plan = source.plan
    runs = [(patch, text) for patch in patches for text in plan.cases[patch.case].texts]
    outputs = source.outputs(layer)
    seen: dict[int, Seen] = {}
    passes = list(groups([text.base for _, text in runs], range(len(runs))))
    for number, group in enumerate(passes, 1):
        words = f"layer {layer}, pass {number} of {len(passes)}"
        source.lab.watch.step(layer, plan.layers, words)
        changes = [_change(plan, runs[i][0], layer, runs[i][1], outputs) for i in group]
        logits = _run(source, layer, [runs[i][1] for i in group], changes)
        seen |= {i: seen_in(runs[i][1], rows) for i, rows in zip(group, logits, strict=True)}
    found: dict[Patch, list[Seen]] = {patch: [] for patch in patches}
    for i, (patch, _) in enumerate(runs):
        found[patch].append(seen[i])
    return found


def _run(
    source: Source,
    layer: int,
    texts: Sequence[Text],
    changes: Sequence[tuple[list[int], np.ndarray]],
) -> list[np.ndarray]:
    from backends.models.edits import Edit

    edit = Edit(
        hook_of(source.plan.site, layer), [at for at, _ in changes], [new for _, new in changes]
    )
    resid = [source.entering(layer, text.base) for text in texts] if layer else None
    rows = source.lab.models.run(
        source.ref,
        [text.base for text in texts],
        [edit],
        start=layer,
        resid=resid,
        positions=[text.read for text in texts],
    )
    return list(rows["logits"])


def _change(
    plan: Plan, patch: Patch, layer: int, text: Text, outputs: dict[tuple[int, ...], np.ndarray]
) -> tuple[list[int], np.ndarray]:
    """Return the positions that a patch writes to, and what it writes there."""
    own, other = outputs[tuple(text.base)], outputs[tuple(text.source)]
    if patch.column < 0:
        return list(range(len(text.base))), own
    at = list(plan.positions(patch.case, patch.column))
    if plan.extended:
        at += range(len(plan.cases[patch.case].base), len(text.base))
    old, new = own[at], other[[text.links[p] for p in at]]
    if plan.heads and patch.column:
        new = np.concatenate([old[:, : patch.column - 1], new[:, [patch.column - 1]],
                              old[:, patch.column :]], axis=1)  # fmt: skip
    if patch.draw >= 0:
        rng = np.random.default_rng([plan.seed, 1, patch.case, layer, patch.column, patch.draw])
        new = old + random_step(new - old, rng)
    return at, new


def random_step(
    step: Float[np.ndarray, "pos ..."], rng: np.random.Generator
) -> Float[np.ndarray, "pos ..."]:
    """Return steps of the same length at each position in random directions.

    Numbers that are 0 stay 0, so that the step of a head stays within the head.
    """
    drawn = np.where(step != 0, rng.standard_normal(step.shape), 0)
    axes = tuple(range(1, step.ndim))
    length = np.sqrt(np.square(step.astype(np.float64)).sum(axis=axes, keepdims=True))
    norm = np.sqrt(np.square(drawn).sum(axis=axes, keepdims=True))
    return np.asarray(drawn * np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0),
                      dtype=np.float32)  # fmt: skip


def seen_in(text: Text, logits: Float[np.ndarray, "read vocab"]) -> Seen:
    """Return what is kept of a run: of one-token answers their difference in logits, else the
    mean log probability of the text's own answer in nats."""
    if len(logits) < len(text.wanted):
        answer, foil = logits[0][text.wanted]
        return Seen(float(answer) - float(foil), next_tokens(logits[0]))
    return Seen(log_probability(logits, text.wanted), next_tokens(logits[0]))


def score(case: Case, scores: Sequence[float]) -> np.float32:
    """Return the answer's score minus the foil's."""
    return np.float32(scores[0] if len(case.texts) == 1 else scores[0] - scores[1])


def next_tokens(
    logits: Float[np.ndarray, "vocab"],
) -> tuple[Int[np.ndarray, "rank"], Float[np.ndarray, "rank"]]:
    """Return the ten likeliest next tokens and their probabilities, the likeliest first."""
    exact = logits.astype(np.float64)
    chances = np.exp(exact - exact.max())
    best = np.argpartition(-exact, NEXT)[:NEXT]
    best = best[np.lexsort((best, -exact[best]))]
    return best.astype(np.int32), (chances[best] / chances.sum()).astype(np.float32)


def base_part(lab: Lab, ref: ModelRef, cases: Sequence[Case]) -> dict[str, np.ndarray]:
    """Run every clean and corrupted text as it is; return scores and next tokens."""
    texts = [text for case in cases for text in case.texts]
    rows = lab.models.run(
        ref,
        [ids for text in texts for ids in (text.base, text.source)],
        positions=[at for text in texts for at in (text.read, text.read_source)],
    )["logits"]
    seen = [seen_in(texts[i // 2], one) for i, one in enumerate(rows)]
    scores = np.zeros((2, len(cases)), np.float32)
    tokens = np.zeros((2, len(cases), NEXT), np.int32)
    chances = np.zeros((2, len(cases), NEXT), np.float32)
    begin = 0
    for number, case in enumerate(cases):
        mine = seen[begin : begin + 2 * len(case.texts)]
        begin += len(mine)
        base, other = mine[::2], mine[1::2]
        for side, runs in enumerate((other, base) if case.denoising else (base, other)):
            scores[side, number] = score(case, [run.score for run in runs])
            tokens[side, number], chances[side, number] = runs[0].following
    return {"score": scores, "next_id": tokens, "next_probability": chances}
