"""Executors: results in order, a second try for what failed, and what is lost is said and nothing else."""

from __future__ import annotations

import time

import pytest

from fluxscale.runtime.executor import Lost, open_executor
from fluxscale.runtime.processes import Processes

TARGET = "tests.unit.runtime_case:work"


@pytest.fixture(params=["serial", "process"])
def executor(request):
    made = open_executor(request.param, TARGET, 2)
    yield made
    made.close()


def test_results_come_in_the_order_of_the_tasks(executor):
    assert executor.run([("square", n) for n in range(7)]) == [n * n for n in range(7)]
    assert executor.run([]) == []
    assert executor.run([("square", 9)]) == [81]
    assert (executor.counts.done, executor.counts.retried, executor.counts.lost) == (8, 0, 0)


def test_a_task_that_raises_is_run_twice_and_then_lost(executor):
    good, bad = executor.run([("square", 3), ("raise", "no luck")])
    assert good == 9
    assert isinstance(bad, Lost)
    assert bad.why == "ValueError: no luck"
    assert (executor.counts.done, executor.counts.retried, executor.counts.lost) == (1, 1, 1)


def test_the_deadline_is_told_and_kept(executor):
    (left,) = executor.run([("seconds", None)], time.monotonic() + 50)
    assert 0 < left <= 50
    assert executor.run([("seconds", None)]) == [None]
    assert executor.run([("square", 2)] * 3, time.monotonic() - 1) == [None] * 3
    assert executor.counts.lost == 0


def test_a_dead_worker_costs_one_try(tmp_path):
    executor = Processes(TARGET, 2)
    try:
        tasks = [("once", str(tmp_path / "marker")), ("square", 4), ("abort", None), ("square", 5)]
        first, four, dead, five = executor.run(tasks)
        assert (first, four, five) == ("second", 16, 25)
        assert isinstance(dead, Lost)
        assert "exit code -6" in dead.why
        assert (executor.counts.done, executor.counts.retried, executor.counts.lost) == (3, 2, 1)
    finally:
        executor.close()


def test_a_task_that_never_ends_is_ended():
    executor = Processes(TARGET, 1, hang_s=1.0)
    try:
        hung, square = executor.run([("sleep", 600), ("square", 6)])
        assert isinstance(hung, Lost)
        assert "did not end within 1 s" in hung.why
        assert square == 36
    finally:
        executor.close()


def test_a_task_past_the_deadline_is_given_up_without_being_lost():
    executor = Processes(TARGET, 1)
    try:
        executor.run([("square", 1)])
        began = time.monotonic()
        assert executor.run([("sleep", 600), ("square", 6)], time.monotonic() + 0.5) == [None, None]
        assert time.monotonic() - began < 20
        assert executor.counts.lost == 0
    finally:
        executor.close()


def test_closing_twice_is_safe(executor):
    executor.run([("square", 1)])
    executor.close()
    executor.close()
