"""What each job of a simulation does in a cycle: as it is described, and as it is drawn."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, whole
from parcast.queueing.erlang import Array
from parcast.queueing.simulation_laws import Law, Sampler, named, sampler

Index = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """What a job does in one cycle, ready to be drawn."""

    jobs: int
    bursts: float  # mean number
    geometric: bool  # or else one of the two whole numbers around the mean
    cpu: float  # mean time of one processor [s]
    startup: float  # [s]
    transfer: float  # [s]
    service: float  # at the shared communication queue [s]
    io: float  # [s]
    disks: int
    cpu_law: Sampler  # of the slowest processor of a group
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

    def delays(self, rng: np.random.Generator, size: int) -> Array:
        """Times of that many bursts away from the queues. [s]."""
        delay = np.full(size, self.startup)
        if self.cpu > 0:
            delay += self.cpu * self.cpu_law(rng, size)
        if self.transfer > 0:
            delay += self.transfer * self.transfer_law(rng, size)
        return delay

    def sums(self, rng: np.random.Generator, counts: Index) -> Array:
        """Times away from the queues in cycles of that many bursts each. [s]."""
        total = np.zeros(counts.size)
        going = np.arange(counts.size)
        done = 0
        while going.size:
            total[going] += self.delays(rng, going.size)
            done += 1
            going = going[counts[going] > done]
        return total


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cycle:
    """What each job does again and again. Refused if a time is negative or nothing takes time.

    Laws are what `parcast.queueing.simulation_laws.sampler` takes; they have mean 1.
    """

    jobs: int  # K, that share the communication queue [1]
    io_kind: str = "synchronous"  # or "striped" or "clustered"
    bursts: float = 1.0  # mean number in a cycle, at least 1 [1]
    burst_count: str = "fixed"  # or "geometric"; a fixed 2.5 is 2 or 3, as likely
    group: int = 1  # c, processors of a job; the slowest ends the computing [1]
    cpu: float = 0.0  # mean computing time of a processor in a burst [s]
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
        """Refuse what cannot be simulated."""
        kinds = ("synchronous", "striped", "clustered")
        hint = "parcast.queueing.simulation says what they are."
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
        total = 0.0
        for name in ("cpu", "startup", "transfer", "service", "io"):
            total += float(mean_time(name, getattr(self, name)))
        hint = "A job must spend time somewhere."
        require("cpu", self.cpu, total > 0, must="be above 0 where all else is 0", hint=hint)
        self.route()

    def route(self) -> Route:
        """The same, ready to be drawn."""
        return Route(
            jobs=int(self.jobs),
            bursts=float(self.bursts),
            geometric=self.burst_count == "geometric",
            cpu=float(self.cpu),
            startup=float(self.startup),
            transfer=float(self.transfer),
            service=float(self.service),
            io=float(self.io),
            disks=int(self.disks),
            cpu_law=sampler("cpu_law", self.cpu_law, largest_of=int(self.group)),
            transfer_law=sampler("transfer_law", self.transfer_law),
            service_law=sampler("service_law", self.service_law),
            io_law=sampler("io_law", self.io_law),
        )
