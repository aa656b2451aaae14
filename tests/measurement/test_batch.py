"""Jobs that make runs: their scripts, what became of them, and their runs in one table.

Here stand-ins answer for Slurm; `test_slurm.py` has a real one.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from parcast.errors import ParameterError, RunFailed
from parcast.measurement.batch import BatchRequest, started_with, upper_times, write_jobs
from parcast.measurement.collect import collect, standing_of
from parcast.measurement.job_run import memory_limit, run_job
from parcast.measurement.jobs import BatchJob, JobProgress, jobs_of, rows_of
from parcast.measurement.measure import MeasuredCommand
from parcast.measurement.point import points_of
from parcast.measurement.table import FAILED, OK, TIMEOUT, RunTable

TABLE = "app.csv"
PROGRAM = "import sys, time; time.sleep(0.2 / int(sys.argv[1]))"
SCALES = [sys.executable, "-S", "-c", PROGRAM, "{p}"]
LATE = "it has not begun, or its files are late"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Run in a new folder, outside of any job, on a machine of many cores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr("parcast.measurement.job_run.available_cores", lambda: range(64))


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Stand-ins for programs of Slurm: what they answer can be written."""
    place = tmp_path / "bin"
    place.mkdir()

    def answers(**programs):
        for name, text in programs.items():
            answer = place / f"{name}.txt"
            answer.write_text(text)
            program = place / name
            program.write_text(f'#!/bin/sh\necho "$@" >> {place}/{name}.asked\ncat {answer}\n')
            program.chmod(0o755)

    def fails(name, says):
        program = place / name
        program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
        program.chmod(0o755)

    answers(sbatch="17\n", squeue="")
    fails("sacct", "Slurm accounting storage is disabled")
    answers.fails, answers.place = fails, place
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return answers


def written(command=SCALES, lists=None, table=TABLE, runs=2, resume=False, **asked):
    around = {x: asked.pop(x) for x in list(asked) if x in MeasuredCommand.__slots__}
    return write_jobs(
        MeasuredCommand(command=command, **around),
        points_of(lists or {"p": [1, 2]}, {}),
        BatchRequest(**asked),
        runs=runs,
        output=table,
        resume=resume,
    )


def made(job, words=None):
    return run_job(job, words or job.command.command, each=lambda *_: None)


# scripts


def test_a_job_for_each_number_of_nodes_gives_srun_what_it_has():
    jobs = written(
        ["srun", "./app", "{n}"],
        {"p": [1, 2, 4, 8, 16], "n": [1, 2]},
        ranks_per_node=4,
        cpus_per_rank=3,
        partition="fast",
    )
    assert [(x.nodes, x.ranks_per_node, len(x.points)) for x in jobs] == [
        (1, 4, 6),
        (2, 4, 2),
        (4, 4, 2),
    ]
    text = Path("app.jobs/2.sh").read_text()
    for line in (
        "#SBATCH --nodes=2\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=4\n",
        "#SBATCH --cpus-per-task=3\n#SBATCH --exclusive\n#SBATCH --time=01:00:00\n",
        "#SBATCH --output=app.jobs/2.%j.txt\n#SBATCH --partition=fast\n",
        "# EDIT: account. Remove one of the two leading # of each line that you need.\n",
        "##SBATCH --account=NAME\n",
    ):
        assert line in text
    assert started_with(jobs[1])[:5] == [
        *("srun", "--nodes=2", "--ntasks={p}", "--ntasks-per-node=4", "--cpus-per-task=3")
    ]
    assert "--ntasks-per-node={p}" in started_with(jobs[0])
    assert subprocess.run(["sh", "-n", "app.jobs/2.sh"], check=False).returncode == 0
    assert jobs[0].seconds_from == "by default, as nothing is known of its runs"


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        (
            "pbs",
            "#PBS -l select=2:ncpus=12:mpiprocs=4\n#PBS -l place=scatter:excl\n"
            "#PBS -l walltime=00:30:00\n#PBS -j oe\n#PBS -o app.jobs/1.txt\n"
            "\n# EDIT: queue and account.",
        ),
        (
            "lsf",
            '#BSUB -n 8\n#BSUB -R "span[ptile=4]"\n#BSUB -R "affinity[core(3)]"\n#BSUB -x\n'
            "#BSUB -W 00:30\n#BSUB -o app.jobs/1.%J.txt\n"
            "\n# EDIT: queue and project.",
        ),
    ],
)
def test_other_systems_are_asked_in_their_words(system, lines):
    written(
        ["mpiexec", "./app"],
        {"p": [8]},
        system=system,
        ranks_per_node=4,
        cpus_per_rank=3,
        seconds=1800.0,
    )
    assert lines in Path("app.jobs/1.sh").read_text()
    for shell in filter(shutil.which, ("sh", "bash")):
        assert subprocess.run([shell, "-n", "app.jobs/1.sh"], check=False).returncode == 0


