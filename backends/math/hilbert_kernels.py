"""Inner loops of the Hilbert functions: plain functions that numba compiles.

They are compiled by `backends/math/hilbert.py` when a sequence is large enough to pay for it, and
run as they stand for small ones; so each is one function on arrays, without numba at import.

A *generator* e(m, x) = m N + x stands for the edge between element x and the root (first element)
of its cluster at scale m; the root itself has none. A *relation* (r, u, v) at time t says that u
and v lie together at both r and t: e(r, u) + e(r, v) + e(t, u) + e(t, v) = 0; r is its *weight*.
The pivot of a vector over Z/2 is its highest generator. Source: `hilbert.py`.
"""

from typing import Any

import numpy as np

Array = Any  # Typed loosely: numba compiles these for the types that it is given.


def forest_column(row: Array, edges: Array, t: int) -> Array:
    """Return the maximum-weight spanning forest after scale t as rows (u, v, weight).

    `row` are the labels of scale t, `edges` the forest before, in order of decreasing weight.
    """
    count = len(row)
    parent = np.arange(count)
    kept = np.empty((count, 3), np.int64)
    first = np.full(count, -1, np.int64)
    n = 0
    for x in range(count):
        if first[row[x]] < 0:
            first[row[x]] = x
            continue
        u = first[row[x]]
        parent[x] = u
        kept[n, 0], kept[n, 1], kept[n, 2] = u, x, t
        n += 1
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        while parent[u] != u:
            parent[u] = parent[parent[u]]
            u = parent[u]
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        if u != v:
            parent[v] = u
            kept[n] = edges[i]
            n += 1
    return kept[:n]


def relation_column(labels: Array, order: Array, t: int) -> Array:
    """Return the relations of time t as rows (r, u, v), those of larger r first.

    `order[m]` lists the elements by their cluster at scale m. Of each overlap of a cluster at r
    and one at t, only the components of "together at a scale between" are related; the other
    relations are sums of these and of earlier ones that are not lighter.
    """
    count = labels.shape[1]
    out = np.empty((64, 3), np.int64)
    n = 0
    overlap = np.empty(count, np.int64)
    first = np.empty(count, np.int64)
    size = np.empty(count, np.int64)
    seen = np.empty(count, np.int64)
    seat = np.empty(count, np.int64)
    parent = np.empty(count, np.int64)
    for r in range(t - 1, -1, -1):
        seen[:] = -1
        overlaps = 0
        for i in range(count):
            x = order[t, i]
            a, b = labels[r, x], labels[t, x]
            if seen[a] != b:
                seen[a] = b
                seat[a] = overlaps
                first[overlaps] = x
                size[overlaps] = 0
                overlaps += 1
            overlap[x] = seat[a]
            size[seat[a]] += 1
        left = count - overlaps
        if left == 0:
            continue
        for x in range(count):
            parent[x] = x
        for q in range(t - 1, r, -1):
            seen[:] = -1
            for i in range(count):
                x = order[q, i]
                a = overlap[x]
                if size[a] == 1:
                    continue
                if seen[a] != labels[q, x]:
                    seen[a] = labels[q, x]
                    seat[a] = x
                    continue
                u, v = seat[a], x
                while parent[u] != u:
                    parent[u] = parent[parent[u]]
                    u = parent[u]
                while parent[v] != v:
                    parent[v] = parent[parent[v]]
                    v = parent[v]
                if u != v:
                    parent[max(u, v)] = min(u, v)
                    left -= 1
            if left == 0:
                break
        if left == 0:
            continue
        if n + left > len(out):
            longer = np.empty((2 * (n + left), 3), np.int64)
            longer[:n] = out[:n]
            out = longer
        for x in range(count):
            if parent[x] != x:
                continue
            u = first[overlap[x]]
            while parent[u] != u:
                u = parent[u]
            if u != x:
                out[n, 0], out[n, 1], out[n, 2] = r, u, x
                n += 1
    return out[:n]


