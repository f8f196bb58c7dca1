"""Stuffing, Birkhoff-von Neumann and Solstice: what the papers promise, cases worked by hand, steps replayed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.matchings.bvn import bvn
from fluxscale.matchings.solstice import quick_stuff, solstice

ALL = {
    "bvn": bvn,
    "bvn, any": lambda demand: bvn(demand, bottleneck=False),
    "solstice": lambda demand: solstice(demand, 20),
}
every = pytest.mark.parametrize("decompose", ALL.values(), ids=ALL.keys())


@st.composite
def demands(draw, largest_side=6):
    side = draw(st.integers(1, largest_side))
    entry = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**9))
    return np.array(draw(st.lists(entry, min_size=side**2, max_size=side**2)), dtype=np.int64).reshape(side, side)


def mix(side, seed):
    """Light permutations of 1 to 16 units and heavy ones of 16 to 100, summed."""
    random = np.random.default_rng(seed)
    demand = np.zeros((side, side), dtype=np.int64)
    for low, high in [(1, 16)] * 12 + [(16, 100)] * 4:
        demand[np.arange(side), random.permutation(side)] += random.integers(low, high + 1, side)
    return demand


def equal_lines(side, seed, permutations):
    """Whole permutations summed: all line sums are equal, so there is nothing to stuff."""
    random = np.random.default_rng(seed)
    demand = np.zeros((side, side), dtype=np.int64)
    for _ in range(permutations):
        demand[np.arange(side), random.permutation(side)] += random.integers(1, 200)
    return demand


def line_bound(demand):
    return max(demand.sum(axis=0).max(initial=0), demand.sum(axis=1).max(initial=0))


def dense(stuffed, values):
    side = len(stuffed.indptr) - 1
    matrix = np.zeros((side, side), dtype=np.int64)
    matrix[np.repeat(np.arange(side), np.diff(stuffed.indptr)), stuffed.columns] = values
    return matrix


def naive_stuff(demand):
    """Both rounds of QuickStuff as the paper writes them."""
    out = demand.copy()
    target = line_bound(demand)
    for round_of_zeros in (False, True):
        for u, v in np.ndindex(out.shape):
            if (demand[u, v] == 0) == round_of_zeros:
                out[u, v] += min(target - out[u].sum(), target - out[:, v].sum())
    return out


def is_perfect(allowed):
    side = len(allowed)
    graph = nx.Graph()
    graph.add_nodes_from(range(2 * side))
    graph.add_edges_from((u, side + v) for u, v in np.argwhere(allowed).tolist())
    return len(nx.bipartite.hopcroft_karp_matching(graph, range(side))) == 2 * side


def assert_sound(demand, result):
    assert result.matchings.dtype == np.int32
    assert result.durations.dtype == np.int64
    assert result.matchings.shape == (result.count, len(demand))
    assert result.covers(demand)
    # The durations of all matchings of a stuffed matrix sum up to its line sum; dropping dummy demand only shortens.
    assert result.durations.sum() <= line_bound(demand)
    if demand.any():
        busiest = np.unravel_index(demand.argmax(), demand.shape)
        assert result.durations.sum() >= demand[busiest]
    assert np.all(result.durations > 0)
    left = demand.copy()
    for matching, duration in zip(result.matchings, result.durations, strict=True):
        senders = np.flatnonzero(matching >= 0)
        receivers = matching[senders]
        assert len(set(receivers.tolist())) == len(receivers)
        assert np.all(demand[senders, receivers] > 0), "a circuit for dummy demand"
        assert left[senders, receivers].max() >= duration, "held longer than it sends"
        left[senders, receivers] -= np.minimum(left[senders, receivers], duration)


@given(demands())
def test_stuffing_is_what_the_paper_writes(demand):
    stuffed = quick_stuff(demand)
    full = dense(stuffed, stuffed.stuffed)
    assert np.array_equal(full, naive_stuff(demand))
    assert np.array_equal(dense(stuffed, stuffed.real), demand)
    assert stuffed.line_sum == line_bound(demand)
    assert np.all(full.sum(axis=0) == stuffed.line_sum)
    assert np.all(full.sum(axis=1) == stuffed.line_sum)
    assert len(stuffed.columns) <= np.count_nonzero(demand) + 2 * len(demand) - 1


@every
@given(demand=demands())
def test_covers_within_the_line_sum(decompose, demand):
    result = decompose(demand)
    assert_sound(demand, result)
    # Each matching uses up at least one entry of the stuffed matrix.
    assert result.count <= len(quick_stuff(demand).columns)


@every
@pytest.mark.parametrize("side", [64, 150])
def test_covers_large_matrices(decompose, side):
    for demand in (mix(side, 1), np.random.default_rng(2).integers(0, 3, (side, side))):
        assert_sound(demand, decompose(demand))


@every
def test_one_matching_for_unequal_demand(decompose):
    result = decompose(np.array([[0, 3], [1, 0]]))
    assert (result.matchings.tolist(), result.durations.tolist()) == ([[1, 0]], [3])
    assert result.makespan(20) == 23


@every
def test_two_matchings_by_hand(decompose):
    result = decompose(np.array([[4, 1], [1, 4]]))
    played = sorted(zip(result.durations.tolist(), result.matchings.tolist(), strict=True))
    assert played == [(1, [1, 0]), (4, [0, 1])]


@every
def test_no_circuit_for_dummy_demand(decompose):
    # Line sums 5 and 4: the second diagonal entry is stuffed with 1.
    result = decompose(np.array([[1, 4], [4, 0]]))
    played = sorted(zip(result.durations.tolist(), result.matchings.tolist(), strict=True))
    assert played == [(1, [0, -1]), (4, [1, 0])]


def test_solstice_takes_the_heavy_entries_first_and_halves():
    # Threshold 8: the diagonal, 9 long. Then 8, 4 and 2 admit no perfect matching, but 1 does.
    result = solstice(np.array([[9, 2, 0], [0, 9, 2], [2, 0, 9]]), 5)
    assert result.matchings.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert result.durations.tolist() == [9, 2]
    assert result.makespan(5) == 21


@every
@pytest.mark.parametrize("side", [1, 2, 5])
def test_nothing_to_send(decompose, side):
    result = decompose(np.zeros((side, side), dtype=np.int64))
    assert (result.count, result.makespan(20)) == (0, 0)
    assert result.matchings.shape == (0, side)


@every
def test_one_port_and_none(decompose):
    result = decompose(np.array([[7]]))
    assert (result.matchings.tolist(), result.durations.tolist()) == ([[0]], [7])
    assert decompose(np.zeros((0, 0), dtype=np.int64)).count == 0


@every
def test_ports_without_demand(decompose):
    demand = mix(12, 3)
    demand[[2, 5]] = 0
    demand[:, [2, 7, 8]] = 0
    result = decompose(demand)
    assert_sound(demand, result)
    assert np.all(result.matchings[:, [2, 5]] == -1)
    assert not np.isin(result.matchings, [2, 7, 8]).any()


@pytest.mark.parametrize("seed", range(6))
def test_each_step_of_solstice(seed):
    left = equal_lines(9, seed, 7)
    threshold = 1 << (int(left.max()).bit_length() - 1)
    result = solstice(left, 20)
    assert result.durations.sum() == line_bound(left)
    for matching, duration in zip(result.matchings, result.durations, strict=True):
        while not is_perfect(left >= threshold):
            threshold //= 2
        taken = left[np.arange(9), matching]
        assert taken.min() == duration >= threshold
        left[np.arange(9), matching] -= duration
    assert not left.any()


@pytest.mark.parametrize("seed", range(6))
def test_each_step_of_birkhoff(seed):
    demand = equal_lines(9, seed, 7)
    for bottleneck in (True, False):
        left = demand.copy()
        result = bvn(demand, bottleneck=bottleneck)
        assert result.durations.sum() == line_bound(demand)
        for matching, duration in zip(result.matchings, result.durations, strict=True):
            assert left[np.arange(9), matching].min() == duration
            assert not (bottleneck and is_perfect(left > duration))
            left[np.arange(9), matching] -= duration
        assert not left.any()
        if bottleneck:
            assert np.all(np.diff(result.durations) <= 0)


@pytest.mark.parametrize(
    ("side", "bound", "peers"), [(64, 457, 1577), (256, 466, 1746), (512, 486, 1766), (1024, 502, 1902)]
)
def test_solstice_is_not_worse_than_the_peers(side, bound, peers):
    # The better makespan of two C programs, on inputs that have the line sums of these.
    demand = mix(side, 1)
    assert line_bound(demand) == bound
    assert solstice(demand, 20).makespan(20) <= peers


def test_bottlenecks_are_several_times_fewer():
    demand = mix(64, 1)
    assert 3 * bvn(demand).count < bvn(demand, bottleneck=False).count


def test_the_same_answer_each_time_and_the_demand_untouched():
    demand = mix(40, 9)
    before = demand.copy()
    for decompose in ALL.values():
        first, second = decompose(demand), decompose(demand)
        assert np.array_equal(first.matchings, second.matchings)
        assert np.array_equal(first.durations, second.durations)
    assert np.array_equal(demand, before)


@every
@pytest.mark.parametrize(
    ("demand", "words"),
    [
        (np.array([[0, -1], [2, 0]]), "negative"),
        (np.array([[5, -5], [-5, 5]]), "negative"),
        (np.zeros((2, 3), dtype=np.int64), "square"),
        (np.zeros(4, dtype=np.int64), "square"),
        (np.zeros((2, 2)), "integers"),
        (np.full((3, 3), 2**62), "too large"),
        (np.array([[2**62, 0], [0, 0]]), "too large"),
    ],
)
def test_bad_demand_is_named(decompose, demand, words):
    with pytest.raises(InputError, match=f"demand.*{words}"):
        decompose(demand)


def test_a_negative_delay_is_named():
    with pytest.raises(InputError, match="delay"):
        solstice(np.array([[1]]), -1)
