"""Functions that worker processes run in tests of the executors: they succeed, fail, die or never end."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def work(task: Any, seconds: float | None) -> Any:
    """Do what the task says: ``(verb, argument)``."""
    verb, argument = task
    if verb == "square":
        return argument * argument
    if verb == "seconds":
        return seconds
    if verb == "raise":
        raise ValueError(argument)
    if verb == "abort":
        os.abort()
    if verb == "sleep":
        time.sleep(argument)
        return argument
    if verb == "once":
        # fails in the first process that runs it
        marker = Path(argument)
        if not marker.exists():
            marker.touch()
            os.abort()
        return "second"
    raise AssertionError(verb)
