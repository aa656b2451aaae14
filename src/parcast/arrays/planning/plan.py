"""Evaluate every number of servers and every schema, and rank them by one of three objectives.

    time           the least time of the request [S in words]
    utilisation    the highest share of the rates of the file systems that is used [S in words]
    fewest         the fewest servers whose best schema takes at most so much longer than the
                   least time of all [S in words]

A plan is a number of servers and a mesh of them: each ordered product of as many factors as the
array has dimensions. A dimension with one position is whole (*), others are distributed (B).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.batches import EqualArrays, dealt_out
from parcast.arrays.geometry.boxes import Ints, as_schema
from parcast.arrays.geometry.choices import OBJECTIVES, Objective, Policy
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.meshes import fitting_meshes, number_of_meshes
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import (
    Subchunks,
    schema_subchunks,
)
from parcast.arrays.law.bottleneck import RequestSimulation, simulate_request
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.limits import Allowance
from parcast.arrays.law.request import Options
from parcast.arrays.planning.reasons import reasons_of
from parcast.arrays.planning.result import Planned, RequestPlan, ServerPlan
from parcast.deciding.alternatives import best_first
from parcast.errors import ParameterError, as_list, as_number, as_whole, require, require_one_of

WITHIN: Final = 0.1  # of the least time: less is below the error of the law [1]
MOST_SERVERS: Final = 65_536
MOST_PLANS: Final = 1000  # some 5 s
MOST_MESHES: Final = 100_000  # of one number of servers, which are looked through in half a second
FEWER: Final = "Give fewer numbers of servers, larger subchunks, fewer clients or fewer arrays."
HINT: Final = "Give numbers of servers, such as 1, 2 and 4."


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

    Of costs with one number for each server, plans of fewer servers take the first. With
    `storage` servers have whole storage chunks: one plan for each number of them.
    """
    options = Options() if options is None else options
    require_one_of("objective", objective, OBJECTIVES)
    within = as_number("within", within, hint="0.1 is 10%.")
    require("within", within, within >= 0, must="be at least 0", hint="0.1 is 10%.")
    listed = as_list("servers", servers, hint=HINT)
    counts = [as_whole("servers", n, least=1, hint=HINT) for n in listed]
    as_whole("numbers of servers", len(counts), least=1, hint=HINT)
    ok = max(counts) <= MOST_SERVERS
    require("servers", max(counts), ok, must=f"be at most {MOST_SERVERS:,}", hint=HINT)
    request = Planned(chunks.shape, number, itemsize, chunks.clients, options)
    if storage is not None:
        outer = tuple(storage.storage)
        request = request._replace(storage=outer, inner=tuple(storage.inner or outer))
    evaluated: list[tuple[ServerPlan, RequestSimulation]] = []
    take = partial(Allowance(FEWER).take, servers=costs.servers, arrays=number)
    every = [*_each_mesh(sorted(set(counts)), chunks.shape, policy, storage is None)]
    for count, mesh in every:
        if storage is None:
            own = schema_subchunks(
                chunks.shape, mesh, itemsize=itemsize, policy=policy, most=options.buffer
            )
            take(chunks, own)
            arrays = [EqualArrays(overlaps(chunks, own), number)]
        else:
            arrays = dealt_out(
                chunks, *storage, number=number, servers=count, itemsize=itemsize, take=take
            )
        simulation = simulate_request(arrays, costs.with_servers(count), options)
        evaluated.append((_plan(arrays[0], mesh, simulation, request), simulation))
    plans = in_order([plan for plan, _ in evaluated], objective, within)
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


def _each_mesh(
    counts: Sequence[int], shape: Sequence[int], policy: Policy, has_schema: bool
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Numbers of servers with each of their meshes, or () where they have whole storage chunks."""
    tried = 0
    for count in counts:
        every: Sequence[tuple[int, ...]] = ((),)
        if has_schema:
            if number_of_meshes(count, len(shape)) <= MOST_MESHES:
                every = fitting_meshes(count, shape, policy)
                tried += len(every)
            else:
                tried = MOST_PLANS + 1
        if tried > MOST_PLANS:
            raise ParameterError(
                "the plans",
                must=f"be at most {MOST_PLANS:,}, one for each mesh of each number of servers",
                got=f"more up to {count:,} servers",
                hint="Give fewer numbers of servers.",
            )
        yield from ((count, mesh) for mesh in every)


def in_order(plans: Sequence[ServerPlan], objective: Objective, within: float) -> list[ServerPlan]:
    """Plans, the best first; of equal ones that of fewer servers."""
    order = best_first(
        [plan.time for plan in plans],
        [plan.servers for plan in plans],
        score=[-plan.utilisation for plan in plans] if objective == "utilisation" else None,
        close=within if objective == "fewest" else None,
    )
    return [plans[i] for i in order.tolist()]


def _plan(
    arrays: EqualArrays, mesh: tuple[int, ...], simulation: RequestSimulation, request: Planned
) -> ServerPlan:
    """Figures of one plan."""
    result = simulation.normal
    requests = arrays.overlaps.requests
    subchunks: Subchunks = arrays.overlaps.subchunks
    overlapping = np.bincount(requests.subchunk, minlength=len(subchunks.server))
    busy = result.intermediate[result.subchunks > 0]
    return ServerPlan(
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
