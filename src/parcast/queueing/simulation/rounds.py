"""Replications of a simulation in chunks, until their means are known, on any executor.

The size of a chunk and its random numbers follow from its place alone, and results are used in
order, so that they do not depend on where and when chunks are run.

Means have 90% intervals, whose half width is Student's: t(0.95, n-1) s/sqrt(n) for n independent
samples of deviation s. Moments are merged as in [2]_, so that samples need not be kept.

The warm-up is found by the rule MSER-5 [3]_: the series, averaged over replications as Welch
does ([1]_, section 9.5.1), is grouped by five, and the beginning is dropped whose loss makes the
standard error of the rest smallest. A warm-up of half the series is no answer: run longer.

References
----------
.. [1] A. M. Law and W. D. Kelton, Simulation Modeling and Analysis, 3rd ed., McGraw-Hill, 2000.
.. [2] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance,"
   Am. Stat., vol. 37, no. 3, 1983, pp. 242-247, :doi:`10.1080/00031305.1983.10483115`.
.. [3] K. P. White, "An effective truncation heuristic for bias reduction in simulation output,"
   Simulation, vol. 69, no. 6, 1997, pp. 323-334, :doi:`10.1177/003754979706900601`.
"""

import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import whole

LEVEL = 0.90
GROUP = 5  # of the rule MSER-5
MOST_CYCLES = 10**7
PENDING = 32  # chunks submitted and not yet used
GROWTH = (1.25, 4.0)  # of the replications, from round to round
MARGIN = 1.1  # in the replications that a precision is expected to take

