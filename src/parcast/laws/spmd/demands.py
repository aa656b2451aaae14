"""What one cycle of an SPMD phase asks of processors, network and disks, in seconds.

With S the services of [1]_ for one burst of one processor, g(p) the communication scale, w the
level of contention, c the processors of a synchronisation group and K = p/c groups [S]_::

    computing      u = S_par/p + S_ser          S_par at least (bytes / memory bandwidth)   [D]
    start-up       S0_com                       (messages x latency)
    transfer       v = g(p) SR_com              (bytes / bandwidth)
    shared queue   x = w v                      (9)
    delay          f = S0_com + (1 - w) v       (10)
    slowest of c   z = h(c) u + f               (15)
    I/O service    y = S0_io + SR_io/d          synchronous (14)
                   y = S0_io + SR_io/(d K)      striped
                   y = S0_io + SR_io/K          clustered

Other jobs on the processors make u longer and let it vary, see `background_of` [D]. With a law of
the I/O it gives S0_io and SR_io/d, see `parcast.arrays.law.phase`.

At p = 1 nobody communicates, so that T(1,1) is the reference time (1); the published equations
keep S0_com there, which contradicts them. The traffic of a group that communicates synchronously
is counted once for the group, as published, or once for each processor.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.advice import SIMULATE
from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import LEVEL, Machine, level_of
from parcast.errors import Argument, ParameterError, require
from parcast.laws.spmd.tables import InputOutput, IoLaw, SpmdTables
from parcast.laws.spmd.transfers import byte_time, transfer_of
from parcast.queueing.order import deviation_of_maximum, expected_maximum
from parcast.queueing.time_laws import WIDEST, TimeLaw, gamma_times


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Demands:
    """What one cycle asks for at every point of a grid; arrays that broadcast together."""

    p: Array  # processors [1]
    d: Array  # disks or I/O servers [1]
    group: Array  # processors that communicate synchronously, c [1]
    bursts: Array  # bursts in a cycle, n, on average [1]
    parallel: Array  # S_par: computing that is shared, on one processor [s]
    serial: Array  # S_ser: computing that every processor repeats [s]
    startup: Array  # S0_com; 0 for a lone processor [s]
    transfer: Array  # v = g(p) SR_com, while nobody else sends; 0 for a lone processor [s]
    shared: Array  # its part in the shared network, w v [s]
    io_startup: Array  # S0_io [s]
    io_transfer: Array  # SR_io: all bytes at the rate of one server [s]
    traffic: Array  # processors of a group whose transfers use the shared network: 1 or c [1]
    imbalance: Array  # shared work of a heavy processor over the mean, b; 1: all are equal [1]
    heavy: Array  # heavy processors, h [1]
    interruption: Array  # variance that other jobs add to computing, over its mean [s]

    @property
    def groups(self) -> Array:
        """Groups of processors, K = p/c [1]."""
        return self.p / self.group

    @property
    def computing(self) -> Array:
        """Computing of a burst, u, the mean over processors [s]."""
        return self.parallel / self.p + self.serial

    @property
    def heavy_computing(self) -> Array:
        """Computing of a burst of a heavy processor [s]."""
        return self.imbalance * self.parallel / self.p + self.serial

    @property
    def light_computing(self) -> Array:
        """Computing of a burst of one of the others, which have what is left of the work [s]."""
        others = np.maximum(self.p - self.heavy, 1.0)
        left = np.maximum(self.p - self.heavy * self.imbalance, 0.0) / others
        return left * self.parallel / self.p + self.serial

    @property
    def delay(self) -> Array:
        """Communication that nobody else delays, f [s]."""
        return self.startup + (self.transfer - self.shared)

    @property
    def queue(self) -> Array:
        """Service at the shared network, x [s]."""
        return self.shared * self.traffic


HEAVY: Final = "compute.heavy"
DEMANDED: Final = (  # fields that times are proportional to, all together
    "parallel",
    "serial",
    "startup",
    "transfer",
    "shared",
    "io_startup",
    "io_transfer",
    "interruption",
)


def demands(phase: SpmdTables, machine: Machine, at: Point) -> Demands:
    """What a cycle of `phase` asks of `machine` at every point of a grid.

    "d" is the machine's number of servers where it is not given.
    """
    at = {name: np.asarray(values, dtype=np.float64) for name, values in at.items()}
    if "p" not in at:
        raise ParameterError(
            "p",
            must="be given",
            hint=("Give the processor counts, such as ", Argument("p", [1, 2, 4]), "."),
        )
    at = with_servers(machine, at)
    for axis, what in (("p", "processors"), ("d", "disks")):
        whole = (at[axis] >= 1) & np.isfinite(at[axis]) & (at[axis] == np.floor(at[axis]))
        hint = f"Count {what} from 1."
        require(axis, at[axis], whole, must="be a whole number of at least 1", hint=hint)
    p = at["p"]
    among = communicating(phase, at)
    talks = np.asarray((phase.reading == "published") | (p > 1), dtype=np.float64)
    compute = phase.compute
    group = _group(phase.communication.group(at), p)
    bursts = phase.bursts_per_io(at)
    if "bursts_per_io*" in at:  # a sample of an uncertain number
        bursts = np.maximum(bursts, 1.0)
    require(
        "bursts_per_io", bursts, bursts >= 1, must="be at least 1", hint="Give the bursts per I/O."
    )
    parallel = computing_time(compute.parallel, machine, at)
    moving, serial = memory_time(phase, machine, at), computing_time(compute.serial, machine, at)
    imbalance, heavy = _imbalance(phase, at)
    slowdown, interruption = background_of(machine, at)
    startup = talks * _startup(phase, machine, among)
    transfer, shared = _transfer(phase, machine, among)
    return Demands(
        p=p,
        d=at["d"],
        group=group,
        bursts=bursts,
        parallel=np.maximum(parallel, moving) * slowdown,
        serial=serial * slowdown,
        startup=startup,
        transfer=talks * transfer,
        shared=talks * shared,
        **_io(phase.io, machine, at),
        traffic=group if phase.communication.traffic == "processor" else np.ones(()),
        imbalance=imbalance,
        heavy=heavy,
        interruption=interruption,
    )


def with_servers(machine: Machine, at: Point) -> Point:
    """Points with "d", by default the machine's number of servers."""
    return at if "d" in at else {"d": machine.servers(at), **at}