def insert_sparse(
    relations: Array,
    t: int,
    is_root: Array,
    start: Array,
    length: Array,
    weight: Array,
    counts: Array,
    pool: Array,
    used: int,
) -> tuple[Array, int]:
    """Insert relations into a basis of sorted lists; return the pool of vectors and its use.

    The vector with pivot p (its highest generator) stands in `pool[start[p]:][:length[p]]` and has
    `weight[p]`, -1 where there is none. `counts[w]` is the number of vectors of weight w.
    """
    columns = is_root.shape[1]
    current = np.empty(64, np.int32)
    other = np.empty(64, np.int32)
    for i in range(len(relations)):
        w, low, high = relations[i, 0], relations[i, 1], relations[i, 2]
        if low > high:
            low, high = high, low
        n = 0
        for j in range(4):
            m = t if j < 2 else w
            x = high if j % 2 == 0 else low
            if not is_root[m, x]:
                current[n] = m * columns + x
                n += 1
        while n > 0:
            pivot = current[0]
            owner, begin, size = weight[pivot], start[pivot], length[pivot]
            if owner >= 0:
                if n + size > len(other):
                    other = np.empty(2 * (n + size), np.int32)
                a, b, k = 1, 1, 0
                while a < n and b < size:
                    one, two = current[a], pool[begin + b]
                    if one == two:
                        a += 1
                        b += 1
                    elif one > two:
                        other[k] = one
                        a += 1
                        k += 1
                    else:
                        other[k] = two
                        b += 1
                        k += 1
                while a < n:
                    other[k] = current[a]
                    a += 1
                    k += 1
                while b < size:
                    other[k] = pool[begin + b]
                    b += 1
                    k += 1
            if owner < w:
                if used + n > len(pool):
                    live = 0
                    for p in range(len(weight)):
                        if weight[p] >= 0:
                            live += length[p]
                    larger = np.empty(max(len(pool), 2 * (live + n)), np.int32)
                    used = 0
                    for p in range(len(weight)):
                        if weight[p] >= 0:
                            for j in range(length[p]):
                                larger[used + j] = pool[start[p] + j]
                            start[p] = used
                            used += length[p]
                    pool = larger
                for j in range(n):
                    pool[used + j] = current[j]
                start[pivot], length[pivot], weight[pivot] = used, n, w
                used += n
                counts[w] += 1
            if owner < 0:
                break
            if owner < w:
                counts[owner] -= 1
                w = owner
            n = k
            current, other = other, current
    return pool, used


def insert_dense(
    relations: Array,
    t: int,
    is_root: Array,
    words: Array,
    weight: Array,
    counts: Array,
    current: Array,
) -> None:
    """Insert relations into a basis of bit vectors.

    The vector with pivot p has p // 64 + 1 words of 64 generators in `words`, one after the other
    for p = 0, 1, …; `weight[p]` is -1 where there is none. A vector of weight w has no generator
    of a scale below w, so words before that are neither read nor written. `current` is scratch.
    """
    columns = is_root.shape[1]
    one = np.uint64(1)
    for i in range(len(relations)):
        w, low, high = relations[i, 0], relations[i, 1], relations[i, 2]
        top = -1
        for j in range(4):
            m = t if j < 2 else w
            x = high if j % 2 == 0 else low
            if not is_root[m, x]:
                generator = m * columns + x
                current[generator >> 6] ^= one << np.uint64(generator & 63)
                top = max(top, generator >> 6)
        while True:
            while top >= 0 and current[top] == 0:
                top -= 1
            if top < 0:
                break
            word, bit = current[top], 0
            for step in (32, 16, 8, 4, 2, 1):
                if word >> np.uint64(step):
                    word >>= np.uint64(step)
                    bit += step
            pivot = (top << 6) + bit
            base = (top * (top + 1) // 2) * 64 + bit * (top + 1)
            owner = weight[pivot]
            if owner < 0:
                for k in range((w * columns) >> 6, top + 1):
                    words[base + k] = current[k]
                    current[k] = 0
                weight[pivot] = w
                counts[w] += 1
                break
            if owner >= w:
                for k in range((owner * columns) >> 6, top + 1):
                    current[k] ^= words[base + k]
                continue
            for k in range((owner * columns) >> 6, top + 1):
                stored = words[base + k]
                words[base + k] = current[k]
                current[k] ^= stored
            weight[pivot] = w
            counts[w] += 1
            counts[owner] -= 1
            w = owner
