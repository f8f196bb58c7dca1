"""The checker against a twin that looks at every tick; schedules made by pairwise gaps alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.instance.instance import CYCLIC, DARK, PRESET, Instance
from fluxscale.schedule.schedule import Schedule
from fluxscale.validate.checker import check
from tests.naive_check import faults, naive_schedule, schedule_of
from tests.strategies import brute_force, instances, random_instance

seeds = st.integers(0, 2**32 - 1)


def rows_of(schedule: Schedule) -> list[list[int]]:
    columns = (
        schedule.circuit_plane,
        schedule.circuit_tx,
        schedule.circuit_rx,
        schedule.circuit_up_from_ticks,
        schedule.circuit_up_to_ticks,
    )
    return np.stack([c.astype(np.int64) for c in columns], axis=1).tolist() if len(columns[0]) else []


@settings(max_examples=250)
@given(instances(), seeds)
def test_naive_schedules_pass(instance, seed):
    rng = np.random.default_rng(seed)
    schedule = naive_schedule(instance, rng, most_slack=int(rng.integers(4)))
    assert faults(instance, schedule) == []
    report = check(instance, schedule)
    assert report.ok, report.violations
    assert report.iteration_time_ticks == schedule.iteration_time_ticks
    assert report.counts == {}


@settings(max_examples=200)
@given(instances(all_stop=False), seeds)
def test_pairwise_gaps_on_both_ports_alone_yield_valid_switch_programs(instance, seed):
    """problem.md: per-port, non-preemptive; whatever the boundary, the order and the slack."""
    schedule = naive_schedule(instance, np.random.default_rng(seed), most_slack=9)
    assert check(instance, schedule).ok
    assert faults(instance, schedule) == []


def corrupt(instance: Instance, schedule: Schedule, rng: np.random.Generator) -> Schedule:
    """One small damage of a kind that a faulty maker could do."""
    start, planes = schedule.op_start_ticks.tolist(), schedule.leg_plane.tolist()
    rows, time = rows_of(schedule), schedule.iteration_time_ticks
    step = int(rng.integers(1, 12)) * int(rng.choice([-1, 1]))
    what = int(rng.integers(9))
    r, op, leg = int(rng.integers(len(rows))), int(rng.integers(len(start))), int(rng.integers(len(planes)))
    if what == 0:
        start[op] += step
    elif what == 1:
        del rows[r]
    elif what == 2:
        planes[leg] = int(rng.integers(-1, instance.n_planes + 1))
    elif what == 3:
        rows[r][4] = max(rows[r][3] + 1, rows[r][4] - abs(step))
    elif what == 4:
        rows[r][3] = min(rows[r][4] - 1, rows[r][3] + step)
    elif what == 5:
        rows[r][4] += abs(step)
    elif what == 6:
        time += step
    elif what == 7:
        rows[r][int(rng.integers(3))] = int(rng.integers(-1, instance.n_endpoints + 1))
    else:
        other = int(rng.integers(len(start)))
        start[op], start[other] = start[other], start[op]
    return schedule_of(instance, start, planes, rows, time)


@settings(max_examples=600)
@given(instances(), seeds)
def test_damage_is_found_exactly_where_the_twin_finds_it(instance, seed):
    rng = np.random.default_rng(seed)
    damaged = corrupt(instance, naive_schedule(instance, rng, most_slack=int(rng.integers(2)) * 5), rng)
    report, expected = check(instance, damaged), faults(instance, damaged)
    assert report.ok == (expected == []), (report.violations, expected)
    assert len(report.violations) == sum(report.counts.values())


@settings(max_examples=100)
@given(seeds)
def test_garbage_never_breaks_the_check(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, max_transfers=4)
    wild = np.array([-(2**63), -1, 0, 1, 5, 2**40, 2**62, 2**63 - 1])
    n_rows = int(rng.integers(0, 6))
    schedule = Schedule(
        instance.sha256,
        rng.choice(wild, instance.n_ops),
        rng.integers(-(2**15), 2**15, instance.n_legs),
        rng.integers(-2, 3, n_rows),
        rng.choice(np.array([-1, 0, 1, 2, 2**31 - 1]), n_rows),
        rng.integers(-1, 5, n_rows),
        rng.choice(wild, n_rows),
        rng.choice(wild, n_rows),
        int(rng.choice(wild)) * int(rng.choice([1, 10])),
    )
    report = check(instance, schedule)
    assert not report.ok
    assert all(violation.message and violation.amount_ticks >= 0 for violation in report.violations)


@pytest.mark.parametrize("boundary", [DARK, PRESET, CYCLIC])
def test_nothing_valid_beats_brute_force(boundary):
    """The checker refuses every schedule below the optimum, and the naive ones never are."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, max_transfers=3, boundary=boundary)
        best = brute_force(instance)
        for _ in range(5):
            schedule = naive_schedule(instance, rng)
            if boundary == CYCLIC:  # shrink the period as far as the checker lets it
                rows, low = rows_of(schedule), schedule.iteration_time_ticks
                while check(
                    instance, schedule_of(instance, schedule.op_start_ticks, schedule.leg_plane, rows, low - 1)
                ).ok:
                    low -= 1
                assert low >= best
            else:
                assert schedule.iteration_time_ticks >= best