def communicating(phase: SpmdTables, at: Point) -> Point:
    """Points where formulas of communication need not be good for a lone processor.

    It has no communication, but in the published reading.
    """
    return at if phase.reading == "published" else {**at, "p": np.maximum(at["p"], 2.0)}


def _group(group: Array, p: Array) -> Array:
    """Check that groups of c processors share out the p processors; a lone one is a group."""
    group, p = np.broadcast_arrays(group, p)
    group = np.where(p == 1, 1.0, group)
    whole = (group >= 1) & np.isfinite(group) & (group == np.floor(group))
    hint = "It is the number of processors that communicate synchronously."
    name = "communication.group"
    require(name, group, whole, must="be a whole number of at least 1", hint=hint)
    uneven = np.mod(p, group) != 0
    if uneven.any():
        c, at = group[uneven].flat[0], p[uneven].flat[0]
        # Of a p that is smaller the formula makes one group; of a larger one it changes nothing.
        formula = f', or write a formula such as "min(p, {c:g})"' if at < c else ""
        raise ParameterError(
            name, must="divide p", got=f"{c:g} at p = {at:g}", hint=f"Leave that p out{formula}."
        )
    return np.asarray(group)


class OtherJobs(NamedTuple):
    """Other jobs on a processor: they compete for it now and then, in equal shares."""

    share: Array  # of the time in which they compete, a [1]
    loss: Array  # of the processor while they do, m/(1 + m) of m jobs [1]
    duration: Array  # mean time that they do in a row, B; 0: short against a burst [s]


def background(machine: Machine, at: Point) -> OtherJobs | None:
    """What the machine says of other jobs, if it does."""
    given = machine.compute
    if given.background is None:
        return None
    share = given.background(at)
    hint = "It is the share of the time in which other jobs compete."
    require(given.background.name, share, share <= 1, must="be at most 1", hint=hint)
    jobs = np.ones(()) if given.background_jobs is None else given.background_jobs(at)
    return OtherJobs(share, jobs / (1.0 + jobs), _amount(given.background_time, at))


