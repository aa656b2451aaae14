"""`parcast.calibration.calibrate` on fake machines whose parameters are known, and on this one."""

import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from parcast.benchmarking.primitives import PRIMITIVES
from parcast.benchmarking.records import BenchmarkPlan, BenchmarkRecorder, MeasuredLaunch
from parcast.calibration import calibrate as verb
from parcast.calibration import cases as calibrate_cases
from parcast.calibration import host as calibrate_host
from parcast.calibration.calibrate import calibrate
from parcast.calibration.cases import BenchmarkCase, BenchmarkJob
from parcast.calibration.host import Clocks, clock_notes
from parcast.calibration.launches import BenchmarkLauncher, LaunchCourse
from parcast.calibration.lines import segments_of
from parcast.calibration.machine_file import machine_figures
from parcast.calibration.notes import notes_of
from parcast.calibration.result import BenchmarkTable, Sample
from parcast.calibration.values import VALUES, measured
from parcast.errors import ParameterError, RunFailed
from parcast.mpi.find import Mpi, find_mpi
from parcast.show.warning import Rank, by_rank
from parcast.testbed.testbed import Testbed

LATENCY, RATE = 1e-6, 1e10  # of the fake network
FLOPS, HALF = 5e9, 0.5  # r_hat and f_half of the fake processor
WRITE = (2e-4, 1e9)  # start-up and rate of the fake disk
NO_COMPILER = "there is no mpicc in the folder of mpiexec"


class FakeRanks(BenchmarkLauncher):
    """A launcher whose benchmarks are those of a fake machine."""

    def __init__(self, machine, *given):
        super().__init__(*given)
        object.__setattr__(self, "start", machine.start)


class FakeMachine:
    """Records times of known parameters, with a share of noise between launches."""

    def __init__(self, noise=0.0, seed=1):
        self.noise, self.random = noise, np.random.default_rng(seed)
        self.started = []

    def __call__(self, mpi, folder):
        self.mpi = mpi
        return FakeRanks(self, mpi, folder)

    def start(self, job, path, _seconds):
        self.started.append(job.title)
        record = BenchmarkRecorder(path, job.ranks)
        factor = float(np.exp(self.random.normal(0.0, self.noise)))
        getattr(self, job.part)(job, record, factor)

    def times(self, time, factor):
        return [time * factor, time * factor * 1.01, time * factor * 0.99]

    def processor(self, _, record, factor):
        for order in range(1, 11):
            flops = 2 * order * 10_000
            record.times(
                "polynomial", order, self.times(flops * (1 + HALF / order) / FLOPS, factor)
            )
        record.times("triad", 4000, self.times(4000 / 2e10, factor))
        record.times("timer", 0, [5e-8])
        record.times("timer_step", 0, [1e-9])

    def network(self, job, record, factor):
        record.fact("mpi", "Fake MPI 1.0")
        record.fact("call", 2e-7)
        for size in job.plan.sizes:
            time = LATENCY + size / RATE
            if job.ranks == 2:
                record.times("pingpong", size, self.times(time, factor))
            if size > 0:
                if job.ranks == 2:
                    record.times("stream", size, self.times(size / RATE, factor))
                    record.times("bidirectional", size, self.times(time, factor))
                messages = job.ranks * (job.ranks - 1)
                record.times("saturation", size, self.times(messages * size / (3 * RATE), factor))

    def primitives(self, job, record, factor):
        for name in PRIMITIVES:
            for size in (0,) if name == "barrier" else job.plan.sizes:
                record.times(name, size, self.times(LATENCY * job.ranks + size / RATE, factor))

    def storage(self, job, record, factor):
        record.fact("read", "O_DIRECT")
        for size in job.plan.sizes:
            for bench in ("write", "read", "cached_read"):
                record.times(bench, size, self.times(WRITE[0] + size / WRITE[1], factor))