def test_the_time_of_a_job_is_what_its_runs_need():
    [job] = written(seconds=120.0)
    assert (job.seconds, job.seconds_from) == (120.0, "as asked for")
    [job] = written(table="b.csv", timeout=100.0)
    assert (job.seconds, job.seconds_from) == (60.0 + 4 * 100.0, "the time limit of each run")
    made(job)
    [job] = written(table="b.csv", runs=5, lists={"p": [1, 2, 4]}, resume=True, timeout=100.0)
    assert job.seconds_from == "the forecast of its runs at 95%"
    upper = upper_times(collect("b.csv").table, job.points)
    missing = [3, 3, 5]
    assert job.seconds == pytest.approx(
        60.0 + sum(x * y for x, y in zip(missing, upper.values(), strict=True))
    )
    assert 0.2 < upper[job.points[0]] < 1.0


@pytest.mark.parametrize(
    ("lists", "asked", "says"),
    [
        ({"p": [6]}, {"ranks_per_node": 4}, "p must be at most 4 .* or a multiple of it, got 6"),
        ({"p": [1], "n": [1]}, {"command": ["app", "{q}"]}, "must have values for {q}"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(lists, asked, says):
    with pytest.raises(ParameterError, match=says):
        written(lists=lists, **asked)
    assert not [*Path().iterdir()]


def test_a_job_in_which_nothing_tells_the_count_is_refused():
    with pytest.raises(ParameterError, match="got the same run at p = 1 and 2"):
        written(["mpiexec", "./app"], {"p": [1, 2, 8]}, ranks_per_node=4)
    assert not [*Path().iterdir()]
    assert len(written(["mpiexec", "./app"], {"p": [4, 8]}, ranks_per_node=4)) == 2


def test_jobs_of_another_measurement_are_refused():
    written()
    with pytest.raises(ParameterError, match=r"must be of a new measurement.*app\.jobs"):
        written()
    with pytest.raises(ParameterError, match="must have jobs of one command"):
        written(["other", "{p}"], resume=True)
    other = replace(jobs_of(TABLE)[0], number=2, command=MeasuredCommand(command=["other", "{p}"]))
    other.save()
    with pytest.raises(ParameterError, match="must have jobs of one command"):
        collect(TABLE)


# in a job


def test_a_job_makes_its_runs_and_tells_how_far_it_is(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    [job] = written()
    seen = []

    def each(*_):
        [standing] = standing_of([job])
        seen.append((standing.word, standing.made, str(standing.progress.point)))
        assert len(collect(TABLE).table) == len(seen)

    monkeypatch.setenv("PATH", "")  # no squeue
    run_job(job, job.command.command, each=each)
    assert [x[:2] for x in seen] == [("running", i) for i in (1, 2, 3, 4)]
    assert {x[2] for x in seen} == {"p = 1", "p = 2"}
    [standing] = standing_of([job])
    assert (standing.word, standing.id, standing.made) == ("done", "17", 4)
    told = collect(TABLE)
    assert [x.status for x in told.table] == [OK] * 4
    assert not told.findings
    assert collect(TABLE).table == told.table


def test_what_is_missing_is_made_by_another_job():
    [first] = written()
    made(first)
    assert written(resume=True) == []
    [second] = written(lists={"p": [1, 2, 4]}, runs=3, resume=True)
    assert second.number == 2
    made(second)
    told = collect(TABLE)
    assert [len(x.rows) for x in told.summaries] == [3, 3, 3]
    assert {x.repetition for x in told.table} == {1, 2, 3}
    assert len(standing_of(jobs_of(TABLE))[1].rows) == 9


def test_a_run_that_the_end_of_a_job_cuts_off_took_longer():
    [job] = written(["sleep", "50", "0{p}"], {"p": [1, 2]}, seconds=21.0)
    job = replace(job, seconds=20.4)  # the last 20 s are for its end
    job.save()
    monkey = pytest.MonkeyPatch()
    monkey.setattr("parcast.measurement.job_run.MOST", 0.01)
    made(job)
    monkey.undo()
    [told] = collect(TABLE).table
    assert (told.status, told.exit) == (TIMEOUT, None)
    assert told.note.startswith("took longer than ")
    [standing] = standing_of([job])
    assert (standing.word, standing.why) == ("stopped", "its time was over")
    [again] = written(["sleep", "50", "0{p}"], {"p": [1, 2]}, resume=True)
    assert again.seconds == 3600.0
    made(again, ["true"])
    assert {x.status for x in collect(TABLE).table} == {OK}


def test_a_run_that_was_cut_off_early_tells_nothing():
    [job] = written(["sleep", "50"], {"p": [1]}, seconds=20.5)
    made(job)
    assert collect(TABLE).table == ()
    assert [x.word for x in standing_of([job])] == ["stopped"]


@pytest.mark.parametrize(
    "says",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=17.0. Some of the step tasks",
        "srun: error: node7: task 0: Out Of Memory",
        "slurmstepd-node7: error: Exceeded job memory limit",
    ],
)
def test_a_run_that_slurm_ended_for_its_memory_needed_more(monkeypatch, says):
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "4000")
    [job] = written(["sh", "-c", f"echo '{says}'; exit 137"], {"p": [1]})
    made(job)
    [told] = collect(TABLE).table
    assert (told.status, told.exit) == (FAILED, 137)
    assert told.note == "needed more than 4.19 GB on a node"


def test_what_a_program_says_of_memory_proves_nothing():
    [job] = written(["sh", "-c", "echo CUDA error: out of memory; exit 1"], {"p": [1]})
    made(job)
    assert "needed more" not in collect(TABLE).table[0].note


def test_memory_limits_are_as_slurm_tells_them():
    assert memory_limit({"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_ON_NODE": "4"}) == (
        "4.19 GB on a node"
    )
    assert memory_limit({"SLURM_MEM_PER_NODE": "0"}) == "the memory of the job"


def test_a_node_with_too_few_cores_is_refused():
    [job] = written(lists={"p": [4096]})
    with pytest.raises(RunFailed, match="fewer than the 4096 of 4096 ranks per node, 1 for each"):
        made(job)
    [standing] = standing_of([job])
    assert (standing.word, standing.made) == ("failed", 0)
    assert collect(TABLE).findings[0].startswith("Job 1 failed: The node has ")


def test_a_job_that_was_replaced_says_so():
    with pytest.raises(ParameterError, match="which is not there"):
        BatchJob.read(Path("app.jobs/1.json"))
    Path("x.json").write_text("{}")
    with pytest.raises(ParameterError, match="must be what parcast wrote for a job"):
        BatchJob.read(Path("x.json"))


# what became of jobs


def progress(job, **told):
    JobProgress(**{"id": "17", "host": "node7", "begun": time.time(), **told}).save(job)


def of():
    [standing] = standing_of(jobs_of(TABLE))
    return standing.word, standing.why


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ("17|PENDING|Priority|N/A|0\n", ("pending", "Priority")),
        ("17|PENDING|None|N/A|0\n", ("pending", "")),
        (
            "17|PENDING|PartitionTimeLimit|N/A|0\n",
            (
                "pending",
                "it will not start: its time limit is above that of the partition "
                "(PartitionTimeLimit)",
            ),
        ),
        ("17|RUNNING|None|N/A|0\n", ("running", "it has made no run yet")),
        ("17|CANCELLED|None|N/A|0\n", ("failed", f"CANCELLED: {LATE}")),
        ("170|RUNNING|None|N/A|0\n", ("failed", "Slurm has forgotten it")),
        ("torn\n17|RUN", ("failed", "Slurm has forgotten it")),
    ],
)  # fmt: skip
def test_a_job_that_has_told_nothing_is_as_slurm_says(slurm, queue, expected):
    [job] = written()
    assert of() == ("not submitted", "")
    replace(job, id="17").save()
    slurm(squeue=queue)
    assert of() == expected


