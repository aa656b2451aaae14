"""`parcast record`: what an MPI program calls is counted exactly, and becomes a description."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.characterisation.characterise import characterise
from parcast.characterisation.recording.build import compiler_of_mpi, recorder_for
from parcast.descriptions.toml_files import read_program
from parcast.errors import RunFailed
from parcast.mpi.find import find_mpi
from parcast.timings.read_profiles import read_profiles

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "parcast", "record"]
LIMIT = 120  # [s]
STEPS = 8

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler (cc) to build the recorder with"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Build the recorder and a program in C, once."""
    place = tmp_path_factory.mktemp("recording")
    mpicc = compiler_of_mpi(find_mpi().mpiexec.removesuffix("mpiexec") + "mpicc")
    words = [mpicc, "-O1", "-o", str(place / "program"), str(HERE / "program.c")]
    subprocess.run(words, check=True, timeout=LIMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        yield place, mpicc


def recorded(folder, *words, p=2, n=1, profile="app.jsonl", env=None, launched=True):
    """Record a run; what was said, and its status."""
    place, mpicc = folder
    mpi = find_mpi()
    launcher = [mpi.mpiexec, "-n", str(p)] if launched else []
    options = ["--mpicc", mpicc, "--set", f"n={n}", "-o", profile, "--"]
    return subprocess.run(
        [*COMMAND, *options, *launcher, *map(str, words)],
        env=os.environ | mpi.environment(crowded=True) | (env or {}),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture(scope="module")
def run(folder):
    """The profile of one run on two ranks."""
    place, _ = folder
    said = recorded(folder, place / "program", STEPS, n=STEPS)
    assert (said.returncode, said.stdout) == (0, "")
    assert "a run of program on 2 ranks" in said.stderr
    [only] = read_profiles([place / "app.jsonl"]).runs
    return only


def test_calls_and_bytes_are_counted_exactly(run):
    sent = sum(100 * (i + 1) for i in range(STEPS)) * 8 + 3 * 80
    for record in run.ranks:
        counted = {x.name: (x.calls, x.volume) for x in record.regions}
        sides = {"send": (1, 400)} if record.rank == 0 else {"receive": (1, 400)}
        assert counted == sides | {
            "computing": (0, 0),
            "sweep": (0, 0),
            "reduce (work)": (0, 0),
            "caf?": (0, 0),
            "exchange": (STEPS + 3, sent),
            "allreduce": (2 * STEPS + 1, 4 * 8 * STEPS + 8),
            "allgather": (1, 16),
            "gather": (1, 32),
            "alltoall": (1, 40),
            "broadcast": (2, 48 + 72),
            "file write": (1, 8000),
            "barrier": (2, 0),
        }


def test_regions_cover_the_run_and_have_their_names(run):
    for record in run.ranks:
        assert sum(x.wall for x in record.regions) == pytest.approx(record.span, rel=0.02)
        sweep = next(x for x in record.regions if x.name == "sweep")
        assert (sweep.kind, sweep.entries) == ("compute", STEPS)
        assert 0 < sweep.processor <= sweep.wall * 1.001
        assert (record.parameters, record.overlapping) == ({"n": STEPS}, 0)
    waited = next(x for x in run.ranks[1].regions if x.name == "receive")
    assert waited.wall > 0.1


def test_profiles_of_a_recorded_program_become_a_description(folder):
    place, _ = folder
    for p in (1, 2):
        for n in (20, 40, 80):
            assert (
                recorded(folder, place / "program", n, p=p, n=n, profile="a.jsonl").returncode == 0
            )
    found = characterise(read_profiles([place / "a.jsonl"]).runs)
    regions = {x.name: x for x in found.regions}
    assert regions["exchange"].calls == "3 + n"
    assert regions["allreduce"].calls == "1 + 2*n"
    loops = [x for x in found.regions if x.name.startswith("sweep")]
    assert loops  # the same loop on every rank: work that all repeat
    assert all(x.residual < 0.5 for x in loops)
    (place / "a.toml").write_text(found.toml)
    assert read_program(place / "a.toml").phase[0].law == "regions"


def test_programs_in_python_are_recorded(folder, tmp_path):
    script = tmp_path / "ring.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "import numpy as np\n"
        "comm = MPI.COMM_WORLD\n"
        "a, b = np.zeros(500), np.zeros(500)\n"
        "p, r = comm.Get_size(), comm.Get_rank()\n"
        "for _ in range(5):\n"
        "    comm.Sendrecv(a, (r + 1) % p, 0, b, (r - 1) % p, 0)\n"
        "    comm.Allreduce(MPI.IN_PLACE, a, MPI.SUM)\n"
    )
    said = recorded(folder, sys.executable, script, profile="python.jsonl")
    assert said.returncode == 0, said.stderr
    [only] = read_profiles([folder[0] / "python.jsonl"]).runs
    assert only.program == "ring"
    for record in only.ranks:
        counted = {x.name: (x.calls, x.volume) for x in record.regions if x.kind != "compute"}
        assert counted["exchange"] == (5, 20_000)
        assert counted["allreduce"] == (5, 20_000)


def test_a_recorder_of_another_mpi_ends_the_program_with_a_sentence(folder, tmp_path):
    header = tmp_path / "mpi.h"  # that of MPICH, said to be another's
    header.write_text("#define OPEN_MPI 1\n#include_next <mpi.h>\n")
    place, mpicc = folder
    other = tmp_path / "othercc"
    other.write_text(f'#!/bin/sh\nexec {mpicc} -I{tmp_path} "$@"\n')
    other.chmod(0o755)
    said = recorded((place, str(other)), place / "program", profile="other.jsonl")
    assert said.returncode == 4
    sentence = "parcast: the recorder was built for Open MPI, and this program runs on another MPI"
    assert said.stderr.count(sentence) == 1
    assert f"its MPI is not that of {other}. Name the mpicc of its MPI with --mpicc" in said.stderr
    assert not (place / "other.jsonl").exists()


def mpicc_of_open_mpi():
    """That of another MPI than the one of the tests, where there is one."""
    found = shutil.which("mpicc")
    words = [found, "--showme:version"]
    is_open = found and not subprocess.run(words, capture_output=True, check=False).returncode
    return found if is_open and find_mpi().vendor == "MPICH" else None


@pytest.mark.skipif(mpicc_of_open_mpi() is None, reason="there are no two MPIs")
@pytest.mark.parametrize(
    ("is_python", "says"),
    [
        (False, "and this program runs on another MPI."),
        (True, "and the launcher of this program belongs to another MPI."),
    ],
)
def test_a_library_of_another_mpi_is_told(folder, is_python, says):
    place, _ = folder
    code = [sys.executable, "-c", "import mpi4py.MPI"]  # which takes the MPI that is loaded
    words = code if is_python else [place / "program"]
    said = recorded((place, mpicc_of_open_mpi()), *words, profile="foreign.jsonl")
    assert said.returncode == 4
    assert said.stderr.count(f"parcast: the recorder was built for Open MPI, {says}") == 1
    assert not (place / "foreign.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["true"], "No rank of"),
        (["false"], "it ended with the status"),
    ],
)
def test_a_command_that_writes_no_profile_is_told(folder, words, says):
    said = recorded(folder, *words, profile="none.jsonl")
    assert said.returncode == 4
    assert says in said.stderr


