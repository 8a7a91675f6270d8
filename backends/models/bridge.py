"""The verbs that run a language model; nobody else hooks one.

`capture` reads activations and keeps them; `run` is a forward pass with changes. Both work on
token ids and give NumPy arrays in float32. Hook names are those of transformer-lens.

Sequences are never padded in length. They are grouped by equal length, and a group is filled up
to a fixed number of rows with copies: with the shape fixed, a row's numbers do not depend on its
neighbors (measured: bit-equal on a CPU with one and two threads), so what is in the cache already
cannot change a result.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from backends.errors import BadRequest
from backends.models import generate, gradients
from backends.models.catalog import Catalog, ModelRef
from backends.models.edits import (
    Edit,
    Enough,
    Positions,
    at_positions,
    edit_hooks,
    ending,
    for_group,
    passed_over,
    reading,
    replacing,
)
from backends.models.registry import Loaded, Registry
from backends.models.tokens import Encoded, encode, show_bytes, show_tokens, token_bytes
from cache import Activations

if TYPE_CHECKING:
    from backends.watch import Watch

log = logging.getLogger("glasswork.models")

ATTENTION = "eager"
LIBRARY = f"transformer-lens {version('transformer-lens').split('.')[0]}"
ROWS = 16
TOKENS_PER_PASS = 256


class Models:
    """Runs models for one job. `watch` counts forward passes and stops between them."""

    def __init__(
        self, catalog: Catalog, registry: Registry, activations: Activations, watch: "Watch"
    ) -> None:
        self.catalog = catalog
        self._registry = registry
        self._activations = activations
        self._watch = watch

    @property
    def device(self) -> str:
        """The device that computes."""
        return self._registry.device

    def encode(
        self,
        ref: ModelRef,
        texts: Sequence[str],
        bos: str = "auto",
        chat: bool = False,
        field: str = "text",
    ) -> list[Encoded]:
        """Tokenize texts. Raise `BadRequest` at `field` for one longer than the model's context."""
        tokenizer = self._registry.tokenizer(ref, self._watch.check)
        context = self.catalog.get(ref.id).context
        encoded = [encode(tokenizer, text, bos, chat) for text in texts]
        for number, one in enumerate(encoded, 1):
            if context is not None and len(one.ids) > context:
                raise BadRequest(
                    field,
                    f"Text {number} has {len(one.ids)} tokens; {ref.id} reads at most {context}.",
                )
        return encoded

    def show(self, ref: ModelRef, ids: Sequence[int]) -> list[str]:
        """Return tokens as readable text, from their bytes."""
        return show_tokens(self._registry.tokenizer(ref, self._watch.check), ids)

    def text(self, ref: ModelRef, ids: Sequence[int]) -> str:
        """Return tokens as one text, from their bytes."""
        pieces = token_bytes(self._registry.tokenizer(ref, self._watch.check), ids)
        return show_bytes(b"".join(pieces))

    def capture(
        self,
        ref: ModelRef,
        ids: Sequence[Sequence[int]],
        hooks: Sequence[str],
        positions: Sequence[Sequence[int]],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> dict[str, list[Float[np.ndarray, "pos d_model"]]]:
        """Return, per hook, the rows of every text at its `positions`, from the cache if there.

        One forward pass per group, ended after the last hook wanted; the logits are not computed.
        No model is loaded when nothing is missing. Each group is stored as it is done, so that a
        stopped capture goes on from there.
        """
        keys = [self._keys(ref, text, hooks, at) for text, at in zip(ids, positions, strict=True)]
        found = self._activations.get([key for row in keys for key in row])
        rows = [found[i : i + len(hooks)] for i in range(0, len(found), len(hooks))]
        missing = [i for i, row in enumerate(rows) if any(part is None for part in row)]
        done = len(ids) - len(missing)
        progress(done, len(ids))
        if missing:
            with self._registry.use(ref, self._watch.check) as model:
                for group in groups(ids, missing):
                    self._watch.check()
                    seen = self._hooked_pass(model, [ids[i] for i in group], hooks)
                    self._store(group, seen, hooks, keys, positions, rows)
                    done += len(group)
                    progress(done, len(ids))
        return {hook: [_there(row[h]) for row in rows] for h, hook in enumerate(hooks)}

    def run(
        self,
        ref: ModelRef,
        ids: Sequence[Sequence[int]],
        edits: Sequence[Edit] = (),
        *,
        start: int = 0,
        stop: int | None = None,
        resid: Sequence[Float[np.ndarray, "_ d_model"]] | None = None,
        want: Sequence[str] = ("logits",),
        positions: Positions = "last",
        fill: bool = True,
    ) -> dict[str, list[Float[np.ndarray, "pos ..."]]]:
        """Run forward passes with changes; return, per name wanted, the rows of every text.

        `want` are hook names and `logits`. With `start`, the blocks before it are passed over and
        `resid` enters block `start`; with `stop`, the pass ends before block `stop`. Without
        `fill` every text has a pass of its own without copies, which costs a third for one text;
        its numbers differ from those of a filled pass in the last bits.
        Raise `ValueError` for an unknown hook or contradictory arguments, `RuntimeError` when an
        edit did not fire.
        """
        _check_run(start, stop, resid, want)
        answers: dict[str, list[Any]] = {name: [None] * len(ids) for name in want}
        with self._registry.use(ref, self._watch.check) as model:
            for group in groups(ids, range(len(ids)), None if fill else 1):
                self._watch.check()
                texts = [ids[i] for i in group]
                seen = self._edited_pass(model, group, texts, edits, start, stop, resid, want, fill)
                for row, i in enumerate(group):
                    at = at_positions(positions, i, len(ids[i]))
                    for name in want:
                        answers[name][i] = seen[name][row, at].float().cpu().numpy()
        return answers

    def gradients(
        self,
        ref: ModelRef,
        ids: Sequence[int],
        loss: Callable[[torch.Tensor], torch.Tensor],
        reduce: Callable[[torch.Tensor, torch.Tensor], tuple[float, ...]],
    ) -> gradients.BlockSums:
        """Return what `reduce(weight, gradient)` sums up to in each block's attention and MLP.

        `loss` makes a number of the logits [pos, vocab] of one text. See `gradients.py`.
        """
        self._watch.check()
        with self._registry.use(ref, self._watch.check) as model:
            return gradients.block_gradients(model, ids, loss, reduce, self._watch)

    def generate(
        self,
        ref: ModelRef,
        ids: Sequence[int],
        new_tokens: int,
        edits: Sequence[Edit] = (),
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Iterator[int]:
        """Yield up to `new_tokens` tokens that continue a text, greedy at temperature 0.

        Edits hold at every position, of the text and of what is generated. It ends after an
        end-of-sequence token, which is not yielded, and at the model's context.
        """
        with self._registry.use(ref, self._watch.check) as model:
            room = (self.catalog.get(ref.id).context or 10**9) - len(ids)
            count = min(new_tokens, room)
            yield from generate.tokens(model, ids, count, edits, temperature, seed, self._watch)

    def _keys(
        self, ref: ModelRef, ids: Sequence[int], hooks: Sequence[str], positions: Sequence[int]
    ) -> list[str]:
        return [
            self._activations.key(
                ref.id, ref.revision, ref.dtype, hook, ids, positions, ATTENTION, LIBRARY
            )
            for hook in hooks
        ]

    def _hooked_pass(
        self, model: Loaded, texts: Sequence[Sequence[int]], hooks: Sequence[str]
    ) -> dict[str, torch.Tensor]:
        seen: dict[str, torch.Tensor] = {}

        def keep(name: str) -> Callable[..., None]:
            def reader(tensor: torch.Tensor, hook: Any) -> None:
                seen[name] = tensor[: len(texts)]
                if len(seen) == len(hooks):
                    raise Enough

            return reader

        self._forward(model, texts, [(name, keep(name)) for name in hooks], logits=False)
        if absent := [name for name in hooks if name not in seen]:
            raise RuntimeError(f"Hooks that did not fire: {', '.join(absent)}.")
        return seen

    def _store(
        self,
        group: Sequence[int],
        seen: Mapping[str, torch.Tensor],
        hooks: Sequence[str],
        keys: Sequence[Sequence[str]],
        positions: Sequence[Sequence[int]],
        rows: list[Any],
    ) -> None:
        blocks: dict[str, np.ndarray] = {}
        index: list[tuple[str, str, int, int]] = []
        for h, hook in enumerate(hooks):
            parts = [
                seen[hook][r, list(positions[i])].float().cpu().numpy() for r, i in enumerate(group)
            ]
            ends = np.cumsum([len(part) for part in parts])
            for i, part, end in zip(group, parts, ends, strict=True):
                rows[i][h] = part
                index.append((keys[i][h], hook, int(end) - len(part), int(end)))
            blocks[hook] = np.concatenate(parts)
        self._activations.put(blocks, index)

    def _edited_pass(
        self,
        model: Loaded,
        group: Sequence[int],
        texts: Sequence[Sequence[int]],
        edits: Sequence[Edit],
        start: int,
        stop: int | None,
        resid: Sequence[np.ndarray] | None,
        want: Sequence[str],
        fill: bool,
    ) -> dict[str, torch.Tensor]:
        fired = [0] * len(edits)
        seen: dict[str, torch.Tensor] = {}
        hooks: list[tuple[str, Callable[..., Any]]] = []
        if start and resid is not None:
            rows = np.stack([resid[i] for i in group])
            entering = filled(rows) if fill else rows
            hooks.append((f"blocks.{start}.hook_resid_pre", replacing(entering)))
        for number, edit in enumerate(edits):
            places = [at_positions(edit.positions, i, len(texts[0])) for i in group]
            change = for_group(edit.change, group)
            hooks += edit_hooks(edit, change, places, fired, number)
        for name in want:
            if name != "logits":
                hooks.append((name, reading(name, seen, len(texts))))
        if stop is not None:
            hooks.append((f"blocks.{stop}.hook_resid_pre", ending))
        with model.lock, passed_over(model.bridge, start):
            head = any(name.startswith(("logits", "unembed.")) for name in want)
            out = self._forward(model, texts, hooks, head, fill)
        if out is not None:
            seen["logits"] = out[: len(texts)]
        silent = [e.hook for e, n in zip(edits, fired, strict=True) if n == 0]
        silent += [name for name in want if name not in seen]
        if silent:
            raise RuntimeError(f"Hooks that did not fire: {', '.join(silent)}.")
        return seen

    def _forward(
        self,
        model: Loaded,
        texts: Sequence[Sequence[int]],
        hooks: list[tuple[str, Callable[..., Any]]],
        logits: bool,
        fill: bool = True,
    ) -> torch.Tensor | None:
        known = model.bridge.hook_dict
        for name, _ in hooks:
            if name not in known:
                raise ValueError(f"Hook {name!r} is not one of this model's.")
        rows = np.array(texts)
        batch = torch.as_tensor(filled(rows) if fill else rows, device=model.device)
        self._watch.count("forward_passes")
        with model.lock, torch.inference_mode(), model.bridge.hooks(fwd_hooks=hooks):
            try:
                inner = model.bridge.original_model
                out = (inner if logits else inner.base_model)(input_ids=batch, use_cache=False)
            except Enough:
                return None
        return out.logits if logits else None


def _rows(length: int) -> int:
    """Return how many sequences of a length go through one pass: fixed per length."""
    return max(1, min(ROWS, TOKENS_PER_PASS // length))


def groups(
    ids: Sequence[Sequence[int]], which: Sequence[int] | range, rows: int | None = None
) -> Iterator[list[int]]:
    """Yield the indices of texts of equal length that share a pass, shortest texts first.

    `rows` is the largest number of texts in a pass, by default that of their length.
    """
    by_length: dict[int, list[int]] = {}
    for i in which:
        if not ids[i]:
            raise ValueError(f"Text {i} has no tokens.")
        by_length.setdefault(len(ids[i]), []).append(i)
    for length, members in sorted(by_length.items()):
        step = rows or _rows(length)
        for first in range(0, len(members), step):
            yield members[first : first + step]


def filled(batch: np.ndarray) -> np.ndarray:
    """Repeat the last row of a batch [row, pos, …] up to the fixed number for its length."""
    extra = _rows(batch.shape[1]) - len(batch)
    return np.concatenate([batch, np.repeat(batch[-1:], extra, axis=0)]) if extra > 0 else batch


def _there(part: np.ndarray | None) -> np.ndarray:
    assert part is not None
    return part


def _check_run(start: int, stop: int | None, resid: object, want: Sequence[str]) -> None:
    if start < 0:
        raise ValueError(f"start = {start} is below 0.")
    if (start > 0) != (resid is not None):
        raise ValueError(f"start = {start} and resid go together: both or neither.")
    if stop is not None and stop <= start:
        raise ValueError(f"stop = {stop} must be above start = {start}.")
    if stop is not None and "logits" in want:
        raise ValueError("A pass that stops has no logits.")
