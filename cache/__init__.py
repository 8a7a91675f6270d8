"""A cache on disk for results, their parts, and activations, safe for threads and processes.

Unusual: no pickle, no torch. Files are never changed, only created or deleted, and the SQLite
index beside them can be rebuilt from them. `docs/cache.md` tells the whole story.
"""

from cache.activations import Activations
from cache.entry import Entry
from cache.header import CorruptFile
from cache.keys import Json, canonical_json, fingerprint, hash_ids
from cache.store import Store, Usage
from cache.upkeep import Report

__all__ = [
    "Activations",
    "CorruptFile",
    "Entry",
    "Json",
    "Report",
    "Store",
    "Usage",
    "canonical_json",
    "fingerprint",
    "hash_ids",
]
