import sys
from types import ModuleType, SimpleNamespace

import pytest
from flow_case import ping_pong, plan

from fluxscale.cli.locate import locate, schedule_file
from fluxscale.errors import InputError
from fluxscale.instance.io import save_instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.io import load_schedule, save_schedule

OTHER = {"plane_delay_ticks": [60]}


@pytest.fixture
def builder(monkeypatch):
    """Stands in for the job reader: jobs are what the test says they are."""
    jobs = {}
    load, build = ModuleType("fluxscale.workload.load"), ModuleType("fluxscale.instance.build")
    load.load_job = lambda ref, fabric_file=None, overrides=(): (ref, fabric_file, tuple(overrides))
    load.job_from_description = lambda description: (description["job"], None, ())

    def build_instance(job):
        found = jobs[job]
        if isinstance(found, Exception):
            raise found
        return found

    build.build_instance = build_instance
    monkeypatch.setitem(sys.modules, "fluxscale.workload.load", load)
    monkeypatch.setitem(sys.modules, "fluxscale.instance.build", build)
    return jobs


def save(folder, source=None, instance=None):
    instance = instance or ping_pong()
    schedule = make_schedule(instance, plan().op_start_ticks, plan().leg_plane)
    return load_schedule(
        save_schedule(folder / "schedule.json", schedule, instance=instance, provenance={}, source=source)
    )


def test_a_job_with_its_fabric_and_settings(tmp_path, builder):
    builder["tiny", "f.toml", ("a=1",)] = ping_pong()
    instance, schedule = locate(save(tmp_path), job="tiny", fabric_file="f.toml", overrides=["a=1"])
    assert schedule.instance_sha256 == instance.sha256 == ping_pong().sha256


def test_a_schedule_of_another_job_is_refused(tmp_path, builder):
    builder["tiny", None, ()] = ping_pong(**OTHER)
    with pytest.raises(InputError, match="another instance") as caught:
        locate(save(tmp_path), job="tiny")
    assert caught.value.exit_code == 2


def test_an_instance_file(tmp_path):
    save_instance(tmp_path / "x.npz", ping_pong())
    instance, _ = locate(save(tmp_path), instance_file=tmp_path / "x.npz")
    assert instance.sha256 == ping_pong().sha256
    save_instance(tmp_path / "y.npz", ping_pong(**OTHER))
    with pytest.raises(InputError, match="another instance"):
        locate(save(tmp_path), instance_file=tmp_path / "y.npz")


def test_the_job_inside_the_file(tmp_path, builder):
    builder["inside", None, ()] = ping_pong()
    instance, _ = locate(save(tmp_path, source={"job": "inside"}))
    assert instance is builder["inside", None, ()]


@pytest.mark.parametrize("inside", [ping_pong(**OTHER), InputError("the job is no longer readable")])
def test_the_instance_beside_it_when_the_job_inside_no_longer_fits(tmp_path, builder, inside):
    builder["inside", None, ()] = inside
    save_instance(tmp_path / "instance.flux.npz", ping_pong())
    instance, _ = locate(save(tmp_path, source={"job": "inside"}))
    assert instance.sha256 == ping_pong().sha256


def test_a_job_inside_that_fits_no_longer_is_an_error(tmp_path, builder):
    builder["inside", None, ()] = ping_pong(**OTHER)
    with pytest.raises(InputError, match="another instance"):
        locate(save(tmp_path, source={"job": "inside"}))
    builder["inside", None, ()] = InputError("the job is no longer readable")
    with pytest.raises(InputError, match="no longer readable"):
        locate(save(tmp_path, source={"job": "inside"}))


def test_the_instance_beside_it(tmp_path):
    save_instance(tmp_path / "instance.flux.npz", ping_pong())
    instance, _ = locate(save(tmp_path))
    assert instance.sha256 == ping_pong().sha256


def test_no_instance_anywhere(tmp_path):
    with pytest.raises(InputError, match=r"says nothing about its job.*Maybe: give --job JOB"):
        locate(save(tmp_path))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"job": "tiny", "instance_file": "x.npz"}, "not both"),
        ({"fabric_file": "f.toml"}, "need --job"),
        ({"overrides": ["a=1"]}, "need --job"),
    ],
)
def test_settings_that_contradict_each_other(settings, words):
    with pytest.raises(InputError, match=words):
        locate(SimpleNamespace(), **settings)


def test_a_folder_means_the_schedule_in_it(tmp_path):
    with pytest.raises(InputError, match="holds no schedule file"):
        schedule_file(tmp_path)
    for name in ("schedule.npz", "schedule.json"):
        (tmp_path / name).write_text("")
        assert schedule_file(tmp_path) == tmp_path / name
    assert schedule_file(tmp_path / "other.json") == tmp_path / "other.json"
