"""Tasks one after the other in this process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from fluxscale.runtime.executor import TRIES, Counts, Lost, named_function


class Serial:
    """Executor without workers."""

    name = "serial"
    workers = 1

    def __init__(self, target: str) -> None:
        self._function = named_function(target)
        self.counts = Counts()

    def run(self, tasks: Sequence[Any], deadline: float | None = None) -> list[Any]:
        """Run a batch; see :class:`fluxscale.runtime.executor.Executor`."""
        return [self._one(task, deadline) for task in tasks]

    def _one(self, task: Any, deadline: float | None) -> Any:
        why = ""
        for attempt in range(TRIES):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            try:
                result = self._function(task, left)
            except Exception as error:
                # a sub-solve may fail in any way at all; the run goes on without it
                why = f"{type(error).__name__}: {error}"
                self.counts.retried += attempt + 1 < TRIES
            else:
                self.counts.done += 1
                return result
        self.counts.lost += 1
        return Lost(why)

    def close(self) -> None:
        """Nothing to end."""
