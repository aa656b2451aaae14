"""SPMD programs: processors that compute, communicate and do I/O in cycles.

The solvers give the derivatives of the time by computing u, delay f, queue x and I/O y
(`CycleDemands`); the demands of a cycle are sums and products of the amounts of program
and machine (`parcast.laws.spmd.demands`)::

    dT/d ln S_par = dT/du S_par/p            dT/d ln S0_com = dT/df S0_com
    dT/d ln S_ser = dT/du S_ser              dT/d ln v = dT/df v
    dT/d ln S0_io = dT/dy S0_io              dT/d ln q = (m dT/dx - dT/df) q
    dT/d ln SR_io = dT/dy (y - S0_io)

with q = w v the part of a transfer in the shared network, and m the processors of a group whose
transfers use it. Where two amounts add up to one demand each takes its share. The level of
contention that follows from the rates of the network (w = bandwidth/saturation, while below 1)
follows each of them.

A cycle is `bursts_per_io` bursts of computing and communicating, then one I/O. The processors,
the network and the disks are a closed queueing network (`parcast.laws.spmd.networks`), the demands
on it come from the descriptions of program and machine (`parcast.laws.spmd.demands`).

The law has exactly n bursts in every cycle, while the published equation (16) has a geometrically
distributed number with mean n [1]_: real programs write every n-th step. `bursts = "geometric"`
is the published reading, and `reading = "published"` uses the equations of a cycle as printed, see
`docs/reference/spmd.md`.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.advice import SIMULATE
from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import LEVEL, Machine
from parcast.descriptions.program import Slopes
from parcast.laws.spmd.demands import (
    CycleDemands,
    Demands,
    communicating,
    computing_time,
    contention_of,
    demands,
    io_service,
    long_interruptions,
    memory_time,
    with_servers,
)
from parcast.laws.spmd.imbalance import approximations, imbalanced_run, imbalanced_slopes
from parcast.laws.spmd.networks import FEW_CYCLES, cycle, ends_apart, run_of
from parcast.laws.spmd.tables import Communication, IoLaw, SpmdTables
from parcast.laws.spmd.transfers import NodeRoute, byte_time, transfer_of

# Measured with 1,000,000 points, 100,000 of clusters and 1000 with other sums at each, see
# `Phase.dearness`.
DEARNESS: Final = {"synchronous": 20, "striped": 50, "clustered": 200}
DEARNESS_OF_OWN_IO: Final = 1000  # half a millisecond, or some
DEAREST: Final = 8000
DEARNESS_OF_IMBALANCE: Final = {"synchronous": 1000, "striped": 400, "clustered": 10_000}


def spmd_slopes(phase: SpmdTables, machine: Machine, at: Point, by: Slopes) -> Slopes:
    """Derivatives of a time by the logarithm of each amount, from those `by` its demands. [s].

    By the names of the amounts that are given: the phase's ("compute.parallel", except counts of
    cycles, bursts and groups, and those of a law of its I/O) and the machine's
    ("network.latency").
    """
    slopes = {
        **_of_computing(phase, machine, by, at),
        **_of_messages(phase, machine, by, at),
        **_of_storage(phase, machine, by, at),
    }
    _add(slopes, _of_contention(phase, machine, by["shared"], at))
    return slopes


def demand_slopes(phase: SpmdTables, demand: Demands, solved: CycleDemands) -> Slopes:
    """Derivatives of a time by the logarithm of each field of `Demands` [s]."""
    io_rate_part = io_service(phase, demand) - demand.io_startup
    return {
        "parallel": solved.by_computing * demand.parallel / demand.p,
        "serial": solved.by_computing * demand.serial,
        "startup": solved.by_delay * demand.startup,
        "transfer": solved.by_delay * demand.transfer,
        "shared": (solved.by_queue * demand.traffic - solved.by_delay) * demand.shared,
        "io_startup": solved.by_io * demand.io_startup,
        "io_transfer": solved.by_io * io_rate_part,
    }


def _add(slopes: Slopes, others: Slopes) -> None:
    """Add derivatives to those that are there."""
    for name, slope in others.items():
        slopes[name] = slopes[name] + slope if name in slopes else slope


def _of_computing(phase: SpmdTables, machine: Machine, by: Slopes, at: Point) -> Slopes:
    """Derivatives by the amounts of computing."""
    given = phase.compute
    is_moved = memory_time(phase, machine, at) > computing_time(given.parallel, machine, at)
    of_memory = np.where(is_moved, by["parallel"], 0.0)
    slopes: Slopes = {}
    for amount, demand in (
        (given.parallel, by["parallel"] - of_memory),
        (given.serial, by["serial"]),
    ):
        if amount is None:
            continue
        slopes[amount.name] = demand
        if amount.dimension == "operations" and machine.compute.rate is not None:
            _add(slopes, {"compute.rate": -demand})
    if given.traffic is not None:
        slopes[given.traffic.name] = of_memory
        _add(slopes, _of_memory(machine, of_memory, at))
    return slopes


def _of_memory(machine: Machine, slope: Array, at: Point) -> Slopes:
    """Derivatives by the memory bandwidths: of a processor alone, or of its node."""
    own, shared = machine.compute.memory_bandwidth, machine.node.memory_bandwidth
    if own is None or shared is None:
        only = own or shared
        return {} if only is None else {only.name: -slope}
    alone = machine.memory_rate(at, why=own.name) >= own(at)
    return {own.name: np.where(alone, -slope, 0.0), shared.name: np.where(alone, 0.0, -slope)}


def _of_messages(phase: SpmdTables, machine: Machine, by: Slopes, at: Point) -> Slopes:
    """Derivatives by the amounts of communication, contention left out."""
    given, network = phase.communication, machine.network
    among = communicating(phase, at)
    own = _share(given.startup, (given.messages, network.latency), among)
    slopes = _parts(by["startup"], own, given.startup, (given.messages, network.latency))
    if given.volume is None:
        if given.transfer is not None:
            slopes[given.transfer.name] = by["transfer"] + by["shared"]
        return slopes
    routes, shared = transfer_of(phase, machine, among, given.volume)
    for slope, over in ((by["transfer"], routes), (by["shared"], (shared,))):
        _add(slopes, _of_routes(given, slope, over, among))
    return slopes


def _of_routes(
    given: Communication, slope: Array, routes: tuple[NodeRoute, ...], at: Point
) -> Slopes:
    """Split the derivative by a transfer among what is sent, and the rates of its routes."""
    assert given.volume is not None
    byte = byte_time(*routes)
    some = np.where(byte > 0, byte, 1.0)  # 0 where no byte takes any of the routes
    own = _share(given.transfer, (given.volume,), at, over=byte)
    slopes = _parts(slope, own, given.transfer, (given.volume,))
    for route in routes:
        part = slopes[given.volume.name] * route.share / route.rate / some
        _add(slopes, {name: -part * here for name, here in route.limits.items()})
    return slopes


def _of_storage(phase: SpmdTables, machine: Machine, by: Slopes, at: Point) -> Slopes:
    """Derivatives by the amounts of I/O."""
    given, storage = phase.io, machine.storage
    if isinstance(given, IoLaw):
        return {}
    latency = storage.latency if given.is_there else None
    own = _share(given.startup, (latency,), at)
    slopes = _parts(by["io_startup"], own, given.startup, (latency,))
    byte = None
    if given.volume is not None:
        byte = 1.0 / machine.need("storage.bandwidth", at, why=given.volume.name)
    own = _share(given.transfer, (given.volume,), at, over=byte)
    slopes |= _parts(by["io_transfer"], own, given.transfer, (given.volume,))
    if given.volume is not None and storage.bandwidth is not None:
        slopes["storage.bandwidth"] = -slopes[given.volume.name]
    return slopes


def _share(
    own: Amount | None,
    factors: tuple[Amount | None, ...],
    at: Point,
    over: Array | None = None,
) -> Array:
    """Share of an amount in the sum of it and a product, times `over` if there is one."""
    if own is None or any(factor is None for factor in factors):
        return np.asarray(0.0 if own is None else 1.0)
    first = own(at)
    other = np.ones(()) if over is None else over
    for factor in factors:
        other = other * factor(at) if factor is not None else other
    total = np.asarray(first + other)
    return np.divide(first, total, out=np.zeros(total.shape), where=total > 0)


def _parts(
    slope: Array, share: Array, own: Amount | None, factors: tuple[Amount | None, ...]
) -> Slopes:
    """Split a derivative between an amount and the factors of a product added to it."""
    slopes = {} if own is None else {own.name: slope * share}
    if all(factor is not None for factor in factors):
        slopes |= {x.name: slope * (1.0 - share) for x in factors if x is not None}
    return slopes


def _of_contention(phase: SpmdTables, machine: Machine, slope: Array, at: Point) -> Slopes:
    """Derivatives by what the level of contention comes from; 0 where it is held at 1."""
    network, own = machine.network, phase.communication.contention
    if LEVEL in at or (
        phase.communication.volume is None and phase.communication.transfer is None
    ):
        return {}
    if own is not None:
        return {own.name: slope}
    if "network.contention" in at or network.contention is not None:
        return {"network.contention": slope}
    if network.saturation is None and "network.saturation" not in at:
        return {}
    level = contention_of(phase, machine, communicating(phase, at))
    follows = np.where(level < 1.0, slope, 0.0)
    return {"network.bandwidth": follows, "network.saturation": -follows}


class SpmdPhase(SpmdTables):
    """A phase of an SPMD program.

    >>> phase = SpmdPhase(law="spmd", compute={"parallel": "8 s"}, bursts_per_io=5)
    >>> phase.cycle(Machine(), {"p": [1.0, 4.0]}).time
    array([40., 10.])
    """

    simulator = "parcast.simulation.spmd:SpmdSimulator"

    def demands(self, machine: Machine, at: Point) -> Demands:
        """What a cycle asks for at every point of a grid."""
        return demands(self, machine, at)

    def solve(self, demand: Demands) -> CycleDemands:
        """Time of one cycle that asks for `demand`, with its derivatives."""
        burst = demand.computing + demand.delay + demand.queue
        idle = (burst <= 0) & (io_service(self, demand) <= 0)
        if not idle.any():
            return cycle(self, demand)
        # Nothing to do, as a lone processor has where a phase only communicates.
        solved = cycle(self, replace(demand, serial=np.where(idle, 1.0, demand.serial)))
        busy = np.asarray(~idle, dtype=np.float64)
        return replace(solved, breakdown=solved.breakdown * busy)

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle in the long run at every point of a grid [s]."""
        demand = self.demands(machine, at)
        if self.compute.imbalance is not None:
            return imbalanced_run(self, demand, np.ones(()))
        return self.solve(demand).breakdown

    def times(self, machine: Machine, at: Point) -> Breakdown:
        """Time of all cycles at every point of a grid, as `Phase.times` [s]."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused where it is asked for
            demand = self.demands(machine, at)
            if self.compute.imbalance is not None:
                return imbalanced_run(self, demand, self.cycles(at))
            return self.run(demand, self.cycles(at)).breakdown

    def run(self, demand: Demands, cycles: Array) -> CycleDemands:
        """Time of all cycles that ask for `demand`, with its derivatives."""
        return run_of(self, demand, self.solve(demand), cycles)

    def slopes(self, machine: Machine, at: Point) -> tuple[Array, Slopes] | None:
        """Time of all cycles, and its derivatives by the logarithms of the amounts [s].

        None where an amount of a law of its I/O varies.
        """
        if any(f"{name}*" in at for name in self.priced):
            return None
        time, by = self._by_demands(machine, at)
        return time, spmd_slopes(self, machine, at, by)

    def _by_demands(self, machine: Machine, at: Point) -> tuple[Array, Slopes]:
        """Time of all cycles, and its derivatives by what they ask for."""
        demand, cycles = self.demands(machine, at), self.cycles(at)
        if self.compute.imbalance is not None or np.any(demand.interruption):
            run = imbalanced_run(self, demand, cycles)
            return run.time, imbalanced_slopes(self, demand, cycles)
        solved = self.run(demand, cycles)
        return solved.breakdown.time, demand_slopes(self, demand, solved)

    @property
    def alone(self) -> "SpmdPhase":
        """The phase of equation (1): in the published reading it has no communication."""
        if self.reading != "published" or not self.communication.is_there:
            return self
        return self.model_copy(update={"communication": Communication()})

    def resource_slopes(self, machine: Machine, at: Point) -> Breakdown:
        """Derivatives of the time of all cycles by the service times of each resource [s]."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite, of times near 0
            _, by = self._by_demands(machine, at)
        return Breakdown(
            compute=by["parallel"] + by["serial"] + by.get("interruption", 0.0),
            communication=by["startup"] + by["transfer"] + by["shared"],
            io=by["io_startup"] + by["io_transfer"],
        )

    def work(self, machine: Machine, at: Point) -> Array:
        """Work of all cycles that processors share, on one of them [s]."""
        parallel, traffic = self.compute.parallel, self.compute.traffic
        alone = {**at, "p": np.ones_like(np.asarray(at["p"], dtype=np.float64))}
        work = np.zeros(()) if parallel is None else parallel(at)
        if parallel is not None and parallel.dimension == "operations":
            work = work / machine.need("compute.rate", alone, why=parallel.name)
        if traffic is not None:
            work = np.maximum(work, traffic(at) / machine.memory_rate(alone, why=traffic.name))
        return self.cycles(at) * self.bursts_per_io(at) * work

    @property
    def dearness(self) -> int:
        """More where processors end apart or I/O has its law, most where sums differ by point."""
        if self.compute.imbalance is not None:
            joins = self.io.kind == "synchronous"
            chained = joins and self.bursts == "geometric"
            return DEAREST if chained else DEARNESS_OF_IMBALANCE[self.io.kind]
        if self._sums_differ:
            return DEAREST
        if isinstance(self.io, IoLaw):
            return DEARNESS_OF_OWN_IO
        return DEARNESS[self.io.kind] if ends_apart(self) else DEARNESS["synchronous"]

    @property
    def _sums_differ(self) -> bool:
        sums = (self.cycles, self.bursts_per_io, self.communication.group)
        return ends_apart(self) and any(x.expression.axes for x in sums)

    def warnings_at(self, machine: Machine, at: Point) -> Iterator[str]:
        """Give what a reader of the times at some points must know, in sentences."""
        if isinstance(self.io, IoLaw):
            yield from self.io.warnings_at(with_servers(machine, at))
        if ends_apart(self):
            yield from self._few_cycles(with_servers(machine, at))
        yield from self._memory_bound(machine, at)
        if self.compute.imbalance is not None or machine.compute.background is not None:
            demand = self.demands(machine, at)
            yield from approximations(self, demand)
            yield from long_interruptions(machine, at, demand)

    def _memory_bound(self, machine: Machine, at: Point) -> Iterator[str]:
        """Say where memory bandwidth limits the computing."""
        moved = memory_time(self, machine, at)
        p, is_moved = np.broadcast_arrays(
            at["p"], moved > computing_time(self.compute.parallel, machine, at)
        )
        if is_moved.any():
            least = p[is_moved].min()
            where = f"from p = {least:g} on" if least > p.min() else "at every p"
            yield (
                f"Memory bandwidth limits the computing {where}: a higher compute.rate would not "
                "shorten it there."
            )

    def _few_cycles(self, at: Point) -> Iterator[str]:
        """Say where start and end of a run are much of it."""
        cycles, p = np.broadcast_arrays(self.cycles(at), at["p"])
        cycles = cycles[p > 1]
        if (cycles == 1).any():
            yield (
                f"The time of one cycle of {self.io.kind} I/O is that of one of many, without the "
                "start and end of a run. Give the cycles of the whole run."
            )
        few = cycles[(cycles > 1) & (cycles < FEW_CYCLES)]
        if few.size:
            yield (
                f"Start and end are much of a run of {few.min():g} cycles of {self.io.kind} I/O, "
                f"and below {FEW_CYCLES} cycles the law knows them to a few per cent of the time "
                f"only. Check it: {SIMULATE}"
            )

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        network = machine.network
        talks = any(
            x is not None for x in (self.communication.volume, self.communication.transfer)
        )
        knows = (network.saturation, network.contention, self.communication.contention)
        if talks and all(x is None for x in knows):
            yield (
                "No contention in the network is assumed, as its saturation rate is not given. "
                "Add network.saturation if processors share the network."
            )
        if self.alone is not self:
            yield (
                "In the published reading speedups are over the time of equation (1), without "
                "communication: on one processor and one disk they are below 1."
            )
        joins = self.io.kind == "synchronous" and self.bursts == "geometric"
        if joins and self.is_exponential and not self.has_many_bursts:
            yield (
                "Geometric numbers of bursts with exponential times are solved by equation (16), "
                "which is up to 29% too high for few bursts per cycle. Check it: "
                f"{SIMULATE}"
            )

    def io_service(self, demand: Demands) -> Array:
        """Service time of one I/O request [s]."""
        return io_service(self, demand)
