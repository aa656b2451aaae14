"""What each job of a simulation does in a cycle: as it is described, and as it is drawn.

A law of random times, of mean 1, is given as one of

- ``"none"``: all times the same; ``"exponential"``;
- a number: the coefficient of variation of a gamma law (0 is "none", 1 exponential);
- an array: measured times, scaled to mean 1, drawn with replacement;
- a function of a `numpy.random.Generator` and a size that returns that many times of mean 1.

The largest of c independent times is drawn at once where the law allows it, by inversion: the
quantile at V^(1/c), V uniform. Elsewhere it is the largest of c draws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, whole

Index: TypeAlias = NDArray[np.intp]
Sampler: TypeAlias = Callable[[np.random.Generator, int], Array]
Law: TypeAlias = str | float | NDArray[np.float64] | Sampler

LARGEST_CV = 100.0
BLOCK = 2**20  # draws held at once
HINT = 'Give "none", "exponential", a coefficient of variation, measured times or a function.'


def sampler(name: str, law: Law, *, largest_of: int = 1) -> Sampler:
    """Function of a generator and a size that draws the largest of `largest_of` times. [1].

    `name` is what messages call the law. A function must be importable by name if the simulation
    is to run in other processes; that it returns times is checked at each draw.
    """
    if callable(law):
        return partial(_largest_of_draws, partial(_checked, name, law), largest_of)
    if isinstance(law, str):
        require(name, named(law), law in {"none", "exponential"}, must="be a known law", hint=HINT)
        return partial(_exponential, largest_of) if law == "exponential" else _ones
    values = np.asarray(law, dtype=np.float64)
    if values.ndim:
        return partial(_resampled, _scaled(name, values), largest_of)
    ok = (values >= 0) & (values <= LARGEST_CV)
    require(name, values, ok, must=f"be a cv in [0, {LARGEST_CV:g}]", hint=HINT)
    cv = float(values)
    return partial(_largest_of_draws, partial(_gamma, cv), largest_of) if cv > 0 else _ones


def named(choice: str) -> NDArray[np.object_]:
    """A word that messages print as it was given."""
    return np.asarray(choice, dtype=object)


def _scaled(name: str, times: Array) -> Array:
    """Measured times in rising order, over their mean."""
    ok = (times >= 0) & np.isfinite(times)
    hint = "Leave failed runs out."
    require(name, times, ok, must="hold only times of at least 0", hint=hint)
    total = times.sum() if times.size else 0.0
    require(name, total, total > 0, must="hold times whose mean is above 0", hint=hint)
    return np.sort(times, axis=None) * (times.size / total)


def _ones(rng: np.random.Generator, size: int) -> Array:  # noqa: ARG001 - nothing is random
    return np.ones(size)


def _exponential(c: int, rng: np.random.Generator, size: int) -> Array:
    if c == 1:
        return rng.standard_exponential(size)
    # P(largest <= t) = (1 - exp(-t))^c; -ln V is exponential, which never underflows
    below = -np.expm1(-rng.standard_exponential(size) / c)
    return np.asarray(-np.log(below))


def _gamma(cv: float, rng: np.random.Generator, size: int) -> Array:
    return np.asarray(rng.standard_gamma(cv**-2.0, size) * cv**2.0)


def _resampled(times: Array, c: int, rng: np.random.Generator, size: int) -> Array:
    quantile = rng.random(size) ** (1.0 / c)
    place = np.minimum((quantile * times.size).astype(np.intp), times.size - 1)
    return np.asarray(times[place])


def _checked(name: str, law: Sampler, rng: np.random.Generator, size: int) -> Array:
    """What the user's function drew, if it is what was asked for."""
    times = np.asarray(law(rng, size), dtype=np.float64)
    hint = "Return as many times as requested."
    require(name, times.size, times.shape == (size,), must=f"draw {size} times", hint=hint)
    ok = (times >= 0) & np.isfinite(times)
    require(name, times, ok, must="draw times of at least 0", hint="Their mean must be 1.")
    return times


