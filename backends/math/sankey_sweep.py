"""Inner loop of the Sankey layout: a plain function that numba compiles.

Run as it stands for small sequences, compiled for large ones; so it is one function on arrays,
without numba at import. Source: `sankey.py`.
"""

from typing import Any

import numpy as np

Array = Any  # Typed loosely: numba compiles it for the types that it is given.


def sweep(
    first: Array,
    left_start: Array,
    left_to: Array,
    right_start: Array,
    right_to: Array,
    place: Array,
    order: Array,
    is_backward: bool,
    is_rough: bool,
    reach: int,
) -> Any:
    """Reorder column after column, in place; return the crossings saved.

    Nodes are the clusters of all scales one after the other, `first[m]` the first of scale m.
    `left_to[left_start[v]:left_start[v + 1]]` are the nodes of the scale before that node v is
    linked to, `right_to` those of the scale after. `place[v]` is the place of v in its column,
    `order[first[m] + p]` the node at place p.

    A rough sweep looks only at the column just reordered: its nodes are put in the order of the
    mean place of their neighbors; what it returns means nothing. A fine one looks at both
    neighboring columns and moves each node, by at most `reach` places, to where it has fewest
    crossings; on the way back also to a place that is only as good.
    """
    columns = len(first) - 1
    nodes = len(place)
    left = np.empty(len(left_to), np.int64)
    right = np.empty(len(right_to), np.int64)
    mean = np.empty(nodes, np.float64)
    filled = np.empty(nodes, np.int64)
    todo = np.empty(nodes, np.int64)
    saved = 0
    for step in range(columns):
        m = columns - 1 - step if is_backward else step
        low, high = first[m], first[m + 1]
        # Places of the neighbors of each node, in increasing order.
        for v in range(low, high):
            filled[v] = left_start[v]
        if m > 0 and not (is_rough and is_backward):
            for i in range(first[m - 1], low):
                w = order[i]
                for j in range(right_start[w], right_start[w + 1]):
                    v = right_to[j]
                    left[filled[v]] = place[w]
                    filled[v] += 1
        for v in range(low, high):
            filled[v] = right_start[v]
        if m < columns - 1 and not (is_rough and not is_backward):
            for i in range(high, first[m + 2]):
                w = order[i]
                for j in range(left_start[w], left_start[w + 1]):
                    v = left_to[j]
                    right[filled[v]] = place[w]
                    filled[v] += 1
        if is_rough:
            if step == 0:
                continue
            for i in range(low, high):
                v = order[i]
                todo[i] = v
                begin, end = left_start[v], left_start[v + 1]
                if is_backward:
                    begin, end = right_start[v], right_start[v + 1]
                mean[i] = place[v]
                if end > begin:
                    total = 0
                    for j in range(begin, end):
                        total += right[j] if is_backward else left[j]
                    mean[i] = total / (end - begin)
            ranks = np.argsort(mean[low:high], kind="mergesort")
            for p in range(high - low):
                v = todo[low + ranks[p]]
                order[low + p] = v
                place[v] = p
            continue
        for i in range(low, high):
            todo[i] = order[i]
        for i in range(low, high):
            u = todo[i]
            p = place[u]
            best, target = 0, p  # Crossings saved by the best move.
            for direction in (-1, 1):
                saving = 0
                for distance in range(1, reach + 1):
                    q = p + direction * distance
                    if q < 0 or q >= high - low:
                        break
                    v = order[low + q]
                    # Crossings with u above v less those with v above u.
                    difference = 0
                    below, upto = left_start[v], left_start[v]
                    end = left_start[v + 1]
                    for j in range(left_start[u], left_start[u + 1]):
                        while below < end and left[below] < left[j]:
                            below += 1
                        while upto < end and left[upto] <= left[j]:
                            upto += 1
                        difference += (below - left_start[v]) - (end - upto)
                    below, upto = right_start[v], right_start[v]
                    end = right_start[v + 1]
                    for j in range(right_start[u], right_start[u + 1]):
                        while below < end and right[below] < right[j]:
                            below += 1
                        while upto < end and right[upto] <= right[j]:
                            upto += 1
                        difference += (below - right_start[v]) - (end - upto)
                    saving += direction * difference
                    if saving > best or (is_backward and saving == best):
                        best, target = saving, q
            saved += best
            while p < target:
                w = order[low + p + 1]
                order[low + p] = w
                place[w] = p
                p += 1
            while p > target:
                w = order[low + p - 1]
                order[low + p] = w
                place[w] = p
                p -= 1
            order[low + p] = u
            place[u] = p
    return saved
