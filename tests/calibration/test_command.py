"""`parcast calibrate`: what it asks for and writes, and what it refuses before it measures."""

import errno
import os
import subprocess
from dataclasses import replace

import pytest

from parcast.calibration.command import MOST_RANKS, slurm_script
from parcast.descriptions.toml_files import read_machine
from parcast.errors import ParameterError, RunFailed
from tests.calibration.calibrated import INTERRUPTED, WHOLE
from tests.conftest import ROOT

OSU = [ROOT / "examples" / "benchmarks" / f"osu_latency.{i}.txt" for i in (1, 2, 3)]
IOR = ROOT / "examples" / "benchmarks" / "ior.txt"


@pytest.fixture
def measuring(monkeypatch):
    """Let `calibrate` answer at once, and keep what it was asked for."""
    asked = []

    def set_up(answer=WHOLE):
        def stand_in(**arguments):
            asked.append(arguments)
            arguments["progress"](0.5, "network, 2 ranks")
            if isinstance(answer, Exception):
                raise answer
            return replace(answer, name=arguments["name"] or answer.name)

        monkeypatch.setattr("parcast.calibration.calibrate.calibrate", stand_in)
        return asked

    return set_up


def test_the_answer_and_the_file(parcast, measuring, tmp_path):
    asked = measuring()
    said = parcast(
        *("calibrate", "-np", 4, "-o", tmp_path / "here.toml", "--time-limit", "5 min"),
        *("--directory", tmp_path, "--name", "here", "--only", "storage,network", "--quick"),
    )
    assert (said.status, said.err) == (0, f"parcast: wrote {tmp_path / 'here.toml'}.\n")
    assert said.out.startswith("here: measured in 62 s\n")
    told = asked[0]
    assert (told["ranks"], told["time_limit"], told["quick"]) == (4, 300.0, True)
    assert (told["only"], told["directory"]) == (("network", "storage"), str(tmp_path))
    machine = read_machine(tmp_path / "here.toml")
    assert machine.name == "here"
    assert float(machine.network.latency({})) == 1.5e-6


@pytest.mark.fault(
    "Output files",
    "The only output cannot be written.",
    promise="Status 2; the answer is printed.",
)
def test_a_disk_that_is_full_takes_nothing_of_the_answer(
    parcast, measuring, tmp_path, monkeypatch
):
    measuring()

    def full(path, _):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("parcast.files.document.write_document", full)
    said = parcast("calibrate", "-o", tmp_path / "here.toml")
    assert said.status == 2
    assert "latency" in said.out
    assert "no space left on device" in said.err.lower()
    assert not (tmp_path / "here.toml").exists()


@pytest.mark.fault(
    "Output files",
    "Standard output is closed before the answer of a long command is printed.",
    promise="Status 141; the files are written.",
)
def test_a_standard_output_that_is_closed_takes_nothing_of_the_files(
    parcast, measuring, tmp_path, monkeypatch
):
    measuring()

    def closed(_):
        raise BrokenPipeError

    monkeypatch.setattr("parcast.cli.screen.show", closed)
    paths = [tmp_path / f"here.{ending}" for ending in ("toml", "json", "html")]
    assert parcast("calibrate", *(x for path in paths for x in ("-o", path))).status == 141
    assert "<title>node7: measured in" in paths[2].read_text()
    assert all(path.stat().st_size for path in paths)


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during a calibration.",
    promise="Status 130; what was measured is written, but not over a file that exists.",
)
def test_what_was_interrupted_is_written_and_what_was_there_stays(parcast, measuring, tmp_path):
    measuring(INTERRUPTED)
    path = tmp_path / "here.toml"
    said = parcast("calibrate", "-o", path)
    assert said.status == 130
    assert said.out.startswith("node7: measured until interrupted")
    assert said.err == f"parcast: wrote {path}.\n"
    before = path.read_text()
    assert "interrupted" in before
    path.write_text("name = 'mine'\n")
    said = parcast("calibrate", "-o", path)
    assert path.read_text() == "name = 'mine'\n"
    assert (tmp_path / "here.interrupted.toml").read_text() == before
    assert f"{path} is left as it was; see {tmp_path / 'here.interrupted.toml'}." in said.err


def test_other_benchmarks_are_read_for_what_they_tell(parcast, measuring, tmp_path):
    asked = measuring()
    path = tmp_path / "here.toml"
    said = parcast("calibrate", "-o", path, "--from", *OSU, IOR)
    assert said.status == 0
    assert asked[0]["only"] == ("processor", "network", "primitives")  # IOR tells the storage
    assert "from files  network.latency = 2.01 us, osu_latency, 2 processes, 0 B" in said.out
    assert (
        "parcast: IOR does not report the number of servers: storage.servers is set to 1"
        in said.err
    )
    machine = read_machine(path)
    assert float(machine.network.latency({})) == pytest.approx(2.01e-6)
    assert float(machine.network.saturation({})) == 7e9
    assert float(machine.storage.bandwidth({})) == pytest.approx(8.401e9)
    assert machine.source.startswith("parcast calibrate on node7")
    assert "other values from OSU Micro-Benchmarks: osu_latency.1.txt" in machine.source
    assert "IOR: ior.txt" in machine.source


