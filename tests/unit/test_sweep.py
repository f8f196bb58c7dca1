"""Sweeps: ranges and grids, changed fabrics, and going on after a stop with the same result."""

from __future__ import annotations

import importlib
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fluxscale.compare.grid import MAX_POINTS, make_grid
from fluxscale.compare.pool import Task
from fluxscale.compare.rows import Row, Status
from fluxscale.compare.schedulers import FLUXSCALE
from fluxscale.compare.sources import Built, with_fabric
from fluxscale.compare.store import Store, job_hash, task_key
from fluxscale.compare.sweep import sweep
from fluxscale.errors import InputError
from fluxscale.report.sweep import blocks, groups, sweep_csv, sweep_text
from fluxscale.report.text import WIDTH
from fluxscale.workload.load import load_job

pool = importlib.import_module("fluxscale.compare.pool")

JOB = "tiny-2x2"


def values(**texts):
    return [axis.values for axis in make_grid(**texts).axes]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"delay": "10us"}, [(10_000,)]),
        ({"delay": "1ms,10us,1us"}, [(1000, 10_000, 1_000_000)]),
        ({"delay": "1us:1ms:4"}, [(1000, 10_000, 100_000, 1_000_000)]),
        ({"delay": "1us:100us:3"}, [(1000, 10_000, 100_000)]),
        ({"delay": "5us:5us:1"}, [(5000,)]),
        ({"delay": "0,1us"}, [(0, 1000)]),
        ({"rate": "100Gbps:1.6Tbps:5"}, [tuple(k * 10**11 for k in (1, 2, 4, 8, 16))]),
        ({"planes": "1:8:4"}, [(1, 2, 4, 8)]),
        ({"planes": "3,1"}, [(1, 3)]),
        ({"delay": "1us", "planes": "1,2"}, [(1000,), (1, 2)]),
    ],
)
def test_ranges_and_lists(texts, expected):
    assert values(**texts) == expected


def test_a_range_keeps_its_ends_and_rises():
    (found,) = values(delay="1us:100ms:11")
    assert len(found) == 11
    assert (found[0], found[-1]) == (1000, 100_000_000)
    assert all(later / earlier == pytest.approx(10**0.5, rel=1e-3) for earlier, later in itertools.pairwise(found))
    (odd,) = values(rate="100Gbps:400Gbps:4")
    assert all(rate % 10**9 == 0 for rate in odd)


def test_what_rounds_to_the_same_counts_once_with_a_note():
    grid = make_grid(delay="1ns:3ns:11")
    assert grid.axes[0].values == (1, 2, 3)
    assert grid.notes == ("--delay 1ns:3ns:11: 11 values asked for, 3 are different",)
    assert make_grid(delay="5us:5us:3").axes[0].values == (5000,)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({}, "nothing to sweep"),
        ({"delay": "1ms:1us:5"}, "reversed"),
        ({"delay": "1us:1ms:0"}, "at least 1"),
        ({"delay": "1us:1ms:-3"}, "at least 1"),
        ({"delay": "1us:1ms:1"}, "both ends"),
        ({"delay": "1us:1ms:2.5"}, "whole number"),
        ({"delay": "0:1ms:5"}, "zero"),
        ({"delay": "0us:0us:2"}, "zero"),
        ({"delay": "1us:1ms"}, "first:last:count"),
        ({"delay": "1us:1ms:5:6"}, "first:last:count"),
        ({"delay": "1us::5"}, "first:last:count"),
        ({"delay": "1us:1ms:1001"}, "at most 1000"),
        ({"delay": "1us:1ms:9" + "9" * 5000}, "count"),
        ({"delay": ""}, "time"),
        ({"delay": "1us,,2us"}, "time"),
        ({"delay": "-1us:1ms:3"}, "zero or more"),
        ({"delay": "1parsec"}, "unit"),
        ({"delay": "nan"}, "time"),
        ({"delay": "1e9999us"}, "64 bits"),
        ({"rate": "0"}, "more than zero"),
        ({"rate": "100GB/s"}, "bits per second"),
        ({"planes": "0:4:2"}, "at least 1 plane"),
        ({"planes": "1.5"}, "whole number"),
        ({"planes": "2000"}, "at most 1024"),
        ({"delay": "1us:1ms:200", "planes": "1,2,3,4,5,6"}, "1200 points"),
    ],
)
def test_bad_ranges_are_one_line(texts, words):
    with pytest.raises(InputError, match=words) as found:
        make_grid(**texts)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 300


