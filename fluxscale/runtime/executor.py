"""The executor protocol: a batch of independent tasks in, their results in the same order out, whoever ran them."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

TRIES = 2
"""Times that a task is run before it counts as lost."""


@dataclass(frozen=True)
class Lost:
    """What stands in for the result of a task that failed every time."""

    why: str


@dataclass
class Counts:
    """What an executor did: tasks that ended well, tasks that were run again, tasks that were lost."""

    done: int = 0
    retried: int = 0
    lost: int = 0


class Executor(Protocol):
    """Runs batches of tasks; the results never depend on the number of workers.

    Attributes
    ----------
    name
        ``serial`` or ``process``.
    workers
        Tasks that run at the same time.
    counts
        What it did so far.
    """

    name: str
    workers: int
    counts: Counts

    def run(self, tasks: Sequence[Any], deadline: float | None = None) -> list[Any]:
        """Run a batch.

        Parameters
        ----------
        tasks
            What the function named at the start takes as its first argument; it must pickle.
        deadline
            ``time.monotonic()`` at which to stop, or None. The function gets the seconds left as its second argument.

        Returns
        -------
        results
            In the order of the tasks: a result, :class:`Lost` after ``TRIES`` failures, or None where the
            deadline came first.
        """
        ...

    def close(self) -> None:
        """End the workers; safe to call twice."""
        ...


def named_function(target: str) -> Callable[..., Any]:
    """Import a function by ``module:attribute``, so that the framework knows no concrete solver."""
    module, _, attribute = target.partition(":")
    return operator.attrgetter(attribute)(importlib.import_module(module))


def open_executor(name: str, target: str, workers: int) -> Executor:
    """Make an executor; worker processes start with the first batch that needs them.

    Parameters
    ----------
    name
        ``serial`` or ``process``.
    target
        ``module:function`` of two arguments, the task and the seconds left (or None).
    workers
        Most tasks at a time; ``serial`` runs one.
    """
    if name == "serial":
        from fluxscale.runtime.serial import Serial

        return Serial(target)
    from fluxscale.runtime.processes import Processes

    return Processes(target, workers)
