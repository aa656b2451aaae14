"""Evaluate every number of servers and every schema, and rank them by one of three objectives.

    time           the least time of the request [S in words]
    utilisation    the highest share of the rates of the file systems that is used [S in words]
    fewest         the fewest servers whose best schema takes at most so much longer than the
                   least time of all [S in words]

A plan is a number of servers and a mesh of them: each ordered product of as many factors as the
array has dimensions. A dimension with one position is whole (*), others are distributed (B).
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.arrays.batches import EqualArrays, dealt_out
from parcast.arrays.choices import OBJECTIVES, Objective, Policy
from parcast.arrays.chunks import Chunks
from parcast.arrays.costs import Costs
from parcast.arrays.geometry import Ints, as_schema, leaves_none_empty
from parcast.arrays.law import Options
from parcast.arrays.overlaps import overlaps
from parcast.arrays.planning.reasons import reasons_of
from parcast.arrays.planning.result import Plan, Planned, RequestPlan
from parcast.arrays.simulation.result import RequestSimulation
from parcast.arrays.simulation.simulate import simulate_request
from parcast.arrays.subchunks import Subchunks, schema_subchunks
from parcast.errors import ParameterError, as_list, as_number, as_whole, require
from parcast.units import shown

WITHIN: Final = 0.1  # of the least time: less is below the error of the law [1]
MOST_SERVERS: Final = 65_536
HINT: Final = "Give numbers of servers, such as range(1, 9)."


class StorageChunks(NamedTuple):
    """Extents of the storage chunks of an array, and of the inner chunks that they consist of."""

    storage: Sequence[int]
    inner: Sequence[int] | None = None


def plan_request(
    chunks: Chunks,
    costs: Costs,
    *,
    itemsize: int,
    servers: Sequence[int] = range(1, 9),
    number: int = 1,
    storage: StorageChunks | None = None,
    policy: Policy = "balanced",
    objective: Objective = "time",
    within: float = WITHIN,
    options: Options | None = None,
) -> RequestPlan:
    """Rank the plans of a request of `number` equal arrays that clients hold in `chunks`.

    Parameters
    ----------
    chunks : Chunks
        Distribution of an array over the clients.
    costs : Costs
        Costs of clients and servers; of arrays with one number for each server, plans of fewer
        servers take the first.
    itemsize : int
        Bytes of an element. [B]
    servers : sequence of int
        Numbers of servers that are considered.
    number : int
        Equal arrays in the request.
    storage : StorageChunks, optional
        Servers have whole storage chunks instead of chunks by a schema: one plan for each number.
    policy : {"balanced", "hpf"}
        How extents are divided that the mesh of servers does not divide.
    objective : {"time", "utilisation", "fewest"}
        What the best plan is.
    within : float
        With "fewest", how much longer than the least time a plan may take. [1]
    options : Options, optional
        How the request is carried out; subchunks of a schema have at most `buffer` bytes.

    Returns
    -------
    RequestPlan

    Raises
    ------
    ParameterError
        If an argument lies outside its domain.
    """
    options = Options() if options is None else options
    if objective not in OBJECTIVES:
        must = "be " + " or ".join(f'"{each}"' for each in OBJECTIVES)
        raise ParameterError(
            "objective", must=must, got=shown(repr(objective)), hint="Choose one."
        )
    within = as_number("within", within, hint="0.1 is 10 %.")
    require("within", within, within >= 0, must="be at least 0", hint="0.1 is 10 %.")
    listed = as_list("servers", servers, hint=HINT)
    counts = [as_whole("servers", n, least=1, hint=HINT) for n in listed]
    as_whole("numbers of servers", len(counts), least=1, hint=HINT)
    ok = max(counts) <= MOST_SERVERS
    require("servers", max(counts), ok, must=f"be at most {MOST_SERVERS:,}", hint=HINT)
    request = Planned(chunks.shape, number, itemsize, chunks.clients, options)
    if storage is not None:
        outer = tuple(storage.storage)
        request = request._replace(storage=outer, inner=tuple(storage.inner or outer))
    evaluated: list[tuple[Plan, RequestSimulation]] = []
    for count in sorted(set(counts)):
        for mesh in fitting_meshes(count, chunks.shape, policy) if storage is None else ((),):
            layout: dict[str, Any] = {"itemsize": itemsize, "servers": count}
            if storage is None:
                own = schema_subchunks(
                    chunks.shape, mesh, policy=policy, most=options.buffer, **layout
                )
                arrays = [EqualArrays(overlaps(chunks, own), number)]
            else:
                arrays = dealt_out(chunks, *storage, number=number, **layout)
            simulation = simulate_request(arrays, costs.with_servers(count), options)
            evaluated.append((_plan(arrays[0], mesh, simulation, request), simulation))
    plans = ranked([plan for plan, _ in evaluated], objective, within)
    return RequestPlan(
        shape=chunks.shape,
        size=prod(chunks.shape) * itemsize * number,
        number=number,
        clients=chunks.clients,
        objective=objective,
        within=within,
        plans=tuple(plans),
        simulation=next(simulation for plan, simulation in evaluated if plan is plans[0]),
        options=options,
        reasons=tuple(reasons_of(plans, objective, within)),
        storage=request.storage or None,
        buffer=request.buffer,
    )


def meshes(count: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    """All meshes of so many nodes.

    >>> list(meshes(4, 2))
    [(1, 4), (2, 2), (4, 1)]
    """
    if dimensions == 1:
        yield (count,)
        return
    for first in (n for n in range(1, count + 1) if count % n == 0):
        for rest in meshes(count // first, dimensions - 1):
            yield (first, *rest)


def ranked(plans: Sequence[Plan], objective: Objective, within: float) -> list[Plan]:
    """Plans, the best first; of equal ones that of fewer servers."""
    by_time = sorted(plans, key=lambda plan: (plan.time, plan.servers))
    if objective == "utilisation":
        return sorted(by_time, key=lambda plan: -plan.utilisation)
    if objective == "time":
        return by_time
    # The best of each number of servers that is fast enough comes first, fewer servers before.
    latest = by_time[0].time * (1 + within)
    first: dict[int, Plan] = {}
    for plan in by_time:
        if plan.time <= latest:
            first.setdefault(plan.servers, plan)
    chosen = [first[count] for count in sorted(first)]
    return chosen + [plan for plan in by_time if first.get(plan.servers) is not plan]


def fitting_meshes(
    count: int, shape: Sequence[int], policy: Policy = "balanced"
) -> list[tuple[int, ...]]:
    """Meshes that leave no server without a part, or all of them where each does."""
    every = list(meshes(count, len(shape)))
    fitting = [mesh for mesh in every if leaves_none_empty(shape, mesh, policy)]
    return fitting or every


def _plan(
    arrays: EqualArrays, mesh: tuple[int, ...], simulation: RequestSimulation, request: Planned
) -> Plan:
    """Figures of one plan."""
    result = simulation.normal
    requests = arrays.overlaps.requests()
    subchunks: Subchunks = arrays.overlaps.subchunks
    overlapping = np.bincount(requests.subchunk, minlength=len(subchunks.server))
    busy = result.intermediate[result.subchunks > 0]
    return Plan(
        servers=len(result.startup),
        mesh=mesh,
        schema=as_schema(None, mesh) if mesh else "",
        time=result.time,
        utilisation=float(result.stored.sum() / result.time / result.disk_rate.sum()),
        throughput=float(result.size.sum() / result.time),
        overlapping=_range(overlapping),
        messages=_range(result.messages),
        balance=float(busy.max() / busy.min()) if len(busy) else 1.0,
        is_aligned=bool(requests.is_whole_chunk.all()),
        limited_by=simulation.limited_by,
        parts=simulation.shares,
        unbalanced=len(simulation.imbalances),
        request=request,
    )


def _range(counts: Ints) -> tuple[int, int]:
    """Least and most of some counts; 0 where there are none."""
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