@pytest.fixture
def fake(monkeypatch):
    """Fake machine of four cores in place of this one."""
    machine = FakeMachine()
    monkeypatch.delenv("PARCAST_PLACEMENT", raising=False)
    monkeypatch.setattr(verb, "BenchmarkLauncher", machine)
    monkeypatch.setattr(
        verb, "find_mpi", lambda: Mpi(vendor="Fake", version="1", mpiexec="/mpiexec")
    )
    monkeypatch.setattr(verb, "compile_pingpong", lambda *_: NO_COMPILER)
    monkeypatch.setattr(verb, "load_average", lambda: 0.1)
    for module in (calibrate_host, calibrate_cases):
        monkeypatch.setattr(module, "available_cores", lambda: (0, 1, 2, 3))
    return machine


@pytest.mark.usefixtures("fake")
def test_the_parameters_of_a_known_machine_are_found(tmp_path):
    found = calibrate(ranks=4, directory=tmp_path, quick=True)
    values = {x.key: x.value for x in found.measured}
    assert values.pop("storage.cache", 1.0) > 0  # of this system, where it tells
    assert values == pytest.approx(
        {
            "compute.rate": FLOPS,
            "compute.half_intensity": HALF,
            "compute.memory_bandwidth": 2e10,
            "timer.cost": 5e-8,
            "timer.resolution": 1e-9,
            "timer.mpi_call": 2e-7,
            "network.latency": LATENCY,
            "network.bandwidth": RATE,
            "network.half_size": LATENCY * RATE,
            "network.one_directional": RATE,
            "network.bidirectional": 2 * 4194304 / (LATENCY + 4194304 / RATE),
            "network.saturation": 3 * RATE,
            "storage.bandwidth": WRITE[1],
            "storage.latency": WRITE[0],
            "storage.read_bandwidth": WRITE[1],
            "storage.cache_bandwidth": WRITE[1],
        },
        rel=1e-3,
    )
    assert found.unsettled == ()
    assert found["network.saturation"].ranks == 4
    assert found["network.latency"].launches == 3
    assert "O_DIRECT" in found["storage.read_bandwidth"].method
    broadcast = found.line("broadcast", 4)
    assert (broadcast.startup, broadcast.rate) == pytest.approx((4 * LATENCY, RATE))
    assert broadcast.half_size == pytest.approx(4 * LATENCY * RATE)
    assert broadcast.switches == ()
    assert found.line("barrier", 2).rate == inf
    assert found.line("barrier", 2).startup == pytest.approx(2 * LATENCY)
    assert found.table("alltoall", 2).bytes.tolist() == [8, 1024, 32768, 524288]
    assert found.table("alltoall", 5) is None
    assert found.line("alltoall", 5) is None
    assert found.host.mpi == "Fake MPI 1.0"
    assert found.host.placement == {1: "own", 2: "own", 3: "own", 4: "own"}
    (warning,) = found.warnings
    assert warning.startswith(f"The ping-pong was run from Python: {NO_COMPILER}.")


