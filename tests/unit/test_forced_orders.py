from __future__ import annotations

import numpy as np
import pytest

from fluxscale.bounds import critical_path, port_load, setup_path
from fluxscale.bounds.ports import fixed_ports
from fluxscale.bounds.times import NO_ARCS, times
from fluxscale.instance.derived import derive
from fluxscale.kernels.selection import exclusive_pairs, probe, propagate
from fluxscale.kernels.setups import setup_arcs
from tests.small_world import PRESET, Op, Plane, build, optimum, replicas


def pairs_of(instance):
    ports, legs = fixed_ports(instance), (derive(instance).leg_op, instance.leg_tx, instance.leg_rx)
    return exclusive_pairs(ports.indptr, ports.member, *legs, ports.delay, ports.both_ways)


def listed(pairs):
    return sorted((*sorted((int(a), int(b))), int(g)) for a, b, g in zip(*pairs, strict=True))


class State:
    """Heads, tails and orders before any horizon."""

    def __init__(self, instance):
        known = times(instance)
        self.pairs = pairs_of(instance)
        self.order = np.zeros(len(self.pairs[0]), dtype=np.int8)
        self.head, self.tail, self.ticks = known.head.copy(), known.tail.copy(), known.ticks
        self.graph = (known.order, instance.pred_indptr, instance.pred_index, derive(instance).prev_on_device)

    def call(self, step, horizon, budget=10**9):
        return step(self.pairs, self.order, self.head, self.tail, self.ticks, horizon, self.graph, NO_ARCS, budget)


def test_pairs_share_a_port():
    ops = [Op(size=1, legs=[(0, 1)]), Op(size=1, legs=[(0, 2)]), Op(size=1, legs=[(3, 1)]), Op(size=1, legs=[(0, 1)])]
    # The two transfers over one circuit share both of its ports.
    expected = [(0, 1, 7), (0, 2, 7), (0, 3, 0), (0, 3, 0), (1, 3, 7), (2, 3, 7)]
    assert listed(pairs_of(build(ops, [Plane(delay=7)]))) == expected


def test_directions_of_a_duplex_circuit_do_not_exclude_each_other():
    ops = [Op(size=1, legs=[(0, 1)]), Op(size=1, legs=[(1, 0)]), Op(size=1, legs=[(2, 0)])]
    assert listed(pairs_of(build(ops, [Plane(delay=7, duplex=True)]))) == [(0, 2, 7), (1, 2, 7)]
    assert listed(pairs_of(build(ops, [Plane(delay=7)]))) == [(1, 2, 7)]


def test_legs_of_one_gang_and_legs_with_a_choice_are_left_out():
    gang = [Op(size=1, legs=[(0, 1), (1, 0)])]
    assert listed(pairs_of(build(gang, [Plane(delay=7, duplex=True)]))) == []
    choice = [Op(size=1, legs=[(0, 1)]), Op(size=1, legs=[(0, 2)])]
    assert listed(pairs_of(build(choice, [Plane(delay=7), Plane(delay=7)]))) == []


def two_after_one():
    """Two legs of one port; the second may not start before 20."""
    ops = [Op(size=5, legs=[(0, 1)]), Op(ticks=20), Op(size=5, after=[1], legs=[(0, 2)]), Op(ticks=30, after=[0])]
    return build(ops, [Plane(delay=10)])


def test_a_horizon_fixes_orders():
    state = State(two_after_one())
    # The second leg first would end at 20 + 5 + 10 + 5 + 30 = 70.
    assert state.call(propagate, 70)[0]
    assert state.order.tolist() == [0]
    assert state.call(propagate, 69)[0]
    assert (state.pairs[0][0], state.pairs[1][0], state.order[0]) in {(0, 2, 1), (2, 0, -1)}
    assert state.head.tolist() == [0, 0, 20, 5]
    assert state.tail[0] == 30


def test_a_pair_that_fits_in_neither_order_contradicts_the_horizon():
    instance = build([Op(size=5, legs=[(0, 1)]), Op(size=5, legs=[(0, 2)])], [Plane(delay=10)])
    assert State(instance).call(propagate, 20)[0]
    assert not State(instance).call(propagate, 19)[0]


def test_a_fixed_order_stays_fixed_and_carries_later_news():
    state = State(two_after_one())
    state.order[0] = 1 if state.pairs[0][0] == 2 else -1
    assert state.call(propagate, 70)[0]
    assert state.head.tolist() == [35, 0, 20, 40]
    assert state.tail[2] == 10 + 5 + 30


def triangle():
    """Three endpoints, each sends to one other and receives from the third, with long tails all round."""
    ops = [Op(size=6, legs=[(0, k)]) for k in (1, 2, 3)]
    ops += [Op(ticks=12, after=[k]) for k in range(3)]
    return build(ops, [Plane(delay=8)], PRESET)


def test_probing_never_contradicts_what_is_possible():
    instance = triangle()
    best = optimum(instance)
    assert best is not None
    state = State(instance)
    assert state.call(propagate, best[0])[0]
    assert state.call(probe, best[0])[0]
    lower = State(instance)
    assert not (lower.call(propagate, 33)[0] and lower.call(probe, 33)[0])


def test_probing_keeps_its_budget_and_stops_early_as_possible():
    state = State(replicas(4, 1, 1, 6, delay=40))
    horizon = 10**6
    assert state.call(propagate, horizon)[0]
    possible, visits = state.call(probe, horizon, budget=3 * len(state.order))
    assert possible
    assert visits <= 5 * len(state.order)


def test_probing_raises_the_bound_where_propagation_is_blind(monkeypatch):
    instance = replicas(4, 1, 1, 6, delay=40)
    probed = setup_path(instance)
    monkeypatch.setattr("fluxscale.bounds.propagation.LEAST_PROBES", 10**12)
    plain = setup_path(instance)
    assert plain is not None
    assert probed is not None
    assert max(critical_path(instance).ticks, port_load(instance).ticks) <= plain.ticks <= probed.ticks


@pytest.mark.parametrize("delay", [0, 4])
def test_setup_arcs_skip_what_follows(delay):
    chain = [Op(size=1, after=[k - 1] if k else [], legs=[(0, 1 + k % 3)]) for k in range(5)]
    instance = build(chain, [Plane(delay=delay)])
    ports, n = fixed_ports(instance), instance.n_ops
    column = np.arange(n)
    bits = np.array([[sum(1 << j for j in range(i + 1, n))] for i in range(n)], dtype=np.uint64)
    legs = (derive(instance).leg_op, instance.leg_tx, instance.leg_rx)
    source, target, gap = setup_arcs(ports.indptr, ports.member, *legs, ports.delay, np.arange(n), bits, column)
    found = list(zip(source.tolist(), target.tolist(), gap.tolist(), strict=True))
    # Each leg follows the one just before it; on the receiving ports there is a single circuit.
    assert found == ([(k, k + 1, delay) for k in range(4)] if delay else [])


def test_many_setup_arcs_outgrow_the_first_room():
    chain = [Op(size=1, after=[k - 1] if k else [], legs=[(0, 1 + k % 2)]) for k in range(1500)]
    bound = setup_path(build(chain, [Plane(delay=3)]), work_limit=0)
    assert bound is not None
    assert bound.ticks == 1500 + 1499 * 3
