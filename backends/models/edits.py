"""Changes of a forward pass, as hooks: edits, blocks that are passed over, an early end.

Hook functions get a batch's tensor [row, pos, …] and return another one where they change it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

Positions = Literal["last", "all"] | Sequence[Sequence[int]]
Change = np.ndarray | Sequence[np.ndarray] | Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Edit:
    """A change of one hooked tensor during `run`.

    `positions` are `all`, `last`, or a list per sample; `change` is an array that replaces every
    row there, a list with one array `[pos, ...]` per sample, or a function from the rows
    `[row, ...]` to rows of the same shape. With `source`, a hook that fires before, the function
    also gets that one's rows: an identity lesion of a block returns them.
    """

    hook: str
    positions: Positions
    change: Change
    source: str = ""


class Enough(Exception):
    """Raised inside a forward pass when everything wanted was seen."""


def at_positions(positions: Positions, sample: int, length: int) -> list[int]:
    """Return the positions of one sample of a length as a list."""
    if positions == "last":
        return [length - 1]
    if positions == "all":
        return list(range(length))
    assert not isinstance(positions, str)
    return list(positions[sample])


def replacing(value: np.ndarray) -> Callable[..., torch.Tensor]:
    """Return a hook that puts a value in place of the whole tensor."""

    def write(tensor: torch.Tensor, hook: Any) -> torch.Tensor:
        return torch.as_tensor(value, device=tensor.device, dtype=tensor.dtype)

    return write


def for_group(change: Change, group: Sequence[int]) -> Change:
    """Return the change of a group of samples: rows given per sample one after the other."""
    if isinstance(change, np.ndarray) or callable(change):
        return change
    return np.concatenate([change[i] for i in group])


def edit_hooks(
    edit: Edit, change: Change, places: Sequence[Sequence[int]], fired: list[int], number: int
) -> list[tuple[str, Callable[..., Any]]]:
    """Return the hooks of an edit; `fired[number]` counts the rows that it changed."""
    entering: dict[str, torch.Tensor] = {}
    write = _changing(change, places, fired, number, edit.source, entering)
    if not edit.source:
        return [(edit.hook, write)]
    return [(edit.source, reading(edit.source, entering, len(places))), (edit.hook, write)]


def _changing(
    change: Change,
    places: Sequence[Sequence[int]],
    fired: list[int],
    number: int,
    source: str,
    entering: Mapping[str, torch.Tensor],
) -> Callable[..., torch.Tensor]:
    rows = [r for r, at in enumerate(places) for _ in at]
    columns = [p for at in places for p in at]

    def write(tensor: torch.Tensor, hook: Any) -> torch.Tensor:
        fired[number] += len(rows)
        old = tensor[rows, columns]
        if callable(change):
            new = change(old, entering[source][rows, columns]) if source else change(old)
        else:
            new = torch.as_tensor(np.asarray(change), device=old.device, dtype=old.dtype)
        changed = tensor.clone()
        changed[rows, columns] = new.expand_as(old)
        return changed

    return write


def reading(name: str, seen: dict[str, torch.Tensor], rows: int) -> Callable[..., None]:
    """Return a hook that keeps the first rows of the tensor under a name."""

    def read(tensor: torch.Tensor, hook: Any) -> None:
        seen[name] = tensor[:rows]

    return read


def ending(tensor: torch.Tensor, hook: Any) -> None:
    """End the pass where this hook fires."""
    raise Enough


class passed_over:
    """Replace the blocks before `start` by pass-throughs for the length of a pass.

    The bridge's own `start_at_layer` runs them and drops their output. `forward` is set on the
    instance past the bridge's own `__setattr__`, which would hand it on to the wrapped block.
    """

    def __init__(self, bridge: Any, start: int) -> None:
        self._blocks = list(bridge.blocks[:start])

    def __enter__(self) -> None:
        for block in self._blocks:
            object.__setattr__(block, "forward", _through)

    def __exit__(self, *_: object) -> None:
        for block in self._blocks:
            object.__delattr__(block, "forward")


def _through(*args: Any, **kwargs: Any) -> Any:
    return args[0] if args else kwargs["hidden_states"]
