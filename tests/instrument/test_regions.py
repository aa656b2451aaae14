"""`parcast.instrument`: what is timed, what is counted, what is written, and what is refused."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

import parcast
from parcast.errors import ParameterError
from parcast.instrument import recorder
from parcast.instrument.accounts import RANK_AND_SIZE
from parcast.instrument.regions import PROFILING, profile_parameters, region
from parcast.timings.read_profiles import read_profiles

SPIN = 0.002  # [s]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Time regions in this process, into a file."""
    for names in RANK_AND_SIZE:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    path = tmp_path / "run.jsonl"
    PROFILING.start(str(path))
    yield path
    PROFILING.stop()
    PROFILING.program, PROFILING.parameters = "", {}


class Clock:
    """A wall clock that only moves when it is told to."""

    def __init__(self):
        self.now = 0  # [ns]

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += round(seconds * 1e9)


@pytest.fixture
def clock(monkeypatch):
    """Wall time of the regions, whatever else this machine does meanwhile."""
    clock = Clock()
    monkeypatch.setattr(recorder, "perf_counter_ns", clock)
    return clock


def spin(seconds=SPIN):
    """Keep the processor busy."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def totals():
    """Regions of the run so far, by name."""
    record = PROFILING.stop()
    return {} if record is None else {x.name: x for x in record.regions}


def test_nothing_is_timed_unless_it_is_asked_for():
    assert PROFILING.recorder is None
    with region("sweep", kind="no kind at all", iterations=-1) as off:
        off.count("wet", 5)
    assert PROFILING.recorder is None

    def solve(x):
        return x + 1

    assert region("solve")(solve) is solve
    assert PROFILING.stop() is None


@pytest.mark.usefixtures("place")
def test_passes_iterations_calls_and_bytes_add_up():
    for step in range(1, 4):
        with region("sweep", iterations=10 * step):
            spin()
        with region("halo", kind="halo", volume=100, calls=2):
            pass
    told = totals()
    sweep, halo = told["sweep"], told["halo"]
    assert (sweep.kind, sweep.entries, sweep.iterations) == ("compute", 3, 60)
    assert (halo.kind, halo.entries, halo.calls, halo.volume) == ("halo", 3, 6, 300)
    assert sweep.wall >= sweep.processor * 0.99 >= 3 * SPIN * 0.9
    assert sweep.squares >= sweep.wall**2 / 3 * (1 - 1e-9)
    assert halo.processor == 0


def test_the_time_of_a_region_is_without_those_inside_it(place):
    with region("outer"):
        spin()
        with region("inner"):
            spin(4 * SPIN)
        spin()
    told = totals()
    assert told["inner"].processor >= 4 * SPIN * 0.9
    assert 2 * SPIN * 0.9 <= told["outer"].processor < told["inner"].processor
    record = json.loads(place.read_text())
    assert sum(x["wall_s"] for x in record["regions"]) <= record["span_s"]


@pytest.mark.usefixtures("place")
def test_a_function_may_be_a_region_and_call_itself():
    @region("fall", iterations=2)
    def fall(n):
        """Fall n times."""
        return 0 if n == 0 else 1 + fall(n - 1)

    assert fall(3) == 3
    assert fall.__doc__ == "Fall n times."
    assert (totals()["fall"].entries, fall(1)) == (4, 1)


class Clocks:
    """Clocks that only `pass_by` moves, and how often processor time was asked for."""

    def __init__(self, monkeypatch):
        self.now, self.asked = 10**9, 0  # [ns]
        monkeypatch.setattr(recorder, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(recorder, "thread_time_ns", self.thread_time_ns)
        PROFILING.recorder.empty = 0

    def thread_time_ns(self):
        self.asked += 1
        return self.now

    def pass_by(self, name, times):
        """Pass through a region, each time for so many microseconds."""
        for microseconds in times:
            with region(name):
                self.now += 1000 * microseconds


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("times", "asked"),
    [
        ([10] * 20, 20),  # the first are all asked
        ([10] * 20_000, 20 + 1175),
        ([400] * 20_000, 20 + 3996),
        ([1, 1, 1, 1000] * 5000, 20 + 3996),  # stages that take turns
        ([10] * 1000 + [1000] * 1000, 20 + 222),  # a loop that gets longer
        ([1000] * 1000 + [10] * 1000, 20 + 396),
        (list(range(2000, 0, -1)), 20 + 396),
        (list(range(2000)), 20 + 360),
    ],
)
def test_passes_that_were_not_asked_for_processor_time_are_stood_for(monkeypatch, times, asked):
    clocks = Clocks(monkeypatch)
    clocks.pass_by("loop", times)
    assert clocks.asked / 2 == pytest.approx(asked, rel=0.1)
    loop = totals()["loop"]
    assert loop.wall == pytest.approx(1e-6 * sum(times))
    assert loop.processor == pytest.approx(loop.wall, rel=0.02)


@pytest.mark.usefixtures("place")
def test_processor_time_of_passes_inside_others_is_theirs_alone(monkeypatch):
    clocks = Clocks(monkeypatch)
    for _ in range(400):
        with region("outer"):
            clocks.now += 300_000
            clocks.pass_by("inner", [2, 4, 6])
    told = totals()
    assert told["outer"].processor == pytest.approx(400 * 300e-6)
    assert told["inner"].processor == pytest.approx(400 * 12e-6, rel=0.02)


@pytest.mark.usefixtures("place")
def test_other_threads_are_counted_and_not_timed():
    with region("mine"):
        pass
    timed = region("mine")(lambda: 1)

    def work():
        with region("theirs"):
            timed()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    record = PROFILING.stop()
    assert record.other_threads == 2
    assert [(x.name, x.entries) for x in record.regions] == [("mine", 1)]


@pytest.mark.usefixtures("place")
def test_the_thread_that_is_timed_is_that_of_the_first_region():
    def work():
        with region("theirs"):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with region("mine"):
        pass
    record = PROFILING.stop()
    assert ([x.name for x in record.regions], record.other_threads) == (["theirs"], 1)


@pytest.mark.usefixtures("place")
def test_regions_that_cross_are_counted_and_spoil_none_after_them(clock):
    def stage(name):
        with region(name):
            yield

    first, second = stage("first"), stage("second")
    next(first), next(second)
    next(first, None), next(second, None)
    with region("after"), region("inner"):
        clock.advance(1.0)
    record = PROFILING.stop()
    assert record.overlapping == 2
    assert len(record.quanta) == 2
    assert all(1e-6 < x < 0.1 for x in record.quanta)
    assert [x.entries for x in record.regions] == [1, 1, 1, 1]
    walls = {x.name: x.wall for x in record.regions}
    assert (walls["after"], walls["inner"]) == (0.0, 1.0)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("told", "waited"), [((1.0, 1.25), 0.25), ((None, 1.0), None), ((1.0, None), None)]
)
def test_waiting_for_the_core_is_told_where_the_system_tells_it(monkeypatch, clock, told, waited):
    monkeypatch.setattr(recorder, "waited_for_core", iter(told).__next__)
    with region("sweep"):
        clock.advance(0.5)
    assert PROFILING.stop().waited == waited


@pytest.mark.usefixtures("place")
def test_what_runs_after_its_call_is_no_function_to_time():
    def made():
        yield 1

    async def awaited():
        return 1

    async def both():
        yield 1

    for function in (made, awaited, both):
        with pytest.raises(ParameterError, match=r"must not time calls of .* generator or a cor"):
            region("x")(function)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: region("x", kind="bcast"), 'region "x" must be of a known kind, got'),
        (lambda: region(""), "region must have a printable name, got ''."),
        (lambda: region("a\nb"), "region must have a printable name, got 'a\\nb'."),
        (lambda: region("x", iterations=-1), 'of region "x" must be at least 0, got -1'),
        (lambda: region("x", volume=float("nan")), 'volume of region "x" must be a finite number'),
        (lambda: region("x", calls="two"), "must be a finite number, got 'two'."),
        (lambda: region("x", counts={"k": None}), 'count "k" of region "x" must be a finite'),
        (lambda: profile_parameters(n="big"), "parameter n must be a finite number, got 'big'."),
    ],
)
def test_what_makes_no_sense_is_refused(ask, says, refusal):
    assert says in refusal(ParameterError, ask)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"iterations": float("nan")}, 'of region "x" must be a finite number, got nan'),
        ({"volume": -5}, 'volume of region "x" must be at least 0, got -5'),
        ({"counts": {"wet": -1}}, 'count "wet" of region "x" must be at least 0, got -1'),
    ],
)
def test_what_a_later_pass_is_given_is_told_at_the_end_and_nothing_written(
    place, keys, says, refusal
):
    for given in ({}, keys):
        with region("x", **given):
            pass
    assert says in refusal(ParameterError, PROFILING.stop)
    assert not place.exists()


def test_the_file_says_what_run_it_was_and_can_be_read(place):
    profile_parameters(program="plate", n=64)
    with region("sweep", iterations=3):
        spin()
    PROFILING.stop()
    (run,) = read_profiles([place]).runs
    assert (run.program, run.p, run.parameters) == ("plate", 1, {"n": 64})
    assert run.ranks[0].version == parcast.__version__
    assert run.time > 0
    assert 0 < run.perturbation < 1
    document = run.ranks[0].to_document()
    assert document == json.loads(place.read_text())


@pytest.mark.usefixtures("place")
def test_the_rank_is_that_of_mpi_where_it_runs(monkeypatch):
    class Running:
        class COMM_WORLD:  # noqa: N801 - the name that mpi4py gives it
            Get_rank = staticmethod(lambda: 1)
            Get_size = staticmethod(lambda: 3)

        Is_initialized = staticmethod(lambda: True)
        Is_finalized = staticmethod(lambda: False)

    monkeypatch.setitem(sys.modules, "mpi4py.MPI", Running)
    with region("x"):
        pass
    record = PROFILING.stop()
    assert (record.rank, record.p) == (1, 3)


PROGRAM = """
import sys
import parcast
for step in range(3):
    with parcast.region("sweep", iterations=4):
        pass
