"""Striping: transfers split into one part for each plane."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.instance.build import build_instance
from fluxscale.instance.stripe import stripe
from fluxscale.solve import solve
from fluxscale.workload.load import load_job
from tests.strategies import Bytes, build, random_instance


def test_a_transfer_becomes_one_part_for_each_plane():
    instance = build(
        [("compute", "d", 5, []), ("transfer", 0, 1, Bytes(101), [0]), ("compute", "d", 5, [1])], planes=2, delay=10
    )
    made = stripe(instance)
    assert made.op_bytes.tolist() == [0, 51, 50, 0]
    assert made.pred_indptr.tolist() == [0, 0, 1, 2, 4]
    assert made.pred_index.tolist() == [0, 0, 1, 2]
    assert made.device_ops.tolist() == [0, 3]
    assert (made.leg_tx.tolist(), made.leg_rx.tolist()) == ([0, 0], [1, 1])
    assert solve(instance).iteration_time_ns == 5 + 101 + 5
    assert solve(made).iteration_time_ns == 5 + 51 + 5


def test_gangs_and_given_durations_stay_whole():
    instance = build([("transfer", 0, 1, 9, []), ("gang", [(0, 1), (1, 0)], Bytes(8), [])], planes=2)
    assert stripe(instance) is instance


def test_one_plane_changes_nothing():
    instance = build([("transfer", 0, 1, Bytes(9), [])])
    assert stripe(instance) is instance


def test_fewer_bytes_than_planes():
    assert stripe(build([("transfer", 0, 1, Bytes(2), [])], planes=3)).op_bytes.tolist() == [1, 1]


def test_a_fabric_asks_for_it():
    plain, striped = (
        build_instance(load_job("llama3-8b-8", overrides=[f"fabric.striping={how}"])) for how in ("none", "equal")
    )
    assert striped.n_transfers == 2 * plain.n_transfers
    assert striped.op_bytes.sum() == plain.op_bytes.sum()
    assert plain.sha256 != striped.sha256
    assert striped.names.op(striped.n_ops - 1) == plain.names.op(plain.n_ops - 1)


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_bytes_and_precedence_are_kept(seed: int) -> None:
    instance = random_instance(np.random.default_rng(seed), max_planes=3)
    made = stripe(instance)
    assert made.op_bytes.sum() == instance.op_bytes.sum()
    assert len(made.device_ops) == len(instance.device_ops)
    found = solve(made, "list", work_limit=500)
    assert found.feasibility == "checked-ok"
