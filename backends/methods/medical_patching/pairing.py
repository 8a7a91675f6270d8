"""Which position of the clean prompt answers to which of the corrupted one.

Prompts of equal length are paired position by position. Else the common beginning and the common
end are paired, and what lies between from its end backwards; what is left over has no partner and
is named. Positions count tokens from 0, those that the tokenizer or a chat template adds included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backends.errors import BadRequest

Link = tuple[int, int]


@dataclass(frozen=True)
class Pairing:
    """Links (clean, corrupted) in ascending order, and the positions that have none."""

    links: tuple[Link, ...]
    alone_clean: tuple[int, ...]
    alone_corrupted: tuple[int, ...]

    def text(self) -> str:
        """Return the pairing as the request's field writes it."""
        return ",".join(f"{clean}:{corrupted}" for clean, corrupted in self.links)


def paired(clean: Sequence[int], corrupted: Sequence[int], wanted: str = "") -> Pairing:
    """Return the pairing of two prompts of token ids: the one written, or the automatic one.

    Raise `BadRequest` for a position that a prompt does not have.
    """
    links = parsed(wanted) if wanted.strip() else _automatic(clean, corrupted)
    for side, name, ids in ((0, "clean", clean), (1, "corrupted", corrupted)):
        outside = [link[side] for link in links if link[side] >= len(ids)]
        if outside:
            raise BadRequest(
                "pairing",
                f"The {name} prompt has no position {outside[0]}; it has 0..{len(ids) - 1}.",
            )
    return Pairing(
        tuple(links),
        tuple(sorted(set(range(len(clean))) - {c for c, _ in links})),
        tuple(sorted(set(range(len(corrupted))) - {k for _, k in links})),
    )


def parsed(text: str) -> list[Link]:
    """Read `clean:corrupted` links joined by commas, sorted by the corrupted position.

    Raise `BadRequest` for another form and for a position that is named twice.
    """
    links = []
    for part in text.split(","):
        sides = part.split(":")
        if len(sides) != 2 or not all(s.strip().isdecimal() and len(s.strip()) < 7 for s in sides):
            raise BadRequest(
                "pairing",
                f"{part.strip()[:40]!r} is no link; write clean:corrupted, as in 0:0,1:2.",
            )
        links.append((int(sides[0]), int(sides[1])))
    for side, name in ((0, "clean"), (1, "corrupted")):
        named = [link[side] for link in links]
        if twice := [position for position in named if named.count(position) > 1]:
            raise BadRequest("pairing", f"The {name} position {twice[0]} is linked twice.")
    return sorted(links, key=lambda link: link[1])


def _automatic(clean: Sequence[int], corrupted: Sequence[int]) -> list[Link]:
    shorter = min(len(clean), len(corrupted))
    head = shorter if len(clean) == len(corrupted) else _common(clean, corrupted)
    rest = range(shorter - head, 0, -1)
    return [*((i, i) for i in range(head)), *((len(clean) - i, len(corrupted) - i) for i in rest)]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two texts share at their beginning."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))
