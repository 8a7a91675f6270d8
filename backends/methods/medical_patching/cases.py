"""From texts to tokens: a pair as token ids, its pairing, and the positions that are patched.

A case speaks of the run that is patched (base) and the run that the patch is taken from (source):
corrupted and clean for denoising, the other way round for noising.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backends.concepts.pairs import Pair
from backends.contract import Known
from backends.errors import BadRequest
from backends.lab import Lab
from backends.methods.medical_patching.pairing import Link, Pairing, paired
from backends.methods.medical_patching.request import (
    MedicalPatchingRequest,
    is_one_pair,
    pairs_of,
)
from backends.models.catalog import ModelRef


@dataclass(frozen=True)
class Text:
    """What one forward pass reads: base and source ids, whose links hold between them.

    `wanted` are the tokens scored, `read` the positions of the base whose logits score them; the
    same number of positions at the end of the source score its own.
    """

    base: list[int]
    source: list[int]
    links: dict[int, int]
    wanted: list[int]
    read: list[int]

    @property
    def read_source(self) -> list[int]:
        """The positions of the source that score the same tokens."""
        shift = len(self.source) - len(self.base)
        return [position + shift for position in self.read]


@dataclass(frozen=True)
class Case:
    """One pair on tokens. `texts` are one, or one with the answer and one with the foil."""

    clean: list[int]
    corrupted: list[int]
    answer: list[int]
    foil: list[int]
    pairing: Pairing
    denoising: bool
    texts: tuple[Text, ...]

    @property
    def base(self) -> list[int]:
        """The prompt whose run is patched."""
        return self.corrupted if self.denoising else self.clean

    @property
    def source(self) -> list[int]:
        """The prompt whose activations are taken."""
        return self.clean if self.denoising else self.corrupted

    @property
    def links(self) -> list[Link]:
        """The links (base, source)."""
        return [(k, c) if self.denoising else (c, k) for c, k in self.pairing.links]

    @property
    def is_scored(self) -> bool:
        """Whether the metric can tell answer and foil apart: in logits, by one token each."""
        by_logits = len(self.texts) == 1
        return self.answer != self.foil and not (
            by_logits and max(len(self.answer), len(self.foil)) > 1
        )

    def differing(self) -> list[int]:
        """Return the linked base positions whose tokens differ."""
        return [b for b, s in self.links if self.base[b] != self.source[s]]

    def reaches(self, position: int, is_last_layer: bool) -> bool:
        """Say whether a patch there can change anything.

        It cannot where both runs read the same tokens so far, nor, after the last block's
        attention, at a position that no score is read from.
        """
        partner = dict(self.links).get(position, position)
        if self.base[: position + 1] == self.source[: partner + 1]:
            return False
        return not is_last_layer or position == len(self.base) - 1


def cases_of(request: MedicalPatchingRequest, lab: Lab, ref: ModelRef) -> list[Case]:
    """Tokenize the request's pairs. Raise `BadRequest` for what only the tokens can tell."""
    pairs = pairs_of(request, lab.known)
    field = "table" if request.table else ""
    prompts = [
        lab.models.encode(
            ref, [getattr(p, side) for p in pairs], request.bos, request.chat, field or side
        )
        for side in ("clean", "corrupted")
    ]
    answers = [
        lab.models.encode(ref, [getattr(p, side) for p in pairs], "none", False, field or side)
        for side in ("answer", "foil")
    ]
    cases = []
    for pair, clean, corrupted, answer, foil in zip(pairs, *prompts, *answers, strict=True):
        ids = [list(one.ids) for one in (clean, corrupted, answer, foil)]
        if request.pairs is None:
            _check(request, lab, ref, pair, ids)
        cases.append(_case(request, *ids))
    _check_length(request, lab.known, cases)
    return cases


def _case(
    request: MedicalPatchingRequest,
    clean: list[int],
    corrupted: list[int],
    answer: list[int],
    foil: list[int],
) -> Case:
    pairing = paired(clean, corrupted, request.pairing)
    denoising = request.direction == "denoising"
    base, source = (corrupted, clean) if denoising else (clean, corrupted)
    links = {k if denoising else c: c if denoising else k for c, k in pairing.links}
    if request.metric == "logit_difference":
        texts = [Text(base, source, links, [answer[0], foil[0]], [len(base) - 1])]
    else:
        texts = [_continued(base, source, links, words) for words in (answer, foil)]
    return Case(clean, corrupted, answer, foil, pairing, denoising, tuple(texts))


def _continued(base: list[int], source: list[int], links: dict[int, int], words: list[int]) -> Text:
    """Return a text that goes on with an answer; its tokens are linked one by one."""
    given = words[:-1]
    more = {len(base) + i: len(source) + i for i in range(len(given))}
    read = list(range(len(base) - 1, len(base) + len(given)))
    return Text([*base, *given], [*source, *given], links | more, words, read)


def _check(
    request: MedicalPatchingRequest, lab: Lab, ref: ModelRef, pair: Pair, ids: list[list[int]]
) -> None:
    """Raise `BadRequest` for texts without tokens and for long answers to one-token scores."""
    sides = ("clean", "corrupted", "answer", "foil")
    for side, tokens in zip(sides, ids, strict=True):
        text = getattr(pair, side)
        if not tokens:
            raise BadRequest(_field(request, side), f"This model has no tokens for {text[:40]!r}.")
        if side in sides[:2] or request.metric != "logit_difference" or len(tokens) == 1:
            continue
        shown = " | ".join(repr(token) for token in lab.models.show(ref, tokens[:8]))
        raise BadRequest(
            _field(request, side),
            f"{text[:40]!r} is {len(tokens)} tokens ({shown}); logit_difference needs one: "
            "take metric = log_probability, or another word.",
        )
    if ids[2] == ids[3]:
        raise BadRequest(_field(request, "foil"), "Answer and foil are the same tokens.")


def _check_length(request: MedicalPatchingRequest, known: Known, cases: Sequence[Case]) -> None:
    entry = known.catalog.get(request.model)
    for case in cases:
        longest = max(max(len(t.base), len(t.source)) for t in case.texts)
        if entry.context is not None and longest > entry.context:
            raise BadRequest(
                _field(request, "clean"),
                f"Prompt and answer have {longest} tokens; {entry.id} reads at most "
                f"{entry.context}.",
            )


def _field(request: MedicalPatchingRequest, side: str) -> str:
    return side if is_one_pair(request) else "table" if request.table else "pairs"


def columns_of(request: MedicalPatchingRequest, case: Case) -> list[list[int]]:
    """Return, per column of the board, the base positions that are patched together.

    Raise `BadRequest` where the pairing leaves none. Without a difference, `entity` is all.
    """
    links = dict(case.links)
    if request.positions == "each":
        return [[p] if p in links else [] for p in range(len(case.base))]
    chosen = sorted(links)
    if request.positions == "last":
        chosen = [p for p in chosen if p == len(case.base) - 1]
    elif request.positions == "entity" and case.base != case.source:
        chosen = case.differing()
    if not chosen:
        raise BadRequest(
            "pairing" if is_one_pair(request) else _field(request, ""),
            f"No position of {request.positions} has a partner in the other prompt "
            f"({len(case.clean)} and {len(case.corrupted)} tokens); write a pairing.",
        )
    return [chosen]


def log_probability(rows: np.ndarray, wanted: Sequence[int]) -> float:
    """Return the mean log probability, in nats, that rows of logits give to the wanted tokens."""
    exact = rows.astype(np.float64)
    top = exact.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(exact - top).sum(axis=1))
    return float(np.mean(exact[np.arange(len(wanted)), list(wanted)] - total))
