"""Every code of the checker: a schedule that breaks exactly this rule, with entity, time and amount."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import CYCLIC, DARK, PRESET, Instance
from fluxscale.instance.names import Names
from fluxscale.schedule.schedule import Schedule
from fluxscale.validate.checker import check
from fluxscale.validate.violations import KINDS
from tests.naive_check import schedule_of
from tests.strategies import Bytes, build

DELAY = 10


def two_transfers(boundary: int = PRESET, **options) -> Instance:
    """Op 0: 0 -> 1 for 5 ticks; op 1: 0 -> 2 for 5 ticks."""
    return build(
        [("transfer", 0, 1, 5), ("transfer", 0, 2, 5)],
        **{"delay": DELAY, "endpoints": 4, "boundary": boundary, **options},
    )


def found(instance: Instance, *schedule) -> list[tuple[str, str, int, int]]:
    """Code, entity, time and amount of all violations of ``schedule_of(instance, *schedule)``."""
    report = check(instance, schedule_of(instance, *schedule))
    assert report.ok == (not report.violations)
    assert sum(report.counts.values()) == len(report.violations)
    assert all(v.kind == KINDS[v.code] and "\n" not in v.message for v in report.violations)
    return [(v.code, v.entity, v.time_ticks, v.amount_ticks) for v in report.violations]


GOOD = ([0, 15], [0, 0], [(0, 0, 1, 0, 5), (0, 0, 2, 15, 20)], 20)


def test_a_right_schedule_passes():
    instance = two_transfers()
    report = check(instance, schedule_of(instance, *GOOD))
    assert report.ok
    assert (report.violations, report.counts, report.iteration_time_ticks) == ([], {}, 20)
    assert report.n_checked == {"ops": 2, "edges": 0, "legs": 2, "rows": 2}


def test_fx001_start_before_zero():
    instance = build([("compute", "a", 5), ("compute", "b", 9)])
    assert found(instance, [-3, 0], [], [], 9) == [("FX001", "op0", -3, 3)]


def test_fx001_absurdly_late_start_is_tamed():
    instance = build([("compute", "a", 5)])
    report = check(instance, schedule_of(instance, [2**63 - 1], [], [], 5))
    assert set(report.counts) == {"FX001", "FX014"}


def test_fx002_precedence():
    instance = build([("compute", "a", 5), ("compute", "b", 7, [0])])
    assert found(instance, [0, 5], [], [], 12) == []
    assert found(instance, [0, 3], [], [], 10) == [("FX002", "op1", 3, 2)]


def test_fx003_device_order():
    instance = build([("compute", "a", 5), ("compute", "b", 5), ("compute", "a", 5)])
    assert found(instance, [0, 0, 5], [], [], 10) == []
    assert found(instance, [0, 0, 4], [], [], 9) == [("FX003", "op2", 4, 1)]
    # the other way round without overlap: still not the device's order
    assert found(instance, [5, 0, 0], [], [], 10) == [("FX003", "op2", 0, 10)]


def test_fx004_plane_that_does_not_exist():
    instance = build([("transfer", 0, 1, 5)])
    for plane in (1, -1, 300):
        assert found(instance, [0], [plane], [], 5) == [("FX004", "op0", 0, 0)]


def test_fx004_plane_without_a_common_switch():
    instance = build([("transfer", 0, 1, 5)], attach=[[0, 1], [0, -1], [2, 2]])
    assert found(instance, [0], [0], [], 5) == [("FX004", "op0", 0, 0)]
    assert found(instance, [0], [1], [], 5) == [("FX004", "op0", 0, 0)]
    assert found(instance, [0], [2], [(2, 0, 1, 0, 5)], 5) == []


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((1, 0, 1, 30, 40), "no such ports"),
        ((-1, 0, 1, 30, 40), "no such ports"),
        ((0, 4, 1, 30, 40), "no such ports"),
        ((0, 0, -1, 30, 40), "no such ports"),
        ((0, 3, 3, 30, 40), "joins an endpoint with itself"),
        ((0, 1, 3, 30, 40), "share no switch"),
    ],
)
def test_fx005_circuit_ends(row, why):
    instance = two_transfers(attach=[[0, 0, 0, 1]])
    starts, planes, rows, time = GOOD
    report = check(instance, schedule_of(instance, starts, planes, [*rows, row], time))
    assert [(v.code, v.entity, v.time_ticks) for v in report.violations] == [("FX005", "circuit row 2", 30)]
    assert why in report.violations[0].message


def test_fx006_circuit_times():
    instance = two_transfers()
    starts, planes, rows, time = GOOD
    for row, at, amount in [((0, 3, 0, 40, 30), 40, 10), ((0, 3, 0, -7, 1), -7, 7)]:
        assert found(instance, starts, planes, [*rows, row], time) == [("FX006", "circuit row 2", at, amount)]


def test_fx007_two_circuits_on_a_port():
    instance = two_transfers(delay=0)
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 3, 8)]
    assert found(instance, [0, 3], [0, 0], rows, 8) == [("FX007", "transmit port of ep0 on plane0", 3, 2)]


def test_fx007_receive_port_and_duplex_port():
    ops = [("transfer", 1, 0, 5), ("transfer", 2, 0, 5)]
    rows = [(0, 1, 0, 0, 5), (0, 2, 0, 3, 8)]
    assert found(build(ops, delay=0), [0, 3], [0, 0], rows, 8) == [("FX007", "receive port of ep0 on plane0", 3, 2)]
    # on a duplex plane one port serves both ways, so that 0 -> 1 and 2 -> 0 exclude one another
    ops, rows = [("transfer", 0, 1, 5), ("transfer", 2, 0, 5)], [(0, 0, 1, 0, 5), (0, 2, 0, 3, 8)]
    assert found(build(ops, delay=0), [0, 3], [0, 0], rows, 8) == []
    instance = build(ops, delay=0, duplex=True)
    assert found(instance, [0, 3], [0, 0], rows, 8) == [("FX007", "port of ep0 on plane0", 3, 2)]


def test_fx007_two_rows_of_one_circuit_overlap():
    instance = build([("transfer", 0, 1, 5)])
    codes = found(instance, [0], [0], [(0, 0, 1, 0, 5), (0, 0, 1, 4, 9)], 5)
    assert codes == [
        ("FX007", "transmit port of ep0 on plane0", 4, 1),
        ("FX007", "receive port of ep1 on plane0", 4, 1),
    ]


def test_fx008_set_up_gap():
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 12, 17)]
    expected = [("FX008", "transmit port of ep0 on plane0", 12, 3)]
    assert found(two_transfers(), [0, 12], [0, 0], rows, 17) == expected
    # each port has the delay of its own plane
    assert found(two_transfers(delay=[7, DELAY]), [0, 12], [0, 0], rows, 17) == []


def test_one_tick_too_few_is_enough():
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 14, 19)]
    port = "transmit port of ep0 on plane0"
    assert found(two_transfers(), [0, 14], [0, 0], rows, 19) == [("FX008", port, 14, 1)]
    assert found(two_transfers(CYCLIC), *GOOD[:3], 29) == [("FX010", port, 20, 1)]
    assert found(two_transfers(CYCLIC, all_stop=True), *GOOD[:3], 29) == [("FX010", "plane0", 0, 1)]
    assert found(two_transfers(), *GOOD[:2], [(0, 0, 1, 0, 5), (0, 0, 2, 15, 19)], 20) == [("FX012", "op1", 15, 1)]


def test_fx008_same_circuit_needs_no_gap():
    instance = build([("transfer", 0, 1, 5), ("transfer", 0, 1, 5)], delay=DELAY)
    assert found(instance, [0, 5], [0, 0], [(0, 0, 1, 0, 5), (0, 0, 1, 5, 10)], 10) == []
    # a duplex circuit is the same one in both directions, whichever end is named first
    instance = build([("transfer", 0, 1, 5), ("transfer", 1, 0, 5)], delay=DELAY, duplex=True)
    assert found(instance, [0, 5], [0, 0], [(0, 0, 1, 0, 5), (0, 1, 0, 5, 10)], 10) == []
    assert found(instance, [0, 2], [0, 0], [(0, 1, 0, 0, 7)], 7) == []


def test_fx009_dark_start():
    instance = build([("transfer", 0, 1, 5)], delay=DELAY, boundary=DARK)
    assert found(instance, [10], [0], [(0, 0, 1, 10, 15)], 15) == []
    assert found(instance, [9], [0], [(0, 0, 1, 9, 14)], 14) == [
        ("FX009", "circuit ep0 -> ep1 on plane0 (row 0)", 9, 1)
    ]


def test_fx010_wrap_gap():
    instance = two_transfers(CYCLIC)
    starts, planes, rows, _ = GOOD
    assert found(instance, starts, planes, rows, 30) == []
    assert found(instance, starts, planes, rows, 40) == []  # a longer period is nobody's fault
    report = check(instance, schedule_of(instance, starts, planes, rows, 28))
    assert [(v.code, v.entity, v.time_ticks, v.amount_ticks) for v in report.violations] == [
        ("FX010", "transmit port of ep0 on plane0", 20, 2)
    ]
    assert report.iteration_time_ticks == 30


def test_fx010_no_gap_where_the_last_circuit_is_the_first():
    instance = build(
        [("transfer", 0, 1, 5), ("transfer", 0, 2, 5), ("transfer", 0, 1, 5)], delay=DELAY, boundary=CYCLIC
    )
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 15, 20), (0, 0, 1, 30, 35)]
    assert found(instance, [0, 15, 30], [0, 0, 0], rows, 35) == []
    rows[-1] = (0, 0, 1, 30, 37)  # but it must not overlap itself
    assert {v[0] for v in found(instance, [0, 15, 30], [0, 0, 0], rows, 35)} == {"FX010"}


def test_fx010_all_stop_needs_a_silence_across_the_period():
    instance = two_transfers(CYCLIC, all_stop=True)
    starts, planes, rows, _ = GOOD
    assert found(instance, starts, planes, rows, 30) == []
    assert found(instance, starts, planes, rows, 27) == [("FX010", "plane0", 0, 3)]


def test_fx010_all_stop_without_any_silence():
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 7, 12)]
    codes = found(two_transfers(CYCLIC, all_stop=True), [0, 7], [0, 0], rows, 14)
    assert [(code, amount) for code, _, _, amount in codes] == [("FX010", 8), ("FX011", 8)]


def test_fx010_all_stop_may_set_the_next_first_circuits_in_an_earlier_silence():
    # 0 -> 1, then 0 -> 2, then 1 -> 0: when the last epoch opens, port 0 may already be given back its first circuit
    ops = [("transfer", 0, 1, 5), ("transfer", 0, 2, 5), ("transfer", 1, 0, 5), ("transfer", 1, 3, 5)]
    rows = [(0, 0, 1, 0, 5), (0, 1, 3, 0, 5), (0, 0, 2, 15, 20), (0, 1, 0, 15, 20)]
    instance = build([*ops, ("transfer", 1, 3, 5)], delay=DELAY, boundary=CYCLIC, all_stop=True)
    rows.append((0, 1, 3, 30, 35))
    assert found(instance, [0, 15, 15, 0, 30], [0] * 5, rows, 35) == []


def test_fx011_all_stop():
    # different ports, so that only the all-stop rule forbids to set 2 -> 3 beside 0 -> 1
    ops, rows = [("transfer", 0, 1, 20), ("transfer", 2, 3, 5)], [(0, 0, 1, 10, 30), (0, 2, 3, 13, 18)]
    starts = [10, 13]
    assert found(build(ops, delay=DELAY, boundary=DARK), starts, [0, 0], rows, 30) == []
    stopping = build(ops, delay=DELAY, boundary=DARK, all_stop=True)
    name = "circuit ep2 -> ep3 on plane0 (row 1)"
    assert found(stopping, starts, [0, 0], rows, 30) == [("FX011", name, 13, 27)]
    assert found(stopping, starts, [0, 0], [rows[0], (0, 2, 3, 10, 18)], 30) == []  # set together
    assert found(stopping, [10, 40], [0, 0], [rows[0], (0, 2, 3, 40, 45)], 45) == []  # after a silence
    assert found(stopping, [10, 39], [0, 0], [rows[0], (0, 2, 3, 39, 44)], 44) == [("FX011", name, 39, 1)]


def test_fx011_free_where_nothing_is_set():
    ops, rows = [("transfer", 0, 1, 20), ("transfer", 2, 3, 5)], [(0, 0, 1, 10, 30), (0, 2, 3, 13, 18)]
    for boundary in (PRESET, CYCLIC):  # both circuits were there from the start
        instance = build(ops, delay=DELAY, boundary=boundary, all_stop=True)
        assert found(instance, [10, 13], [0, 0], rows, 30) == []
    # a circuit that both ports hold already is not set again
    ops = [*ops, ("transfer", 2, 3, 5)]
    instance = build(ops, delay=DELAY, boundary=DARK, all_stop=True)
    rows = [(0, 0, 1, 10, 30), (0, 2, 3, 10, 18), (0, 2, 3, 22, 27)]
    assert found(instance, [10, 10, 22], [0, 0, 0], rows, 30) == []
    # without a delay the rule asks for nothing
    instance = build(ops, delay=0, boundary=DARK, all_stop=True)
    rows[1] = (0, 2, 3, 13, 18)
    assert found(instance, [10, 13, 22], [0, 0, 0], rows, 30) == []


def test_fx011_preset_port_that_carried_another_circuit_is_set():
    instance = two_transfers(all_stop=True)
    rows = [(0, 0, 1, 0, 5), (0, 0, 2, 12, 17)]
    assert found(instance, [0, 12], [0, 0], rows, 17) == [("FX011", "circuit ep0 -> ep2 on plane0 (row 1)", 12, 3)]


@pytest.mark.parametrize(
    ("row", "amount"),
    [
        ((0, 0, 1, 0, 18), 2),  # goes down too soon
        ((0, 0, 1, 11, 20), 10),  # comes up too late
        ((0, 0, 1, 0, 9), 10),  # is down before
        ((0, 1, 0, 0, 30), 10),  # the other direction
        ((1, 0, 1, 0, 30), 10),  # another plane
    ],
)
def test_fx012_no_circuit(row, amount):
    instance = build([("transfer", 0, 1, 10)], planes=2)
    assert found(instance, [10], [0], [row], 20) == [("FX012", "op0", 10, amount)]


def test_fx012_no_rows_at_all_and_two_halves():
    instance = build([("transfer", 0, 1, 10)])
    assert found(instance, [10], [0], [], 20) == [("FX012", "op0", 10, 10)]
    # one row must hold the whole transfer
    assert found(instance, [10], [0], [(0, 0, 1, 0, 15), (0, 0, 1, 15, 20)], 20) == [("FX012", "op0", 10, 5)]


def test_fx012_gang_needs_all_its_circuits_for_the_slowest_leg():
    instance = build([("gang", [(0, 1), (1, 2), (2, 0)], Bytes(10))], rate=[8 * 10**9, 4 * 10**9])
    rows = [(0, 0, 1, 0, 20), (1, 1, 2, 0, 20), (0, 2, 0, 0, 20)]
    assert found(instance, [0], [0, 1, 0], rows, 20) == []
    rows[2] = (0, 2, 0, 0, 10)
    assert found(instance, [0], [0, 1, 0], rows, 20) == [("FX012", "op0", 0, 10)]


def test_fx013_direction_overlap():
    instance = build([("transfer", 0, 1, 5), ("transfer", 0, 1, 5)])
    assert found(instance, [0, 3], [0, 0], [(0, 0, 1, 0, 8)], 8) == [("FX013", "op1", 3, 2)]
    # two directions of a duplex circuit do not disturb one another
    instance = build([("transfer", 0, 1, 5), ("transfer", 1, 0, 5), ("transfer", 1, 0, 5)], duplex=True)
    assert found(instance, [0, 1, 6], [0, 0, 0], [(0, 0, 1, 0, 11)], 11) == []
    assert found(instance, [0, 1, 5], [0, 0, 0], [(0, 0, 1, 0, 10)], 10) == [("FX013", "op2", 5, 1)]


def test_fx014_iteration_time():
    instance = two_transfers()
    for claimed in (19, 21, 10**30):
        report = check(instance, schedule_of(instance, *GOOD[:3], claimed))
        assert report.counts == {"FX014": 1}
        assert report.violations[0].time_ticks == report.iteration_time_ticks == 20
    assert found(instance, *GOOD[:3], 19) == [("FX014", "schedule", 20, 1)]
    assert found(build([], boundary=CYCLIC), [], [], [], -4) == [("FX014", "schedule", 0, 4)]


def test_fx015_past_the_period():
    instance = build([("compute", "a", 5), ("compute", "b", 9)], boundary=CYCLIC)
    assert found(instance, [0, 0], [], [], 9) == []
    assert found(instance, [0, 0], [], [], 7) == [("FX015", "op1", 9, 2)]
    assert check(instance, schedule_of(instance, [0, 0], [], [], 7)).iteration_time_ticks == 9


def test_fx016_radix():
    attach = [[0, 0, 0, 1], [0, 0, -1, -1]]
    assert found(two_transfers(attach=attach, radix=[3, 2]), *GOOD) == []
    assert found(two_transfers(attach=attach, radix=[2, 2]), *GOOD) == [("FX016", "switch 0 of plane0", 0, 1)]
    assert found(two_transfers(attach=attach, radix=[0, 0]), *GOOD) == []


def test_fx017_a_buffer_above_the_limit():
    ops = [("transfer", 0, 1, Bytes(8))]
    rows = [(0, 0, 1, 0, 20)]
    assert found(build(ops, nic_buffer_bytes=5), [12], [0], rows, 20) == [
        ("FX017", "transmit port of ep0 on plane0", 8, 3)
    ]
    assert found(build(ops, nic_buffer_bytes=8), [12], [0], rows, 20) == []
    assert found(build(ops), [12], [0], rows, 20) == []


def test_every_code_is_tested_here():
    tests = {name[5:10].upper() for name in globals() if name.startswith("test_fx")}
    # FX018 belongs to runs that cut transfers: test_check_fluid.py.
    assert tests == set(KINDS) - {"FX018"}


def test_durations_are_exact():
    # 2**59 bytes at a rate that divides nothing, and ticks of 3 ns: far beyond what a double can tell
    size, rate = 2**59 - 1, 799_999_999_999
    exact = 7 - (-size * 8 * 10**9 // (rate * 3))
    instance = build([("transfer", 0, 1, Bytes(size))], rate=rate, latency=7, tick_ns=3)
    assert found(instance, [0], [0], [(0, 0, 1, 0, exact)], exact) == []
    assert found(instance, [0], [0], [(0, 0, 1, 0, exact)], exact - 1) == [("FX014", "schedule", exact, 1)]


def test_messages_name_things_and_use_units():
    instance = replace(
        build([("compute", "a", 5_000_000), ("compute", "b", 7, [0])], tick_ns=2), names=Names(ops=["F0", "F1"])
    )
    report = check(instance, schedule_of(instance, [0, 4_999_000], [], [], 5_000_000))
    assert [v.message for v in report.violations] == [
        "F1 starts at 9.998 ms, 2 us before the end of its predecessor F0"
    ]
    report = check(instance, schedule_of(instance, [0, 4_999_999], [], [], 5_000_006))
    assert report.violations[0].message.startswith("F1 starts at 10 ms (9999998 ns), 2 ns before")


def test_listing_is_limited_and_no_code_crowds_out_another():
    n = 500
    instance = build([("compute", f"d{i}", 5) for i in range(n)])
    schedule = schedule_of(instance, [-1] * n, [], [], 7)
    report = check(instance, schedule, max_listed=10)
    assert report.counts == {"FX001": n, "FX014": 1}
    assert [v.code for v in report.violations] == ["FX001"] * 9 + ["FX014"]
    assert check(instance, schedule, max_listed=0).violations == []
    assert not check(instance, schedule, max_listed=0).ok
    assert len(check(instance, schedule).violations) == n + 1
    with pytest.raises(InputError, match="zero or more"):
        check(instance, schedule, max_listed=-1)


def test_to_dict_is_plain_json():
    instance = two_transfers()
    report = check(instance, schedule_of(instance, *GOOD[:3], 19))
    document = json.loads(json.dumps(report.to_dict()))
    assert (document["ok"], document["counts"], document["iteration_time_ticks"]) == (False, {"FX014": 1}, 20)
    assert document["violations"][0]["kind"] == "iteration-time"


def test_another_instance_is_refused():
    schedule = schedule_of(two_transfers(), *GOOD)
    with pytest.raises(InputError, match=r"instance_sha256: the schedule is for another instance.*Maybe"):
        check(two_transfers(delay=11), schedule)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("op_start_ticks", [0]),
        ("op_start_ticks", [[0, 15]]),
        ("leg_plane", [0, 0, 0]),
        ("circuit_plane", [0]),
        ("circuit_tx", [0, 0, 0]),
        ("circuit_rx", []),
        ("circuit_up_from_ticks", [1]),
        ("circuit_up_to_ticks", [[5, 20]]),
        ("iteration_time_ticks", 20.5),
        ("iteration_time_ticks", float("nan")),
        ("iteration_time_ticks", None),
    ],
)
def test_wrong_shapes_are_refused(column, value):
    instance = two_transfers()
    given = np.array(value) if isinstance(value, list) else value
    schedule = replace(schedule_of(instance, *GOOD), **{column: given})
    if column == "circuit_plane":
        with pytest.raises(InputError, match="circuit_tx: the column has shape"):
            check(instance, schedule)
    else:
        with pytest.raises(InputError, match=column):
            check(instance, schedule)


@pytest.mark.parametrize("boundary", [DARK, PRESET, CYCLIC])
def test_nothing_to_do_is_right(boundary):
    instance = build([], boundary=boundary, all_stop=True)
    schedule = Schedule(instance.sha256, *(np.zeros(0, dtype=np.int64) for _ in range(7)), 0)
    report = check(instance, schedule)
    assert report.ok
    assert report.iteration_time_ticks == 0
