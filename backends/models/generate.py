"""Text that a model goes on with, token by token, with a KV cache and with edits.

Trap: since transformers 5.24 a layer hands `cache` to its attention, and the bridge of
transformer-lens 4.3 looks for `past_key_values`; without help nothing is ever cached and every new
token would see itself alone. `_cached` renames the argument for as long as a text is generated.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from backends.models.edits import Edit, edit_hooks
from backends.models.registry import Loaded

if TYPE_CHECKING:
    from backends.watch import Watch


def tokens(
    model: Loaded,
    ids: Sequence[int],
    count: int,
    edits: Sequence[Edit],
    temperature: float,
    seed: int,
    watch: "Watch",
) -> Iterator[int]:
    """Yield up to `count` tokens after `ids`; greedy at temperature 0.

    Raise `ValueError` for an edit that is not for all positions or has rows of its own.
    """
    if any(edit.positions != "all" or not callable(edit.change) for edit in edits):
        raise ValueError("Edits of generated text are functions and hold at all positions.")
    from transformers import DynamicCache

    inner, ends = model.bridge.original_model, _ends(model)
    cache = DynamicCache(config=inner.config)
    pick = torch.Generator(device="cpu").manual_seed(seed)
    entering = list(ids)
    for _ in range(count):
        watch.check()
        watch.count("forward_passes")
        logits = _step(model, entering, cache, edits)
        chosen = _chosen(logits, temperature, pick)
        if chosen in ends:
            return
        yield chosen
        entering = [chosen]


def _step(model: Loaded, ids: Sequence[int], cache: Any, edits: Sequence[Edit]) -> torch.Tensor:
    """Return the logits after the last of some new tokens."""
    fired = [0] * len(edits)
    places = [list(range(len(ids)))]
    hooks = [
        h for n, edit in enumerate(edits) for h in edit_hooks(edit, edit.change, places, fired, n)
    ]
    batch = torch.as_tensor(np.array([ids]), device=model.device)
    with ExitStack() as stack:
        stack.enter_context(model.lock)
        stack.enter_context(torch.inference_mode())
        stack.enter_context(_cached(model))
        stack.enter_context(model.bridge.hooks(fwd_hooks=hooks))
        out = model.bridge.original_model(input_ids=batch, cache=cache, use_cache=True)
    if silent := [edit.hook for edit, n in zip(edits, fired, strict=True) if not n]:
        raise RuntimeError(f"Hooks that did not fire: {', '.join(silent)}.")
    logits: torch.Tensor = out.logits[0, -1]
    return logits.float().cpu()


@contextmanager
def _cached(model: Loaded) -> Iterator[None]:
    """Hand the cache to the bridge's attention under the name that it knows."""

    def named(module: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if kwargs.get("past_key_values") is None and kwargs.get("cache") is not None:
            kwargs["past_key_values"] = kwargs["cache"]
        return args, kwargs

    blocks = [block.attn for block in model.bridge.blocks if hasattr(block, "attn")]
    handles = [attn.register_forward_pre_hook(named, with_kwargs=True) for attn in blocks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _chosen(logits: torch.Tensor, temperature: float, pick: torch.Generator) -> int:
    if temperature <= 0:
        return int(logits.argmax())
    weights = torch.softmax(logits.double() / temperature, dim=0)
    return int(torch.multinomial(weights, 1, generator=pick))


def _ends(model: Loaded) -> set[int]:
    """Return the tokens that end a text, as the model's own settings say."""
    inner = model.bridge.original_model
    stated = [getattr(s, "eos_token_id", None) for s in (inner.generation_config, inner.config)]
    stated.append(getattr(model.tokenizer, "eos_token_id", None))
    lists = [each if isinstance(each, list | tuple) else [each] for each in stated]
    return {int(token) for each in lists for token in each if token is not None}
