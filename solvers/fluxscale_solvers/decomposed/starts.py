"""Schedules to begin from: the one given, then the best of several list rules, backfilled."""

from __future__ import annotations

from fluxscale.decompose.incumbent import Incumbent, make_incumbent
from fluxscale.instance.instance import Instance
from fluxscale.solving.protocol import Plan
from fluxscale_solvers.heuristics.candidates import Candidate, run_rule
from fluxscale_solvers.heuristics.improvement import backfill
from fluxscale_solvers.heuristics.inputs import prepare
from fluxscale_solvers.heuristics.rules import FIXED_RULES, random_rule

RULE_PLACEMENTS = 4_000_000
"""Op placements for rules, and as many again for backfilling: seconds at most."""


def starting_points(instance: Instance, given: Plan | None, count: int, seed: int) -> list[Incumbent]:
    """Make ``count`` different schedules, or as many as there are.

    Parameters
    ----------
    instance
        The problem.
    given
        A plan that is known; it comes first.
    count
        How many are wanted, at least 1.
    seed
        Root seed of rules with chance.
    """
    found = [] if given is None else [make_incumbent(instance, given.op_start_ticks, given.leg_plane)]
    if len(found) >= count:
        return found
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
    return found
