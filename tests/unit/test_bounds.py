from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from fluxscale.bounds import best_bound, critical_path, port_load, setup_path
from fluxscale.bounds.times import least_ticks, release_ticks, times
from fluxscale.errors import InputError
from tests.small_world import CYCLIC, DARK, PRESET, Op, Plane, build, optimum, replicas


def star(n, delay, boundary=PRESET, size=10, duplex=False):
    """Endpoint 0 sends to n others."""
    return build([Op(size=size, legs=[(0, k + 1)]) for k in range(n)], [Plane(delay=delay, duplex=duplex)], boundary)


def test_critical_path_of_a_chain():
    instance = build([Op(ticks=4, device=0), Op(size=6, after=[0], legs=[(0, 1)]), Op(ticks=5, after=[1], device=1)])
    bound = critical_path(instance)
    assert (bound.name, bound.ticks) == ("critical-path", 15)
    assert bound.proof == {"path": [0, 1, 2], "path_length": 3, "release_ticks": 0}


def test_critical_path_follows_the_order_on_a_device():
    instance = build([Op(ticks=4, device=0), Op(ticks=5, device=0), Op(ticks=6, device=0)])
    assert critical_path(instance).ticks == 15
    assert critical_path(instance).proof["path"] == [0, 1, 2]


@pytest.mark.parametrize(("boundary", "ticks"), [(DARK, 16), (PRESET, 6), (CYCLIC, 6)])
def test_a_dark_boundary_delays_the_first_leg(boundary, ticks):
    instance = build([Op(size=6, legs=[(0, 1)])], [Plane(delay=10)], boundary)
    assert critical_path(instance).ticks == ticks
    assert critical_path(instance).proof["release_ticks"] == (10 if boundary == DARK else 0)


def test_least_durations_and_releases_over_planes():
    fast_far = Plane(delay=50, rate=16 * 10**9)
    slow_near = Plane(delay=3, latency=1)
    instance = build(
        [Op(size=8, legs=[(0, 1)]), Op(size=8, legs=[(0, 1), (2, 3)]), Op(ticks=9, legs=[(2, 3)]), Op(ticks=2)],
        [fast_far, Plane(delay=3, latency=1, endpoints=[0, 1])],
        DARK,
    )
    assert least_ticks(instance).tolist() == [4, 4, 9, 2]
    assert release_ticks(instance).tolist() == [3, 50, 50, 0]
    only_slow = build([Op(size=8, legs=[(0, 1), (2, 3)])], [Plane(rate=16 * 10**9, endpoints=[0, 1]), slow_near], DARK)
    assert least_ticks(only_slow).tolist() == [9]
    assert release_ticks(only_slow).tolist() == [3]


def test_times_are_computed_once():
    instance = star(2, 5)
    assert times(instance) is times(instance)


def test_a_cycle_is_refused():
    instance = build([Op(ticks=1, after=[1]), Op(ticks=1, after=[0])])
    with pytest.raises(InputError, match="cycle"):
        critical_path(instance)
    with pytest.raises(InputError):
        best_bound(instance)


def test_long_paths_are_cut_in_the_proof(monkeypatch):
    monkeypatch.setattr(sys.modules["fluxscale.bounds.critical_path"], "PATH_LIMIT", 4)
    instance = build([Op(ticks=1, device=0) for _ in range(9)])
    assert critical_path(instance).proof["path"] == [0, 1, 7, 8]
    assert critical_path(instance).proof["path_length"] == 9


@pytest.mark.parametrize(("boundary", "extra"), [(PRESET, 0), (DARK, 7), (CYCLIC, 7)])
def test_port_load_counts_distinct_peers(boundary, extra):
    bound = port_load(star(4, 7, boundary))
    assert bound.ticks == 4 * 10 + 3 * 7 + extra
    assert bound.proof["endpoint"] == 0
    assert bound.proof["side"] == "tx"
    assert bound.proof["wraps"] is (boundary == CYCLIC)


def test_port_load_at_the_receiver():
    instance = build([Op(size=10, legs=[(k + 1, 0)]) for k in range(3)], [Plane(delay=7)])
    assert port_load(instance).ticks == 44
    assert port_load(instance).proof["side"] == "rx"


def test_one_peer_needs_no_setup():
    instance = build([Op(size=10, legs=[(0, 1)]) for _ in range(3)], [Plane(delay=7)], CYCLIC)
    assert port_load(instance).ticks == 30


def test_directions_of_a_duplex_circuit_run_at_once():
    ops = [Op(size=10, legs=[(0, 1)]), Op(size=4, legs=[(1, 0)]), Op(size=5, legs=[(0, 2)])]
    duplex, simplex = build(ops, [Plane(delay=7, duplex=True)]), build(ops, [Plane(delay=7)])
    assert port_load(duplex).ticks == 10 + 7 + 5
    assert port_load(duplex).proof["side"] == "both"
    assert port_load(simplex).ticks == 10 + 7 + 5
    back = build([*ops, Op(size=9, legs=[(1, 0)])], [Plane(delay=7, duplex=True)])
    assert port_load(back).ticks == 13 + 7 + 5


def test_heads_and_tails_enter_the_load():
    ops = [Op(ticks=20)] + [Op(size=10, after=[0], legs=[(0, k + 1)]) for k in range(2)] + [Op(ticks=30, after=[1, 2])]
    bound = port_load(build(ops, [Plane(delay=7)]))
    assert bound.ticks == 20 + 10 + 7 + 10 + 30
    assert (bound.proof["least_head_ticks"], bound.proof["least_tail_ticks"]) == (20, 30)