def test_the_grid_is_a_product_with_the_first_axis_fastest():
    grid = make_grid(delay="1us,1ms", planes="1,2")
    assert [point.document for point in grid.points] == [
        {"delay_ns": 1000, "planes": 1}, {"delay_ns": 1_000_000, "planes": 1},
        {"delay_ns": 1000, "planes": 2}, {"delay_ns": 1_000_000, "planes": 2},
    ]  # fmt: skip
    assert grid.points[0].changes == ("fabric.reconfiguration_delay=1000", "fabric.planes=1")
    assert grid.main.name == "delay"
    assert make_grid(delay="1us", planes="1,2").main.name == "planes"
    assert len(make_grid(delay=f"1us:1s:{MAX_POINTS}").points) == MAX_POINTS


def test_a_point_changes_the_fabric_and_nothing_else():
    job = load_job(JOB)
    changed = with_fabric(job, ("fabric.reconfiguration_delay=7000", "fabric.planes=2"))
    assert (changed.fabric.reconfiguration_delay, changed.fabric.planes) == (7000, 2)
    assert replace(changed, fabric=job.fabric) == job
    source = Built(job)
    first = source.instance(("fabric.reconfiguration_delay=7000",))
    assert first.plane_delay_ticks.tolist() == [7000]
    assert source.instance(("fabric.reconfiguration_delay=7000",)) is first
    assert source.instance(("fabric.planes=2",)).n_planes == 2


def test_planes_with_values_of_their_own_are_refused(tmp_path):
    fabric = tmp_path / "f.toml"
    fabric.write_text('[fabric]\n[[fabric.plane]]\nreconfiguration_delay = "1ms"\n[[fabric.plane]]\n')
    job = load_job(JOB, fabric_file=fabric)
    with pytest.raises(InputError, match="value of its own"):
        sweep(job, make_grid(delay="1us"))
    with pytest.raises(InputError, match="planes = 3"):
        sweep(job, make_grid(planes="3"))
    assert with_fabric(job, (f"fabric.rate={10**11}",)).fabric.rate == 10**11


@pytest.fixture
def fake(monkeypatch):
    """Tasks that take no time; what was run is listed. A scheduler named in ``stop`` interrupts."""
    ran, stop = [], []

    def run_task(source, task, tell=None):
        if stop and task.scheduler in stop and len(ran) >= 3:
            raise KeyboardInterrupt
        ran.append((task.scheduler, task.point))
        delay = int(task.point[0].partition("=")[2])
        if task.scheduler == "static":
            return Row("static", Status.REFUSED, {}, notes=("unreachable",))
        if task.scheduler == "rotor" and delay == 1_000_000:
            return Row("rotor", Status.FAILED, {}, notes=("failed: oops",))
        return Row(task.scheduler, Status.OK, {"slot": delay}, 1000 + delay * len(task.scheduler), 3, 0.5, delay, None)

    monkeypatch.setattr(pool, "run_task", run_task)
    return ran, stop


NAMES = ["rotor", "static"]


def run(store=None, delays="1us,1ms", **settings):
    return sweep(load_job(JOB), make_grid(delay=delays), NAMES, store=store, **settings)


def test_every_point_has_every_scheduler(fake):
    found = run()
    assert [(point.document["delay_ns"], list(rows)) for point, rows in found.rows] == [
        (1000, [FLUXSCALE, *NAMES]), (1_000_000, [FLUXSCALE, *NAMES])
    ]  # fmt: skip
    assert found.documents()[1]["ratio_to_fluxscale"] == 6000 / 10_000
    assert json.loads(json.dumps(found.to_dict(job="j")))["axes"] == {"delay_ns": [1000, 1_000_000]}


def test_a_second_run_reads_what_is_finished_and_retries_what_failed(fake, tmp_path):
    ran, _ = fake
    first = run(tmp_path / "points.jsonl")
    assert len(ran) == 6
    ran.clear()
    second = run(tmp_path / "points.jsonl")
    assert ran == [("rotor", ("fabric.reconfiguration_delay=1000000",))]
    assert (second.resumed, second.resume_notes) == (5, ())
    assert second.documents() == first.documents()


