"""Maximum and bottleneck matchings against networkx, OR-tools and brute force."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ortools.graph.python import max_flow

from fluxscale.errors import InputError
from fluxscale.matchings.cardinality import bottleneck, bottleneck_sparse, max_cardinality


@st.composite
def matrices(draw, largest_side=5, largest_entry=6):
    shape = draw(st.tuples(st.integers(1, largest_side), st.integers(1, largest_side)))
    entries = st.lists(st.integers(0, largest_entry), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    return np.array(draw(entries), dtype=np.int64).reshape(shape)


def csr(matrix):
    row, column = np.nonzero(matrix > 0)
    return np.searchsorted(row, np.arange(len(matrix) + 1)), column.astype(np.int32)


def size_by_networkx(matrix):
    graph = nx.Graph()
    graph.add_nodes_from(("left", u) for u in range(len(matrix)))
    graph.add_edges_from((("left", u), ("right", v)) for u, v in np.argwhere(matrix > 0).tolist())
    top = [("left", u) for u in range(len(matrix))]
    return len(nx.bipartite.hopcroft_karp_matching(graph, top)) // 2


def bottleneck_by_brute_force(matrix):
    """Most pairs first, then the largest smallest entry, over all ways to give each row a column."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    best = (0, 0)
    for columns in itertools.permutations(range(wide.shape[1]), len(wide)):
        # Any subset of the pairs is a matching too: the zeros leave, and leaving more is never better.
        entries = [value for value in wide[np.arange(len(wide)), columns] if value > 0]
        best = max(best, (len(entries), min(entries, default=0)))
    return best


def assert_matching(matrix, matching):
    used = matching[matching >= 0]
    assert len(set(used.tolist())) == len(used)
    assert np.all(matrix[np.flatnonzero(matching >= 0), used] > 0)


@given(matrices(largest_side=9, largest_entry=1))
def test_as_many_pairs_as_networkx_finds(matrix):
    matching = max_cardinality(*csr(matrix), matrix.shape[1])
    assert matching.dtype == np.int32
    assert_matching(matrix, matching)
    assert np.count_nonzero(matching >= 0) == size_by_networkx(matrix)


@given(matrices(largest_side=9, largest_entry=3))
def test_a_start_of_which_some_edges_are_gone(matrix):
    start = max_cardinality(*csr(matrix), matrix.shape[1])
    fewer = matrix - 1
    matching = max_cardinality(*csr(fewer), matrix.shape[1], start)
    assert_matching(fewer, matching)
    assert np.count_nonzero(matching >= 0) == size_by_networkx(fewer)


@pytest.mark.parametrize("degree", [1, 2, 3, 8])
def test_large_sparse_graphs_against_maximum_flow(degree):
    n_left, n_right = 700, 600
    random = np.random.default_rng(degree)
    matrix = np.zeros((n_left, n_right), dtype=np.int64)
    matrix[np.repeat(np.arange(n_left), degree), random.integers(0, n_right, n_left * degree)] = 1
    flow = max_flow.SimpleMaxFlow()
    source, sink = n_left + n_right, n_left + n_right + 1
    for u, v in np.argwhere(matrix).tolist():
        flow.add_arc_with_capacity(u, n_left + v, 1)
    for u in range(n_left):
        flow.add_arc_with_capacity(source, u, 1)
    for v in range(n_right):
        flow.add_arc_with_capacity(n_left + v, sink, 1)
    assert flow.solve(source, sink) == flow.OPTIMAL

    cold = max_cardinality(*csr(matrix), n_right)
    assert_matching(matrix, cold)
    assert np.count_nonzero(cold >= 0) == flow.optimal_flow()
    assert np.array_equal(max_cardinality(*csr(matrix), n_right, cold), cold)

    fewer = matrix.copy()
    lost = np.flatnonzero(cold >= 0)[:5]
    fewer[lost, cold[lost]] = 0
    warm = max_cardinality(*csr(fewer), n_right, cold)
    assert_matching(fewer, warm)
    assert np.count_nonzero(warm >= 0) == size_by_networkx(fewer)


def test_a_start_that_uses_a_vertex_twice_or_one_that_does_not_exist():
    matrix = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
    matching = max_cardinality(*csr(matrix), 3, np.array([0, 0, 7]))
    assert matching.tolist() == [1, 0, 2]


def test_a_long_alternating_path():
    n = 400
    matrix = np.eye(n, dtype=np.int64) + np.eye(n, k=1, dtype=np.int64)
    start = np.append(np.arange(1, n), -1)
    # All but the last start one place to the right; the last one's place is taken, and only moving all of them helps.
    assert max_cardinality(*csr(matrix), n, start).tolist() == list(range(n))


def test_graphs_without_vertices_or_edges():
    empty = np.zeros(0, dtype=np.int32)
    assert max_cardinality(np.zeros(1), empty, 0).tolist() == []
    assert max_cardinality(np.zeros(4), empty, 2).tolist() == [-1, -1, -1]
    assert bottleneck(np.zeros((0, 0), dtype=np.int64))[1] == 0
    matching, value = bottleneck(np.array([[0, -3], [0, 0]]))
    assert (matching.tolist(), value) == ([-1, -1], 0)


@given(matrices())
def test_bottleneck_is_the_best_of_all_matchings(matrix):
    matching, value = bottleneck(matrix)
    assert_matching(matrix, matching)
    pairs = np.flatnonzero(matching >= 0)
    smallest = int(matrix[pairs, matching[pairs]].min()) if len(pairs) else 0
    assert (len(pairs), value, smallest) == (*bottleneck_by_brute_force(matrix), value)


@pytest.mark.parametrize("side", [40, 90])
@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("largest", [5, 10**12])
def test_no_larger_threshold_admits_as_many_pairs(side, share, largest):
    random = np.random.default_rng(int(100 * share))
    matrix = random.integers(1, largest + 1, (side, side)) * (random.random((side, side)) < share)
    matching, value = bottleneck(matrix)
    size = size_by_networkx(matrix)
    assert np.count_nonzero(matching >= 0) == size
    assert matrix[matching >= 0, matching[matching >= 0]].min() == value
    assert size_by_networkx(np.where(matrix > value, matrix, 0)) < size


def test_bottleneck_of_a_csr_in_any_order_within_rows():
    matching, value = bottleneck_sparse(np.array([0, 2, 4]), np.array([1, 0, 1, 0]), np.array([9, 4, 5, 7]), 2)
    assert (matching.tolist(), value) == ([1, 0], 7)


@pytest.mark.parametrize(
    ("indptr", "index", "start", "field"),
    [
        ([0, 1], [0, 1], None, "indptr"),
        ([0, 2, 1], [0], None, "indptr"),
        ([], [], None, "indptr"),
        ([0, 1], [2], None, "index"),
        ([0, 1], [-1], None, "index"),
        ([0, 1], [0], [0, 1], "start"),
    ],
)
def test_bad_graphs_are_named(indptr, index, start, field):
    with pytest.raises(InputError, match=field):
        max_cardinality(np.array(indptr), np.array(index), 2, None if start is None else np.array(start))


def test_a_value_too_few_is_named():
    with pytest.raises(InputError, match="value"):
        bottleneck_sparse(np.array([0, 2]), np.array([0, 1]), np.array([3]), 2)


@pytest.mark.parametrize("matrix", [np.zeros(3, dtype=np.int64), np.zeros((2, 2))])
def test_bad_matrices_are_named(matrix):
    with pytest.raises(InputError, match="matrix"):
        bottleneck(matrix)
