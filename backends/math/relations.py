"""A basis of the relations of one window over Z/2, kept as bit vectors that can be read.

Generators and relations are those of `hilbert.py`: generator m N + x is the edge between element x
and the root of its cluster at scale m, and a relation says that two elements lie together at two
scales. Vectors are whole numbers whose bits are generators, so that adding two is one exclusive or;
the highest generator of each is its own. Here no weights are needed, because the window begins at
its first scale.
"""

import numpy as np
from jaxtyping import Bool, Int

from backends.math import hilbert

# Generators (scales times elements, twins dropped) up to which a basis is a matter of a moment.
MOST_GENERATORS = 8_000


class RelationBasis:
    """The span of the relations up to a time. `vectors` holds them by their highest generator."""

    def __init__(self, labels: Int[np.ndarray, "scale element"]) -> None:
        self.vectors: dict[int, int] = {}
        self._labels = labels
        self._order = np.argsort(labels, axis=1, kind="stable")
        self._is_root = are_roots(labels)
        self._relations = hilbert.kernel_for(labels)("relation_column")

    def advance(self, t: int) -> list[int]:
        """Take in the relations of time t; return the highest generators that are new."""
        new = []
        for r, u, v in self._relations(self._labels, self._order, t).tolist():
            vector = self._vector(((r, u), (r, v), (t, u), (t, v)))
            pivot = self._inserted(vector)
            if pivot >= 0:
                new.append(pivot)
        return new

    def _vector(self, ends: tuple[tuple[int, int], ...]) -> int:
        count = self._labels.shape[1]
        bits = (1 << (m * count + x) for m, x in ends if not self._is_root[m, x])
        return sum(bits)

    def _inserted(self, vector: int) -> int:
        """Reduce a vector and keep what is left; return its highest generator, -1 for nothing."""
        while vector:
            pivot = vector.bit_length() - 1
            owner = self.vectors.get(pivot)
            if owner is None:
                self.vectors[pivot] = vector
                return pivot
            vector ^= owner
        return -1


def are_roots(labels: Int[np.ndarray, "scale element"]) -> Bool[np.ndarray, "scale element"]:
    """Say which elements are the first of their cluster, which has no generator for it."""
    is_root = np.zeros(labels.shape, bool)
    for m, row in enumerate(labels):
        is_root[m, np.unique(row, return_index=True)[1]] = True
    return is_root


def generators(vector: int) -> list[int]:
    """Return the generators of a vector, the lowest first."""
    found = []
    while vector:
        lowest = vector & -vector
        found.append(lowest.bit_length() - 1)
        vector ^= lowest
    return found