def test_what_does_not_settle_is_launched_again_and_told(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(verb, "MOST_LAUNCHES", 8)
    fake.noise = 0.3
    found = calibrate(only=("storage",), directory=tmp_path, launches=4)
    assert found["storage.bandwidth"].launches == 8
    assert "storage.bandwidth" in found.unsettled
    told = "\n".join(found.warnings)
    assert "90% intervals wider than +-5%: storage.bandwidth +-" in told
    assert "Launches differ by more than 10%" in told
    assert "wider than +-5% at most sizes (ranks in brackets): write (1)" in told


def test_lost_launches_are_told_and_the_others_stand(fake):
    usual, lost = fake.processor, []

    def killed_once(*given):
        if not lost:
            lost.append(True)
            raise RunFailed("processor on 1 rank ended with status 9. It was killed.")
        usual(*given)

    fake.processor = killed_once
    found = calibrate(only=("processor",), quick=True)
    assert found.lost == 1
    assert found["compute.rate"].launches == 3
    assert found.warnings == (
        "processor: 1 of 4 launches failed. The last failure: processor on 1 rank ended with "
        "status 9. It was killed.",
    )


def test_where_all_launches_are_lost_the_reason_is_raised(fake):
    def killed(*_):
        raise RunFailed("it was killed")

    fake.processor = killed
    with pytest.raises(RunFailed, match="Nothing could be measured: it was killed"):
        calibrate(only=("processor",), quick=True)


def test_an_interruption_keeps_what_was_measured(fake, tmp_path):
    usual = fake.network

    def interrupted(job, record, factor):
        usual(job, record, factor)
        if fake.started.count(job.title) == 2:
            raise KeyboardInterrupt

    fake.network = interrupted
    found = calibrate(directory=tmp_path)
    assert found.was_interrupted
    assert found.warnings[1] == "Interrupted: only what was measured until then is reported."
    assert found["network.latency"].launches == 2
    assert found["storage.latency"].launches == 1
    assert found["compute.rate"].value == pytest.approx(FLOPS)


def test_without_mpi_the_rest_is_measured_with_one_warning(fake, monkeypatch, tmp_path):
    def missing():
        raise RunFailed('Starting ranks needs mpi4py. Install with: pip install "parcast[mpi]"')

    monkeypatch.setattr(verb, "find_mpi", missing)
    found = calibrate(directory=tmp_path, quick=True)
    assert found["compute.rate"].value == pytest.approx(FLOPS)
    assert found["storage.bandwidth"].value == pytest.approx(WRITE[1])
    assert "network.latency" not in found
    assert found.warnings == (
        "Not measured: network and primitives. Starting ranks needs mpi4py. Install with: pip "
        'install "parcast[mpi]"',
    )
    assert fake.mpi is None
    assert found.host.mpi == ""
    (told,) = calibrate(only=("storage",), directory=tmp_path, quick=True).warnings
    assert told.startswith("The storage was measured with only one writer. Starting ranks")
    assert calibrate(only=("processor",), quick=True).warnings == ()
    with pytest.raises(RunFailed, match="parcast\\[mpi\\]"):
        calibrate(only=("network",))


def test_more_ranks_than_cores_are_measured_marked_and_told(fake, monkeypatch):
    for module in (calibrate_host, calibrate_cases):
        monkeypatch.setattr(module, "available_cores", lambda: (0, 1))
    found = calibrate(ranks=4, only=("network",), quick=True)
    assert found.table("saturation", 4).placement == "one"
    assert found["network.saturation"].ranks == 2  # the most that have a core each
    told = "\n".join(found.warnings)
    assert "4 ranks took turns on one core, as there are more ranks than cores (2)." in told
    assert "network.saturation was measured with one pair" in told
    assert fake.started


def test_a_launch_that_was_cut_off_is_told(fake, monkeypatch):
    now, slow = [0.0], "primitives"
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])
    begin = LaunchCourse.__post_init__

    def start(job, path, seconds):
        if job.part == slow:
            now[0] += seconds
            if job.part == "primitives":
                BenchmarkRecorder(path, job.ranks).times("send", 8, [1e-6])
            raise RunFailed("it did not end in time")
        now[0] += 0.01
        fake.processor(job, BenchmarkRecorder(path), 1.0)

    def begun(course):
        begin(course)
        course.campaign.clock.begun = now[0]

    fake.start = start
    for module in ("clock", "command"):
        monkeypatch.setattr(f"parcast.trials.{module}.time", clock)
    monkeypatch.setattr(LaunchCourse, "__post_init__", begun)
    found = calibrate(only=("processor", "primitives"), time_limit=8.0)
    assert "The time limit ended during a launch: primitives, 2 ranks. What" in str(found.warnings)
    assert found.table("send", 2).samples[0].launches == 1
    slow = "processor"
    with pytest.raises(
        RunFailed, match=r"the time limit ended during the first launch \(processor\)\."
    ):
        calibrate(only=("processor",), time_limit=8.0)