def _largest_of_draws(draw: Sampler, c: int, rng: np.random.Generator, size: int) -> Array:
    if c == 1:
        return draw(rng, size)
    largest = np.empty(size)
    step = max(1, BLOCK // c)
    for start in range(0, size, step):
        part = largest[start : start + step]
        draw(rng, part.size * c).reshape(-1, c).max(axis=1, out=part)
    return largest


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """What a job does in one cycle, ready to be drawn."""

    jobs: int
    bursts: float  # mean number
    geometric: bool  # or else one of the two whole numbers around the mean
    cpu: float  # mean time of one processor [s]
    heavy: int  # processors, those of the first jobs, that compute for another time
    heavy_cpu: float  # their mean time [s]
    group: int
    startup: float  # [s]
    transfer: float  # [s]
    service: float  # at the shared communication queue [s]
    io: float  # [s]
    disks: int
    cpu_law: Sampler  # of the slowest processor of a group
    mixed_laws: tuple[Sampler, Sampler]  # of the slowest heavy and other processor of one group
    transfer_law: Sampler
    service_law: Sampler
    io_law: Sampler

    def counts(self, rng: np.random.Generator, size: int) -> Index:
        """Numbers of bursts of that many cycles."""
        if self.geometric:
            return np.asarray(rng.geometric(1.0 / self.bursts, size), dtype=np.intp)
        least = int(self.bursts)
        count = np.full(size, least, dtype=np.intp)
        if self.bursts > least:
            count += rng.random(size) < self.bursts - least
        return count

    def delays(self, rng: np.random.Generator, job: Index) -> Array:
        """Times of a burst of each `job` away from the queues. [s]."""
        size = job.size
        delay = np.full(size, self.startup)
        if self.heavy > 0:
            delay += self._unequal(rng, job)
        elif self.cpu > 0:
            delay += self.cpu * self.cpu_law(rng, size)
        if self.transfer > 0:
            delay += self.transfer * self.transfer_law(rng, size)
        return delay

    def _unequal(self, rng: np.random.Generator, job: Index) -> Array:
        """Computing times where the first processors compute longer. [s]."""
        whole, rest = divmod(self.heavy, self.group)
        cpu = np.where(job < whole, self.heavy_cpu, self.cpu)
        slowest = np.asarray(cpu * self.cpu_law(rng, job.size))
        if rest:
            mixed = np.flatnonzero(job == whole)
            heavy, other = self.mixed_laws
            slowest[mixed] = np.maximum(
                self.heavy_cpu * heavy(rng, mixed.size), self.cpu * other(rng, mixed.size)
            )
        return slowest

    def sums(self, rng: np.random.Generator, counts: Index, job: Index) -> Array:
        """Times away from the queues in cycles of that many bursts of each `job`. [s]."""
        total = np.zeros(counts.size)
        going = np.arange(counts.size)
        done = 0
        while going.size:
            total[going] += self.delays(rng, job[going])
            done += 1
            going = going[counts[going] > done]
        return total


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cycle:
    """What each job does again and again. Refused if a time is negative or nothing takes time.

    Laws are what `parcast.queueing.simulation.cycle.sampler` takes; they have mean 1.
    """

    jobs: int  # K, that share the communication queue [1]
    io_kind: str = "synchronous"  # or "striped" or "clustered"
    bursts: float = 1.0  # mean number in a cycle, at least 1 [1]
    burst_count: str = "fixed"  # or "geometric"; a fixed 2.5 is 2 or 3, as likely
    group: int = 1  # c, processors of a job; the slowest ends the computing [1]
    cpu: float = 0.0  # mean computing time of a processor in a burst [s]
    heavy: int = 0  # processors that compute for another time, those of the first jobs [1]
    heavy_cpu: float = 0.0  # theirs, on average [s]
    startup: float = 0.0  # of communication, in a burst [s]
    transfer: float = 0.0  # mean of the uncontended part of the transfer, in a burst [s]
    service: float = 0.0  # mean at the communication queue, in a burst; 0: no such queue [s]
    io: float = 0.0  # mean service of one I/O: of all jobs if synchronous, else of one job [s]
    disks: int = 1  # d, if clustered [1]
    cpu_law: Law = "exponential"
    transfer_law: Law = "none"
    service_law: Law = "exponential"
    io_law: Law = "exponential"

    def __post_init__(self) -> None:
        kinds = ("synchronous", "striped", "clustered")
        hint = "parcast.queueing.simulation.simulate says what they are."
        must = "be synchronous, striped or clustered"
        require("io_kind", named(self.io_kind), self.io_kind in kinds, must=must, hint=hint)
        counts = ("fixed", "geometric")
        known = self.burst_count in counts
        hint = "Choose how the number of bursts varies."
        require(
            "burst_count", named(self.burst_count), known, must="be fixed or geometric", hint=hint
        )
        whole("jobs", self.jobs, 1, hint="Count the jobs that share the queue.")
        whole("group", self.group, 1, hint="Count the processors of a job.")
        whole("disks", self.disks, 1, hint="Count the disks.")
        one = self.disks == 1 or self.io_kind == "clustered"
        must = "be 1 unless io_kind is clustered"
        hint = "Let io be the time with all disks."
        require("disks", self.disks, one, must=must, hint=hint)
        at_least("bursts", self.bursts, 1, hint="Count the bursts of a cycle.")
        whole("heavy", self.heavy, 0, hint="Count the processors that compute longer.")
        few = self.heavy <= self.jobs * self.group
        hint = "Leave it out where all compute the same."
        require("heavy", self.heavy, few, must="be at most jobs * group", hint=hint)
        total = 0.0
        for name in ("cpu", "heavy_cpu", "startup", "transfer", "service", "io"):
            total += float(mean_time(name, getattr(self, name)))
        hint = "A job must spend time somewhere."
        require("cpu", self.cpu, total > 0, must="be above 0 where all else is 0", hint=hint)
        self.route()

    @property
    def mean_cpu(self) -> float:
        """Computing time of a burst, the mean over processors [s]."""
        if not self.heavy:
            return self.cpu
        share = self.heavy / (self.jobs * self.group)
        return share * self.heavy_cpu + (1.0 - share) * self.cpu

    def route(self) -> Route:
        """The same, ready to be drawn."""
        rest = int(self.heavy) % int(self.group)
        return Route(
            jobs=int(self.jobs),
            bursts=float(self.bursts),
            geometric=self.burst_count == "geometric",
            cpu=float(self.cpu),
            heavy=int(self.heavy),
            heavy_cpu=float(self.heavy_cpu),
            group=int(self.group),
            startup=float(self.startup),
            transfer=float(self.transfer),
            service=float(self.service),
            io=float(self.io),
            disks=int(self.disks),
            cpu_law=sampler("cpu_law", self.cpu_law, largest_of=int(self.group)),
            mixed_laws=(
                sampler("cpu_law", self.cpu_law, largest_of=max(rest, 1)),
                sampler("cpu_law", self.cpu_law, largest_of=int(self.group) - rest),
            ),
            transfer_law=sampler("transfer_law", self.transfer_law),
            service_law=sampler("service_law", self.service_law),
            io_law=sampler("io_law", self.io_law),
        )