def test_without_squeue_a_job_is_as_it_says_itself(slurm):
    [job] = written()
    replace(job, id="17").save()
    slurm.fails("squeue", "error")
    assert of() == ("submitted", "")
    progress(job)
    assert of() == ("running", "")
    progress(job, begun=time.time() - 4000.0)
    assert of() == ("failed", "ended on node7")
    slurm(squeue="")
    progress(job, point=job.points[0])
    assert of() == ("failed", "ended during p = 1 on node7")


@pytest.mark.parametrize("ended", ["", "interrupted"])  # Slurm sends a signal, or did not
@pytest.mark.parametrize(
    ("account", "status", "note"),
    [
        ("17|TIMEOUT|{end}|4000M", TIMEOUT, "took longer than 50 min, when the job was ended"),
        ("17|OUT_OF_MEMORY|{end}|4000Mn", FAILED, "needed more than 4.19 GB on a node"),
        ("17|OUT_OF_ME+|{end}|1000Mc", None, ""),
        ("17|OUT_OF_MEMORY|{end}|1000Mc", FAILED, "needed more than the memory of the job"),
        ("17|CANCELLED by 1000|{end}|4000M", None, ""),
        ("17|NODE_FAIL|{end}|4000M", None, ""),
    ],
)
def test_a_job_that_slurm_ended_proves_what_it_can(slurm, ended, account, status, note):
    [job] = written()
    begun = time.time() - 3000.0
    progress(job, begun=begun, point=job.points[1], point_begun=begun, ended=ended)
    end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(begun + 3000.0))
    slurm(sacct=account.format(end=end) + "\n")
    told = collect(TABLE)
    assert [(x.status, x.note) for x in told.table] == ([(status, note)] if status else [])
    assert any("during p = 2 on node7" in x for x in told.findings)
    assert told.table == collect(TABLE).table


