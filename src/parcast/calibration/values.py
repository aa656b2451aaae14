"""Values of a machine file and tables over sizes, launch by launch, from what was launched.

- compute.rate: r_hat of ``r(f) = r_hat / (1 + f_half / f)`` over the orders f of POLY1 [1]_;
- network.latency: half the round trip of messages of up to 8 bytes, their median;
- network.bandwidth: r_inf of ``t = t0 + m / r_inf`` over the sizes from 1/64 of the largest on, of
  these those above a bend;
- network.half_size: ``n_half = t0 * r_inf`` of the line over all sizes (COMMS1 [1]_), with t0 of
  the shortest and r_inf of the longest where the line is in pieces;
- network.saturation: the highest rate of all ranks together, ``p*(p - 1)*m / t`` (COMMS3 [1]_),
  of several hosts that of the messages between them;
- storage: start-up and rate of the line over the sizes of requests of one writer; where requests
  were much faster than all the largest together, which a burst is, the rate of these if steady.

References
----------
.. [1] PARKBENCH Committee, "Public international benchmarks for parallel computers," Scientific
   Programming, vol. 3, no. 2, 1994.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import numpy as np

from parcast.benchmarking.processor import VECTOR
from parcast.benchmarking.records import MeasuredLaunch
from parcast.calibration.cases import BenchmarkJob, Part, placement_of
from parcast.calibration.host_links import leaving, told_apart
from parcast.calibration.lines import (
    estimate,
    fit_of_launch,
    outliers,
    sample_of,
)
from parcast.calibration.result import BenchmarkTable, Measured
from parcast.laws.primitives.message import LONG, fit_long_messages, fit_message, fit_messages
from parcast.units import Dimension

BURST: Final = 3.0  # times the rate of all requests, from which one is a burst's [1] [D]: 1.2 on
# a quiet disk; one request that takes ten times as long as eight others makes it 2
LONG_REQUEST: Final = 1 << 20  # whose rate tells that of a disk, as its startup is little [B] [D]
SHORT: Final = 8  # bytes: up to this size a message is one of latency [B]
Of = Callable[[MeasuredLaunch, str, int], float | None]  # of a benchmark among so many ranks [SI]


def values_of(jobs: Sequence[BenchmarkJob], *, target: float) -> Iterator[Measured]:
    """Every value that the launches tell, in the order of `VALUES`.

    Each is that of the job with the fewest ranks, a saturation of the most; of the ranks that have
    a core each, where some have. Messages between hosts take the place of those within one.
    """
    found: dict[str, Measured] = {}
    for value in VALUES:
        each = [x for job in jobs if (x := measured(value, job, target=target))]
        if each:
            own = [x for x in each if x.placement != "one"] or each[:1]
            found[value.key] = own[-1 if value.key == "network.saturation" else 0]
    facts = [launch.facts for job in jobs for launch in job.launches]
    hosts: Sequence[int] = max((x.get("ranks_of_hosts", ()) for x in facts), key=sum, default=())
    yield from told_apart(found, hosts)


def tables_of(job: BenchmarkJob, *, target: float) -> Iterator[BenchmarkTable]:
    """Tables of a job that was launched, one for each benchmark, in the order of measuring."""
    benches = dict.fromkeys(bench for launch in job.launches for bench, _, _ in launch.times)
    for bench in benches:
        if bench in OF_LAUNCH:
            continue
        sizes = sorted({size for x in job.launches for size in x.sizes(bench, job.case.ranks)})
        samples = []
        for size in sizes:
            cell = (bench, job.case.ranks, size)
            of = [x for x in job.launches if cell in x.times]
            times, disturbed = [x.times[cell] for x in of], [x.disturbed.get(cell, []) for x in of]
            samples.append(sample_of(size, times, disturbed, target=target))
        yield BenchmarkTable(
            bench=bench,
            ranks=job.case.ranks,
            placement=placement_of(job.case.ranks),
            method=_method(job, bench),
            samples=tuple(samples),
        )


@dataclass(frozen=True, slots=True)
class Value:
    """One value: what it is of, and how a launch tells it."""

    key: str
    dimension: Dimension
    part: Part
    bench: str  # that it rests on
    of: Of


def measured(value: Value, job: BenchmarkJob, *, target: float) -> Measured | None:
    """Value of a job over its launches; None if they do not determine it."""
    if job.case.part != value.part:
        return None
    of = [(value.of(launch, value.bench, job.case.ranks), launch) for launch in job.launches]
    known = [(number, launch) for number, launch in of if number is not None]
    if not known:
        return None
    result = estimate([number for number, _ in known])
    rests_on = [
        (times, launch.disturbed.get(cell, []))
        for _, launch in known
        for cell, times in launch.times.items()
        if cell[0] == value.bench
    ]
    stood_out = [outliers(*both) for both in rests_on]
    return Measured(
        key=value.key,
        value=result.value,
        dimension=value.dimension,
        lower=result.lower,
        upper=result.upper,
        launches=result.launches,
        repetitions=sum(len(times) + len(disturbed) for times, disturbed in rests_on),
        disturbed=sum(len(disturbed) for _, disturbed in rests_on),
        outliers=sum(count for count, _ in stood_out),
        worst=max((worst for _, worst in stood_out), default=1.0),
        cv=result.cv,
        method=_method(job, value.key),
        settled=result.is_within(target),
        ranks=job.case.ranks,
        placement=placement_of(job.case.ranks),
    )


def of_a_share(each: Measured, share: float) -> Measured:
    """Rate of a host of a testbed that has a share of a core; other values as they are.

    Processor time, which the rates of a processor are measured in, tells that of a whole core.
    """
    if each.key not in ("compute.rate", "compute.memory_bandwidth"):
        return each
    return replace(
        each,
        value=share * each.value,
        lower=share * each.lower,
        upper=share * each.upper,
        method=f"{each.method}, times {100 * share:.3g}% (the share of a core per host)",
    )


def _polynomial(launch: MeasuredLaunch) -> tuple[float, float] | None:
    """Give r_hat [flop/s] and f_half of the rates of all orders."""
    orders = np.array(launch.sizes("polynomial", 1), dtype=np.float64)
    if len(orders) < 2:
        return None
    times = np.array([median(launch.times["polynomial", 1, int(f)]) for f in orders])
    rates = 2 * orders * VECTOR / times
    # 1/r = a + b/f, with relative residuals
    terms = np.stack([rates, rates / orders], axis=1)
    (a, b), *_ = np.linalg.lstsq(terms, np.ones(len(orders)), rcond=None)
    if a <= 0:
        return None
    return 1.0 / float(a), max(float(b / a), 0.0)


def _peak_rate(launch: MeasuredLaunch, *_: object) -> float | None:
    """Give r_hat. [flop/s]."""
    fit = _polynomial(launch)
    return None if fit is None else fit[0]


def _half_intensity(launch: MeasuredLaunch, *_: object) -> float | None:
    """Give f_half. [1]."""
    fit = _polynomial(launch)
    return None if fit is None else fit[1]


def _time(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give the median time of a benchmark of one size. [s]."""
    sizes = launch.sizes(bench, ranks)
    return median(launch.times[bench, ranks, sizes[0]]) if sizes else None


