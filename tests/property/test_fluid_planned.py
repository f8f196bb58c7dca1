"""The fluid simulator plays planned schedules exactly as they were planned."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fluxscale.instance.derived import derive
from fluxscale.schedule.circuits import make_schedule
from fluxscale.simulate.planned import play_schedule
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.registry import get_solver
from tests.naive_replay import random_instance as replay_instance
from tests.naive_replay import random_schedule
from tests.strategies import instances


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_random_schedule_runs_as_the_replay_runs_it(seed: int, zero_times: bool) -> None:
    instance = replay_instance(seed, zero_times=zero_times)
    schedule = random_schedule(instance, seed)
    # Where one circuit has two transfers at the same instant (one takes no time) they go in the order of arrival, of
    # which a plan says nothing.
    op = derive(instance).leg_op
    same = np.stack([instance.leg_tx, instance.leg_rx, schedule.leg_plane, schedule.op_start_ticks[op]], axis=1)
    assume(len(np.unique(same, axis=0)) == len(same))
    found, planned = play_schedule(instance, schedule), replay(instance, schedule)
    assert found.op_end.tolist() == planned.op_end_ticks.tolist()
    assert found.op_start.tolist() == planned.op_start_ticks.tolist()


@given(instances())
@settings(max_examples=100, deadline=None)
def test_a_list_schedule_runs_as_planned(instance) -> None:
    outcome = get_solver("list").solve(instance, SolveParams(work_limit=200), lambda _: None)
    assert outcome.plan is not None
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    found = play_schedule(instance, schedule)
    assert int(found.op_end.max()) == replay(instance, schedule).op_end_ticks.max()
