"""SCIP and HiGHS through MathOpt: arrays in, plain values, bound and termination out."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import BackendError
from fluxscale.milp.arrays import MilpArrays
from fluxscale.solving.status import Termination

Array = npt.NDArray[Any]

BACKENDS = ("scip", "highs")

LOOSEST, TIGHTEST = 1e-6, 1e-8
"""Feasibility and integrality tolerances that are asked for. Tighter is not safer: at 1e-9 HiGHS was seen to call
feasible programs of ours infeasible, and so to prove a wrong optimum."""


@dataclass(frozen=True)
class MilpLimits:
    """Seconds, nodes, relative gap, seed, objective value not to exceed, and feasibility tolerance of one solve."""

    time_limit_s: float | None = None
    node_limit: int | None = None
    rel_gap: float = 0.0
    seed: int = 0
    cutoff: float | None = None
    tolerance: float = LOOSEST


@dataclass(frozen=True)
class MilpResult:
    """What a back end found.

    Attributes
    ----------
    values
        float64 ``[V]``, or None.
    bound
        Dual bound as the back end reports it (no safety added), or None.
    termination
        Why it stopped.
    nodes
        Branch-and-bound nodes.
    """

    values: Array | None
    bound: float | None
    termination: Termination
    nodes: int


def solve_arrays(arrays: MilpArrays, backend: str, limits: MilpLimits, hint: Array | None = None) -> MilpResult:
    """Solve a program with SCIP or HiGHS on one thread.

    Parameters
    ----------
    arrays
        The program (minimised).
    backend
        "scip" or "highs".
    limits
        Limits. The cutoff becomes a row on the objective: HiGHS refuses MathOpt's parameter for it, and where SCIP
        uses it up, MathOpt answers with a limit code that its own Python side cannot read.
    hint
        float64 ``[V]``, NaN where no value is suggested; or None.

    Raises
    ------
    BackendError
        If the back end refuses the program or a parameter; MathOpt itself masks the reason.
    """
    from ortools.math_opt.python import mathopt

    try:
        model = mathopt.Model.from_model_proto(_model_proto(arrays, limits.cutoff))
    except ValueError as error:
        raise BackendError(f"{backend} was given an invalid program: {_reason(error)}") from error
    parameters = mathopt.SolveParameters(
        time_limit=None if limits.time_limit_s is None else datetime.timedelta(seconds=max(0.001, limits.time_limit_s)),
        node_limit=limits.node_limit,
        relative_gap_tolerance=limits.rel_gap,
        absolute_gap_tolerance=0.0,
        random_seed=limits.seed % 2**31,
    )
    if backend == "scip":
        parameters.threads = 1
        parameters.gscip.real_params["numerics/feastol"] = limits.tolerance
    else:
        parameters.highs.double_options["mip_feasibility_tolerance"] = limits.tolerance
        parameters.highs.double_options["primal_feasibility_tolerance"] = limits.tolerance
    extra = mathopt.ModelSolveParameters()
    if hint is not None:
        variables = list(model.variables())
        suggested = {variables[k]: float(hint[k]) for k in np.flatnonzero(~np.isnan(hint)).tolist()}
        extra.solution_hints = [mathopt.SolutionHint(variable_values=suggested)]
    engine = mathopt.SolverType.GSCIP if backend == "scip" else mathopt.SolverType.HIGHS
    try:
        result = _interruptible(lambda: mathopt.solve(model, engine, params=parameters, model_params=extra))
    except KeyboardInterrupt:
        return MilpResult(None, None, Termination.INTERRUPTED, 0)
    except Exception as error:
        raise BackendError(f"{backend} failed: {_reason(error)}") from error
    values = None
    if result.has_primal_feasible_solution():
        found = result.variable_values()
        values = np.array([found[variable] for variable in model.variables()])
    bound = result.termination.objective_bounds.dual_bound
    return MilpResult(
        values, bound if np.isfinite(bound) else None, _termination(result, mathopt), int(result.solve_stats.node_count)
    )


def tolerance_for(largest: float) -> float:
    """Tolerance at which a big-M row of this size is off by a hundredth of a unit, within what the back ends bear."""
    return float(np.clip(0.01 / max(largest, 1.0), TIGHTEST, LOOSEST))


def _interruptible(call: Callable[[], Any]) -> Any:
    """Run a call in a thread that may be left behind: MathOpt cannot stop its engines, and Ctrl-C must be answered."""
    box: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            box.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(timeout=0.1)
    if failed:
        raise failed[0]
    return box[0]


def safe_bound(bound: float | None, scale: float, exact_units: bool) -> int:
    """Turn a dual bound in units into a bound in ticks that is never above the truth.

    Where the optimum is a whole and small number of units, the next whole unit is a bound; a hundredth of a unit is
    allowed for tolerances. Otherwise the bound is lowered by a millionth of itself and rounded down.
    """
    if bound is None or bound <= 0:
        return 0
    if exact_units:
        return int(np.ceil(bound - 0.01)) * round(scale)
    return int(np.floor(bound * scale * (1 - 1e-6)))


def _reason(error: BaseException) -> str:
    """Find the back end's own words: MathOpt hides them behind an AttributeError while handling the first exception."""
    seen: BaseException | None = error
    while seen is not None and (isinstance(seen, AttributeError) or not str(seen)):
        if seen.__context__ is None:
            break
        seen = seen.__context__
    text = " ".join(str(seen or error).split())
    return text or type(error).__name__