def _rate(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give the rate of a benchmark of one size. [B/s]."""
    time = _time(launch, bench, ranks)
    return launch.sizes(bench, ranks)[0] / time if time is not None else None


def _call_cost(launch: MeasuredLaunch, *_: object) -> float | None:
    """Give what one call of MPI from Python takes. [s]."""
    return launch.facts.get("call")


def _latency(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give the median time of short messages. [s]."""
    sizes = [size for size in launch.sizes(bench, ranks) if size <= SHORT]
    return median(median(launch.times[bench, ranks, x]) for x in sizes) if sizes else None


def _line_rate(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give r_inf of the long sizes. [B/s]."""
    fit = fit_of_launch(fit_long_messages, launch, bench, ranks)
    return 1.0 / fit.byte if fit is not None and fit.byte > 0 else None


def sustained_rate(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give r_inf of the long requests; where a burst spoils it, the rate of all the largest.

    None where these are no steady ones either, and where none was long. [B/s].
    """
    sizes = launch.sizes(bench, ranks)
    if not sizes:
        return None
    line, (of_all, fastest) = _line_rate(launch, bench, ranks), _largest(launch, bench, ranks)
    if line is not None and line <= BURST * of_all:
        return line
    return of_all if fastest <= BURST * of_all and sizes[-1] >= LONG_REQUEST else None


def burst_of(launch: MeasuredLaunch, bench: str, ranks: int) -> tuple[float, float] | None:
    """Give the rates of the fastest of the largest requests and of all, if not sustained [B/s]."""
    if not launch.sizes(bench, ranks) or sustained_rate(launch, bench, ranks) is not None:
        return None
    of_all, fastest = _largest(launch, bench, ranks)
    return (fastest, of_all) if fastest > BURST * of_all else None


def _largest(launch: MeasuredLaunch, bench: str, ranks: int) -> tuple[float, float]:
    """Give the rate of all the largest requests together, and of the fastest of them. [B/s]."""
    size = launch.sizes(bench, ranks)[-1]
    times = launch.times[bench, ranks, size]
    return len(times) * size / sum(times), size / min(times)


def _line_startup(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give t0 of the line over all sizes, None where none is short. [s]."""
    fit = fit_of_launch(fit_message, launch, bench, ranks)
    sizes = launch.sizes(bench, ranks)
    return fit.startup if fit is not None and sizes[0] * LONG <= sizes[-1] else None


def _half_size(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give n_half of the startup of short sizes and the rate of long ones. [B]."""
    fit = fit_of_launch(fit_messages, launch, bench, ranks)
    return fit.startup / fit.byte if fit is not None and fit.byte > 0 else None


def _highest_rate(launch: MeasuredLaunch, bench: str, ranks: int) -> float | None:
    """Give the highest rate of all messages that are sent in a time. [B/s]."""
    hosts = launch.facts.get("ranks_of_hosts", (1,) * ranks)
    messages = {"stream": 1, "bidirectional": 2, "saturation": leaving(hosts)}[bench]
    times = {size: launch.times[bench, ranks, size] for size in launch.sizes(bench, ranks)}
    return max((messages * size / median(x) for size, x in times.items()), default=None)


VALUES: Final = (
    Value("compute.rate", "operation_rate", "processor", "polynomial", _peak_rate),
    Value("compute.half_intensity", "count", "processor", "polynomial", _half_intensity),
    Value("compute.memory_bandwidth", "rate", "processor", "triad", _rate),
    Value("node.memory_bandwidth", "rate", "processor", "shared_triad", _rate),
    Value("timer.cost", "time", "processor", "timer", _time),
    Value("timer.resolution", "time", "processor", "timer_step", _time),
    Value("network.latency", "time", "network", "pingpong", _latency),
    Value("network.bandwidth", "rate", "network", "pingpong", _line_rate),
    Value("network.half_size", "size", "network", "pingpong", _half_size),
    Value("network.latency", "time", "network", "far_pingpong", _latency),
    Value("network.bandwidth", "rate", "network", "far_pingpong", _line_rate),
    Value("network.half_size", "size", "network", "far_pingpong", _half_size),
    Value("node.message_bandwidth", "rate", "network", "near_pingpong", _line_rate),
    Value("node.network_bandwidth", "rate", "network", "link", _line_rate),
    Value("network.one_directional", "rate", "network", "stream", _highest_rate),
    Value("network.bidirectional", "rate", "network", "bidirectional", _highest_rate),
    Value("timer.mpi_call", "time", "network", "bidirectional", _call_cost),
    Value("network.saturation", "rate", "network", "saturation", _highest_rate),
    Value("storage.bandwidth", "rate", "storage", "write", sustained_rate),
    Value("storage.latency", "time", "storage", "write", _line_startup),
    Value("storage.read_bandwidth", "rate", "storage", "read", sustained_rate),
    Value("storage.cache_bandwidth", "rate", "storage", "cached_read", _line_rate),
)

OF_LAUNCH: Final = frozenset(
    {"timer", "timer_step", "triad", "shared_triad"}
)  # single numbers, not tables
_CALL: Final = "slowest rank, after a barrier, less the overhead of Python; {}"
METHODS: Final = {
    "compute.rate": "POLY1: r_hat over orders 1 to 10, NumPy on 10 000 elements in cache, "
    "thread time",
    "compute.half_intensity": "POLY1: order at which half of r_hat is reached",
    "compute.memory_bandwidth": "triad on data larger than the cache, NumPy in two passes, 40 B "
    "per element, thread time; STREAM, one pass of 24 B, reports about 0.9 times this",
    "node.message_bandwidth": "r_inf of a ping-pong of two ranks of a host; {}",
    "node.network_bandwidth": "r_inf of exchanges of all ranks of two hosts, bytes one way",
    "node.memory_bandwidth": "triad on all cores at once, NumPy in two passes, 40 B per element, "
    "by one of them, thread time; STREAM, one pass of 24 B, reports about 0.9 times this",
    "timer.cost": "one call of the clock that times are measured with",
    "timer.resolution": "smallest step of that clock",
    "network.latency": "COMMS1: half the round trip of messages of up to 8 B; {}",
    "network.bandwidth": "COMMS1: r_inf of t = t0 + m/r_inf from 64 KiB to 4 MiB; {}",
    "network.half_size": "COMMS1: n_half = t0*r_inf of the line over all sizes; {}",
    "network.one_directional": "highest rate of a stream of messages one way, "
    "windows of up to 64; {}",
    "network.bidirectional": "COMMS2: highest rate of both directions together",
    "timer.mpi_call": "overhead of one MPI call from Python (a Send to MPI_PROC_NULL)",
    "network.saturation": "COMMS3: highest rate of all messages from every rank to every other",
    "storage.bandwidth": "rate of t = t0 + m/rate, requests written with fsync by one writer",
    "storage.latency": "t0 of t = t0 + m/rate, requests written with fsync by one writer",
    "storage.read_bandwidth": "rate of t = t0 + m/rate, requests read by one reader, bypassing "
    "the page cache: {}",
    "storage.cache_bandwidth": "rate of t = t0 + m/rate, "
    "requests read by one reader from the page cache",
    "polynomial": "POLY1: a polynomial of this order over 10 000 elements, by NumPy, thread time",
    "pingpong": "COMMS1: half a round trip; {}",
    "near_pingpong": "half a round trip of two ranks of a host; {}",
    "far_pingpong": "half a round trip of two ranks of different hosts; {}",
    "link": "all ranks of a host and of another send to each other at once, bytes one way",
    "stream": "one-way messages in windows of up to 64, each window answered, time per message; "
    "{}",
    "bidirectional": "COMMS2: both ranks send at the same time, until both have received "
    "everything",
    "saturation": "COMMS3: each rank sends this size to every other, until all have received "
    "everything",
    "send": _CALL.format("each rank of the lower half sends to one of the upper half"),
    "receive": _CALL.format("each rank of the upper half receives from one of the lower half"),
    "broadcast": _CALL.format("size of the message"),
    "reduce": _CALL.format("size of the vector of each rank"),
    "allreduce": _CALL.format("size of the vector of each rank"),
    "gather": _CALL.format("size of the part of each rank"),
    "scatter": _CALL.format("size of the part of each rank"),
    "allgather": _CALL.format("size of the part of each rank"),
    "alltoall": _CALL.format("size of the part from each rank to each other"),
    "barrier": _CALL.format("one barrier"),
    "write": "a request appended and fsync, each rank to its own file",
    "read": "the same requests read bypassing the page cache: {}",
    "cached_read": "the same requests read from the page cache",
}
COMPILED: Final = "C program"
BY_PYTHON: Final = "persistent requests from Python, a ping-pong less one start and one wait"


def _method(job: BenchmarkJob, name: str) -> str:
    """Say what one time of a table is the time of, or how a value is found."""
    if job.case.part == "network":
        how = COMPILED if job.case.program is not None else BY_PYTHON
    else:
        ways = (launch.facts.get("read") for launch in job.launches)
        how = next((way for way in ways if way), "by the means of the system")
    return METHODS[name].format(how)
