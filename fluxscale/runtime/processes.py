"""Tasks in worker processes: a dead or silent worker costs one try of the task that it had."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from fluxscale.runtime.executor import TRIES, Counts, Lost, named_function
from fluxscale.runtime.spawn import start_worker

HANG_SECONDS = 300.0
"""Seconds after which a task counts as hung where no deadline says otherwise: far beyond any work limit of a window."""

GRACE_SECONDS = 1.0
"""Seconds that a task may run past the deadline before its worker is ended."""


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Any
    task: int | None = None
    until: float = float("inf")


class Processes:
    """Executor on processes of this machine."""

    name = "process"

    def __init__(self, target: str, workers: int, hang_s: float = HANG_SECONDS) -> None:
        self.workers = workers
        self.counts = Counts()
        self._target, self._hang_s = target, hang_s
        self._alive: dict[Any, _Worker] = {}

    def run(self, tasks: Sequence[Any], deadline: float | None = None) -> list[Any]:
        """Run a batch; see :class:`fluxscale.runtime.executor.Executor`."""
        results: list[Any] = [None] * len(tasks)
        tries = [0] * len(tasks)
        waiting = deque(range(len(tasks)))
        try:
            while waiting or any(worker.task is not None for worker in self._alive.values()):
                if deadline is not None and time.monotonic() >= deadline:
                    waiting.clear()
                self._hand_out(tasks, waiting, deadline)
                busy = [worker for worker in self._alive.values() if worker.task is not None]
                if not busy:
                    continue
                patience = min(worker.until for worker in busy) - time.monotonic()
                for pipe in wait([worker.pipe for worker in busy], max(0.0, patience)):
                    self._hear(self._alive[pipe], results, tries, waiting)
                self._end_silent(results, tries, waiting, deadline)
        except BaseException:
            # what is under way belongs to nobody any more
            self.close()
            raise
        return results

    def _hand_out(self, tasks: Sequence[Any], waiting: deque[int], deadline: float | None) -> None:
        idle = [worker for worker in self._alive.values() if worker.task is None]
        while waiting and (idle or len(self._alive) < self.workers):
            worker = idle.pop() if idle else self._start()
            number = waiting.popleft()
            now = time.monotonic()
            left = None if deadline is None else max(0.001, deadline - now)
            worker.task = number
            worker.until = now + (self._hang_s if left is None else min(self._hang_s, left + GRACE_SECONDS))
            try:
                worker.pipe.send((tasks[number], left))
            except OSError:
                # it died; hearing it next tells
                continue

    def _start(self) -> _Worker:
        process, pipe = start_worker(_work, self._target)
        worker = self._alive[pipe] = _Worker(process, pipe)
        return worker

    def _hear(self, worker: _Worker, results: list[Any], tries: list[int], waiting: deque[int]) -> None:
        number = worker.task
        assert number is not None
        try:
            good, content = worker.pipe.recv()
        except (EOFError, OSError):
            code = self._bury(worker)
            killed = " (killed: probably out of memory)" if code == -signal.SIGKILL else ""
            self._fail(number, f"its process died with exit code {code}{killed}", results, tries, waiting)
            return
        worker.task, worker.until = None, float("inf")
        if good:
            self.counts.done += 1
            results[number] = content
        else:
            self._fail(number, content, results, tries, waiting)

    def _fail(self, number: int, why: str, results: list[Any], tries: list[int], waiting: deque[int]) -> None:
        tries[number] += 1
        if tries[number] < TRIES:
            self.counts.retried += 1
            waiting.appendleft(number)
        else:
            self.counts.lost += 1
            results[number] = Lost(why)

    def _end_silent(self, results: list[Any], tries: list[int], waiting: deque[int], deadline: float | None) -> None:
        now = time.monotonic()
        for worker in list(self._alive.values()):
            if worker.task is None or now < worker.until:
                continue
            number = worker.task
            worker.process.kill()
            self._bury(worker)
            if deadline is None or now < deadline:
                self._fail(number, f"it did not end within {self._hang_s:g} s", results, tries, waiting)

    def _bury(self, worker: _Worker) -> int | None:
        worker.process.join()
        worker.pipe.close()
        del self._alive[worker.pipe]
        return worker.process.exitcode

    def close(self) -> None:
        """End all workers."""
        for worker in self._alive.values():
            worker.process.kill()
        for worker in list(self._alive.values()):
            self._bury(worker)


def _work(target: str, pipe: Any) -> None:
    """Run tasks until the other end is gone."""
    function = named_function(target)
    try:
        while True:
            task, seconds = pipe.recv()
            try:
                answer = True, function(task, seconds)
            except Exception as error:
                answer = False, f"{type(error).__name__}: {error}"
            pipe.send(answer)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
