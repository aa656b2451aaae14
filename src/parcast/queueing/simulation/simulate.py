"""Simulation of jobs that compute, communicate through one queue and do I/O: a check of the laws.

All queues serve in order of arrival. So the jobs of a replication can be taken in the order in
which they arrive, whatever the queue: the one that arrives next, at time t, ends its service at
max(t, end of the queue's last service) + service, and arrives at the next queue a delay later,
which is never before t. No event list is needed, and no queueing theory is used [D]_.

State is kept in arrays (replications, jobs); one step is an argmin over the jobs and some twenty
operations on arrays (replications,). A service costs time in proportion to the number of jobs.

Each of K jobs (a job is a group of c processors) repeats a cycle: bursts, each a delay (the
slowest of c computing times, a start-up, an uncontended transfer) and a visit to the one
communication queue; then I/O, of one of three kinds. The first jobs may compute longer than the
others. The kinds of I/O:

- "synchronous": all jobs join, one I/O serves all, and all start again together;
- "striped": each job visits the one disk queue, without waiting for the others to come;
- "clustered": job j visits disk j mod d, each with its own queue.

All queues serve in order of arrival, all times may have any law, independent of each other. There
is no queueing theory in it: use it where the solvers of this package are approximate or do not
apply (few or fixed numbers of bursts, laws that are not exponential, runs of few cycles), and to
check them where they do. `simulate_joined` is for synchronous I/O; `simulate_steady` is the long
run, `simulate_runs` the makespan of few cycles, for either kind.

Replications are independent, and simulated many at once in NumPy. They are dealt in chunks whose
sizes and random streams follow from the seed and the network alone, so that results do not depend
on the number of workers; memory is that of the chunks. The intervals are those of
`parcast.queueing.simulation.rounds`. If a precision is requested, replications are added until the
interval is that narrow, which makes it cover the truth slightly less often than 90% of the time
(section 9.4.1 of [1]_).

References
----------
.. [D] parcast's own; its reason is decision 4 in docs/decisions.
.. [1] A. M. Law and W. D. Kelton, Simulation Modeling and Analysis, 3rd ed., McGraw-Hill, 2000.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Unpack

import numpy as np

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import whole
from parcast.queueing.simulation.cycle import Cycle, Index, Route, named
from parcast.queueing.simulation.rounds import (
    Effort,
    Ended,
    MeanEstimate,
    SimulationLimits,
    sampled_means,
)
from parcast.queueing.simulation.rounds import warm_up as warm_up_of

CELLS = 2**17
MOST_ROWS = 1024
LEAST_ROWS = 8
INTERVALS = 256  # of a long run, of which the warm-up is found


class Visits(NamedTuple):
    """One visit to a queue in each replication; arrays (replications,) unless said."""

    at: Index  # flat index of the job
    now: Array  # arrival [s]
    gap: Array  # how long the queue had been idle [s]
    done: Array  # end of service [s]
    io: Index  # replications in which it was a visit to a disk, shape (some,)


class Circuit:
    """Jobs that circulate between the communication queue and the disks, in many replications."""

    def __init__(self, route: Route, rng: np.random.Generator, rows: int) -> None:
        self.route, self.rng = route, rng
        self.arrival = np.empty((rows, route.jobs))  # at the next queue [s]
        self.left = np.empty((rows, route.jobs), dtype=np.intp)  # bursts before the disk
        self.free = np.zeros((rows, 1 + route.disks))  # end of last service [s]
        self.disk_of = 1 + np.arange(route.jobs) % route.disks
        self._flat_arrival, self._flat_left = self.arrival.reshape(-1), self.left.reshape(-1)
        self._flat_free = self.free.reshape(-1)
        self._first_job = np.arange(rows) * route.jobs
        self._first_queue = np.arange(rows) * (1 + route.disks)
        self._start(np.arange(rows * route.jobs), np.zeros(rows * route.jobs))

    def _start(self, at: Index, now: Array) -> None:
        """Let jobs begin a cycle; without a communication queue the disk is all they visit."""
        counts, job = self.route.counts(self.rng, at.size), at % self.route.jobs
        if self.route.service > 0:
            self._flat_left[at] = counts
            self._flat_arrival[at] = now + self.route.delays(self.rng, job)
        else:
            self._flat_left[at] = 0
            self._flat_arrival[at] = now + self.route.sums(self.rng, counts, job)

    def serve(self, rows: int) -> Visits:
        """Serve the job that arrives next in each of the first `rows` replications."""
        route, rng = self.route, self.rng
        job = self.arrival[:rows].argmin(axis=1)
        at = self._first_job[:rows] + job
        now, left = self._flat_arrival[at], self._flat_left[at]
        io = np.flatnonzero(left == 0)
        queue = self._first_queue[:rows].copy()
        queue[io] += self.disk_of[job[io]]
        if io.size < rows:
            service = route.service * route.service_law(rng, rows)
        else:
            service = np.empty(rows)
        if io.size:
            service[io] = route.io * route.io_law(rng, io.size) if route.io > 0 else 0.0
        free = self._flat_free[queue]
        start = np.maximum(now, free)
        done = start + service
        self._flat_free[queue] = done
        if io.size < rows:
            delay = route.delays(rng, job)
            delay[left == 1] = 0.0  # the disk is next
            self._flat_arrival[at] = done + delay
            self._flat_left[at] = left - 1
        if io.size:
            self._start(at[io], done[io])
        return Visits(at, now, start - free, done, io)

    def drop(self, row: int, last: int) -> None:
        """Put the replication at `last` in the place of one that is over."""
        for state in (self.arrival, self.left, self.free):
            state[row] = state[last]


def rows_of_chunk(jobs: int) -> int:
    """Replications that are simulated together."""
    return int(np.clip(CELLS // jobs, LEAST_ROWS, MOST_ROWS))


def joined_cycles(route: Route, rows: int, seed: np.random.SeedSequence) -> Array:
    """Independent cycles at whose end all jobs join, (rows, 6). [s].

    Cycle, time until the last job joins, I/O; of the mean job: delays, time at the communication
    queue, wait for the others.
    """
    return _joined(route, rows, np.random.default_rng(seed))


def _joined(route: Route, rows: int, rng: np.random.Generator) -> Array:
    jobs = route.jobs
    if route.service > 0:
        end, response = _joined_queue(route, rows, rng)
    else:
        counts = route.counts(rng, rows * jobs)
        each = np.tile(np.arange(jobs), rows)
        end, response = route.sums(rng, counts, each).reshape(rows, jobs), np.zeros(rows)
    joined, mean = end.max(axis=1), end.mean(axis=1)
    io = route.io * route.io_law(rng, rows)
    return np.stack([joined + io, joined, io, mean - response, response, joined - mean], axis=1)


def _joined_queue(route: Route, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """End of the last burst of each job, and mean time of a job at the queue."""
    jobs = route.jobs
    left = route.counts(rng, rows * jobs).reshape(rows, jobs)
    total = left.sum(axis=1)
    order = np.argsort(-total, kind="stable")  # the longest first, so that the active come first
    left, total = left[order], total[order]
    arrival = route.delays(rng, np.tile(np.arange(jobs), rows)).reshape(rows, jobs)
    end, free, response = np.zeros((rows, jobs)), np.zeros(rows), np.zeros(rows)
    flat_arrival, flat_left, flat_end = arrival.reshape(-1), left.reshape(-1), end.reshape(-1)
    first_job = np.arange(rows) * jobs
    active = rows
    for step in range(int(total[0])):
        while total[active - 1] <= step:
            active -= 1
        job = arrival[:active].argmin(axis=1)
        at = first_job[:active] + job
        now = flat_arrival[at]
        done = np.maximum(now, free[:active])
        done += route.service * route.service_law(rng, active)
        free[:active] = done
        response[:active] += done - now
        bursts = flat_left[at] - 1
        flat_left[at] = bursts
        flat_end[at] = done
        done += route.delays(rng, job)
        done[bursts == 0] = np.inf
        flat_arrival[at] = done
    return end, response / jobs


def joined_runs(route: Route, cycles: int, rows: int, seed: np.random.SeedSequence) -> Array:
    """Sums of that many joined cycles, (rows, 5). [s].

    Makespan; of the mean job: delays, times at the communication queue and at the disk, wait for
    the others.
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros((rows, 6))
    for _ in range(cycles):
        sums += _joined(route, rows, rng)
    return sums[:, [0, 3, 4, 2, 5]]


