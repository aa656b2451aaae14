"""`parcast.importers.slurm`: what `sacct` prints, as a table and as JSON of several schemas."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings
from parcast.importers.slurm import ASK, recognises
from parcast.timings.measurements import Measurements
from tests.importers import refused

read = partial(import_timings, format="slurm")
refusal = partial(refused.refusal, read=read)

DATA = Path(__file__).parent / "data"
SAMPLES = ["sacct.txt", "sacct_2205.json", "sacct_2405.json"]
HEADER = "JobID|JobName|AllocCPUS|NTasks|Elapsed|State\n"


# what is read


def test_a_table_gives_a_run_for_each_job_and_none_for_its_steps():
    told = read([DATA / "sacct.txt"])
    assert told.measurements == Measurements(p=[4, 8, 16], time=[100, 86401, 52])
    assert told.notes == (
        "2 jobs are left out: not COMPLETED.",
        "p is the number of tasks for 2 of 3 jobs, and the number of allocated processors for "
        "the others, whose number of tasks is not given.",
        "1 time of 0 is left out: a time must be above 0.",
    )


def test_jobs_that_reached_their_time_limit_took_longer(file):
    rows = """1|solve|4||00:01:40|COMPLETED
1.0|solve|4|4|00:01:38|COMPLETED
2|solve|8||00:30:00|TIMEOUT
2.batch|batch|8|1|00:30:02|CANCELLED
2.0|solve|8|8|00:30:00|CANCELLED
3|solve|16||00:30:00|TIMEOUT
4|mesh|2||00:10:00|TIMEOUT
4.0|mesh|2|2|00:10:00|CANCELLED
"""
    told = read([file(HEADER + rows)])
    assert told.measurements == Measurements(p=4, time=100).with_cut_off(p=8, time=1800)
    assert told.notes[:2] == (
        "3 jobs are left out: not COMPLETED.",
        "1 of them counts as a lower bound of the time.",
    )
    jobs = [json.loads(account([]))["jobs"][0] | {"required": {"CPUs": p}} for p in (2, 4)]
    jobs[1]["state"] = ["TIMEOUT"]
    told = read([file(json.dumps({"jobs": jobs}))])
    assert told.measurements == Measurements(p=2, time=5).with_cut_off(p=4, time=5)
    told = read([file(json.dumps({"jobs": jobs}))], constants={"n": 7})
    assert told.measurements.cut_off == Measurements(p=4, time=5, n=7)


@pytest.mark.parametrize("name", ["sacct_2205.json", "sacct_2405.json"])
def test_each_schema_of_json_gives_the_same_runs(name):
    told = read([DATA / name])
    assert told.measurements == Measurements(p=[4, 16], time=[100, 52])
    assert told.notes[0] == "1 job is left out: not COMPLETED."


def test_several_names_of_jobs_are_callpaths_and_several_clusters_machines(file):
    header = "JobIDRaw|Cluster|JobName|NCPUS|ElapsedRaw|State\n"
    told = read(
        [file(header + "1|north|a|2|10|COMPLETED\n2|south|b|4|20|COMPLETED\n1.0|north|a|2|9|C\n")]
    )
    assert told.measurements == Measurements(
        p=[2, 4], time=[10, 20], callpath=["a", "b"], machine=["north", "south"]
    )
    assert told.notes == (
        "p is the number of processors allocated to each job, as the number of tasks is not "
        "given.",
    )


def test_steps_in_which_mpirun_starts_ranks_elsewhere_are_not_the_program(file):
    rows = """4711|weather|48||00:16:52|COMPLETED
4711.batch|batch|48|1|00:16:52|COMPLETED
4712|weather|96||00:09:38|COMPLETED
4712.0|orted|96|1|00:09:35|COMPLETED
4713|weather|192||00:06:05|COMPLETED
4713.0|hydra_bstrap_proxy|192|4|00:06:01|COMPLETED
"""
    assert read([file(HEADER + rows)]).measurements.axes["p"].tolist() == [48, 96, 192]
    step = {"step": {"name": "prted"}, "tasks": {"count": 1}, "state": ["COMPLETED"]}
    assert read([file(account([step]))]).measurements.axes["p"].tolist() == [8]


def account(steps, **keys):
    job = {"name": "a", "state": ["COMPLETED"], "time": {"elapsed": 5}, "required": {"CPUs": 8}}
    return json.dumps({"jobs": [{**job, "steps": steps, **keys}]})


def test_a_job_whose_program_failed_is_no_run_though_its_script_went_on(file):
    rows = """4711|weather|16||00:05:00|COMPLETED
4711.0|check|16|1|00:00:01|FAILED
4711.1|weather|16|16|00:04:58|COMPLETED
4712|weather|32||00:00:07|COMPLETED
4712.0|weather|32|32|00:00:04|FAILED
4713|weather|64||00:01:20|COMPLETED
4713.0|weather|64|64|00:00:04|NODE_FAIL
4713.1|weather|64|64|00:01:10|COMPLETED
"""
    told = read([file(HEADER + rows)])
    assert told.measurements == Measurements(p=[16, 64], time=[300, 80])
    assert told.notes[0] == ("1 job is left out: COMPLETED, but the step with most tasks failed.")
    step = {"step": {"name": "a"}, "tasks": {"count": 8}, "state": ["OUT_OF_MEMORY"]}
    assert "COMPLETED, got only OUT_OF_MEMORY" in refusal(file(account([step])))


def test_components_of_a_heterogeneous_job_are_one_run(file):
    rows = """4711+0|climate|128||00:10:00|COMPLETED
