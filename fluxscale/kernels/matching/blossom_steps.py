"""Steps of maximum-weight matching: ways through blossoms, shrinking and expanding them.

Vertices count from 1, blossoms follow them, 0 is nobody. Arrays shared by the steps:

``weight``, ``end_u``, ``end_v`` ``[X, X]``: between two vertices or blossoms the edge of least slack, and its ends
``dual`` ``[X]``; ``mate``: vertex outside that is matched; ``slack``: even vertex from which
the edge of least slack leads here
``top``: outermost blossom that holds a vertex or blossom, 0: unused; ``came``: vertex that an odd one was reached from
``side``: -1 not in a tree, 0 even, 1 odd; ``child_of`` ``[X, V + 1]``: which child of a blossom holds a vertex
``ring``, ``ring_size``: children of a blossom in order from its base
``count``: last blossom, first and last place of the queue, stamp
"""

from __future__ import annotations

from fluxscale._numba import inlined, kernel

LAST, HEAD, TAIL, STAMP = 0, 1, 2, 3


@inlined
def slack_of(a, b, weight, end_u, end_v, dual):  # numpydoc ignore=PR01
    """Slack of the edge that stands for all between two vertices or blossoms."""
    u, v = end_u[a, b], end_v[a, b]
    return dual[u] + dual[v] - 2 * weight[u, v]


@inlined
def update_slack(u, x, weight, end_u, end_v, dual, slack):  # numpydoc ignore=PR01
    """Remember ``u`` if its edge to ``x`` has less slack than what is remembered."""
    if slack[x] == 0 or slack_of(u, x, weight, end_u, end_v, dual) < slack_of(slack[x], x, weight, end_u, end_v, dual):
        slack[x] = u


@kernel
def set_slack(x, n, weight, end_u, end_v, dual, slack, top, side):  # numpydoc ignore=PR01
    """Find the even vertex with the edge of least slack to ``x`` anew."""
    slack[x] = 0
    for u in range(1, n + 1):
        if weight[u, x] > 0 and top[u] != x and side[top[u]] == 0:
            update_slack(u, x, weight, end_u, end_v, dual, slack)


@kernel
def push(x, n, child_of, queue, count):  # numpydoc ignore=PR01
    """Queue all vertices of a blossom."""
    for v in range(1, n + 1):
        if v == x or (x > n and child_of[x, v] != 0):
            queue[count[TAIL]] = v
            count[TAIL] += 1


@kernel
def set_top(x, outer, n, top, ring, ring_size, todo):  # numpydoc ignore=PR01
    """Say that everything inside ``x`` belongs to the outermost blossom ``outer``."""
    todo[0] = x
    size = 1
    while size > 0:
        size -= 1
        at = todo[size]
        top[at] = outer
        if at > n:
            for i in range(ring_size[at]):
                todo[size] = ring[at, i]
                size += 1


@kernel
def even_place(b, child, ring, ring_size):  # numpydoc ignore=PR01
    """Even number of steps from the base of a blossom to a child, after turning the ring round if need be."""
    size = ring_size[b]
    place = 0
    while ring[b, place] != child:
        place += 1
    if place % 2 == 0:
        return place
    low, high = 1, size - 1
    while low < high:
        ring[b, low], ring[b, high] = ring[b, high], ring[b, low]
        low += 1
        high -= 1
    return size - place


@kernel
def set_mate(u, v, n, end_u, end_v, mate, child_of, ring, ring_size, todo, other):  # numpydoc ignore=PR01
    """Match ``u`` with ``v``, and what is inside ``u`` accordingly; the matched child becomes its base."""
    todo[0], other[0] = u, v
    size = 1
    while size > 0:
        size -= 1
        a, b = todo[size], other[size]
        mate[a] = end_v[a, b]
        if a <= n:
            continue
        child = child_of[a, end_u[a, b]]
        place = even_place(a, child, ring, ring_size)
        for i in range(place):
            todo[size], other[size] = ring[a, i], ring[a, i ^ 1]
            size += 1
        todo[size], other[size] = child, b
        size += 1
        old = ring[a, : ring_size[a]].copy()
        for i in range(len(old)):
            ring[a, i] = old[(i + place) % len(old)]


