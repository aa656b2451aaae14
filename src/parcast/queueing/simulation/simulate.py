"""Simulation of jobs that compute, communicate through one queue and do I/O: a check of the laws.

Each of K jobs (a job is a group of c processors) repeats a cycle: bursts, each a delay (the
slowest of c computing times, a start-up, an uncontended transfer) and a visit to the one
communication queue; then I/O, of one of three kinds:

- "synchronous": all jobs join, one I/O serves all, and all start again together;
- "striped": each job visits the one disk queue, without waiting for the others to come;
- "clustered": job j visits disk j mod d, each with its own queue.

All queues serve in order of arrival, all times may have any law, independent of each other. There
is no queueing theory in it: use it where the solvers of this package are approximate or do not
apply (few or fixed numbers of bursts, laws that are not exponential, runs of few cycles), and to
check them where they do. `simulate_joined` is for synchronous I/O; `simulate_steady` is the long
run, `simulate_runs` the makespan of few cycles, for either kind.

Replications are independent, and simulated many at once in NumPy by
`parcast.queueing.simulation.engine`. They are dealt in chunks whose sizes and random streams
follow from the seed and the network alone, so that results do not depend on the number of workers;
memory is that of the chunks. The intervals are those of `parcast.queueing.simulation.rounds`. If a
precision is requested, replications are added until the interval is that narrow, which makes it
cover the truth slightly less often than 90 % of the time (section 9.4.1 of [1]_).

References
----------
.. [1] A. M. Law and W. D. Kelton, Simulation Modeling and Analysis, 3rd ed., McGraw-Hill, 2000.
"""

from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import whole
from parcast.queueing.simulation.cycle import Cycle, named
from parcast.queueing.simulation.engine import (
    circulating_runs,
    histories,
    joined_cycles,
    joined_runs,
    rows_of_chunk,
)
from parcast.queueing.simulation.rounds import Effort, Ended, Estimate, Limits, sampled_means
from parcast.queueing.simulation.rounds import warm_up as warm_up_of

