"""What the figures of patching say alike: units, N, the cell that is looked at."""

import re

import numpy as np

from backends.methods.medical_patching import MedicalPatchingResult
from views.contract import Look
from views.figure import escape

RANDOM = "random direction of equal length"
UNITS = {"logit_difference": "logits", "log_probability": "nats per token"}
SITES = {"block": "block output", "attention": "attention output", "mlp": "MLP output",
         "heads": "heads"}  # fmt: skip


def unit(result: MedicalPatchingResult) -> str:
    """Return the unit of a score."""
    return UNITS.get(result.metric, "")


def count(result: MedicalPatchingResult) -> str:
    """Return N, which counts the pairs that were not dropped."""
    return f"N = {result.n} pair{'' if result.n == 1 else 's'}"


def note(result: MedicalPatchingResult) -> str:
    """Return the line over a plot: N, what was patched, and what must be known."""
    where = {"each": "each position", "all": "all positions", "last": "the last position",
             "entity": "positions that differ"}[result.positions]  # fmt: skip
    first = f"{count(result)}, {result.direction}, {SITES[result.site]} at {where}"
    own = np.nanmax(result.identity, initial=0) if np.isfinite(result.identity).any() else np.nan
    control = f"own output written back: at most {own:.2g} {unit(result)}" if own == own else ""
    return "<br>".join([", ".join(w for w in (first, control) if w), *map(escape, result.notes)])


def above(result: MedicalPatchingResult) -> int:
    """Return the pixels that the note needs over the plot."""
    return 44 + 17 * len(result.notes)


def is_defined(result: MedicalPatchingResult) -> bool:
    """Say whether recovery is defined anywhere; else changes of the score are drawn."""
    return bool(np.isfinite(result.recovery).any())


def by_head(result: MedicalPatchingResult) -> bool:
    """Say whether the board is of heads."""
    return result.recovery_head is not None


def board_shape(result: MedicalPatchingResult) -> tuple[int, int]:
    """Return the numbers of layers and of columns of the board."""
    array = result.recovery if result.recovery_head is None else result.recovery_head
    return array.shape[0], array.shape[1]


def chosen_cell(result: MedicalPatchingResult, look: Look) -> tuple[int, int] | None:
    """Return layer and column of the cell that was clicked, else of the best one if known."""
    found = re.fullmatch(r"(\d{1,6}),(\d{1,6})", str(look.get("cell") or ""))
    layers, columns = board_shape(result)
    if found and int(found[1]) < layers and int(found[2]) < columns:
        return int(found[1]), int(found[2])
    return None if result.best is None or by_head(result) else (result.best[0], result.best[1])


def column_name(result: MedicalPatchingResult, column: int) -> str:
    """Return what a column of the board is, for hovers."""
    if by_head(result):
        group = column * result.kv_heads // max(board_shape(result)[1], 1)
        return f"head {column} (KV group {group})"
    if result.positions != "each":
        return f"{result.positions} positions" if result.positions != "last" else "last position"
    return f"token {escape(result.columns[column], 24)!r}, position {column}"
