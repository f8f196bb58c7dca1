"""A tiny instance by hand, and solvers that do as they are told."""

from __future__ import annotations

import importlib
import sys

import numpy as np

from fluxscale.instance.instance import COMPUTE, PRESET, TRANSFER, Instance
from fluxscale.solving.protocol import Capabilities, Outcome, Plan
from fluxscale.solving.status import Termination

BEST = 310
"""Optimal iteration time of ``ping_pong()``: three ops and two transfers in a row, nothing to wait for."""


def ping_pong(**changes) -> Instance:
    """F on device 0 (100), transfer 0 -> 1 (10), F on device 1 (100), transfer 1 -> 0 (10), F on device 0 (90)."""
    columns = dict(
        op_kind=[COMPUTE, TRANSFER, COMPUTE, TRANSFER, COMPUTE],
        op_device=[0, -1, 1, -1, 0],
        op_bytes=[0] * 5,
        op_fixed_ticks=[100, 10, 100, 10, 90],
        pred_indptr=[0, 0, 1, 2, 3, 4],
        pred_index=[0, 1, 2, 3],
        device_indptr=[0, 2, 3],
        device_ops=[0, 4, 2],
        leg_indptr=[0, 0, 1, 1, 2, 2],
        leg_tx=[0, 1],
        leg_rx=[1, 0],
        plane_rate_bps=[400 * 10**9],
        plane_latency_ticks=[0],
        plane_delay_ticks=[50],
        plane_radix=[0],
        plane_all_stop=[False],
        plane_duplex=[False],
        attach=[[0, 0]],
        injection_rate_bps=[400 * 10**9],
        boundary=PRESET,
    )
    return Instance(**{key: np.array(v) if isinstance(v, list) else v for key, v in {**columns, **changes}.items()})


def plan(late: int = 0) -> Plan:
    """The obvious plan of ``ping_pong()``; its last op may be late."""
    return Plan(np.array([0, 100, 110, 210, 220 + late]), np.zeros(2, dtype=np.int16))


class FakeSolver:
    """Returns what it was given, or raises it, and remembers what it was asked."""

    def __init__(self, name="fake", outcome=None, **capabilities):
        self.name = name
        self.capabilities = Capabilities(**capabilities)
        self.outcome = outcome if outcome is not None else found(plan())
        self.asked = []

    def solve(self, instance, params, progress):
        self.asked.append((instance, params))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        from fluxscale.solving.protocol import Progress

        progress(Progress(0.0, self.outcome.iteration_time_ticks, None, "done"))
        return self.outcome


def found(a_plan, value=BEST, bound=None, name=None, termination=Termination.FINISHED) -> Outcome:
    return Outcome(a_plan, value, bound, name, termination, {"moves": np.int64(3)})


def register(monkeypatch, *solvers):
    """Make the registry know these solvers and no others."""
    importlib.import_module("fluxscale.solve")
    from fluxscale.solving import registry, search

    table = {solver.name: solver for solver in solvers}

    def get(name):
        if name == search.AUTO_DECOMPOSED and name not in table:
            return table.setdefault(name, FakeSolver(name, found(None, BEST + 99)))
        if name not in table:
            return registry.get_solver(name)
        if isinstance(table[name], BaseException):
            raise table[name]
        return table[name]

    monkeypatch.setattr(search, "get_solver", get)
    monkeypatch.setattr(sys.modules["fluxscale.solve"], "get_solver", get)
    return table