def circulating_runs(route: Route, cycles: int, rows: int, seed: np.random.SeedSequence) -> Array:
    """Runs until the last job has ended that many cycles; returns as `joined_runs`."""
    circuit = Circuit(route, np.random.default_rng(seed), rows)
    to_do = np.full((rows, route.jobs), cycles)
    jobs_left = np.full(rows, route.jobs)
    end, ends, at_network, at_disk = np.zeros((4, rows))  # latest; sums over the jobs
    finished_runs = []
    while rows:
        visits = circuit.serve(rows)
        response = visits.done - visits.now
        at_disk[visits.io] += response[visits.io]
        response[visits.io] = 0.0
        at_network[:rows] += response
        if not visits.io.size:
            continue
        row, job = visits.io, visits.at[visits.io] % route.jobs
        to_do[row, job] -= 1
        over = to_do[row, job] == 0
        row, job = row[over], job[over]
        circuit.arrival[row, job] = np.inf
        end[row] = np.maximum(end[row], visits.done[row])
        ends[row] += visits.done[row]
        jobs_left[row] -= 1
        for done in row[jobs_left[row] == 0][::-1].tolist():  # from the back: none is moved
            finished_runs.append((end[done], ends[done], at_network[done], at_disk[done]))
            rows -= 1
            circuit.drop(done, rows)
            for state in (to_do, jobs_left, end, ends, at_network, at_disk):
                state[done] = state[rows]
    makespan, mean, network, disk = np.array(finished_runs).T / [[1], *[[route.jobs]] * 3]
    return np.stack([makespan, mean - network - disk, network, disk, makespan - mean], axis=1)


