"""Prompts that have nothing to do with medicine: the control of measures on concept sets.

Worded and as long as the medical prompts: subject, verb, an entity at the end (inside, for ages of
things). Our own compilation.
"""

import csv
from functools import cache
from importlib.resources import files

from backends.concepts.table import ConceptSet


@cache
def neutral_set() -> ConceptSet:
    """Return the neutral prompts with their entities; they have no labels."""
    text = (files("backends.concepts") / "neutral.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return ConceptSet([row["prompt"] for row in rows], {}, [row["entity"] for row in rows])
