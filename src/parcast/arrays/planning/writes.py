"""`plan="auto"`: which servers take part in a write, and how it cuts the arrays on disk.

Numbers of servers, meshes over which arrays are cut into storage chunks, largest subchunks and
writers are evaluated by the law, with the geometry of the very request. First every number of
servers gets the mesh of the least time; the best of them are tried with other subchunks and
writers [D].
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from os import PathLike
from typing import Any, Final, NamedTuple, Self

from parcast.advice import Choice, ours
from parcast.arrays.geometry.boxes import Point
from parcast.arrays.geometry.choices import Writer
from parcast.arrays.geometry.meshes import fitting_meshes
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.parameters import ArrayParameters, read_parameters
from parcast.arrays.law.request import request_time
from parcast.arrays.library.plans import WritePlan, by_plan
from parcast.arrays.library.schema import LIMIT, Kind, Schema
from parcast.arrays.library.storing import is_npy
from parcast.arrays.planning.pricing import arrays_of, options_of
from parcast.arrays.planning.result import RequestPlan, ServerPlan
from parcast.errors import ParameterError

SUBCHUNKS: Final = (LIMIT, LIMIT >> 2, LIMIT << 2)  # [B]
WRITERS: Final[tuple[Writer, ...]] = ("double-buffer", "write-behind")  # sync is never faster
MOST_COUNTS: Final = 16  # numbers of servers that are evaluated
MOST_KINDS: Final = 4  # of arrays, whose meshes are chosen: those with most bytes
FINALISTS: Final = 3
NOTICED: Final = 0.01  # of the time: for less a plan is not changed [1]


class Given(NamedTuple):
    """A plan that was made before, and the request that it is for."""

    servers: int
    mesh: Point
    chunks: tuple[Point, Point] | None  # storage chunks and subchunks, where there is no mesh
    time: float  # [s]
    shape: Point
    number: int  # of arrays
    itemsize: int  # [B]
    clients: int

    @classmethod
    def of(cls, plan: ServerPlan) -> Self:
        """Take a plan, of a write."""
        of = plan.request
        if of.options.operation != "write":
            must, hint = "be of a write", 'Leave out operation="read" of plan_io.'
            raise ParameterError("plan", must=must, got="one of a read", hint=hint)
        chunks = (of.storage, of.inner) if of.storage else None
        request = of.shape, of.number, of.itemsize, of.clients
        return cls(plan.servers, plan.mesh, chunks, plan.time, *request)

    def __str__(self) -> str:
        """Say it as messages do."""
        cut = _by(self.mesh)
        if self.chunks is not None:
            cut = f"chunks of {_by(self.chunks[0])} in subchunks of {_by(self.chunks[1])}"
        return f"{self.servers} servers as {cut} in {self.time:.4g} s"

    def is_for(self, schema: Schema) -> bool:
        """Whether a request is the one that it was made for."""
        return len(schema.arrays) == self.number and all(
            (kind.shape, kind.item, kind.held.clients) == (self.shape, self.itemsize, self.clients)
            for kind in schema.kinds
        )


def _by(extents: Point) -> str:
    return "x".join(map(str, extents))


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a call of `write` says of its plan, the same on all clients."""

    subchunks: tuple[int, ...]  # to choose from, the usual first [B]
    writers: tuple[Writer, ...]
    given: Given | None = None  # a plan made before
    costs: str = ""  # of the connection: the file, if there is one

    def __repr__(self) -> str:
        """Say it as messages do, all of it: clients are compared by it."""
        by = f" by {self.costs}" if self.costs else ""
        text = f'"auto"{by}' if self.given is None else str(self.given)
        sizes = "" if self.subchunks == SUBCHUNKS else f", subchunks of {self.subchunks[0]} B"
        return text + sizes + ("" if self.writers == WRITERS else f", {self.writers[0]}")


def wanted(plan: object, subchunk: int | None, writer: Writer | None, costs: Any) -> Wanted:
    """Take what was given; a plan leaves nothing to choose."""
    best = _plan_in(plan)
    subchunks: tuple[int, ...] = SUBCHUNKS
    writers = WRITERS
    if best is None:
        own = str(costs) if isinstance(costs, str | PathLike) else ""
        given = None
    else:
        own, given = "", Given.of(best)
        subchunks = (best.request.buffer,)
        writers = (best.request.options.writer,)
        if subchunk is not None and given.chunks is not None:
            raise ParameterError(
                "subchunk",
                must="be left out with a plan of storage chunks, which has subchunks",
                got=f"{subchunk} and subchunks of {_by(given.chunks[1])}",
                hint="Make a plan with other inner chunks: plan_io(..., inner=...).",
            )
    return Wanted(
        subchunks=subchunks if subchunk is None else (subchunk,),
        writers=writers if writer is None else (writer,),
        given=given,
        costs=own,
    )


def _plan_in(plan: object) -> ServerPlan | None:
    """Take a plan from what was given; None for "auto"."""
    if isinstance(plan, RequestPlan):
        return plan.best
    if isinstance(plan, ServerPlan):
        return plan
    if isinstance(plan, str) and plan == "auto":
        return None
    raise ParameterError(
        "plan",
        must='be "auto", or a plan of parcast.plan_io',
        got=f"{plan!r:.60}",
        hint="Leave it out to use all servers.",
    )


