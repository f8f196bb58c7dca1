from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fluxscale.workload.collectives import as_gangs, as_gangs_size, choose, stepwise, stepwise_size

KINDS = ["reduce-scatter", "all-gather", "all-reduce"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("members", [2, 3, 4, 5, 8, 11, 16])
@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "pairwise"])
@pytest.mark.parametrize("make", [stepwise, as_gangs])
def test_steps_carry_the_right_bytes(kind, members, algorithm, make):
    if algorithm == "halving-doubling" and members & (members - 1):
        return
    steps = make(kind, algorithm, members)
    turns = 2 if kind == "all-reduce" else 1
    for i in range(members):
        sent = sum(share for row, share in zip(steps.target, steps.share, strict=True) if row[i] >= 0)
        assert sent == turns * Fraction(members - 1, members)
    for row in steps.target:
        sending = np.flatnonzero(row >= 0)
        assert len(set(row[sending].tolist())) == len(sending), "a matching"
        assert (row[sending] != sending).all()
        if algorithm != "ring":
            assert (row[row[sending]] == sending).all(), "a pairing"
    if make is stepwise:
        assert (steps.target >= 0).sum() == stepwise_size(kind, algorithm, members)
    elif kind != "all-reduce":
        assert (steps.target >= 0).sum() == as_gangs_size(algorithm, members)


@pytest.mark.parametrize("members", [2, 3, 4, 7, 10])
def test_tournament_meets_everyone_once(members):
    steps = stepwise("reduce-scatter", "pairwise", members)
    pairs = [(i, int(row[i])) for row in steps.target for i in range(members) if row[i] >= 0]
    assert len(pairs) == len(set(pairs)) == members * (members - 1)


@pytest.mark.parametrize(
    ("members", "duplex", "planes", "expected"),
    [
        (5, False, 1, "ring"),
        (2, True, 1, "ring"),
        (4, True, 1, "halving-doubling"),
        (4, True, 2, "ring"),
        (5, True, 2, "pairwise"),
        (5, True, 3, "ring"),
        (6, True, 1, "pairwise"),
    ],
)
def test_choice(members, duplex, planes, expected):
    assert choose("auto", members, duplex=duplex, planes=planes, field="x") == expected
    assert choose("pairwise", members, duplex=duplex, planes=planes, field="x") == "pairwise"


def test_bytes_are_rounded_up():
    assert stepwise("all-gather", "ring", 3).bytes(10).tolist() == [4, 4]
    assert as_gangs("all-gather", "ring", 3).bytes(10).tolist() == [7]
