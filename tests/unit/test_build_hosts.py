from __future__ import annotations

import job_case
import numpy as np
import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.names import ROLES
from fluxscale.workload import roles
from fluxscale.workload.build import build_dag, estimate_ops
from fluxscale.workload.dag import COMPUTE, GANG, LOCAL, TRANSFER

GIVEN = {"forward": "3ms", "backward": "6ms", "transfer": "0.4ms", "dp": "4ms"}
ONE = {"gpus_per_host": 1}


def timed(**parallel):
    return job_case.job(model=None, hardware=ONE, timing=GIVEN, **parallel)


def test_roles_agree_with_the_instance():
    words = (
        "FORWARD",
        "BACKWARD",
        "ACTIVATION",
        "GRADIENT",
        "REDUCE_SCATTER",
        "ALL_GATHER",
        "ALL_REDUCE",
        "OPTIMIZER",
        "INSIDE_HOST",
        "OTHER",
    )
    short = ("F", "B", "act", "grad", "rs", "ag", "ar", "opt", "host", "op")
    assert [getattr(roles, word) for word in words] == [ROLES.index(role) for role in short]
    assert len(words) == len(ROLES)


def test_one_replica_by_hand():
    dag = build_dag(timed(pp=2, micro_batches=2))
    assert job_case.preds(dag) == {
        "F.m0.c0@s0.d0": set(),
        "F.m1.c0@s0.d0": set(),
        "F.m0.c0@s1.d0": {"act.m0.c0@s0.d0.r0"},
        "F.m1.c0@s1.d0": {"act.m1.c0@s0.d0.r0"},
        "B.m0.c0@s0.d0": {"F.m0.c0@s0.d0", "grad.m0.c0@s1.d0.r0"},
        "B.m1.c0@s0.d0": {"F.m1.c0@s0.d0", "grad.m1.c0@s1.d0.r0"},
        "B.m0.c0@s1.d0": {"F.m0.c0@s1.d0"},
        "B.m1.c0@s1.d0": {"F.m1.c0@s1.d0"},
        "act.m0.c0@s0.d0.r0": {"F.m0.c0@s0.d0"},
        "act.m1.c0@s0.d0.r0": {"F.m1.c0@s0.d0"},
        "grad.m0.c0@s1.d0.r0": {"B.m0.c0@s1.d0"},
        "grad.m1.c0@s1.d0.r0": {"B.m1.c0@s1.d0"},
    }
    assert job_case.orders(dag) == [
        ["F.m0.c0@s0.d0", "F.m1.c0@s0.d0", "B.m0.c0@s0.d0", "B.m1.c0@s0.d0"],
        ["F.m0.c0@s1.d0", "B.m0.c0@s1.d0", "F.m1.c0@s1.d0", "B.m1.c0@s1.d0"],
    ]
    legs = job_case.legs(dag)
    assert legs["act.m1.c0@s0.d0.r0"] == [(0, 1)]
    assert legs["grad.m0.c0@s1.d0.r0"] == [(1, 0)]
    assert dag.gpus == 2
    assert dag.device_names == ("s0.d0", "s1.d0")


def test_durations_of_the_measured_facts():
    dag = build_dag(timed(pp=4, micro_batches=8))
    assert dag.n_ops == 4 * 8 * 2 + 3 * 8 * 2
    assert sorted(set(dag.op_fixed_ns.tolist())) == [400_000, 3_000_000, 6_000_000]
    assert job_case.ideal_ns(dag, 1) > 33 * 3_000_000


def test_two_replicas_reduce_then_gather():
    dag = build_dag(timed(pp=2, dp=2, micro_batches=2))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    reduce = {name: waits for name, waits in preds.items() if name.startswith("rs")}
    assert reduce == {
        "rs.c0.k0@s0.r0": {"B.m1.c0@s0.d0", "B.m1.c0@s0.d1"},
        "rs.c0.k0@s1.r0": {"B.m1.c0@s1.d0", "B.m1.c0@s1.d1"},
    }
    assert preds["ag.c0.k0@s1.r0"] == {"rs.c0.k0@s1.r0"}
    assert legs["rs.c0.k0@s0.r0"] == [(0, 1), (1, 0)], "dp neighbours come before pp neighbours in the rank order"
    assert job_case.legs(build_dag(timed(pp=2, dp=2, micro_batches=2, rank_order="tp-pp-cp-ep-dp")))[
        "rs.c0.k0@s0.r0"
    ] == [(0, 2), (2, 0)]