def test_on_a_testbed_its_hosts_are_the_processors(fake, monkeypatch):
    told = Testbed(hosts=4, bus=True, cpu=0.1).description()
    whole = calibrate(only=("processor",), quick=True)
    assert (whole.host.hosts, whole.to_document()["host"]["hosts"]) == (0, 0)
    monkeypatch.setenv("PARCAST_TESTBED", json.dumps(told))
    found = calibrate(only=("processor",), quick=True)
    assert fake.started
    assert found.name == "testbed of 4 hosts on a bus, 100 Mbit/s"
    rate = found["compute.rate"]
    assert rate.value == pytest.approx(0.1 * whole["compute.rate"].value)
    assert rate.method.endswith("times 10% (the share of a core per host)")
    assert found["compute.half_intensity"].value == whole["compute.half_intensity"].value
    text = machine_figures(found).to_toml()
    assert "processors = 4" in text
    assert "# usable hosts of testbed of 4 hosts on a bus, 100 Mbit/s" in text
    monkeypatch.setenv("PARCAST_TESTBED", json.dumps(told | {"cpu": None}))
    free = calibrate(only=("processor",), quick=True, name="box")
    assert (free.name, free["compute.rate"].value) == ("box", whole["compute.rate"].value)
    monkeypatch.setenv("PARCAST_TESTBED", "no document")
    assert calibrate(only=("processor",), quick=True).host.hosts == 0


def test_a_disk_that_runs_full_is_told(fake, tmp_path):
    usual = fake.storage

    def full(job, record, factor):
        usual(job, record, factor)
        record.fact("refused", "/here: No space left on device. Choose another folder")

    fake.storage = full
    found = calibrate(only=("storage",), ranks=1, directory=tmp_path, quick=True)
    assert found.warnings == (
        "storage: not all sizes were measured: /here: No space left on device. Choose another "
        "folder.",
    )


SPIKY = (1054, 33, 3, 442, 191, 342, 3, 550, 592)  # of 256 KiB on a disk of 10 MB/s [MB/s]


def at(rates, size):
    return [size / (rate * 1e6) for rate in rates]


def test_a_burst_is_not_taken_for_the_rate_of_the_disk(fake, tmp_path):
    """As measured on a disk limited to 10 MB/s that takes the first megabyte at once."""

    def burst(_, record, __):
        for bench in ("write", "read"):
            record.times(bench, 1 << 16, at((193, 43, 220, 296, 360), 1 << 16))
            record.times(bench, 1 << 18, at(SPIKY, 1 << 18))
        for size in (1 << 20, 1 << 23):
            record.times("read", size, at((10, 9.9, 10.1), size))

    fake.storage = burst
    found = calibrate(only=("storage",), ranks=1, directory=tmp_path, quick=True)
    known = {x.key: x.value for x in found.measured}
    assert "storage.bandwidth" not in known
    assert known["storage.read_bandwidth"] == pytest.approx(1e7, rel=0.01)
    assert found.warnings[0] == (
        "storage: storage.bandwidth is unknown. One request was written at 1.1 GB/s, all of its "
        "size together at 13 MB/s: a cache or a limit of the disk accepts bursts. Take the rate "
        "that IOR measures over minutes."
    )


def test_large_requests_alone_tell_a_rate_but_no_latency(fake, tmp_path):
    def cut(_, record, __):
        record.times("write", 1 << 23, at((10, 10, 10), 1 << 23))
        record.times("write", 1 << 20, at((10, 10, 10), 1 << 20))

    fake.storage = cut
    found = calibrate(only=("storage",), ranks=1, directory=tmp_path, quick=True)
    known = {x.key: x.value for x in found.measured if x.key != "storage.cache"}
    assert known == {"storage.bandwidth": pytest.approx(1e7)}


