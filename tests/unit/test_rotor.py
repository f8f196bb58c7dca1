"""The direct rotor, worked out by hand, and its options."""

from __future__ import annotations

import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import CYCLIC, DARK, PRESET
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination
from tests.strategies import Bytes, build


def run(instance, cutoff=None, **options) -> Outcome:
    return get_solver("rotor").solve(instance, SolveParams(options=options, cutoff_ticks=cutoff), lambda _: None)


def test_a_transfer_waits_for_its_slot_and_is_cut_at_its_end():
    # Three ports: 0 -> 1 is up in even slots, [10, 30) and [50, 70) of a cycle of 60 that began with the dark time.
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, boundary=DARK, endpoints=3)
    outcome = run(instance, slot=30)
    assert outcome.run is not None
    # 20 bytes in [10, 30), 20 in [70, 90), the rest in [130, 140).
    assert outcome.iteration_time_ticks == 140
    assert outcome.run.op_start_ticks.tolist() == [10]
    assert outcome.run.circuit_busy_ticks.tolist() == [50]
    # Slots begin at 0, 30, 60, 90 and 120, three circuits each.
    assert outcome.run.reconfigurations == 15
    assert outcome.run.dark_ticks.tolist() == [150]
    assert outcome.run.circuit_up_ticks.tolist() == [3 * (4 * 20 + 10)]


@pytest.mark.parametrize("boundary", [PRESET, CYCLIC])
def test_without_a_dark_start_the_first_slot_is_up_at_once(boundary: int):
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, boundary=boundary, endpoints=3)
    outcome = run(instance, slot=30)
    assert outcome.run is not None
    assert outcome.iteration_time_ticks == 130
    assert outcome.run.reconfigurations == 12


def test_two_ports_never_change():
    instance = build([("transfer", 0, 1, Bytes(500), []), ("transfer", 1, 0, Bytes(7), [])], delay=10, boundary=DARK)
    outcome = run(instance, slot=30)
    assert outcome.run is not None
    assert outcome.run.op_end_ticks.tolist() == [510, 17]
    assert outcome.run.reconfigurations == 2


def test_planes_are_staggered_unless_asked_otherwise():
    ops = [("transfer", 0, 1, Bytes(20), [])]
    instance = build(ops, delay=10, planes=2, endpoints=5, boundary=DARK)
    # Four rounds: plane 1 begins two ahead, so 0 -> 1 is up in [10, 30) and, on plane 1, in [70, 90).
    assert run(instance, slot=30).iteration_time_ticks == 30
    assert run(instance, slot=30, offset="same").iteration_time_ticks == 20
    late = build(
        [("compute", "d", 40, []), ("transfer", 0, 1, Bytes(20), [0])], delay=10, planes=2, endpoints=5, boundary=DARK
    )
    assert run(late, slot=30).iteration_time_ticks == 90
    assert run(late, slot=30, offset="same").iteration_time_ticks == 140


def test_an_odd_number_of_two_way_ports_is_played_with_one_idle():
    instance = build([("transfer", 0, 2, Bytes(5), [])], delay=10, duplex=True, endpoints=3, boundary=DARK)
    outcome = run(instance, slot=30)
    assert outcome.run is not None
    assert any("leaves one port idle" in note for note in outcome.run.notes)
    # Round 1 pairs 0 and 2: its slot is [30, 60).
    assert outcome.iteration_time_ticks == 45
    # Slots 0 and 1 set one circuit each, which both directions share.
    assert outcome.run.reconfigurations == 2


def test_the_buffer_holds_what_waits():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, boundary=DARK, endpoints=3)
    outcome = run(instance, slot=30)
    assert outcome.run is not None
    # Ten bytes are handed over before the slot is up, then as many arrive as leave: 30 in all, less 20, and the rest.
    assert outcome.run.port_peak_bytes.tolist() == [30, 0, 0]


def test_the_default_slot_has_the_papers_duty_cycle():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, endpoints=3)
    assert run(instance).stats["slot_ticks"] == 100
    assert run(build([("transfer", 0, 1, Bytes(50), [])], delay=0, endpoints=3)).stats["slot_ticks"] >= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slot": 10}, "not longer than the reconfiguration delay"),
        ({"slot": "1ns"}, "not longer than the reconfiguration delay"),
        ({"slot": -4}, "solver.slot"),
        ({"slot": "fast"}, "solver.slot"),
        ({"offset": "diagonal"}, "solver.offset"),
    ],
)
def test_bad_options_are_refused_by_name(options, said: str):
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, endpoints=3)
    with pytest.raises(InputError, match=said):
        run(instance, **options)


def test_a_cutoff_ends_the_run_without_an_answer():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, boundary=DARK, endpoints=3)
    assert run(instance, slot=30, cutoff=139).termination is Termination.WORK_LIMIT
    assert run(instance, slot=30, cutoff=140).iteration_time_ticks == 140


def test_the_sweep_offers_slots_longer_than_the_delay():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, endpoints=3, planes=2)
    offers = get_solver("rotor").sweep(instance)
    assert all(offer["slot"] > 10 for offer in offers)
    assert {offer["offset"] for offer in offers} == {"staggered", "same"}
    assert any(offer["slot"] == 100 for offer in offers)
