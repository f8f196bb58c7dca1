"""`static`: circuits that never change, and transfers that go over relays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.bounds.critical_path import critical_path
from fluxscale.errors import UnsupportedError
from fluxscale.instance.instance import CYCLIC, DARK, PRESET, Instance
from fluxscale.instance.pairs import Pairs, pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.status import Termination
from fluxscale.validate.fluid import check_fluid
from fluxscale_solvers.baselines import static_network
from fluxscale_solvers.baselines.static import Static, run_network
from fluxscale_solvers.baselines.static_network import Network, build_network
from tests.naive_relay import NaiveLink, naive_relay, no_light_overtakes
from tests.strategies import BYTE_PER_TICK, Bytes, build, random_instance


def play(instance: Instance, **options: Any) -> FluidRun:
    outcome = Static().solve(instance, SolveParams(options=options), lambda _: None)
    assert outcome.run is not None
    assert outcome.termination is Termination.FINISHED
    assert outcome.iteration_time_ticks == outcome.run.iteration_time_ticks
    assert check_fluid(instance, outcome.run).ok
    return outcome.run


def network_of(instance: Instance) -> Network:
    return build_network(instance, pairs(instance), work(instance))


def circuits(instance: Instance, plane: int = 0) -> set[tuple[int, int]]:
    peer = network_of(instance).peer[plane]
    return {(tx, int(rx)) for tx, rx in enumerate(peer) if rx >= 0}


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(("boundary", "wait"), [(DARK, 10), (PRESET, 0), (CYCLIC, 0)])
def test_two_endpoints_pay_the_delay_once_and_only_when_dark(boundary: int, wait: int) -> None:
    instance = build(
        [("transfer", 0, 1, Bytes(5)), ("transfer", 0, 1, Bytes(7)), ("transfer", 1, 0, Bytes(4), [0])],
        delay=10,
        latency=2,
        boundary=boundary,
    )
    run = play(instance)
    assert run.op_start_ticks.tolist() == [wait, wait + 5, wait + 7]
    assert run.op_end_ticks.tolist() == [wait + 7, wait + 14, wait + 13]
    assert run.reconfigurations == (2 if boundary == DARK else 0)
    assert run.dark_ticks.tolist() == [2 * wait]
    assert run.circuit_up_ticks.tolist() == [2 * 14]
    assert run.circuit_busy_ticks.tolist() == [16]
    # 12 bytes are handed over at 1 a tick each while one a tick leaves once the circuit is up.
    assert run.port_peak_bytes.tolist()[0] == (12 if boundary == DARK else 5)


def test_a_ring_relays_what_goes_backwards_over_two_links() -> None:
    ring = [("transfer", a, (a + 1) % 3, Bytes(100)) for a in range(3)]
    instance = build([*ring, ("transfer", 1, 0, Bytes(10), [1])], latency=3)
    assert circuits(instance) == {(0, 1), (1, 2), (2, 0)}
    run = play(instance)
    # released when the ring's 1 -> 2 has arrived; head at 2 three ticks after it left, so it does not wait there
    assert run.op_start_ticks.tolist() == [0, 0, 0, 103]
    assert run.op_end_ticks.tolist() == [103, 103, 103, 103 + 10 + 3 + 3]
    q = pairs(instance)
    by_pair = dict(zip(zip(q.tx.tolist(), q.rx.tolist(), strict=True), run.pair_amount.tolist(), strict=True))
    unit = work(instance).units_per_byte
    assert by_pair == {(0, 1): 100 * unit, (1, 0): 0, (1, 2): 110 * unit, (2, 0): 110 * unit}
    assert run.circuit_busy_ticks.tolist() == [320]


def test_a_relay_buffers_what_it_cannot_pass_on() -> None:
    instance = build(
        [
            *[("transfer", a, (a + 1) % 3, Bytes(100)) for a in range(3)],
            ("compute", "x", 140, []),
            ("transfer", 2, 0, Bytes(60), [3]),  # holds 2 -> 0 in [140, 200)
            ("compute", "y", 150, []),
            ("transfer", 1, 0, Bytes(30), [5]),  # at 2 in [150, 180), goes on in [200, 230)
        ]
    )
    run = play(instance)
    assert run.op_start_ticks[6] == 150
    assert run.op_end_ticks[6] == 230
    # At 180 the relay holds 30 relayed bytes; its own 60 are handed over as fast as they leave.
    assert run.port_peak_bytes.tolist() == [0, 0, 30]


def test_own_bytes_and_relayed_bytes_add_up_in_the_buffer() -> None:
    instance = build(
        [
            *[("transfer", a, (a + 1) % 3, Bytes(100)) for a in range(3)],
            ("compute", "x", 150, []),
            ("transfer", 1, 0, Bytes(40), [3]),  # head at 2 at 150: sent on at once
            ("compute", "y", 155, []),
            ("transfer", 2, 0, Bytes(20), [5]),  # waits for 190; handed over by 175
        ]
    )
    run = play(instance)
    assert run.op_end_ticks[[4, 6]].tolist() == [190, 210]
    assert run.port_peak_bytes.tolist() == [0, 0, 20]


def test_bytes_count_over_all_planes_of_an_endpoint_rounded_up() -> None:
    instance = build([("transfer", 0, 1, Bytes(9)), ("transfer", 0, 1, Bytes(8))], planes=2, delay=20, boundary=DARK)
    assert play(instance).port_peak_bytes.tolist() == [9, 0]


def test_two_planes_serve_different_pairs_and_spare_ports_double() -> None:
    instance = build([("transfer", 0, 1, Bytes(100)), ("transfer", 0, 2, Bytes(60))], planes=2)
    assert circuits(instance, 0) == {(0, 1)}
    assert circuits(instance, 1) == {(0, 2)}
    run = play(instance)
    assert run.op_end_ticks.tolist() == [100, 60]
    doubled = build([("transfer", 0, 1, Bytes(101))], planes=2, latency=[1, 4])
    run = play(doubled)
    assert run.op_end_ticks.tolist() == [51 + 4]
    assert run.circuit_busy_ticks.tolist() == [51, 51]
    assert run.circuit_up_ticks.tolist() == [55, 55]


def test_legs_of_a_gang_drain_on_their_own_and_it_ends_with_the_last() -> None:
    ring = [(0, 1), (1, 2), (2, 0)]
    instance = build([("transfer", 0, 1, Bytes(30)), ("gang", ring, Bytes(50)), ("transfer", 1, 2, Bytes(5), [1])])
    run = play(instance)
    assert run.op_start_ticks.tolist() == [0, 0, 80]
    assert run.op_end_ticks.tolist() == [30, 80, 85]


def test_transfers_of_given_duration_know_no_latency_and_drain_over_all_planes() -> None:
    instance = build([*[("transfer", a, (a + 1) % 3, 100) for a in range(3)], ("transfer", 1, 0, 10, [1])], latency=3)
    run = play(instance)
    assert run.op_end_ticks.tolist() == [100, 100, 100, 110]
    doubled = build([("transfer", 0, 1, 101)], planes=2, latency=7)
    assert play(doubled).op_end_ticks.tolist() == [51]


def test_a_faster_link_does_not_end_before_its_last_bit_has_come_in() -> None:
    instance = build(
        [
            ("transfer", 0, 1, Bytes(1000)),
            ("transfer", 1, 2, Bytes(1000)),
            ("transfer", 0, 2, Bytes(40), [0, 1]),
        ],
        rate=[BYTE_PER_TICK // 2, BYTE_PER_TICK],
        attach=[[0, 0, -1], [-1, 0, 0]],
        latency=2,
        endpoints=3,
    )
    # Endpoints 0 and 2 share no OCS, which the builder of jobs refuses; relays could still do it.
    network = network_of(instance)
    assert network.hop_indptr.tolist() == [0, 1, 3, 4]
    run = run_network(instance, pairs(instance), work(instance), network)
    assert run is not None
    assert run.op_end_ticks.tolist() == [2002, 1002, 2002 + 80 + 2 + 2]
    assert run.port_peak_bytes.tolist() == [0, 0, 0]  # the fast link sends what comes in


def test_compute_ops_run_in_device_order() -> None:
    instance = build(
        [
            ("compute", "a", 5, []),
            ("compute", "a", 7, []),
            ("transfer", 0, 1, Bytes(10), [1]),
            ("compute", "b", 3, [2]),
            ("local", 4, [3]),
        ]
    )
    run = play(instance)
    assert run.op_start_ticks.tolist() == [0, 5, 12, 22, 25]
    assert run.op_end_ticks.tolist() == [5, 12, 22, 25, 29]


def test_ties_go_by_order_of_release() -> None:
    instance = build([("transfer", 0, 1, Bytes(4)), ("transfer", 0, 1, Bytes(6)), ("transfer", 0, 1, Bytes(5))])
    assert play(instance).op_start_ticks.tolist() == [0, 4, 10]


def test_all_stop_planes_are_dark_once_as_a_whole() -> None:
    ring = [("transfer", a, (a + 1) % 3, Bytes(10)) for a in range(3)]
    run = play(build(ring, all_stop=True, boundary=DARK, delay=7))
    assert run.dark_ticks.tolist() == [7]
    assert run.reconfigurations == 3
    assert play(build(ring, boundary=DARK, delay=7)).dark_ticks.tolist() == [21]


# ---------------------------------------------------------------- two-way ports


def test_pairs_on_one_two_way_plane() -> None:
    ops = [("transfer", 0, 1, Bytes(10)), ("transfer", 1, 0, Bytes(8)), ("transfer", 2, 3, Bytes(5))]
    run = play(build(ops, duplex=True, boundary=DARK, delay=3))
    assert run.op_end_ticks.tolist() == [13, 11, 8]
    assert run.reconfigurations == 2
    assert run.circuit_up_ticks.tolist() == [40]
    assert run.dark_ticks.tolist() == [6]


def test_three_endpoints_on_one_two_way_plane_are_refused() -> None:
    instance = build([("transfer", 0, 1, Bytes(10)), ("transfer", 1, 2, Bytes(8))], duplex=True)
    with pytest.raises(UnsupportedError, match=r"static finds no circuits that lead from .* to .*two planes or more"):
        play(instance)


def test_a_ring_of_two_way_ports_needs_two_planes() -> None:
    ring = [("gang", [(a, (a + 1) % 6) for a in range(6)], Bytes(10))]
    instance = build(ring, duplex=True, planes=2)
    assert play(instance).op_end_ticks.tolist() == [10]
    chords = [("transfer", a, b, Bytes(3)) for a in range(6) for b in range(6) if a != b]
    run = play(build([*ring, *chords], duplex=True, planes=2))
    assert run.iteration_time_ticks >= 18


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 12])
@pytest.mark.parametrize("planes", [2, 3])
def test_two_way_parts_are_always_joined_on_two_planes(n: int, planes: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        ops = [
            ("transfer", a, b, Bytes(int(rng.integers(1, 100))))
            for a in range(n)
            for b in range(n)
            if a != b and (rng.random() < 0.3 or b == a + 1)
        ]
        play(build(ops, duplex=True, planes=planes))


def test_idle_endpoints_relay_where_nobody_else_can() -> None:
    # 1 -> 2 leads over 3, which has nothing to send: 2 -> 4 has the port of 2 on the plane that all share.
    instance = build(
        [("transfer", 1, 2, Bytes(4)), ("transfer", 2, 4, Bytes(9))],
        duplex=True,
        attach=[[-1, 0, 0, 0, 0], [0, -1, 0, 0, -1], [-1, -1, 0, 0, -1]],
    )
    assert play(instance).op_end_ticks.tolist() == [4, 9]


# ---------------------------------------------------------------- options and limits


def test_without_relays_every_pair_needs_a_circuit() -> None:
    ring = [("transfer", a, (a + 1) % 3, Bytes(10)) for a in range(3)]
    assert play(build(ring), relays=False).iteration_time_ticks == 10
    with pytest.raises(UnsupportedError, match=r"solver.relays: static finds no circuit of its own .*relays = true"):
        play(build([*ring, ("transfer", 1, 0, Bytes(10))]), relays="false")
    with pytest.raises(UnsupportedError, match="must be true or false"):
        play(build(ring), relays=3)


def test_the_clock_may_be_cut() -> None:
    instance = build([("transfer", 0, 1, Bytes(100))])
    outcome = Static().solve(instance, SolveParams(cutoff_ticks=99), lambda _: None)
    assert outcome.run is None
    assert outcome.termination is Termination.WORK_LIMIT
    assert Static().solve(instance, SolveParams(cutoff_ticks=100), lambda _: None).run is not None


def test_too_many_hops_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_network, "MOST_HOPS", 3)
    ring = [("transfer", a, (a + 1) % 3, Bytes(100)) for a in range(3)]
    with pytest.raises(UnsupportedError, match="4 transfers over 5 hops"):
        play(build([*ring, ("transfer", 1, 0, Bytes(10), [1])]))


def test_nothing_to_send() -> None:
    run = play(build([("compute", "a", 5, [])], endpoints=2, boundary=DARK))
    assert run.iteration_time_ticks == 5
    assert run.circuit_utilisation is None
    assert run.eager_bytes == 0


# ---------------------------------------------------------------- the twin, and what always holds


def injection_by_pair(asked: Pairs, per_plane: np.ndarray) -> dict[tuple[int, int], int]:
    found = {}
    for q in range(asked.count):
        mine = asked.planes[asked.plane_indptr[q] : asked.plane_indptr[q + 1]]
        found[int(asked.tx[q]), int(asked.rx[q])] = max(1, int(per_plane[mine].sum()))
    return found


def assert_like_the_twin(instance: Instance, network: Network) -> FluidRun:
    amounts, asked, links = work(instance), pairs(instance), network.links
    run = run_network(instance, asked, amounts, network)
    assert run is not None
    plain = [
        NaiveLink(*(int(column[k]) for column in (
            links.tail, links.head, links.speed, links.planes, links.latency_ticks, links.open_ticks
        )))
        for k in range(len(links.tail))
    ]  # fmt: skip
    routes = {
        (int(asked.tx[q]), int(asked.rx[q])): network.hops[network.hop_indptr[q] : network.hop_indptr[q + 1]].tolist()
        for q in range(asked.count)
    }
    twin = naive_relay(instance, plain, routes, injection_by_pair(asked, amounts.plane_injection))
    assert run.op_start_ticks.tolist() == twin.start
    assert run.op_end_ticks.tolist() == twin.end
    busy = [0] * instance.n_planes
    for plane, link in zip(links.circuit_plane.tolist(), links.circuit_link.tolist(), strict=True):
        busy[plane] += plain[link].busy
    assert run.circuit_busy_ticks.tolist() == busy
    if no_light_overtakes(instance):
        planes = np.maximum((instance.attach >= 0).sum(axis=0), 1)
        peaks = np.array(twin.peaks(instance.n_endpoints))
        assert run.port_peak_bytes.tolist() == (-(-peaks // (amounts.units_per_byte * planes))).tolist()
    return run


@given(st.integers(0, 2**32 - 1))
def test_agrees_with_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_transfers=12, max_planes=3, max_endpoints=7)
    try:
        network = network_of(instance)
    except UnsupportedError:
        assert instance.plane_duplex.any()
        return
    run = assert_like_the_twin(instance, network)
    assert check_fluid(instance, run).ok
    # every hop is on the way: from end to end over links that meet
    asked, links = pairs(instance), network.links
    for q in range(asked.count):
        way = network.hops[network.hop_indptr[q] : network.hop_indptr[q + 1]]
        ends = [int(asked.tx[q]), *links.head[way].tolist()]
        assert ends[:-1] == links.tail[way].tolist()
        assert ends[-1] == asked.rx[q]
        assert len(set(ends)) == len(ends)
    assert np.all(run.circuit_busy_ticks <= run.circuit_up_ticks)
    if np.all(links.planes == 1):
        assert run.iteration_time_ticks >= critical_path(instance).ticks


@given(st.integers(0, 2**32 - 1))
def test_circuits_are_matchings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_transfers=12, max_planes=3, max_endpoints=7)
    try:
        peer = network_of(instance).peer
    except UnsupportedError:
        return
    for plane in range(instance.n_planes):
        tx = np.flatnonzero(peer[plane] >= 0)
        rx = peer[plane, tx]
        assert len(np.unique(rx)) == len(rx)
        assert np.all(tx != rx)
        assert np.all(instance.attach[plane, tx] == instance.attach[plane, rx])
        assert np.all(instance.attach[plane, tx] >= 0)
        if instance.plane_duplex[plane]:
            assert np.array_equal(peer[plane, rx], tx)


@given(st.integers(0, 2**32 - 1))
def test_one_way_ports_always_reach_everybody(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_transfers=15, max_planes=3, max_endpoints=9, duplex=False)
    network = network_of(instance)
    assert np.all(np.diff(network.hop_indptr) > 0)
