"""The solver template works as it stands: valid schedules on any fabric, limits, options."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.instance import COMPUTE, CYCLIC, DARK, GANG, PRESET, TRANSFER, Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solving.protocol import Progress, SolveParams, Solver
from fluxscale.solving.status import Termination
from fluxscale.validate.checker import check
from fluxscale_solvers.TEMPLATE import SerialTemplate

DELAY = 1000


def small(*, gang=((0, 1), (1, 2), (2, 0)), planes=1, duplex=False, all_stop=False, boundary=DARK) -> Instance:
    """Compute on 0, transfer 0 -> 1, compute on 1, then a gang."""
    legs = [[], [(0, 1)], [], list(gang)]
    flat = [leg for of_op in legs for leg in of_op]
    fill = lambda value: np.full(planes, value)  # noqa: E731
    return Instance(
        op_kind=np.array([COMPUTE, TRANSFER, COMPUTE, GANG]),
        op_device=np.array([0, -1, 1, -1]),
        op_bytes=np.array([0, 5000, 0, 0]),
        op_fixed_ticks=np.array([300, -1, 500, 700]),
        pred_indptr=np.array([0, 0, 1, 2, 3]),
        pred_index=np.array([0, 1, 2]),
        device_indptr=np.array([0, 1, 2, 2]),
        device_ops=np.array([0, 2]),
        leg_indptr=np.cumsum([0, *map(len, legs)]),
        leg_tx=np.array([tx for tx, _ in flat]),
        leg_rx=np.array([rx for _, rx in flat]),
        plane_rate_bps=fill(400 * 10**9),
        plane_latency_ticks=fill(0),
        plane_delay_ticks=fill(DELAY),
        plane_radix=fill(0),
        plane_all_stop=fill(all_stop),
        plane_duplex=fill(duplex),
        attach=np.zeros((planes, 3), dtype=np.int32),
        injection_rate_bps=fill(400 * 10**9),
        boundary=boundary,
    )


def solve(instance: Instance, **params):
    news: list[Progress] = []
    solver: Solver = SerialTemplate()
    outcome = solver.solve(instance, SolveParams(**params), news.append)
    return outcome, news


@pytest.mark.parametrize("boundary", [DARK, PRESET, CYCLIC])
@pytest.mark.parametrize("all_stop", [False, True])
@pytest.mark.parametrize(
    ("duplex", "planes", "gang"),
    [
        (False, 1, ((0, 1), (1, 2), (2, 0))),
        (True, 1, ((0, 1), (1, 0))),
        (True, 2, ((0, 1), (1, 2))),
        (False, 2, ((0, 1), (0, 2))),
    ],
)
def test_schedules_pass_the_checker(boundary, all_stop, duplex, planes, gang):
    instance = small(gang=gang, planes=planes, duplex=duplex, all_stop=all_stop, boundary=boundary)
    outcome, news = solve(instance)
    assert outcome.plan is not None
    assert outcome.termination is Termination.FINISHED
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    report = check(instance, schedule)
    assert report.ok, report.violations
    assert report.iteration_time_ticks == outcome.iteration_time_ticks
    assert [line.best_ticks for line in news] == [outcome.iteration_time_ticks]


def test_value_by_hand():
    outcome, _ = solve(small())
    # compute, delay + transfer (5000 B at 400 Gb/s = 100 ns), compute, delay + gang
    assert outcome.iteration_time_ticks == 300 + (DELAY + 100) + 500 + (DELAY + 700)
    assert outcome.lower_bound_ticks is None


def test_reaching_the_bound_is_optimal():
    outcome, _ = solve(small(), lower_bound_ticks=3600)
    assert outcome.termination is Termination.OPTIMAL


def test_limits_are_honoured():
    outcome, _ = solve(small(), work_limit=2)
    assert (outcome.plan, outcome.termination) == (None, Termination.WORK_LIMIT)
    outcome, _ = solve(small(), time_limit_s=0.0)
    assert (outcome.plan, outcome.termination) == (None, Termination.TIME_LIMIT)


def test_interrupt_returns(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("fluxscale_solvers.TEMPLATE._topological_order", interrupt)
    outcome, _ = solve(small())
    assert outcome.termination is Termination.INTERRUPTED


@pytest.mark.parametrize("tie", ["first", "last"])
def test_tie_option(tie):
    outcome, _ = solve(small(), options={"tie": tie})
    assert outcome.plan is not None


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match=r"solver\.tei.*did you mean 'tie'"):
        solve(small(), options={"tei": "first"})
    with pytest.raises(InputError, match=r"solver\.tie.*must be first or last"):
        solve(small(), options={"tie": "middle"})


def test_a_gang_that_fits_no_plane_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"op3.*ep1 -> ep2.*Maybe"):
        solve(small(duplex=True))
