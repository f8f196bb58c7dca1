"""Maximum-weight matching in general graphs, exact: Edmonds' primal-dual method in O(V^3).

Edmonds, "Maximum matching and a polyhedron with 0,1-vertices" (J. Res. NBS 69B, 1965), in the form of Galil's survey
(ACM Comput. Surv. 18, 1986). All duals stay integers because weights count twice. ``blossom_steps`` says what the
arrays hold.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.matching.blossom_steps import (
    HEAD,
    LAST,
    TAIL,
    augment,
    common,
    expand,
    push,
    shrink,
    slack_of,
    update_slack,
)

NEVER = np.int64(2**62)


@kernel
def _follow(
    a, b, n, weight, end_u, end_v, dual, mate, slack, top, came, side, seen, child_of, ring, ring_size, queue, count,
    todo, other,
):  # numpydoc ignore=PR01  # fmt: skip
    """Use an edge without slack: grow a tree, shrink a blossom, or augment; returns whether it augmented."""
    u, v = top[end_u[a, b]], top[end_v[a, b]]
    if side[v] == -1:
        came[v] = end_u[a, b]
        side[v] = 1
        even = top[mate[v]]
        slack[v], slack[even] = 0, 0
        side[even] = 0
        push(even, n, child_of, queue, count)
    elif side[v] == 0:
        base = common(u, v, mate, top, came, seen, count)
        if base == 0:
            augment(u, v, n, end_u, end_v, mate, top, came, child_of, ring, ring_size, todo, other)
            augment(v, u, n, end_u, end_v, mate, top, came, child_of, ring, ring_size, todo, other)
            return True
        shrink(
            u, base, v, n, weight, end_u, end_v, dual, mate, slack, top, came, side, child_of, ring, ring_size, queue,
            count, todo,
        )  # fmt: skip
    return False


@kernel
def _phase(
    n, weight, end_u, end_v, dual, mate, slack, top, came, side, seen, child_of, ring, ring_size, queue, count, todo,
    other,
):  # numpydoc ignore=PR01  # fmt: skip
    """Search one augmentation; returns whether there was one."""
    count[HEAD] = count[TAIL] = 0
    for x in range(1, count[LAST] + 1):
        side[x], slack[x] = -1, 0
    for x in range(1, count[LAST] + 1):
        if top[x] == x and mate[x] == 0:
            came[x], side[x] = 0, 0
            push(x, n, child_of, queue, count)
    if count[TAIL] == 0:
        return False
    while True:
        while count[HEAD] < count[TAIL]:
            u = queue[count[HEAD]]
            count[HEAD] += 1
            if side[top[u]] == 1:
                continue
            for v in range(1, n + 1):
                if weight[u, v] > 0 and top[u] != top[v]:
                    if slack_of(u, v, weight, end_u, end_v, dual) == 0:
                        if _follow(
                            u, v, n, weight, end_u, end_v, dual, mate, slack, top, came, side, seen, child_of, ring,
                            ring_size, queue, count, todo, other,
                        ):  # fmt: skip
                            return True
                    else:
                        update_slack(u, top[v], weight, end_u, end_v, dual, slack)
        step = NEVER
        for b in range(n + 1, count[LAST] + 1):
            if top[b] == b and side[b] == 1:
                step = min(step, dual[b] // 2)
        for x in range(1, count[LAST] + 1):
            if top[x] == x and slack[x] != 0 and side[x] != 1:
                least = slack_of(slack[x], x, weight, end_u, end_v, dual)
                step = min(step, least if side[x] == -1 else least // 2)
        for u in range(1, n + 1):
            if side[top[u]] == 0:
                if dual[u] <= step:
                    return False
                dual[u] -= step
            elif side[top[u]] == 1:
                dual[u] += step
        for b in range(n + 1, count[LAST] + 1):
            if top[b] == b:
                if side[b] == 0:
                    dual[b] += 2 * step
                elif side[b] == 1:
                    dual[b] -= 2 * step
        for x in range(1, count[LAST] + 1):
            if (
                top[x] == x
                and slack[x] != 0
                and top[slack[x]] != x
                and slack_of(slack[x], x, weight, end_u, end_v, dual) == 0
                and _follow(
                    slack[x], x, n, weight, end_u, end_v, dual, mate, slack, top, came, side, seen, child_of, ring,
                    ring_size, queue, count, todo, other,
                )
            ):  # fmt: skip
                return True
        for b in range(n + 1, count[LAST] + 1):
            if top[b] == b and side[b] == 1 and dual[b] == 0:
                expand(
                    b, n, weight, end_u, end_v, dual, slack, top, came, side, child_of, ring, ring_size, queue, count,
                    todo,
                )  # fmt: skip


@kernel
def blossom_weighted(weights, partner):  # numpydoc ignore=PR01
    """Matching of maximum weight; pairs without weight are never matched.

    Parameters
    ----------
    weights
        int64 ``[V, V]``, symmetric, at least 0 and below 2**59; the diagonal is not read.
    partner
        int32 ``[V]``: filled with the partner of each vertex, -1: none.
    """
    n = len(partner)
    size = n + n // 2 + 3
    weight = np.zeros((size, size), dtype=np.int64)
    end_u, end_v = np.zeros((size, size), dtype=np.int32), np.zeros((size, size), dtype=np.int32)
    largest = np.int64(0)
    for u in range(1, n + 1):
        for v in range(1, n + 1):
            end_u[u, v], end_v[u, v] = u, v
            if u != v:
                weight[u, v] = weights[u - 1, v - 1]
                largest = max(largest, weight[u, v])
    dual, seen = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    mate, slack, top, came = (
        np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=np.int32),
    )  # fmt: skip
    side, ring_size = np.full(size, -1, dtype=np.int8), np.zeros(size, dtype=np.int32)
    child_of, ring = np.zeros((size, n + 1), dtype=np.int32), np.zeros((size, n + 2), dtype=np.int32)
    queue, count = np.zeros(4 * size, dtype=np.int32), np.zeros(4, dtype=np.int64)
    todo, other = np.zeros(2 * size, dtype=np.int32), np.zeros(2 * size, dtype=np.int32)
    count[LAST] = n
    for u in range(1, n + 1):
        top[u] = u
        dual[u] = largest
    while _phase(
        n, weight, end_u, end_v, dual, mate, slack, top, came, side, seen, child_of, ring, ring_size, queue, count,
        todo, other,
    ):  # fmt: skip
        pass
    for u in range(n):
        partner[u] = mate[u + 1] - 1