def test_memory_of_runs_is_that_of_their_steps(slurm):
    [job] = written()
    job = replace(job, warmup=1)
    job.save()
    made(job)
    table = RunTable(str(job.file("csv")), job.about, ())
    table.rows = [replace(x, memory=None, memory_total=None, memory_from="") for x in rows_of(job)]
    table.save()
    progress(job, id="17")
    steps = [f"17.{i}|p1|1|{size}K|{size}K" for i, size in enumerate((900, 1000, 1500))]
    steps += ["17.batch|batch|1|7000K|7000K", "17.3|p2|2|1000K|900K", "17.4|p2|2||"]
    slurm(sacct="\n".join(steps))
    found = {(x.point.columns["p"], x.repetition): x for x in collect(TABLE).table}
    assert found[1, 1].memory == found[1, 1].memory_total == 1000 * 1024
    assert found[1, 2].memory == 1500 * 1024
    assert {found[2, i].memory for i in (1, 2)} == {None}  # of two runs, one has no step
    slurm(sacct="\n".join([*steps, "17.5|p2|2|3000K|2000K", "17.6|p2|2|3000K|2000K"]))
    rows = [x for x in collect(TABLE).table if x.point.columns["p"] == 2]
    assert {(x.memory, x.memory_total) for x in rows} == {(3000 * 1024, 4000 * 1024)}
    assert {x.memory_from for x in rows} == {"sacct"}
    slurm(sacct="")
    assert all(x.memory for x in collect(TABLE).table)  # Slurm forgets, the table does not


def test_two_cannot_collect_at_once():
    [job] = written()
    made(job)
    other = RunTable.begun(TABLE, job.about, resume=False)
    with pytest.raises(ParameterError, match="which another one is writing"):
        collect(TABLE)
    other.close()
    assert len(collect(TABLE).table) == 4


def test_a_table_of_another_command_is_not_added_to():
    [job] = written()
    made(job)
    Path(TABLE).write_text('# parcast measure: {"command": ["other"]}\np\n')
    with pytest.raises(ParameterError, match="must be of the same command"):
        collect(TABLE)


