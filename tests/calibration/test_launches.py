"""`parcast.calibration.launches`: settling, time, losses, interruptions, with fake ranks."""

import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from parcast.benchmarking.records import BenchmarkPlan, BenchmarkRecorder
from parcast.calibration.cases import BenchmarkCase, cases_of, placement_of
from parcast.calibration.launches import FIRST, BenchmarkLauncher, LaunchCourse
from parcast.errors import RunFailed
from parcast.mpi.find import Mpi
from parcast.trials.campaign import Campaign

PLAN = BenchmarkPlan(sizes=(8,), budget=0.0)
MPI = Mpi(vendor="MPICH", version="5", mpiexec="/mpiexec")


def case(part="storage", ranks=1):
    return BenchmarkCase(part=part, module=part, ranks=ranks, plan=PLAN)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Launch fake ranks that move on a clock; give what was made, in which order, and told."""

    def made(cases, start=None, *, takes=1.0, settled=lambda _: True, records=True, **limits):
        clock, told, order = SimpleNamespace(now=0.0), [], []
        fake = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=lambda: clock.now)
        for module in ("clock", "command"):
            monkeypatch.setattr(f"parcast.trials.{module}.time", fake)

        def usual(_, one, record, seconds):
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

        monkeypatch.setattr(BenchmarkLauncher, "start", usual)
        course = LaunchCourse(
            cases=cases,
            launcher=BenchmarkLauncher(None, Path(tempfile.mkdtemp(dir=tmp_path))),
            **({"least": 3, "most": 10, "time_limit": 100.0} | limits),
        )
        course.campaign.clock.begun = 0.0
        course.make(lambda job, _: settled(job), lambda *told_now: told.append(told_now))
        return course, order, told

    return made


def counts(course):
    return [len(job.launches) for job in course.jobs()]


def test_cases_take_turns(run):
    course, order, told = run([case(), case("processor")])
    assert order == ["storage", "processor"] * 3
    assert counts(course) == [3, 3]
    assert (course.was_interrupted, course.was_out_of_time) == (False, False)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[0] == (0.0, "storage")
    assert told[-1] == (1.0, "done")


def test_what_is_not_settled_goes_on_alone_up_to_the_most(run):
    course, _, _ = run(
        [case(), case("processor")],
        settled=lambda job: job.case.part == "storage" or len(job.launches) >= 7,
    )
    assert counts(course) == [3, 7]
    assert counts(run([case("network", 2)], settled=lambda _: False, most=8)[0]) == [8]


def test_no_launch_begins_that_would_end_too_late(run):
    course, order, _ = run(
        [case(), case("processor")], settled=lambda _: False, takes=2.0, time_limit=9.0
    )
    assert len(order) == 4
    assert course.was_out_of_time


def test_a_launch_is_ended_when_the_time_is_over_and_keeps_what_it_recorded(run):
    course, order, told = run([case(), case("processor")], takes=40.0)
    assert order == ["storage", "processor"]
    assert (course.was_out_of_time, course.cut) == (True, "")  # a third would end too late
    long, order, told = run([case()], takes=400.0, time_limit=20.0)
    assert (long.was_out_of_time, long.cut, order) == (True, "storage", ["storage"])
    (job,) = long.jobs()
    assert job.launches[0].times == {("write", 1, 8): [1.0]}
    assert (job.lost, long.campaign.trials[0].seconds) == ([], 20.0)
    assert told[-1] == (1.0, "done")
    nothing, _, _ = run([case()], takes=400.0, time_limit=20.0, records=False)
    (job,) = nothing.jobs()
    assert (job.launches, job.lost, nothing.cut) == ([], [], "storage")
    brief, _, _ = run([case()], takes=400.0, time_limit=1.0)
    assert brief.campaign.trials[0].seconds == FIRST


def test_a_launch_that_hangs_though_there_is_time_is_lost(run):
    course, order, _ = run([case()], takes=400.0, time_limit=1000.0)
    assert (len(order), len(course.jobs()[0].lost), course.was_out_of_time) == (2, 2, False)


def test_a_launch_that_fails_is_lost_and_the_others_stand(run):
    begun = []

    def fail_once(*_):
        begun.append(True)
        if len(begun) == 2:
            raise RunFailed("a rank was killed")

    course, _, _ = run([case()], fail_once)
    assert counts(course) == [3]
    assert course.jobs()[0].lost == ["a rank was killed"]


def test_what_fails_twice_before_it_works_is_given_up(run):
    def fail(one, _):
        if one.part == "storage":
            raise RunFailed("a rank was killed")

    course, order, _ = run([case(), case("processor")], fail)
    assert order.count("storage") == 2
    assert counts(course) == [0, 3]


def test_a_launch_that_records_nothing_is_lost_with_its_reason(monkeypatch, tmp_path):
    def start(_, one, record, __):
        if one.part == "storage":
            BenchmarkRecorder(record).fact("refused", "no space")

    monkeypatch.setattr(BenchmarkLauncher, "start", start)
    course = LaunchCourse(
        cases=[case(), case("processor")],
        launcher=BenchmarkLauncher(None, tmp_path),
        **{"least": 1, "most": 1, "time_limit": 1e9},
    )
    course.make(lambda *_: True, lambda *_: None)
    assert [x.lost for x in course.jobs()] == [["no space"] * 2, ["nothing was measured"] * 2]


@pytest.mark.fault(
    "Measuring", "Ctrl-C during a benchmark.", promise="What it had recorded is kept."
)
def test_an_interruption_keeps_what_the_launch_had_recorded(run):
    def interrupt(_, record):
        if record.stem == "1":
            BenchmarkRecorder(record).times("write", 4096, [2.0])
            raise KeyboardInterrupt

    course, _, _ = run([case()], interrupt)
    assert course.was_interrupted
    assert [x.times for x in course.jobs()[0].launches] == [
        {("write", 1, 8): [1.0]},
        {("write", 1, 4096): [2.0]},
    ]


def test_disturbed_launches_count_only_where_there_are_too_few_others(run, monkeypatch):
    def disturbed(launches):
        counted = Campaign.counted

        def with_others(self, purpose):
            self.trials = [replace(x, others=9.0 * (x.launch <= launches)) for x in self.trials]
            return counted(self, purpose)

        with monkeypatch.context() as patch:
            patch.setattr(Campaign, "counted", with_others)
            course, _, _ = run([case()], settled=lambda _: False, most=5)
            (job,) = course.jobs()
            return len(job.launches), job.left_out

    assert disturbed(2) == (3, 2)
    assert disturbed(3) == (5, 0)


# What is launched


def titles(**asked):
    usual = {"ranks": 4, "quick": True, "directory": "/here", "mpi": None, "program": None}
    only = asked.pop("only", ("processor", "network", "primitives", "storage"))
    cases = cases_of(only, **(usual | asked))
    return [(x.part, x.module, x.ranks, x.extra) for x in cases]


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


# Without MPI


@pytest.mark.fault(
    "Measuring",
    "A benchmark hangs.",
    promise="It is killed at its time limit, and the message says so.",
)
def test_a_process_that_hangs_is_killed_and_one_that_fails_is_told(tmp_path):
    start = BenchmarkLauncher(None, tmp_path).start
    with pytest.raises(RunFailed, match=r"benchmarking\.storage was ended after 0 s"):
        start(case(), tmp_path / "r", 0.0)
    unknown = replace(case(), module="no_such")
    with pytest.raises(RunFailed, match=r"no_such ended with status 1: .*No module named"):
        start(unknown, tmp_path / "r", 300.0)


def test_ranks_are_placed_as_the_launcher_places_them(monkeypatch):
    monkeypatch.setattr("parcast.calibration.cases.available_cores", lambda: (0, 1))
    monkeypatch.delenv("PARCAST_PLACEMENT", raising=False)
    assert [placement_of(x) for x in (1, 2, 3)] == ["own", "own", "one"]
    monkeypatch.setenv("PARCAST_PLACEMENT", "free")
    assert placement_of(3) == "free"
