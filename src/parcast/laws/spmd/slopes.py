"""How the time of an SPMD phase follows its parameters: derivatives by the chain rule.

The solvers give the derivatives of the time by computing u, delay f, queue x and I/O y
(`Cycle`); the demands of a cycle are sums and products of the amounts of program
and machine (`parcast.laws.spmd.demands`)::

    dT/d ln S_par = dT/du S_par/p            dT/d ln S0_com = dT/df S0_com
    dT/d ln S_ser = dT/du S_ser              dT/d ln v = dT/df (1-w) v + dT/dx w v m
    dT/d ln S0_io = dT/dy S0_io              dT/d ln w = -dT/df w v + dT/dx w v m
    dT/d ln SR_io = dT/dy (y - S0_io)

with m the processors of a group whose transfers use the shared network. Where two amounts add up
to one demand each takes its share. The level of contention that follows from the rates of the
network (w = bandwidth/saturation, while below 1) follows each of them.
"""

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.machine import LEVEL, Machine
from parcast.descriptions.program import Slopes
from parcast.laws.spmd.demands import Cycle, Demands, communicating, io_service, network_rate
from parcast.laws.spmd.tables import IoLaw, SpmdTables


def spmd_slopes(
    phase: SpmdTables, machine: Machine, at: Point, demand: Demands, run: Cycle
) -> Slopes:
    """Derivatives of the time of all cycles, `run`, by the logarithm of each amount. [s].

    By the names of the amounts that are given: the phase's ("compute.parallel", except counts of
    cycles, bursts and groups, and those of a law of its I/O) and the machine's
    ("network.latency").
    """
    by = demand_slopes(phase, demand, run)
    slopes = {
        **_of_computing(phase, machine, by),
        **_of_messages(phase, machine, by, at),
        **_of_storage(phase, machine, by, at),
    }
    _add(slopes, _of_contention(phase, machine, by, demand, at))
    return slopes


def demand_slopes(phase: SpmdTables, demand: Demands, solved: Cycle) -> Slopes:
    """Derivatives of a time by the logarithm of each field of `Demands` [s]."""
    v, w = demand.transfer, demand.contention
    io_rate_part = io_service(phase, demand) - demand.io_startup
    return {
        "parallel": solved.by_computing * demand.parallel / demand.p,
        "serial": solved.by_computing * demand.serial,
        "startup": solved.by_delay * demand.startup,
        "transfer": solved.by_delay * (1.0 - w) * v + solved.by_queue * w * v * demand.traffic,
        "contention": w * v * (solved.by_queue * demand.traffic - solved.by_delay),
        "io_startup": solved.by_io * demand.io_startup,
        "io_transfer": solved.by_io * io_rate_part,
    }


def _add(slopes: Slopes, others: Slopes) -> None:
    """Add derivatives to those that are there."""
    for name, slope in others.items():
        slopes[name] = slopes[name] + slope if name in slopes else slope


def _of_computing(phase: SpmdTables, machine: Machine, by: Slopes) -> Slopes:
    """Derivatives by the amounts of computing."""
    slopes: Slopes = {}
    for amount, demand in (
        (phase.compute.parallel, by["parallel"]),
        (phase.compute.serial, by["serial"]),
    ):
        if amount is None:
            continue
        slopes[amount.name] = demand
        if amount.dimension == "operations" and machine.compute.rate is not None:
            _add(slopes, {"compute.rate": -demand})
    return slopes


def _of_messages(phase: SpmdTables, machine: Machine, by: Slopes, at: Point) -> Slopes:
    """Derivatives by the amounts of communication, contention left out."""
    given, network = phase.communication, machine.network
    among = communicating(phase, at)
    own = _share(given.startup, (given.messages, network.latency), among)
    slopes = _parts(by["startup"], own, given.startup, (given.messages, network.latency))
    rate = None
    if given.volume is not None:
        rate = network_rate(phase, machine, among, why=given.volume.name)
    own = _share(given.transfer, (given.volume,), among, rate=rate)
    slopes |= _parts(by["transfer"], own, given.transfer, (given.volume,))
    if given.volume is not None and rate is not None:
        by_volume = slopes[given.volume.name]
        pair = machine.need("network.bandwidth", among, why=given.volume.name)
        of_pair = np.asarray(rate == pair, dtype=np.float64)
        slopes["network.bandwidth"] = -by_volume * of_pair
        if not of_pair.all():
            slopes["network.saturation"] = -by_volume * (1.0 - of_pair)
    return slopes


def _of_storage(phase: SpmdTables, machine: Machine, by: Slopes, at: Point) -> Slopes:
    """Derivatives by the amounts of I/O."""
    given, storage = phase.io, machine.storage
    if isinstance(given, IoLaw):
        return {}
    latency = storage.latency if given.is_there else None
    own = _share(given.startup, (latency,), at)
    slopes = _parts(by["io_startup"], own, given.startup, (latency,))
    rate = None
    if given.volume is not None:
        rate = machine.need("storage.bandwidth", at, why=given.volume.name)
    own = _share(given.transfer, (given.volume,), at, rate=rate)
    slopes |= _parts(by["io_transfer"], own, given.transfer, (given.volume,))
    if given.volume is not None and storage.bandwidth is not None:
        slopes["storage.bandwidth"] = -slopes[given.volume.name]
    return slopes


def _share(
    own: Amount | None,
    factors: tuple[Amount | None, ...],
    at: Point,
    rate: Array | None = None,
) -> Array:
    """Share of an amount in the sum of it and a product, over a rate if there is one."""
    if own is None or any(factor is None for factor in factors):
        return np.asarray(0.0 if own is None else 1.0)
    first = own(at)
    other = np.ones(()) if rate is None else 1.0 / rate
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


def _of_contention(
    phase: SpmdTables, machine: Machine, by: Slopes, demand: Demands, at: Point
) -> Slopes:
    """Derivatives by what the level of contention comes from; 0 where it is held at 1."""
    network, own = machine.network, phase.communication.contention
    slope = by["contention"]
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
    follows = np.where(demand.contention < 1.0, slope, 0.0)
    return {"network.bandwidth": follows, "network.saturation": -follows}
