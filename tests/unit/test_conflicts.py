from __future__ import annotations

import itertools

import numpy as np
import pytest

from fluxscale.errors import InfeasibleError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.milp import leg_pairs as pairs_module
from fluxscale.milp.conflicts import find_conflicts, select, wraps
from fluxscale.milp.extract import squeeze
from fluxscale.milp.greedy import greedy, serial_horizon
from fluxscale.milp.leg_pairs import APART, SERIAL, SWITCH, leg_pairs
from tests.property.exact_instances import faults, random_instance, relation
from tests.unit.pipeline_case import pipeline

KIND = {"serial": SERIAL, "switch": SWITCH, "apart": APART}


def replaced(instance: Instance, **columns: object) -> Instance:
    return Instance(**{**{name: getattr(instance, name) for name in instance.__dataclass_fields__}, **columns})


@pytest.mark.parametrize("seed", range(40))
def test_leg_pairs_equal_the_naive_list(seed: int) -> None:
    instance = random_instance(seed)
    derived, expected = derive(instance), []
    for plane in range(instance.n_planes):
        whole = instance.plane_all_stop[plane] and instance.plane_delay_ticks[plane] > 0
        for a, b in itertools.combinations(range(instance.n_legs), 2):
            on = [
                plane in derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]]
                for leg in (a, b)
            ]
            kind = KIND[relation(instance, plane, a, b)]
            if all(on) and (kind != APART or whole):
                expected.append((plane, a, b, kind))
    found = leg_pairs(instance)
    assert (
        sorted(zip(found.plane.tolist(), found.leg_a.tolist(), found.leg_b.tolist(), found.kind.tolist(), strict=True))
        == expected
    )


def test_pipeline_pairs_are_classified() -> None:
    conflicts = find_conflicts(pipeline(4, 8))
    assert len(conflicts.first) == 306
    assert (conflicts.first < conflicts.second).all()
    assert 0 < conflicts.n_free < 306
    assert set(conflicts.kind.tolist()) == {SERIAL, SWITCH}
    assert (conflicts.gap[conflicts.kind == SWITCH] == 20_000_000).all()
    assert (conflicts.gap[conflicts.kind == SERIAL] == 0).all()
    # Order that precedence knows and that costs no gap needs no row.
    known = conflicts.order[conflicts.pair] != 0
    assert not (known & (conflicts.kind == SERIAL)).any()


def test_immediate_selection_keeps_every_schedule_within_the_bound() -> None:
    for seed in range(60):
        instance = random_instance(seed)
        conflicts = find_conflicts(instance)
        start = greedy(instance, conflicts)
        if start is None:
            continue
        narrowed = select(instance, conflicts, start.iteration_time_ticks)
        assert narrowed is not None
        assert narrowed.n_free <= conflicts.n_free
        assert (narrowed.heads >= conflicts.heads).all()
        again = squeeze(instance, narrowed, start.op_start_ticks, start.leg_plane)
        assert again is not None
        assert again.iteration_time_ticks <= start.iteration_time_ticks


def test_immediate_selection_fixes_more_under_a_tighter_bound() -> None:
    instance = pipeline(4, 8, delay=1_000_000)
    conflicts = find_conflicts(instance)
    bounds = (400_000_000, 110_000_000, 105_400_000)
    free = [narrowed.n_free for bound in bounds if (narrowed := select(instance, conflicts, bound))]
    assert len(free) == 3
    assert free == sorted(free, reverse=True)
    assert free[-1] < conflicts.n_free / 4
    assert select(instance, conflicts, 100_000_000) is None


def test_greedy_is_valid_and_below_the_serial_horizon() -> None:
    placed = 0
    for seed in range(120):
        instance = random_instance(seed)
        conflicts = find_conflicts(instance)
        start = greedy(instance, conflicts)
        if start is None:
            continue
        placed += 1
        assert faults(instance, start.op_start_ticks, start.leg_plane, start.iteration_time_ticks) == []
        assert start.iteration_time_ticks <= serial_horizon(instance, conflicts)
    assert placed > 100


def test_wraps_leave_out_what_fixed_orders_imply() -> None:
    assert len(wraps(pipeline(3, 4), find_conflicts(pipeline(3, 4)))[0]) == 0
    instance = pipeline(3, 4, boundary=CYCLIC)
    conflicts = find_conflicts(instance)
    row, early, late = wraps(instance, conflicts)
    free = np.count_nonzero((conflicts.order[conflicts.pair] == 0) & (conflicts.kind == SWITCH))
    fixed = np.count_nonzero((conflicts.order[conflicts.pair] != 0) & (conflicts.kind == SWITCH))
    assert len(row) == 2 * free + fixed
    for k, i, j in zip(row.tolist(), early.tolist(), late.tolist(), strict=True):
        side = conflicts.order[conflicts.pair[k]]
        if side:
            ops = int(conflicts.first[conflicts.pair[k]]), int(conflicts.second[conflicts.pair[k]])
            assert (i, j) == (ops if side > 0 else ops[::-1])


def test_leg_without_a_plane_is_infeasible() -> None:
    instance = replaced(pipeline(2, 1), attach=np.array([[0, 1]], dtype=np.int32))
    with pytest.raises(InfeasibleError, match="share no switch"):
        find_conflicts(instance)


def test_gang_on_one_duplex_plane_is_infeasible() -> None:
    base = pipeline(3, 1)
    n_legs = np.diff(base.leg_indptr).copy()
    gang = int(np.flatnonzero(n_legs)[0])
    at = int(base.leg_indptr[gang])
    n_legs[gang] = 3
    tx = np.concatenate([base.leg_tx[:at], [0, 1, 2], base.leg_tx[at + 1 :]])
    rx = np.concatenate([base.leg_rx[:at], [1, 2, 0], base.leg_rx[at + 1 :]])
    indptr = np.concatenate([[0], np.cumsum(n_legs)])
    ring = replaced(base, leg_indptr=indptr, leg_tx=tx, leg_rx=rx)
    find_conflicts(ring)
    with pytest.raises(InfeasibleError, match="at the same time"):
        find_conflicts(replaced(ring, plane_duplex=np.array([True])))


def test_sizes_are_refused_with_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    conflicts = find_conflicts(pipeline(3, 4))
    conflicts.check_size(conflicts.n_free, "exact-milp")
    with pytest.raises(
        UnsupportedError, match=rf"at most 3 pairs .* has {conflicts.n_free}\. Maybe: use --solver list"
    ):
        conflicts.check_size(3, "exact-milp")
    monkeypatch.setattr(pairs_module, "MAX_CANDIDATES", 5)
    with pytest.raises(UnsupportedError, match="use --solver list"):
        leg_pairs(pipeline(3, 4))