def test_the_compiled_pingpong_is_tried_before_it_is_used(fake, monkeypatch):
    monkeypatch.setattr(verb, "compile_pingpong", lambda *_: Path("/pingpong"))
    found = calibrate(only=("network",), quick=True)
    assert found.warnings[0].startswith("network.saturation was measured with one pair")
    assert found["network.latency"].method.endswith("C program")
    assert fake.started[0] == "network, 2 ranks"

    def fail(job, record, factor):
        if job.program is not None:
            raise RunFailed("it is not on the other host")
        FakeMachine.network(fake, job, record, factor)

    fake.network = fail
    found = calibrate(only=("network",), quick=True)
    told = "The ping-pong was run from Python: the compiled program does not run (it is not on"
    assert found.warnings[0].startswith(told)
    assert "from Python" in found["network.latency"].method


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"ranks": 5000}, "ranks must lie in 1 to 1024, got 5000. Give fewer."),
        ({"time_limit": nan}, "time_limit must be above 0, got nan. Give seconds."),
        (
            {"only": "disk"},
            "only must be some of processor, network, primitives, storage, got 'disk'.",
        ),
        ({"directory": "/no/such"}, "directory must be an existing folder, got '/no/such'."),
    ],
)
def test_arguments_that_cannot_be_are_refused(asked, says, refusal):
    assert refusal(ParameterError, calibrate, **asked).startswith(says)


# Lines


def table(times, sizes):
    samples = tuple(
        Sample(
            bytes=int(size),
            time=time,
            p25=time,
            lower=time,
            upper=time,
            cv=0.0,
            launches=1,
            repetitions=1,
            outliers=0,
            worst=1.0,
            settled=True,
        )
        for size, time in zip(sizes, times, strict=True)
    )
    return BenchmarkTable(bench="pingpong", ranks=2, placement="own", method="", samples=samples)


def test_several_switches_of_the_protocol_are_found():
    sizes = 2.0 ** np.arange(23)
    times = np.select(
        [sizes < 256, sizes < 16384],
        [1e-6 + sizes / 1e9, 8e-6 + sizes / 2e9],
        default=1e-4 + sizes / 2e10,
    )
    found = segments_of(table(times, sizes))
    assert [x.first for x in found] == [1, 256, 16384]
    assert [x.startup for x in found] == pytest.approx([1e-6, 8e-6, 1e-4], rel=1e-6)
    assert [x.rate for x in found] == pytest.approx([1e9, 2e9, 2e10], rel=1e-6)


def test_above_a_bend_bandwidth_and_half_size_are_those_of_long_messages():
    sizes = [0, *(4**i for i in range(12))]
    times = [1e-4 + m / 1e9 + max(m - 15_000, 0) / 12e6 for m in sizes]
    job = launched(times={("pingpong", 2, m): [t] * 3 for m, t in zip(sizes, times, strict=True)})
    found = {x.key: measured(x, job, target=0.05) for x in VALUES if x.bench == "pingpong"}
    assert found["network.latency"].value == pytest.approx(1e-4, rel=1e-4)
    assert found["network.bandwidth"].value == pytest.approx(11.86e6, rel=0.01)
    assert found["network.half_size"].value == pytest.approx(1186, rel=0.01)
    (note,) = notes([], [table(times, sizes)])
    assert "Ping-pong: times bend at about 16384 B" in note
    assert notes([], [table([1e-6 + m / 1e9 for m in sizes], sizes)]) == []


@pytest.mark.parametrize("value", VALUES, ids=lambda x: x.key)
def test_a_launch_that_was_cut_off_tells_no_value_rather_than_a_wrong_one(value):
    job = launched(value.part, times={("other", 2, 8): [1e-6]})
    assert measured(value, job, target=0.05) is None


# Host and notes


def test_clocks_that_disagree_are_told():
    start = Clocks(counter=0.0, monotonic=0.0, of_day=0.0)
    (told,) = clock_notes(start, Clocks(counter=100.0, monotonic=95.0, of_day=100.0))
    assert told.startswith("Two clocks of the machine disagree (100.000 s and 95.000 s passed):")
    (told,) = clock_notes(start, Clocks(counter=100.0, monotonic=100.0, of_day=-3500.0))
    assert told.startswith("The time of day was changed by -3600.000 s")
    assert clock_notes(start, Clocks(counter=-1.0, monotonic=0.0, of_day=0.0))
    assert clock_notes(Clocks.read(), Clocks.read()) == []


