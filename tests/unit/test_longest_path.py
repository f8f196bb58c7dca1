from __future__ import annotations

import numpy as np
import pytest

from fluxscale.kernels.longest_path import heads, tails, topological_order

NONE = (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))


def csr(rows, dtype=np.int32):
    indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    return indptr, np.array([x for r in rows for x in r], dtype=dtype)


def random_graph(rng, n, with_arcs):
    """Predecessors, device neighbours and weighted arcs that all follow one hidden order."""
    rank = rng.permutation(n)
    by_rank = np.argsort(rank)

    def earlier(op, chance):
        return [int(by_rank[k]) for k in range(rank[op]) if rng.random() < chance]

    preds = [earlier(op, 2 / n) for op in range(n)]
    previous = np.full(n, -1, dtype=np.int32)
    device = rng.integers(0, 3, n)
    last = {}
    for op in by_rank.tolist():
        if device[op] < 2:
            previous[op] = last.get(int(device[op]), -1)
            last[int(device[op])] = op
    arcs = [earlier(op, 1 / n) if with_arcs else [] for op in range(n)]
    gaps = [[int(rng.integers(0, 30)) for _ in row] for row in arcs]
    return preds, previous, arcs, gaps


def twin(preds, previous, arcs, gaps, ticks, release):
    """The same by repeated relaxation in plain Python."""
    n = len(preds)
    edges = [(p, op, 0) for op in range(n) for p in preds[op]]
    edges += [(int(previous[op]), op, 0) for op in range(n) if previous[op] >= 0]
    edges += [(s, op, g) for op in range(n) for s, g in zip(arcs[op], gaps[op], strict=True)]
    head, tail = [int(r) for r in release], [0] * n
    for _ in range(n):
        for a, b, g in edges:
            head[b] = max(head[b], head[a] + int(ticks[a]) + g)
            tail[a] = max(tail[a], g + int(ticks[b]) + tail[b])
    return head, tail, edges


@pytest.mark.parametrize("with_arcs", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_against_the_plain_twin(seed, with_arcs):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    preds, previous, arcs, gaps = random_graph(rng, n, with_arcs)
    ticks, release = rng.integers(0, 50, n), rng.integers(0, 20, n)
    graph = (*csr(preds), previous)
    weighted = (*csr(arcs), csr(gaps, np.int64)[1]) if with_arcs else NONE
    order, count = topological_order(*graph, *weighted[:2])
    assert count == n
    assert sorted(order.tolist()) == list(range(n))
    head, critical = heads(order, *graph, ticks, release, *weighted)
    tail = tails(order, *graph, ticks, np.zeros(n, dtype=np.int64), *weighted)
    expected_head, expected_tail, edges = twin(preds, previous, arcs, gaps, ticks, release)
    assert head.tolist() == expected_head
    assert tail.tolist() == expected_tail
    place = {op: k for k, op in enumerate(order.tolist())}
    assert all(place[a] < place[b] for a, b, _ in edges)
    for op in range(n):
        via = int(critical[op])
        if via < 0:
            assert head[op] == release[op]
        else:
            assert max(head[a] + ticks[a] + g for a, b, g in edges if b == op and a == via) == head[op]


def test_tails_start_from_what_is_known():
    indptr, index = csr([[], [0]])
    order, _ = topological_order(indptr, index, np.array([-1, -1], dtype=np.int32), *NONE[:2])
    tail = tails(order, indptr, index, np.array([-1, -1]), np.array([5, 7]), np.array([0, 4]), *NONE)
    assert tail.tolist() == [11, 4]


@pytest.mark.parametrize(
    ("preds", "previous", "arcs"),
    [
        ([[1], [0]], [-1, -1], [[], []]),
        ([[1], []], [-1, 0], [[], []]),
        ([[], [0]], [-1, -1], [[1], []]),
        ([[0], []], [-1, -1], [[], []]),
    ],
)
def test_a_cycle_shows_in_the_count(preds, previous, arcs):
    arc = csr(arcs)
    _, count = topological_order(*csr(preds), np.array(previous, dtype=np.int32), *arc)
    assert count < len(preds)


def test_no_ops():
    order, count = topological_order(*csr([]), np.zeros(0, dtype=np.int32), *NONE[:2])
    assert len(order) == count == 0


def test_a_chain_of_a_hundred_thousand_ops_needs_no_recursion():
    n = 100_000
    previous = np.arange(-1, n - 1, dtype=np.int32)
    order, count = topological_order(np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), previous, *NONE[:2])
    assert count == n
    assert np.array_equal(order, np.arange(n))
