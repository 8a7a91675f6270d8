"""Lesions of one block: questions, answers of the whole model, and passes with the block changed.

The whole model answers a question once, greedily. Question and answer then go through the model
once more, and the residual stream before every block is kept; a lesioned pass starts at its block
from there. Nothing is generated for a lesion, so that all lesions are measured along one answer.

A block's contribution is `resid_post - resid_pre`: attention and MLP, also where they are parallel.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field, model_validator

from backends.concepts.medical import Domain
from backends.concepts.questions import neutral_questions, questions, read_questions
from backends.contract import Known, ModelRequest, Upload
from backends.lab import Lab
from backends.math.severity import Shift, log_probabilities, shift
from backends.models.catalog import ModelRef

if TYPE_CHECKING:
    from backends.models.edits import Edit

DEFAULT_DOMAIN: Domain = "drug"
MOST_TOKENS = 64

Ablation = Literal["identity", "zero", "mean"]


class LesionRequest(ModelRequest):
    """Which questions, and what is done to a block."""

    domain: Domain | None = Field(None, description="Built-in questions; drug if no table")
    table: Upload | None = Field(None, description="Own questions: a CSV with a column question")
    ablation: Ablation = Field(
        "identity",
        description="The block gives back its input, or zero, or its mean contribution",
    )
    answer_tokens: int = Field(
        32, ge=1, le=MOST_TOKENS, description="Longest answer of the whole model, in tokens"
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of random directions and intervals")

    @model_validator(mode="before")
    @classmethod
    def _one_source(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        if data.get("table") and data.get("domain"):
            raise ValueError("a domain and a table were given; give one of them")
        if not data.get("table") and not data.get("domain"):
            return {**data, "domain": DEFAULT_DOMAIN}
        return data


def questions_of(request: LesionRequest, known: Known) -> list[str]:
    """Return the request's questions. Raise `BadRequest` for a table that cannot be used."""
    if request.table is not None:
        return read_questions(known.uploads.read(request.table, "table"))
    assert request.domain is not None
    return questions(request.domain)


def prompt_ids(
    request: LesionRequest, lab: Lab, ref: ModelRef, asked: Iterable[str]
) -> list[list[int]]:
    """Tokenize questions: in the chat template, else with a line break behind each.

    Without the line break an instructed model ends its text after a question mark.
    """
    texts = [question if request.chat else f"{question}\n" for question in asked]
    field = "table" if request.table is not None else "domain"
    return [one.ids for one in lab.models.encode(ref, texts, request.bos, request.chat, field)]


@dataclass(frozen=True)
class Text:
    """A question and the answer of the whole model, as tokens; the answer may be empty."""

    question: str
    ids: list[int]
    answer: list[int]

    @property
    def whole(self) -> list[int]:
        """Question and answer."""
        return [*self.ids, *self.answer]

    @property
    def positions(self) -> range:
        """The positions that predict the answer's tokens."""
        return range(len(self.ids) - 1, len(self.ids) + len(self.answer) - 1)


@dataclass(frozen=True)
class Baseline:
    """What the whole model computes along a text.

    `states` are the residual stream before block 0, and after every block. `logits` and `log_p` are
    at the positions that predict the answer.
    """

    text: Text
    states: Float[np.ndarray, "state pos d_model"]
    logits: Float[np.ndarray, "answer vocab"]
    log_p: Float[np.ndarray, "answer vocab"]


def run_baseline(lab: Lab, ref: ModelRef, text: Text) -> Baseline:
    """Run question and answer through the whole model once."""
    layers = lab.known.catalog.get(ref.id).layers or 0
    hooks = ["blocks.0.hook_resid_pre", *(_output(layer) for layer in range(layers))]
    seen = lab.models.run(ref, [text.whole], want=(*hooks, "logits"), positions="all", fill=False)
    logits = seen["logits"][0][list(text.positions)]
    states = np.stack([seen[hook][0] for hook in hooks])
    return Baseline(text, states, logits, log_probabilities(logits))


def run_changed(
    lab: Lab, ref: ModelRef, base: Baseline, layer: int, edit: "Edit"
) -> Float[np.ndarray, "answer vocab"]:
    """Return the logits along the answer with a block changed; blocks before it are not run."""
    seen = lab.models.run(
        ref,
        [base.text.whole],
        [edit],
        start=layer,
        resid=[base.states[layer]] if layer else None,
        positions=[list(base.text.positions)],
        fill=False,
    )
    logits: np.ndarray = seen["logits"][0]
    return logits


def shift_of(base: Baseline, logits: Float[np.ndarray, "answer vocab"]) -> Shift:
    """Compare a changed model with the whole one along the answer."""
    return shift(base.log_p, logits, np.array(base.text.answer))


def lesion(
    layer: int, ablation: Ablation, mean: Float[np.ndarray, "layer d_model"] | None = None
) -> "Edit":
    """Return the edit of a block that takes its contribution away; `mean` needs the means."""
    from backends.models.edits import Edit

    if ablation == "zero":
        return Edit(_output(layer), "all", lambda rows: rows.new_zeros(rows.shape))
    if ablation == "identity":
        return Edit(_output(layer), "all", lambda rows, entering: entering, _input(layer))
    assert mean is not None
    usual = mean[layer]
    return Edit(
        _output(layer),
        "all",
        lambda rows, entering: entering + rows.new_tensor(usual),
        _input(layer),
    )


def random_contribution(layer: int, seed: list[int]) -> "Edit":
    """Return the edit that gives a block's contribution a random direction and its own length."""
    from backends.models.edits import Edit

    rng = np.random.default_rng(seed)

    def change(rows: Any, entering: Any) -> Any:
        drawn = rows.new_tensor(rng.standard_normal(tuple(rows.shape), np.float32))
        length = (rows - entering).norm(dim=-1, keepdim=True)
        return entering + drawn / drawn.norm(dim=-1, keepdim=True) * length

    return Edit(_output(layer), "all", change, _input(layer))


def own_output(base: Baseline, layer: int) -> "Edit":
    """Return the edit that writes a block's own output of the baseline: it must change nothing."""
    from backends.models.edits import Edit

    return Edit(_output(layer), "all", base.states[layer + 1])


def mean_contributions(
    request: LesionRequest, lab: Lab, ref: ModelRef
) -> Float[np.ndarray, "layer d_model"] | None:
    """Return each block's contribution to the neutral questions, for the mean ablation only.

    The mean is over all their positions but the first, which carries the massive activations.
    """
    if request.ablation != "mean":
        return None
    layers = lab.known.catalog.get(ref.id).layers or 0
    ids = prompt_ids(request, lab, ref, neutral_questions())
    hooks = ["blocks.0.hook_resid_pre", *(_output(layer) for layer in range(layers))]
    rows = lab.models.capture(ref, ids, hooks, [range(1, len(one)) for one in ids])
    means = [np.concatenate(rows[hook]).mean(axis=0, dtype=np.float64) for hook in hooks]
    return np.diff(np.stack(means), axis=0).astype(np.float32)


def answered(lab: Lab, ref: ModelRef, ids: list[int], count: int, *edits: "Edit") -> list[int]:
    """Return the greedy answer to a question, without its end token."""
    return list(lab.models.generate(ref, ids, count, edits))


def _input(layer: int) -> str:
    return f"blocks.{layer}.hook_resid_pre"


def _output(layer: int) -> str:
    return f"blocks.{layer}.hook_resid_post"