def test_the_status_is_that_of_the_command(folder):
    place, _ = folder
    text = f"{place / 'program'} 2; exit 3"
    said = recorded(folder, "sh", "-c", text, p=1, profile="three.jsonl")
    assert said.returncode == 3
    assert len((place / "three.jsonl").read_text().splitlines()) == 1


def test_two_runs_of_one_command_are_both_told(folder):
    place, _ = folder
    once = f"{find_mpi().mpiexec} -n 1 {place / 'program'}"
    text = f"{once} 2; {once} 3"
    said = recorded(folder, "sh", "-c", text, profile="two.jsonl", launched=False)
    assert (said.returncode, said.stderr.count("a run of program on 1 rank")) == (0, 2)


def test_a_cache_that_the_loader_cannot_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    with pytest.raises(RunFailed, match="no blank and no colon"):
        recorder_for("mpicc")


def test_a_compiler_that_is_none_is_refused(tmp_path):
    with pytest.raises(RunFailed, match="There is no nocc"):
        compiler_of_mpi("nocc")
    broken = tmp_path / "brokencc"
    broken.write_text("#!/bin/sh\necho no such header >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(RunFailed, match="cannot build the recorder: no such header"):
        recorder_for(str(broken))


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ([], 2, "COMMAND is missing"),
        (["--set", "n", "--", "true"], 2, "--set must be parameters"),
        (["--set", "n=x", "--", "true"], 2, "--set must be parameters"),
        (["--set", "n=nan", "--", "true"], 2, "--set must be parameters"),
        (["-o", "nowhere/x.jsonl", "--", "true"], 2, "nowhere"),
        (["--mpicc", "nocc", "--", "true"], 4, "There is no nocc"),
    ],
)
def test_wrong_use_is_refused(parcast, args, status, says):
    said = parcast("record", *args)
    assert said.status == status
    assert says in said.err


def test_texts_of_any_kind_are_written_as_json(folder):
    place, _ = folder
    env = {"PARCAST_PROGRAM": 'a "b" \\c'}
    assert (
        recorded(folder, place / "program", 1, p=1, profile="odd.jsonl", env=env).returncode == 0
    )
    assert json.loads((place / "odd.jsonl").read_text())["program"] == env["PARCAST_PROGRAM"]