assert not {"numpy", "mpi4py", "pydantic", "scipy"} & set(sys.modules)
"""


def started(tmp_path, place, program=PROGRAM):
    """Run a program in a process of its own, with a profile."""
    script = tmp_path / "jacobi.py"
    script.write_text(program)
    environment = os.environ | {"PARCAST_PROFILE": str(place)}
    return subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )


def test_a_program_that_is_started_with_a_place_writes_its_profile_there(tmp_path):
    place = tmp_path / "out.jsonl"
    for _ in range(2):
        assert started(tmp_path, place).stderr == ""
    runs = read_profiles([place]).runs
    assert [(x.program, x.ranks[0].regions[0].entries) for x in runs] == [("jacobi", 3)] * 2


def test_a_place_that_cannot_be_written_is_told_and_the_program_ends_well(tmp_path):
    said = started(tmp_path, tmp_path / "no folder" / "out.jsonl")
    before, after = said.stderr.splitlines()
    assert before.startswith("parcast: no profile can be written to ")
    assert "no folder is missing. Correct this before the program ends" in before
    assert after.startswith("parcast: the profile ")
    assert "cannot be written: no such file or directory." in after


@pytest.mark.parametrize("rank", [0, 1])
def test_a_place_is_doubted_before_the_program_runs(tmp_path, monkeypatch, capsys, rank):
    monkeypatch.setenv("PMI_RANK", str(rank))
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(os, "access", lambda target, _: "closed" not in str(target))
    (tmp_path / "closed").mkdir()
    (tmp_path / "old.jsonl").touch()
    said = {}
    for place in ("new.jsonl", "old.jsonl", "closed/new.jsonl", "closed", "none/new.jsonl"):
        monkeypatch.setattr(PROFILING, "place", str(tmp_path / place))
        PROFILING.doubt_place()
        said[place] = capsys.readouterr().err
    assert said["new.jsonl"] == said["old.jsonl"] == ""
    if rank > 0:
        assert not any(said.values())
        return
    assert "closed is not writable. Correct this" in said["closed/new.jsonl"]
    assert "closed is a folder. Correct this" in said["closed"]
    assert "none is missing. Correct this" in said["none/new.jsonl"]


@pytest.mark.fault(
    "Measuring",
    "The disk is full where profiles are written.",
    promise="Lines of other ranks stay as they were.",
)
def test_a_full_disk_leaves_the_lines_of_other_ranks_as_they_were(place, monkeypatch):
    place.write_text("what others wrote\n")
    real = os.write

    def full(file, data):
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return real(file, data[: len(data) - 10])

    with region("x"):
        pass
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        PROFILING.stop()
    assert place.read_text() == "what others wrote\n"


def test_a_forked_process_writes_no_line(place, monkeypatch):
    with region("x"):
        pass
    monkeypatch.setattr(PROFILING.recorder, "process", -1)
    assert PROFILING.stop() is None
    assert not place.exists()


@pytest.mark.usefixtures("place")
def test_a_region_keeps_its_kind():
    with region("x"):
        pass
    with pytest.raises(ParameterError, match="must keep its kind, got write after compute"):
        region("x", kind="write")


def test_several_runs_of_a_process_are_several_lines_and_a_warm_up_is_none(place):
    with region("sweep"):
        pass
    PROFILING.discard()
    for n in (10, 20):
        PROFILING.begin_run("plate", n=n)
        with region("sweep"):
            spin()
    PROFILING.stop()
    assert [x.parameters["n"] for x in read_profiles([place]).runs] == [10, 20]
    PROFILING.discard()  # nothing is timed any more
    assert PROFILING.recorder is None
