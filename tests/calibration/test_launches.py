"""`parcast.calibration.jobs`: settling, time, losses, interruptions, with fake ranks."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from parcast.benchmarking.records import BenchmarkPlan, BenchmarkRecorder
from parcast.calibration import jobs as calibrate_launches
from parcast.calibration.jobs import BenchmarkJob, jobs_of, launch_all, placement_of, starter
from parcast.errors import RunFailed
from parcast.mpi.find import Mpi
from parcast.mpi.tied import tied

PLAN = BenchmarkPlan(sizes=(8,), budget=0.0)


class Clock:
    """A clock that every launch moves on."""

    now = 0.0

    def __call__(self):
        return self.now


def job(part="storage", ranks=1):
    return BenchmarkJob(part=part, module=part, ranks=ranks, plan=PLAN)


def run(jobs, tmp_path, start=None, *, takes=1.0, settled=lambda _: True, records=True, **limits):
    clock, told, order = Clock(), [], []
    tmp_path = Path(tempfile.mkdtemp(dir=tmp_path))

    def usual(one, record, seconds):
        order.append(one.title)
        if takes > seconds:
            clock.now += seconds
            if records:
                BenchmarkRecorder(record, one.ranks).times("write", 8, [1.0])
            raise RunFailed("it did not end")
        clock.now += takes
        if start is not None:
            start(one, record)
        BenchmarkRecorder(record, one.ranks).times("write", 8, [1.0])

    course = launch_all(
        jobs,
        usual,
        tmp_path,
        **({"least": 3, "most": 10, "time_limit": 100.0} | limits),
        is_settled=settled,
        progress=lambda share, what: told.append((share, what)),
        clock=clock,
    )
    return course, order, told


def test_jobs_take_turns(tmp_path):
    jobs = [job(), job("processor")]
    course, order, told = run(jobs, tmp_path)
    assert order == ["storage", "processor"] * 3
    assert [len(x.launches) for x in jobs] == [3, 3]
    assert (course.was_interrupted, course.was_out_of_time) == (False, False)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[0] == (0.0, "storage")
    assert told[-1] == (1.0, "done")


def test_what_is_not_settled_goes_on_alone_up_to_the_most(tmp_path):
    jobs = [job(), job("processor")]
    run(jobs, tmp_path, settled=lambda one: one.part == "storage" or len(one.launches) >= 7)
    assert [len(x.launches) for x in jobs] == [3, 7]
    never = [job("network", 2)]
    run(never, tmp_path, settled=lambda _: False, most=8)
    assert len(never[0].launches) == 8


def test_no_launch_begins_that_would_end_too_late(tmp_path):
    jobs = [job(), job("processor")]
    course, order, _ = run(jobs, tmp_path, settled=lambda _: False, takes=2.0, time_limit=9.0)
    assert len(order) == 4
    assert course.was_out_of_time


def test_a_launch_is_ended_when_the_time_is_over_and_keeps_what_it_recorded(tmp_path):
    jobs = [job(), job("processor")]
    course, order, told = run(jobs, tmp_path, takes=40.0)
    assert order == ["storage", "processor", "storage"][: len(order)]
    assert (course.was_out_of_time, course.cut) == (True, "")  # a third would end too late
    long = [job()]
    course, order, told = run(long, tmp_path, takes=400.0, time_limit=20.0)
    assert (course.was_out_of_time, course.cut, order) == (True, "storage", ["storage"])
    assert long[0].launches[0].times == {("write", 1, 8): [1.0]}
    assert (long[0].lost, long[0].seconds, told[-1]) == ([], 20.0, (1.0, "done"))
    nothing = [job()]
    course, _, _ = run(nothing, tmp_path, takes=400.0, time_limit=20.0, records=False)
    assert (nothing[0].launches, nothing[0].lost, course.cut) == ([], [], "storage")
    brief = [job()]
    run(brief, tmp_path, takes=400.0, time_limit=1.0)
    assert brief[0].seconds == calibrate_launches.FIRST


def test_a_launch_that_hangs_though_there_is_time_is_lost(tmp_path):
    jobs = [job()]
    course, order, _ = run(jobs, tmp_path, takes=400.0, time_limit=1000.0)
    assert (len(order), len(jobs[0].lost), course.was_out_of_time) == (2, 2, False)


def test_a_launch_that_fails_is_lost_and_the_others_stand(tmp_path):
    def fail_once(one, _):
        if len(one.launches) == 1 and not one.lost:
            raise RunFailed("a rank was killed")

    jobs = [job()]
    run(jobs, tmp_path, fail_once)
    assert len(jobs[0].launches) == 3
    assert jobs[0].lost == ["a rank was killed"]


def test_what_fails_twice_before_it_works_is_given_up(tmp_path):
    def fail(one, _):
        if one.part == "storage":
            raise RunFailed("a rank was killed")

    jobs = [job(), job("processor")]
    _, order, _ = run(jobs, tmp_path, fail)
    assert order.count("storage") == 2
    assert len(jobs[1].launches) == 3


def test_a_launch_that_records_nothing_is_lost_with_its_reason(tmp_path):
    def start(one, record, _):
        if one.part == "storage":
            BenchmarkRecorder(record).fact("refused", "no space")

    jobs = [job(), job("processor")]
    launch_all(
        jobs,
        start,
        tmp_path,
        least=1,
        most=1,
        time_limit=1e9,
        is_settled=lambda _: True,
        progress=lambda *_: None,
    )
    assert jobs[0].lost == ["no space"] * 2
    assert jobs[1].lost == ["nothing was measured"] * 2


@pytest.mark.fault(
    "Measuring", "Ctrl-C during a benchmark.", promise="What it had recorded is kept."
)
def test_an_interruption_keeps_what_the_launch_had_recorded(tmp_path):
    def interrupt(one, record):
        if one.launches:
            BenchmarkRecorder(record).times("write", 4096, [2.0])
            raise KeyboardInterrupt

    jobs = [job()]
    course, _, _ = run(jobs, tmp_path, interrupt)
    assert course.was_interrupted
    assert [x.times for x in jobs[0].launches] == [
        {("write", 1, 8): [1.0]},
        {("write", 1, 4096): [2.0]},
    ]


# What is launched


def titles(**asked):
    usual = {"ranks": 4, "quick": True, "directory": "/here", "mpi": None, "program": None}
    only = asked.pop("only", ("processor", "network", "primitives", "storage"))
    jobs = jobs_of(only, **(usual | asked))
    return [(x.part, x.module, x.ranks, x.extra) for x in jobs]


MPI = Mpi(vendor="MPICH", version="5", mpiexec="/mpiexec")


def test_the_compiled_pingpong_takes_the_place_of_the_other_one():
    assert titles(mpi=MPI, only=("network",)) == [
        ("network", "network", 2, ()),
        ("network", "network", 4, ()),
    ]
    assert titles(mpi=MPI, only=("network",), program="/pingpong", quick=False) == [
        ("network", "compiled", 2, ()),
        ("network", "network", 2, ("compiled",)),
        ("network", "network", 4, ("compiled",)),
    ]


def test_ranks_are_placed_as_the_launcher_places_them(monkeypatch):
    monkeypatch.setattr("parcast.calibration.jobs.available_cores", lambda: (0, 1))
    monkeypatch.delenv("PARCAST_PLACEMENT", raising=False)
    assert [placement_of(x) for x in (1, 2, 3)] == ["own", "own", "one"]
    monkeypatch.setenv("PARCAST_PLACEMENT", "free")
    assert placement_of(3) == "free"


def test_ranks_are_started_by_the_launcher_with_what_they_need(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        calibrate_launches, "run_ranks", lambda *given, **named: calls.append((given, named))
    )
    start = starter(MPI)
    start(job("network", 2), tmp_path / "r", 12.0)
    compiled = BenchmarkJob(
        part="network", module="compiled", ranks=2, plan=PLAN, program="/pingpong"
    )
    start(compiled, tmp_path / "r", 12.0)
    (module, arguments), named = calls[0]
    assert module == "parcast.benchmarking.network"
    assert arguments == [str(tmp_path / "r"), PLAN.to_text()]
    assert (named["ranks"], named["mpi"], named["time_limit"]) == (2, MPI, 12.0)
    assert calls[1][0][1] == ["/pingpong", str(tmp_path / "r"), "0.0", "5", "200", "8"]


# Without MPI


def test_one_process_measures_alone_and_its_failure_is_told(monkeypatch, tmp_path):
    commands = []

    def ended(command, **named):
        commands.append((command, named["env"]["PARCAST_PLACEMENT"]))
        return subprocess.CompletedProcess(command, len(commands) - 1, "", "Trace\nOSError: no\n")

    monkeypatch.delenv("PARCAST_PLACEMENT", raising=False)
    monkeypatch.setattr(subprocess, "run", ended)
    start = starter(None)
    start(job(), tmp_path / "r", 300.0)
    command, placement = commands[0]
    assert command[: len(tied([]))] == tied([])
    assert command[len(tied([])) :][:3] == [sys.executable, "-m", "parcast.benchmarking.storage"]
    assert command[-1] == "alone"
    assert placement == "one"
    with pytest.raises(RunFailed, match=r"processor ended with status 1: OSError: no\. Try"):
        start(job("processor"), tmp_path / "r", 300.0)


@pytest.mark.fault(
    "Measuring",
    "A benchmark hangs.",
    promise="It is killed at its time limit, and the message says so.",
)
def test_a_process_that_hangs_is_killed(monkeypatch, tmp_path):
    def late(command, **_):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(subprocess, "run", late)
    with pytest.raises(RunFailed, match="did not end within 300 s and was killed"):
        starter(None)(job(), tmp_path / "r", 300.0)