def test_a_stopped_sweep_goes_on_to_the_same_result(fake, tmp_path):
    ran, stop = fake
    whole = run()
    ran.clear()
    stop.append("rotor")
    part = run(tmp_path / "points.jsonl")
    assert part.interrupted
    assert len(part.all_rows) == 4
    stop.clear()
    ran.clear()
    rest = run(tmp_path / "points.jsonl")
    assert rest.resumed == 4
    assert len(ran) == 2
    assert rest.to_dict() == whole.to_dict()


def test_lines_that_do_not_count_are_skipped_with_a_note(fake, tmp_path):
    path = tmp_path / "points.jsonl"
    run(path)
    good = path.read_bytes().splitlines(keepends=True)
    foreign = good[0].replace(b'"key": "', b'"key": "0')
    path.write_bytes(b"\xff\xfe\n[1]\n{}\n\n" + foreign + good[0] + good[1][:-20])
    found = run(path)
    assert found.resumed == 1
    assert found.resume_notes == (
        "points.jsonl: 4 unreadable lines skipped", "points.jsonl: 1 lines of another sweep, job or version skipped"
    )  # fmt: skip
    # The line cut off by a crash did not swallow the one after it.
    assert run(path).resumed == 5


def test_a_changed_value_in_a_line_is_no_result(fake, tmp_path):
    path = tmp_path / "points.jsonl"
    run(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["row"]["iteration_time_ns"] = "fast"
    lines[1]["row"]["scheduler"] = "sunflow"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(path).resumed == 3


def test_other_points_schedulers_seeds_and_limits_are_other_tasks():
    job = load_job(JOB)
    base = Task("rotor", ("fabric.planes=2",))
    keys = {
        task_key(job_hash(job), base),
        task_key(job_hash(load_job(JOB, overrides=["fabric.rate=100Gbps"])), base),
        task_key(job_hash(job), replace(base, scheduler="static")),
        task_key(job_hash(job), replace(base, point=("fabric.planes=3",))),
        task_key(job_hash(job), replace(base, options={"slot": 5})),
        task_key(job_hash(job), replace(base, limits=replace(base.limits, seed=1))),
        task_key(job_hash(job), replace(base, limits=replace(base.limits, time_limit_s=5.0))),
    }
    assert len(keys) == 7
    assert task_key(job_hash(load_job(JOB)), base) in keys


def test_places_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Store(tmp_path).read({})
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), Store(tmp_path / "file" / "points.jsonl"):
        pass


def test_a_full_disk_is_one_line(fake):
    with pytest.raises(InputError, match="cannot be written"), Store(Path("/dev/full")) as store:
        store.add("k", {}, Row("rotor", Status.OK, {}, 1))


def test_long_lines_are_cut_into_blocks_that_fit(fake):
    found = run(delays="1us:100ms:11")
    ((shown, group),) = groups(found)
    assert shown == ""
    assert [len(block) for block in blocks(group)] == [5, 6]
    text = sweep_text(found, job="tiny-2x2", gpus=4)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "static: unreachable (at 11 points)" in " ".join(text.split())


def test_other_axes_make_groups(fake):
    found = sweep(load_job(JOB), make_grid(delay="1us,1ms", planes="1,2"), NAMES)
    assert [shown for shown, _ in groups(found)] == ["planes 1", "planes 2"]
    assert "(planes 2)" in sweep_text(found, job="j", gpus=None)


def test_csv_has_a_line_for_each_point_and_scheduler(fake):
    lines = sweep_csv(run()).splitlines()
    assert lines[0].startswith("delay_ns,scheduler,status,iteration_time_ns")
    assert len(lines) == 7
    assert lines[2].startswith("1000,rotor,ok,6000,")
    assert lines[3].startswith("1000,static,refused,,,")


def test_a_real_sweep_in_parallel_is_the_same(tmp_path):
    grid, job = make_grid(delay="1us,50ms"), load_job(JOB)
    alone = sweep(job, grid, ["on-demand"])
    parallel = sweep(job, grid, ["on-demand"], workers=2, store=tmp_path / "points.jsonl")
    again = sweep(job, grid, ["on-demand"], store=tmp_path / "points.jsonl")
    timeless = [[replace(row, wall_s=0.0) for row in found.all_rows] for found in (alone, parallel, again)]
    assert timeless[0] == timeless[1] == timeless[2]
    assert again.resumed == 4
    assert again.documents() == parallel.documents()
