"""One worker process with a pipe to it. Spawned, not forked: no thread or back end of the caller gets into it."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

_CONTEXT = multiprocessing.get_context("spawn")


def start_worker(work: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Any]:
    """Start a process that runs ``work(*arguments, pipe)``.

    Ctrl-C goes to the whole process group; a worker leaves it to this process, from its first moment on.

    Parameters
    ----------
    work
        A module-level function.
    arguments
        What it gets before its end of the pipe; they must pickle.

    Returns
    -------
    process, pipe
        The process and this side of the pipe.
    """
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_begin, args=(work, *arguments, there), daemon=True, name="fluxscale-worker")
    main = threading.current_thread() is threading.main_thread()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if main else None
    try:
        process.start()
    finally:
        there.close()
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process, here


def _begin(work: Callable[..., None], *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work(*arguments)