def test_a_line_that_is_torn_is_collected_later():
    [job] = written()
    made(job)
    path = job.file("csv")
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert len(collect(TABLE).table) == 3
    path.write_text(whole)
    assert len(collect(TABLE).table) == 4


# the command


def test_jobs_are_submitted_once_and_followed(parcast, slurm):
    args = ("measure", "-p", "1,2", "--runs", "2", "-o", TABLE)
    said = parcast(*args, "--slurm", "--submit", "--", *SCALES)
    assert said.status == 0
    assert "time limit of job 1: by default, as nothing is known of its runs" in said.err
    assert (slurm.place / "sbatch.asked").read_text() == "--parsable app.jobs/1.sh\n"
    slurm(squeue="17|PENDING|Resources|N/A|0\n")
    said = parcast("measure", "status", TABLE)
    assert re.search(r"^ *1 +17 +1 +1, 2 +0/4 +01:00:00 +pending +Resources$", said.out, re.M)
    again = parcast(*args, "--slurm", "--resume", "--", *SCALES)
    assert again.status == 2
    assert (
        "--resume must be given when all jobs have ended, got job 1, which is pending" in again.err
    )
    slurm(squeue="17|RUNNING|None|N/A|0\n")
    done = parcast("measure", "job", "app.jobs/1.json", *SCALES)
    assert done.status == 0
    [row] = json.loads(parcast("measure", "status", TABLE, "--json").out)["rows"]
    assert (row["state"], row["made"], row["p"]) == ("done", 4, "1,2")
    said = parcast("measure", "collect", TABLE, "--at", "4", "-o", "app.svg")
    assert said.status == 0
    assert re.search(r"^4 +\d+ ", said.out, re.M)
    assert Path("app.svg").exists()
    said = parcast(*args, "--slurm", "--resume", "--", *SCALES)
    assert (said.status, said.out) == (0, "")
    assert "no run is missing" in said.err


def test_without_submission_the_command_says_how(parcast):
    said = parcast("measure", "-p", "8", "--batch", "lsf", "--ranks-per-node", "4", "--", "./app")
    assert said.status == 0
    assert "  bsub < times.jobs/1.sh" in said.err
    assert "Job 1 has 2 nodes, but ./app is no launcher that is known here" in said.out
    assert "not submitted" in parcast("measure", "status").out


def test_what_sbatch_does_not_take_is_said(parcast, slurm):
    slurm.fails("sbatch", "sbatch: error: Batch job submission failed: Invalid partition name")
    args = ("measure", "-p", "1", "--slurm", "--submit")
    said = parcast(*args, "--partition", "no", "--", "true")
    assert said.status == 4
    assert "sbatch did not take times.jobs/1.sh: Batch job submission failed: Inv" in said.err
    slurm(sbatch="17\n")
    assert parcast(*args, "--resume", "--", "true").status == 0
    assert [x.number for x in jobs_of("times.csv")] == [1]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("-p", "1", "--submit"), "--submit is of jobs. Add --slurm"),
        (("-p", "1", "--ranks-per-node", "2"), "--ranks-per-node is of jobs"),
        (("-p", "1", "--slurm", "--batch", "pbs"), "--slurm is --batch slurm"),
        (("-p", "1", "--batch", "pbs", "--submit"), "--submit is of Slurm"),
        (("-p", "1", "--batch", "nqs"), "--batch must be slurm, pbs or lsf"),
        (("-p", "1", "--slurm", "--submit"), "--submit must be asked where Slurm is"),
        (("-p", "6", "--slurm", "--ranks-per-node", "4"), "-p must be at most 4"),
        (("-p", "1", "--slurm", "--at", "2"), "give them to collect"),
        (("-p", "1", "--slurm", "--until", "20%"), "--until chooses each run by the last ones"),
        (("status",), "TABLE must have jobs"),
        (("collect",), "TABLE must have jobs"),
    ],
)
def test_refusals(parcast, monkeypatch, args, says):
    monkeypatch.setenv("PATH", "/nowhere")
    command = () if args[0] in ("status", "collect") else ("--", "true")
    said = parcast("measure", *args, *command)
    assert (said.status, says in said.err) == (2, True), said.err
    assert not [*Path().iterdir()]
