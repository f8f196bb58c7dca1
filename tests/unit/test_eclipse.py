"""Eclipse: each step against OR-tools, the window against brute force, the makespan against the peer's."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.graph.python import linear_sum_assignment

from fluxscale.errors import InputError
from fluxscale.kernels.matching.eclipse_choice import bound_all, distinct, to_beat
from fluxscale.matchings.eclipse import demand_edges, eclipse


@st.composite
def demands(draw, largest_side=6, largest_entry=12):
    n = draw(st.integers(1, largest_side))
    entry = st.one_of(st.just(0), st.integers(0, largest_entry))
    return np.array(draw(st.lists(entry, min_size=n * n, max_size=n * n)), dtype=np.int64).reshape(n, n)


def mix(n, seed, *, heavy=4, light=12):
    """Sum of permutations with random entries: the matrices that ocs-papers.md times the peers on."""
    rng = np.random.default_rng(seed)
    demand = np.zeros((n, n), dtype=np.int64)
    for at in range(heavy + light):
        low, high = (16, 100) if at < heavy else (1, 16)
        demand[np.arange(n), rng.permutation(n)] += rng.integers(low, high + 1, n)
    return demand


def most_served(residual, duration):
    """Largest service of one matching."""
    n = len(residual)
    row, column = np.divmod(np.arange(n * n), n)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(row, column, -np.minimum(residual, duration).ravel())
    assert solver.solve() == solver.OPTIMAL
    return -solver.optimal_cost()


def steps(decomposition, demand):
    """Each step's residual before it, matching as pairs, and duration."""
    residual = demand.copy()
    for matching, duration in zip(decomposition.matchings, decomposition.durations.tolist(), strict=True):
        tx = np.flatnonzero(matching >= 0)
        rx = matching[tx]
        assert len(set(rx.tolist())) == len(rx)
        assert np.all(residual[tx, rx] > 0)
        yield residual, (tx, rx), duration
        residual = residual.copy()
        residual[tx, rx] -= np.minimum(residual[tx, rx], duration)


def served(decomposition, demand):
    return int(np.minimum(decomposition.service(len(demand)), demand).sum())


def best_choice_by_oracle(residual, delay):
    """Largest quotient over all residuals, and the longest duration that has it."""
    return max((Fraction(most_served(residual, d), d + delay), d) for d in np.unique(residual[residual > 0]).tolist())


@given(demands(), st.integers(0, 15))
def test_each_step_serves_the_most_per_time(demand, delay):
    parts = eclipse(demand, delay)
    assert parts.covers(demand)
    for at, (residual, (tx, rx), duration) in enumerate(steps(parts, demand)):
        service = int(np.minimum(residual[tx, rx], duration).sum())
        if at == parts.count - 1 and service == residual.sum():
            assert duration == residual.max()
            continue
        best, longest = best_choice_by_oracle(residual, delay)
        assert Fraction(service, duration + delay) == best
        assert duration == longest


@pytest.mark.parametrize("scale", [1, 10**7, 3 * 10**11])
def test_each_step_of_a_larger_matrix(scale):
    # The larger scales need products of more than 64 bits.
    demand = mix(24, 5, heavy=2, light=4) * scale
    delay = 20 * scale
    parts = eclipse(demand, delay)
    for residual, (tx, rx), duration in itertools.islice(steps(parts, demand), 6):
        service = int(np.minimum(residual[tx, rx], duration).sum())
        assert (Fraction(service, duration + delay), duration) == best_choice_by_oracle(residual, delay)
    one = eclipse(demand // scale, 20)
    assert np.array_equal(one.matchings, parts.matchings)
    assert np.array_equal(one.durations * scale, parts.durations)


def test_no_duration_between_two_residuals_is_better():
    demand = mix(7, 3, heavy=1, light=2)
    best, _ = best_choice_by_oracle(demand, 9)
    assert best == max(Fraction(most_served(demand, d), d + 9) for d in range(1, int(demand.max()) + 1))


def most_in_window(demand, delay, window):
    """Most that any schedule serves: the time of each full matching, all of them tried."""
    n = len(demand)
    matchings = list(itertools.permutations(range(n)))

    def best(at, time_left, residual):
        if at == len(matchings):
            return 0
        most = best(at + 1, time_left, residual)
        rows, columns = np.arange(n), list(matchings[at])
        for duration in range(1, time_left - delay + 1):
            rest = residual.copy()
            rest[rows, columns] = np.maximum(rest[rows, columns] - duration, 0)
            gain = int(residual.sum() - rest.sum())
            most = max(most, gain + best(at + 1, time_left - duration - delay, rest))
        return most

    return best(0, window, demand)


@settings(max_examples=40)
@given(demands(largest_side=3, largest_entry=8), st.integers(1, 4), st.integers(0, 12))
def test_a_window_serves_at_least_half_of_the_most(demand, delay, window):
    parts = eclipse(demand, delay, window)
    assert parts.makespan(delay) <= window
    most = most_in_window(demand, delay, window)
    assert most / 2 <= served(parts, demand) <= most
    for _ in steps(parts, demand):
        pass


@pytest.mark.parametrize("seed", range(8))
def test_a_long_window_serves_what_the_theorem_promises(seed):
    # 1 - 1/e, less what a step's length is of the window: entries up to 4 and a delay of 1 in a window of 24.
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 5, (2, 2)) * 4
    window = 24
    parts = eclipse(demand, 1, window)
    part_of_window = (int(demand.max()) + 1) / window
    assert served(parts, demand) >= (1 - np.exp(part_of_window - 1)) * most_in_window(demand, 1, window)