def batch_of(plan: object) -> bool:
    """Tell whether a plan has many small arrays share messages."""
    best = _plan_in(plan)
    batch = True if best is None else best.request.options.batch
    if best is not None and batch is not True and batch > 1 and best.request.number > 1:
        raise ParameterError(
            "plan",
            must="have batch=True or batch=False",
            got=f"batch={batch}",
            hint="Servers take as many arrays as fit into a subchunk. Call "
            "plan_io(..., batch=True).",
        )
    return bool(batch)


def plan_for(schema: Schema, wanted: Wanted, costs: Any, *, serving: Sequence[int]) -> WritePlan:
    """Choose a plan for a request, or take the one that was given, if it fits.

    `serving` is the client that each server also is, -1 for none.
    """
    servers, given = len(serving), wanted.given
    if given is None:
        known = replace(_known(costs, servers), serving=tuple(serving))
        return plan_write(schema, known, wanted, servers=servers)
    if given.servers > servers:
        raise ParameterError(
            "plan",
            must=f"be for at most the {servers} servers of the connection",
            got=f"{given.servers} servers",
            hint=f"Call connect(servers={given.servers}), or plan for fewer.",
        )
    cut = given.mesh if given.chunks is None else given.chunks[0]
    if any(len(kind.shape) != len(cut) for kind in schema.kinds):
        raise ParameterError(
            "plan",
            must="be for arrays of the same dimensions",
            got=f"a mesh of {len(cut)}, {_by(cut)}"
            if given.chunks is None
            else f"storage chunks of {len(cut)}, {_by(cut)}",
            hint="Make a plan for these arrays.",
        )
    _require_free(schema, given)
    made = WritePlan(
        servers=given.servers,
        meshes=tuple((kind.shape, _mesh_for(kind, given)) for kind in schema.kinds),
        subchunk=wanted.subchunks[0],
        writer=wanted.writers[0],
        chunks=given.chunks,
    )
    planned = by_plan(schema, made, servers=servers)
    _require_mesh(planned, given)
    return replace(made, time=given.time if _is_as_priced(planned, given) else None)


