"""Replay of small schedules written by hand: what is late, what is dark, what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fluxscale.errors import CheckFailedError, InputError
from fluxscale.instance.instance import CYCLIC, DARK, PRESET, Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.jitter import jittered, uniform
from fluxscale.simulate.replay import replay


def pointer(rows) -> list[int]:
    return [0, *np.cumsum([len(row) for row in rows]).tolist()]


def transfers(legs, ticks, preds, *, delay=10, boundary=PRESET, all_stop=False, duplex=False) -> Instance:
    """Transfers of given durations on one plane with four endpoints."""
    n = len(legs)
    return Instance(
        op_kind=[1] * n,
        op_device=[-1] * n,
        op_bytes=[0] * n,
        op_fixed_ticks=ticks,
        pred_indptr=pointer(preds),
        pred_index=[p for row in preds for p in row],
        device_indptr=[0],
        device_ops=[],
        leg_indptr=range(n + 1),
        leg_tx=[tx for tx, _ in legs],
        leg_rx=[rx for _, rx in legs],
        plane_rate_bps=[8 * 10**9],
        plane_latency_ticks=[0],
        plane_delay_ticks=[delay],
        plane_radix=[0],
        plane_all_stop=[all_stop],
        plane_duplex=[duplex],
        attach=np.zeros((1, 4)),
        injection_rate_bps=[8 * 10**9],
        boundary=boundary,
    )


def plan(instance: Instance, start) -> Schedule:
    return make_schedule(instance, np.array(start), np.zeros(instance.n_legs, dtype=np.int16))


def test_dark_time_between_different_circuits_of_a_port():
    instance = transfers([(0, 1), (0, 2)], [5, 7], [[], []])
    result = replay(instance, plan(instance, [0, 15]))
    assert result.op_end_ticks.tolist() == [5, 22]
    assert result.plane_dark_ticks.tolist() == [10]
    assert (result.iteration_time_ticks, result.late_ops, result.stretch) == (22, 0, 1.0)


def test_circuits_planned_too_close_run_late_rather_than_early():
    instance = transfers([(0, 1), (0, 2)], [5, 7], [[], []])
    schedule = plan(instance, [0, 15])
    start, opening = np.array([0, 8]), np.array([0, 8])
    squeezed = dataclasses.replace(
        schedule, op_start_ticks=start, circuit_up_from_ticks=opening, circuit_up_to_ticks=np.array([5, 15])
    )
    result = replay(instance, squeezed)
    assert result.op_start_ticks.tolist() == [0, 15]
    assert (result.late_ops, result.max_lateness_ticks) == (1, 7)


def test_precedence_that_the_plan_breaks_is_waited_for():
    instance = transfers([(0, 1), (2, 3)], [5, 7], [[], [0]])
    result = replay(instance, plan(instance, [0, 2]))
    assert result.op_start_ticks.tolist() == [0, 5]
    assert result.iteration_time_ticks == 12


def test_orders_that_contradict_precedence_are_refused():
    instance = transfers([(0, 1), (0, 1)], [5, 7], [[1], []])
    with pytest.raises(CheckFailedError, match=r"op0: planned at 0 ns, never starts; 2 ops wait for each other"):
        replay(instance, plan(instance, [0, 5]))


def test_a_transfer_without_circuit_is_refused():
    instance = transfers([(0, 1)], [5], [[]])
    schedule = plan(instance, [3])
    for change in (
        {"circuit_rx": np.array([2])},
        {"circuit_up_to_ticks": np.array([7])},
        {"circuit_up_from_ticks": np.array([4])},
    ):
        with pytest.raises(CheckFailedError, match=r"op0: no circuit ep0 -> ep1 is up .* at 3 ns on plane0"):
            replay(instance, dataclasses.replace(schedule, **change))


def test_dark_boundary_costs_a_delay_before_anything():
    instance = transfers([(0, 1)], [5], [[]], boundary=DARK)
    early = dataclasses.replace(plan(instance, [10]), op_start_ticks=np.array([4]), circuit_up_from_ticks=np.array([4]))
    assert replay(instance, early).op_start_ticks.tolist() == [10]
    assert replay(instance, early).plane_dark_ticks.tolist() == [10]


def test_a_circuit_without_transfers_still_takes_its_ports():
    instance = transfers([(0, 1), (0, 1)], [5, 5], [[], []])
    schedule = plan(instance, [0, 30])
    detour = dataclasses.replace(
        schedule,
        circuit_plane=np.zeros(3),
        circuit_tx=np.array([0, 0, 0]),
        circuit_rx=np.array([1, 2, 1]),
        circuit_up_from_ticks=np.array([0, 15, 30]),
        circuit_up_to_ticks=np.array([5, 20, 35]),
    )
    result = replay(instance, detour)
    assert result.op_start_ticks.tolist() == [0, 30]
    assert result.plane_dark_ticks.tolist() == [20]
    late = replay(
        instance,
        dataclasses.replace(detour, op_start_ticks=np.array([0, 30]), circuit_up_from_ticks=np.array([0, 6, 30])),
    )
    assert late.op_start_ticks.tolist() == [0, 30]


@pytest.mark.parametrize("all_stop", [False, True])
def test_rows_of_one_circuit_may_be_split(all_stop):
    instance = transfers([(0, 1), (0, 1)], [5, 5], [[], []], all_stop=all_stop)
    split = dataclasses.replace(
        plan(instance, [0, 5]),
        circuit_plane=np.zeros(2),
        circuit_tx=np.array([0, 0]),
        circuit_rx=np.array([1, 1]),
        circuit_up_from_ticks=np.array([0, 5]),
        circuit_up_to_ticks=np.array([5, 10]),
    )
    result = replay(instance, split)
    assert result.op_start_ticks.tolist() == [0, 5]
    assert result.plane_dark_ticks.tolist() == [0]


def test_all_stop_waits_for_the_whole_plane():
    instance = transfers([(0, 1), (2, 3), (0, 2)], [5, 20, 5], [[], [], []], all_stop=True)
    schedule = plan(instance, [0, 0, 30])
    assert replay(instance, schedule).op_start_ticks.tolist() == [0, 0, 30]
    per_port = transfers([(0, 1), (2, 3), (0, 2)], [5, 20, 5], [[], [], []])
    early = plan(per_port, [0, 0, 15])
    assert replay(per_port, early).op_start_ticks.tolist() == [0, 0, 15]
    stopped = dataclasses.replace(early, instance_sha256=instance.sha256, circuit_up_from_ticks=np.array([0, 0, 15]))
    assert replay(instance, stopped).op_start_ticks.tolist() == [0, 0, 30]


def test_all_stop_without_delay_stops_nothing():
    instance = transfers([(0, 1), (2, 3), (0, 2)], [5, 20, 5], [[], [], []], all_stop=True, delay=0)
    per_port = transfers([(0, 1), (2, 3), (0, 2)], [5, 20, 5], [[], [], []], delay=0)
    schedule = dataclasses.replace(plan(per_port, [0, 0, 5]), instance_sha256=instance.sha256)
    assert replay(instance, schedule).op_start_ticks.tolist() == [0, 0, 5]


def test_both_directions_of_a_duplex_circuit_run_at_once_and_a_change_waits_for_both():
    instance = transfers([(0, 1), (1, 0), (0, 2)], [5, 20, 5], [[], [], []], duplex=True)
    result = replay(instance, plan(instance, [0, 0, 30]))
    assert result.op_start_ticks.tolist() == [0, 0, 30]
    assert result.plane_dark_ticks.tolist() == [10]


@pytest.mark.parametrize("all_stop", [False, True])
def test_cyclic_period_has_room_for_the_way_back(all_stop):
    instance = transfers([(0, 1), (0, 2)], [5, 7], [[], []], boundary=CYCLIC, all_stop=all_stop)
    schedule = plan(instance, [0, 15])
    result = replay(instance, schedule)
    assert result.iteration_time_ticks == schedule.iteration_time_ticks == 32
    short = dataclasses.replace(schedule, iteration_time_ticks=25)
    assert replay(instance, short).iteration_time_ticks == 32
    assert replay(instance, short).stretch == 32 / 25


def test_cyclic_period_that_was_planned_longer_is_kept():
    instance = transfers([(0, 1)], [5], [[]], boundary=CYCLIC)
    assert (
        replay(instance, dataclasses.replace(plan(instance, [0]), iteration_time_ticks=50)).iteration_time_ticks == 50
    )


def test_transfers_that_take_no_time_follow_precedence():
    instance = transfers([(0, 1), (0, 1), (0, 1)], [0, 0, 4], [[1], [], [0]])
    assert replay(instance, plan(instance, [3, 3, 3])).op_start_ticks.tolist() == [3, 3, 3]


def test_empty_instance():
    instance = transfers([], [], [])
    result = replay(instance, plan(instance, []))
    assert (result.iteration_time_ticks, result.stretch, result.late_ops) == (0, 1.0, 0)


@pytest.mark.parametrize("jitter", [-0.1, float("nan"), float("inf"), 1001])
def test_bad_jitter_is_refused(jitter):
    instance = transfers([(0, 1)], [5], [[]])
    with pytest.raises(InputError, match="jitter"):
        replay(instance, plan(instance, [0]), jitter=jitter)


def test_schedule_of_another_instance_is_refused():
    instance, other = transfers([(0, 1)], [5], [[]]), transfers([(0, 1)], [6], [[]])
    with pytest.raises(InputError, match="another instance"):
        replay(other, plan(instance, [0]))


def test_jittered_iteration_must_fit_64_bits():
    instance = transfers([(0, 1)], [2**60], [[]])
    with pytest.raises(InputError, match="64 bits"):
        replay(instance, plan(instance, [0]), jitter=5.0)


def test_jitter_is_reproducible_and_depends_on_the_seed():
    instance = transfers([(0, 1)] * 50, [1000] * 50, [[]] * 50)
    schedule = plan(instance, [1000 * i for i in range(50)])
    first, again = replay(instance, schedule, jitter=0.2, seed=3), replay(instance, schedule, jitter=0.2, seed=3)
    other = replay(instance, schedule, jitter=0.2, seed=4)
    assert np.array_equal(first.op_end_ticks, again.op_end_ticks)
    assert not np.array_equal(first.op_end_ticks, other.op_end_ticks)
    assert 1.05 < first.stretch < 1.15
    assert first.late_ops == 49


def test_factors_are_uniform_and_do_not_depend_on_the_count():
    draws = uniform(7, 100_000)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert np.allclose(np.histogram(draws, 10, (0, 1))[0], 10_000, rtol=0.05)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.02
    assert np.array_equal(uniform(7, 10), draws[:10])


def test_jitter_rounds_up_and_keeps_zero():
    ticks = np.array([0, 1, 1, 100])
    longer = jittered(ticks, 0.5, 1)
    assert longer[0] == 0
    assert set(longer[1:3].tolist()) == {2}
    assert 100 < longer[3] <= 150
    assert jittered(ticks, 0.0, 1) is ticks
