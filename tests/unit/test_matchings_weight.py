"""Heaviest matchings against OR-tools, networkx and their own duals."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ortools.graph.python import linear_sum_assignment

from fluxscale.errors import InputError
from fluxscale.kernels.matching.max_weight import heaviest
from fluxscale.matchings.weight import by_column, max_weight


@st.composite
def matrices(draw, largest_side=7, largest_entry=5):
    shape = draw(st.tuples(st.integers(1, largest_side), st.integers(1, largest_side)))
    entries = st.lists(st.integers(0, largest_entry), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    return np.array(draw(entries), dtype=np.int64).reshape(shape)


def csr(matrix):
    row, column = np.nonzero(matrix)
    return np.searchsorted(row, np.arange(len(matrix) + 1)), column.astype(np.int32), matrix[row, column]


def weight_of(matrix, matching):
    used = np.flatnonzero(matching >= 0)
    assert len(set(matching[used].tolist())) == len(used)
    assert np.all(matrix[used, matching[used]] > 0)
    return int(matrix[used, matching[used]].sum())


def best_by_ortools(matrix):
    """Largest weight: an assignment of a square matrix in which staying alone is an edge of weight 0."""
    n = max(matrix.shape)
    square = np.zeros((n, n), dtype=np.int64)
    square[: matrix.shape[0], : matrix.shape[1]] = matrix
    row, column = np.divmod(np.arange(n * n), n)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(row, column, -square.ravel())
    assert solver.solve() == solver.OPTIMAL
    return -solver.optimal_cost()


def best_by_networkx(matrix):
    graph = nx.Graph()
    for u, v in np.argwhere(matrix > 0).tolist():
        graph.add_edge(("left", u), ("right", v), weight=int(matrix[u, v]))
    return sum(graph[a][b]["weight"] for a, b in nx.max_weight_matching(graph))


def sparse_random(n_left, n_right, edges_of_row, largest, seed):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((n_left, n_right), dtype=np.int64)
    for row in range(n_left):
        matrix[row, rng.integers(0, n_right, edges_of_row)] = rng.integers(1, largest + 1, edges_of_row)
    return matrix


@given(matrices())
def test_as_heavy_as_networkx_and_ortools_find(matrix):
    weight = weight_of(matrix, max_weight(*csr(matrix), matrix.shape[1]))
    assert weight == best_by_networkx(matrix) == best_by_ortools(matrix)


@given(matrices(largest_entry=10**12))
def test_as_heavy_with_weights_of_many_digits(matrix):
    assert weight_of(matrix, max_weight(*csr(matrix), matrix.shape[1])) == best_by_ortools(matrix)


@pytest.mark.parametrize(
    ("n_left", "n_right", "edges_of_row", "largest"),
    [(120, 120, 4, 3), (150, 100, 6, 20), (100, 150, 3, 10**9), (128, 128, 128, 100), (200, 200, 2, 1)],
)
def test_as_heavy_as_ortools_on_larger_graphs(n_left, n_right, edges_of_row, largest):
    for seed in range(3):
        matrix = sparse_random(n_left, n_right, edges_of_row, largest, seed)
        assert weight_of(matrix, max_weight(*csr(matrix), n_right)) == best_by_ortools(matrix)


def run(matrix, cap, floor, row_price, column_price, row_mate, column_mate):
    """The kernel, with these prices and mates to start from."""
    indptr, index, value = csr(matrix)
    columns = by_column(indptr, index, matrix.shape[1])
    value_by_column = np.empty_like(value)
    value_by_column[columns.place] = value
    return heaviest(
        indptr[:-1], indptr[1:], index, value, columns.indptr, columns.rows, value_by_column,
        cap, floor, row_price, column_price, row_mate, column_mate,
    )  # fmt: skip


@given(matrices(), st.integers(1, 6), st.data())
def test_any_start_leads_to_matching_prices(matrix, cap, data):
    n_left, n_right = matrix.shape
    prices = st.lists(st.integers(0, 7), min_size=n_right, max_size=n_right)
    mates = st.lists(st.integers(-1, n_right - 1), min_size=n_left, max_size=n_left)
    column_price = np.array(data.draw(prices), dtype=np.int64)
    row_price = np.zeros(n_left, dtype=np.int64)
    row_mate = np.array(data.draw(mates), dtype=np.int32)
    column_mate = np.full(n_right, -1, dtype=np.int32)
    bound = run(matrix, cap, -1, row_price, column_price, row_mate, column_mate)
    weights = np.minimum(matrix, cap)
    # Prices of which no edge is worth more, with the same sum as the matching: neither can be better.
    assert np.all(row_price >= 0)
    assert np.all(column_price >= 0)
    edge = matrix > 0
    assert np.all((row_price[:, None] + column_price[None, :] >= weights)[edge])
    assert bound == row_price.sum() + column_price.sum() == weight_of(weights, row_mate)
    assert bound == best_by_ortools(weights)
    for row in np.flatnonzero(row_mate >= 0):
        assert column_mate[row_mate[row]] == row
    assert np.count_nonzero(column_mate >= 0) == np.count_nonzero(row_mate >= 0)


@given(matrices(), st.integers(0, 30))
def test_gives_up_only_what_is_not_above_the_floor(matrix, floor):
    n_left, n_right = matrix.shape
    row_mate = np.full(n_left, -1, dtype=np.int32)
    bound = run(
        matrix, 10, floor, np.zeros(n_left, dtype=np.int64), np.zeros(n_right, dtype=np.int64), row_mate,
        np.full(n_right, -1, dtype=np.int32),
    )  # fmt: skip
    best = best_by_ortools(matrix)
    assert best <= bound
    if best > floor:
        assert bound == best == weight_of(matrix, row_mate)
    else:
        assert bound <= floor


def test_prefers_one_heavy_edge_to_two_light_ones():
    matrix = np.array([[3, 7], [0, 3]])
    assert max_weight(*csr(matrix), 2).tolist() == [1, -1]


def test_leaves_edges_of_weight_0_and_parallel_edges_count_once():
    matching = max_weight(np.array([0, 3, 4]), np.array([0, 0, 1, 0]), np.array([2, 5, 0, 4]), 2)
    assert matching.tolist() == [0, -1]
    assert matching.dtype == np.int32


def test_no_edges_and_no_vertices():
    assert max_weight(np.array([0, 0, 0]), np.array([], dtype=np.int32), np.array([], dtype=np.int64), 3).tolist() == [
        -1,
        -1,
    ]
    assert len(max_weight(np.array([0]), np.array([], dtype=np.int32), np.array([], dtype=np.int64), 0)) == 0


def test_input_is_not_changed():
    indptr, index, weight = csr(sparse_random(30, 30, 5, 9, 1))
    copies = indptr.copy(), index.copy(), weight.copy()
    for array in (indptr, index, weight):
        array.flags.writeable = False
    first = max_weight(indptr, index, weight, 30)
    assert np.array_equal(first, max_weight(*copies, 30))


@pytest.mark.parametrize(
    ("indptr", "index", "weight", "n_right", "field"),
    [
        ([0, 2], [0], [1], 1, "indptr"),
        ([0, 1], [1], [1], 1, "index"),
        ([0, 1], [-1], [1], 1, "index"),
        ([0, 1], [0], [-1], 1, "weight"),
        ([0, 1], [0], [1.5], 1, "weight"),
        ([0, 1], [0], [1, 2], 1, "weight"),
        ([0, 1], [0], [1 << 61], 1, "weight"),
    ],
)
def test_bad_input_names_the_field(indptr, index, weight, n_right, field):
    with pytest.raises(InputError, match=f"^{field}: "):
        max_weight(np.array(indptr), np.array(index), np.array(weight), n_right)