@given(demands(), st.integers(0, 9), st.integers(0, 60))
def test_a_window_is_kept_and_filled(demand, delay, window):
    parts = eclipse(demand, delay, window)
    assert parts.makespan(delay) <= window
    assert np.all(parts.durations > 0)
    left = demand.sum() - served(parts, demand)
    # Nothing is left, or no time in which anything could be served.
    assert left == 0 or window - parts.makespan(delay) <= delay
    for _ in steps(parts, demand):
        pass


def test_window_by_hand():
    demand = np.array([[0, 10, 0], [0, 0, 10], [3, 0, 2]])
    # One matching of all three rows: 10 + 10 + 3 in 10 + 5.
    parts = eclipse(demand, 5, 15)
    assert parts.matchings.tolist() == [[1, 2, 0]]
    assert parts.durations.tolist() == [10]
    # Of the next window's rest only 1 unit of the last pair fits.
    parts = eclipse(demand, 5, 21)
    assert parts.matchings.tolist() == [[1, 2, 0], [-1, -1, 2]]
    assert parts.durations.tolist() == [10, 1]
    assert eclipse(demand, 5, 5).count == 0
    assert eclipse(demand, 5, 0).count == 0
    assert eclipse(demand, 5).durations.tolist() == [10, 2]


def test_the_last_step_takes_what_is_left():
    # By the quotient alone, one unit for all would come first and the long pair would be set up twice.
    demand = np.diag(np.array([100] + [1] * 50))
    assert eclipse(demand, 20).durations.tolist() == [100]


@given(demands(), st.integers(0, 15), st.integers(0, 12))
def test_bounds_are_bounds_for_any_prices(demand, seed, longest):
    edges = demand_edges(demand, 0)
    if not len(edges.demand) or longest == 0:
        return
    price = np.random.default_rng(seed).integers(0, 8, len(demand))
    rank = np.empty(len(edges.demand), dtype=np.int64)
    choices = distinct(edges.demand, min(longest, int(demand.max())), rank)
    bound = np.full(len(choices), 10**9)
    bound_all(edges.indptr[:-1], edges.indptr[1:], edges.columns, edges.demand, price, choices, rank, bound)
    for at, duration in enumerate(choices.tolist()):
        worth = np.where(demand > 0, np.minimum(demand, duration) - price[None, :], 0)
        assert bound[at] == price.sum() + np.maximum(worth, 0).max(axis=1).sum()
        assert bound[at] >= most_served(demand, duration)


@given(st.integers(1, 2**58), st.integers(1, 2**58), st.integers(0, 2**58), st.integers(1, 9))
def test_to_beat_is_exact(duration, other, delay, ports):
    served_before = ports * duration
    exact = Fraction(served_before * (other + delay), duration + delay)
    limit = to_beat(served_before, duration, other, delay)
    if other > duration:
        assert limit < exact <= limit + 1
    else:
        assert limit <= exact < limit + 1


@pytest.mark.parametrize(("n", "peer"), [(64, 1133), (512, 1345), (1024, 1404)])
def test_makespan_beside_the_peer(n, peer):
    # Matrices like the peer's, not the same: its figure is of one of them, and they differ by some percent.
    for seed in range(1, 4):
        demand = mix(n, seed)
        parts = eclipse(demand, 20)
        assert parts.covers(demand)
        assert parts.makespan(20) <= 1.06 * peer
    assert eclipse(mix(n, 1), 20).makespan(20) <= 1.02 * peer


def test_the_same_again():
    demand = mix(48, 7)
    one, other = eclipse(demand, 20), eclipse(demand.copy(), 20)
    assert np.array_equal(one.matchings, other.matchings)
    assert np.array_equal(one.durations, other.durations)
    assert one.matchings.dtype == np.int32
    assert one.durations.dtype == np.int64


@pytest.mark.parametrize("n", [0, 1, 4])
def test_no_demand(n):
    parts = eclipse(np.zeros((n, n), dtype=np.int64), 5)
    assert parts.matchings.shape == (0, n)
    assert parts.makespan(5) == 0


def test_one_port():
    parts = eclipse(np.array([[7]]), 5)
    assert parts.matchings.tolist() == [[0]]
    assert parts.durations.tolist() == [7]


@pytest.mark.parametrize(
    ("demand", "delay", "window", "field"),
    [
        (np.zeros((2, 3), dtype=np.int64), 1, None, "demand"),
        (np.zeros((2, 2)), 1, None, "demand"),
        (np.array([[-1]]), 1, None, "demand"),
        (np.array([[1 << 60]]), 1, None, "demand"),
        (np.array([[1]]), 1 << 60, None, "demand"),
        (np.array([[1]]), -1, None, "delay"),
        (np.array([[1]]), 1, -1, "window"),
    ],
)
def test_bad_input_names_the_field(demand, delay, window, field):
    with pytest.raises(InputError, match=f"^{field}: "):
        eclipse(demand, delay, window)
