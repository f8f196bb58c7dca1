"""Schedules to begin from: the one given, identical parts scheduled once, the best of several list rules."""

from __future__ import annotations

import time

from fluxscale.decompose.incumbent import Incumbent, make_incumbent
from fluxscale.decompose.symmetry import reduce
from fluxscale.instance.instance import Instance
from fluxscale.solving.protocol import Plan, SolveParams
from fluxscale_solvers.heuristics.candidates import Candidate, run_rule
from fluxscale_solvers.heuristics.improvement import backfill
from fluxscale_solvers.heuristics.inputs import prepare
from fluxscale_solvers.heuristics.list_scheduling import ListScheduling
from fluxscale_solvers.heuristics.rules import FIXED_RULES, random_rule

RULE_PLACEMENTS = 4_000_000
"""Op placements for rules, and as many again for backfilling: seconds at most."""

LARGE_OPS = 20_000
"""From so many ops on, identical parts are looked for and solved once: there list scheduling has only time for
rules, and backfilling a part is worth more."""


def starting_points(
    instance: Instance, given: Plan | None, count: int, seed: int, deadline: float | None = None
) -> list[Incumbent]:
    """Make ``count`` different schedules, or as many as there are; the best comes first.

    Parameters
    ----------
    instance
        The problem.
    given
        A plan that is known.
    count
        How many are wanted, at least 1.
    seed
        Root seed of rules with chance.
    deadline
        ``time.monotonic()`` of the whole search's end, or None; scheduling parts may take half of what is left.
    """
    found = [] if given is None else [make_incumbent(instance, given.op_start_ticks, given.leg_plane)]
    if instance.n_ops >= LARGE_OPS:
        found += _of_parts(instance, seed, deadline)
    if len(found) < count:
        _add_rules(instance, found, count, seed)
    found.sort(key=lambda incumbent: incumbent.value_ticks)
    return found[:count]


def _of_parts(instance: Instance, seed: int, deadline: float | None) -> list[Incumbent]:
    """Schedule one of each set of identical parts and copy it.

    Should the copies not fit together, the order of their starts is an order of all ops still.
    """
    reduction = reduce(instance)
    if reduction is None:
        return []
    limit = None if deadline is None else max(0.01, (deadline - time.monotonic()) / 2)
    outcome = ListScheduling().solve(reduction.instance, SolveParams(limit, seed=seed), lambda _: None)
    if outcome.plan is None:
        return []
    lifted = reduction.lift(outcome.plan)
    return [make_incumbent(instance, lifted.op_start_ticks, lifted.leg_plane)]


def _add_rules(instance: Instance, found: list[Incumbent], count: int, seed: int) -> None:
    """Add schedules of list rules, backfilled, best first, one of each value, until there are ``count``."""
    prepared = prepare(instance)
    n = max(1, instance.n_ops)
    n_rules = min(max(RULE_PLACEMENTS // n, 2), 32)
    rules = [*FIXED_RULES, *(random_rule(number) for number in range(n_rules))][:n_rules]
    by_value: dict[int, Candidate] = {}
    for rule in rules:
        candidate = run_rule(instance, prepared, rule, seed)
        by_value.setdefault(candidate.value, candidate)
    evaluations = 4 * RULE_PLACEMENTS // (n * count)
    seen = {incumbent.value_ticks for incumbent in found}
    for value in sorted(by_value):
        if len(found) == count:
            break
        better, _ = backfill(instance, prepared, by_value[value], evaluations)
        plan = prepared.plan(better.start, better.leg_option)
        incumbent = make_incumbent(instance, plan.op_start_ticks, plan.leg_plane)
        if incumbent.value_ticks not in seen or not found:
            seen.add(incumbent.value_ticks)
            found.append(incumbent)