4711+0.0|climate|128|128|00:09:58|COMPLETED
4711+1|climate|16||00:10:01|COMPLETED
4711+1.0|climate|16|16|00:09:58|COMPLETED
4712+0|climate|64||00:10:00|COMPLETED
4712+1|climate|16||00:10:00|FAILED
"""
    told = read([file(HEADER + rows)])
    assert told.measurements == Measurements(p=[144], time=[601])
    assert told.notes[0] == "1 job is left out: not COMPLETED."
    one = json.loads(account([], het={"job_id": {"set": True, "number": 4711}}))["jobs"]
    told = read([file(json.dumps({"jobs": one * 2}))])
    assert told.measurements == Measurements(p=[16], time=[5])


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [("00:00:01", 1), ("01:02:03", 3723), ("2-00:00:01", 172801), ("01:02.5", 62.5), ("7", 7)],
)
def test_elapsed_times_are_read_as_slurm_writes_them(file, elapsed, seconds):
    told = read([file(f"{HEADER}1|a|2||{elapsed}|COMPLETED\n")])
    assert told.measurements.time.tolist() == [seconds]


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (HEADER, "file  must have jobs that are COMPLETED, got no job."),
        (HEADER + "1|a|2||00:00:09|FAILED\n", "COMPLETED, got only FAILED. Select other jobs."),
        ("JobID|JobName|State\n1|a|COMPLETED\n", "line 1  must have a column Elapsed, got"),
        (HEADER + "1|a|2||00:00:09\n", "line 2  must have 6 columns as the header has, got 5."),
        (HEADER + "1|a|b|2||00:00:09|COMPLETED\n", "line 2  must have 6 columns"),
        (HEADER + "1|a|2||soon|COMPLETED\n", "line 2  must have an elapsed time such as 1-02:"),
        (HEADER + "1|a|two||9|COMPLETED\n", "line 2  must count tasks and processors in whole"),
        (HEADER + "1|a|||9|COMPLETED\n", "line 2  must have the tasks or processors of each job"),
        ('{"jobs": 3}', "jobs  must be a list, got none."),
        ('{"jobs": [3]}', "jobs[0]  must be an object, got 3."),
        ('{"jobs": [', "line 1  must be complete JSON, got an early end."),
        (
            '{"jobs": [{"state": "COMPLETED", "required": {"CPUs": 2}}]}',
            "jobs[0]  must have the elapsed time, got none.",
        ),
        (
            '{"jobs": [{"state": "COMPLETED", "time": {"elapsed": -5}}]}',
            "jobs[0].time.elapsed  must be a time above 0, got -5.",
        ),
    ],
)
def test_an_account_that_cannot_be_used_is_refused_with_its_place(file, content, says):
    assert says in refusal(file(content))


def test_a_table_without_bars_is_refused_with_how_to_print_it(file):
    path = file(
        "JobID           JobName  AllocCPUS   TotalCPU      State \n"
        "------------ ---------- ---------- ---------- ---------- \n"
        "20                sleep          2  00:00.004     FAILED \n",
        "sacct.txt",
    )
    assert recognises(path.read_bytes(), path)
    with pytest.raises(FileProblems, match="got columns that are aligned with blanks") as caught:
        import_timings([path], "slurm")
    assert str(caught.value).endswith(f"Print it again: {ASK}")


def test_memory_of_a_job_without_srun_is_that_of_its_script(file):
    header = "JobID|JobName|AllocCPUS|NTasks|Elapsed|State|MaxRSS|AveRSS\n"
    rows = """1|a|1||00:10:00|COMPLETED||
1.batch|batch|1|1|00:10:00|COMPLETED|300M|300M
1.extern|extern|1|1|00:10:00|COMPLETED|900M|900M
2|a|48||00:05:00|COMPLETED||
2.batch|batch|48|1|00:05:00|COMPLETED|2G|2G
3|a|96||00:03:00|COMPLETED||
3.batch|batch|48|1|00:03:00|COMPLETED|2G|2G
3.0|orted|48|3|00:03:00|COMPLETED|1.5G|1G
4|a|8||00:20:00|COMPLETED||
4.batch|batch|8|1|00:20:00|COMPLETED|5M|5M
4.0|a|8|8|00:20:00|COMPLETED|200M|100M
"""
    told = read([file(header + rows)])
    memory = told.measurements.memory
    one, total = memory["memory_B"] / 2**20, memory["memory_total_B"] / 2**20
    np.testing.assert_array_equal(one, [300, np.nan, np.nan, 200])
    assert total.tolist() == [300, 2048, 2048 + 3 * 1024, 800]
    assert told.notes[-1] == (
        "Memory of 3 of 4 jobs is that of all processes of the job script, without srun."
    )
    peak = {"max": [{"type": "mem", "count": 7}], "average": [{"type": "mem", "count": 7}]}
    batch = {"step": {"id": {"step_id": "batch"}, "name": "batch"}, "tasks": {"count": 1}}
    runs = read([file(account([batch | {"tres": {"requested": peak}}]))]).measurements
    assert runs.memory["memory_total_B"].tolist() == [7]
    assert [*runs.memory] == ["memory_total_B"]
