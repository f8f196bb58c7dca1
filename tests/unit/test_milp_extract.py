from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import BackendError, InfeasibleError, InputError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.milp.arrays import Builder, Literals, MilpArrays
from fluxscale.milp.conflicts import find_conflicts
from fluxscale.milp.disjunctive import Disjunctive
from fluxscale.milp.extract import Decision, decide, extract, squeeze
from fluxscale.milp.greedy import greedy, serial_horizon
from fluxscale.solving.protocol import Plan, Progress, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.backends.mathopt import LOOSEST, TIGHTEST, MilpLimits, safe_bound, solve_arrays, tolerance_for
from fluxscale_solvers.exact.cpsat import ExactCpSat
from fluxscale_solvers.exact.milp import ExactMilp
from tests.property.exact_instances import faults, random_instance
from tests.unit.pipeline_case import MS, pipeline

BEST_4X8 = 224_400_000


def quiet(news: Progress) -> None:
    assert news.elapsed_s >= 0


def replaced(instance: Instance, **columns: object) -> Instance:
    return Instance(**{**{name: getattr(instance, name) for name in instance.__dataclass_fields__}, **columns})


@pytest.mark.parametrize(
    ("solver", "options"), [(ExactCpSat(), {}), (ExactMilp(), {}), (ExactMilp(), {"backend": "highs"})]
)
def test_four_stages_eight_micro_batches_is_proven(solver: ExactCpSat | ExactMilp, options: dict[str, str]) -> None:
    instance = pipeline(4, 8)
    found = solver.solve(instance, SolveParams(options=options, time_limit_s=60), quiet)
    assert (found.iteration_time_ticks, found.lower_bound_ticks) == (BEST_4X8, BEST_4X8)
    assert found.termination is Termination.OPTIMAL
    assert found.plan is not None
    assert faults(instance, found.plan.op_start_ticks, found.plan.leg_plane, BEST_4X8) == []


def test_news_of_better_schedules_comes_in_order() -> None:
    news: list[Progress] = []
    found = ExactCpSat().solve(pipeline(4, 8), SolveParams(), news.append)
    values = [line.best_ticks for line in news if line.best_ticks is not None]
    assert values == sorted(values, reverse=True)
    assert values[-1] == found.iteration_time_ticks
    assert all(line.bound_ticks is not None and line.bound_ticks <= BEST_4X8 for line in news)


def test_stopped_by_work_the_same_every_time() -> None:
    instance = pipeline(4, 24)
    first, second = (ExactCpSat().solve(instance, SolveParams(work_limit=1, seed=5), quiet) for _ in range(2))
    assert first.termination is Termination.WORK_LIMIT
    assert first.plan is not None
    assert second.plan is not None
    assert first.lower_bound_ticks == second.lower_bound_ticks
    assert np.array_equal(first.plan.op_start_ticks, second.plan.op_start_ticks)
    assert faults(instance, first.plan.op_start_ticks, first.plan.leg_plane, first.iteration_time_ticks or 0) == []


@pytest.mark.parametrize("solver", [ExactCpSat(), ExactMilp()])
def test_time_limit_keeps_the_schedule_to_begin_from(solver: ExactCpSat | ExactMilp) -> None:
    found = solver.solve(pipeline(4, 24), SolveParams(time_limit_s=0.5), quiet)
    assert found.termination is Termination.TIME_LIMIT
    assert found.plan is not None
    assert found.lower_bound_ticks is not None
    assert found.lower_bound_ticks < (found.iteration_time_ticks or 0)


def test_gap_that_is_allowed_stops_the_search() -> None:
    found = ExactCpSat().solve(pipeline(4, 24), SolveParams(rel_gap=0.6, time_limit_s=60), quiet)
    assert found.termination is Termination.GAP_REACHED


def test_interrupt_from_progress_returns_the_best_plan() -> None:
    def interrupt(news: Progress) -> None:
        raise KeyboardInterrupt

    found = ExactCpSat().solve(pipeline(4, 16), SolveParams(), interrupt)
    assert found.termination is Termination.INTERRUPTED
    assert found.plan is not None


def test_other_errors_of_progress_are_not_swallowed() -> None:
    def fail(news: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ExactCpSat().solve(pipeline(4, 8), SolveParams(), fail)


def test_unknown_options_and_values_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'backend'"):
        ExactMilp().solve(pipeline(2, 1), SolveParams(options={"backends": "scip"}), quiet)
    with pytest.raises(
        InputError, match=r"solver\.backend: unknown value \(got 'hihgs'\)\. Maybe: did you mean 'highs'"
    ):
        ExactMilp().solve(pipeline(2, 1), SolveParams(options={"backend": "hihgs"}), quiet)
    with pytest.raises(InputError, match="has no options"):
        ExactCpSat().solve(pipeline(2, 1), SolveParams(options={"backend": "scip"}), quiet)


def test_what_is_not_modelled_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="NIC buffers"):
        ExactCpSat().solve(replaced(pipeline(2, 1), nic_buffer_bytes=4096), SolveParams(), quiet)
    with pytest.raises(InputError, match="another instance"):
        ExactCpSat().solve(pipeline(2, 1), SolveParams(warm_start=Plan(np.zeros(3), np.zeros(1))), quiet)
    with pytest.raises(InfeasibleError):
        ExactCpSat().solve(replaced(pipeline(2, 1), attach=np.array([[0, 1]])), SolveParams(), quiet)


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluxscale_solvers.exact.cpsat.CPSAT_PAIRS", 10)
    monkeypatch.setattr("fluxscale_solvers.exact.milp.MILP_PAIRS", 10)
    for solver in (ExactCpSat(), ExactMilp()):
        with pytest.raises(UnsupportedError, match=rf"{solver.name} takes at most 10 .* Maybe: use --solver list"):
            solver.solve(pipeline(4, 8), SolveParams(), quiet)


