"""Spectra: coverage over planes, bounds, and what splitting may not do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.matchings.eclipse import eclipse
from fluxscale.matchings.spectra import assign, equalise, fewest_matchings, makespan, shortened, spectra


@st.composite
def demands(draw, largest_side=6, largest_entry=30):
    n = draw(st.integers(1, largest_side))
    entry = st.one_of(st.just(0), st.integers(0, largest_entry))
    return np.array(draw(st.lists(entry, min_size=n * n, max_size=n * n)), dtype=np.int64).reshape(n, n)


def mix(n, seed):
    rng = np.random.default_rng(seed)
    demand = np.zeros((n, n), dtype=np.int64)
    for at in range(16):
        low, high = (16, 100) if at < 4 else (1, 16)
        demand[np.arange(n), rng.permutation(n)] += rng.integers(low, high + 1, n)
    return demand


def line_sum(demand):
    return max(int(demand.sum(axis=0).max()), int(demand.sum(axis=1).max()))


def degree(demand):
    return int(max((demand > 0).sum(axis=0).max(), (demand > 0).sum(axis=1).max()))


def assert_matchings(parts):
    assert np.all(parts.durations > 0)
    for matching in parts.matchings:
        used = matching[matching >= 0]
        assert len(set(used.tolist())) == len(used)


@given(demands())
def test_as_few_matchings_as_a_port_has_partners(demand):
    parts = fewest_matchings(demand)
    assert parts.count == degree(demand)
    assert_matchings(parts)
    residual = demand.copy()
    for matching, duration in zip(parts.matchings, parts.durations, strict=True):
        before = degree(residual)
        tx = np.flatnonzero(matching >= 0)
        residual[tx, matching[tx]] -= np.minimum(residual[tx, matching[tx]], duration)
        assert degree(residual) == before - 1
    assert not residual.any()


def test_fewest_matchings_groups_long_demands():
    a, b = np.roll(np.eye(6, dtype=np.int64), 1, axis=1), np.roll(np.eye(6, dtype=np.int64), 2, axis=1)
    parts = fewest_matchings(100 * a + 3 * b)
    assert parts.durations.tolist() == [100, 3]


def test_fewest_matchings_of_demand_of_many_digits():
    demand = mix(12, 2)
    large = fewest_matchings(demand * 10**14)
    assert large.count == degree(demand)
    assert large.covers(demand * 10**14)


@given(demands(), st.integers(0, 20), st.integers(1, 5))
def test_planes_together_cover_the_demand(demand, delay, n_planes):
    planes = spectra(demand, delay, n_planes)
    assert len(planes) == n_planes
    for plane in planes:
        assert_matchings(plane)
        assert plane.matchings.shape[1] == len(demand)
    assert np.all(sum(plane.service(len(demand)) for plane in planes) >= demand)
    span = max(plane.makespan(delay) for plane in planes)
    assert span * n_planes >= line_sum(demand)
    # A port needs a circuit for each of its partners, each set up once at least.
    assert span * n_planes >= line_sum(demand) + delay * degree(demand)
    for parts in (fewest_matchings(demand), eclipse(demand, delay)):
        unsplit = assign(parts.durations.tolist(), delay, n_planes)
        assert span <= makespan(unsplit, delay) or n_planes > 1
        short = shortened(parts, demand)
        assert short.covers(demand)
        assert span <= makespan(assign(short.durations.tolist(), delay, n_planes), delay)


@given(demands(), st.integers(0, 20))
def test_one_plane_plays_the_decomposition(demand, delay):
    (plane,) = spectra(demand, delay, 1)
    ways = [shortened(parts, demand) for parts in (fewest_matchings(demand), eclipse(demand, delay))]
    assert plane.makespan(delay) == min(way.makespan(delay) for way in ways)
    assert plane.covers(demand)


@given(st.lists(st.integers(1, 200), max_size=12), st.integers(0, 30), st.integers(1, 5))
def test_equalise_keeps_all_time_and_never_raises_the_makespan(durations, delay, n_planes):
    before = assign(durations, delay, n_planes)
    after = equalise(before, delay)
    assert makespan(after, delay) <= makespan(before, delay)
    held = [sum(plane.get(part, 0) for plane in after) for part in range(len(durations))]
    assert held == durations
    assert before == assign(durations, delay, n_planes)


def test_one_matching_is_split_over_two_planes():
    # Each half after a delay of its own, but at the same time.
    demand = np.diag(np.array([100, 100]))
    planes = spectra(demand, 10, 2)
    assert [plane.durations.tolist() for plane in planes] == [[50], [50]]


def test_no_split_where_the_delay_is_not_won_back():
    demand = np.array([[0, 30], [25, 0]]) + np.array([[25, 0], [0, 20]])
    planes = spectra(demand, 10, 2)
    assert [plane.durations.tolist() for plane in planes] == [[30], [25]]


def test_a_split_is_taken_back_if_the_makespan_stays():
    # Two equal planes at the top and one that can relieve only one of them.
    after = equalise([{0: 50}, {1: 50}, {2: 29}], 20)
    assert makespan(after, 20) == 70
    assert after == [{0: 50}, {1: 50}, {2: 29}]


def test_moving_to_a_plane_that_plays_the_matching_costs_no_delay():
    after = equalise([{0: 60, 1: 40}, {1: 20}], 50)
    assert makespan(after, 50) == 110
    assert after == [{0: 60}, {1: 60}]


def test_close_to_the_bound_on_the_mixed_matrix():
    demand = mix(256, 1)
    assert degree(demand) == 16
    for n_planes in (2, 4):
        span = max(plane.makespan(20) for plane in spectra(demand, 20, n_planes))
        assert span * n_planes <= 1.3 * (line_sum(demand) + 20 * 16)


def test_the_same_again():
    demand = mix(40, 3)
    for one, other in zip(spectra(demand, 20, 3), spectra(demand, 20, 3), strict=True):
        assert np.array_equal(one.matchings, other.matchings)
        assert np.array_equal(one.durations, other.durations)


@pytest.mark.parametrize("n", [1, 3])
def test_no_demand(n):
    planes = spectra(np.zeros((n, n), dtype=np.int64), 5, 2)
    assert [plane.matchings.shape for plane in planes] == [(0, n), (0, n)]


def test_empty_rows_and_columns_and_one_port():
    demand = np.zeros((4, 4), dtype=np.int64)
    demand[1, 3] = 9
    planes = spectra(demand, 9, 3)
    assert [plane.matchings.tolist() for plane in planes] == [[[-1, 3, -1, -1]]] * 3
    assert [plane.durations.tolist() for plane in planes] == [[3]] * 3
    assert spectra(np.array([[4]]), 1, 1)[0].matchings.tolist() == [[0]]


@pytest.mark.parametrize(
    ("demand", "delay", "n_planes", "field"),
    [
        (np.array([[1, 2]]), 1, 1, "demand"),
        (np.array([[1]]), -1, 1, "delay"),
        (np.array([[1]]), 1, 0, "n_planes"),
    ],
)
def test_bad_input_names_the_field(demand, delay, n_planes, field):
    with pytest.raises(InputError, match=f"^{field}: "):
        spectra(demand, delay, n_planes)