def _termination(result: Any, mathopt: Any) -> Termination:
    reason, limit = result.termination.reason, result.termination.limit
    if reason == mathopt.TerminationReason.OPTIMAL:
        return Termination.OPTIMAL
    if reason in (mathopt.TerminationReason.INFEASIBLE, mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED):
        return Termination.INFEASIBLE
    if reason == mathopt.TerminationReason.IMPRECISE or reason == mathopt.TerminationReason.NUMERICAL_ERROR:
        return Termination.ERROR
    return {
        mathopt.Limit.TIME: Termination.TIME_LIMIT,
        mathopt.Limit.NODE: Termination.WORK_LIMIT,
        mathopt.Limit.ITERATION: Termination.WORK_LIMIT,
        mathopt.Limit.MEMORY: Termination.MEMORY,
        mathopt.Limit.INTERRUPTED: Termination.INTERRUPTED,
    }.get(limit, Termination.UNKNOWN)


def _model_proto(arrays: MilpArrays, cutoff: float | None) -> Any:
    """Build MathOpt's model message straight from the arrays (ten times faster than by expressions)."""
    from ortools.math_opt import model_pb2

    proto = model_pb2.ModelProto()
    variables = proto.variables
    variables.ids.extend(range(len(arrays.lower)))
    variables.lower_bounds.extend(arrays.lower.tolist())
    variables.upper_bounds.extend(arrays.upper.tolist())
    variables.integers.extend(arrays.integer.tolist())
    priced = np.flatnonzero(arrays.objective)
    proto.objective.maximize = False
    proto.objective.linear_coefficients.ids.extend(priced.tolist())
    proto.objective.linear_coefficients.values.extend(arrays.objective[priced].tolist())
    row, column, coefficient = arrays.row, arrays.column, arrays.coefficient
    low, high = arrays.row_lower, arrays.row_upper
    if cutoff is not None:
        row = np.concatenate([row, np.full(len(priced), len(low))])
        column, coefficient = np.concatenate([column, priced]), np.concatenate([coefficient, arrays.objective[priced]])
        low, high = np.append(low, -np.inf), np.append(high, cutoff)
    proto.linear_constraints.ids.extend(range(len(low)))
    proto.linear_constraints.lower_bounds.extend(low.tolist())
    proto.linear_constraints.upper_bounds.extend(high.tolist())
    proto.linear_constraint_matrix.row_ids.extend(row.tolist())
    proto.linear_constraint_matrix.column_ids.extend(column.tolist())
    proto.linear_constraint_matrix.coefficients.extend(coefficient.tolist())
    return proto
