"""`parcast.measure`: runs of a command, kept at once, and what spoils them."""

import csv
import errno
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import parcast
from parcast.cli.options import CountList
from parcast.errors import ParameterError, RunFailed
from parcast.measurement.answering import _forecast
from parcast.measurement.findings import Frequencies, fastest, findings_of
from parcast.measurement.launchers import (
    launcher_of,
    may_use_openmp,
    mismatch,
    program_of,
    takes_turns,
)
from parcast.measurement.measure import MeasuredCommand, measured
from parcast.measurement.point import MeasuredPoint, points_of
from parcast.measurement.reported import clock_of
from parcast.measurement.result import MeasuredProgram
from parcast.measurement.table import (
    DISTURBED,
    FAILED,
    OK,
    OVERSUBSCRIBED,
    TIMEOUT,
    RunRow,
    RunTable,
)
from parcast.timings.disturbed import USED
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements
from parcast.trials.command import runner

SCALES = "import sys, time; time.sleep(0.2 / int(sys.argv[1]))"


def program(text, *words):
    return [sys.executable, "-S", "-c", text, *words]


def asked(command, lists=None, path="times.csv", formulas=None, **options):
    around = {x: options.pop(x) for x in list(options) if x in MeasuredCommand.__slots__}
    points = points_of(lists or {"p": [1, 2]}, formulas or {})
    return measured(
        MeasuredCommand(command=command, **around), points, output=str(path), **options
    )


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Nobody else uses the machine."""
    monkeypatch.setattr("parcast.trials.command.core_seconds", lambda: None)


@pytest.fixture
def table(tmp_path):
    return tmp_path / "times.csv"


def test_each_combination_is_run_in_rounds_of_random_order(table):
    orders = []
    told = asked(
        program("import sys; print(sys.argv)", "{p}", "{n}"),
        {"p": [1, 2], "n": [10, 20]},
        table,
        runs=6,
        each=lambda row, *_: orders.append(row.point),
    )
    assert len(told.table) == 24
    rounds = [orders[i : i + 4] for i in range(0, 24, 4)]
    assert all(set(each) == set(told.points) for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_times_memory_and_processor_times_are_those_of_the_program(table):
    text = "import time; x = bytearray(60_000_000); time.sleep(0.2)"
    [summary, _] = asked(program(text, "{p}"), path=table, runs=2).summaries
    [row, _] = summary.rows
    assert row.seconds > 0.2
    assert 60e6 < row.memory < 90e6
    assert row.memory <= row.memory_total
    assert row.user + row.system < row.seconds


def test_its_table_is_a_table_of_measurements(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNote)  # a busy machine has slow first runs
        told = parcast.measure(program(SCALES, "{p}"), [1, 2], runs=3, output=table)
    read = read_measurements(table)
    assert read.time.tolist() == pytest.approx(told.time.tolist(), rel=1e-6)
    assert [*read.axes] == ["p"]
    assert float(parcast.forecast(read, 4).time) < float(read.time.max())


def test_formulas_and_environment_take_values(table):
    told = asked(
        ["sh", "-c", 'test "$THREADS" = "{p}" && test {n} = $((1000 * {p}))'],
        path=table,
        formulas={"n": "{p}*1000"},
        environment={"THREADS": "{p}"},
        runs=1,
    )
    assert {x.status for x in told.table} == {OK}
    assert [x.columns["n"] for x in told.points] == [1000, 2000]


def test_what_is_done_around_runs_is_not_timed(tmp_path, table):
    log = tmp_path / "log"
    around = {
        "setup": f"sh -c 'echo setup{{p}} >> {log}'",
        "prepare": f"sh -c 'echo prepare >> {log}; sleep 0.7'",
        "cleanup": f"sh -c 'echo cleanup >> {log}'",
    }
    told = asked(
        ["sh", "-c", f"echo run >> {log}"], {"p": [3]}, table, runs=2, **around, warmup=1, cores=3
    )
    assert log.read_text().split() == [
        *("setup3", "prepare", "run", "prepare", "run", "prepare", "run", "cleanup")
    ]
    assert all(x.seconds < 0.7 for x in told.table)


def test_failed_runs_are_recorded_and_their_point_is_not_run_again(table):
    told = asked(["sh", "-c", "echo no; exit $(({p} - 1))"], path=table, runs=3)
    status = {x.point.columns["p"]: x for x in told.table}
    assert status[1].status == OK
    assert (status[2].status, status[2].exit) == ("failed", 1)
    assert len(told.table) == 4
    assert told.measurements().axes["p"].tolist() == [1, 1, 1]
    assert told.findings[0] == "p = 2: ended with status 1: no."
    with pytest.warns(UserWarning, match="1 failed run left out"):
        assert len(read_measurements(table)) == 3


def test_statuses_may_be_ignored(table):
    told = asked(["false", "{p}"], path=table, runs=1, ignore_failure=True)
    assert {x.status for x in told.table} == {OK}


def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(table):
    command = ["sh", "-c", "setsid sleep 77.7 & sleep 77.7"]
    told = asked(command, {"p": [1]}, table, runs=2, timeout=0.3)
    [row] = told.table
    assert (row.status, row.exit) == (TIMEOUT, None)
    assert row.seconds == pytest.approx(0.3, abs=0.01)
    assert not running("sleep 77.7")


def test_a_run_on_too_few_cores_that_takes_too_long_is_no_bound(table):
    command = ["sh", "-c", "test {p} = 1 || sleep 77.7"]
    told = asked(command, {"p": [1, 2]}, table, runs=1, timeout=0.3, cores=1)
    assert [x.status for x in sorted(told.table, key=lambda x: x.point.values)] == [OK, FAILED]
    assert told.measurements().cut_off is None


def test_children_that_a_run_leaves_are_ended(table):
    told = asked(["sh", "-c", "setsid sleep 78.8 & true"], {"p": [1]}, table, runs=1)
    assert told.table[0].status == OK
    assert not running("sleep 78.8")


def test_runs_share_the_process_that_watches_them_until_one_is_interrupted():
    command = ["sh", "-c", "echo $PPID"]
    with runner() as run:
        first = run(command).output
        with runner() as inner:
            assert inner(command).output == first
        with pytest.raises(KeyboardInterrupt), runner():
            raise KeyboardInterrupt
        assert run(command).output != first


def running(words):
    found = subprocess.run(["pgrep", "-f", words], capture_output=True, check=False)
    return bool(found.stdout)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "cannot be started: there is no such program"),
        ([os.devnull], "may not be executed"),
        (["echo", "{q}"], "must have values for {q}"),
        (["echo", "{p"], "must have pairs of braces"),
        ("echo {p}", "must be a program and its arguments"),
        ([], "must be a program and its arguments, got nothing"),
    ],
)
def test_commands_that_cannot_be_are_refused_and_leave_no_table(table, command, says):
    with pytest.raises((RunFailed, ParameterError), match=re.escape(says)):
        asked(command, {"p": [1]}, table)
    assert not [*table.parent.iterdir()]


@pytest.mark.parametrize(
    ("command", "lists", "name"),
    [
        (["mpiexec", "-n", "4", "./app"], {"p": [1, 2]}, "p"),
        (["./app", "{n}"], {"p": [1, 2], "n": [10, 20]}, "p"),
        (["./app", "{p}"], {"p": [1, 2], "n": [10, 20]}, "n"),
    ],
)
def test_a_command_that_is_the_same_at_several_values_is_refused(table, command, lists, name):
    says = f"command must differ from one {name} to another, got the same run at {name} = "
    with pytest.raises(ParameterError, match=says):
        asked(command, lists, table)
    assert not [*table.parent.iterdir()]


@pytest.mark.parametrize(
    "told",
    [
        {"environment": {"OMP_NUM_THREADS": "{p}"}},
        {"prepare": "echo {p}"},
        {"formulas": {"n": "{p}*1000"}, "command": ["echo", "{n}"]},
        {"command": ["true"], "lists": {"p": [2], "n": [10]}},
    ],
)
def test_a_command_may_be_told_the_count_in_another_way(table, told):
    assert len(asked(**{"command": ["true"], "runs": 1, "path": table} | told).table) > 0


@pytest.mark.parametrize(
    ("lists", "formulas", "says"),
    [
        ({"p": [0]}, {}, "p must be whole numbers from 1"),
        ({"p": ["x"]}, {}, "p must be numbers"),
        ({"p": []}, {}, "p must have values"),
        ({"p": [1], "time": [1]}, {}, "time"),
        ({"p": [1], "memory_B": [1]}, {}, "must be the name of a parameter"),
        ({"p": [1], "n": [1]}, {"n": "p"}, "n must be a list or a formula"),
        ({"p": [1]}, {"n": "p*q"}, "q"),
        ({"p": [1]}, {"n": "1e3,2e3"}, "n must be one formula"),
        ({"p": [1]}, {"n": "1..8x2"}, "n must be one formula"),
        ({"p": range(1, 200), "n": range(1, 200)}, {}, "points must be at most 10,000"),
    ],
)
def test_points_that_cannot_be_are_refused(lists, formulas, says):
    with pytest.raises(ParameterError, match=re.escape(says)):
        points_of(lists, formulas)


def test_a_function_is_measured_as_a_program_is(table):
    def run(p, n):
        if n == 3:
            raise ValueError("three")
        time.sleep(0.1 / p)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNote)
        told = parcast.measure(run, [1, 2], n=[1, 3], runs=2, output=table)
    assert sorted(told.axes["p"].tolist()) == [1, 1, 2, 2]
    assert set(told.axes["n"].tolist()) == {1}
    assert "raised ValueError: three" in table.read_text()
    with pytest.raises(ParameterError, match="command must be a function of p"):
        parcast.measure(lambda: None, [1], output=table.with_name("b.csv"))


def test_a_function_has_no_memory_where_that_of_an_earlier_one_remains(table, monkeypatch):
    monkeypatch.setattr("parcast.measurement.function.reset_peak", lambda: False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNote)
        parcast.measure(lambda p: time.sleep(0.01 / p), [1], runs=1, output=table)
    lines = [x for x in table.read_text().splitlines() if not x.startswith("#")]
    [row] = csv.DictReader(lines)
    assert row["memory_B"] == row["memory_total_B"] == ""


# the table


def test_it_goes_on_where_it_was_interrupted(table):
    command = program(SCALES, "{p}")

    def stop(_row, done, _total):
        if done == 3:
            raise KeyboardInterrupt

    told = asked(command, path=table, runs=3, each=stop)
    assert told.ended_by == "interrupted"
    before = table.read_text()
    assert len(before.splitlines()) == 2 + 3
    table.write_text(before + "1,9,0.1,tor")  # a line that was not written to its end
    made = []
    told = asked(command, path=table, runs=3, resume=True, each=lambda row, *_: made.append(row))
    assert (len(made), len(told.table), told.ended_by) == (3, 6, "")
    assert {x.repetition for x in told.table if x.point.columns["p"] == 1} == {1, 2, 3}
    assert asked(command, path=table, runs=3, resume=True).table == told.table


def test_a_table_that_is_there_or_is_of_another_command_is_refused(table):
    asked(["true", "{p}"], path=table, runs=1)
    with pytest.raises(ParameterError, match="must be a new file"):
        asked(["true", "{p}"], path=table, runs=1)
    with pytest.raises(ParameterError, match="must be of the same command"):
        asked(["false", "{p}"], path=table, runs=1, resume=True)
    with pytest.raises(ParameterError, match="must be of the same parameters"):
        asked(["true", "{p}"], {"p": [1], "n": [2]}, table, runs=1, resume=True)
    table.write_text("p,time_s\n1,2\n")
    with pytest.raises(ParameterError, match="must be a table that parcast measure has begun"):
        asked(["true", "{p}"], path=table, runs=1, resume=True)


def test_two_measurements_do_not_write_one_table(table):
    about = MeasuredCommand(command=["true"]).about() | {"parameters": ["p"]}
    first = RunTable.begun(str(table), about, resume=False)
    with pytest.raises(ParameterError, match="which another one is writing"):
        RunTable.begun(str(table), about, resume=True)
    first.close()
    assert not [*table.parent.iterdir()]


@pytest.mark.parametrize("is_reserve_enough", [True, False])
def test_a_full_disk_is_said_with_the_runs_that_are_kept(table, monkeypatch, is_reserve_enough):
    append, calls = RunTable._append, []

    def full(self, text):
        calls.append(text)
        if len(calls) in ((3,) if is_reserve_enough else (3, 4)):
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, text)

    monkeypatch.setattr(RunTable, "_append", full)
    kept = 2 + is_reserve_enough
    says = f": no space left on device. {kept} runs are in it. Make room and go on: "
    with pytest.raises(ParameterError, match=re.escape(says)):
        asked(["true", "{p}"], path=table, runs=2)
    assert len(table.read_text().splitlines()) == 2 + kept
    assert len(asked(["true", "{p}"], path=table, runs=2, resume=True).table) == 4


# times that programs tell


@pytest.mark.parametrize(
    ("pattern", "output", "seconds"),
    [
        (r"took (\S+) s", "took 1.5 s", 1.5),
        (r"took (?P<time>.*) by (.*)", "took 1m40.2s by x", 100.2),
        (r"took (.*)$", "a\ntook 788 ms\nb", 0.788),
        (r"took \[ms\]: (\d+)", "took [ms]: 788", 0.788),
        ("lammps", "Loop time of 4.25 on 8 procs for 100 steps with 4000 atoms", 4.25),
        ("gromacs", "       Time:       88.000       22.000      400.0", 22.0),
        ("time", "real\t0m3.250s\nuser\t0m1s", 3.25),
    ],
)
def test_a_program_tells_its_time(pattern, output, seconds):
    assert clock_of(pattern)(output) == pytest.approx(seconds)


def test_a_repetition_that_ends_with_what_is_not_repeated_is_harmless():
    find = clock_of(r"(?:\w+ )*took (\d+)")
    assert find("the whole program took 12") == 12
    begun = time.process_time()
    for output in ("word " * 1000, "a" * 2500 + " " + "b" * 2500):
        with pytest.raises(ParameterError, match="must match one time"):
            find(output)
    assert time.process_time() - begun < 20.0  # without end for one that may divide in many ways


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("took", "have a group"),
        ("(a+)+", "have no repetition or | within"),
        ("((?:a+))*b", "have no repetition or | within"),
        (r"(\w+\s)*", "have no repetition or | within"),
        ("(a{1,30}){1,30}b", "have no repetition or | within"),
        ("(a|a)*b", "have no repetition or | within"),
        ("(?:(a|b){30},){2}", "have no repetition or | within"),
        ("(?i)(?:[a-z]+A)*(b)", "have no repetition or | within"),
        (r"(?x)(?:\w+ )*(b)", "have no repetition or | within"),
        ("(", "be a regular"),
        ("x" * 1001 + "(a)", "be a regular"),
    ],
)
def test_patterns_that_cannot_be_are_refused(pattern, says):
    with pytest.raises(ParameterError, match=re.escape(f"time_pattern must {says}")):
        clock_of(pattern)


def test_a_run_that_tells_no_time_or_two_has_failed(table):
    text = "print('took 1 s\\n' * (2 - {p}))"
    told = asked(program(text), {"p": [1, 2, 3]}, table, runs=1, time_pattern=r"took (\S+) s")
    notes = {x.point.columns["p"]: x.note for x in told.table}
    assert notes[1] == ""
    says = "time_pattern must match one time in the output of each run, got none"
    assert notes[2] == f"gave no time: {says}"


REGIONS = """
import parcast, time
with parcast.region("work", "compute", iterations=1):
    time.sleep(0.1 / {p})