Chunk: TypeAlias = Callable[[int, np.random.SeedSequence], Array]
Ended: TypeAlias = Literal["replications", "precision", "most_cycles", "most_seconds"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanEstimate:
    """A mean and how far it may be off; of times in seconds, of fractions in 1."""

    value: float
    half_width: float  # of the 90% interval
    deviation: float  # standard deviation of one sample
    samples: int  # [1]

    @property
    def low(self) -> float:
        """Lower end of the 90% interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the 90% interval."""
        return self.value + self.half_width


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Count, means and sums of squared deviations of samples of several quantities."""

    samples: int
    mean: Array  # shape (quantities,)
    squares: Array  # shape (quantities,)

    def estimate(self, index: int) -> MeanEstimate:
        """Estimate of the quantity at `index`; of one sample the half width is infinite."""
        n, free = self.samples, self.samples - 1
        deviation = float(np.sqrt(self.squares[index] / free)) if free else np.inf
        t = float(special.stdtrit(free, 0.5 + 0.5 * LEVEL)) if free else 1.0
        return MeanEstimate(
            value=float(self.mean[index]),
            half_width=t * deviation / float(np.sqrt(n)),
            deviation=deviation,
            samples=n,
        )

    def estimates(self, *names: str) -> dict[str, MeanEstimate]:
        """Estimates of the first quantities, by the names that are given to them."""
        return {name: self.estimate(index) for index, name in enumerate(names)}


def moments(samples: Array) -> Moments:
    """Moments of samples, shape (samples, quantities)."""
    mean = samples.mean(axis=0)
    return Moments(samples=len(samples), mean=mean, squares=np.square(samples - mean).sum(axis=0))


def merged(a: Moments, b: Moments) -> Moments:
    """Moments of the samples of both."""
    n = a.samples + b.samples
    step = b.mean - a.mean
    return Moments(
        samples=n,
        mean=a.mean + step * (b.samples / n),
        squares=a.squares + b.squares + np.square(step) * (a.samples * b.samples / n),
    )


def warm_up(series: Array) -> tuple[int, bool]:
    """How many of at least 2 successive values to drop, and whether less than half were enough."""
    group = GROUP if series.size >= 4 * GROUP else 1
    whole = series[: series.size // group * group].reshape(-1, group).mean(axis=1)
    most = whole.size // 2
    errors = [float(whole[drop:].var()) / (whole.size - drop) for drop in range(most + 1)]
    drop = int(np.argmin(errors))
    return drop * group, drop < most


class SimulationLimits(TypedDict, total=False):
    """Options that every simulation takes."""

    precision: float | None  # go on until the first mean's half width is below this part of it
    most_cycles: int  # with a `precision`, at most about that many are simulated; else 10 million
    most_seconds: float | None  # no further chunk is used then; results depend on the machine [s]
    seed: int  # of the random numbers; else 0
    executor: Executor | None  # where chunks are run; else here
    progress: Callable[[float], object] | None  # called with the share done, as now expected [1]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to simulate, and where: `replications` at first, then as `SimulationLimits` say."""

    replications: int
    cycles: int  # of one replication
    precision: float | None = None
    most_cycles: int = MOST_CYCLES
    most_seconds: float | None = None
    seed: int = 0
    executor: Executor | None = None
    progress: Callable[[float], object] | None = None

    def __post_init__(self) -> None:
        for name in ("precision", "most_seconds"):
            value: ArrayLike | None = getattr(self, name)
            if value is not None:
                number = np.asarray(value, dtype=np.float64)
                require(name, number, number > 0, must="be above 0", hint="Leave it out for none.")
        whole("most_cycles", self.most_cycles, 1, hint="Give the largest number of cycles.")
        whole("seed", self.seed, 0, hint="Use any such number.")


def sampled_means(
    chunk: Chunk,
    reduced: Callable[[Array], Array],
    most_rows: int,
    effort: Effort,
) -> tuple[Moments, Ended]:
    """Moments of the samples of enough replications, and what ended them."""
    root = np.random.SeedSequence(int(effort.seed))
    most = max(effort.replications, effort.most_cycles // effort.cycles)
    began = time.monotonic()
    sampled: Moments | None = None
    done, target = 0, int(effort.replications)
    expected = float(target)
    while True:
        results = _results(chunk, _sizes(target - done, most_rows), root, effort.executor)
        for rows, samples in results:
            new = moments(reduced(samples))
            sampled = new if sampled is None else merged(sampled, new)
            done += rows
            if effort.progress is not None:
                effort.progress(done / expected)
            late = effort.most_seconds is not None
            late = late and time.monotonic() - began > (effort.most_seconds or 0.0)
            if late and sampled.samples > 1:
                results.close()
                return sampled, "most_seconds"
        assert sampled is not None
        if effort.precision is None:
            return sampled, "replications"
        cycle = sampled.estimate(0)
        ratio = cycle.half_width / (effort.precision * cycle.value)
        if ratio <= 1:
            return sampled, "precision"
        if done >= most:
            return sampled, "most_cycles"
        growth = float(np.clip(MARGIN * ratio * ratio, *GROWTH))
        target = min(int(np.ceil(done * growth)), most)
        expected = max(target, min(MARGIN * ratio * ratio * done, most))


def _sizes(replications: int, most_rows: int) -> list[int]:
    full, rest = divmod(replications, most_rows)
    return [most_rows] * full + [rest] * (rest > 0)


def _results(
    chunk: Chunk,
    sizes: list[int],
    root: np.random.SeedSequence,
    executor: Executor | None,
) -> Generator[tuple[int, Array], None, None]:
    """Replications and samples of each chunk, in order, a bounded number of them at a time."""
    if executor is None:
        for rows in sizes:
            yield rows, chunk(rows, root.spawn(1)[0])
        return
    pending: deque[tuple[int, Future[Array]]] = deque()
    try:
        for rows in sizes:
            if len(pending) == PENDING:
                first, future = pending.popleft()
                yield first, future.result()
            pending.append((rows, executor.submit(chunk, rows, root.spawn(1)[0])))
        while pending:
            first, future = pending.popleft()
            yield first, future.result()
    finally:
        for _, future in pending:
            future.cancel()
