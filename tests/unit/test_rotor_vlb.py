"""`rotor-vlb`: cases by hand, a plain-Python twin on random instances, what is conserved, options, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.status import Termination
from fluxscale.validate.fluid import check_fluid
from fluxscale_solvers.baselines import rotor_vlb
from fluxscale_solvers.baselines.rotor import Rotor
from fluxscale_solvers.baselines.rotor_vlb import RotorVlb
from tests.naive_rotor_vlb import naive_rotor_vlb
from tests.strategies import CYCLIC, DARK, PRESET, Bytes, build, random_instance


def solve(instance: Instance, cutoff: int | None = None, **options) -> Outcome:
    return RotorVlb().solve(instance, SolveParams(options=options, cutoff_ticks=cutoff), lambda _: None)


def run_of(instance: Instance, **options) -> FluidRun:
    run = solve(instance, **options).run
    assert run is not None
    return run


# Cases by hand: 4 endpoints, delay 2, slot 12, preset: slot s is up in [12 s, 12 s + 10); one-way, slot s connects
# i with i + 1 + s mod 3.


def skewed(**options) -> Instance:
    return build([("transfer", 0, 1, Bytes(30))], endpoints=4, delay=2, **options)


def test_skewed_demand_is_faster_over_relays():
    instance = skewed()
    direct = Rotor().solve(instance, SolveParams(options={"slot": 12}), lambda _: None).run
    assert direct is not None
    assert direct.iteration_time_ticks == 82  # slots 0, 3, 6
    run = run_of(instance, slot=12)
    # [0, 10) direct; [12, 22) to 2, which meets 1 in [24, 34); [24, 34) to 3, which meets 1 in [48, 58)
    assert (run.op_start_ticks.tolist(), run.op_end_ticks.tolist()) == ([0], [58])
    assert run.circuit_busy_ticks.tolist() == [50]
    assert run.pair_amount.tolist() == [10 * work(instance).units_per_byte]
    # endpoint 0 is handed a byte a tick until 30: 2 wait at 12, 4 at 24; the relays store 10 bytes each
    assert run.port_peak_bytes.tolist() == [4, 0, 10, 10]
    assert "40 bytes" in run.notes[-1]
    # slots 1 to 4 are set within [0, 58) at 10, 22, 34, 46, four circuits each
    assert run.reconfigurations == 16
    assert run.dark_ticks.tolist() == [32]
    assert run.circuit_up_ticks.tolist() == [4 * 50]


def test_dark_start_comes_a_delay_later():
    run = run_of(skewed(boundary=DARK), slot=12)
    assert (run.op_start_ticks.tolist(), run.op_end_ticks.tolist()) == ([2], [60])
    assert run.reconfigurations == 20


def test_receiver_accepts_only_what_it_can_send_on_in_a_slot():
    # 2 has 20 bytes for 1 too: it relays half over 3 in slot 0, so 3 takes no more for 1 until it met it in slot 1,
    # and 0 refuses 2 in slot 1 as 2 refuses 0. Slot 2: 2 sends its rest, 3 takes 10 from 0. Slot 3: 0 sends its last.
    instance = build([("transfer", 0, 1, Bytes(30)), ("transfer", 2, 1, Bytes(20))], delay=2, endpoints=4)
    run = run_of(instance, slot=12)
    assert run.op_end_ticks.tolist() == [58, 34]
    units = work(instance).units_per_byte
    assert run.pair_amount.tolist() == [20 * units, 10 * units]
    assert run.circuit_busy_ticks.tolist() == [70]


def test_relayed_goes_first_then_own():
    # 2 stores 10 bytes of 0 for 1 in slot 1, then is given 10 of its own: slot 2 carries the stored ones.
    ops = [("transfer", 0, 1, Bytes(20)), ("local", 22), ("transfer", 2, 1, Bytes(10), [1])]
    run = run_of(build(ops, delay=2, endpoints=4), slot=12)
    assert run.op_end_ticks[0] == 34
    # its own ones were for 3 (never: it meets 3 in slot 3), so they leave 2 for 3 at 36 and 3 for 1 at 48
    assert (run.op_start_ticks[2], run.op_end_ticks[2]) == (36, 58)


def test_two_way_circuits_send_both_ways_at_once():
    # slot 0 connects 0-3 and 1-2
    ops = [("transfer", 0, 3, Bytes(10)), ("transfer", 3, 0, Bytes(7)), ("transfer", 2, 1, Bytes(9))]
    run = run_of(build(ops, delay=2, endpoints=4, duplex=True), slot=12)
    assert run.op_end_ticks.tolist() == [10, 7, 9]
    assert run.circuit_up_ticks.tolist() == [40]


def test_odd_number_of_two_way_ports_is_noted():
    run = run_of(build([("transfer", 0, 1, Bytes(3))], endpoints=5, delay=2, duplex=True))
    assert "one port idle" in run.notes[0]


@pytest.mark.parametrize(("boundary", "begin"), [(DARK, 5), (PRESET, 0), (CYCLIC, 0)])
def test_two_ports_have_nothing_to_turn(boundary, begin):
    instance = build([("transfer", 0, 1, Bytes(100))], delay=5, boundary=boundary)
    run = run_of(instance, slot=7)
    assert (run.op_start_ticks.tolist(), run.op_end_ticks.tolist()) == ([begin], [begin + 100])
    assert run.reconfigurations == (2 if boundary == DARK else 0)


def test_planes_that_go_the_same_way_share_a_transfer():
    run = run_of(build([("transfer", 0, 1, Bytes(100))], delay=5, planes=2, rate=[8 * 10**9, 24 * 10**9]), slot=200)
    assert run.op_end_ticks.tolist() == [25]
    assert run.circuit_busy_ticks.tolist() == [25, 25]


def test_planes_are_staggered_or_the_same():
    # three ports: two rounds; plane 1 begins with the second one, in which 0 meets 2
    instance = build([("transfer", 0, 2, Bytes(10))], delay=2, planes=2, endpoints=3)
    # both circuits: 0 -> 1 on plane 0 takes nothing more, as plane 1 has taken all of it directly
    assert run_of(instance, slot=12, offset="staggered").op_end_ticks.tolist() == [10]
    # over 1: [0, 10), then 1 -> 2 [12, 17) is not it: 1 meets 2 in round 0, at 24, on both planes
    assert run_of(instance, slot=12, offset="same").op_end_ticks.tolist() == [29]


def test_nothing_to_send_needs_no_circuit():
    instance = build([("transfer", 0, 1, Bytes(0)), ("transfer", 1, 0, 0)], delay=50, latency=3, boundary=DARK)
    assert run_of(instance).op_end_ticks.tolist() == [3, 0]


def test_nothing_at_all():
    run = run_of(build([], endpoints=3))
    assert (run.iteration_time_ticks, run.reconfigurations) == (0, 0)


# The twin


def compare(instance: Instance, slot: int, offset: str) -> None:
    run = run_of(instance, slot=slot, offset=offset)
    twin = naive_rotor_vlb(instance, slot, staggered=offset == "staggered")
    n, asked = instance.n_ops, pairs(instance)
    assert run.op_start_ticks.tolist() == [twin.op_start[op] for op in range(n)]
    assert run.op_end_ticks.tolist() == [twin.op_end[op] for op in range(n)]
    assert run.circuit_busy_ticks.tolist() == [twin.busy.get(p, 0) for p in range(instance.n_planes)]
    sent = [twin.sent.get((int(tx), int(rx)), 0) for tx, rx in zip(asked.tx, asked.rx, strict=True)]
    assert run.pair_amount.tolist() == sent
    amounts = work(instance)
    planes = np.maximum((instance.attach >= 0).sum(axis=0), 1)
    peaks = [-(-twin.peak.get(e, 0) // (amounts.units_per_byte * int(planes[e]))) for e in range(instance.n_endpoints)]
    assert run.port_peak_bytes.tolist() == peaks
    setups, up, dark = twin.account(run.iteration_time_ticks)
    assert (run.reconfigurations, run.circuit_up_ticks.tolist(), run.dark_ticks.tolist()) == (setups, up, dark)
    # what was taken from its sender has arrived, and all of it
    wanted = {leg: units for leg, units in enumerate(amounts.leg_amount.tolist()) if units}
    assert twin.delivered == twin.taken == wanted
    assert check_fluid(instance, run).ok


@given(st.integers(0, 2**32 - 1))
def test_kernel_and_twin_agree(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_transfers=int(rng.choice([7, 20])), max_endpoints=int(rng.choice([3, 5, 8])))
    slot = int(instance.plane_delay_ticks.max(initial=0)) + int(rng.integers(1, 25))
    compare(instance, slot, str(rng.choice(["staggered", "same"])))


@given(st.integers(0, 2**32 - 1))
def test_twin_agrees_where_much_waits(seed):
    """Bursts of long transfers: queues, cut items, refusals."""
    rng = np.random.default_rng(seed)
    n, planes = int(rng.integers(4, 9)), int(rng.integers(1, 3))
    ops = []
    for _ in range(int(rng.integers(5, 25))):
        tx, rx = rng.choice(n, size=2, replace=False).tolist()
        size = int(rng.integers(1, 60))
        ops.append(("transfer", tx, rx, Bytes(size) if rng.random() < 0.8 else size, []))
    instance = build(
        ops,
        endpoints=n,
        planes=planes,
        delay=rng.integers(0, 5, size=planes).tolist(),
        latency=rng.choice([0, 1, 9, 30], size=planes).tolist(),
        duplex=rng.choice([True, False], size=planes).tolist(),
        boundary=int(rng.integers(3)),
    )
    compare(instance, 4 + int(rng.integers(1, 12)), str(rng.choice(["staggered", "same"])))


# Options, limits, bad input


def test_same_answer_twice():
    instance = random_instance(np.random.default_rng(5), max_transfers=20, max_endpoints=8)
    first, second = run_of(instance), run_of(instance)
    assert first.op_end_ticks.tolist() == second.op_end_ticks.tolist()
    assert first.events == second.events


def test_default_slot_is_ten_delays():
    assert solve(skewed()).stats["slot_ticks"] == 20


def test_gives_up_at_the_cutoff():
    assert solve(skewed(), slot=12, cutoff=58).termination is Termination.FINISHED
    outcome = solve(skewed(), slot=12, cutoff=57)
    assert (outcome.termination, outcome.run, outcome.iteration_time_ticks) == (Termination.WORK_LIMIT, None, None)


@pytest.mark.parametrize("slot", [1, 2])
def test_slot_must_be_longer_than_the_delay(slot):
    with pytest.raises(InputError, match=r"solver\.slot.*not longer than") as error:
        solve(skewed(), slot=slot)
    assert "\n" not in str(error.value)


def test_unknown_offset():
    with pytest.raises(InputError, match=r"solver\.offset"):
        solve(skewed(), offset="stagered")


def test_endpoint_alone_on_a_plane_is_served_by_the_other_one():
    instance = build([("transfer", 0, 2, Bytes(5))], delay=2, attach=[[0, 1, 1], [0, -1, 0]])
    run = run_of(instance, slot=12)
    assert run.op_end_ticks.tolist() == [5]
    assert run.circuit_busy_ticks.tolist() == [0, 5]


def test_pair_that_no_plane_serves_is_named():
    instance = build([("transfer", 0, 2, Bytes(5))], attach=[[0, 0, 1]])
    with pytest.raises(UnsupportedError, match="->"):
        solve(instance)


def test_too_short_slots_for_the_work_are_refused(monkeypatch):
    instance = build([("transfer", 0, 1, Bytes(4 * 10**8))], delay=0, endpoints=4)
    with pytest.raises(UnsupportedError, match=r"solver\.slot"):
        solve(instance, slot=1)
    monkeypatch.setattr(rotor_vlb, "MOST_EVENTS", 100)
    many = build([("transfer", 0, 1, Bytes(90))], delay=5, endpoints=64)
    with pytest.raises(UnsupportedError, match=r"solver\.slot"):
        solve(many, slot=7)


@pytest.mark.parametrize("planes", [1, 2])
def test_sweep_is_short_ascending_and_valid(planes):
    instance = build(
        [("transfer", 0, 1, Bytes(300)), ("transfer", 2, 1, Bytes(80))], delay=7, endpoints=4, planes=planes
    )
    sets = RotorVlb().sweep(instance)
    slots = [options["slot"] for options in sets]
    assert len(sets) <= 12
    assert slots == sorted(slots)
    assert len({tuple(options.items()) for options in sets}) == len(sets)
    assert {options.get("offset") for options in sets} == ({None} if planes == 1 else {"staggered", "same"})
    for options in sets:
        assert solve(instance, **options).termination is Termination.FINISHED
