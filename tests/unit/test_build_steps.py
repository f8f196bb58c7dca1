from __future__ import annotations

import job_case
import numpy as np
import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.workload.build import build_dag, estimate_ops
from fluxscale.workload.dag import COMPUTE, TRANSFER
from fluxscale.workload.traffic import traffic_summary

ONE = {"gpus_per_host": 1}
SMALL = job_case.MODEL | {"layers": 2}


def steps(**parallel):
    return job_case.job(
        model=parallel.pop("model", SMALL), hardware=ONE, micro_batches=parallel.pop("micro_batches", 1), **parallel
    )


def test_ring_steps_by_hand():
    dag = build_dag(steps(tp=2, model=job_case.MODEL | {"layers": 1}))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    # Forward: attention (k0), all-reduce c0 (2 steps), feed-forward (k1), all-reduce c1, head (k2).
    assert preds["F.m0.k0@d0.r0"] == set()
    assert preds["ar.m0.c0.k0@d0.r0"] == {"F.m0.k0@d0.r0"}
    assert preds["ar.m0.c0.k1@d0.r0"] == {"ar.m0.c0.k0@d0.r0", "ar.m0.c0.k0@d0.r1"}
    assert preds["F.m0.k1@d0.r0"] == {"F.m0.k0@d0.r0", "ar.m0.c0.k0@d0.r1", "ar.m0.c0.k1@d0.r1"}
    assert preds["F.m0.k2@d0.r1"] >= {"ar.m0.c1.k1@d0.r0"}
    # Backward: head (k0), feed-forward (k1), all-reduce c2, attention (k2), all-reduce c3.
    assert preds["B.m0.k0@d0.r0"] == {"F.m0.k2@d0.r0"}
    assert preds["B.m0.k1@d0.r0"] == {"B.m0.k0@d0.r0"}
    assert preds["ar.m0.c2.k0@d0.r1"] == {"B.m0.k1@d0.r1"}
    assert preds["B.m0.k2@d0.r0"] == {"B.m0.k1@d0.r0", "ar.m0.c2.k0@d0.r1", "ar.m0.c2.k1@d0.r1"}
    assert preds["ar.m0.c3.k0@d0.r0"] == {"B.m0.k2@d0.r0"}
    assert preds["opt@d0.r0"] == {"ar.m0.c3.k0@d0.r1", "ar.m0.c3.k1@d0.r1"}
    assert legs["ar.m0.c0.k0@d0.r1"] == [(1, 0)]
    assert job_case.orders(dag)[0] == [f"F.m0.k{k}@d0.r0" for k in range(3)] + [
        f"B.m0.k{k}@d0.r0" for k in range(3)
    ] + ["opt@d0.r0"]


def test_backward_takes_twice_the_forward():
    dag = build_dag(steps(tp=4))
    called = job_case.names(dag)
    fixed = dict(zip(called, dag.op_fixed_ns.tolist(), strict=True))
    for layer in range(2):
        assert abs(fixed[f"B.m0.k{4 - 2 * layer}@d0.r0"] - 2 * fixed[f"F.m0.k{2 * layer}@d0.r0"]) <= 1
    again = build_dag(steps(tp=4, recompute="full"))
    assert again.op_fixed_ns[: again.n_ops].sum() > dag.op_fixed_ns.sum()


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "pairwise"])
def test_traffic_of_an_all_reduce(algorithm):
    dag = build_dag(steps(tp=4, tp_collective=algorithm))
    sent = dag.op_bytes[dag.op_kind == TRANSFER].sum() // 4
    assert sent == 8 * 2 * 3 * 512 * 1024 * 2 // 4
    assert sent == traffic_summary(steps(tp=4))["tp_ocs"]


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "pairwise"])
def test_everyone_ends_with_everything(algorithm):
    """What a member knows when its next compute starts covers all members' compute ops of the phase before."""
    dag = build_dag(steps(tp=4, tp_collective=algorithm))
    preds = job_case.preds(dag)
    seen: dict[str, frozenset[str]] = {}

    def known(op: str) -> frozenset[str]:
        if op not in seen:
            seen[op] = frozenset({op}).union(*(known(other) for other in preds[op]))
        return seen[op]

    for t in range(4):
        assert known(f"F.m0.k1@d0.r{t}") >= {f"F.m0.k0@d0.r{other}" for other in range(4)}


def test_gradients_follow_the_last_backward_in_buckets():
    dag = build_dag(steps(tp=2, dp=2, micro_batches=2, buckets=2))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    # Bucket 0: head and upper layer, ready after backward phases 1 and 2.
    assert preds["rs.c0.k0@s0.r0"] == {"B.m1.k2@d0.r0"}
    assert preds["rs.c1.k0@s0.r1"] >= {"B.m1.k4@d1.r0", "rs.c0.k0@s0.r0", "rs.c0.k0@s0.r1"}
    assert preds["opt@d1.r1"] >= {"rs.c1.k0@s1.r0", "rs.c1.k0@s1.r1"}
    assert preds["ag.c1.k0@s0.r0"] == {"opt@d0.r0"}
    assert preds["ag.c0.k0@s0.r0"] == {"ag.c1.k0@s0.r0", "ag.c1.k0@s0.r1"}
    assert legs["rs.c0.k0@s0.r0"] == [(0, 2)]
    job_case.ideal_ns(dag, 10**11)


def test_odd_groups_and_plain_all_reduce():
    dag = build_dag(steps(tp=2, dp=3, zero1=False, dp_collective="pairwise"))
    called = job_case.names(dag)
    gradients = [name for name in called if name.startswith("ar.c")]
    assert len(gradients) == 2 * 2 * 3 * 2
    job_case.ideal_ns(dag, 10**11)


@pytest.mark.parametrize(
    "parallel",
    [
        {"tp": 2},
        {"tp": 4, "dp": 2},
        {"tp": 8, "dp": 3, "micro_batches": 3, "buckets": 2},
        {"tp": 4, "dp": 2, "schedule": "gpipe"},
    ],
)
def test_estimate_is_exact_for_rings(parallel):
    spec = steps(**parallel)
    dag = build_dag(spec)
    assert dag.n_ops == estimate_ops(spec)
    assert sorted(dag.device_ops.tolist()) == np.flatnonzero(dag.op_kind == COMPUTE).tolist()
    job_case.ideal_ns(dag, 10**11)


def test_one_duplex_plane_gets_pairings():
    dag = build_dag(steps(tp=4), duplex=True)
    assert any("halving-doubling" in note for note in dag.notes)
    assert any("as ring" in note for note in build_dag(steps(tp=4), duplex=True, planes_per_endpoint=2).notes)


def test_what_is_not_built():
    for parallel in ({"pp": 2}, {"virtual_stages": 2, "schedule": "interleaved"}):
        with pytest.raises(UnsupportedError, match="not built yet"):
            steps(tp=2, **parallel)
    with pytest.raises(UnsupportedError, match=r"timing.forward"):
        job_case.job(hardware=ONE, tp=2, timing={"forward": "1ms", "backward": "2ms"})
    with pytest.raises(UnsupportedError, match="before-forward"):
        build_dag(steps(tp=2, dp=2, param_gather="before-forward"))
    with pytest.raises(InputError, match="layers"):
        build_dag(steps(tp=2, dp=2, buckets=3))
    with pytest.raises(InputError, match="ops"):
        build_dag(steps(tp=2, dp=2, micro_batches=10**9))
