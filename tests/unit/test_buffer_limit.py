"""The limit of NIC buffers: what no plan can keep, what plans are made to keep, and what the check says."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.bounds.buffer_floor import buffer_floor, require_buffer
from fluxscale.errors import InfeasibleError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule, op_ends
from fluxscale.simulate.buffers import peak_buffers
from fluxscale.solving.buffer_limit import fit
from fluxscale.solving.protocol import Plan, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Feasibility, Termination
from fluxscale.validate import buffers as rule
from fluxscale.validate.checker import check
from tests import naive_just_in_time as naive
from tests.strategies import DARK, PRESET, Bytes, build, instances

flow = importlib.import_module("fluxscale.solve")

TWO_AT_ONCE = [("compute", "d", 4), ("transfer", 0, 1, Bytes(8), [0]), ("transfer", 0, 2, Bytes(5), [0])]


def plan_of(instance: Instance, work_limit: int = 500) -> Plan | None:
    return get_solver("list").solve(instance, SolveParams(work_limit=work_limit), lambda _: None).plan


def ticks_of(instance: Instance, plan: Plan) -> int:
    return make_schedule(instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks


def measured(instance: Instance, plan: Plan):
    ends = op_ends(instance, plan.op_start_ticks, plan.leg_plane)
    return peak_buffers(instance, plan.op_start_ticks, ends, plan.leg_plane)


def injected(instance: Instance, factor: float) -> Instance:
    return replace(instance, injection_rate_bps=(instance.injection_rate_bps * factor).astype(np.int64))


# What no plan can keep


def test_two_transfers_released_at_once_buffer_the_shorter() -> None:
    floor = buffer_floor(build(TWO_AT_ONCE, boundary=PRESET))
    assert (floor.bytes, floor.endpoint, floor.planes, floor.transfers) == (5, 0, (0,), 2)
    assert floor.op in (1, 2)


def test_a_second_plane_takes_the_second_transfer() -> None:
    assert buffer_floor(build(TWO_AT_ONCE, planes=2, boundary=PRESET)).bytes == 0
    three = [*TWO_AT_ONCE, ("transfer", 0, 3, Bytes(6), [0])]
    # 19 bytes in all, of which two ports send 2 x 5 while 3 x 5 are handed over; one of the two holds half the rest.
    floor = buffer_floor(build(three, planes=2, boundary=PRESET))
    assert (floor.bytes, floor.planes) == (3, (0, 1))


def test_other_predecessors_mean_another_release() -> None:
    apart = [
        ("compute", "d", 4),
        ("compute", "e", 4),
        ("transfer", 0, 1, Bytes(8), [0]),
        ("transfer", 0, 2, Bytes(5), [0, 1]),
    ]
    assert buffer_floor(build(apart, boundary=PRESET)).bytes == 0
    same = [*apart[:2], ("transfer", 0, 1, Bytes(8), [1, 0]), ("transfer", 0, 2, Bytes(5), [0, 1])]
    assert buffer_floor(build(same, boundary=PRESET)).bytes == 5


def test_a_dark_start_buffers_what_is_there_from_the_beginning() -> None:
    alone = [("transfer", 0, 1, Bytes(8))]
    assert buffer_floor(build(alone, delay=3, boundary=DARK)).bytes == 3
    assert buffer_floor(build(alone, delay=30, boundary=DARK)).bytes == 8
    assert buffer_floor(build(alone, delay=30, boundary=PRESET)).bytes == 0


def test_a_host_that_hands_over_faster_than_the_line_buffers() -> None:
    alone = build([("compute", "d", 1), ("transfer", 0, 1, Bytes(8), [0])])
    assert buffer_floor(injected(alone, 2)).bytes == 4
    assert buffer_floor(injected(alone, 0.5)).bytes == 0


def test_no_transfers_no_floor() -> None:
    assert buffer_floor(build([("compute", "d", 1)])).bytes == buffer_floor(build([])).bytes == 0


def test_a_proof_names_the_port_the_bytes_the_limit_and_a_transfer() -> None:
    instance = build(TWO_AT_ONCE, nic_buffer_bytes=4)
    with pytest.raises(
        InfeasibleError, match=r"nic_buffer: .* on plane0 has to buffer 5 bytes .* limit of 4: .*2 in all"
    ):
        require_buffer(instance)
    require_buffer(replace(instance, nic_buffer_bytes=5))
    require_buffer(replace(instance, nic_buffer_bytes=0))
    with pytest.raises(InfeasibleError):
        flow.solve(instance, "list")


@settings(max_examples=150, deadline=None)
@given(instances(max_transfers=10), st.sampled_from([0.5, 1, 2, 3.3]), st.integers(0, 50))
def test_no_valid_schedule_is_below_the_floor(instance: Instance, factor: float, late: int) -> None:
    instance = injected(instance, factor)
    plan = plan_of(instance)
    if plan is None:
        return
    floor = buffer_floor(instance)
    for start in (plan.op_start_ticks, plan.op_start_ticks + late):
        assert floor.bytes <= measured(instance, Plan(start, plan.leg_plane)).eager_bytes
    if floor.bytes:
        names = measured(instance, plan).eager_port_bytes[list(floor.planes), floor.endpoint]
        assert names.max() >= floor.bytes


# What plans are made to keep


def fitted(instance: Instance, limit: int):
    plan = plan_of(instance)
    assert plan is not None
    limited = replace(instance, nic_buffer_bytes=limit)
    found = fit(limited, plan, ticks_of(instance, plan))
    if found.plan is not None:
        schedule = make_schedule(limited, found.plan.op_start_ticks, found.plan.leg_plane)
        assert check(limited, schedule).ok
        assert schedule.iteration_time_ticks == found.iteration_time_ticks
        assert found.peak_bytes == measured(limited, found.plan).eager_bytes <= limit
    return found


def test_a_producer_waits_rather_than_overflow() -> None:
    # One device makes two messages for one port; the first takes long to send, and the iteration ends with the second.
    ops = [
        ("compute", "d", 2),
        ("compute", "d", 2),
        ("transfer", 0, 1, Bytes(20), [0]),
        ("transfer", 0, 1, Bytes(20), [1]),
        ("compute", "d", 30),
    ]
    instance = build(ops, delay=0)
    assert fitted(instance, 18).iteration_time_ticks == 42
    tight = fitted(instance, 1)
    assert tight.plan is not None
    # The second op may end a tick before the first message is gone, and the long op begins behind it.
    assert tight.iteration_time_ticks == 51


def test_ports_may_send_in_another_order() -> None:
    # Sent last, the large message would wait whole; sent first, only the small one waits.
    ops = [("compute", "d", 4), ("transfer", 0, 1, Bytes(3), [0]), ("transfer", 0, 2, Bytes(9), [0])]
    ops.append(("compute", "e", 60, [1]))
    instance = build(ops, delay=12)
    assert fitted(instance, 9).iteration_time_ticks == 67
    assert fitted(instance, 3).iteration_time_ticks == 88


def test_nothing_found_names_the_fullest_port(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each transfer is released by the one before it, at a port that has to change for it.
    ops = [("transfer", 0, 1, Bytes(5)), ("transfer", 1, 0, Bytes(30), [0])]
    ops += [("transfer", 1, 2, Bytes(40), [1])]
    instance = build(ops, delay=10, duplex=True, nic_buffer_bytes=4)
    result = flow.solve(instance, "list")
    assert result.schedule is None
    assert result.feasibility is Feasibility.NONE
    assert [note for note in result.notes if "within nic_buffer of 4 bytes" in note and " on plane0 still" in note]
    assert flow.solve(replace(instance, nic_buffer_bytes=10), "list").feasibility is Feasibility.CHECKED_OK


def test_solve_keeps_the_limit_and_is_not_optimal_when_longer() -> None:
    ops = [("compute", "d", 2), ("compute", "d", 2), ("transfer", 0, 1, Bytes(20), [0])]
    ops += [("transfer", 0, 1, Bytes(20), [1]), ("compute", "d", 30)]
    free = flow.solve(build(ops, delay=0), "list")
    assert free.termination is Termination.OPTIMAL
    result = flow.solve(build(ops, delay=0, nic_buffer_bytes=1), "list")
    assert result.feasibility is Feasibility.CHECKED_OK
    assert result.buffers is not None
    assert result.buffers.eager_bytes <= 1
    assert result.termination is Termination.FINISHED
    assert result.iteration_time_ns > free.iteration_time_ns
    assert [note for note in result.notes if "limit makes the iteration 9 ns longer" in note]


def test_an_interrupt_leaves_no_plan_that_breaks_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fluxscale.solving.arrange.fit", interrupted)
    result = flow.solve(build(TWO_AT_ONCE, nic_buffer_bytes=6), "list")
    assert result.termination is Termination.INTERRUPTED
    assert result.schedule is None


def test_solvers_for_comparison_refuse_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from fluxscale.solving.protocol import Capabilities

    class Baseline:
        name = "baseline"
        capabilities = Capabilities(comparison=True)

    monkeypatch.setattr(flow, "get_solver", lambda name: Baseline())
    with pytest.raises(UnsupportedError, match=r"nic_buffer: baseline takes no account"):
        flow.solve(build(TWO_AT_ONCE, nic_buffer_bytes=6), "baseline")


@settings(max_examples=80, deadline=None)
@given(instances(max_transfers=8, max_endpoints=6), st.sampled_from([0.5, 1, 2]), st.integers(0, 100))
def test_what_is_found_keeps_the_limit_and_is_valid(instance: Instance, factor: float, percent: int) -> None:
    instance = injected(instance, factor)
    plan = plan_of(instance)
    if plan is None:
        return
    limit = max(1, measured(instance, plan).eager_bytes * percent // 100)
    found = fitted(instance, limit)
    assert (found.plan is None) == (found.peak_bytes > limit)


# What the check says


def test_the_check_names_port_time_and_amount() -> None:
    instance = build(TWO_AT_ONCE, delay=10, boundary=DARK, nic_buffer_bytes=5)
    schedule = make_schedule(instance, np.array([0, 10, 28]), np.zeros(2, dtype=np.int16))
    report = check(instance, schedule)
    assert report.counts == {"FX017": 1}
    violation = report.violations[0]
    # At tick 10 both have handed over what they could (6 and 5 bytes); then the first one drains, full at 12.
    assert (violation.kind, violation.time_ticks, violation.amount_ticks) == ("nic-buffer", 10, 6)
    assert violation.entity == f"transmit port of {instance.names.endpoint(0)} on plane0"
    assert "holds 11 bytes" in violation.message
    assert "6 more than the limit of 5" in violation.message
    assert check(replace(instance, nic_buffer_bytes=11), _for(instance, schedule, 11)).ok


def _for(instance: Instance, schedule, limit: int):
    return replace(schedule, instance_sha256=replace(instance, nic_buffer_bytes=limit).sha256)


def test_the_check_reads_whole_ports_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = [("transfer", i, (i + 1) % 6, Bytes(9)) for i in range(6)] * 2
    instance = build(ops, delay=4, boundary=DARK, nic_buffer_bytes=8)
    plan = plan_of(instance)
    assert plan is not None
    schedule = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
    expected = check(instance, schedule).to_dict()
    assert expected["counts"]["FX017"] == 6
    for at_once in (1, 3, 5):
        monkeypatch.setattr(rule, "LEGS_AT_ONCE", at_once)
        assert check(instance, schedule).to_dict() == expected


@settings(max_examples=150, deadline=None)
@given(instances(max_transfers=10), st.sampled_from([0.3, 0.5, 0.7, 1, 2, 3.3]), st.integers(0, 60), st.integers(0, 99))
def test_the_check_agrees_with_the_measurement(instance: Instance, factor: float, late: int, percent: int) -> None:
    instance = injected(instance, factor)
    plan = plan_of(instance)
    if plan is None:
        return
    legs = np.diff(instance.leg_indptr) > 0
    plan = Plan(plan.op_start_ticks + np.where(legs, late, 0), plan.leg_plane)
    found = measured(instance, plan)
    for limit in {max(1, found.eager_bytes * percent // 100), max(1, found.eager_bytes - 1), max(1, found.eager_bytes)}:
        limited = replace(instance, nic_buffer_bytes=limit)
        report = check(limited, make_schedule(limited, plan.op_start_ticks, plan.leg_plane))
        over = found.eager_port_bytes - limit
        listed = [v for v in report.violations if v.code == "FX017"]
        assert sorted(v.amount_ticks for v in listed) == sorted(over[over > 0].tolist())
        if listed:
            assert found.eager.at_ticks in {v.time_ticks for v in listed}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 12), st.integers(0, 20), st.integers(1, 40), st.integers(1, 7), st.integers(1, 7))
def test_the_curve_of_a_leg_is_right_at_every_tick(
    release: int, wait: int, amount: int, handing: int, sending: int
) -> None:
    start = release + wait
    columns = [np.array([value]) for value in (release, start, amount, handing, sending)]
    points, level = rule._curve(*columns)
    ticks = np.arange(80)
    expected = [naive.leg_level(t - release, t - start, amount, handing, sending) for t in range(80)]
    unique, first = np.unique(points[0], return_index=True)
    assert np.interp(ticks, unique, level[0][first]).tolist() == pytest.approx(expected)
