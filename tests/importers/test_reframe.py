"""`parcast.importers.reframe`: performance logs, reports and databases of results."""

import json
import sqlite3
from pathlib import Path

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements

DATA = Path(__file__).parent / "data"
LOG, REPORT = DATA / "reframe_perf.log", DATA / "reframe_report.json"
RUNS = Measurements(p=[1, 2, 4], time=[100, 50, 25])
NOTES = ("1 failed run was left out: fail.",)


@pytest.fixture
def database(tmp_path):
    """Write a database as ReFrame's results storage has it, of some reports."""

    def write(*reports):
        path = tmp_path / "results.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as made:
            made.execute(
                "CREATE TABLE sessions(uuid TEXT PRIMARY KEY, session_start_unix REAL, "
                "session_end_unix REAL, json_blob TEXT, report_file TEXT)"
            )
            made.execute(
                "CREATE TABLE testcases(name TEXT,system TEXT, partition TEXT, environ TEXT, "
                "job_completion_time_unix REAL, session_uuid TEXT, uuid TEXT)"
            )
            for i, text in enumerate(reports):
                made.execute("INSERT INTO sessions VALUES(?, ?, ?, ?, '')", (str(i), i, i, text))
        made.close()
        return path

    return write


def perf_log(tmp_path, *rows, head="name|num_tasks|result|elapsed_value|elapsed_unit"):
    path = tmp_path / "perf.log"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def refusal(path, **options):
    with pytest.raises(FileProblems) as caught:
        import_timings(path, "reframe", **options)
    return str(caught.value)


def test_log_report_and_database_hold_the_same(database):
    for path in (LOG, REPORT, database(REPORT.read_text())):
        told = import_timings(path)
        assert (told.measurements, told.notes) == (RUNS, NOTES)
        assert recognised(path).name == "reframe"


def test_sessions_of_a_database_are_repetitions_and_it_is_not_changed(database):
    path = database(REPORT.read_text(), REPORT.read_text())
    before = path.read_bytes()
    told = import_timings(path).measurements
    assert told.columns["repetition"].tolist() == [1, 1, 1, 2, 2, 2]
    assert path.read_bytes() == before
    assert [x.name for x in path.parent.iterdir()] == ["results.db"]


def test_older_reports_have_lists_of_variables(file):
    cases = [
        {
            "name": f"Solver %np={p}", "num_tasks": p, "result": "success", "system": "daint",
            "perfvars": [{"name": "elapsed", "unit": "ms", "value": 100.0 / p}],
        }
        for p in (1, 2)
    ]  # fmt: skip
    path = file(json.dumps({"session_info": {}, "runs": [{"testcases": cases}]}), "report.json")
    assert import_timings(path).measurements == Measurements(p=[1, 2], time=[0.1, 0.05])


def test_parameters_and_environments_tell_series_apart(tmp_path):
    path = perf_log(
        tmp_path,
        "Solver %n=100 %mesh=fine|4|pass|8|s|daint|gnu",
        "Solver %n=200 %mesh=fine|4|pass|16|s|eiger|gnu",
        "Solver %n=200 %mesh=fine|4|pass|17|s|eiger|intel",
        head="name|num_tasks|result|elapsed_value|elapsed_unit|system|environ",
    )
    assert import_timings(path).measurements == Measurements(
        p=4, n=[100, 200, 200], time=[8, 16, 17],
        callpath=["mesh=fine gnu", "mesh=fine gnu", "mesh=fine intel"],
        machine=["daint", "eiger", "eiger"],
    )  # fmt: skip


def test_cpus_of_tasks_are_multiplied_and_it_is_said(tmp_path):
    head = "name|num_tasks|num_cpus_per_task|result|elapsed_value|elapsed_unit"
    told = import_timings(perf_log(tmp_path, "a|4|2|pass|8|s", "a|2|null|pass|9|s", head=head))
    assert told.measurements == Measurements(p=[8, 2], time=[8, 9])
    assert told.notes == ("p is the number of tasks times that of CPUs for each task.",)


def test_a_rate_is_no_time_and_a_missing_value_a_run_that_failed(tmp_path):
    rows = ("a|4|pass|8|s", "a|8|pass|None|s", "a|16|fail||s")
    told = import_timings(perf_log(tmp_path, *rows))
    assert told.measurements == Measurements(p=4, time=8)
    assert told.notes == (
        "1 failed run was left out: fail.", "1 failed run was left out: no value of elapsed.",
    )  # fmt: skip
    assert "must have a performance variable in a unit of time, got elapsed [GB/s]." in refusal(
        perf_log(tmp_path, "a|4|pass|8|GB/s")
    )


def test_several_times_have_to_be_chosen_from(tmp_path):
    head = "name|num_tasks|result|solve_value|solve_unit|io_value|io_unit"
    path = perf_log(tmp_path, "a|4|pass|8|s|500|ms", head=head)
    assert "must have one metric that is the time, got solve, io." in refusal(path)
    assert import_timings(path, metric="io").measurements == Measurements(p=4, time=0.5)


def test_a_file_that_cannot_be_used_is_refused(tmp_path, file, database):
    path = file('{"session_info": {}, "runs": 4}', "x.json")
    assert "runs  must be a list of runs" in refusal(path)
    path.write_text('{"session_info": {}, "runs": [{"testcases": [4]}]}')
    assert "runs[0].testcases  must be a list of objects" in refusal(path)
    assert "must have tests that passed, got none." in refusal(perf_log(tmp_path))
    assert "line 2  must have 5 columns as the header has, got 2." in refusal(
        perf_log(tmp_path, "a|b")
    )
    path.write_bytes(database("{").read_bytes())
    assert "must be complete JSON" in refusal(path)
    path.write_bytes(database(REPORT.read_text()).read_bytes()[:3000])
    assert "must be a database of ReFrame's results, got:" in refusal(path)
