"""Gradients of a loss with respect to the weights of each block, reduced where they arise.

A block's weights are the matrices of its attention and of its MLP; embeddings, norms, biases and
the unembedding are left out. The gradients themselves would be as large as the model, so a function
turns each into a few numbers (sums over the matrix, one per measure), and only those are kept.

All blocks share one backward pass where the gradients fit into memory, else each block has its own:
then only its weights ask for a gradient, with the same numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int

from backends.models.registry import Loaded

if TYPE_CHECKING:
    from backends.watch import Watch

# Bytes of gradients above which each block has a backward pass of its own.
MOST_BYTES = 4 * 2**30
PARTS = ("attn", "mlp")

Loss = Callable[[torch.Tensor], torch.Tensor]
Reduce = Callable[[torch.Tensor, torch.Tensor], tuple[float, ...]]


@dataclass(frozen=True)
class BlockSums:
    """Per block and part (attention, MLP): the reduced gradients, and the number of weights.

    A measure is one of the numbers that `reduce` returns. `loss` is the value of the loss.
    """

    sums: Float[np.ndarray, "layer 2 measure"]
    weights: Int[np.ndarray, "layer 2"]
    loss: float


def block_gradients(
    model: Loaded,
    ids: Sequence[int],
    loss: Loss,
    reduce: Reduce,
    watch: "Watch",
    most_bytes: int = MOST_BYTES,
) -> BlockSums:
    """Run one text forward and backward. Raise `RuntimeError` for a loss that is not finite."""
    blocks = [block_weights(block) for block in model.bridge.blocks]
    together = sum(w.numel() * w.element_size() for parts in blocks for p in parts for w in p)
    groups = [blocks] if together <= most_bytes else [[block] for block in blocks]
    found: list[tuple[np.ndarray, int]] = []
    value = 0.0
    for group in groups:
        watch.check()
        value, reduced = _backward(model, ids, loss, reduce, group)
        watch.count("backward_passes")
        found += reduced
    # A part without weights has one zero, whatever the number of measures.
    sums = np.stack(np.broadcast_arrays(*[total for total, _ in found]))
    weights = np.array([count for _, count in found], np.int64)
    shape = len(blocks), len(PARTS)
    return BlockSums(sums.reshape(*shape, -1), weights.reshape(shape), value)


def block_weights(block: Any) -> list[list[torch.Tensor]]:
    """Return the weight matrices of a block's attention and of its MLP.

    Raise `ValueError` for a block that has neither by these names.
    """
    found = [
        [w for w in getattr(block, part).parameters() if w.ndim >= 2]
        if hasattr(block, part)
        else []
        for part in PARTS
    ]
    if not any(found):
        raise ValueError("This model's blocks have neither attention nor MLP weights.")
    return found


def _backward(
    model: Loaded,
    ids: Sequence[int],
    loss: Loss,
    reduce: Reduce,
    group: Sequence[Sequence[Sequence[torch.Tensor]]],
) -> tuple[float, list[tuple[np.ndarray, int]]]:
    weights = [w for parts in group for part in parts for w in part]
    with model.lock, _asking(model, weights), torch.enable_grad():
        batch = torch.as_tensor(np.array([ids]), device=model.device)
        logits = model.bridge.original_model(input_ids=batch, use_cache=False).logits[0]
        value = loss(logits.float())
        if not torch.isfinite(value):
            raise RuntimeError("The loss is not finite.")
        grads = iter(torch.autograd.grad(value, weights, allow_unused=True))
    parts = [part for parts in group for part in parts]
    found = [_reduced(part, [next(grads) for _ in part], reduce) for part in parts]
    return float(value.detach()), found


def _reduced(
    weights: Sequence[torch.Tensor], grads: Sequence[torch.Tensor | None], reduce: Reduce
) -> tuple[Float[np.ndarray, "measure"], int]:
    """Return a part's sum per measure and its number of weights.

    The bridge keeps joint query-key-value weights beside the three that it made of them; those that
    the pass did not use have no gradient and do not count.
    """
    used = [(w.detach(), g) for w, g in zip(weights, grads, strict=True) if g is not None]
    sums = np.array([reduce(w, g) for w, g in used] or [(0.0,)], np.float64).sum(axis=0)
    return sums, sum(w.numel() for w, _ in used)


@contextmanager
def _asking(model: Loaded, weights: Sequence[torch.Tensor]) -> Iterator[None]:
    """Let only some weights ask for a gradient."""
    parameters = list(model.bridge.original_model.parameters())
    before = [p.requires_grad for p in parameters]
    try:
        for parameter in parameters:
            parameter.requires_grad_(False)
        for weight in weights:
            weight.requires_grad_(True)
        yield
    finally:
        for parameter, asked in zip(parameters, before, strict=True):
            parameter.requires_grad_(asked)
