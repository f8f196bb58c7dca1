from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from fluxscale.bounds import best_bound
from fluxscale.decompose.colours import colour
from fluxscale.decompose.restrict import restrict
from fluxscale.decompose.symmetry import reduce
from fluxscale.instance.names import Names, OpLabels
from fluxscale.kernels.refine import relabel
from fluxscale.kernels.section import transpose
from tests.small_world import CYCLIC, PRESET, Op, Plane, build, objective, optimum, replicas, serial


@dataclass(frozen=True)
class Plan:
    op_start_ticks: np.ndarray
    leg_plane: np.ndarray


def colours_of(instance):
    found = colour(instance, instance.n_ops + 1)
    assert found is not None
    return found


def refined_naively(instance):
    """Colour refinement with Python tuples; returns one class number for each op."""
    n = instance.n_ops
    preds = [instance.pred_index[instance.pred_indptr[i] : instance.pred_indptr[i + 1]].tolist() for i in range(n)]
    succs = [[j for j in range(n) for p in preds[j] if p == i] for i in range(n)]
    legs = [range(instance.leg_indptr[i], instance.leg_indptr[i + 1]) for i in range(n)]
    place, before, after, line = [-1] * n, [-1] * n, [-1] * n, [()] * n
    base = [(int(instance.op_kind[i]), int(instance.op_bytes[i]), int(instance.op_fixed_ticks[i])) for i in range(n)]
    for d in range(instance.n_devices):
        order = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        for k, op in enumerate(order):
            place[op], line[op] = k, tuple(base[o] for o in order)
            before[op] = order[k - 1] if k else -1
            after[op] = order[k + 1] if k + 1 < len(order) else -1
    op = [(base[i], place[i], line[i], len(legs[i])) for i in range(n)]
    endpoint = [
        tuple(int(d) for d in instance.plane_delay_ticks[instance.attach[:, e] >= 0])
        for e in range(instance.n_endpoints)
    ]
    for _ in range(n):

        def of(i, op=op):
            return op[i] if i >= 0 else None

        new_op = [
            (
                op[i],
                tuple(sorted(repr(op[p]) for p in preds[i])),
                tuple(sorted(repr(op[s]) for s in succs[i])),
                of(before[i]),
                of(after[i]),
                tuple(sorted(repr((endpoint[instance.leg_tx[k]], endpoint[instance.leg_rx[k]])) for k in legs[i])),
            )
            for i in range(n)
        ]
        sends = [[] for _ in endpoint]
        receives = [[] for _ in endpoint]
        for i in range(n):
            for k in legs[i]:
                tx, rx = instance.leg_tx[k], instance.leg_rx[k]
                sends[tx].append(repr((op[i], endpoint[rx])))
                receives[rx].append(repr((op[i], endpoint[tx])))
        new_endpoint = [
            (endpoint[e], tuple(sorted(sends[e])), tuple(sorted(receives[e]))) for e in range(len(endpoint))
        ]
        numbers = {c: k for k, c in enumerate(dict.fromkeys(map(repr, new_op)))}
        ends = {c: k for k, c in enumerate(dict.fromkeys(map(repr, new_endpoint)))}
        stable = len(numbers) == len(set(map(repr, op))) and len(ends) == len(set(map(repr, endpoint)))
        op, endpoint = [numbers[repr(c)] for c in new_op], [ends[repr(c)] for c in new_endpoint]
        if stable:
            break
    return op


@pytest.mark.parametrize(
    "instance",
    [replicas(3, 2, 1, 2), replicas(2, 3, 2, 1), replicas(4, 1, 1, 2), replicas(3, 2, 2, 2, ring=False)],
    ids=str,
)
def test_colours_against_the_plain_twin(instance):
    assert colours_of(instance).op.tolist() == refined_naively(instance)


def test_a_changed_size_far_away_tells_replicas_apart():
    instance = replicas(4, 2, 1, 2)
    sizes = instance.op_bytes.copy()
    sizes[np.flatnonzero(sizes)[0]] += 1
    other = build([], endpoints=0).__class__(**{**vars_of(instance), "op_bytes": sizes})
    assert colours_of(other).n_op > colours_of(instance).n_op
    assert reduce(other) is None


def vars_of(instance):
    from fluxscale.instance.instance import COLUMNS, SCALARS

    return {name: getattr(instance, name) for name in (*COLUMNS, *SCALARS)} | {"names": instance.names}