def test_a_subset_can_beat_all_legs():
    ops = [Op(size=1, legs=[(0, 1)]), Op(ticks=50), *(Op(size=10, after=[1], legs=[(0, k)]) for k in (2, 3))]
    assert port_load(build(ops, [Plane(delay=7)])).ticks == 50 + 27


def test_legs_with_a_choice_share_their_planes():
    instance = build([Op(size=10, legs=[(0, k + 1)]) for k in range(3)], [Plane(delay=7), Plane(delay=7)])
    bound = port_load(instance)
    assert bound.ticks == 15
    assert bound.proof["plane"] is None
    assert bound.proof["ports"] == 2


def test_no_legs():
    instance = build([Op(ticks=3, device=0)])
    assert port_load(instance).ticks == 0
    assert setup_path(instance) is None
    assert best_bound(instance).name == "critical-path"


def test_an_empty_instance():
    assert best_bound(build([], endpoints=0)).ticks == 0


def exchange(delay):
    """Endpoint 0 sends to 1, which enables a compute op, after which endpoint 0 sends to 2; then the same to 3."""
    return build(
        [
            Op(size=1, legs=[(0, 1)]),
            Op(ticks=2, after=[0]),
            Op(size=1, after=[1], legs=[(0, 2)]),
            Op(ticks=2, after=[2]),
            Op(size=1, after=[3], legs=[(0, 3)]),
        ],
        [Plane(delay=delay)],
    )


def test_setups_between_ordered_legs_are_on_the_path():
    instance = exchange(50)
    bound = setup_path(instance)
    assert bound is not None
    assert (bound.name, bound.ticks) == ("setup-path", 103)
    assert bound.proof["path"] == [0, 2, 4]
    assert optimum(instance)[0] == 103


def test_a_hidden_setup_costs_nothing():
    bound = setup_path(exchange(2))
    assert bound is not None
    assert bound.ticks == 7


def test_same_circuit_needs_no_setup_arc():
    instance = build(
        [Op(size=1, legs=[(0, 1)]), Op(ticks=2, after=[0]), Op(size=1, after=[1], legs=[(0, 1)])], [Plane(delay=50)]
    )
    bound = setup_path(instance)
    assert bound is not None
    assert bound.ticks == 4


def crossing(delay=10):
    """Two legs on one sending port; each has a long tail, so either order costs."""
    return build(
        [
            Op(size=5, legs=[(0, 1)]),
            Op(size=5, legs=[(0, 2)]),
            Op(ticks=40, after=[0]),
            Op(ticks=30, after=[1]),
            Op(ticks=9, after=[2]),
        ],
        [Plane(delay=delay)],
    )


def test_a_contradicted_horizon_raises_the_bound():
    instance = crossing()
    best = optimum(instance)
    assert best is not None
    bound = setup_path(instance)
    assert bound is not None
    assert bound.ticks == best[0] == 54
    without = setup_path(crossing(30), work_limit=0)
    searched = setup_path(crossing(30))
    assert without is not None
    assert searched is not None
    assert without.ticks == 54
    assert "contradicted_horizon_ticks" not in without.proof
    assert searched.ticks == optimum(crossing(30))[0] == 70
    assert searched.proof["contradicted_horizon_ticks"] == 69
    assert searched.proof["path_ticks"] == 54


def test_the_work_limit_is_kept():
    instance = replicas(4, 1, 1, 6, delay=40)
    few, many = setup_path(instance, work_limit=5_000), setup_path(instance)
    assert few is not None
    assert many is not None
    assert few.ticks <= many.ticks
    assert few.proof.get("pair_visits", 0) <= 5_000 + 8 * 20 * 19 // 2


def test_too_large_for_a_table(monkeypatch):
    import fluxscale.bounds.propagation as module

    monkeypatch.setattr(module, "MAX_TABLE_BYTES", 100)
    assert setup_path(replicas()) is None
    assert best_bound(replicas()).ticks > 0


def test_best_bound_prefers_the_simplest_proof():
    assert best_bound(exchange(2)).name == "critical-path"
    assert best_bound(star(4, 7)).name == "port-load"
    assert best_bound(replicas(3, 2, 1, 2, delay=20)).name == "setup-path"


@pytest.mark.parametrize("instance", [star(3, 4), exchange(50), crossing(30), replicas()], ids=str)
def test_proofs_are_json(instance):
    for bound in (critical_path(instance), port_load(instance), setup_path(instance), best_bound(instance)):
        assert bound is not None
        assert json.loads(json.dumps(bound.proof)) == bound.proof
        assert type(bound.ticks) is int


def test_the_port_load_of_a_proof_can_be_recomputed():
    instance = replicas(4, 2, 2, 5, delay=9)
    bound = port_load(instance)
    known, proof = times(instance), bound.proof
    ends = instance.leg_tx if proof["side"] == "tx" else instance.leg_rx
    peers = instance.leg_rx if proof["side"] == "tx" else instance.leg_tx
    op = np.repeat(np.arange(instance.n_ops), np.diff(instance.leg_indptr))
    chosen = (
        (ends == proof["endpoint"])
        & (known.head[op] >= proof["least_head_ticks"])
        & (known.tail[op] >= proof["least_tail_ticks"])
    )
    busy = int(known.ticks[op[chosen]].sum())
    setups = len(set(peers[chosen].tolist())) - 1
    assert bound.ticks == proof["least_head_ticks"] + busy + 9 * setups + proof["least_tail_ticks"]
