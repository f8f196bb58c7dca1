"""Just-in-time shifting: worked by hand, against the slow twin, and valid on random plans."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.just_in_time_raise import ALWAYS, NO_RUN, depth_first, windows
from fluxscale.schedule.circuits import make_schedule, op_ends
from fluxscale.schedule.metrics import metrics
from fluxscale.simulate.buffers import peak_buffers
from fluxscale.solving import arrange
from fluxscale.solving.fixed_orders import FixedOrders, fix_orders
from fluxscale.solving.just_in_time import bounds_of, raised, shift
from fluxscale.solving.protocol import Plan, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination
from fluxscale.validate.checker import check
from tests import naive_just_in_time as naive
from tests.strategies import CYCLIC, DARK, PRESET, build, instances, random_instance

flow = importlib.import_module("fluxscale.solve")


def plan_of(instance: Instance, work_limit: int = 500) -> Plan | None:
    return get_solver("list").solve(instance, SolveParams(work_limit=work_limit), lambda _: None).plan


def peak(instance: Instance, plan: Plan) -> int:
    ends = op_ends(instance, plan.op_start_ticks, plan.leg_plane)
    return peak_buffers(instance, plan.op_start_ticks, ends, plan.leg_plane).eager_bytes


def shifted(instance: Instance, starts: list[int]) -> list[int]:
    plan = Plan(np.array(starts, dtype=np.int64), np.zeros(instance.n_legs, dtype=np.int16))
    schedule = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
    assert check(instance, schedule).ok
    return shift(instance, plan, schedule.iteration_time_ticks).op_start_ticks.tolist()


def test_a_compute_op_ends_when_its_transfer_can_start() -> None:
    # The dark start keeps the circuit down until 10; the producer needs 4 of them.
    instance = build([("compute", "d", 4), ("transfer", 0, 1, 20, [0])], delay=10, boundary=DARK)
    assert shifted(instance, [0, 10]) == [6, 10]


def test_a_chain_of_producers_moves_as_far_as_it_has_to() -> None:
    ops = [("compute", "d", 4), ("local", 2, [0]), ("transfer", 0, 1, 20, [1])]
    assert shifted(build(ops, delay=10, boundary=DARK), [0, 4, 10]) == [0, 8, 10]
    # The delay behind the producer begins as late; the producer need not, but a shorter one leaves it no choice.
    ops = [("compute", "d", 4), ("transfer", 2, 3, 3, [0]), ("transfer", 0, 1, 20, [1])]
    assert shifted(build(ops, delay=[10], boundary=DARK, planes=1), [0, 10, 13]) == [6, 10, 13]


def test_what_gains_nothing_stays() -> None:
    # The second device has slack, but nothing waits for a circuit there.
    ops = [("compute", "d", 4), ("transfer", 0, 1, 20, [0]), ("compute", "e", 3), ("compute", "e", 3)]
    assert shifted(build(ops, delay=10, boundary=DARK), [0, 10, 0, 3]) == [6, 10, 0, 3]


def test_a_producer_with_a_busy_device_behind_it_moves_with_it() -> None:
    # Both ops of the device have slack; the second is pushed by the first and pushes its own transfer.
    ops = [
        ("compute", "d", 5),
        ("compute", "d", 5),
        ("transfer", 0, 1, 10, [0]),
        ("transfer", 2, 3, 10, [1]),
        ("compute", "e", 40, []),
    ]
    instance = build(ops, delay=20, boundary=DARK)
    starts = shifted(instance, [0, 5, 20, 20, 0])
    assert starts == [15, 20, 20, 25, 0]


def test_transfers_released_together_to_one_port_must_wait() -> None:
    ops = [("compute", "d", 4), ("transfer", 0, 1, 8, [0]), ("transfer", 0, 1, 8, [0])]
    instance = build(ops, delay=10, boundary=DARK)
    assert shifted(instance, [0, 10, 18]) == [6, 10, 18]


def test_an_invalid_plan_is_left_for_the_check_to_refuse() -> None:
    instance = build([("compute", "d", 4), ("transfer", 0, 1, 20, [0])], delay=10, boundary=DARK)
    for starts, planes in (([0, 2], [0]), ([0, 10], [7]), ([0], [0]), ([0, 10], [0, 0]), ([-3, 10], [0])):
        plan = Plan(np.array(starts, dtype=np.int64), np.array(planes, dtype=np.int16))
        assert shift(instance, plan, 30) is plan
    short = Plan(np.array([0, 10]), np.array([0]))
    assert shift(instance, short, 25) is short


def test_nothing_to_shift() -> None:
    empty = build([])
    plan = Plan(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int16))
    assert shift(empty, plan, 0) is plan


@settings(max_examples=150, deadline=None)
@given(instances(max_transfers=12, max_endpoints=6), st.sampled_from([0.5, 0.7, 1, 2.5]))
def test_shifting_keeps_everything_but_the_buffers(instance: Instance, injection: float) -> None:
    injected = (instance.injection_rate_bps * injection).astype(np.int64)
    instance = replace(instance, injection_rate_bps=injected)
    plan = plan_of(instance)
    if plan is None:
        return
    before = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
    moved = shift(instance, plan, before.iteration_time_ticks)
    after = make_schedule(instance, moved.op_start_ticks, moved.leg_plane)
    report = check(instance, after)
    assert report.ok, report.violations
    assert after.iteration_time_ticks <= before.iteration_time_ticks
    assert metrics(instance, after).reconfigurations <= metrics(instance, before).reconfigurations
    assert peak(instance, moved) <= peak(instance, plan)


@settings(max_examples=100, deadline=None)
@given(instances(max_transfers=10, all_stop=False), st.integers(0, 2**31))
def test_passes_agree_with_the_slow_twin(instance: Instance, seed: int) -> None:
    plan = plan_of(instance)
    if plan is None:
        return
    orders = fix_orders(instance, plan)
    found = naive.rules(instance, plan.op_start_ticks, orders.op_ticks, plan.leg_plane, orders.arcs.order)
    rng = np.random.default_rng(seed)
    some = orders.start + rng.integers(-30, 30, size=instance.n_ops)
    assert orders.earliest(some).tolist() == naive.earliest(found, orders.op_ticks, some).tolist()
    assert orders.latest(some).tolist() == naive.latest(found, orders.op_ticks, some).tolist()


@settings(max_examples=100, deadline=None)
@given(instances(max_transfers=10), st.integers(0, 60), st.sampled_from([0.5, 1, 2]))
def test_raising_stays_between_the_bounds_and_windows_prove_the_buffer(
    instance: Instance, size: int, injection: float
) -> None:
    # Whole Mbit/s, so that transfers last as long as the buffers' rates say.
    rate = instance.plane_rate_bps // 10**6 * 10**6
    instance = replace(instance, plane_rate_bps=rate, injection_rate_bps=(rate * injection).astype(np.int64))
    plan = plan_of(instance)
    if plan is None:
        return
    orders = fix_orders(instance, plan)
    period = make_schedule(instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks
    floor, ceiling = bounds_of(orders, period)
    late, early, target = orders.latest(ceiling), orders.earliest(floor), size * 8000
    start, _ = raised(orders, early, late, target, 64)
    assert (early <= start).all()
    assert (start <= late).all()
    assert (orders.earliest(start) == start).all()
    top, _, _ = orders.peaks(start)
    released = _releases(instance, start, orders.op_ticks)
    for port in range(len(orders.port_indptr) - 1):
        legs = orders.port_legs[orders.port_indptr[port] : orders.port_indptr[port + 1]].tolist()
        if all(_condition_holds(orders, legs, at, start, released, target, port) for at in range(len(legs))):
            assert top[port] <= target


def _releases(instance: Instance, start: np.ndarray, op_ticks: np.ndarray) -> list[int]:
    preds = [instance.pred_index[a:b] for a, b in itertools.pairwise(instance.pred_indptr)]
    return [int((start[p] + op_ticks[p]).max(initial=0)) for p in preds]


def _condition_holds(
    orders: FixedOrders, legs: list[int], at: int, start: np.ndarray, released: list[int], target: int, port: int
) -> bool:
    amounts = [int(orders.amount[leg]) for leg in legs]
    handing, sending = int(orders.port_handing[port]), int(orders.port_sending[port])
    op = int(orders.leg_op[legs[at]])
    if naive.enough(amounts[at], int(start[op]) - released[op], handing, sending, target):
        return True
    first = naive.window(amounts, target, at)
    before = [int(orders.leg_op[leg]) for leg in legs[:first]]
    return first is not None and all(start[other] + orders.op_ticks[other] <= released[op] for other in before)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 20), st.integers(1, 4), st.integers(1, 4))
def test_windows_are_the_longest_runs_that_fit(amounts: list[int], target: int, handing: int, sending: int) -> None:
    n = len(amounts)
    before, after = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    wait = np.empty(n, dtype=np.int64)
    windows(
        np.array([0, n]), np.arange(n, dtype=np.int32), np.array(amounts), np.arange(n, dtype=np.int32),
        np.array([handing]), np.array([sending]), target, before, after, wait,
    )  # fmt: skip
    for at in range(n):
        first = naive.window(amounts, target, at)
        assert before[at] == at - 1
        assert after[at] == (NO_RUN if first is None else ALWAYS if first == 0 else first - 1)
        if wait[at] > 0:
            assert naive.enough(amounts[at], int(wait[at]), handing, sending, target)


@settings(max_examples=60, deadline=None)
@given(instances(max_transfers=12))
def test_depth_first_is_a_topological_order(instance: Instance) -> None:
    derived = derive(instance)
    waits = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int32)
    order = np.empty(instance.n_ops, dtype=np.int32)
    weight = np.arange(instance.n_ops)
    depth_first(derived.succ_indptr, derived.succ_index, derived.next_on_device, waits, weight, order)
    place = np.argsort(order)
    assert sorted(order.tolist()) == list(range(instance.n_ops))
    for op in range(instance.n_ops):
        for pred in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]]:
            assert place[pred] < place[op]


@pytest.mark.parametrize("boundary", [DARK, PRESET, CYCLIC])
def test_all_stop_planes_move_as_a_whole_when_allowed(boundary: int) -> None:
    for seed in range(60):
        instance = random_instance(np.random.default_rng(seed), all_stop=True, boundary=boundary, max_transfers=8)
        plan = plan_of(instance)
        if plan is None:
            continue
        orders = fix_orders(instance, plan, all_stop_moves=True)
        rng = np.random.default_rng(seed)
        later = orders.earliest(orders.start + rng.integers(0, 30, size=orders.n_ops))
        moved = orders.plan(later)
        report = check(instance, make_schedule(instance, moved.op_start_ticks, moved.leg_plane))
        assert report.ok, (seed, report.violations)


def test_an_interrupt_keeps_the_plan_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Plan:
        raise KeyboardInterrupt

    monkeypatch.setattr(arrange, "shift", interrupted)
    instance = build([("compute", "d", 4), ("transfer", 0, 1, 20, [0])], delay=10, boundary=DARK)
    result = flow.solve(instance, "list")
    assert result.termination in (Termination.INTERRUPTED, Termination.OPTIMAL)
    assert result.schedule is not None
    assert result.schedule.op_start_ticks.tolist() == [0, 10]


def test_solve_shifts_and_says_so() -> None:
    instance = build([("compute", "d", 4), ("transfer", 0, 1, 20, [0])], delay=10, boundary=DARK)
    news: list[str] = []
    result = flow.solve(instance, "list", progress=lambda line: news.append(line.message))
    assert "shifting just in time" in news
    assert result.termination is Termination.OPTIMAL
    assert result.schedule is not None
    assert result.schedule.op_start_ticks.tolist() == [6, 10]
    assert result.buffers is not None
    assert result.buffers.eager_bytes == 0