INTERVALS = 256  # of a long run, of which the warm-up is found


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedCycles:
    """Cycles at whose end all jobs join. Each is one sample; all times in seconds."""

    cycle: Estimate  # joined + io
    joined: Estimate  # until the last job has joined: computing and communication
    io: Estimate
    delay: Estimate  # of the mean job: computing, start-up, uncontended transfer
    communication: Estimate  # of the mean job: waiting and service at the communication queue
    waiting: Estimate  # of the mean job: for the others to join
    cycles: int  # simulated
    ended_by: Ended  # what ended it


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyCycles:
    """Cycles of jobs that never join, in the long run. Samples are means of batches."""

    cycle: Estimate  # jobs * time / cycles of all jobs [s]
    delay: Estimate  # of a job and cycle: computing, start-up, uncontended transfer [s]
    communication: Estimate  # waiting and service at the communication queue [s]
    io: Estimate  # waiting and service at the disk [s]
    communication_busy: Estimate  # fraction of time the communication queue serves [1]
    io_busy: Estimate  # the same of the mean disk [1]
    warm_up: int  # cycles of every job dropped at the beginning of each replication
    warmed_up: bool  # False: the warm-up was still going on at half of the run; raise `cycles`
    replications: int
    batches: int  # of each replication
    cycles: int  # of every job in one batch
    ended_by: Ended  # what ended it

    @property
    def method(self) -> str:
        """Where the samples come from, in words."""
        if self.batches == 1:
            return f"{self.replications} replications"
        if self.replications == 1:
            return f"{self.batches} batches of one run"
        return f"{self.batches} batches of each of {self.replications} replications"


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Programs of a few cycles, from the common start to the end of the last job."""

    makespan: Estimate  # of one run [s]
    delay: Estimate  # of the mean job in a run: computing, start-up, uncontended transfer [s]
    communication: Estimate  # waiting and service at the communication queue [s]
    io: Estimate  # waiting and service at the disk [s]
    waiting: Estimate  # for the others: to join, or at the end [s]
    cycles: int  # of every job in one run
    replications: int
    ended_by: Ended  # what ended it


def simulate_joined(
    cycle: Cycle,
    *,
    replications: int = 1000,
    **limits: Unpack[Limits],
) -> JoinedCycles:
    """Mean cycle and its parts where all jobs join before each I/O.

    Such cycles are independent: each of at least 2 `replications` is one sample.
    """
    joins = cycle.io_kind == "synchronous"
    hint = "Use simulate_steady for jobs that never join."
    require("io_kind", named(cycle.io_kind), joins, must="be synchronous", hint=hint)
    whole("replications", replications, 2, hint="A single cycle has no deviation.")
    sampled, ended = sampled_means(
        partial(joined_cycles, cycle.route()),
        lambda rows: rows,
        rows_of_chunk(cycle.jobs),
        Effort(replications, 1, **limits),
    )
    means = sampled.estimates("cycle", "joined", "io", "delay", "communication", "waiting")
    return JoinedCycles(
        **means,
        cycles=sampled.samples,
        ended_by=ended,
    )


def simulate_steady(
    cycle: Cycle,
    *,
    cycles: int = 100,
    warm_up: int | None = None,
    batches: int = 1,
    replications: int = 64,
    **limits: Unpack[Limits],
) -> SteadyCycles:
    """Mean cycle and its parts in the long run of jobs that never join.

    Every job goes through `cycles` in a replication, on average, warm-up included, at least 2;
    above 256 they are counted in steps of several, and a last step is completed. `warm_up` cycles
    are dropped, rounded up to whole steps; by default the rule MSER-5 finds them in the first
    chunk of replications, at most half. `batches` of each replication share what the warm-up
    leaves.

    Samples are means of batches, at least two in all. One batch and many replications are
    independent samples; many batches of one replication drop only one warm-up, and must be long to
    be nearly independent.
    """
    apart = cycle.io_kind != "synchronous"
    hint = "Use simulate_joined for jobs that join."
    require("io_kind", named(cycle.io_kind), apart, must="be striped or clustered", hint=hint)
    whole("cycles", cycles, 2, hint="Simulate more than the warm-up.")
    whole("batches", batches, 1, hint="One batch is what the warm-up leaves.")
    whole("replications", replications, 1, hint="Count the independent runs.")
    several = replications * batches > 1
    hint = "A single sample has no deviation."
    require("batches", batches, several, must="be at least 2 in one replication", hint=hint)
    cycles, batches = int(cycles), int(batches)
    every = -(-cycles // INTERVALS)
    intervals = -(-cycles // every)
    least = intervals - intervals // 2
    if warm_up is not None:
        whole("warm_up", warm_up, 0, hint="Count the cycles to drop.")
        least = intervals - -(-int(warm_up) // every)
        hint = "Simulate more cycles."
        must = f"be fewer than the cycles ({cycles})"
        require("warm_up", warm_up, least > 0, must=must, hint=hint)
    hint = "Simulate more cycles."
    must = f"be at most {least}, the number of steps that always remain"
    require("batches", batches, batches <= least, must=must, hint=hint)
    cut = _Batches(None if warm_up is None else intervals - least, batches)
    sampled, ended = sampled_means(
        partial(histories, cycle.route(), intervals, every),
        cut,
        min(rows_of_chunk(cycle.jobs), 256),
        Effort(replications, cycles, **limits),
    )
    means = sampled.estimates(
        "cycle", "communication", "io", "communication_busy", "io_busy", "delay"
    )
    return SteadyCycles(
        **means,
        warm_up=cut.first * every,
        warmed_up=cut.warmed_up,
        replications=sampled.samples // batches,
        batches=batches,
        cycles=cut.length * every,
        ended_by=ended,
    )


def simulate_runs(
    cycle: Cycle,
    *,
    cycles: int,
    replications: int = 200,
    **limits: Unpack[Limits],
) -> Runs:
    """Mean time of a program of exactly so many cycles, from the start to the end of the last job.

    With synchronous I/O it is `cycles` mean cycles. Otherwise it is more than `cycles` times the
    cycle of the long run if they are few, since the program ends with its slowest job. A whole run
    is one sample.
    """
    whole("cycles", cycles, 1, hint="Count the cycles of every job.")
    whole("replications", replications, 2, hint="A single run has no deviation.")
    cycles = int(cycles)
    runs = joined_runs if cycle.io_kind == "synchronous" else circulating_runs
    sampled, ended = sampled_means(
        partial(runs, cycle.route(), cycles),
        lambda rows: rows,
        rows_of_chunk(cycle.jobs),
        Effort(replications, cycles, **limits),
    )
    means = sampled.estimates("makespan", "delay", "communication", "io", "waiting")
    return Runs(
        **means,
        cycles=cycles,
        replications=sampled.samples,
        ended_by=ended,
    )


class _Batches:
    """Cuts histories into batch means, after the warm-up that the first of them shows."""

    def __init__(self, first: int | None, batches: int) -> None:
        self.batches, self.warmed_up = batches, True
        self.first, self.length = first or 0, 0  # steps dropped, steps of a batch
        self._find = first is None

    def __call__(self, history: Array) -> Array:
        rows, intervals, quantities = history.shape
        if not self.length:
            if self._find:
                self.first, self.warmed_up = warm_up_of(history[:, :, 0].mean(axis=0))
            self.length = (intervals - self.first) // self.batches
            self.first = intervals - self.length * self.batches
        kept = history[:, self.first :].reshape(rows, self.batches, self.length, quantities)
        means = kept.mean(axis=2).reshape(-1, quantities)
        length = means[:, :1]
        means[:, 3:] = 1.0 - means[:, 3:] / length
        delay = length - means[:, 1:2] - means[:, 2:3]
        return np.concatenate([means, delay], axis=1)