def histories(
    route: Route, intervals: int, every: int, rows: int, seed: np.random.SeedSequence
) -> Array:
    """What happened in successive intervals of a long run of jobs that never join.

    Of one cycle, (rows, intervals, 5): its length, times of a job at the communication queue and
    at the disks, idle times of the communication queue and of the mean disk [s]. An interval ends
    when jobs have arrived at the disks `every` times the number of jobs.
    """
    circuit = Circuit(route, np.random.default_rng(seed), rows)
    unit = route.jobs * every
    sums = np.zeros((rows, 5))  # time, responses at communication and disks, idle times of them
    marks = np.zeros((rows, intervals + 1, 5))
    arrived = np.zeros(rows, dtype=np.intp)
    unfinished = rows
    while unfinished:
        visits = circuit.serve(rows)
        response = visits.done - visits.now
        kind = np.zeros(rows, dtype=np.intp)
        kind[visits.io] = 1
        index = np.arange(rows)
        sums[index, 1 + kind] += response
        sums[index, 3 + kind] += visits.gap
        arrived[visits.io] += 1
        hit = visits.io[arrived[visits.io] % unit == 0]
        hit = hit[arrived[hit] <= unit * intervals]
        if hit.size:
            now = visits.now[hit, None]
            still = np.maximum(now - circuit.free[hit], 0.0)  # idle at this moment
            mark = sums[hit]
            mark[:, :1] = now
            mark[:, 3] += still[:, 0]
            mark[:, 4] += still[:, 1:].sum(axis=1)
            place = arrived[hit] // unit
            marks[hit, place] = mark
            unfinished -= int((place == intervals).sum())
    parts = np.diff(marks, axis=1)
    parts[:, :, :1] /= every
    parts[:, :, 1:3] /= unit
    parts[:, :, 3:] /= every
    parts[:, :, 4] /= route.disks
    return np.asarray(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinedCycles:
    """Cycles at whose end all jobs join. Each is one sample; all times in seconds."""

    cycle: MeanEstimate  # joined + io
    joined: MeanEstimate  # until the last job has joined: computing and communication
    io: MeanEstimate
    delay: MeanEstimate  # of the mean job: computing, start-up, uncontended transfer
    communication: MeanEstimate  # of the mean job: waiting and service at the communication queue
    waiting: MeanEstimate  # of the mean job: for the others to join
    cycles: int  # simulated
    ended_by: Ended  # what ended it


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyCycles:
    """Cycles of jobs that never join, in the long run. Samples are means of replications."""

    cycle: MeanEstimate  # jobs * time / cycles of all jobs [s]
    delay: MeanEstimate  # of a job and cycle: computing, start-up, uncontended transfer [s]
    communication: MeanEstimate  # waiting and service at the communication queue [s]
    io: MeanEstimate  # waiting and service at the disk [s]
    communication_busy: MeanEstimate  # fraction of time the communication queue serves [1]
    io_busy: MeanEstimate  # the same of the mean disk [1]
    warm_up: int  # cycles of every job dropped at the beginning of each replication
    warmed_up: bool  # False: the warm-up was still going on at half of the run; raise `cycles`
    replications: int
    cycles: int  # of every job in one of them, after the warm-up
    ended_by: Ended  # what ended it


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeRuns:
    """Programs of a few cycles, from the common start to the end of the last job."""

    makespan: MeanEstimate  # of one run [s]
    delay: MeanEstimate  # of the mean job in a run: computing, start-up, uncontended transfer [s]
    communication: MeanEstimate  # waiting and service at the communication queue [s]
    io: MeanEstimate  # waiting and service at the disk [s]
    waiting: MeanEstimate  # for the others: to join, or at the end [s]
    cycles: int  # of every job in one run
    replications: int
    ended_by: Ended  # what ended it


def simulate_joined(
    cycle: Cycle,
    *,
    replications: int = 1000,
    **limits: Unpack[SimulationLimits],
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
    replications: int = 64,
    **limits: Unpack[SimulationLimits],
) -> SteadyCycles:
    """Mean cycle and its parts in the long run of jobs that never join.

    Every job goes through `cycles` in a replication, on average, warm-up included, at least 2;
    above 256 they are counted in steps of several, and a last step is completed. The rule MSER-5
    finds the warm-up in the first chunk of replications, at most half, and it is dropped. Samples
    are means of what is left of the replications, of which there are at least two.
    """
    apart = cycle.io_kind != "synchronous"
    hint = "Use simulate_joined for jobs that join."
    require("io_kind", named(cycle.io_kind), apart, must="be striped or clustered", hint=hint)
    whole("cycles", cycles, 2, hint="Simulate more than the warm-up.")
    whole("replications", replications, 2, hint="A single sample has no deviation.")
    cycles = int(cycles)
    every = -(-cycles // INTERVALS)
    intervals = -(-cycles // every)
    warmed = _Warmed()
    sampled, ended = sampled_means(
        partial(histories, cycle.route(), intervals, every),
        warmed,
        min(rows_of_chunk(cycle.jobs), 256),
        Effort(replications, cycles, **limits),
    )
    means = sampled.estimates(
        "cycle", "communication", "io", "communication_busy", "io_busy", "delay"
    )
    return SteadyCycles(
        **means,
        warm_up=(warmed.first or 0) * every,
        warmed_up=warmed.is_enough,
        replications=sampled.samples,
        cycles=(intervals - (warmed.first or 0)) * every,
        ended_by=ended,
    )


def simulate_runs(
    cycle: Cycle,
    *,
    cycles: int,
    replications: int = 200,
    **limits: Unpack[SimulationLimits],
) -> WholeRuns:
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
    return WholeRuns(
        **means,
        cycles=cycles,
        replications=sampled.samples,
        ended_by=ended,
    )


class _Warmed:
    """Means of histories, after the warm-up that the first of them shows."""

    def __init__(self) -> None:
        self.first: int | None = None  # steps dropped
        self.is_enough = True

    def __call__(self, history: Array) -> Array:
        if self.first is None:
            self.first, self.is_enough = warm_up_of(history[:, :, 0].mean(axis=0))
        means = history[:, self.first :].mean(axis=1)
        length = means[:, :1]
        means[:, 3:] = 1.0 - means[:, 3:] / length
        delay = length - means[:, 1:2] - means[:, 2:3]
        return np.concatenate([means, delay], axis=1)
