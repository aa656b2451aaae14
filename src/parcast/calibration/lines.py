"""What several launches say together: medians with intervals, and straight lines over sizes.

Repetitions inside a launch agree with one another much better than launches do, since what differs
between launches, where a process lies in memory and what else runs, is the same for all of them.
So an interval is over launches, of which each gives the median of its repetitions, without those
in which another program had the core. Such ones are counted as repetitions and as outliers.

From five launches on it is the exact one for a median: between two order statistics, whatever the
distribution [1]_. Of fewer the 90% interval of Student's t on logarithms is taken [D]. A line is
fitted in each launch, too; where the protocol switches, it is cut into pieces over the medians.

References
----------
.. [1] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed. Wiley, 2003, section 7.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, nan
from statistics import fmean, median, stdev
from typing import Final, TypeVar

import numpy as np

from parcast.benchmarking.records import MeasuredLaunch
from parcast.calibration.result import BenchmarkTable, Line, Sample, Segment
from parcast.laws.primitives.message import fit_message, fit_messages
from parcast.trials.precision import FEWEST, half_width, interval_of

Fit = TypeVar("Fit")

DEVIATIONS: Final = 5.0  # median absolute deviations above the median, from which it is an outlier
LEAST_EXCESS: Final = 0.1  # of the median, which an outlier exceeds it by at least [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """Median of launches with its 90% interval; made by `estimate`."""

    value: float
    lower: float  # NaN of a single launch
    upper: float
    cv: float  # standard deviation over mean [1]
    launches: int

    def is_within(self, target: float) -> bool:
        """Whether no end of the interval is farther off than `target` times the value."""
        if self.value == 0.0:
            return self.lower == self.upper == 0.0
        return max(self.upper - self.value, self.value - self.lower) <= target * self.value


NOTHING: Final = Estimate(value=0.0, lower=0.0, upper=0.0, cv=nan, launches=0)


def estimate(values: Sequence[float]) -> Estimate:
    """Median of the values of launches, at least one, and its 90% interval."""
    ordered = sorted(values)
    middle, count = median(ordered), len(ordered)
    lower, upper, cv = nan, nan, nan
    if count > 1:
        lower, upper = interval_of(ordered)
        mean = fmean(ordered)
        cv = stdev(ordered) / mean if 0 < mean < inf else nan
        if count < FEWEST and ordered[0] > 0 and isfinite(ordered[-1]):
            logarithms = [log(x) for x in ordered]
            half = half_width(logarithms)
            lower = min(exp(fmean(logarithms) - half), middle)
            upper = max(exp(fmean(logarithms) + half), middle)
    return Estimate(value=middle, lower=lower, upper=upper, cv=cv, launches=count)


def outliers(times: Sequence[float], disturbed: Sequence[float] = ()) -> tuple[int, float]:
    """Number of repetitions far above the others, and the slowest of all over the median. [1].

    `disturbed` are those that were kept out of the median, which count as others do.
    """
    given = np.asarray(times, dtype=np.float64)
    middle = float(np.median(given))
    deviation = float(np.median(np.abs(given - middle)))
    limit = middle + max(DEVIATIONS * deviation, LEAST_EXCESS * middle)
    given = np.append(given, disturbed)
    return int((given > limit).sum()), round(float(given.max()) / middle, 3)


def sample_of(
    size: int,
    launches: Sequence[Sequence[float]],
    disturbed: Sequence[Sequence[float]],
    *,
    target: float,
) -> Sample:
    """Time of one size [B], of repetitions [s] of each launch and of those kept out of medians."""
    result = estimate([median(times) for times in launches])
    stood_out = [outliers(*both) for both in zip(launches, disturbed, strict=True)]
    return Sample(
        bytes=size,
        time=result.value,
        p25=median(float(np.percentile(times, 25)) for times in launches),
        lower=result.lower,
        upper=result.upper,
        cv=result.cv,
        launches=result.launches,
        repetitions=sum(map(len, launches)) + sum(map(len, disturbed)),
        disturbed=sum(map(len, disturbed)),
        outliers=sum(count for count, _ in stood_out),
        worst=max(worst for _, worst in stood_out),
        settled=result.is_within(target),
    )


def fit_of_launch(
    fit: Callable[[list[int], list[float]], Fit], launch: MeasuredLaunch, bench: str, ranks: int
) -> Fit | None:
    """Fit the median times [s] of a benchmark over its sizes [B]; None where these are too few."""
    sizes = launch.sizes(bench, ranks)
    times = [median(launch.times[bench, ranks, size]) for size in sizes]
    return fit(sizes, times) if len(sizes) > 1 else None


def line_of(table: BenchmarkTable, launches: Sequence[MeasuredLaunch]) -> Line | None:
    """Line of a benchmark: medians of the lines of its launches, and what error it has.

    A table of a single size, such as of a barrier, has no rate. None where the table has more
    sizes but no launch has two.
    """
    name, ranks = table.bench, table.ranks
    if len(table.samples) == 1:
        (only,) = table.samples
        start = replace(NOTHING, value=only.time, lower=only.lower, upper=only.upper)
        byte, segments = NOTHING, [Segment(first=only.bytes, startup=only.time, rate=inf)]
    else:
        fits = [x for x in (fit_of_launch(fit_message, y, name, ranks) for y in launches) if x]
        if not fits:
            return None
        start = estimate([fit.startup for fit in fits])
        byte, segments = estimate([fit.byte for fit in fits]), [*segments_of(table)]
    times = start.value + byte.value * table.bytes
    return Line(
        bench=name,
        ranks=ranks,
        placement=table.placement,
        startup=start.value,
        startup_lower=start.lower,
        startup_upper=start.upper,
        rate=_inverse(byte.value),
        rate_lower=_inverse(byte.upper),
        rate_upper=_inverse(byte.lower),
        error=float(np.mean(np.abs(times / table.time - 1))),
        segments=tuple(segments),
        method=f"t = t0 + m/r_inf over {len(table.samples)} sizes in each launch; {table.method}",
    )


def segments_of(table: BenchmarkTable) -> tuple[Segment, ...]:
    """Lines of a table of two sizes or more, cut where two fit much better than one."""
    return tuple(
        Segment(first=int(piece.first), startup=piece.startup, rate=_inverse(piece.byte))
        for piece in fit_messages(table.bytes, table.time).pieces
    )


def _inverse(value: float) -> float:
    """Give 1 over a value; infinite of 0, NaN of NaN."""
    return inf if value == 0.0 else 1.0 / value