with parcast.region("rest", "replicated", iterations=1):
    time.sleep(0.01)
"""


def test_the_time_of_regions_is_that_of_a_run_and_they_are_kept_as_call_paths(table):
    profile = table.with_suffix(".jsonl")
    told = asked(
        [sys.executable, "-c", REGIONS],
        path=table,
        runs=2,
        warmup=1,
        time_pattern="profile",
        environment={"PARCAST_PROFILE": str(profile)},
    )
    assert {x.status for x in told.table} == {OK}
    assert all(x.seconds > 0.05 for x in told.table)
    regions = read_measurements(table.with_suffix(".regions.csv"))
    assert sorted({*regions.labels["callpath"]}) == ["rest", "work"]
    assert len(regions) == 8
    assert len(parcast.read_profiles(profile).runs) == 6
    spans = {x.time for x in parcast.read_profiles(profile).runs}
    assert {x.seconds for x in told.table} <= spans


def test_a_profile_needs_a_file_and_regions(table):
    with pytest.raises(ParameterError, match="come with one file in PARCAST_PROFILE, got none"):
        asked(["true", "{p}"], path=table, time_pattern="profile")
    told = asked(
        ["true", "{p}"],
        path=table,
        runs=1,
        time_pattern="profile",
        environment={"PARCAST_PROFILE": str(table.with_suffix(".jsonl"))},
    )
    assert "find regions of each run (parcast.region) in" in told.table[0].note


def test_a_count_that_the_program_refuses_is_named(table):
    told = asked(["sh", "-c", "test {p} != 3 || exit 2"], {"p": [1, 2, 3]}, table, runs=1)
    assert any(
        "ends with an error at p = 3 and not at p = 1, 2: it may refuse this count." in x
        for x in told.findings
    )


# what spoils a measurement


def test_a_frequency_that_falls_is_said(monkeypatch):
    monkeypatch.setattr("parcast.measurement.findings.BETWEEN", 0.0)
    values = [3e9, 3.1e9, 3e9, 2.8e9, 2.5e9, 2.4e9, 2.4e9]
    for read, said in ((values, 1), (values[:4], 0), (values[:1] * 7, 0), ([None] * 7, 0)):
        found = Frequencies(iter(read).__next__)
        for _ in read:
            found.look()
        assert len([*found.findings()]) == said
    assert fastest() is None or fastest() > 1e8


def row(p, seconds, repetition=1, status=OK, others=0.0):
    return RunRow(
        point=MeasuredPoint((("p", p),)),
        repetition=repetition,
        seconds=seconds,
        user=0.0,
        system=0.0,
        memory=None,
        memory_total=None,
        memory_from="",
        read=0,
        written=0,
        others=others,
        status=status,
    )


def said(rows, command=("app",), outputs=None):
    known = {MeasuredPoint((("p", p),)): text for p, text in (outputs or {}).items()}
    return " ".join(findings_of(command, rows, 4, known))


def test_ranks_that_did_not_find_each_other_are_told_by_their_output():
    one = "Setup of 1 rank\nstep 1\ndone in 1.25 s\n"
    rows = [row(1, 1.0), row(2, 0.5)]
    text = said(rows, ("mpiexec", "-n", "{p}", "app"), {1: one, 2: one * 2})
    assert "p = 2: the program wrote each line p times" in text
    text = said(
        rows, ("mpiexec", "-n", "{p}", "app"), {1: one, 2: one.replace("1 rank", "2 ranks")}
    )
    assert "wrote each line" not in text


def test_a_launcher_of_another_mpi_is_named(monkeypatch, tmp_path):
    app = tmp_path / "app"
    app.write_bytes(b"\x7fELF")
    app.chmod(0o755)
    says = {
        "mpiexec": "HYDRA build details",
        "ldd": "libmpi.so.40 => /usr/lib/libmpi.so.40",
    }
    monkeypatch.setattr("parcast.measurement.launchers._said", lambda words: says[words[0]])
    text = mismatch(["mpiexec", "-n", "4", str(app)])
    assert text.startswith("mpiexec is of MPICH, but app is linked with Open MPI")
    says["ldd"] = "libmpi.so.12 => /usr/lib/libmpi.so.12"
    assert mismatch(["mpiexec", "-n", "4", str(app)]) == ""
    assert program_of(["mpiexec", "-n", "4", str(app)]) == str(app)
    assert launcher_of([str(app)]) == mismatch([str(app)]) == ""


@pytest.mark.parametrize(
    ("command", "p", "expected"),
    [
        (["mpiexec", "-n", "{p}", "app"], 8, True),
        (["app"], 8, True),
        (["app"], 4, False),
        (["srun", "-n", "{p}", "app"], 8, False),
        (["mpiexec", "--hostfile", "x", "app"], 8, False),
    ],
)
def test_more_ranks_than_cores_take_turns(command, p, expected):
    assert takes_turns(command, p, 4) is expected


def test_counts_above_the_cores_are_run_once(table):
    told = asked(["sleep", "0.0{p}"], {"p": [1, 2, 4]}, table, runs=3, cores=2)
    assert Counter(x.point.columns["p"] for x in told.table) == {1: 3, 2: 3, 4: 1}
    assert {x.status for x in told.table if x.point.columns["p"] == 4} == {OVERSUBSCRIBED}
    again = asked(["sleep", "0.0{p}"], {"p": [1, 2, 4]}, table, runs=3, cores=2, resume=True)
    assert len(again.table) == 7
    assert any(x.startswith("p = 4: more than the 2 cores") for x in map(str, told.findings))


def test_runs_that_others_disturbed_do_not_count_where_enough_others_do(table, monkeypatch):
    busy = iter([0.0, 0.0, 0.0, 900.0] + [901.0] * 20)
    monkeypatch.setattr("parcast.trials.command.core_seconds", lambda: next(busy))
    told = asked(["sleep", "0.3"], {"p": [1]}, table, runs=4)
    assert [x.status for x in told.table] == [OK, DISTURBED, OK, OK]
    assert "1 of 4 runs were disturbed by others" in " ".join(told.findings)


def test_every_answer_from_a_table_says_that_disturbed_runs_count(parcast, table, monkeypatch):
    busy = iter(range(0, 10**6, 1000))
    monkeypatch.setattr("parcast.trials.command.core_seconds", lambda: next(busy))
    program = ["sh", "-c", "sleep 0.3; : {p}"]
    told = asked(program, {"p": [1, 2, 4]}, table, runs=1, cores=4)
    assert {x.status for x in told.table} == {"ok-disturbed"}
    says = "3 of 3 runs were disturbed by other programs, and count for lack of others."
    assert says in " ".join(told.findings)
    with pytest.warns(ImportNote, match=says):
        assert len(read_measurements(table)) == len(told.measurements()) == 3
    for words in (["forecast"], ["explain"], ["plan", "--within", "1h"], ["compare", table]):
        answer = parcast(words[0], table, *words[1:])
        assert f"{table}: {says}\n" in answer.out
    page = table.with_suffix(".html")
    parcast("report", table, "-o", page)
    assert says in page.read_text()
    document = json.loads(parcast("forecast", table, "--json").out)
    assert document["inputs"]["warnings"][0].startswith(f"{table}: {says}")


def test_no_cause_of_a_slow_first_run_is_named_where_others_disturbed_runs():
    """Guards: cold caches were named where other programs had taken the cores."""
    times = [row(1, 2.0, 1, status=USED), *(row(1, 1.0, i) for i in range(2, 4))]
    assert "caches were cold" not in said(times)


def test_counts_that_failed_alike_are_named_together():
    rows = [replace(row(p, 1.0, status=FAILED), note="ended with status 1") for p in (4, 1, 2)]
    assert "p = 1, 2, 4: ended with status 1." in said(rows)
    other = replace(row(8, 1.0, status=FAILED), note="ended with status 2")
    assert "p = 8: ended with status 2." in said([*rows, other])


def test_threads_are_named_where_a_program_may_start_some(monkeypatch, tmp_path):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    app = tmp_path / "app"
    app.write_bytes(b"\x7fELF")
    app.chmod(0o755)
    libraries = {"libc.so.6 => /lib": False, "libgomp.so.1 => /lib": True,
                 "libiomp5.so => /lib": True, "libomp.so.5 => /lib": True,
                 "not a dynamic executable": True}  # fmt: skip
    for text, is_said in libraries.items():
        monkeypatch.setattr(
            "parcast.measurement.launchers._said", lambda x, y=text: y if x[0] == "ldd" else ""
        )
        told = said([row(1, 1.0)], ("mpiexec", "-n", "{p}", str(app)))
        assert ("OMP_NUM_THREADS" in told) is is_said
    assert may_use_openmp(["mpiexec", "-n", "{p}", sys.executable, "solve.py"])
    assert may_use_openmp(["mpiexec", "-n", "{p}", "nowhere"])


def test_slow_first_runs_trends_and_no_gain_are_told():
    first = [row(1, 2.0, 1), *(row(1, 1.0, i) for i in range(2, 6))]
    assert "The first run took up to 2.0 times as long" in said(first)
    four = [row(1, 3.0, 1), *(row(1, 1.0, i) for i in range(2, 5))]
    assert "last round" not in said(first) + said(four)  # the first alone is no trend
    slower = [row(1, 1.0 + 0.1 * i, i) for i in range(1, 7)]
    assert re.search(r"Runs took \d+% longer in the last round", said(slower))
    halved = [row(1, 2.0 ** -(i / 5), i) for i in range(6)]
    assert "Runs took 50% shorter in the last round than in the first" in said(halved)
    assert "No count is faster than p = 1 (1 s)" in said([row(1, 1.0), row(2, 1.1)])
    sized = [replace(row(p, 1.0), point=MeasuredPoint((("p", p), ("n", 500)))) for p in (1, 2)]
    assert "No count is faster than p = 1, n = 500 (1 s)" in said(sized)
    assert said([row(1, 1.0), row(2, 0.6)]) == ""
    weak = [replace(row(p, 1.0), point=MeasuredPoint((("p", p), ("n", 100 * p)))) for p in (1, 2)]
    assert said(weak) == ""
    assert "1 of 2 runs were disturbed" in said([row(1, 1.0), row(2, 0.6, status=DISTURBED)])


# what comes of it


def test_runs_that_reached_a_limit_are_bounds_of_the_measurements():
    rows = (row(1, 8.0), row(2, 4.2), row(4, 60.0, status=TIMEOUT), row(8, 1.0, status=FAILED))
    points = tuple(x.point for x in rows)
    found = MeasuredProgram(
        command=("app",), points=points, runs=1, table=rows, path="a.csv", cores=8
    )
    assert found.measurements().cut_off == Measurements(p=4, time=60)
    assert found.measurements().p.tolist() == [1, 2]


def test_the_sheet_and_the_documents_say_it(table):
    told = asked(program(SCALES, "{p}"), path=table, runs=2)
    text = str(told)
    assert re.search(r"^1 +\d\d+", text, re.M)
    assert f"4, in {table}" in text
    document = told.to_document()
    json.dumps(document, allow_nan=False)
    [first, _] = document["results"]
    assert first["command"].endswith("1")
    assert len(first["times"]) == 2
    assert first["parameters"] == {"p": "1"}
    assert parcast.import_timings([_written(document, table)])


def _written(document, table):
    path = Path(f"{table}.json")
    path.write_text(json.dumps({"results": document["results"]}))
    return path


def test_a_run_above_the_cores_is_advised_for_a_larger_machine():
    times = [(p, t * f) for p, t in ((1, 8.0), (2, 2.1)) for f in (1.0, 1.9)]
    rows = tuple(row(p, t, i % 2 + 1) for i, (p, t) in enumerate(times))
    points = tuple(dict.fromkeys(x.point for x in rows))
    for cores, is_said in ((2, True), (64, False)):
        found = MeasuredProgram(
            command=("app",), points=points, runs=2, table=rows, path="a.csv", cores=cores
        )
        told, _ = _forecast(found, CountList("64", [64]))
        text = str(told)
        assert "Measure a run at p = 8." in text
        assert ("This needs a larger machine" in text) is is_said


def test_the_command_prints_times_and_forecast(parcast, table):
    words = program(SCALES, "{p}")
    picture, document = table.with_suffix(".svg"), table.with_suffix(".json")
    said = parcast(
        "measure", "-p", "1,2", "--runs", "2", "--at", "4", "-o", table, "-o", picture,
        "-o", document, "--", *words,
    )  # fmt: skip
    assert said.status == 0
    assert "run 4 of 4" in said.err
    assert re.search(r"^4 +\d+ ", said.out, re.M)
    assert picture.read_text().startswith("<?xml")
    assert json.loads(document.read_text())["schema"] == "parcast/measurement/1"
    assert re.search(r"^p +time +range +memory", said.out, re.M)  # of two runs there is no other
    again = parcast("measure", "-p", "1,2", "--runs", "2", "-o", table, "--", *words)
    assert (again.status, again.out) == (2, "")
    assert "Go on with it: --resume" in again.err


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("--", "true"), 2, "-p must be given"),
        (("-p", "1"), 2, "COMMAND must be given"),
        (("-p", "1", "--", "echo", "{q}"), 2, "COMMAND must have values for {q}"),
        (("-p", "1", "--runs", "1", "--", "false"), 4, "No run ended well"),
        (("-p", "1", "--runs", "1", "--", "true"), 4, "No forecast."),
        (("-p", "1", "--param", "n", "--", "true"), 2, "--param"),
        (("-p", "1", "--time-pattern", "x", "--", "true"), 2, "--time-pattern must have a group"),
        (("-p", "1", "-o", "a.csv", "-o", "b.csv", "--", "true"), 2, "-o must name one table"),
    ],
)
def test_refusals(parcast, tmp_path, monkeypatch, *, args, status, says):
    monkeypatch.chdir(tmp_path)
    said = parcast("measure", *args)
    assert said.status == status
    assert says in said.err


SLEEPS = ("sh", "-c", "sleep 0.{p}")


def test_advice_names_options_that_exist_and_a_page_where_it_comes_from(parcast, table):
    html = table.with_suffix(".html")
    asked = ("-p", "1,2", "--runs", "1", "-o", table, "-o", html)
    said = parcast("measure", *asked, "--", *SLEEPS).out
    assert f"choose weak scaling: parcast forecast {table} --scaling weak, or" in said
    origin = html.read_text().partition("Where this comes from")[2]
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert f"<dd>{table} <code>sha256 {digest}</code></dd>" in origin
    assert "<dd>runs = 1</dd>" in origin  # and no empty ones
    assert "sleep 0.{p}" in origin
    page = table.with_suffix(".md")
    parcast("report", table, "-o", page)
    assert "choose weak scaling: --scaling weak, or" in page.read_text()
    parcast("report", table, "--scaling", "weak", "-o", page)
    assert "weak (as requested)" in page.read_text()


def test_a_signal_keeps_what_was_measured(parcast, table):
    command = [
        "sh",
        "-c",
        f"test -e {table}.go && kill -TERM {os.getpid()}; touch {table}.go; : {{p}}",
    ]
    said = parcast("measure", "-p", "1,2", "--runs", "3", "-o", table, "--", *command)
    assert said.status == 130
    assert "stopped by  interrupted: " in said.out
    assert len(table.read_text().splitlines()) > 2
    assert signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, signal.default_int_handler)


def test_runs_that_failed_are_not_among_those_that_count():
    rows = [row(1, 1.0, status=USED), row(1, 1.0, 2), row(2, 1.0, status=FAILED)]
    assert "1 of 2 runs were disturbed by other programs" in said(rows)
