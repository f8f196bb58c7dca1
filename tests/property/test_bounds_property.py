from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fluxscale.bounds import best_bound, critical_path, port_load, setup_path
from fluxscale.decompose.symmetry import reduce
from tests.small_world import (
    CYCLIC,
    DARK,
    PRESET,
    Op,
    Plane,
    build,
    objective,
    optimum,
    plane_choices,
    replicas,
    serial,
)


@dataclass(frozen=True)
class Plan:
    op_start_ticks: np.ndarray
    leg_plane: np.ndarray


@st.composite
def worlds(draw, max_ops, boundaries):
    """Small instances: computes, transfers, gangs and delays on one or two planes of either kind."""
    n_endpoints = draw(st.integers(2, 4))
    planes = draw(
        st.lists(
            st.builds(
                Plane,
                delay=st.integers(0, 12),
                rate=st.sampled_from([8 * 10**9, 4 * 10**9]),
                latency=st.integers(0, 2),
                duplex=st.booleans(),
            ),
            min_size=1,
            max_size=2,
        )
    )
    circuit = st.tuples(st.integers(0, n_endpoints - 1), st.integers(0, n_endpoints - 1)).filter(lambda c: c[0] != c[1])
    ops = []
    for i in range(draw(st.integers(1, max_ops))):
        after = draw(st.lists(st.sampled_from(range(i)), max_size=2, unique=True)) if i else []
        what = draw(st.sampled_from(["compute", "local", "transfer", "transfer", "transfer", "gang"]))
        if what == "compute":
            ops.append(Op(ticks=draw(st.integers(0, 9)), after=after, device=draw(st.integers(0, 1))))
        elif what == "local":
            ops.append(Op(ticks=draw(st.integers(0, 9)), after=after))
        else:
            legs = draw(st.lists(circuit, min_size=1, max_size=1 if what == "transfer" else 2, unique=True))
            fixed = draw(st.sampled_from([-1, -1, 5]))
            ops.append(Op(ticks=fixed, size=draw(st.integers(1, 9)), after=after, legs=legs))
    return build(ops, planes, draw(st.sampled_from(boundaries)), n_endpoints)


def all_bounds(instance):
    found = [critical_path(instance), port_load(instance), setup_path(instance), setup_path(instance, work_limit=0)]
    return [bound for bound in found if bound is not None]


@settings(deadline=None, max_examples=150)
@given(worlds(max_ops=5, boundaries=[DARK, PRESET]))
def test_no_bound_exceeds_the_optimum(instance):
    best = optimum(instance)
    assume(best is not None)
    for bound in all_bounds(instance):
        assert bound.ticks <= best[0], bound
    assert best_bound(instance).ticks == max(bound.ticks for bound in all_bounds(instance))


@settings(deadline=None, max_examples=150)
@given(worlds(max_ops=12, boundaries=[DARK, PRESET, CYCLIC]), st.randoms(use_true_random=False))
def test_no_bound_exceeds_a_feasible_value(instance, random):
    planes = random.choice(plane_choices(instance)[:64])
    start = serial(instance, range(instance.n_ops), planes)
    assume(start is not None)
    value = objective(instance, start, planes)
    for bound in all_bounds(instance):
        assert bound.ticks <= value, bound


def doubled(instance, apart):
    """Two copies of an instance side by side, on the same planes."""
    n, e, d = instance.n_ops, instance.n_endpoints, instance.n_devices
    columns = {name: getattr(instance, name) for name in ("plane_rate_bps", "plane_latency_ticks", "plane_delay_ticks")}
    columns |= {name: getattr(instance, name) for name in ("plane_radix", "plane_all_stop", "plane_duplex")}

    def twice(column, shift=0):
        return np.concatenate([column, column + shift])

    def pointer(column):
        return np.concatenate([column, column[1:] + column[-1]])

    device = np.where(instance.op_device >= 0, instance.op_device + d, -1)
    return type(instance)(
        op_kind=twice(instance.op_kind),
        op_device=np.concatenate([instance.op_device, device]),
        op_bytes=twice(instance.op_bytes, apart * (instance.op_bytes > 0)),
        op_fixed_ticks=twice(instance.op_fixed_ticks),
        pred_indptr=pointer(instance.pred_indptr),
        pred_index=twice(instance.pred_index, n),
        device_indptr=pointer(instance.device_indptr),
        device_ops=twice(instance.device_ops, n),
        leg_indptr=pointer(instance.leg_indptr),
        leg_tx=twice(instance.leg_tx, e),
        leg_rx=twice(instance.leg_rx, e),
        attach=np.concatenate([instance.attach, instance.attach], axis=1),
        injection_rate_bps=instance.injection_rate_bps,
        boundary=instance.boundary,
        **columns,
    )


@settings(deadline=None, max_examples=100)
@given(worlds(max_ops=5, boundaries=[DARK, PRESET]))
def test_the_optimum_of_a_reduction_never_exceeds_that_of_the_whole(instance):
    """Also where colours fold too much: the reduced instance is a restriction, whatever the colours say."""
    whole = optimum(instance)
    assume(whole is not None)
    reduction = reduce(doubled(instance, 0))
    if reduction is None:
        return
    part = optimum(reduction.instance)
    assert part is not None
    assert part[0] <= whole[0]
    if reduction.instance.n_ops == instance.n_ops:
        assert part[0] == whole[0]
    lifted = reduction.lift(Plan(np.array(part[1]), np.array(part[2], dtype=np.int16)))
    assert len(lifted.op_start_ticks) == 2 * instance.n_ops
    assert len(lifted.leg_plane) == 2 * instance.n_legs


@settings(deadline=None, max_examples=60)
@given(worlds(max_ops=6, boundaries=[DARK, PRESET, CYCLIC]))
def test_copies_with_other_sizes_are_not_folded_into_each_other(instance):
    assume(instance.n_legs > 0)
    full = doubled(instance, 1)
    by_bytes = full.op_fixed_ticks < 0
    reduction = reduce(full)
    if reduction is not None:
        sizes = set(zip(full.op_bytes[by_bytes].tolist(), full.op_kind[by_bytes].tolist(), strict=True))
        one = reduction.instance
        kept = one.op_fixed_ticks < 0
        assert set(zip(one.op_bytes[kept].tolist(), one.op_kind[kept].tolist(), strict=True)) == sizes


@settings(deadline=None, max_examples=12)
@given(
    st.integers(2, 3),
    st.integers(1, 2),
    st.integers(0, 9),
    st.sampled_from([DARK, PRESET]),
    st.integers(1, 2),
    st.booleans(),
)
def test_the_optimum_of_a_reduced_pipeline_is_the_optimum(copies, rails, delay, boundary, stages, ring):
    full = replicas(stages, copies, rails, 1, delay=delay, boundary=boundary, ring=ring)
    reduction = reduce(full)
    assert reduction is not None
    best = optimum(reduction.instance)
    assert best is not None
    value, start, planes = best
    assert best_bound(full).ticks <= value
    lifted = reduction.lift(Plan(np.array(start), np.array(planes, dtype=np.int16)))
    starts, leg_plane = lifted.op_start_ticks.tolist(), lifted.leg_plane.tolist()
    assert objective(full, starts, leg_plane) == value
    again = serial(full, np.lexsort((np.arange(full.n_ops), starts)).tolist(), leg_plane)
    assert again is not None
    assert all(a <= b for a, b in zip(again, starts, strict=True))