@pytest.mark.parametrize(
    ("arguments", "says"), [(["--only", ""], "got ''"), (["--from", "missing.txt"], "missing.txt")]
)
def test_what_makes_no_sense_is_refused_before_anything_is_measured(
    parcast, measuring, arguments, says
):
    asked = measuring()
    said = parcast("calibrate", *arguments)
    assert said.status in (2, 3)
    assert says in said.err
    assert asked == []


def test_files_of_other_kinds_are_refused(parcast, measuring, tmp_path):
    asked = measuring()
    other = tmp_path / "hello.txt"
    other.write_text("hello\n")
    assert (
        "--from must be output of OSU, IMB or IOR, got"
        in parcast("calibrate", "--from", other).err
    )
    timings = ROOT / "examples" / "imports" / "threads.json"
    assert (
        "--from must be output of OSU, IMB or IOR" in parcast("calibrate", "--from", timings).err
    )
    assert asked == []


def test_without_an_mpi_nothing_begins_that_needs_one(parcast, measuring, monkeypatch):
    asked = measuring()

    def missing():
        raise RunFailed('Starting ranks needs mpi4py. Install it: pip install "parcast[mpi]"')

    monkeypatch.setattr("parcast.mpi.find.find_mpi", missing)
    said = parcast("calibrate")
    assert (said.status, asked) == (4, [])
    assert said.err == (
        'parcast: Starting ranks needs mpi4py. Install it: pip install "parcast[mpi]" Processor '
        "and storage can do without: --only processor,storage.\n"
    )
    assert parcast("calibrate", "--only", "processor,storage").status == 0


@pytest.mark.parametrize(("name", "why"), [("nowhere", "no such file"), ("a file", "director")])
def test_a_place_for_files_is_there_before_anything_is_measured(
    parcast, measuring, tmp_path, name, why
):
    asked = measuring()
    (tmp_path / "a file").write_text("")
    said = parcast("calibrate", "--directory", tmp_path / name)
    assert (said.status, asked) == (2, [])
    assert "--directory must be a folder that can be written to, got" in said.err
    assert why in said.err
    assert parcast("calibrate", "--only", "network", "--directory", tmp_path / name).status == 0


@pytest.mark.parametrize(
    ("failure", "says", "status"),
    [
        (ParameterError("ranks", must="be at least 2"), "-np must be at least 2.", 2),
        (ParameterError("directory", must="exist"), "--directory must exist.", 2),
        (RunFailed('There is no mpiexec. pip install "parcast[mpi]"'), "parcast[mpi]", 4),
    ],
)
def test_refusals_of_the_measurement_are_told_in_options(
    parcast, measuring, failure, says, status
):
    measuring(failure)
    said = parcast("calibrate")
    assert said.status == status
    assert says in said.err
    assert "Traceback" not in said.err


def test_the_script_runs_the_command_and_can_start_ranks_with_srun(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, does in (
        ("parcast", 'echo "$PARCAST_PLACEMENT" "$@"; mpiexec -n 2 true'),
        ("srun", 'echo srun "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    text = slurm_script(["-np", "2", "--quick"], ranks=2, time_limit=1.0, script="job.sh")
    start = text.index("# mkdir -p parcast-srun")
    head, tail = text[:start], text[start:]
    lines, rest = tail.split("\n\n", 1)
    text = head + "\n".join(line.removeprefix("# ") for line in lines.splitlines()) + "\n\n" + rest
    script = tmp_path / "job.sh"
    script.write_text(text)
    said = subprocess.run(
        ["sh", str(script)],
        env={"PATH": f"{tools}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert said.stdout.splitlines() == [
        "free calibrate -np 2 --quick",
        "srun --mpi=pmix -n 2 true",
    ]


def test_the_command_line_knows_how_many_ranks_there_may_be():
    from parcast.calibration.calibrate import MOST_RANKS as MOST

    assert MOST_RANKS == MOST


def test_two_ranks_measure_a_network(process, tmp_path):
    path = tmp_path / "here.toml"
    asked = "calibrate -np 2 --only network --quick --time-limit 2s -o"
    said = process(*asked.split(), path, timeout=120)
    assert said.status == 0, said.err
    assert "network" in said.out
    machine = read_machine(path)
    assert 1e-8 < float(machine.network.latency({})) < 1e-2
    assert float(machine.network.bandwidth({})) > 1e6
    assert machine.compute.rate is None
