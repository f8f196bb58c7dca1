"""Replay and buffers against plain-Python twins, over random instances of all kinds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.simulate.buffers import peak_buffers
from fluxscale.simulate.replay import replay
from tests.naive_replay import (
    naive_buffers,
    naive_period,
    naive_replay,
    random_instance,
    random_schedule,
    ticks_of,
)

SEEDS = st.integers(0, 2**32)


def case(seed: int, *, zero_times: bool = False):
    instance = random_instance(seed, zero_times=zero_times)
    return instance, random_schedule(instance, seed)


@given(SEEDS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_without_jitter_everything_happens_as_planned(seed: int, zero_times: bool) -> None:
    instance, schedule = case(seed, zero_times=zero_times)
    result = replay(instance, schedule)
    assert result.op_start_ticks.tolist() == schedule.op_start_ticks.tolist()
    durations = [ticks_of(instance, op, schedule.leg_plane.tolist()) for op in range(instance.n_ops)]
    assert (result.op_end_ticks - result.op_start_ticks).tolist() == durations
    assert result.iteration_time_ticks == schedule.iteration_time_ticks
    assert (result.late_ops, result.max_lateness_ticks) == (0, 0)


@given(SEEDS, st.sampled_from([0.01, 0.3, 2.5]), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_with_jitter_replay_equals_its_plain_twin(seed: int, jitter: float, draw: int) -> None:
    instance, schedule = case(seed)
    result = replay(instance, schedule, jitter=jitter, seed=draw)
    duration = (result.op_end_ticks - result.op_start_ticks).tolist()
    start, end = naive_replay(instance, schedule, duration)
    assert result.op_start_ticks.tolist() == start
    assert result.op_end_ticks.tolist() == end
    # On all-stop planes the twin's period looks at per-port pairs only: it is a lower limit there.
    period = naive_period(instance, schedule, start, end)
    if np.any(instance.plane_all_stop & (instance.plane_delay_ticks > 0)):
        assert result.iteration_time_ticks >= period
    else:
        assert result.iteration_time_ticks == period


@given(SEEDS, st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=100, deadline=None)
def test_longer_ops_never_make_anything_earlier(seed: int, jitter: float) -> None:
    instance, schedule = case(seed)
    plain, shaken = replay(instance, schedule), replay(instance, schedule, jitter=jitter, seed=seed)
    assert np.all(shaken.op_start_ticks >= plain.op_start_ticks)
    assert shaken.iteration_time_ticks >= plain.iteration_time_ticks
    took, planned = shaken.op_end_ticks - shaken.op_start_ticks, plain.op_end_ticks - plain.op_start_ticks
    assert np.all(took >= planned)
    assert np.all(took <= np.ceil(planned * (1 + jitter)))
    assert shaken.late_ops == np.count_nonzero(shaken.op_start_ticks > plain.op_start_ticks)


@given(SEEDS, st.sampled_from([0.0, 0.5]))
@settings(max_examples=150, deadline=None)
def test_buffers_equal_their_plain_twin(seed: int, jitter: float) -> None:
    instance, schedule = case(seed)
    run = replay(instance, schedule, jitter=jitter, seed=seed)
    measured = peak_buffers(instance, run.op_start_ticks, run.op_end_ticks, schedule.leg_plane)
    for eager, ports in ((True, measured.eager_port_bytes), (False, measured.paced_port_bytes)):
        twin = naive_buffers(
            instance, run.op_start_ticks.tolist(), run.op_end_ticks.tolist(), schedule.leg_plane.tolist(), eager=eager
        )
        assert ports.tolist() == twin.tolist()
    assert measured.eager_bytes == measured.eager_port_bytes.max()
    assert measured.paced_bytes == measured.paced_port_bytes.max()