def test_gangs_of_a_stage_follow_each_other_and_the_optimizer_waits():
    dag = build_dag(
        job_case.job(
            hardware={"gpus_per_host": 2}, tp=2, pp=2, dp=3, virtual_stages=2, schedule="interleaved", buckets=2
        )
    )
    preds = job_case.preds(dag)
    # The last backward of chunk 1 comes before that of chunk 0.
    assert preds["rs.c1.k1@s0.r0"] >= {"rs.c1.k0@s0.r0"}
    assert preds["rs.c0.k0@s0.r1"] == {"rs.c1.k1@s0.r1"} | {f"B.m3.c0@s0.d{d}" for d in range(3)}
    assert preds["opt@s0.d1"] == {"rs.c0.k1@s0.r0", "rs.c0.k1@s0.r1"}
    assert preds["ag.c0.k0@s0.r0"] == {f"opt@s0.d{d}" for d in range(3)}
    assert preds["ag.c1.k0@s0.r0"] == {f"opt@s0.d{d}" for d in range(3)} | {"ag.c0.k1@s0.r0"}
    legs = job_case.legs(dag)
    rail0 = legs["rs.c0.k0@s1.r0"]
    assert rail0 == [(6, 8), (8, 10), (10, 6)]
    assert job_case.orders(dag)[0][-1] == "opt@s0.d0"
    job_case.ideal_ns(dag, 400 * 10**9)


def test_interleaved_wrap_edge():
    dag = build_dag(job_case.job(hardware=ONE, pp=2, virtual_stages=2, schedule="interleaved", micro_batches=2))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    assert preds["F.m0.c1@s0.d0"] == {"act.m0.c0@s1.d0.r0"}
    assert legs["act.m0.c0@s1.d0.r0"] == [(1, 0)]
    assert preds["B.m0.c0@s1.d0"] == {"F.m0.c0@s1.d0", "grad.m0.c1@s0.d0.r0"}
    assert legs["grad.m0.c1@s0.d0.r0"] == [(0, 1)]
    assert not any(name.startswith("act.m0.c1@s1") for name in preds)


def test_one_stage_with_chunks_needs_no_transfer():
    dag = build_dag(job_case.job(pp=1, virtual_stages=2, schedule="interleaved", micro_batches=2))
    preds = job_case.preds(dag)
    assert preds["F.m1.c1@s0.d0"] == {"F.m1.c0@s0.d0"}
    assert preds["B.m1.c0@s0.d0"] == {"F.m1.c0@s0.d0", "B.m1.c1@s0.d0"}
    assert set(dag.op_kind.tolist()) == {COMPUTE}


