"""`check_traffic`: from the messages of a trace to the delay formula that they support.

Its 90% intervals are of means and variances of a sequence whose values may depend on each other:
blocks of consecutive values are drawn again, so long that what depends on each other stays
together; the length follows from the correlations [1]_, [2]_. Of independent values it is 1.

References
----------
.. [1] D. N. Politis and H. White, "Automatic block-length selection for the dependent bootstrap,"
   Econometric Reviews, vol. 23, no. 1, pp. 53-70, 2004, :doi:`10.1081/ETC-120028836`.
.. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length selection for
   the dependent bootstrap'," Econometric Reviews, vol. 28, no. 4, pp. 372-375, 2009,
   :doi:`10.1080/07474930802459016`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import cbrt, ceil, log10, sqrt
from os import PathLike
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.pipeline.traces.trace import Trace, as_trace
from parcast.pipeline.traces.traffic.channel import (
    FreeChannel,
    Messages,
    channel_of,
    messages_of,
    queue_delays,
)
from parcast.pipeline.traces.traffic.conditions import VIOLATIONS, Condition, conditions_of
from parcast.pipeline.traces.traffic.result import (
    FORMULAS,
    MEASURED,
    QUEUE,
    MeanDelay,
    Occurrences,
    Quantity,
    Successive,
    TrafficCheck,
)
from parcast.queueing.open import mg1
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity
from parcast.words import rounded

FEWEST: Final = 30  # messages from which anything can be decided
FEW: Final = 200  # below it, deviations of a moderate size go unnoticed
NEARLY_EQUAL: Final = 0.05  # cv^2 of lengths up to which equal lengths give 5% of the wait
CONFLICT: Final = 2.0  # ratio of measured to queued delays from which the queue is not the story


def check_traffic(
    trace: Trace | str | PathLike[str],
    *,
    capacity: float | None = None,
    latency: float | None = None,
    seed: int = 0,
) -> TrafficCheck:
    """Test which formula for the delay of messages a traced run supports.

    Parameters
    ----------
    trace : Trace or path
        Of a run, as `run_pipeline` writes it with `trace`.
    capacity : float, default: estimated from the fastest messages
        Of the channel, above 0. [B/s]
    latency : float, default: that of the fastest messages
        Of a message without length, at least 0. [s]
    seed : int
        Of the random numbers for p-values and intervals: the same gives the same result.

    Returns
    -------
    TrafficCheck
        `formula` is "mm1", "md1" or "mg1" where no condition that it needs is violated, "none",
        or with fewer than 30 messages "undecided".

    Raises
    ------
    ParameterError
        If `trace` is no trace, or an argument lies outside its domain.
    FileProblems
        If the file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> check = parcast.check_traffic("examples/pipeline/poisson.jsonl.gz")
    >>> check.formula
    'mm1'
    """
    trace = as_trace(trace)
    for name, value, least in (("capacity", capacity, 1e-300), ("latency", latency, 0.0)):
        if value is not None:
            must = "be above 0" if least else "be at least 0"
            hint = "Give it in bytes per second." if least else "Give it in seconds."
            require(name, value, np.isfinite(value) and value >= least, must=must, hint=hint)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError("seed", must="be a whole number of at least 0", got=repr(seed))
    messages = messages_of(trace)
    is_enough = len(messages) >= FEWEST and float(messages.gaps.sum()) > 0
    facts = _Facts.of(messages, capacity, latency, np.random.default_rng(seed), is_enough)
    formula, reason = _verdict(facts) if is_enough else _undecided(messages)
    return TrafficCheck(
        program=trace.header.program,
        ranks=trace.header.ranks,
        count=len(messages),
        gaps=Occurrences.of(messages.gaps),
        lengths=Occurrences.of(messages.lengths),
        successive=Successive.of(messages.gaps),
        messages=messages,
        rate=facts.rate,
        quantities=facts.quantities,
        conditions=facts.conditions,
        channel=facts.channel,
        utilisation=facts.utilisation,
        delays=facts.delays,
        formula=formula,
        reason=reason,
        warnings=(*_warnings(messages, facts), *trace.notes),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Facts:
    """What is computed of messages, before it is judged."""

    channel: FreeChannel
    rate: float = np.nan
    utilisation: float = np.nan
    quantities: tuple[Quantity, ...] = ()
    conditions: tuple[Condition, ...] = ()
    delays: tuple[MeanDelay, ...] = ()

    @classmethod
    def of(
        cls,
        messages: Messages,
        capacity: float | None,
        latency: float | None,
        rng: Generator,
        is_enough: bool,
    ) -> _Facts:
        """Compute it; of too few messages only what they are like."""
        if not len(messages):
            source = "given" if capacity else "not determined without messages"
            return cls(
                channel=FreeChannel(
                    capacity=capacity or np.nan, latency=latency or 0.0, source=source
                )
            )
        channel = channel_of(messages, capacity, latency)
        gaps, service = messages.gaps, channel.service(messages.lengths)
        mean_gap = float(gaps.mean()) if len(gaps) else 0.0
        rate = 1 / mean_gap if mean_gap > 0 else np.nan
        quantities = (
            *([_quantity("gap", gaps, rng)] if len(gaps) else ()),
            _quantity("length", messages.lengths, rng),
            *([_quantity("service", service, rng)] if np.isfinite(channel.capacity) else ()),
            _quantity("delay", messages.delays, rng),
        )
        delays = tuple(_delays(messages, channel, rate, quantities, rng))
        return cls(
            rate=rate,
            quantities=quantities,
            conditions=conditions_of(gaps, messages.lengths, rng) if is_enough else (),
            channel=channel,
            utilisation=rate * float(service.mean()),
            delays=delays,
        )

    def quantity(self, name: str) -> Quantity:
        """Return one of the quantities."""
        return next(x for x in self.quantities if x.name == name)

    def mean(self, name: str) -> float:
        """Mean delay of one kind. [s]."""
        return next(x.mean for x in self.delays if x.name == name)


def _quantity(name: str, values: Array, rng: Generator) -> Quantity:
    mean, variance = float(values.mean()), float(values.var())
    if len(values) < FEWEST:
        ends, cv2 = (np.nan, np.nan), (np.nan, np.nan)
    else:
        ends, cv2 = intervals_of(values, rng)
    return Quantity(
        name=name,
        mean=mean,
        lower=ends[0],
        upper=ends[1],
        cv2=variance / mean**2 if mean else np.nan,
        cv2_lower=cv2[0],
        cv2_upper=cv2[1],
        least=float(values.min()),
        median=float(np.median(values)),
        largest=float(values.max()),
    )


def _delays(
    messages: Messages,
    channel: FreeChannel,
    rate: float,
    quantities: tuple[Quantity, ...],
    rng: Generator,
) -> list[MeanDelay]:
    """Mean delays: by the three formulas, by the trace-driven queue, and as measured."""
    by_name = {x.name: x for x in quantities}
    found: list[MeanDelay] = []
    if "service" in by_name:
        service = by_name["service"]
        is_stable = rate * service.mean < 1  # False also where the rate is unknown
        for name, cv2 in (("mm1", 1.0), ("md1", 0.0), ("mg1", service.cv2)):
            mean = np.nan
            if is_stable and service.mean > 0:
                response = mg1(rate, service=service.mean, cv2=cv2).response
                mean = float(response) + channel.latency
            found.append(MeanDelay(name=name, mean=mean))
        queued = queue_delays(messages.gaps, channel.service(messages.lengths))
        found.append(_mean_delay(QUEUE, queued + channel.latency, rng))
    else:
        found += [MeanDelay(name=name, mean=np.nan) for name in (*FORMULAS, QUEUE)]
    measured = by_name["delay"]
    ends = {"lower": measured.lower, "upper": measured.upper}
    found.append(MeanDelay(name=MEASURED, mean=measured.mean, **ends))
    return found


def _mean_delay(name: str, delays: Array, rng: Generator) -> MeanDelay:
    whole = _quantity(name, delays, rng)
    return MeanDelay(name=name, mean=whole.mean, lower=whole.lower, upper=whole.upper)


def _undecided(messages: Messages) -> tuple[str, str]:
    n = len(messages)
    if n >= FEWEST:
        return "undecided", "all messages were sent at the same time"
    has = "no messages" if n == 0 else f"{n} message{'s' * (n > 1)}"
    return "undecided", f"{has}; at least {FEWEST} are needed"


def _verdict(facts: _Facts) -> tuple[str, str]:
    violated = [x.name for x in facts.conditions if x.is_violated]
    others = [VIOLATIONS[x] for x in violated if x != "lengths_exponential"]
    if others:
        return "none", ", ".join(others)
    if not np.isfinite(facts.utilisation):
        return "none", "the capacity of the channel is unknown"
    if facts.utilisation >= 1:
        return "none", f"utilisation must be below 1, got {facts.utilisation:.3g}"
    if not violated:
        return "mm1", "no condition is violated (Poisson arrivals, exponential lengths)"
    length = facts.quantity("length")
    if length.cv2_upper <= NEARLY_EQUAL:
        return "md1", "Poisson arrivals, independent lengths that hardly differ"
    return "mg1", f"Poisson arrivals, independent lengths with cv^2 {length.cv2:.3g}"


def _warnings(messages: Messages, facts: _Facts) -> list[str]:
    if len(messages) < 2:
        return []
    found: list[str] = []
    residual = float(np.median(messages.residual))
    for what, value in (
        ("gap", float(np.median(messages.gaps))),
        ("delay", float(np.median(messages.delays))),
    ):
        if residual > abs(value):
            found.append(
                RankedWarning(
                    f"Clocks of ranks may differ by {format_quantity(residual, 'time')}, which is "
                    f"more than the median {what}, {format_quantity(value, 'time')}. Results that "
                    f"depend on {what}s are uncertain.",
                    rank=Rank.SERIOUS,
                )
            )
    if facts.utilisation >= 1:
        found.append(
            RankedWarning(
                f"Utilisation is {facts.utilisation:.3g} at this capacity, and must be below 1: "
                "no formula has an answer. Check the capacity of the channel.",
                rank=Rank.UNUSABLE,
            )
        )
    if FEWEST <= len(messages) < FEW:
        found.append(
            f"{len(messages)} messages are few: deviations of a moderate size would not be "
            f"detected. Trace a run with at least {FEW}."
        )
    queue, measured = (facts.mean(x) for x in (QUEUE, MEASURED))
    is_known = measured > 0 and queue > 0 and facts.utilisation < 1  # all of them are known
    ratio = max(measured / queue, queue / measured) if is_known else 1.0
    if ratio > CONFLICT:
        how = "longer" if measured > queue else "shorter"
        why = (
            "Messages also wait for something else, such as a receiver that works"
            if measured > queue
            else "The messages do not share one channel, or its capacity is higher"
        )
        found.append(
            f"The measured delay is {rounded(ratio, 2)} times {how} than that of the queue. {why}."
        )
    return found


LEVEL: Final = 0.9
RESAMPLES: Final = 999
MOST_BLOCKS: Final = 400  # more say nothing more: values are joined, however independent
FEWEST_BLOCKS: Final = 10  # with fewer an interval would be far too narrow
FIRST_LAGS: Final = 5  # consecutive correlations that must vanish
SIGNIFICANT: Final = 2.0  # standard errors, over the square root of log10 n [1]


def block_length(values: Array) -> int:
    """Length of the blocks for a sequence, by its correlations."""
    n = len(values)
    centred = values - values.mean()
    variance = float((centred**2).mean())
    if variance == 0:
        return 1
    most = max(ceil(sqrt(n)), FIRST_LAGS) + FIRST_LAGS
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(spectrum)[: min(most, n)] / n
    small = np.abs(covariance[1:]) / variance < SIGNIFICANT * sqrt(log10(n) / n)
    vanished = [k for k in range(len(small)) if small[k : k + FIRST_LAGS].all()]
    last = vanished[0] if vanished else len(small)
    if last == 0:
        return 1
    lags = np.arange(1, min(2 * last, len(covariance) - 1) + 1)
    window = np.minimum(1.0, 2 * (1 - lags / (2 * last)))
    of_lags = window * covariance[lags]
    flat, steep = variance + 2 * float(of_lags.sum()), 2 * float(lags @ of_lags)
    if flat <= 0:
        return ceil(cbrt(n))
    length = ceil(cbrt(1.5 * (steep / flat) ** 2 * n))  # 2 / (4/3), of equal blocks
    return max(1, min(length, n // FEWEST_BLOCKS))


def intervals_of(values: Array, rng: Generator) -> tuple[tuple[float, float], ...]:
    """Ends of the 90% intervals of the mean, and of the variance over the mean squared."""
    n = len(values)
    mean = float(values.mean())
    scaled = values / mean if mean else values
    if not np.ptp(scaled) > 0:
        return (mean, mean), (0.0, 0.0)
    length = max(block_length(scaled), block_length(scaled**2), ceil(n / MOST_BLOCKS))
    blocks = np.add.reduceat(
        np.stack([scaled, scaled**2, np.ones(n)]), np.arange(0, n, length), axis=1
    )
    found = []
    for statistic in (_mean, _cv2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of samples that are all equal: ends are NaN
            ends = stats.bootstrap(
                tuple(blocks),
                statistic,
                paired=True,
                vectorized=True,
                n_resamples=RESAMPLES,
                confidence_level=LEVEL,
                method="BCa",
                random_state=rng,
            ).confidence_interval
        found.append((float(ends.low), float(ends.high)))
    (low, high), cv2 = found
    return ((low * mean, high * mean) if mean else (low, high)), cv2


def _mean(total: Array, _squares: Array, count: Array, axis: int = -1) -> Array:
    return np.asarray(total.sum(axis=axis) / count.sum(axis=axis))


def _cv2(total: Array, squares: Array, count: Array, axis: int = -1) -> Array:
    sums = total.sum(axis=axis)
    return np.asarray(squares.sum(axis=axis) * count.sum(axis=axis) / sums**2 - 1)
