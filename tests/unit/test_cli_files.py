import json
import os

import numpy as np
import pytest
from flow_case import ping_pong, plan

from fluxscale.cli import files
from fluxscale.cli.files import refuse_unwritable, write_files
from fluxscale.errors import InputError
from fluxscale.instance.io import load_instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.io import load_schedule


def made():
    instance = ping_pong()
    return instance, make_schedule(instance, plan().op_start_ticks, plan().leg_plane)


def write(folder, schedule="made", document=None):
    instance, good = made()
    chosen = good if schedule == "made" else schedule
    return write_files(folder, instance, chosen, document or {"gap": 0.0}, provenance={"seed": 1}, source={"job": "x"})


def test_three_files_and_nothing_else(tmp_path):
    folder = tmp_path / "deep" / "er"
    written = write(folder)
    assert (
        sorted(os.listdir(folder))
        == ["instance.flux.npz", "result.json", "schedule.json"]
        == sorted(p.name for p in written)
    )
    instance, schedule = made()
    assert load_instance(folder / "instance.flux.npz").sha256 == instance.sha256
    saved = load_schedule(folder / "schedule.json")
    assert saved.bind(instance).sha256 == schedule.sha256
    assert saved.provenance == {"seed": 1}
    assert saved.source == {"job": "x"}
    assert json.loads((folder / "result.json").read_text()) == {"gap": 0.0}


def test_large_schedules_are_columns_and_the_old_form_goes(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(files, "LARGE_OPS", 4)
    write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["instance.flux.npz", "result.json", "schedule.npz"]
    instance, schedule = made()
    assert load_schedule(tmp_path / "schedule.npz").bind(instance).sha256 == schedule.sha256


def test_no_schedule_leaves_no_old_one(tmp_path):
    write(tmp_path)
    write(tmp_path, schedule=None)
    assert sorted(os.listdir(tmp_path)) == ["instance.flux.npz", "result.json"]


def test_other_files_in_the_folder_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_numbers_of_numpy_are_written(tmp_path):
    write(tmp_path, document={"moves": np.int64(3), "list": np.arange(2)})
    assert json.loads((tmp_path / "result.json").read_text()) == {"moves": 3, "list": [0, 1]}


def test_a_failure_half_way_changes_nothing(tmp_path):
    write(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(TypeError):
        write(tmp_path, document={"bad": object()})
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    with pytest.raises(InputError, match="No space left on device") as caught:
        write(tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "out").glob(".fluxscale-*"))


def test_a_new_folder_is_fine_and_is_not_made_yet(tmp_path):
    refuse_unwritable(tmp_path / "a" / "b")
    refuse_unwritable(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_file_in_its_place_is_refused(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(InputError, match="is a file, not a folder"):
        refuse_unwritable(taken)
    with pytest.raises(InputError, match="cannot be created"):
        refuse_unwritable(taken / "below")
    with pytest.raises(InputError, match="--out: cannot be written"):
        write(taken)
    assert taken.read_text() == "mine"


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written"):
        refuse_unwritable(tmp_path / "new")
