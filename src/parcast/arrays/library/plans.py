"""A write that follows a plan: which servers take part, and how they cut the arrays on disk."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

from parcast.arrays.geometry.boxes import Point
from parcast.arrays.geometry.choices import Writer
from parcast.arrays.library.schema import Schema, layout_for
from parcast.arrays.library.storing import is_npy
from parcast.places import load

PLANNER: Final = "parcast.arrays.planning.writes"  # loaded where a write has a plan, not before


def planner() -> Any:
    """Load who makes plans: those that were made before, and those it makes."""
    return load(PLANNER)


@dataclass(frozen=True, kw_only=True, slots=True)
class WritePlan:
    """How a write is carried out.

    Attributes
    ----------
    servers : int
        Servers that take part.
    meshes : tuple of (shape, mesh)
        For each kind of arrays on disk its shape, and the mesh over which each is cut. Arrays on
        fewer positions than there are servers are dealt out to these one after the other.
    chunks : tuple of (storage, inner), or None
        Extents of the storage chunks and subchunks, if the plan has some. [1]
    subchunk : int
        Most bytes of a subchunk. [B]
    writer : {"double-buffer", "write-behind", "sync"}
        How servers write.
    time : float or None
        Predicted time; None if it is unknown. [s]
    """

    servers: int
    meshes: tuple[tuple[Point, Point], ...]
    subchunk: int
    writer: Writer
    time: float | None = None
    chunks: tuple[Point, Point] | None = None

    @property
    def mesh(self) -> Point:
        """Mesh over which the largest arrays are cut."""
        return max(self.meshes, key=lambda each: prod(each[0]))[1]


def by_plan(schema: Schema, plan: WritePlan, *, servers: int) -> Schema:
    """Cut the arrays of a request, and give them to servers, as a plan says."""
    kinds = []
    for kind, (_, mesh) in zip(schema.kinds, plan.meshes, strict=True):
        chunk, inner = plan.chunks or layout_for(
            kind.shape,
            kind.item,
            mesh=(1,) * len(kind.shape) if schema.stack else mesh,
            limit=plan.subchunk,
            whole_rows=is_npy(schema.path),
        )
        kinds.append(replace(kind, chunk=chunk, inner=inner))
    return replace(
        schema,
        kinds=tuple(kinds),
        writer=plan.writer,
        limit=max(plan.subchunk, *(kind.item * prod(kind.inner) for kind in kinds))
        if plan.chunks
        else plan.subchunk,
        servers=spread(plan.servers, servers),
        arrays_a_chunk=-(-len(schema.arrays) // plan.servers) if schema.stack else 1,
    )


def spread(count: int, servers: int) -> tuple[int, ...]:
    """So many of the servers, as far apart as possible: nodes then have them in equal numbers.

    >>> spread(3, 8)
    (0, 2, 5)
    """
    return tuple(i * servers // count for i in range(count))