def test_slices_and_their_rails():
    dag = build_dag(job_case.job(hardware={"gpus_per_host": 4}, tp=4, pp=2, micro_batches=1))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    assert preds["F.m0.c0@s1.d0"] == {f"act.m0.c0@s0.d0.r{r}" for r in range(4)}
    assert [legs[f"act.m0.c0@s0.d0.r{r}"] for r in range(4)] == [[(r, 4 + r)] for r in range(4)]
    assert dag.endpoint_rail.tolist() == [0, 1, 2, 3] * 2
    sizes = dag.op_bytes[dag.op_kind == TRANSFER]
    assert set(sizes.tolist()) == {512 * 1024 * 2 // 4}
    whole = build_dag(job_case.job(hardware={"gpus_per_host": 4}, tp=4, pp=2, micro_batches=1, sequence_parallel=False))
    assert set(whole.op_bytes[whole.op_kind == TRANSFER].tolist()) == {512 * 1024 * 2}


def test_published_message_size():
    model = job_case.MODEL | {"hidden": 12288, "seq_len": 2048, "heads": 96, "kv_heads": 96}
    dag = build_dag(job_case.job(model=model, tp=8, pp=2))
    assert set(dag.op_bytes[dag.op_kind == TRANSFER].tolist()) == {6_291_456}


def test_neighbours_in_one_host_use_nvlink_and_others_pxn():
    dag = build_dag(job_case.job(hardware={"gpus_per_host": 4}, tp=2, pp=4, micro_batches=1))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    assert legs["act.m0.c0@s0.d0"] == []
    assert preds["F.m0.c0@s1.d0"] == {"act.m0.c0@s0.d0"}
    local = dag.op_kind == LOCAL
    assert local.sum() == 4
    assert set(dag.op_fixed_ns[local].tolist()) == {-(-512 * 1024 * 10**9 // (450 * 10**9))}
    # Stage 1 sits on rails 2 and 3 of host 0, stage 2 on rails 0 and 1 of host 1.
    assert legs["act.m0.c0@s1.d0.r0"] == [(0, 4)]
    assert legs["act.m0.c0@s1.d0.r1"] == [(1, 5)]
    assert legs["grad.m0.c0@s2.d0.r2"] == [(6, 2)]
    rails = dag.endpoint_rail
    assert (rails[dag.leg_tx] == rails[dag.leg_rx]).all()
    assert any("PXN" in note for note in dag.notes)


def test_members_in_one_host_reduce_over_nvlink_first():
    dag = build_dag(job_case.job(hardware={"gpus_per_host": 4}, tp=2, dp=4, micro_batches=1))
    preds, legs = job_case.preds(dag), job_case.legs(dag)
    assert preds["rs.c0.k0@s0"] == {f"B.m0.c0@s0.d{d}" for d in range(4)}
    for rail in range(4):
        assert preds[f"rs.c0.k0@s0.r{rail}"] == {"rs.c0.k0@s0"}
        assert legs[f"rs.c0.k0@s0.r{rail}"] == [(rail, 4 + rail), (4 + rail, rail)]
    assert preds["ag.c0.k0@s0"] == {f"ag.c0.k0@s0.r{rail}" for rail in range(4)}
    gang = dag.op_bytes[dag.op_kind == GANG]
    layer = 4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024
    on_gpu = (8 * layer + 2 * 32000 * 1024) // 2
    assert sorted(set(gang.tolist())) == [on_gpu // 2 * 2 // 2, on_gpu // 2 * 4 // 2]


def test_all_members_in_one_host():
    dag = build_dag(job_case.job(hardware={"gpus_per_host": 8}, tp=2, dp=4, micro_batches=1))
    assert GANG not in dag.op_kind
    assert (dag.op_kind == LOCAL).sum() == 2
    plain = build_dag(job_case.job(hardware={"gpus_per_host": 8}, tp=2, dp=4, micro_batches=1, zero1=False))
    assert (plain.op_kind == LOCAL).sum() == 1
    assert any("NVLink" in note for note in dag.notes)


def test_plain_all_reduce():
    dag = build_dag(job_case.job(hardware=ONE, pp=2, dp=3, zero1=False))
    preds = job_case.preds(dag)
    assert not any(name.startswith(("rs", "ag")) for name in preds)
    assert preds["opt@s0.d0"] == {"ar.c0.k0@s0.r0"}


def test_gather_before_the_first_forward():
    dag = build_dag(
        job_case.job(
            hardware=ONE,
            pp=2,
            dp=2,
            virtual_stages=2,
            schedule="interleaved",
            micro_batches=2,
            param_gather="before-forward",
        )
    )
    preds = job_case.preds(dag)
    assert preds["F.m0.c0@s0.d1"] == {"ag.c0.k0@s0.r0"}
    assert preds["F.m0.c1@s0.d0"] == {"ag.c1.k0@s0.r0", "act.m0.c0@s1.d0.r0"}
    assert preds["F.m1.c0@s0.d0"] == set()
    assert preds["ag.c0.k0@s0.r0"] == set()
    assert preds["ag.c1.k0@s0.r0"] == {"ag.c0.k0@s0.r0"}
    job_case.ideal_ns(dag, 400 * 10**9)


@pytest.mark.parametrize(
    ("dp", "planes", "gangs", "word"),
    [
        (2, 1, 1, "ring"),
        (4, 2, 1, "ring"),
        (3, 3, 1, "ring"),
        (4, 1, 2, "halving-doubling"),
        (3, 2, 3, "pairwise"),
        (6, 1, 5, "pairwise"),
    ],
)
def test_duplex_ports_get_what_fits(dp, planes, gangs, word):
    dag = build_dag(timed(dp=dp, micro_batches=1), duplex=True, planes_per_endpoint=planes)
    rows = np.flatnonzero(dag.op_kind == GANG)
    assert len(rows) == 2 * gangs
    assert any(word in note for note in dag.notes)
    if word != "ring":
        for op in rows:
            tx = dag.leg_tx[dag.leg_indptr[op] : dag.leg_indptr[op + 1]].tolist()
            rx = dag.leg_rx[dag.leg_indptr[op] : dag.leg_indptr[op + 1]].tolist()
            assert len(set(tx)) == len(tx)
            assert {frozenset(pair) for pair in zip(tx, rx, strict=True)} == {
                frozenset(pair) for pair in zip(rx, tx, strict=True)
            }
            assert len({frozenset(pair) for pair in zip(tx, rx, strict=True)}) * 2 == len(tx)


def test_collectives_that_do_not_fit():
    with pytest.raises(UnsupportedError, match=r"ring over 4 members.*Maybe: 2 planes"):
        build_dag(timed(dp=4, dp_collective="ring"), duplex=True)
    with pytest.raises(UnsupportedError, match="power of two"):
        build_dag(timed(dp=6, dp_collective="halving-doubling"))


def test_groups_that_do_not_spread_evenly():
    with pytest.raises(UnsupportedError, match="evenly"):
        build_dag(job_case.job(hardware={"gpus_per_host": 8}, tp=4, dp=3, pp=2))
    with pytest.raises(UnsupportedError, match="two hosts"):
        build_dag(job_case.job(hardware={"gpus_per_host": 4}, tp=2, dp=8, pp=1, rank_order="dp-tp-cp-ep-pp"))


@pytest.mark.parametrize(
    "parallel",
    [
        {"pp": 3, "dp": 2, "micro_batches": 5},
        {"pp": 2, "dp": 2, "virtual_stages": 2, "schedule": "interleaved", "micro_batches": 4},
        {"pp": 1, "dp": 4, "micro_batches": 1},
        {"pp": 4, "dp": 1, "schedule": "gpipe"},
    ],
)
def test_estimate_is_exact_without_nvlink(parallel):
    spec = job_case.job(hardware=ONE, **parallel)
    assert build_dag(spec).n_ops == estimate_ops(spec)


def test_requests_that_are_too_large_are_refused_before_allocating():
    with pytest.raises(InputError, match=r"about \d+ ops.*Maybe: fewer micro-batches"):
        build_dag(timed(pp=16, dp=1000, micro_batches=100_000))
    with pytest.raises(InputError, match="ops"):
        build_dag(timed(dp=2**31 - 1, micro_batches=2**31 - 1, pp=2**31 - 1))
    with pytest.raises(InputError, match="64 bits"):
        build_dag(job_case.job(model=job_case.MODEL | {"hidden": 2**30, "ffn": 2**31 - 1, "seq_len": 2**31 - 1}, pp=2))


def test_types_and_determinism():
    spec = job_case.job(tp=4, pp=2, dp=4, virtual_stages=2, schedule="interleaved")
    one, two = build_dag(spec), build_dag(spec)
    for name in (
        "op_kind",
        "op_device",
        "op_bytes",
        "op_fixed_ns",
        "pred_indptr",
        "pred_index",
        "device_ops",
        "leg_indptr",
        "leg_tx",
        "leg_rx",
    ):
        assert (getattr(one, name) == getattr(two, name)).all()
    assert one.pred_index.dtype == np.int32
    assert one.leg_tx.dtype == np.int32
    assert len(one.pred_indptr) == one.n_ops + 1
    assert one.pred_index.max() < one.n_ops
    assert ((one.op_device >= 0) == (one.op_kind == COMPUTE)).all()
    assert sorted(one.device_ops.tolist()) == np.flatnonzero(one.op_kind == COMPUTE).tolist()