@kernel
def augment(u, v, n, end_u, end_v, mate, top, came, child_of, ring, ring_size, todo, other):  # numpydoc ignore=PR01
    """Match ``u`` with ``v`` and exchange matched and other edges from ``u`` to the root of its tree."""
    while True:
        odd = top[mate[u]]
        set_mate(u, v, n, end_u, end_v, mate, child_of, ring, ring_size, todo, other)
        if odd == 0:
            return
        even = top[came[odd]]
        set_mate(odd, even, n, end_u, end_v, mate, child_of, ring, ring_size, todo, other)
        u, v = even, odd


@kernel
def common(u, v, mate, top, came, seen, count):  # numpydoc ignore=PR01
    """Where the ways of two even blossoms to their roots meet, 0 if they are in different trees."""
    count[STAMP] += 1
    while u != 0 or v != 0:
        if u != 0:
            if seen[u] == count[STAMP]:
                return u
            seen[u] = count[STAMP]
            u = top[mate[u]]
            if u != 0:
                u = top[came[u]]
        u, v = v, u
    return 0


@kernel
def shrink(
    u, base, v, n, weight, end_u, end_v, dual, mate, slack, top, came, side, child_of, ring, ring_size, queue, count,
    todo,
):  # numpydoc ignore=PR01  # fmt: skip
    """Make a blossom of the ways from two even ones to their common base."""
    b = n + 1
    while b <= count[LAST] and top[b] != 0:
        b += 1
    count[LAST] = max(count[LAST], b)
    dual[b], side[b], mate[b] = 0, 0, mate[base]
    ring[b, 0] = base
    size = 1
    for turn in range(2):
        x = u if turn == 0 else v
        while x != base:
            odd = top[mate[x]]
            ring[b, size], ring[b, size + 1] = x, odd
            size += 2
            push(odd, n, child_of, queue, count)
            x = top[came[odd]]
        if turn == 0:
            low, high = 1, size - 1
            while low < high:
                ring[b, low], ring[b, high] = ring[b, high], ring[b, low]
                low += 1
                high -= 1
    ring_size[b] = size
    set_top(b, b, n, top, ring, ring_size, todo)
    last = count[LAST]
    weight[b, : last + 1] = 0
    weight[: last + 1, b] = 0
    child_of[b, :] = 0
    for i in range(size):
        child = ring[b, i]
        for x in range(1, last + 1):
            # Between a blossom and what is inside it the edges are meaningless, and never looked at.
            if weight[child, x] > 0 and (
                weight[b, x] == 0
                or slack_of(child, x, weight, end_u, end_v, dual) < slack_of(b, x, weight, end_u, end_v, dual)
            ):
                weight[b, x], end_u[b, x], end_v[b, x] = weight[child, x], end_u[child, x], end_v[child, x]
                weight[x, b], end_u[x, b], end_v[x, b] = weight[x, child], end_u[x, child], end_v[x, child]
        for x in range(1, n + 1):
            if child == x or (child > n and child_of[child, x] != 0):
                child_of[b, x] = child
    set_slack(b, n, weight, end_u, end_v, dual, slack, top, side)


@kernel
def expand(
    b, n, weight, end_u, end_v, dual, slack, top, came, side, child_of, ring, ring_size, queue, count, todo
):  # numpydoc ignore=PR01  # fmt: skip
    """Take an odd blossom without dual apart; what lies on the way through it stays in the tree."""
    for i in range(ring_size[b]):
        set_top(ring[b, i], ring[b, i], n, top, ring, ring_size, todo)
    entry = child_of[b, end_u[b, came[b]]]
    place = even_place(b, entry, ring, ring_size)
    for i in range(0, place, 2):
        odd, even = ring[b, i], ring[b, i + 1]
        came[odd] = end_u[even, odd]
        side[odd], side[even] = 1, 0
        slack[odd] = 0
        set_slack(even, n, weight, end_u, end_v, dual, slack, top, side)
        push(even, n, child_of, queue, count)
    side[entry] = 1
    came[entry] = came[b]
    for i in range(place + 1, ring_size[b]):
        side[ring[b, i]] = -1
        set_slack(ring[b, i], n, weight, end_u, end_v, dual, slack, top, side)
    top[b] = 0
