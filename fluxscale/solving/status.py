"""Two separate questions: why did the solver stop, and what did the checker find."""

from __future__ import annotations

from enum import StrEnum


class Termination(StrEnum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    GAP_REACHED = "gap-reached"
    TIME_LIMIT = "time-limit"
    WORK_LIMIT = "work-limit"
    FINISHED = "finished"
    """A heuristic ran to its natural end."""
    INFEASIBLE = "infeasible"
    INTERRUPTED = "interrupted"
    MEMORY = "memory"
    ERROR = "error"
    UNKNOWN = "unknown"


class Feasibility(StrEnum):
    """What the independent checker found."""

    CHECKED_OK = "checked-ok"
    CHECKED_BAD = "checked-bad"
    NONE = "none"
