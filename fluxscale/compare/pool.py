"""Tasks of a comparison over processes: every process asks for the next task, a dead one costs only the task it had."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from fluxscale.compare.chain import Limits, Tell, run_chain
from fluxscale.compare.rows import Row, Status
from fluxscale.compare.sources import Source
from fluxscale.errors import FluxscaleError, InfeasibleError, InputError
from fluxscale.runtime.spawn import start_worker


@dataclass(frozen=True)
class Task:
    """One scheduler at one point.

    Attributes
    ----------
    scheduler, point
        Which row, and the changes of the fabric (none for a comparison).
    options
        What the user settled for this scheduler.
    limits
        Seed and limits.
    """

    scheduler: str
    point: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def run_task(source: Source, task: Task, tell: Tell | None = None) -> Row:
    """Run a task in this process.

    Parameters
    ----------
    source
        Where the instance comes from; if it cannot be made, the row says so.
    task
        What to run.
    tell
        Told what is being tried.
    """
    try:
        instance = source.instance(task.point)
    except FluxscaleError as error:
        kinds = ((InfeasibleError, Status.INFEASIBLE), (InputError, Status.REFUSED), (FluxscaleError, Status.FAILED))
        status = next(status for kind, status in kinds if isinstance(error, kind))
        return Row(task.scheduler, status, {}, notes=(str(error),))
    return run_chain(instance, task.scheduler, task.options, task.limits, tell)


def run_tasks(
    source: Source,
    tasks: Sequence[Task],
    *,
    workers: int = 1,
    on_row: Callable[[int, Row], None],
    tell: Tell | None = None,
) -> None:
    """Run tasks, each once; what comes out does not depend on the number of workers.

    Parameters
    ----------
    source
        Where instances come from.
    tasks
        What to run.
    workers
        Processes; 1: this one.
    on_row
        Told the number of each task that is done and its row, in any order, from this thread.
    tell
        Told how far things are.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; the processes are ended, rows told so far stay true.
    """
    if min(workers, len(tasks)) > 1:
        _Pool(source, tasks, workers, on_row, tell).run()
        return
    for number, task in enumerate(tasks):
        row = run_task(source, task, _counted(tell, number, len(tasks)))
        on_row(number, row)
        if row.status is Status.INTERRUPTED:
            # The solver took the interrupt to hand over its best so far; the rest of the tasks is meant as well.
            raise KeyboardInterrupt


def _counted(tell: Tell | None, done: int, total: int) -> Tell | None:
    return None if tell is None else lambda text: tell(f"{done} of {total} done, now {text}")


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Any
    task: int | None = None
    doing: str = "starting"


class _Pool:
    def __init__(
        self,
        source: Source,
        tasks: Sequence[Task],
        workers: int,
        on_row: Callable[[int, Row], None],
        tell: Tell | None,
    ) -> None:
        self._source, self._tasks, self._on_row, self._tell = source, tasks, on_row, tell
        self._wanted = min(workers, len(tasks))
        self._waiting = list(range(len(tasks)))[::-1]
        self._workers: dict[Any, _Worker] = {}
        self._done = 0

    def run(self) -> None:
        try:
            for _ in range(self._wanted):
                self._start()
            while self._done < len(self._tasks):
                for pipe in wait(list(self._workers)):
                    self._hear(self._workers[pipe])
                self._say()
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
            for worker in self._workers.values():
                worker.process.join()
                worker.pipe.close()

    def _start(self) -> None:
        process, here = start_worker(_work, self._source)
        self._workers[here] = worker = _Worker(process, here)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        worker.task = self._waiting.pop() if self._waiting else None
        if worker.task is not None:
            try:
                worker.pipe.send(self._tasks[worker.task])
            except OSError:
                # It died; hearing it next tells.
                return

    def _hear(self, worker: _Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if kind == "news":
            worker.doing = content
        elif worker.task is not None:
            number, worker.task, worker.doing = worker.task, None, ""
            self._finish(number, content)
            self._give(worker)

    def _bury(self, worker: _Worker) -> None:
        worker.process.join()
        code, number = worker.process.exitcode, worker.task
        worker.pipe.close()
        del self._workers[worker.pipe]
        if number is None:
            return
        why = "probably out of memory: try --workers 1" if code == -signal.SIGKILL else "--workers 1 shows more"
        note = f"failed: its process died (exit code {code}; {why})"
        self._finish(number, Row(self._tasks[number].scheduler, Status.FAILED, {}, notes=(note,)))
        if self._waiting:
            self._start()

    def _finish(self, number: int, row: Row) -> None:
        self._done += 1
        self._on_row(number, row)

    def _say(self) -> None:
        if self._tell is not None:
            doing = [worker.doing for worker in self._workers.values() if worker.task is not None and worker.doing]
            rest = f", now {'; '.join(doing)}" if doing else ""
            self._tell(f"{self._done} of {len(self._tasks)} done{rest}")


def _work(source: Source, pipe: Any) -> None:
    """Run tasks until the other end is gone."""
    try:
        while True:
            task = pipe.recv()
            pipe.send(("row", run_task(source, task, lambda text: pipe.send(("news", text)))))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