def test_the_cache_is_the_memory_that_is_left_or_allowed(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(calibrate_host, "MEMINFO", tmp_path / "meminfo")
    for limit, value in [(None, 1024_000), (5000, 5000), (2**40, 1024_000)]:
        monkeypatch.setattr(calibrate_host, "memory_limit", lambda limit=limit: limit)
        assert calibrate_host.page_cache().value == value


def launched(part="network", **facts):
    case = BenchmarkCase(part=part, module="", ranks=2, plan=BenchmarkPlan(sizes=(8,), budget=0.0))
    times = {("pingpong", 2, 8): [1e-6]}
    return BenchmarkJob(case=case, launches=[MeasuredLaunch(**({"times": times} | facts))])


def notes(jobs, tables=()):
    host = calibrate_host.host_of(
        load_before=0.0, mpi=None, library="", placement={2: "own"}, directory=""
    )
    course = SimpleNamespace(jobs=lambda: jobs, was_interrupted=False, was_out_of_time=False)
    return list(notes_of(course, [], tables, host, target=0.05))


def test_a_pingpong_of_another_mpi_is_told():
    other = launched(facts={"compiled_library": "MPICH 3\nmore", "library": "MPICH 3\nelse"})
    assert notes([other]) == []
    (told,) = notes([launched(facts={"compiled_library": "MPICH 3", "library": "Open MPI 5"})])
    assert "used MPICH 3, all other benchmarks Open MPI 5." in told


def test_what_makes_values_wrong_comes_before_what_widens_their_intervals():
    job = launched(refused={("pingpong", 2, 8): 3})
    wide = "90% intervals wider than +-5%: network.latency +-9%."
    first, second = by_rank([wide, *notes([job])])
    assert (first.rank, second) == (Rank.SERIOUS, wide)


def test_many_outliers_are_told_with_the_worst():
    sample = Sample(
        bytes=8,
        time=1e-6,
        p25=1e-6,
        lower=1e-6,
        upper=1e-6,
        cv=0.0,
        launches=5,
        repetitions=100,
        outliers=12,
        worst=31.4,
        settled=True,
        disturbed=7,
    )
    one = BenchmarkTable(bench="reduce", ranks=4, placement="own", method="", samples=(sample,))
    told, apart = notes([launched()], [one])
    assert apart.startswith("In 7% of all repetitions another program used a core of a rank.")
    assert told.startswith("12% of all repetitions were outliers, the slowest")
    assert "31.4 times the median (reduce, 4 ranks, 8 B)" in told
    alone = replace(one, bench="polynomial", ranks=1)
    assert "median (polynomial, 1 rank, order 8)" in notes([launched()], [alone])[0]


# This machine


def test_this_machine_is_measured(monkeypatch, tmp_path):
    try:
        find_mpi()
    except RunFailed as missing:  # the extra "mpi" is not installed
        pytest.skip(str(missing))
    tiny = {
        "processor": BenchmarkPlan(sizes=(1 << 16,), budget=0.0, fewest=1, most=1),
        "network": BenchmarkPlan(
            sizes=(0, 1, 65536, 131072, 262144), budget=0.0, fewest=2, most=2
        ),
        "primitives": BenchmarkPlan(sizes=(8, 1024), budget=0.0, fewest=2, most=2),
        "storage": BenchmarkPlan(sizes=(4096, 8192, 16384), budget=0.0, fewest=2),
    }
    monkeypatch.setattr(calibrate_cases, "QUICK", tiny)
    found = calibrate(quick=True, launches=1, time_limit=60, directory=tmp_path)
    assert {x.bench for x in found.tables} >= {"polynomial", "pingpong", "saturation", "write"}
    assert {x.bench for x in found.tables} >= set(PRIMITIVES)
    assert found["network.latency"].value > 0
    assert found.lost == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_settled_is_launched_no_more(fake, tmp_path):
    fake.noise = 0.001
    found = calibrate(only=("primitives", "processor"), directory=tmp_path)
    assert found.unsettled == ()
    assert fake.started == ["processor", "primitives, 2 ranks"] * 5