def _mesh_for(kind: Kind, given: Given) -> Point:
    """Mesh over which arrays of a kind are cut."""
    if given.chunks is None:
        return given.mesh
    return tuple(-(-n // c) for n, c in zip(kind.shape, given.chunks[0], strict=True))


def _require_free(schema: Schema, given: Given) -> None:
    """Refuse a plan that a stack or a .npy file cannot follow."""
    stores = "Write a Zarr store"
    if schema.stack:
        has, hint = f"stack={schema.stack!r}", 'Leave out stack=, or give plan="auto".'
    elif is_npy(schema.path) and given.chunks is not None:
        has, hint = "storage chunks, which a .npy file has not", f"{stores}, or plan without them."
    elif is_npy(schema.path) and prod(given.mesh[1:]) > 1:
        has = f"a mesh of {_by(given.mesh)}, and a .npy file is written by rows"
        hint = f"{stores}, or give the plan of a mesh such as {given.servers}x1."
    else:
        return
    raise ParameterError("plan", must="be one that can be followed", got=has, hint=hint)


def _require_mesh(planned: Schema, given: Given) -> None:
    """Refuse a mesh over which the arrays of the plan cannot be cut in equal storage chunks."""
    for kind in planned.kinds:
        cells = tuple(-(-n // c) for n, c in zip(kind.shape, kind.chunk, strict=True))
        if given.chunks is None and kind.shape == given.shape and cells != given.mesh:
            raise ParameterError(
                "plan",
                must=f"have a mesh that cuts {_by(kind.shape)} in equal storage chunks",
                got=f"{_by(given.mesh)}, which leaves {_by(cells)} of {_by(kind.chunk)}",
                hint='Give another of plan.plans, or plan="auto".',
            )


def _is_as_priced(planned: Schema, given: Given) -> bool:
    """Tell whether servers have the parts that a plan gives them, of the request it is for."""
    if is_npy(planned.path) or not given.is_for(planned):
        return False
    return given.chunks is not None or all(
        tuple(c * m for c, m in zip(kind.chunk, given.mesh, strict=True)) == kind.shape
        for kind in planned.kinds
    )


def _known(given: Any, servers: int) -> Costs:
    """Costs that the connection was given; ParameterError without."""
    if given is None:
        measure = ours("calibrate", "array-io", Choice("FOLDER"), "-o", "costs.toml")
        raise ParameterError(
            "plan",
            must="be left out where the connection has no costs of the machine",
            got='"auto"',
            hint=f'Measure them: {measure}, and call connect(costs="costs.toml").',
        )
    costs = given
    if not isinstance(costs, Costs):
        read = given if isinstance(given, ArrayParameters) else read_parameters(given)
        costs = read.costs()
    costs.servers.each(servers)  # which refuses another number of them
    return costs


def plan_write(schema: Schema, costs: Costs, wanted: Wanted, *, servers: int) -> WritePlan:
    """Choose the plan of the least time.

    Of plans that differ by no more than 1% it is one of fewest servers, and the most usual.
    """
    found = []
    for count in counts_of(servers):
        first = in_rows(schema, count, subchunk=wanted.subchunks[0], writer=wanted.writers[0])
        found.append(_with_best_meshes(schema, costs, first, servers))
    finalists = sorted(found, key=_time_of)[:FINALISTS]
    others = [
        _timed(schema, costs, replace(plan, subchunk=subchunk, writer=writer), servers)
        for plan in finalists
        for subchunk in wanted.subchunks
        for writer in wanted.writers
        if (subchunk, writer) != (plan.subchunk, plan.writer)
    ]
    return _best([*finalists, *others])


def in_rows(
    schema: Schema, servers: int, *, subchunk: int, writer: Writer, mesh: Point = ()
) -> WritePlan:
    """Cut arrays over a mesh, or larger ones than a subchunk in slabs of rows."""
    meshes = []
    for kind in schema.kinds:
        shape = (len(schema.arrays), *kind.shape) if schema.stack else kind.shape
        slabs = servers if schema.stack or _size(kind) > subchunk else 1
        is_free = mesh and not schema.stack and not is_npy(schema.path)
        meshes.append((shape, mesh if is_free else (slabs, *(1,) * (len(shape) - 1))))
    return WritePlan(servers=servers, meshes=tuple(meshes), subchunk=subchunk, writer=writer)


def key_of(schema: Schema, wanted: Wanted) -> Hashable:
    """Everything of a request that its plan depends on."""
    kinds = tuple(
        (kind.shape, kind.dtype, *(x.tobytes() for x in (*kind.held.boxes, kind.held.client)))
        for kind in schema.kinds
    )
    arrays = tuple(array.kind for array in schema.arrays)
    rest = is_npy(schema.path), bool(schema.stack), schema.is_batched, wanted
    return kinds, arrays, rest


def counts_of(servers: int) -> list[int]:
    """Numbers of servers that are evaluated, up to all.

    >>> counts_of(4), len(counts_of(1000)), counts_of(1000)[-1]
    ([1, 2, 3, 4], 16, 1000)
    """
    steps = min(servers, MOST_COUNTS)
    return [(i + 1) * servers // steps for i in range(steps)]


def _with_best_meshes(schema: Schema, costs: Costs, plan: WritePlan, servers: int) -> WritePlan:
    """Choose the meshes of the largest arrays, kind by kind."""
    numbers = Counter(array.kind for array in schema.arrays)
    sizes = {k: numbers[k] * _size(kind) for k, kind in enumerate(schema.kinds)}
    meshes = [mesh for _, mesh in plan.meshes]
    if not schema.stack and not is_npy(schema.path):
        for k in sorted(sizes, key=lambda k: -sizes[k])[:MOST_KINDS]:
            arrays = tuple(array._replace(kind=0) for array in schema.arrays if array.kind == k)
            alone = replace(schema, arrays=arrays, kinds=(schema.kinds[k],))
            shape = schema.kinds[k].shape
            rows = (plan.servers, *(1,) * (len(shape) - 1))
            every = sorted(fitting_meshes(plan.servers, shape), key=lambda mesh: mesh != rows)
            if numbers[k] > 1 and plan.servers > 1:
                every.append((1,) * len(shape))  # each array is on one server
            tried = [
                _timed(alone, costs, replace(plan, meshes=((shape, mesh),)), servers)
                for mesh in every
            ]
            best = _best(tried)
            if len(schema.kinds) == 1:
                return best
            meshes[k] = best.mesh
    shapes = [shape for shape, _ in plan.meshes]
    chosen = replace(plan, meshes=tuple(zip(shapes, meshes, strict=True)))
    return _timed(schema, costs, chosen, servers)


def _timed(schema: Schema, costs: Costs, plan: WritePlan, servers: int) -> WritePlan:
    """Predict the time of a plan."""
    planned = by_plan(schema, plan, servers=servers)
    own = costs.with_servers(planned.servers)
    options = replace(options_of(planned), contention=True, placement=_placement(schema, own))
    return replace(plan, time=request_time(arrays_of(planned, servers), own, options).time)


def _placement(schema: Schema, costs: Costs) -> Placement | None:
    """Say which servers are clients too; what cores and links they share is not known."""
    if not costs.serving:
        return None
    clients, servers = schema.kinds[0].held.clients, len(costs.serving)
    return Placement(clients=[0] * clients, servers=[0] * servers, serving=costs.serving)


def _size(kind: Kind) -> int:
    return kind.item * prod(kind.shape)


def _best(plans: Sequence[WritePlan]) -> WritePlan:
    latest = min(map(_time_of, plans)) * (1 + NOTICED)
    return min((x for x in plans if _time_of(x) <= latest), key=lambda plan: plan.servers)


def _time_of(plan: WritePlan) -> float:
    assert plan.time is not None
    return plan.time
