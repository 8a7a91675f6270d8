"""Numbers beside the figures: the clicked cell, next tokens of three runs, the pairing."""

from backends.methods.medical_patching import MedicalPatchingResult
from views.contract import Look
from views.partitions.markup import number, pairs, sentence, table, text
from views.tools.medical_patching.words import by_head, chosen_cell, unit

NOTHING = "Click a cell of the board, or a point of the curve: the patched run in numbers."


def cell_html(result: MedicalPatchingResult, look: Look) -> str:
    """Return the clicked cell's numbers and next tokens beside those of both whole runs."""
    cell = chosen_cell(result, look)
    if cell is None:
        return sentence(text(NOTHING))
    layer, column = cell
    lines = [("layer", str(layer)), *_place(result, column)]
    if not result.causal_mask[layer, 0 if by_head(result) else column]:
        return pairs([*lines, ("recovery", "not computed: this patch cannot change the score")])
    return f"<div class='gw-details'>{pairs([*lines, *_numbers(result, layer, column)])}" + (
        f"{_next(result, layer, column)}</div>"
    )


def _place(result: MedicalPatchingResult, column: int) -> list[tuple[str, str]]:
    if by_head(result):
        return [("head", str(column))]
    if result.positions != "each":
        return [("positions", text(result.positions))]
    return [("position", f"{column}, token {text(repr(result.columns[column]), 40)}")]


def _numbers(result: MedicalPatchingResult, layer: int, column: int) -> list[tuple[str, str]]:
    if result.recovery_head is not None and result.recovery_head_random is not None:
        found, chance = result.recovery_head, result.recovery_head_random
        more: list[tuple[str, str]] = []
    else:
        found, chance = result.recovery, result.recovery_random
        change = number(float(result.logit_difference[layer, column]), 4)
        more = [("change of the score", f"{change} {unit(result)}")]
    return [
        ("recovery", number(float(found[layer, column]), 4)),
        *more,
        ("random direction", number(float(chance[layer, column]), 4)),
        ("own output", f"{number(float(result.identity[layer]), 2)} {unit(result)} at most"),
        ("N", str(result.n)),
    ]


def _next(result: MedicalPatchingResult, layer: int, column: int) -> str:
    """Return the ten likeliest next tokens of the clean, the corrupted and the patched run."""
    if result.next_id is None or result.next_probability is None:
        return ""
    column = 0 if by_head(result) else column
    ids, chances = result.next_id[layer, column], result.next_probability[layer, column]
    patched: list[list[str | float]] = [
        [result.words[str(int(i))], float(p)] for i, p in zip(ids, chances, strict=True)
    ]
    runs = (result.next_clean, result.next_corrupted, patched)
    rows = []
    for rank, three in enumerate(zip(*runs, strict=True), 1):
        cells = [c for word, p in three for c in (text(repr(word), 24), f"{float(p):.3f}")]
        rows.append([str(rank), *cells])
    header = ["rank", *(c for run in ("clean", "corrupted", "patched") for c in (run, "p"))]
    whole = ", all heads together" if by_head(result) else ""
    return table(header, rows, {0, 2, 4, 6}, f"Next tokens and their probabilities{whole}")


def pairing_html(result: MedicalPatchingResult, look: Look) -> str | None:
    """Return one pair's pairing of positions, None for a set."""
    if len(result.pairs) != 1 or result.recovery_pair is not None:
        return None
    clean, corrupted = result.tokens_clean[0], result.tokens_corrupted[0]
    links = [tuple(map(int, link.split(":"))) for link in result.pairing[0].split(",") if link]
    rows = [
        [str(c), text(repr(clean[c]), 24), str(k), text(repr(corrupted[k]), 24),
         "" if clean[c] == corrupted[k] else "differs"]
        for c, k in links
    ]  # fmt: skip
    rows += [[str(c), text(repr(clean[c]), 24), "", "", "alone"] for c in result.alone_clean[0]]
    rows += [["", "", str(k), text(repr(corrupted[k]), 24), "alone"]
             for k in result.alone_corrupted[0]]  # fmt: skip
    caption = f"Positions that answer to each other: {text(result.pairing[0], 200)}"
    drawn = table(["clean", "token", "corrupted", "token", ""], rows, {0, 2}, caption)
    return f"<details><summary>Pairing of positions</summary>{drawn}</details>"