def test_more_colours_than_useful_end_the_search():
    assert colour(replicas(4, 1, 1, 2), 5) is None


@pytest.mark.parametrize("limit", [10, 60_000])
def test_relabel_numbers_by_first_appearance(limit):
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 2**63, 50_000, dtype=np.uint64)[rng.integers(0, 50_000, 200_000)]
    colours, count = relabel(hashes, limit)
    if limit == 10:
        assert count == -1
        return
    first = {h: k for k, h in enumerate(dict.fromkeys(hashes.tolist()))}
    assert count == len(first)
    assert colours.tolist() == [first[h] for h in hashes.tolist()]


def test_transpose():
    indptr, index = transpose(np.array([0, 0, 1, 3]), np.array([0, 0, 1], dtype=np.int32))
    assert indptr.tolist() == [0, 2, 3, 3]
    assert index.tolist() == [1, 2, 2]


@pytest.mark.parametrize(("copies", "rails", "endpoints"), [(2, 1, 8), (4, 1, 12), (4, 2, 12), (8, 4, 12)])
def test_replicas_and_rails_fold_into_one(copies, rails, endpoints):
    full = replicas(4, copies, rails, 3)
    reduction = reduce(full)
    assert reduction is not None
    one = reduction.instance
    # One copy and rail: 4 stages x 3 x (F and B), the transfers between them, and a ring leg on each side.
    assert one.n_ops == 4 * 3 * 2 + 2 * 3 * 3 + 4
    assert (one.n_devices, one.n_planes, one.n_endpoints) == (4, 1, endpoints)
    assert np.diff(one.leg_indptr).max() == 2
    assert reduction.factor == full.n_ops / one.n_ops
    assert reduction.summary.startswith(
        f"{full.n_endpoints} endpoints -> {endpoints}, {full.n_ops} ops -> {one.n_ops} (x"
    )


def test_the_section_is_coherent():
    full = replicas(4, 4, 2, 3)
    reduction = reduce(full)
    assert reduction is not None
    one = reduction.instance
    transfers = np.flatnonzero(np.diff(one.leg_indptr) == 1)
    # Every transfer still has its producer and feeds the next stage: nothing was torn apart.
    assert (np.diff(one.pred_indptr)[transfers] == 1).all()
    feeds = set(one.pred_index.tolist())
    assert set(transfers.tolist()) <= feeds
    senders = set(one.leg_tx[one.leg_indptr[transfers]].tolist())
    assert len(senders) == 4


@pytest.mark.parametrize("boundary", [0, 1, 2])
@pytest.mark.parametrize(("copies", "rails"), [(2, 1), (3, 2)])
def test_a_lifted_schedule_is_one_of_the_full_instance(copies, rails, boundary):
    full = replicas(3, copies, rails, 2, boundary=boundary)
    reduction = reduce(full)
    assert reduction is not None
    one = reduction.instance
    start = serial(one, range(one.n_ops), [0] * one.n_legs)
    assert start is not None
    lifted = reduction.lift(Plan(np.array(start), np.zeros(one.n_legs, dtype=np.int16)))
    assert isinstance(lifted, Plan)
    assert lifted.leg_plane.dtype == np.int16
    planes = lifted.leg_plane.tolist()
    assert planes == (full.leg_tx % rails).tolist()
    assert objective(full, lifted.op_start_ticks.tolist(), planes) == objective(one, start, [0] * one.n_legs)
    # Placing the ops again in the order of the lifted starts delays none of them, so the lifted starts are feasible.
    order = np.lexsort((np.arange(full.n_ops), lifted.op_start_ticks)).tolist()
    again = serial(full, order, planes)
    assert again is not None
    assert all(a <= b for a, b in zip(again, lifted.op_start_ticks.tolist(), strict=True))


def choosing(copies):
    """Copies of two transfers that may each use either of two planes (which differ), and that start at once."""
    ops, n = [], 3 * copies
    for c in range(copies):
        ops += [Op(size=4, legs=[(3 * c, 3 * c + 1)]), Op(size=4, legs=[(3 * c, 3 * c + 2)])]
    planes = []
    for c in range(copies):
        ends = range(3 * c, 3 * c + 3)
        planes += [Plane(delay=3, endpoints=ends), Plane(delay=4, endpoints=ends)]
    return build(ops, planes, PRESET, n)


