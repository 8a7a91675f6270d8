"""Barcodes of the bifiltration along one row or column: when components and cycles begin and end.

Row s is the filtration of K^{s,t} by growing t, column t that by decreasing s. All elements are
there from the start, so bars of degree 0 begin there and end where components merge.

Degree 1 uses the chain complex of generators and relations of `hilbert.py`: vertices are elements,
edges are the generators of a scale, faces are relations, each with the scale that brings it. The
highest generators of a basis of the relations up to time t are those whose cycles have ended by t;
a generator that closes a cycle when it comes, and is not among them, is alive. So the number of
bars (birth b, death t) is the number of highest generators of scale b that are new at time t.

Source: standard persistence over Z/2 (Edelsbrunner, Letscher, Zomorodian 2002), applied to the
quotient complex of `hilbert.py`.
"""

import numpy as np
from jaxtyping import Int

from backends.math.hilbert import zeroth_function
from backends.math.partitions import numbered, reduced
from backends.math.relations import RelationBasis

# An axis has one length in a call, so that the bars of both degrees have names of their own.
Bars = tuple[Int[np.ndarray, "component 2"], Int[np.ndarray, "cycle 2"]]


def row_barcode(labels: Int[np.ndarray, "scale element"], s: int) -> Bars:
    """Return the bars of degree 0 and 1 of row s as (birth, death), in numbers of scales.

    A bar is alive for birth <= t < death; the death of one that never ends is the number of scales.
    """
    zeroth, first = _bars(numbered(labels[s:]))
    return zeroth + s, first + s


def column_barcode(labels: Int[np.ndarray, "scale element"], t: int) -> Bars:
    """Return the bars of degree 0 and 1 of column t as (birth, death), both counted downwards.

    A bar is alive for birth >= s > death; the death of one that never ends is -1.
    """
    zeroth, first = _bars(numbered(labels[t::-1]))
    return t - zeroth, t - first


def _bars(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bars of row 0."""
    small = reduced(labels)
    begins = np.r_[np.unique(small.row_of, return_index=True)[1], len(labels)]
    hf0 = zeroth_function(small.labels)[0]
    zeroth = _spread(_zeroth_counts(hf0))
    first = _spread(_first_counts(small.labels, hf0))
    return begins[zeroth], begins[first]


def _zeroth_counts(hf0: np.ndarray) -> np.ndarray:
    """Count the bars of degree 0 by birth and death; all are born at once."""
    counts = np.zeros((len(hf0), len(hf0) + 1), np.int64)
    counts[0, 1:] = np.r_[hf0[:-1] - hf0[1:], hf0[-1]]
    return counts


def _first_counts(labels: np.ndarray, hf0: np.ndarray) -> np.ndarray:
    """Count the bars of degree 1 by birth and death; those that end where they begin stay out."""
    scales, elements = labels.shape
    generators = elements - labels.max(axis=1).astype(np.int64) - 1
    born = generators - np.r_[elements - hf0[0], hf0[:-1] - hf0[1:]]
    counts = np.zeros((scales, scales + 1), np.int64)
    basis = RelationBasis(labels)
    for t in range(scales):
        ended = np.array(basis.advance(t), np.int64) // elements
        counts[:, t] = np.bincount(ended, minlength=scales)
    counts[:, scales] = born - counts.sum(axis=1)
    counts[np.arange(scales), np.arange(scales)] = 0
    return counts


def _spread(counts: np.ndarray) -> np.ndarray:
    """Return one row (birth, death) for each counted bar."""
    births, deaths = np.nonzero(counts)
    rows = np.stack([births, deaths], axis=1).astype(np.int64)
    return np.repeat(rows, counts[births, deaths], axis=0)