def background_of(machine: Machine, at: Point) -> tuple[Array, Array]:
    """How much longer computing takes beside other jobs, and `Demands.interruption`.

    With r = 1 - a m/(1 + m) the mean rate of a processor, the time for some work has the mean
    work/r and, of exponential times with and without the other jobs, in the long run the variance
    2 a (1-a)^2 (m/(1+m))^2 B work/r^3 [D]: that of a process of two rates, whose correlation
    decays within (1-a) B.
    """
    found = background(machine, at)
    if found is None:
        return np.ones(()), np.zeros(())
    share, loss, duration = found
    rate = 1.0 - share * loss
    varies = 2.0 * share * (1.0 - share) ** 2 * loss**2 * duration
    return 1.0 / rate, np.asarray(varies / rate**2)


def long_interruptions(machine: Machine, at: Point, demand: Demands) -> Iterator[str]:
    """Say where other jobs stay for longer than a burst computes."""
    found = background(machine, at)
    if found is None:
        return
    duration, computing, p, _ = np.broadcast_arrays(
        found.duration, demand.computing, at["p"], demand.interruption
    )
    longer = (duration > computing) & (demand.interruption > 0) & (p > 1)
    if longer.any():
        yield (
            f"Other jobs compete for longer in a row than a burst computes from p = "
            f"{p[longer].min():g} on: the slowest of many processors is not known well there, "
            f"and mostly earlier than said. Check it: {SIMULATE}"
        )


def time_law(phase: SpmdTables, computing: Array, interruption: Array) -> TimeLaw:
    """Law of the times of a burst that computes for so long: its own, or wider by other jobs."""
    if not np.any(interruption):
        return phase.compute.law
    added = np.divide(
        interruption,
        computing,
        out=np.zeros(np.shape(computing + interruption)),
        where=computing > 0,
    )
    cv = np.sqrt(phase.compute.law.cv**2 + added)
    hint = "Other jobs that stay for so long are no background of a burst."
    require("compute.background_time", cv, cv <= WIDEST, must="vary a burst less", hint=hint)
    return gamma_times(cv)


def _imbalance(phase: SpmdTables, at: Point) -> tuple[Array, Array]:
    """Shared work of a heavy processor over the mean, and heavy processors; 1 of a lone one."""
    given, p = phase.compute, at["p"]
    if given.imbalance is None:
        return np.ones(()), np.ones(())
    few = np.ones(()) if given.heavy is None else given.heavy(at)
    heavy, imbalance, p = np.broadcast_arrays(few, given.imbalance(at), p)
    alone = p == 1
    heavy = np.where(alone, 1.0, heavy)
    name = HEAVY
    ok = (heavy >= 1) & (heavy == np.floor(heavy))
    hint = 'Write for example "max(1, floor(p/8))".'
    require(name, heavy, ok, must="be a whole number of at least 1", hint=hint)
    many = ~alone & (heavy >= p)
    if many.any():
        raise ParameterError(
            name,
            must="be less than p",
            got=f"{heavy[many].flat[0]:g} at p = {p[many].flat[0]:g}",
            hint="Leave that p out, or write a formula such as "
            f'"min({heavy[many].flat[0]:g}, p - 1)".',
        )
    most = p / heavy
    name = given.imbalance.name
    if name in at or f"{name}*" in at:  # a sample of an uncertain number, or one that is varied
        imbalance = np.clip(imbalance, 1.0, most)
    imbalance = np.where(alone, 1.0, imbalance)
    hint = "It is the work of a heavy processor over the mean: 1.3 is 30% more."
    require(name, imbalance, imbalance >= 1, must="be at least 1", hint=hint)
    over = imbalance > most * (1.0 + 1e-12)
    if over.any():
        place = f"{imbalance[over].flat[0]:g} at p = {p[over].flat[0]:g}"
        few = heavy[over].flat[0]
        raise ParameterError(
            name,
            must=f"be at most p/heavy = {most[over].flat[0]:g}, which leaves the others no work",
            got=place,
            hint=f'Write for example "min({imbalance[over].flat[0]:g}, '
            f'p{"" if few == 1 else f"/{few:g}"})".',
        )
    return np.asarray(imbalance), np.asarray(heavy)


def _amount(amount: Amount | None, at: Point) -> Array:
    """Value of an amount, 0 where none is given."""
    return np.zeros(()) if amount is None else _finite(amount, amount(at))


