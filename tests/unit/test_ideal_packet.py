"""`ideal-packet`: what becomes of a fabric, cases worked by hand, and that it is the floor of all other schedulers."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination
from fluxscale.validate.fluid import check_fluid
from fluxscale_solvers.baselines.ideal_packet import IdealPacket, ideal_network
from fluxscale_solvers.baselines.on_demand import OnDemand, OnDemandAhead
from fluxscale_solvers.baselines.sunflow import Sunflow
from tests.strategies import BYTE_PER_TICK, CYCLIC, DARK, Bytes, build, random_instance


def played(instance: Instance, **settings: int) -> tuple[Outcome, FluidRun]:
    """Outcome and its run, which the check for runs accepts."""
    outcome = IdealPacket().solve(instance, SolveParams(**settings), lambda _: None)
    run = outcome.run
    assert outcome.plan is None
    assert run is not None
    report = check_fluid(instance, run)
    assert report.ok, [v.message for v in report.violations]
    assert outcome.iteration_time_ticks == run.iteration_time_ticks == run.op_end_ticks.max()
    assert outcome.lower_bound_ticks is None
    return outcome, run


def test_circuits_cost_nothing_and_directions_are_free():
    """A duplex, all-stop, dark plane becomes a switch: three peers of one endpoint at once, two of them receiving."""
    ops = [("transfer", 0, 1, Bytes(5), []), ("transfer", 0, 2, Bytes(7), []), ("transfer", 2, 0, Bytes(12), [])]
    for boundary in (DARK, CYCLIC):
        outcome, run = played(build(ops, delay=1000, duplex=True, all_stop=True, boundary=boundary))
        assert outcome.iteration_time_ticks == 12
        assert run.reconfigurations == 0
        assert run.circuit_up_ticks.tolist() == run.circuit_busy_ticks.tolist() == [24]
        assert run.circuit_utilisation == 1.0
        assert run.dark_ticks.tolist() == [0]
        assert any("proven" in note for note in run.notes)


def test_planes_of_the_same_endpoints_become_one_of_the_summed_rate():
    ops = [("transfer", 0, 1, Bytes(90), []), ("compute", "d", 3, [0]), ("transfer", 1, 0, 60, [1])]
    instance = build(ops, rate=[BYTE_PER_TICK, 2 * BYTE_PER_TICK], latency=[4, 6], planes=2)
    network = ideal_network(instance, merge=True)
    assert network.group.tolist() == [0, 0]
    assert network.instance.plane_rate_bps.tolist() == [3 * BYTE_PER_TICK]
    assert network.instance.plane_latency_ticks.tolist() == [4]
    assert network.instance.op_fixed_ticks.tolist() == [-1, 3, 30]
    _, run = played(instance)
    assert run.op_end_ticks.tolist() == [34, 37, 67]
    assert run.circuit_busy_ticks.tolist() == [64, 64]
    assert run.pair_amount.tolist() == [90 * 8, 60]
    assert pairs(instance).count == 2


def test_rails_and_planes_of_other_switches_stay_apart():
    rails = [[0, 0, -1, -1], [-1, -1, 0, 0], [5, 5, -1, -1]]
    instance = build([("transfer", 0, 1, Bytes(8)), ("transfer", 2, 3, Bytes(8))], attach=rails, planes=3)
    network = ideal_network(instance, merge=True)
    assert network.group.tolist() == [0, 1, 0]
    _, run = played(instance)
    assert run.op_end_ticks.tolist() == [4, 8]
    other = build([("transfer", 0, 1, Bytes(8))], attach=[[0, 0, 1, 1], [0, 1, 1, 0]])
    assert ideal_network(other, merge=True).group.tolist() == [0, 1]


def test_a_gang_that_needs_two_ports_keeps_the_planes_apart():
    instance = build([("gang", [(0, 1), (0, 2)], Bytes(10), [])], planes=2, duplex=True, delay=50)
    outcome, run = played(instance)
    assert outcome.iteration_time_ticks == 10
    assert outcome.stats["planes"] == 2
    assert run.circuit_busy_ticks.tolist() == [10, 10]


def test_planes_are_kept_apart_where_that_is_better():
    """Latency holds a port: two slow links send two short messages in less time than a fast one."""
    ops = [("transfer", 0, 1, Bytes(2), []), ("transfer", 0, 2, Bytes(2), [])]
    outcome, run = played(build(ops, planes=2, latency=20))
    assert outcome.iteration_time_ticks == 22
    assert outcome.stats["planes"] == 2
    assert not any("summed" in note for note in run.notes)


def test_the_buffer_of_a_merged_port_is_spread_over_its_planes():
    ops = [("transfer", 0, 1, Bytes(100), []), ("transfer", 0, 2, Bytes(100), [])]
    _, run = played(build(ops, planes=2))
    # two messages are handed over at 2 bytes a tick each, one is sent at 2 a tick: 100 bytes wait at tick 50
    assert run.port_peak_bytes.tolist() == [50, 0, 0]
    assert run.eager_bytes == 50


def test_the_floor_of_all_others():
    for seed in range(60):
        instance = random_instance(np.random.default_rng(seed), max_planes=3)
        value = played(instance)[0].iteration_time_ticks
        assert value is not None
        for solver in (OnDemand(), OnDemandAhead(), Sunflow(), get_solver("list")):
            other = solver.solve(instance, SolveParams(work_limit=20_000), lambda _: None).iteration_time_ticks
            assert other is not None
            assert value <= other, (seed, solver.name)


def test_identical_replicas_are_scheduled_once():
    ops: list[tuple[object, ...]] = []
    for replica in range(40):
        a, base = 2 * replica, len(ops)
        ops.append(("compute", f"d{replica}", 5, []))
        ops += [("transfer", a, a + 1, Bytes(7), [base]), ("transfer", a + 1, a, Bytes(9), [base + 1])]
    outcome, run = played(build(ops, delay=30))
    assert outcome.iteration_time_ticks == 21
    assert run.op_start_ticks.reshape(40, 3).tolist() == [[0, 5, 12]] * 40


def test_limits_pass_through_and_the_seed_repeats():
    instance = random_instance(np.random.default_rng(3), max_transfers=20, family="dag", max_planes=1)
    first, second = (played(instance, work_limit=5_000, seed=4) for _ in range(2))
    assert np.array_equal(first[1].op_start_ticks, second[1].op_start_ticks)
    short = IdealPacket().solve(instance, SolveParams(time_limit_s=0.0), lambda _: None)
    assert short.run is not None
    assert short.termination in (Termination.TIME_LIMIT, Termination.FINISHED)


def test_without_transfers():
    outcome, run = played(build([("compute", "d", 5), ("compute", "d", 7)], endpoints=2))
    assert outcome.iteration_time_ticks == 12
    assert run.eager_bytes == 0
    assert run.circuit_utilisation is None


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match=r"solver\.rules"):
        IdealPacket().solve(build([("transfer", 0, 1, 5)]), SolveParams(options={"rules": 3}), lambda _: None)
