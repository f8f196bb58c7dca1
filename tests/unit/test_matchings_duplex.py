"""Matchings of two-way ports, and demand taken apart into them."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.matchings import duplex_matching
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex import bvn_duplex, eclipse_duplex, solstice_duplex, spectra_duplex
from fluxscale.matchings.duplex_matching import heaviest_duplex, heavy_duplex, largest_duplex
from fluxscale.matchings.duplex_spectra import few_matchings

Seeds = st.integers(0, 2**32 - 1)

METHODS: dict[str, Callable[[np.ndarray, int], list[Decomposition]]] = {
    "bvn": lambda demand, _: [bvn_duplex(demand)],
    "solstice": lambda demand, delay: [solstice_duplex(demand, delay)],
    "eclipse": lambda demand, delay: [eclipse_duplex(demand, delay)],
    "spectra-1": lambda demand, delay: spectra_duplex(demand, delay, 1),
    "spectra-3": lambda demand, delay: spectra_duplex(demand, delay, 3),
}


def random_weights(rng: np.random.Generator, n: int, largest: int) -> np.ndarray:
    weights = rng.integers(1, largest + 1, (n, n)) * (rng.random((n, n)) < rng.choice([0.1, 0.3, 0.6, 1.0]))
    upper = np.triu(weights, 1)
    return upper + upper.T


def random_demand(rng: np.random.Generator) -> np.ndarray:
    n = int(rng.integers(1, 13))
    demand = rng.integers(1, int(rng.choice([3, 20, 10**6])), (n, n)) * (rng.random((n, n)) < rng.choice([0.2, 0.5, 1]))
    np.fill_diagonal(demand, 0)
    return demand


def weight_of(weights: np.ndarray, partner: np.ndarray) -> int:
    ports = np.flatnonzero(partner > np.arange(len(partner)))
    return int(weights[ports, partner[ports]].sum())


def assert_matching(partner: np.ndarray, edges: np.ndarray) -> None:
    ports = np.flatnonzero(partner >= 0)
    assert np.array_equal(partner[partner[ports]], ports)
    assert np.all(partner[ports] != ports)
    assert np.all(edges[ports, partner[ports]])


def as_graph(weights: np.ndarray) -> nx.Graph:
    return nx.from_numpy_array(weights)


@given(Seeds)
def test_largest_matching_agrees_with_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = random_weights(rng, int(rng.integers(1, 16)), 1) > 0
    begin = np.full(len(edges), -1, dtype=np.int32)
    for a, b in rng.permutation(np.argwhere(edges))[: rng.integers(0, 4)]:
        if begin[a] < 0 and begin[b] < 0:
            begin[a], begin[b] = b, a
    for partner in (largest_duplex(edges), largest_duplex(edges, partner=begin)):
        assert_matching(partner, edges)
        best = nx.max_weight_matching(as_graph(edges.astype(int)), maxcardinality=True)
        assert np.count_nonzero(partner >= 0) == 2 * len(best)


@given(Seeds)
def test_largest_matching_covers_the_first_ports_if_any_matching_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    edges = random_weights(rng, n, 1) > 0
    order = rng.permutation(n)
    covered = largest_duplex(edges, order)[order] >= 0
    # powers of two as weights of ports: the heaviest matching covers the lexicographically first set
    worth = np.zeros(n, dtype=np.int64)
    worth[order] = 2 ** np.arange(n, 0, -1)
    best = nx.max_weight_matching(as_graph((worth[:, None] + worth) * edges))
    wanted = np.zeros(n, dtype=bool)
    for a, b in best:
        wanted[[a, b]] = True
    assert covered.tolist() == wanted[order].tolist()


@given(Seeds)
def test_heaviest_matching_agrees_with_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = random_weights(rng, int(rng.integers(1, 20)), int(rng.choice([1, 3, 10, 10**12])))
    partner = heaviest_duplex(weights)
    assert_matching(partner, weights > 0)
    best = sum(int(weights[a, b]) for a, b in nx.max_weight_matching(as_graph(weights)))
    assert weight_of(weights, partner) == best
    quick = heavy_duplex(weights)
    assert_matching(quick, weights > 0)
    assert best <= 2 * weight_of(weights, quick) <= 2 * best


def test_heaviest_matching_of_nested_odd_cycles() -> None:
    # Odd cycles hanging on each other force blossoms within blossoms, and weights that differ little expand them again.
    for n in (9, 15, 31, 40):
        weights = np.zeros((n, n), dtype=np.int64)
        for a in range(n):
            for step in (1, 2):
                b = (a + step) % n
                weights[a, b] = weights[b, a] = 100 + (a * 7 + step * 3) % 5
        best = sum(int(weights[a, b]) for a, b in nx.max_weight_matching(as_graph(weights)))
        assert weight_of(weights, heaviest_duplex(weights)) == best


def test_many_ports_are_matched_well(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = random_weights(np.random.default_rng(5), 60, 1000)
    best = weight_of(weights, heaviest_duplex(weights))
    monkeypatch.setattr(duplex_matching, "EXACT_PORTS", 10)
    quick = heaviest_duplex(weights)
    assert_matching(quick, weights > 0)
    assert 0.9 * best < weight_of(weights, quick) <= best


def test_an_augmenting_path_through_a_blossom_is_found() -> None:
    edges = np.zeros((6, 6), dtype=bool)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (2, 5)]:
        edges[a, b] = edges[b, a] = True
    assert np.all(largest_duplex(edges) >= 0)


@pytest.mark.parametrize("method", METHODS)
@given(seed=Seeds)
def test_all_methods_cover_the_demand_with_matchings(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    demand = random_demand(rng)
    before = demand.copy()
    made = METHODS[method](demand, int(rng.integers(0, 30)))
    assert np.array_equal(demand, before)
    service = sum((part.service(len(demand)) for part in made), np.zeros_like(demand))
    assert np.all(service >= demand)
    for part in made:
        assert part.matchings.shape == (part.count, len(demand))
        assert np.all(part.durations > 0)
        for partner in part.matchings:
            assert_matching(partner, np.ones_like(demand, dtype=bool))
            assert np.any(partner >= 0)


@given(Seeds)
def test_two_way_ports_on_two_sides_reach_birkhoffs_bound(seed: int) -> None:
    """Where no odd cycle is in the way (senders on one side, receivers on the other), the largest load is enough."""
    rng = np.random.default_rng(seed)
    half = int(rng.integers(1, 6))
    demand = np.zeros((2 * half, 2 * half), dtype=np.int64)
    demand[:half, half:] = rng.integers(0, 9, (half, half))
    loads = np.maximum(demand, demand.T).sum(axis=1)
    made = bvn_duplex(demand)
    assert made.durations.sum() >= loads.max()
    assert made.count <= np.count_nonzero(demand)
    doubly = np.zeros_like(demand)
    for _ in range(4):
        doubly[np.arange(half), half + rng.permutation(half)] += int(rng.integers(1, 9))
    loads = doubly.sum(axis=1)[:half]
    assert bvn_duplex(doubly).durations.sum() == loads.max()


def test_both_directions_are_served_together() -> None:
    demand = np.array([[0, 7], [4, 0]])
    for method, decompose in METHODS.items():
        if method.startswith("spectra-3"):
            continue
        (made,) = decompose(demand, 5)
        assert made.matchings.tolist() == [[1, 0]], method
        assert made.durations.tolist() == [7], method


def test_three_ports_that_all_want_each_other_take_turns() -> None:
    demand = np.full((3, 3), 10)
    np.fill_diagonal(demand, 0)
    for made in (bvn_duplex(demand), solstice_duplex(demand, 4), eclipse_duplex(demand, 4)):
        assert made.count == 3
        assert made.makespan(4) == 42


def test_solstice_takes_large_entries_first_and_small_ones_whole() -> None:
    demand = np.zeros((4, 4), dtype=np.int64)
    demand[0, 1], demand[2, 3], demand[0, 2], demand[1, 3] = 100, 90, 3, 2
    made = solstice_duplex(demand, 10)
    assert made.matchings.tolist() == [[1, 0, 3, 2], [1, 0, -1, -1], [2, 3, 0, 1]]
    assert made.durations.tolist() == [90, 10, 3]


def test_eclipse_prefers_what_serves_most_for_its_time() -> None:
    demand = np.zeros((4, 4), dtype=np.int64)
    demand[0, 1], demand[2, 3], demand[1, 2] = 20, 100, 30
    made = eclipse_duplex(demand, 5)
    # held for 20 it serves 40 in 25, held for 100 it serves 120 in 105, and {1, 2} 30 in 35
    assert made.matchings[0].tolist() == [1, 0, 3, 2]
    assert made.durations[0] == 20


@given(Seeds)
def test_eclipse_keeps_to_its_window(seed: int) -> None:
    rng = np.random.default_rng(seed)
    demand, delay = random_demand(rng), int(rng.integers(0, 10))
    window = int(rng.integers(0, 60))
    made = eclipse_duplex(demand, delay, window)
    assert made.makespan(delay) <= window
    assert eclipse_duplex(demand, delay).covers(demand)


def test_spectra_spreads_and_equalises() -> None:
    demand = np.zeros((2, 2), dtype=np.int64)
    demand[0, 1] = 100
    made = spectra_duplex(demand, 10, 4)
    assert sum(part.durations.sum() for part in made) == 100
    assert max(part.makespan(10) for part in made) == 35


@given(Seeds)
def test_few_matchings_are_few(seed: int) -> None:
    """Vizing: one more than the busiest port has peers are always enough; ours may take some more."""
    demand = random_demand(np.random.default_rng(seed))
    peers = np.count_nonzero(np.maximum(demand, demand.T), axis=1).max()
    made = few_matchings(demand)
    assert made.covers(demand)
    assert peers <= made.count <= max(2 * peers - 1, 0)


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ([[1, 0], [0, 0]], "port 0 has demand for itself"),
        ([[0, -1], [0, 0]], "must not be negative"),
        ([[0, 1, 2], [0, 0, 1]], "must be a square matrix"),
    ],
)
def test_bad_demand_is_refused(demand: list[list[int]], message: str) -> None:
    for decompose in METHODS.values():
        with pytest.raises(InputError, match=message):
            decompose(np.array(demand), 1)


def test_bad_settings_are_refused() -> None:
    demand = np.zeros((2, 2), dtype=np.int64)
    with pytest.raises(InputError, match="delay: must not be negative"):
        solstice_duplex(demand, -1)
    with pytest.raises(InputError, match="window: must not be negative"):
        eclipse_duplex(demand, 1, -1)
    with pytest.raises(InputError, match="n_planes: must be at least 1"):
        spectra_duplex(demand, 1, 0)
