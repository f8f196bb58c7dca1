"""Whatever is wrong with the input: exit code 2, one line (where, what, what to do), and nothing half-written."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from run_cli import Finished, fluxscale

from fluxscale.cli.main import run as run_command

JOB = {
    "": {"name": '"mine"'},
    "parallel": {"pp": "2", "micro_batches": "4"},
    "hardware": {"gpus_per_host": "1"},
    "timing": {"forward": '"3ms"', "backward": '"6ms"', "transfer": '"400us"'},
    "fabric": {"rate": '"400Gbps"', "reconfiguration_delay": '"1ms"', "boundary": '"preset"'},
}
MODEL = {
    "layers": "4", "hidden": "1024", "ffn": "4096", "heads": "8", "vocab": "1000", "seq_len": "512",
}  # fmt: skip
DAG = {
    "format": "fluxscale-dag",
    "version": 1,
    "ops": [
        {"id": "F0", "kind": "compute", "device": "s0", "duration": "3ms", "after": []},
        {"id": "act0", "kind": "transfer", "src": "s0", "dst": "s1", "bytes": 20000000, "after": ["F0"]},
        {"id": "F1", "kind": "compute", "device": "s1", "duration": "3ms", "after": ["act0"]},
    ],
}


def toml(**edits: str | None) -> str:
    """The good job with raw values put in (``section__key``), or taken out (None)."""
    tables = copy.deepcopy(JOB)
    for place, raw in edits.items():
        section, _, key = place.rpartition("__")
        table = tables.setdefault(section, {})
        if raw is None:
            table.pop(key)
        else:
            table[key] = raw
    text = ""
    for section, table in tables.items():
        text += f"[{section}]\n" if section else ""
        text += "".join(f"{key} = {raw}\n" for key, raw in table.items())
    return text


def dag(op: int | None = None, /, **edits: object) -> str:
    """The good DAG with keys of one op (or of the document) set; a value of None takes the key out."""
    document = copy.deepcopy(DAG)
    target: dict = document if op is None else document["ops"][op]
    for key, value in edits.items():
        if value is None:
            target.pop(key)
        else:
            target[key] = value
    return json.dumps(document)


@dataclass(frozen=True)
class Bad:
    """A bad input: what is typed, the files it names, and what the line must contain (``a|b``: one of the two)."""

    name: str
    command: str
    says: tuple[str, ...]
    files: tuple[tuple[str, str | bytes], ...] = ()
    maybe: bool = False


def bad_job(name: str, *says: str, maybe: bool = False, **edits: str | None) -> Bad:
    return Bad(name, "solve job.toml", ("job.toml", *says), (("job.toml", toml(**edits)),), maybe)


def bad_dag(name: str, text: str, *says: str, maybe: bool = False) -> Bad:
    return Bad(name, "solve dag.json", ("dag.json", *says), (("dag.json", text),), maybe)


def bad_option(name: str, options: str, *says: str, maybe: bool = False) -> Bad:
    return Bad(name, f"solve job.toml {options}", says, (("job.toml", toml()),), maybe)


def deep(levels: int, opening: str, closing: str) -> str:
    return opening * levels + closing * levels


WITH_MODEL = {f"model__{key}": raw for key, raw in MODEL.items()}

CASES = [
    # --- names and files
    Bad("unknown preset", "solve lama3-405b-16k", ("lama3-405b-16k", "did you mean 'llama3-405b-16k'"), maybe=True),
    Bad("missing job file", "solve nowhere.toml", ("nowhere.toml", "no such file")),
    Bad("missing DAG file", "solve nowhere.json", ("nowhere.json", "no such file")),
    Bad("missing fabric file", "solve job.toml --fabric nowhere.toml", ("nowhere.toml",), (("job.toml", toml()),)),
    Bad("missing schedule file", "check nowhere.json", ("nowhere.json",)),
    Bad("missing schedule to replay", "replay nowhere.npz", ("nowhere.npz",)),
    Bad("directory as job", "solve folder", ("folder", "directory"), (("folder/x", ""),)),
    Bad("directory as job file", "solve folder.toml", ("folder.toml", "directory"), (("folder.toml/x", ""),)),
    Bad("directory without a schedule", "check folder", ("folder",), (("folder/x", ""),)),
    Bad("empty job file", "solve job.toml", ("job.toml", "parallel"), (("job.toml", ""),)),
    Bad("out is a file", "solve job.toml --out job.toml/x", ("--out",), (("job.toml", toml()),)),
    # --- malformed
    Bad("malformed TOML", "solve job.toml", ("job.toml", "not TOML", "line 1"), (("job.toml", "[parallel\npp = 2"),)),
    Bad("TOML with a key twice", "solve job.toml", ("job.toml", "not TOML"), (("job.toml", "pp = 2\npp = 3"),)),
    Bad("TOML that is not UTF-8", "solve job.toml", ("job.toml", "UTF-8"), (("job.toml", b"name = '\xff'"),)),
    Bad("malformed JSON", "solve dag.json", ("dag.json", "not JSON", "line 1"), (("dag.json", '{"format": '),)),
    Bad("empty JSON", "solve dag.json", ("dag.json",), (("dag.json", ""),)),
    Bad("malformed schedule", "check s.json", ("s.json", "JSON"), (("s.json", "{"),)),
    Bad("schedule that is no zip", "check s.npz", ("s.npz",), (("s.npz", b"PK\x03\x04 rubbish"),)),
    Bad("malformed fabric", "solve a.toml --fabric f.toml", ("f.toml", "TOML"), (("a.toml", toml()), ("f.toml", "["))),
    # --- wrong types
    bad_job("text as a count", "parallel.pp", "'four'", parallel__pp='"four"'),
    bad_job("fraction as a count", "parallel.micro_batches", "8.5", parallel__micro_batches="8.5"),
    bad_job("truth value as a count", "parallel.pp", "True", parallel__pp="true"),
    bad_job("list as a time", "timing.forward", "['3ms']", parallel__pp="2", timing__forward='["3ms"]'),
    Bad("number as a section", "solve job.toml", ("job.toml", "parallel", "7"), (("job.toml", "parallel = 7\n"),)),
    bad_job("word that is not a rule", "fabric.rule", "'all_stop'", fabric__rule='"all_stop"'),
    bad_dag("list as a document", "[]", "object"),
    bad_dag("ops of the wrong type", dag(ops={"F0": 1}), "ops", "list"),
    bad_dag("op of the wrong type", dag(ops=[1]), "ops", "1"),
    bad_dag("id of the wrong type", dag(0, id=3), "id", "3"),
    bad_dag("unknown kind", dag(0, kind="computee"), "kind", "'computee'", "compute", maybe=True),
    bad_dag("after is a text", dag(2, after="act0"), "F1", "after", "'act0'"),
    bad_dag("bytes are a text without meaning", dag(1, bytes="many"), "act0", "bytes", "'many'"),
    # --- NaN and infinite
    bad_job("NaN in TOML", "hardware.efficiency", "nan", hardware__efficiency="nan"),
    bad_job("infinite in TOML", "hardware.efficiency", "inf", hardware__efficiency="inf"),
    bad_job("infinite time", "timing.forward", "inf", timing__forward="inf"),
    bad_job("NaN delay", "fabric.reconfiguration_delay", "nan", fabric__reconfiguration_delay="nan"),
    bad_dag("NaN in JSON", dag(1, bytes=float("nan")), "finite", "NaN"),
    bad_dag("infinite in JSON", dag(1, bytes=float("inf")), "finite", "Infinity"),
    bad_dag("number that overflows to infinite", dag().replace("20000000", "1e999"), "act0", "bytes"),
    bad_option("NaN as a limit", "--time-limit nan", "time", "nan"),
    bad_option("infinite gap", "--rel-gap inf", "gap", "inf"),
    # --- negative and zero
    bad_job("negative stages", "parallel.pp", "-1", parallel__pp="-1"),
    bad_job("zero micro-batches", "parallel.micro_batches", "0", parallel__micro_batches="0"),
    bad_job("zero layers", "model.layers", "0", **(WITH_MODEL | {"model__layers": "0"})),
    bad_job("negative delay", "fabric.reconfiguration_delay", "'-1ms'", fabric__reconfiguration_delay='"-1ms"'),
    bad_job("zero rate", "fabric.rate", "'0Gbps'", fabric__rate='"0Gbps"'),
    bad_job("zero time of a forward", "timing.forward", "0", timing__forward='"0ms"'),
    bad_job("negative time", "timing.backward", "-5", timing__backward="-5"),
    bad_job("negative radix", "fabric.radix", "-4", fabric__radix="-4"),
    bad_job("zero planes", "fabric.planes", "0", fabric__planes="0"),
    bad_job("efficiency above one", "hardware.efficiency", "1.5", hardware__efficiency="1.5"),
    bad_dag("negative bytes", dag(1, bytes=-1), "act0", "bytes", "-1"),
    bad_dag("zero bytes", dag(1, bytes=0), "act0", "bytes", "0"),
    bad_dag("negative duration", dag(0, duration="-3ms"), "F0", "duration", "-3ms"),
    bad_dag("time beyond 64 bits", dag(0, duration="1e30s"), "F0", "duration", "64 bits"),
    bad_job("time beyond 64 bits in TOML", "timing.forward", "64 bits", timing__forward='"1e30s"'),
    bad_option("negative seed", "--seed -1", "seed", "-1"),
    bad_option("no workers", "--workers 0", "workers", "0"),
    bad_option("no time", "--time-limit 0", "time", "0"),
    bad_option("no work", "--work-limit 0", "work", "0"),
    bad_option("negative gap", "--rel-gap=-0.1", "gap", "-0.1"),
    # --- unknown keys
    bad_job("misspelt section", "paralel", "did you mean 'parallel'", maybe=True, paralel__pp="2"),
    bad_job("misspelt key", "parallel.micro_batchs", "'micro_batches'", maybe=True, parallel__micro_batchs="2"),
    bad_job(
        "misspelt fabric key", "fabric.reconfiguration_dely", "did you mean 'reconfiguration_delay'",
        maybe=True, fabric__reconfiguration_dely='"1ms"',
    ),
    bad_job("misspelt order", "parallel.schedule", "'1f1bb'", parallel__schedule='"1f1bb"'),
    bad_dag("misspelt op key", dag(1, byte=3), "act0", "byte", "did you mean 'bytes'", maybe=True),
    bad_dag("misspelt document key", dag(opps=[]), "opps", "did you mean 'ops'", maybe=True),
    bad_dag("missing op key", dag(1, dst=None), "act0", "dst"),
    bad_dag("another version", dag(version=2), "version", "2"),
    bad_dag("another format", dag(format="fluxscale-dagg"), "format", "'fluxscale-dagg'", maybe=True),
    bad_option("misspelt setting", "--set parallel.ppp=4", "parallel.ppp", "'pp'", maybe=True),
    bad_option("misspelt fabric setting", "--set fabric.rat=1Gbps", "fabric.rat", "'rate'", maybe=True),
    bad_option("misspelt solver option", "--solver list --set solver.ruls=4", "solver.ruls", "'rules'", maybe=True),
    bad_option("setting without a value", "--set fabric.rate", "--set", "fabric.rate", maybe=True),
    bad_option("bad value in a setting", "--set fabric.rate=400GB", "fabric.rate", "400GB", maybe=True),
    bad_option("misspelt solver", "--solver exact-cpsta", "exact-cpsta", "'exact-cpsat'", maybe=True),
    bad_option("misspelt symmetry", "--symmetry of", "symmetry", "'of'", "'off'", maybe=True),
    bad_option("executor that is not built", "--executor ray", "executor", "ray"),
    bad_option("misspelt option", "--sede 3", "--sede", maybe=True),
    bad_option("text as a number", "--seed three", "seed", "three"),
    Bad("misspelt command", "sovle tiny-4x8", ("sovle",), maybe=True),
    Bad("no job", "solve", ("JOB",)),
    # --- contradictions in a job
    bad_job("degrees that do not multiply", "parallel.gpus", "9", "pp 2", maybe=True, parallel__gpus="9"),
    bad_job(
        "interleaved with a remainder", "micro_batches", "5", maybe=True,
        parallel__schedule='"interleaved"', parallel__virtual_stages="2", parallel__micro_batches="5",
    ),
    bad_job("batch that does not divide", "parallel.global_batch", "9", parallel__global_batch="9", parallel__dp="2"),
    bad_job("no micro-batches", "parallel.micro_batches", maybe=True, parallel__micro_batches=None),
    bad_job("one of two times", "timing.backward", maybe=True, timing__backward=None),
    bad_job("experts", "parallel.ep", "8", maybe=True, parallel__ep="8"),
    # --- units
    bad_job("unknown unit of a time", "timing.forward", "'3 fortnights'", maybe=True, timing__forward='"3 fortnights"'),
    bad_job("misspelt unit", "timing.forward", "'3msec'", "'ms", maybe=True, timing__forward='"3msec"'),
    bad_job("bytes as a rate", "fabric.rate", "'400GB'", "bits", maybe=True, fabric__rate='"400GB"'),
    bad_job("bytes a second as a rate", "fabric.rate", "'50GB/s'", "bits", maybe=True, fabric__rate='"50GB/s"'),
    bad_job(
        "bits as a size", "timing.transfer_size", "'20Mb'", "bytes",
        maybe=True, timing__transfer=None, timing__transfer_size='"20Mb"',
    ),
    bad_job(
        "bits a second as a memory rate", "hardware.intra_host_bandwidth", "'450Gbps'", "bytes",
        maybe=True, hardware__intra_host_bandwidth='"450Gbps"',
    ),
    bad_job("fraction of a tick", "timing.forward", "'0.5ns'", "ns", timing__forward='"0.5ns"'),
    bad_dag("unknown unit in a DAG", dag(0, duration="3parsec"), "F0", "duration", "parsec", maybe=True),
    # --- graphs
    bad_dag("cycle", dag(0, after=["F1"]), "cycle", "F0", "act0", "F1"),
    bad_dag("op after itself", dag(0, after=["F0"]), "F0"),
    bad_dag("unknown id", dag(1, after=["F00"]), "act0", "after", "'F00'", "did you mean 'F0'", maybe=True),
    bad_dag("duplicate id", dag(2, id="F0"), "F0", "id"),
    bad_dag("transfer to itself", dag(1, dst="s0"), "act0", "s0"),
    bad_dag("gang without circuits", dag(1, kind="gang", src=None, dst=None, circuits=[]), "act0", "circuits"),
    bad_dag("gang circuit to itself", dag(1, kind="gang", src=None, dst=None, circuits=[["s0", "s0"]]), "act0", "s0"),
    bad_dag("no ops", dag(ops=[]), "ops"),
    bad_dag("compute without a device", dag(0, device=None), "F0", "device"),
    bad_dag("bytes and duration", dag(1, duration="1ms"), "act0", "duration"),
    # --- fabric and instance
    bad_job("radix exceeded", "radix", "2", "plane", parallel__dp="2", timing__dp='"4ms"', fabric__radix="2"),
    Bad(
        "no common OCS", "solve dag.json --fabric f.toml", ("dag.json|f.toml", "act0", "common OCS"),
        (("dag.json", dag()), ("f.toml", '[fabric]\n[[fabric.plane]]\nocs = [["s0"], ["s1"]]\n')),
    ),
    Bad(
        "members that nobody is", "solve dag.json --fabric f.toml", ("dag.json|f.toml", "members", "s9"),
        (("dag.json", dag()), ("f.toml", '[fabric]\n[[fabric.plane]]\nmembers = ["s9"]\n')),
    ),
    bad_job("10^9 ops", "ops", parallel__dp="100000", timing__dp='"4ms"', parallel__micro_batches="10000"),
    bad_job("more GPUs than numbers", "ops", parallel__dp="2147483647", timing__dp='"4ms"'),
    # --- files beyond the bounds
    bad_dag("JSON too deep", deep(100_000, "[", "]"), "nested"),
    Bad("TOML too deep", "solve job.toml", ("job.toml", "nested"), (("job.toml", "x = " + deep(5000, "[", "]")),)),
    Bad("TOML too large", "solve job.toml", ("job.toml", "larger"), (("job.toml", "#" * (2**20 + 1)),)),
]  # fmt: skip


def lay(folder: Path, bad: Bad) -> None:
    for name, content in bad.files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Finished:
    """The command in this process: a hundred Python starts would take a minute."""
    with pytest.raises(SystemExit) as left:
        run_command(arguments)
    shown = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return Finished(left.value.code, shown.out, shown.err)


def assert_refused(done: Finished, says: tuple[str, ...], maybe: bool) -> None:
    assert done.code == 2, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("fluxscale: error: ")
    assert len(done.err) < 1000, "a value is quoted at full length"
    for words in says:
        assert any(word.lower() in done.err.lower() for word in words.split("|")), f"{words!r} is not in: {done.err}"
    if maybe:
        assert "Maybe: " in done.err, done.err


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_refused(bad, tmp_path, monkeypatch, capsys):
    lay(tmp_path, bad)
    monkeypatch.chdir(tmp_path)
    arguments = bad.command.split()
    if arguments[0] == "solve" and len(arguments) > 1 and "--out" not in arguments:
        arguments += ["--out", "kept", "--json", "--quiet"]
    before = sorted(tmp_path.rglob("*"))
    assert_refused(run(arguments, capsys), bad.says, bad.maybe)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_good_inputs_are_good(tmp_path, monkeypatch, capsys):
    # otherwise the cases above could fail for another reason than the one that they name
    monkeypatch.chdir(tmp_path)
    for name, text in (("job.toml", toml()), ("model.toml", toml(**WITH_MODEL)), ("dag.json", dag())):
        Path(name).write_text(text)
        done = run(["solve", name, "--json", "--quiet"], capsys)
        assert done.code == 0, done.err
        assert json.loads(done.out)["feasibility"] == "checked-ok"


def test_in_a_process_of_its_own(tmp_path):
    Path(tmp_path / "job.toml").write_text(toml(fabric__rate='"400GB"'))
    done = fluxscale("solve", "job.toml", "--out", "kept", "--quiet", cwd=tmp_path)
    assert_refused(done, ("job.toml", "fabric.rate", "'400GB'", "400Gbps"), maybe=True)
    assert not (tmp_path / "kept").exists()


def test_a_huge_request_is_refused_before_anything_is_allocated(tmp_path):
    Path(tmp_path / "job.toml").write_text(
        toml(parallel__dp="100000", timing__dp='"4ms"', parallel__micro_batches="10000")
    )
    began = time.perf_counter()
    assert_refused(fluxscale("solve", "job.toml", "--quiet", cwd=tmp_path), ("job.toml", "ops"), maybe=True)
    assert time.perf_counter() - began < 20


def test_layers_that_do_not_divide_are_spread_and_the_output_says_how(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    uneven = WITH_MODEL | {
        "model__layers": "5",
        "timing__forward": None,
        "timing__backward": None,
        "timing__transfer": None,
    }
    Path("job.toml").write_text(toml(**uneven))
    done = run(["solve", "job.toml", "--json", "--quiet"], capsys)
    assert done.code == 0, done.err
    notes = " ".join(json.loads(done.out)["notes"])
    assert "layers" in notes
    assert "3" in notes
    assert "2" in notes


@pytest.fixture(scope="module")
def two_results(tmp_path_factory):
    """Folders of two solves whose instances differ."""
    folder = tmp_path_factory.mktemp("solved")
    (folder / "a.toml").write_text(toml())
    (folder / "b.toml").write_text(toml(parallel__micro_batches="5"))
    for name in ("a", "b"):
        done = fluxscale("solve", f"{name}.toml", "--out", name, "--quiet", cwd=folder)
        assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("verb", ["check", "replay"])
@pytest.mark.parametrize(
    "other",
    [
        ["--job", "b.toml"],
        ["--instance", "b/instance.flux.npz"],
        ["--job", "a.toml", "--set", "parallel.micro_batches=6"],
    ],
    ids=str,
)
def test_schedule_of_another_instance(verb, other, two_results, monkeypatch, capsys):
    monkeypatch.chdir(two_results)
    done = run([verb, "a/schedule.json", *other, "--json"], capsys)
    assert_refused(done, ("schedule.json", "instance"), maybe=False)


@pytest.mark.parametrize("verb", ["check", "replay"])
def test_schedule_of_its_own_instance_is_accepted(verb, two_results, monkeypatch, capsys):
    monkeypatch.chdir(two_results)
    assert run([verb, "a/schedule.json", "--json"], capsys).code == 0
    assert run([verb, "a", "--job", "a.toml", "--json"], capsys).code == 0


@pytest.mark.parametrize("jitter", ["nan", "inf", "-0.1"])
def test_jitter_that_is_no_fraction(jitter, two_results, monkeypatch, capsys):
    monkeypatch.chdir(two_results)
    assert_refused(run(["replay", "a", f"--jitter={jitter}"], capsys), ("jitter", jitter), maybe=False)


DAMAGE = {
    "unknown key": lambda s: s | {"colour": "red"},
    "version of the future": lambda s: s | {"version": 99},
    "no version": lambda s: {key: value for key, value in s.items() if key != "version"},
    "another format": lambda s: s | {"format": "fluxscale-dag"},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_schedule(damage, two_results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    document = json.loads((two_results / "a" / "schedule.json").read_text())
    Path("s.json").write_text(json.dumps(DAMAGE[damage](document)))
    assert_refused(run(["check", "s.json"], capsys), ("s.json",), maybe=False)


def test_truncated_files(two_results, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("schedule.json", "instance.flux.npz"):
        whole = (two_results / "a" / name).read_bytes()
        Path(name).write_bytes(whole[: len(whole) // 2])
    assert_refused(run(["check", "schedule.json"], capsys), ("schedule.json",), maybe=False)
    command = ["check", str(two_results / "a" / "schedule.json"), "--instance", "instance.flux.npz"]
    assert_refused(run(command, capsys), ("instance.flux.npz",), maybe=False)


def test_a_refused_solve_leaves_the_files_of_the_last_one(two_results, monkeypatch, capsys):
    monkeypatch.chdir(two_results)
    before = {file.name: file.read_bytes() for file in Path("b").iterdir()}
    done = run(["solve", "b.toml", "--set", "fabric.rate=0Gbps", "--out", "b", "--quiet"], capsys)
    assert_refused(done, ("fabric.rate",), maybe=False)
    assert {file.name: file.read_bytes() for file in Path("b").iterdir()} == before
