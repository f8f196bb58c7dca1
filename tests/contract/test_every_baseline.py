"""One battery for all schedulers to compare with: checked, never faster than physics, deterministic."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.solving.registry import COMPARISON, get_solver
from fluxscale.solving.status import Feasibility
from fluxscale.trial import candidates, trial
from tests.strategies import random_instance

SEEDS = range(40)


def floor_ticks(instance: Instance) -> int:
    """Longest path if every transfer had all its planes to itself at once and nothing ever waited."""
    derived = derive(instance)
    rate = int(instance.plane_rate_bps.sum())
    ticks = np.zeros(instance.n_ops, dtype=np.int64)
    for op in range(instance.n_ops):
        if instance.leg_indptr[op] == instance.leg_indptr[op + 1]:
            ticks[op] = instance.op_fixed_ticks[op]
        elif instance.op_fixed_ticks[op] >= 0:
            ticks[op] = -(-int(instance.op_fixed_ticks[op]) // instance.n_planes)
        else:
            ticks[op] = -(-int(instance.op_bytes[op]) * 8 * 10**9 // rate)
    end = np.zeros(instance.n_ops, dtype=np.int64)
    order, waiting = [], np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)
    ready = np.flatnonzero(waiting == 0).tolist()
    while ready:
        op = ready.pop()
        order.append(op)
        preds = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
        preds += [int(derived.prev_on_device[op])] if derived.prev_on_device[op] >= 0 else []
        end[op] = ticks[op] + max((int(end[p]) for p in preds), default=0)
        after = derived.succ_index[derived.succ_indptr[op] : derived.succ_indptr[op + 1]].tolist()
        for follower in after + ([int(derived.next_on_device[op])] if derived.next_on_device[op] >= 0 else []):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return int(end.max())


@pytest.mark.parametrize("name", COMPARISON)
def test_a_baseline_is_marked_as_one(name: str) -> None:
    assert get_solver(name).capabilities.comparison
    assert get_solver(name).name == name


@pytest.mark.parametrize("name", COMPARISON)
def test_random_instances_run_checked_and_twice_the_same(name: str) -> None:
    ran = 0
    for seed in SEEDS:
        instance = random_instance(np.random.default_rng(seed), max_planes=3)
        options = candidates(instance, name)
        for option in (options[0], options[-1]):
            try:
                first = trial(instance, name, option)
            except UnsupportedError:
                continue
            ran += 1
            assert first.feasibility is Feasibility.CHECKED_OK
            assert first.iteration_time_ns is not None
            assert first.iteration_time_ns >= floor_ticks(instance) * instance.tick_ns
            assert first.eager_bytes is not None
            again = trial(instance, name, option)
            assert (again.iteration_time_ns, again.eager_bytes, again.reconfigurations) == (
                first.iteration_time_ns,
                first.eager_bytes,
                first.reconfigurations,
            )
    assert ran >= 20


@pytest.mark.parametrize("name", COMPARISON)
def test_all_compute_and_no_transfer(name: str) -> None:
    from tests.strategies import build

    instance = build([("compute", "d0", 5, []), ("compute", "d0", 7, [0])], endpoints=2)
    made = trial(instance, name, candidates(instance, name)[0])
    assert made.iteration_time_ns == 12
    assert made.reconfigurations == 0 or name.startswith("rotor")


@pytest.mark.parametrize("name", COMPARISON)
def test_the_cutoff_stops_a_run_that_is_too_long_and_no_other(name: str) -> None:
    instance = random_instance(np.random.default_rng(5), family="pipeline", duplex=False, several_ocs=False)
    option = candidates(instance, name)[0]
    free = trial(instance, name, option)
    assert free.iteration_time_ns is not None
    enough = free.iteration_time_ns // instance.tick_ns
    assert trial(instance, name, option, cutoff_ticks=enough).iteration_time_ns == free.iteration_time_ns
    short = trial(instance, name, option, cutoff_ticks=max(0, enough // 4))
    assert short.iteration_time_ns in (None, free.iteration_time_ns)
