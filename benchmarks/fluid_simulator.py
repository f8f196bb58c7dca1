"""Events a second of the fluid simulator, one thread, warm: rotor programs on big and small jobs.

    python benchmarks/fluid_simulator.py [JOB ...]

An event is an op that begins or ends, a transfer that is released or has been sent, a hand-over end that is looked at,
or a window of a circuit in which something is sent. Windows that whole cycles skip count too, so they are shown apart:
the figure to hold on to is the one without them.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

import fluxscale as fs
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.simulate.fluid import FluidSimulator
from fluxscale.simulate.windows import make_windows
from fluxscale_solvers.baselines.rotor import read_slot
from fluxscale_solvers.baselines.rotor_program import rotation

RUNS = 5


def main(jobs: list[str]) -> None:
    print(f"{'job':18} {'ops':>9} {'legs':>9} {'events':>11} {'seconds':>8} {'M events/s':>10} {'ops+legs, M/s':>13}")
    for job in jobs:
        instance = fs.build_instance(fs.load_job(job))
        turning = rotation(instance, read_slot(instance, {}), staggered=True)
        asked, amounts = pairs(instance), work(instance)
        windows = make_windows(
            asked.count,
            turning.row_pair,
            turning.row_plane,
            turning.row_from_ticks,
            turning.row_to_ticks,
            amounts.plane_speed,
            instance.plane_latency_ticks,
            turning.cycle_ticks,
        )
        seconds, events = [], 0
        for run in range(RUNS + 1):
            simulator = FluidSimulator(instance, asked=asked, pair_floor_ticks=turning.pair_floor_ticks)
            began = time.perf_counter()
            simulator.play(windows)
            if run:
                seconds.append(time.perf_counter() - began)
            events = simulator.events
            assert np.all(simulator.op_end >= 0)
        took = statistics.median(seconds)
        # Every op begins and ends, every leg is released and sent.
        plain = 2 * (instance.n_ops + instance.n_legs)
        print(
            f"{job:18} {instance.n_ops:9,} {instance.n_legs:9,} {events:11,} {took:8.3f} {events / took / 1e6:10.2f} "
            f"{plain / took / 1e6:13.2f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["llama3-8b-8", "gpt3-175b-1k", "llama3-405b-16k"])
