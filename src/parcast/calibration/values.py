"""Values of a machine file, launch by launch, from what the jobs measured.

- compute.rate: r_hat of ``r(f) = r_hat / (1 + f_half / f)`` over the orders f of POLY1 [1]_;
- network.latency: half the round trip of messages of up to 8 bytes, their median;
- network.bandwidth: r_inf of ``t = t0 + m / r_inf`` over the sizes from 1/64 of the largest on;
- network.half_size: ``n_half = t0 * r_inf`` of the line over all sizes (COMMS1 [1]_);
- network.saturation: the highest rate of all ranks together, ``p*(p - 1)*m / t`` (COMMS3 [1]_);
- storage: start-up and rate of the line over the sizes of requests of one writer.

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
from parcast.benchmarking.records import Launch
from parcast.calibration.jobs import Job, Part, placement_of
from parcast.calibration.lines import estimate, fit_of_launch, outliers
from parcast.calibration.notes import BY_PYTHON, COMPILED
from parcast.calibration.result import Measured
from parcast.units import Dimension

SHORT: Final = 8  # bytes: up to this size a message is one of latency [B]
Of = Callable[[Launch, int], float | None]  # value of a launch among so many ranks [SI]


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """One value: what it is of, and how a launch tells it."""

    key: str
    dimension: Dimension
    part: Part
    bench: str  # that it rests on
    of: Of
    method: str
    fewest_ranks: int = 1


def _polynomial(launch: Launch) -> tuple[float, float] | None:
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


def _rate_of_polynomial(launch: Launch, _: int) -> float | None:
    found = _polynomial(launch)
    return None if found is None else found[0]


def _half_intensity(launch: Launch, _: int) -> float | None:
    found = _polynomial(launch)
    return None if found is None else found[1]


def _median_of(bench: str) -> Of:
    """Give the median of a benchmark of one size."""

    def of(launch: Launch, ranks: int) -> float | None:
        sizes = launch.sizes(bench, ranks)
        return median(launch.times[bench, ranks, sizes[0]]) if sizes else None

    return of


def _memory_rate(launch: Launch, ranks: int) -> float | None:
    sizes = launch.sizes("triad", ranks)
    return sizes[0] / median(launch.times["triad", ranks, sizes[0]]) if sizes else None


def _fact(name: str) -> Of:
    """Give a fact that is a number."""

    def of(launch: Launch, _: int) -> float | None:
        return launch.facts.get(name)

    return of


def _latency(launch: Launch, ranks: int) -> float | None:
    sizes = [size for size in launch.sizes("pingpong", ranks) if size <= SHORT]
    if not sizes:
        return None
    return median(median(launch.times["pingpong", ranks, size]) for size in sizes)


def _line_rate(bench: str) -> Of:
    """Give r_inf of the long sizes."""

    def of(launch: Launch, ranks: int) -> float | None:
        fit = fit_of_launch(launch, bench, ranks, long_only=True)
        return 1.0 / fit.byte if fit is not None and fit.byte > 0 else None

    return of


def _line_startup(bench: str) -> Of:
    """Give t0 of the line over all sizes."""

    def of(launch: Launch, ranks: int) -> float | None:
        fit = fit_of_launch(launch, bench, ranks)
        return fit.startup if fit is not None else None

    return of


def _half_size(launch: Launch, ranks: int) -> float | None:
    fit = fit_of_launch(launch, "pingpong", ranks)
    return fit.startup / fit.byte if fit is not None and fit.byte > 0 else None


def _highest(bench: str, messages: Callable[[int], int]) -> Of:
    """Give the highest rate of a benchmark, in which so many messages are sent in a time."""

    def of(launch: Launch, ranks: int) -> float | None:
        return max(
            (
                messages(ranks) * size / median(launch.times[bench, ranks, size])
                for size in launch.sizes(bench, ranks)
            ),
            default=None,
        )

    return of


VALUES: Final = (
    Value(
        key="compute.rate",
        dimension="operation_rate",
        part="processor",
        bench="polynomial",
        of=_rate_of_polynomial,
        method="POLY1: r_hat over orders 1 to 10, NumPy on 10 000 elements in cache, thread time",
    ),
    Value(
        key="compute.half_intensity",
        dimension="count",
        part="processor",
        bench="polynomial",
        of=_half_intensity,
        method="POLY1: order at which half of r_hat is reached",
    ),
    Value(
        key="compute.memory_bandwidth",
        dimension="rate",
        part="processor",
        bench="triad",
        of=_memory_rate,
        method="STREAM triad out of cache, NumPy in two passes, 40 B an element, thread time",
    ),
    Value(
        key="timer.cost",
        dimension="time",
        part="processor",
        bench="timer",
        of=_median_of("timer"),
        method="one call of the clock that times are measured with",
    ),
    Value(
        key="timer.resolution",
        dimension="time",
        part="processor",
        bench="timer_step",
        of=_median_of("timer_step"),
        method="least step of that clock",
    ),
    Value(
        key="network.latency",
        dimension="time",
        part="network",
        bench="pingpong",
        of=_latency,
        method="COMMS1: half the round trip of messages of up to 8 B; {}",
        fewest_ranks=2,
    ),
    Value(
        key="network.bandwidth",
        dimension="rate",
        part="network",
        bench="pingpong",
        of=_line_rate("pingpong"),
        method="COMMS1: r_inf of t = t0 + m/r_inf from 64 KiB to 4 MiB; {}",
        fewest_ranks=2,
    ),
    Value(
        key="network.half_size",
        dimension="size",
        part="network",
        bench="pingpong",
        of=_half_size,
        method="COMMS1: n_half = t0*r_inf of one line over all sizes; {}",
        fewest_ranks=2,
    ),
    Value(
        key="network.one_directional",
        dimension="rate",
        part="network",
        bench="stream",
        of=_highest("stream", lambda _: 1),
        method="highest rate of a stream of messages one way, windows of up to 64; {}",
        fewest_ranks=2,
    ),
    Value(
        key="network.bidirectional",
        dimension="rate",
        part="network",
        bench="bidirectional",
        of=_highest("bidirectional", lambda _: 2),
        method="COMMS2: highest rate of both directions together",
        fewest_ranks=2,
    ),
    Value(
        key="timer.mpi_call",
        dimension="time",
        part="network",
        bench="bidirectional",
        of=_fact("call"),
        method="one Send from Python to nobody: what each call costs a program in Python besides",
        fewest_ranks=2,
    ),
    Value(
        key="network.saturation",
        dimension="rate",
        part="network",
        bench="saturation",
        of=_highest("saturation", lambda p: p * (p - 1)),
        method="COMMS3: highest rate of all messages from every rank to every other",
        fewest_ranks=2,
    ),
    Value(
        key="storage.bandwidth",
        dimension="rate",
        part="storage",
        bench="write",
        of=_line_rate("write"),
        method="rate of t = t0 + m/rate, requests written with fsync by one writer",
    ),
    Value(
        key="storage.latency",
        dimension="time",
        part="storage",
        bench="write",
        of=_line_startup("write"),
        method="t0 of t = t0 + m/rate, requests written with fsync by one writer",
    ),
    Value(
        key="storage.read_bandwidth",
        dimension="rate",
        part="storage",
        bench="read",
        of=_line_rate("read"),
        method="rate of t = t0 + m/rate, requests read by one reader past the page cache, {}",
    ),
    Value(
        key="storage.cache_bandwidth",
        dimension="rate",
        part="storage",
        bench="cached_read",
        of=_line_rate("cached_read"),
        method="rate of t = t0 + m/rate, requests read by one reader from the page cache",
    ),
)


def values_of(jobs: Sequence[Job], *, target: float) -> Iterator[Measured]:
    """Give every value that the launches tell, in the order of `VALUES`.

    Parameters
    ----------
    jobs : sequence of Job
        As launched.
    target : float
        Half-width of an interval over its value at which it is settled. [1]

    Yields
    ------
    Measured
        That of the job with the most ranks that have a core each; where none has, of the fewest.
    """
    for value in VALUES:
        of = [(job, found) for job in jobs if (found := measured(value, job, target=target))]
        if of:
            own = [x for x in of if x[1].placement != "one"]
            yield _chosen(value, own or of[:1])


def of_a_share(each: Measured, share: float) -> Measured:
    """Rate that a host of a testbed has, of which processor time tells that of a whole core.

    Parameters
    ----------
    each : Measured
        Others than the rates of the processor are given back as they are.
    share : float
        Of a core that a host has. [1]

    Returns
    -------
    Measured
    """
    if each.key not in ("compute.rate", "compute.memory_bandwidth"):
        return each
    return replace(
        each,
        value=share * each.value,
        lower=share * each.lower,
        upper=share * each.upper,
        method=f"{each.method}, times {100 * share:.3g}%, the share of a core that a host has",
    )


def _chosen(value: Value, of: Sequence[tuple[Job, Measured]]) -> Measured:
    """Take the most ranks of a saturation, else the fewest."""
    return of[-1][1] if value.key == "network.saturation" else of[0][1]


def measured(value: Value, job: Job, *, target: float) -> Measured | None:
    """Value of a job over its launches; None where they do not tell it."""
    if job.part != value.part or job.ranks < value.fewest_ranks:
        return None
    told = [(x, found) for x in job.launches if (found := value.of(x, job.ranks)) is not None]
    if not told:
        return None
    result = estimate([found for _, found in told])
    rests_on = [
        (times, launch.disturbed.get(cell, []))
        for launch, _ in told
        for cell, times in launch.times.items()
        if cell[0] == value.bench
    ]
    stood_out = [outliers(*both) for both in rests_on]
    how = COMPILED if job.program is not None else BY_PYTHON
    if value.part == "storage":
        how = str(told[0][0].facts.get("read", ""))
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
        method=value.method.format(how),
        settled=result.is_within(target),
        ranks=job.ranks,
        placement=placement_of(job.ranks),
    )
