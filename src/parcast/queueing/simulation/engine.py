"""The engine of the simulation: one service at a time, in every replication at once.

All queues serve in order of arrival. So the jobs of a replication can be taken in the order in
which they arrive, whatever the queue: the one that arrives next, at time t, ends its service at
max(t, end of the queue's last service) + service, and arrives at the next queue a delay later,
which is never before t. No event list is needed, and no queueing theory is used [D]_.

State is kept in arrays (replications, jobs); one step is an argmin over the jobs and some twenty
operations on arrays (replications,). A service costs time in proportion to the number of jobs.

References
----------
.. [D] parcast's own; its reason is decision 4 in docs/decisions.
"""

from typing import NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.queueing.simulation.cycle import Index, Route

CELLS = 2**17
MOST_ROWS = 1024
LEAST_ROWS = 8


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
        counts = self.route.counts(self.rng, at.size)
        if self.route.service > 0:
            self._flat_left[at] = counts
            self._flat_arrival[at] = now + self.route.delays(self.rng, at.size)
        else:
            self._flat_left[at] = 0
            self._flat_arrival[at] = now + self.route.sums(self.rng, counts)

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
            delay = route.delays(rng, rows)
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
        end, response = route.sums(rng, counts).reshape(rows, jobs), np.zeros(rows)
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
    arrival = route.delays(rng, rows * jobs).reshape(rows, jobs)
    end, free, response = np.zeros((rows, jobs)), np.zeros(rows), np.zeros(rows)
    flat_arrival, flat_left, flat_end = arrival.reshape(-1), left.reshape(-1), end.reshape(-1)
    first_job = np.arange(rows) * jobs
    active = rows
    for step in range(int(total[0])):
        while total[active - 1] <= step:
            active -= 1
        at = first_job[:active] + arrival[:active].argmin(axis=1)
        now = flat_arrival[at]
        done = np.maximum(now, free[:active])
        done += route.service * route.service_law(rng, active)
        free[:active] = done
        response[:active] += done - now
        bursts = flat_left[at] - 1
        flat_left[at] = bursts
        flat_end[at] = done
        done += route.delays(rng, active)
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
