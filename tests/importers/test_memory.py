"""Memory that files of other tools have: it stands in columns of its own beside the times."""

import json

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements

KIB, MIB = 1024, 1024**2


@pytest.fixture
def file(tmp_path):
    """Write a file."""

    def write(text, name="file"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def gnu_time(command, elapsed, kbytes, status=0):
    return (
        f'\tCommand being timed: "{command}"\n\tUser time (seconds): 1.00\n'
        f"\tElapsed (wall clock) time (h:mm:ss or m:ss): {elapsed}\n"
        f"\tMaximum resident set size (kbytes): {kbytes}\n\tExit status: {status}\n"
    )


def test_time_v_tells_the_time_the_memory_and_p_of_a_command(file):
    text = "hello\n" + gnu_time("mpirun -n 1 ./app", "1:00:02.50", 1000)
    text += gnu_time("mpirun -n 4 ./app", "2:03.25", 300) + gnu_time(
        "mpirun -n 8 ./app", "0:1", 9, 9
    )
    path = file(text)
    assert recognised(path).name == "gnu-time"
    told = import_timings(path)
    assert told.measurements == Measurements(
        p=[1, 4], time=[3602.5, 123.25], memory_B=[1000 * KIB, 300 * KIB]
    )
    assert told.notes == (
        "1 failed run was left out: exit status not 0.",
        "p is taken from the commands: 4 from mpirun -n 4 ./app.",
    )


def test_the_names_of_files_tell_p_where_commands_do_not(file):
    paths = [file(gnu_time("./app", "0:08", 10), f"p{p}.txt") for p in (1, 2)]
    assert import_timings(paths).measurements.p.tolist() == [1, 2]


def test_hyperfine_tells_the_memory_of_each_run_that_ended_well(file):
    results = [
        {
            "command": f"app -j {p}",
            "times": [8.0 / p, 0.1],
            "exit_codes": [0, 1],
            "memory_usage_byte": [1000 * p, 5],
        }
        for p in (1, 2)
    ]
    told = import_timings(file(json.dumps({"results": results}, indent=1)))
    assert told.measurements.memory["memory_B"].tolist() == [1000, 2000]


HEADER = "JobID|JobName|AllocCPUS|NTasks|Elapsed|State|MaxRSS|AveRSS\n"


def test_sacct_tells_memory_of_steps_of_srun_and_not_of_those_that_are_a_node(file):
    jobs = (
        "1|solve|8||00:01:40|COMPLETED||\n1.batch|batch|8|1|00:01:40|COMPLETED|9G|9G\n"
        "1.0|solve|8|4|00:01:38|COMPLETED|20M|10.5M\n"
        "2|solve|8||00:00:40|COMPLETED||\n2.batch|batch|8|1|00:00:40|COMPLETED|9G|9G\n"
    )
    runs = import_timings(file(HEADER + jobs)).measurements
    assert runs.p.tolist() == [4, 8]
    assert runs.memory["memory_B"].tolist()[0] == 20 * MIB
    assert runs.memory["memory_total_B"].tolist()[0] == 42 * MIB
    assert runs.memory["memory_B"].tolist()[1:] != [9 * KIB * MIB]


def test_the_json_of_sacct_tells_memory_in_bytes(file):
    def usage(count):
        return [{"type": "cpu", "count": 5}, {"type": "mem", "count": count}]

    step = {
        "step": {"id": "1.0", "name": "solve"},
        "tasks": {"count": 4},
        "state": ["COMPLETED"],
        "tres": {"requested": {"max": usage(300), "average": usage(200)}},
    }
    job = {
        "name": "solve",
        "allocation_nodes": 1,
        "derived_exit_code": 0,
        "state": {"current": ["COMPLETED"]},
        "time": {"elapsed": 10},
        "steps": [step],
    }
    runs = import_timings(file(json.dumps({"jobs": [job]}))).measurements
    assert runs == Measurements(p=4, time=10, memory_B=300, memory_total_B=800)


def test_memory_without_a_run_that_ended_is_refused_as_any_other(file):
    with pytest.raises(FileProblems, match="must contain measurements"):
        import_timings(file(gnu_time("mpirun -n 2 ./app", "0:01", 10, 1)))