def _finite(amount: Amount, value: Array) -> Array:
    """Refuse what replaced an amount if it is negative, infinite or NaN."""
    ok: NDArray[np.bool_] = (value >= 0) & np.isfinite(value)
    require(amount.name, value, ok, must="be finite and at least 0", hint="Check its range.")
    return value


def computing_time(amount: Amount | None, machine: Machine, at: Point) -> Array:
    """Time of computing that is given as a time or as operations."""
    value = _amount(amount, at)
    if amount is None or amount.dimension == "time":
        return value
    return value / machine.need("compute.rate", at, why=amount.name)


def memory_time(phase: SpmdTables, machine: Machine, at: Point) -> Array:
    """Time of the bytes of the shared work of a burst, if one processor moved all of them [s]."""
    traffic = phase.compute.traffic
    if traffic is None:
        return np.zeros(())
    return _amount(traffic, at) / machine.memory_rate(at, why=traffic.name)


def _startup(phase: SpmdTables, machine: Machine, at: Point) -> Array:
    """Start-up of the messages of a burst."""
    given = phase.communication
    messages, latency = _amount(given.messages, at), _amount(machine.network.latency, at)
    return _amount(given.startup, at) + messages * latency


def contention_of(phase: SpmdTables, machine: Machine, at: Point) -> Array:
    """Level of contention: the program's, or else the machine's."""
    given = phase.communication.contention
    if given is not None and LEVEL not in at:
        return level_of(given, at)
    return machine.contention(at)


def _transfer(phase: SpmdTables, machine: Machine, at: Point) -> tuple[Array, Array]:
    """Transfer of a burst while nobody else sends, and its part in the shared network [s]."""
    given = phase.communication
    if given.volume is None and given.transfer is None:
        return np.zeros(()), np.zeros(())
    level = contention_of(phase, machine, at)
    time = _amount(given.transfer, at)
    if given.volume is None:
        return time, level * time
    value = _amount(given.volume, at)
    routes, shared = transfer_of(phase, machine, at, given.volume)
    return time + value * byte_time(*routes), level * (time + value * byte_time(shared))


def _io(io: InputOutput | IoLaw, machine: Machine, at: Point) -> dict[str, Array]:
    """Start-up of an I/O, and its transfer with one server, as fields of `Demands`."""
    if isinstance(io, IoLaw):
        service = io.service(at)
        transfer = service.transfer * at["d"]  # synchronous I/O is shared by d
        return {"io_startup": service.startup, "io_transfer": transfer}
    startup = _amount(io.startup, at) + _amount(machine.storage.latency, at) * io.is_there
    transfer = _amount(io.transfer, at) + _storage_time(io, machine, at)
    return {"io_startup": startup, "io_transfer": transfer}


def _storage_time(io: InputOutput, machine: Machine, at: Point) -> Array:
    """Time of the bytes of an I/O, at the rate of one server."""
    volume = io.volume
    if volume is None:
        return np.zeros(())
    return _amount(volume, at) / machine.need("storage.bandwidth", at, why=volume.name)


def io_service(phase: SpmdTables, demand: Demands) -> Array:
    """Service time of one I/O request, y, equation (14) [s]."""
    share = demand.d
    if phase.io.kind == "striped":
        share = demand.d * demand.groups
    elif phase.io.kind == "clustered":
        share = demand.groups
    return demand.io_startup + demand.io_transfer / share


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Burst:
    """One burst: the slowest of a group computes z - f, which is h times as long as each."""

    slowest: Array  # h(c) [1]
    delay: Array  # z [s]
    cv: Array  # of what the slowest computes [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CycleDemands:
    """One cycle: where its time goes, and how it follows what it asks for."""

    breakdown: Breakdown  # [s]
    burst: Burst
    by_computing: Array  # derivative of the time by u [1]
    by_delay: Array  # by f [1]
    by_queue: Array  # by x [1]
    by_io: Array  # by y [1]


def burst_of(phase: SpmdTables, demand: Demands) -> Burst:
    """Delay of a burst, equation (15)."""
    law = time_law(phase, demand.computing, demand.interruption)
    slowest = expected_maximum(demand.group, law)
    delay = slowest * demand.computing + demand.delay
    cv = deviation_of_maximum(demand.group, law) / slowest
    return Burst(slowest=slowest, delay=delay, cv=cv)
