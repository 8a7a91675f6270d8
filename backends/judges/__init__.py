"""Judges: how much worse an answer became, from 1 (the same) to 10 (of no use).

A module of this folder with `JUDGE` is a judge; there is no list to edit. A judge is asked once per
question and layer and should answer the same question alike, or equal requests give other results.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from backends.discovery import scan
from backends.errors import BadRequest
from backends.math.severity import LEAST, MOST

Score = Callable[[str, str, str, float], float]
"""(question, answer of the whole model, lesioned answer, mean Jensen-Shannon divergence in nats)
to a number, 1..10. Without `needs_answer` the lesioned answer is empty."""


@dataclass(frozen=True)
class Judge:
    """One judge. `needs_answer` has the lesioned answer generated, which takes seconds each."""

    key: str
    score: Score
    needs_answer: bool = False

    def judged(self, question: str, answer: str, lesioned: str, divergence: float) -> float:
        """Return the score, held inside 1..10. Raise `ValueError` for one that is no number."""
        score = float(self.score(question, answer, lesioned, divergence))
        if math.isnan(score):
            raise ValueError(f"Judge {self.key!r} gave no number.")
        return min(max(score, LEAST), MOST)


def find_judges(package: str = "backends.judges") -> dict[str, Judge]:
    """Import every module of a package and collect its `JUDGE`, by key."""
    found = scan(package, "JUDGE")
    return {judge.key: judge for _, judge, reason in found if reason is None}


def judge_named(key: str) -> Judge:
    """Return a judge. Raise `BadRequest` with those that exist."""
    judges = find_judges()
    if key not in judges:
        raise BadRequest(
            "judge", f"Judge {key[:40]!r} is unknown; there are: {', '.join(sorted(judges))}."
        )
    return judges[key]
