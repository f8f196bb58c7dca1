"""Priority rules of list scheduling.

Who goes first when ports are asked for, and how far urgency may jump the queue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.seeds import generator
from fluxscale_solvers.heuristics.inputs import Prepared

Ints = npt.NDArray[Any]

NO_OFFSET: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Rule:
    """A rule of list scheduling.

    Attributes
    ----------
    name
        What it is called in the statistics.
    urgency
        Weight of the longest path behind an op against its earliest start: 0 is first come, first served (longest
        path breaks ties); 1 schedules by least slack.
    patience
        Weight of the earliest start without circuits: a large one plays the transfers in the order of the delay-free
        timeline.
    noise
        Width of a random offset, in reconfiguration delays.
    """

    name: str
    urgency: float = 0.0
    patience: float = 0.0
    noise: float = 0.0


FIXED_RULES = (
    Rule("first-come"),
    Rule("timeline", patience=8.0),
    Rule("least-slack", urgency=1.0),
    Rule("urgent-half", urgency=0.5),
    Rule("timeline-soft", patience=1.0),
    Rule("urgent-quarter", urgency=0.25),
    Rule("least-slack-timeline", urgency=1.0, patience=1.0),
    Rule("urgent-double", urgency=2.0),
)
"""Rules without chance, most often best first (measured on the pipelines of problem.md)."""


def random_rule(number: int) -> Rule:
    """The number-th rule with chance in it; weights and widths cycle."""
    urgency = (1.5, 0.5, 1.0, 0.75)[number % 4]
    return Rule(f"random-{number}", urgency, noise=(0.5, 1.0, 0.25, 2.0)[(number // 4) % 4])


def rank_and_offset(prepared: Prepared, rule: Rule, seed: int) -> tuple[Ints, Ints, Ints, int]:
    """Arrays of a rule for the kernels.

    Returns
    -------
    rank, op_of_rank
        int32 ``[n]``: longest path behind first.
    offset
        int64 ``[n]``, or empty.
    coarse
        Low bits of time that the heap's key leaves out so that it fits 63 bits.
    """
    rank, op_of_rank = prepared.ranks
    offset = NO_OFFSET
    if rule.urgency or rule.patience or rule.noise:
        offset = (rule.patience * prepared.head - rule.urgency * prepared.tail).astype(np.int64)
        width = int(rule.noise * int(prepared.problem.delay.max(initial=0)))
        if width:
            offset = offset + generator(seed, "list", rule.name).integers(0, width, size=len(offset), endpoint=True)
    reach = prepared.horizon + int(np.abs(offset).max(initial=0))
    coarse = max(0, reach.bit_length() + max(1, (len(rank) - 1).bit_length()) - 62)
    return rank, op_of_rank, offset, coarse
