"""Runs that jobs of a real Slurm make, of two nodes that are started for these tests."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.importers.registry import import_timings
from parcast.importers.slurm import COLUMNS
from parcast.measurement.collect import collect, standing_of
from parcast.measurement.jobs import jobs_of
from parcast.measurement.table import OK
from tests.conftest import ROOT, until
from tests.slurm import why_no_accounting

TASKS = (  # each task tells the step that it is in, and takes its share of the time
    'echo "task $SLURM_PROCID of $SLURM_NTASKS on $SLURM_NNODES with $SLURM_CPUS_PER_TASK"; '
    "test $SLURM_NTASKS = $0 && sleep 0.$((4 / $SLURM_NTASKS))"
)
GROWS = "import time; x = bytearray(b'x') * 400_000_000; time.sleep(30)"


@pytest.fixture
def measure(parcast, slurm, tmp_path, monkeypatch):
    """Run `parcast measure` beside it, in a new folder."""
    monkeypatch.chdir(tmp_path)
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    yield lambda *args: parcast("measure", *args)
    subprocess.run(["scancel", "--user", "root"], check=False)


def ended(table="times.csv"):
    """Wait for the jobs of a table, and say what became of them."""
    until(lambda: not any(x.is_unfinished for x in standing_of(jobs_of(table))))
    return [(x.word, x.why) for x in standing_of(jobs_of(table))]


def printed(number=1):
    """What a job printed."""
    [path] = Path("times.jobs").glob(f"{number}.*.txt")
    return path.read_text()


def test_a_job_makes_runs_that_are_collected_while_and_after(measure):
    said = measure(
        *("-p", "1,2", "--runs", "2", "--slurm", "--submit", "--ranks-per-node", "2"),
        *("--", "srun", "sh", "-c", TASKS, "{p}"),
    )
    assert said.status == 0, said.err
    [job] = jobs_of("times.csv")
    assert job.id.isdigit()
    until(lambda: standing_of([job])[0].made > 0)
    [standing] = standing_of([job])
    assert (standing.word, standing.id) == ("running", job.id)
    assert 0 < len(collect("times.csv").table) < 4
    assert ended() == [("done", "")], printed()
    told = measure("collect", "--at", "4")
    assert re.search(r"^4 +\d", told.out, re.M), told.out
    rows = collect("times.csv").table
    assert [x.status for x in rows] == [OK] * 4
    if why_no_accounting():
        assert {x.memory for x in rows} == {None}  # that of srun is not that of its ranks
    else:
        until(lambda: all(x.memory for x in collect("times.csv").table))
        for row in collect("times.csv").table:
            assert 5e5 < row.memory < 2e7  # sh alone has 0.9 MB: Slurm may look before its sleep
            assert row.memory <= row.memory_total <= row.memory * row.point.columns["p"]
    times = {x.point.columns["p"]: x.seconds for x in rows}
    assert times[1] > 0.4
    assert times[2] > 0.2
    said = measure("-p", "1,2", "--runs", "3", "--slurm", "--resume", "--", "srun", "sh", "-c",
                   TASKS, "{p}")  # fmt: skip
    assert "time limit of job 2: the forecast of its runs at 95%" in said.err


@pytest.mark.skipif(
    not (Path(sys.executable).parent / "mpiexec").exists(),
    reason="no mpiexec beside this Python: the extra mpi is not installed",
)
def test_mpiexec_starts_ranks_in_a_job(measure):
    mpiexec = Path(sys.executable).parent / "mpiexec"
    program = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == {p}"
    assert (os.cpu_count() or 1) >= 2
    measure("-p", "1,2", "--runs", "1", "--slurm", "--submit", "--", mpiexec, "-n", "{p}",
            sys.executable, "-c", program)  # fmt: skip
    assert ended() == [("done", "")], printed()
    assert [x.status for x in collect("times.csv").table] == [OK] * 2


def test_a_step_that_needs_more_memory_than_the_job_has_says_so(measure):
    measure("-p", "1", "--slurm", "--", "srun", sys.executable, "-S", "-c", GROWS)
    script = Path("times.jobs/1.sh")
    script.write_text(
        script.read_text().replace("##SBATCH --partition=NAME", "#SBATCH --mem=100M")
    )
    subprocess.run(["sbatch", script], check=True, capture_output=True)
    until(lambda: jobs_of("times.csv") and Path("times.jobs/1.now").exists())
    assert ended() == [("done", "")], printed()
    assert "p = 1: needed more than 105 MB on a node." in collect("times.csv").findings


def test_a_job_without_time_left_ends_its_run(measure):
    measure("-p", "1", "--slurm", "--time-limit", "1min", "--", "srun", "sleep", "100")
    plan = Path("times.jobs/1.json")
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"seconds": 22.0}))
    subprocess.run(["sbatch", "times.jobs/1.sh"], check=True, capture_output=True)
    until(lambda: Path("times.jobs/1.now").exists())
    assert ended() == [("stopped", "its time was over")], printed()
    assert collect("times.csv").table == ()  # it had too little time to tell something


def test_a_job_that_is_cancelled_or_never_starts_is_told(measure):
    measure("-p", "1", "--slurm", "--submit", "--", "srun", "sleep", "100")
    [job] = jobs_of("times.csv")
    until(lambda: (now := standing_of([job])[0]).progress and now.progress.point)
    subprocess.run(["scancel", job.id], check=True)
    assert [x[0] for x in ended()] == ["stopped"], printed()
    until(lambda: standing_of([job])[0].why.startswith("CANCELLED during p = 1 on "))
    assert collect("times.csv").table == ()

    said = measure("-p", "1", "--slurm", "--submit", "--time-limit", "3h", "-o", "long.csv",
                   "--", "true")  # fmt: skip
    assert said.status == 0
    until(lambda: "it will not start" in measure("status", "long.csv").out)


def test_a_job_of_two_nodes_makes_its_runs_on_both(measure):
    told = 'echo "$SLURM_NODELIST has $SLURM_NTASKS"; echo "on $SLURMD_NODENAME"'
    said = measure(
        *("-p", "1,2", "--runs", "2", "--slurm", "--submit", "--ranks-per-node", "1"),
        *("--", "srun", "sh", "-c", told),
    )
    assert said.status == 0, said.err
    assert [x.nodes for x in jobs_of("times.csv")] == [1, 2]
    assert ended() == [("done", "")] * 2, printed(2)
    assert [x.status for x in collect("times.csv").table] == [OK] * 4
    assert measure("collect", "--at", "4").status == 0


def test_a_job_that_needs_more_nodes_than_there_are_is_told(measure):
    said = measure(
        *("-p", "4", "--slurm", "--submit", "--ranks-per-node", "1"), *("--", "srun", "true")
    )
    assert said.status == 0, said.err
    until(lambda: "it will not start" in measure("status").out)
    assert "will not start" in measure("collect").out


@pytest.mark.skipif(bool(why_no_accounting()), reason=why_no_accounting())
@pytest.mark.usefixtures("measure")
def test_jobs_are_imported_from_their_account_with_the_memory_of_steps(tmp_path):
    grows = "x = bytearray(b'x') * {}; import time; time.sleep(2)"
    small, large = (f'{sys.executable} -S -c "{grows.format(x)}"' for x in (10**8, 3 * 10**8))
    two = f"test $SLURM_PROCID = 0 && exec {large}; exec {small}"
    (tmp_path / "two.sh").write_text(two)
    for tasks, words in ((1, f"srun {small}"), (2, "srun sh two.sh")):
        asked = ["--nodes=1", f"--ntasks={tasks}", "--job-name=grow", "--wrap", words]
        subprocess.run(["sbatch", *asked], check=True, capture_output=True)
    account = ["sacct", "-P", "--name=grow", "-o", COLUMNS]

    def are_accounted_for():
        text = subprocess.run(account, capture_output=True, text=True, check=True).stdout
        return text.count("COMPLETED") == 6  # jobs, their scripts and steps

    until(are_accounted_for)
    text = subprocess.run(account, capture_output=True, text=True, check=True).stdout
    (tmp_path / "account.txt").write_text(text)
    runs = import_timings([tmp_path / "account.txt"], format="slurm").measurements
    memory = {name: dict(zip(runs.p, x, strict=True)) for name, x in runs.memory.items()}
    assert memory["memory_B"][1] == pytest.approx(1.1e8, rel=0.15), text
    assert memory["memory_B"][2] == pytest.approx(3.1e8, rel=0.15), text
    assert memory["memory_total_B"][2] == pytest.approx(4.2e8, rel=0.15), text


def test_what_sbatch_refuses_is_said(measure):
    said = measure("-p", "1", "--slurm", "--submit", "--partition", "no", "--", "true")
    assert said.status == 4
    assert "sbatch did not take times.jobs/1.sh" in said.err
    assert "partition" in said.err
