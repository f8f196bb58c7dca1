"""The set-up-path bound: longest paths through the set-ups that precedence, or a horizon, forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.bound import Bound
from fluxscale.bounds.critical_path import listed, path_to
from fluxscale.bounds.port_load import load
from fluxscale.bounds.ports import Ports, fixed_ports
from fluxscale.bounds.times import times
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.closure import reach_bits
from fluxscale.kernels.longest_path import heads, tails
from fluxscale.kernels.selection import exclusive_pairs, probe, propagate
from fluxscale.kernels.setups import setup_arcs

Ints = npt.NDArray[Any]

MAX_TABLE_BYTES = 400 * 1024**2
"""Largest reachability table that is built; instances beyond it have no set-up-path bound."""

PAIR_VISITS = 400_000_000
"""Default work limit: visits of pairs of legs in the search for a horizon (one to two seconds)."""

LEAST_ROUNDS = 50
"""Instances with so many pairs that the work limit allows fewer visits of each are not searched."""

FIRST_STEP, PRECISION = 2_000, 50_000
"""The search for a horizon begins with steps of one part in the first, and ends with one in the second number."""

PROBING_STEP = 1_000
"""With probing, which makes each horizon dear, the first and the last step are one part in this."""

LEAST_PROBES = 5_000
"""Probing is left out where the work limit allows fewer visits of each pair."""


def setup_path(instance: Instance, work_limit: int = PAIR_VISITS) -> Bound | None:
    """Longest path with forced set-ups, raised by horizons that lead to a contradiction.

    1. *Fixed orders.* Where two legs on one port use different circuits and precedence (with device order) puts op i
       before op j, then start of j >= end of i + delay: the per-port rule, which the epochs of an all-stop plane obey
       as well. The longest path with these arcs bounds every schedule.
    2. *Forced orders.* Suppose that a schedule ends by T. Then each op starts in [head, T - tail - duration], and of
       two legs that exclude each other on a port, one that cannot go first must go second, which raises heads and
       tails. If this ends in a contradiction (neither can go first, a path or a port's load exceeds T), no schedule
       ends by T, and T + 1 is a bound. The largest such T is searched for.
    3. *Probing.* Where there are few pairs, each open one is tried both ways; a way that contradicts T fixes the other.

    Only legs with a single plane take part; durations are least durations, so the bound holds whatever planes the
    others take.

    Parameters
    ----------
    instance
        The instance.
    work_limit
        Visits of pairs of legs in steps 2 and 3 (deterministic); 0 leaves both out.

    Returns
    -------
    Bound or None
        Named ``setup-path``; None for instances so large that the reachability table would exceed ``MAX_TABLE_BYTES``.
        The proof has the path of step 1 and, where step 2 raised the bound, the horizon that is contradicted.

    Raises
    ------
    InputError
        If precedence and device order form a cycle.
    """
    known = times(instance)
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr) > 0)
    words = -(-len(with_legs) // 64)
    if not words or instance.n_ops * words * 8 > MAX_TABLE_BYTES:
        return None
    ports = fixed_ports(instance)
    arcs = _arcs(instance, ports, known.order, with_legs, words)
    graph = (known.order, instance.pred_indptr, instance.pred_index, derive(instance).prev_on_device)
    head, critical = heads(*graph, known.ticks, known.release, *arcs)
    last = int((head + known.ticks).argmax())
    value = int(head[last] + known.ticks[last])
    proof: dict[str, Any] = listed(path_to(last, critical))
    tail = tails(*graph, known.ticks, np.zeros_like(head), *arcs)
    search = _Search(instance, ports, graph, known.ticks, arcs, head, tail, work_limit)
    raised = search.run(value)
    if raised > value:
        proof |= {"path_ticks": value, "contradicted_horizon_ticks": raised - 1, "pair_visits": search.visits}
    return Bound("setup-path", raised, proof)


def _arcs(instance: Instance, ports: Ports, order: Ints, with_legs: Ints, words: int) -> tuple[Ints, Ints, Ints]:
    """Set-up arcs of step 1, as CSR by target."""
    derived, n = derive(instance), instance.n_ops
    follows = np.flatnonzero(derived.next_on_device >= 0)
    source = np.concatenate([instance.pred_index, follows])
    target = np.concatenate([np.repeat(np.arange(n), np.diff(instance.pred_indptr)), derived.next_on_device[follows]])
    by_source = np.argsort(source, kind="stable")
    column = np.full(n, -1, dtype=np.int64)
    column[with_legs] = np.arange(len(with_legs))
    bits = reach_bits(order.astype(np.int64), _indptr(source, n), target[by_source].astype(np.int64), column, words)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    found = setup_arcs(
        ports.indptr,
        ports.member,
        derived.leg_op,
        instance.leg_tx,
        instance.leg_rx,
        ports.delay,
        position,
        bits,
        column,
    )
    sort = np.argsort(found[1], kind="stable")
    return _indptr(found[1], n), found[0][sort], found[2][sort]


def _indptr(rows: Ints, n: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)


@dataclass
class _Search:
    """Search for the largest horizon that is contradicted, within a number of visited pairs."""

    instance: Instance
    ports: Ports
    graph: tuple[Ints, Ints, Ints, Ints]
    ticks: Ints
    arcs: tuple[Ints, Ints, Ints]
    head: Ints
    tail: Ints
    work_limit: int
    visits: int = 0

    def run(self, value: int) -> int:
        """Raise a bound by propagation alone, then with few enough pairs by probing as well."""
        sizes = np.diff(self.ports.indptr)
        most = int((sizes * (sizes - 1) // 2).sum())
        if not most or most * LEAST_ROUNDS > self.work_limit:
            return value
        legs = (derive(self.instance).leg_op, self.instance.leg_tx, self.instance.leg_rx)
        pairs = exclusive_pairs(self.ports.indptr, self.ports.member, *legs, self.ports.delay, self.ports.both_ways)
        value = self._raise(value, pairs, probing=False)
        if len(pairs[0]) * LEAST_PROBES <= self.work_limit - self.visits:
            value = self._raise(value, pairs, probing=True)
        return value

    def _raise(self, value: int, pairs: tuple[Ints, Ints, Ints], *, probing: bool) -> int:
        """Try horizons in steps that double until one is not contradicted, then halve."""
        first, precision = (PROBING_STEP, PROBING_STEP) if probing else (FIRST_STEP, PRECISION)
        step, growing = max(1, value // first), True
        while step and self.visits < self.work_limit:
            if self._contradicted(value + step - 1, pairs, probing=probing):
                value += step
                step = step * 2 if growing else step // 2
            else:
                growing = False
                step //= 2
            if not growing and step < value // precision:
                break
        return value

    def _contradicted(self, horizon: int, pairs: tuple[Ints, Ints, Ints], *, probing: bool) -> bool:
        """Whether propagation shows that no schedule ends by the horizon."""
        head, tail = self.head.copy(), self.tail.copy()
        order = np.zeros(len(pairs[0]), dtype=np.int8)
        for step in (propagate, probe) if probing else (propagate,):
            left = self.work_limit - self.visits
            possible, visits = step(pairs, order, head, tail, self.ticks, horizon, self.graph, self.arcs, left)
            self.visits += int(visits)
            if not possible:
                return True
        return load(self.instance, self.ports, head, self.ticks, tail)[0] > horizon