@pytest.mark.parametrize("seed", range(30))
def test_squeezing_a_stretched_schedule_gives_it_back(seed: int) -> None:
    instance = random_instance(seed)
    conflicts = find_conflicts(instance)
    start = greedy(instance, conflicts)
    if start is None:
        return
    stretched = squeeze(instance, conflicts, start.op_start_ticks, start.leg_plane)
    assert stretched is not None
    assert stretched.iteration_time_ticks <= start.iteration_time_ticks
    late = squeeze(instance, conflicts, start.op_start_ticks + 1000, start.leg_plane)
    assert late is not None
    assert late.iteration_time_ticks <= start.iteration_time_ticks


def test_orders_that_form_a_cycle_are_noticed() -> None:
    instance = pipeline(4, 8)
    conflicts = find_conflicts(instance)
    start = greedy(instance, conflicts)
    assert start is not None
    good = decide(instance, conflicts, start.op_start_ticks, start.leg_plane)
    assert extract(instance, conflicts, good) is not None
    backwards = Decision(good.leg_plane, (-good.order).astype(np.int8), good.together)
    assert extract(instance, conflicts, backwards) is None


def test_large_times_get_a_safe_scale_and_honest_bounds() -> None:
    """Durations without a common divisor: the MILP may not round its bound up, and says so through its termination."""
    instance = pipeline(3, 4, delay=20 * MS + 1, forward=3 * MS + 7, backward=6 * MS + 11, transfer=400_001)
    conflicts = find_conflicts(instance)
    form = Disjunctive(instance, conflicts, 0, serial_horizon(instance, conflicts), 1)
    assert not form.exact_units
    assert form.upper == pytest.approx(1e4)
    exact = ExactCpSat().solve(instance, SolveParams(), quiet)
    assert exact.termination is Termination.OPTIMAL
    for backend in ("scip", "highs"):
        found = ExactMilp().solve(instance, SolveParams(options={"backend": backend}), quiet)
        assert found.iteration_time_ticks == exact.iteration_time_ticks
        assert found.lower_bound_ticks is not None
        assert found.iteration_time_ticks is not None
        assert 0.999_99 * found.iteration_time_ticks <= found.lower_bound_ticks <= found.iteration_time_ticks


def test_safe_bound_is_never_above_the_truth() -> None:
    assert safe_bound(None, 1.0, True) == 0
    assert safe_bound(-3.0, 1.0, True) == 0
    assert safe_bound(1121.999_999, 200.0, True) == 1122 * 200
    assert safe_bound(1122.000_001, 200.0, True) == 1122 * 200
    assert safe_bound(1122.5, 200.0, True) == 1123 * 200
    assert safe_bound(9999.0, 1000.0, False) == 9_998_990
    assert tolerance_for(1.0) == LOOSEST
    assert tolerance_for(1e9) == TIGHTEST


def tiny_program() -> MilpArrays:
    """Minimise v0 >= 3 x 1 with v0 >= 5 if the binary is 1, and the binary forced to 1."""
    builder = Builder()
    value = builder.variables(np.zeros(1), np.full(1, 100.0))
    binary = builder.binaries(1)
    builder.at_least([(binary, 1.0)], 1.0, 1)
    builder.at_least_if(
        [(value, 1.0)], np.array([5.0]), np.array([5.0]), [Literals(binary, np.array([True]))], np.array([True])
    )
    builder.at_least_if(
        [(value, 1.0)], np.array([50.0]), np.array([50.0]), [Literals(binary, np.array([False]))], np.array([True])
    )
    return builder.build(int(value[0]))


@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_conditions_cutoffs_and_hints(backend: str) -> None:
    program = tiny_program()
    found = solve_arrays(program, backend, MilpLimits(), hint=np.array([7.0, np.nan]))
    assert found.values == pytest.approx([5.0, 1.0])
    assert found.bound == pytest.approx(5.0)
    assert found.termination is Termination.OPTIMAL
    assert solve_arrays(program, backend, MilpLimits(cutoff=4.0)).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_refusals_show_the_back_ends_own_words(backend: str) -> None:
    """MathOpt masks every refusal with an AttributeError about itself."""
    program = tiny_program()
    broken = MilpArrays(
        **{**{k: getattr(program, k) for k in program.__dataclass_fields__}, "upper": np.array([np.nan, 1.0])}
    )
    with pytest.raises(BackendError) as caught:
        solve_arrays(broken, backend, MilpLimits())
    assert "Invalid NaN value" in str(caught.value)
    with pytest.raises(BackendError, match=rf"{backend} failed: .*relative_gap_tolerance"):
        solve_arrays(program, backend, MilpLimits(rel_gap=-1.0))
