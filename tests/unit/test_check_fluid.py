"""The check of fluid runs finds what is wrong with one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fluxscale.instance.instance import DARK, Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.validate.fluid import check_fluid
from tests.strategies import Bytes, build


@pytest.fixture
def world() -> tuple[Instance, FluidRun]:
    """Two computes, a transfer of 50 bytes that is cut twice, one of given duration, one that shares a sender."""
    instance = build(
        [
            ("compute", "d", 5, []),
            ("transfer", 0, 1, Bytes(50), [0]),
            ("compute", "d", 7, []),
            ("transfer", 1, 2, 9, [2]),
            ("transfer", 0, 2, Bytes(4), []),
        ],
        delay=10,
        boundary=DARK,
        endpoints=3,
    )
    outcome = get_solver("rotor").solve(instance, SolveParams(options={"slot": 30}), lambda _: None)
    assert outcome.run is not None
    assert outcome.run.trace is not None
    return instance, outcome.run


def codes(instance: Instance, run: FluidRun) -> set[str]:
    return set(check_fluid(instance, run).counts)


def test_a_right_run_passes(world: tuple[Instance, FluidRun]):
    instance, run = world
    report = check_fluid(instance, run)
    assert report.ok
    assert report.iteration_time_ticks == run.iteration_time_ticks
    assert report.n_checked["rows"] > 0


def changed(run: FluidRun, column: str, at: int, by: int) -> FluidRun:
    values = getattr(run, column).copy()
    values[at] += by
    return replace(run, **{column: values})


def traced(run: FluidRun, column: str, at: int, by: int) -> FluidRun:
    assert run.trace is not None
    values = np.array(getattr(run.trace, column))
    values[at] += by
    return replace(run, trace=replace(run.trace, **{column: values}))


def test_an_op_before_its_predecessor(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX002" in codes(instance, changed(run, "op_start_ticks", 1, -7))


def test_a_device_that_does_two_things_at_once(world: tuple[Instance, FluidRun]):
    instance, run = world
    early = changed(changed(run, "op_start_ticks", 2, -2), "op_end_ticks", 2, -2)
    assert "FX003" in codes(instance, early)


def test_a_compute_op_of_another_length(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX002" in codes(instance, changed(run, "op_end_ticks", 0, -1))


def test_an_op_that_never_started(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX001" in codes(instance, changed(run, "op_start_ticks", 0, -1))


def test_a_transfer_that_is_too_fast(world: tuple[Instance, FluidRun]):
    instance, run = world
    fast = changed(replace(run, trace=None), "op_end_ticks", 1, int(run.op_start_ticks[1] - run.op_end_ticks[1]) + 20)
    assert "FX018" in codes(instance, fast)


def test_another_iteration_time(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert codes(instance, replace(run, iteration_time_ticks=run.iteration_time_ticks - 1)) == {"FX014"}


def test_bytes_that_got_lost(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert codes(instance, traced(run, "piece_amount", 0, -1)) == {"FX018"}


def test_more_bytes_than_fit(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX018" in codes(instance, traced(run, "piece_to_ticks", 0, -1))


def test_a_piece_without_its_circuit(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX012" in codes(instance, traced(run, "circuit_up_to_ticks", 0, -5))


def test_circuits_that_follow_too_soon(world: tuple[Instance, FluidRun]):
    instance, run = world
    trace = run.trace
    assert trace is not None
    # Stretch every row into the dark time before the next matching.
    longer = replace(run, trace=replace(trace, circuit_up_to_ticks=np.array(trace.circuit_up_to_ticks) + 4))
    assert "FX008" in codes(instance, longer)


def test_a_circuit_before_the_first_dark_time(world: tuple[Instance, FluidRun]):
    instance, run = world
    assert "FX009" in codes(instance, traced(run, "circuit_up_from_ticks", 0, -1))