def test_planes_that_may_be_chosen_stay_apart_and_are_lifted_by_place():
    full = choosing(3)
    reduction = reduce(full)
    assert reduction is not None
    one = reduction.instance
    # Both transfers of a copy look alike; only one of them represents them.
    assert (one.n_ops, one.n_planes) == (1, 2)
    lifted = reduction.lift(Plan(np.zeros(1, dtype=np.int64), np.array([1], dtype=np.int16)))
    assert lifted.leg_plane.tolist() == [1, 1, 3, 3, 5, 5]


def test_equal_transfers_of_one_port_fold_into_a_plan_that_is_not_feasible():
    """Colours alone prove nothing: the framework checks the lifted plan."""
    full = build([Op(size=4, legs=[(0, k)]) for k in (1, 2)], [Plane(delay=3)])
    reduction = reduce(full)
    assert reduction is not None
    best, whole = optimum(reduction.instance), optimum(full)
    assert best is not None
    assert whole is not None
    assert best[0] == 4 < whole[0] == 11


def test_rings_without_a_pipeline():
    full = replicas(1, 4, 2, 3, ring=True)
    reduction = reduce(full)
    assert reduction is not None
    assert reduction.instance.n_ops == 7
    assert reduction.instance.n_endpoints == 3


def test_a_ring_of_single_transfers_has_no_section():
    ops = [Op(size=3, legs=[(k, (k + 1) % 4)]) for k in range(4)]
    assert reduce(build(ops)) is None


def test_nothing_to_gain():
    assert reduce(replicas(4, 1, 1, 2)) is None
    assert reduce(build([], endpoints=0)) is None


def test_bounds_of_the_part_hold_for_the_whole():
    full = replicas(4, 3, 2, 4, delay=9)
    reduction = reduce(full)
    assert reduction is not None
    planes = (full.leg_tx % 2).tolist()
    feasible = serial(full, range(full.n_ops), planes)
    assert feasible is not None
    assert best_bound(reduction.instance).ticks <= objective(full, feasible, planes)


def named(instance):
    n = instance.n_ops
    none = np.full(n, -1)
    labels = OpLabels(np.zeros(n, dtype=np.int8), none, none, np.arange(n), none, none, none)
    names = Names(endpoints=[f"nic{e}" for e in range(instance.n_endpoints)], labels=labels)
    return type(instance)(**{**vars_of(instance), "names": names})


def test_names_go_with_what_is_kept():
    full = named(replicas(2, 2, 2, 1))
    reduction = reduce(full)
    assert reduction is not None
    names = reduction.instance.names
    assert names.labels is not None
    kept = names.labels.micro_batch
    assert names.op(3) == f"F.m{kept[3]}"
    assert all(name.startswith("nic") for name in names.endpoints)
    assert names.plane(0) == "plane0"


def test_restriction_keeps_order_and_edges_between_kept_ops():
    full = replicas(3, 2, 1, 2)
    ops = np.arange(0, full.n_ops, 2)
    part = restrict(full, ops, np.ones(full.n_legs, dtype=bool))
    assert part.n_ops == len(ops)
    for new, old in enumerate(ops.tolist()):
        preds = full.pred_index[full.pred_indptr[old] : full.pred_indptr[old + 1]]
        assert part.pred_index[part.pred_indptr[new] : part.pred_indptr[new + 1]].tolist() == [
            p // 2 for p in preds if p % 2 == 0
        ]
    lines = [full.device_ops[full.device_indptr[d] : full.device_indptr[d + 1]] for d in range(full.n_devices)]
    kept = [[int(o) // 2 for o in line if o % 2 == 0] for line in lines]
    mine = [part.device_ops[part.device_indptr[d] : part.device_indptr[d + 1]].tolist() for d in range(part.n_devices)]
    assert mine == [line for line in kept if line]
    assert all((part.op_device[line] == d).all() for d, line in enumerate(mine))
    assert part.boundary == full.boundary


def test_restriction_without_legs_or_with_everything():
    full = replicas(2, 2, 1, 1, boundary=CYCLIC)
    everything = restrict(full, np.arange(full.n_ops), np.ones(full.n_legs, dtype=bool))
    assert everything.sha256 == full.sha256
    computes = np.flatnonzero(full.op_device >= 0)
    bare = restrict(full, computes, np.zeros(full.n_legs, dtype=bool))
    assert (bare.n_legs, bare.n_endpoints, bare.n_planes) == (0, 0, 0)
    assert best_bound(bare).ticks == 9
