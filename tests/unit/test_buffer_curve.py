"""The buffer of a NIC over time: its line, and its peak against the one that the simulator keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.instance.instance import DARK
from fluxscale.simulate.buffer_curve import buffer_curve
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.registry import get_solver
from tests.strategies import Bytes, build, random_instance


def rotor(instance, **options):
    outcome = get_solver("rotor").solve(instance, SolveParams(options=options), lambda _: None)
    assert outcome.run is not None
    return outcome.run


def test_it_rises_while_dark_and_falls_while_up():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, boundary=DARK, endpoints=3)
    curve = buffer_curve(instance, rotor(instance, slot=30), 0)
    # Handed over in [0, 50); sent in [10, 30), [70, 90) and [130, 140).
    assert curve.at_ticks.tolist() == [0, 10, 30, 50, 70, 90, 130, 140]
    assert curve.bytes.tolist() == [0, 10, 10, 30, 30, 10, 10, 0]
    assert curve.peak_bytes == 30
    assert buffer_curve(instance, rotor(instance, slot=30), 2).peak_bytes == 0


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_its_peak_is_the_one_that_the_simulator_keeps(seed: int) -> None:
    instance = random_instance(np.random.default_rng(seed), max_planes=2)
    run = rotor(instance)
    for endpoint in range(instance.n_endpoints):
        curve = buffer_curve(instance, run, endpoint)
        planes = max(1, int((instance.attach[:, endpoint] >= 0).sum()))
        peak = -(-int(curve.units.max(initial=0)) // (curve.units_per_byte * planes))
        assert curve.units[-1:].tolist() in ([], [0])
        # The last tick of a hand-over or of a piece may be used in part, so lines of whole ticks can differ by one.
        ticks = int((instance.plane_rate_bps // 8).max()) // 10**9 + 1
        assert abs(peak - int(run.port_peak_bytes[endpoint])) <= 2 * ticks


def test_what_it_needs_is_said():
    instance = build([("transfer", 0, 1, Bytes(50), [])], delay=10, endpoints=3)
    run = rotor(instance)
    with pytest.raises(InputError, match="endpoint"):
        buffer_curve(instance, run, 9)
    with pytest.raises(InputError, match="piece by piece"):
        buffer_curve(instance, replace(run, trace=None), 0)
