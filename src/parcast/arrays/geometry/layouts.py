"""Geometries of requests, whose overlaps are kept where only costs vary."""

from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from parcast.arrays.geometry.batches import EqualArrays, dealt_out
from parcast.arrays.geometry.choices import Policy
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.overlaps import Overlaps, overlaps
from parcast.arrays.geometry.subchunks import first_servers, schema_subchunks

KEPT: Final = 16  # geometries whose overlaps are kept
HELD: Final = 100_000  # overlaps of all of them, above which two are kept

Take: TypeAlias = Callable[..., None]  # of an allowance


class RequestLayout(NamedTuple):
    """What the geometry of a request follows from."""

    shape: tuple[int, ...]
    client_mesh: tuple[int, ...]
    servers: int
    server_mesh: tuple[int, ...]  # (): they have whole storage chunks
    storage: tuple[int, ...]
    inner: tuple[int, ...]
    itemsize: int
    policy: Policy
    most: int


def arrays_of(layout: RequestLayout, number: int, take: Take) -> list[EqualArrays]:
    """Equal arrays of a request, which have as few storage chunks as servers are dealt out."""
    counts = [number]
    if layout.storage:
        where = {"servers": layout.servers, "arrays": number}
        counts = [n for _, n in first_servers(layout.shape, layout.storage, **where)]
    return [EqualArrays(*each) for each in zip(_tables_of(layout, take), counts, strict=False)]


# Of geometries whose costs may vary, the last one last.
_tables: dict[RequestLayout, list[Overlaps]] = {}
_changing = Lock()  # of the tables


def _tables_of(layout: RequestLayout, take: Take) -> list[Overlaps]:
    """Overlaps of an array, for each server that it may begin at, unless they are too many.

    Those of the last `KEPT` geometries are kept, of large ones two.
    """
    with _changing:
        tables = _tables.pop(layout, None)
    if tables is None:
        tables = _overlaps(layout, take)
    else:
        take(tables[0].chunks, tables[0].subchunks, len(tables))
    with _changing:
        _tables[layout] = tables
        while len(_tables) > KEPT or (len(_tables) > 2 and _held() > HELD):
            del _tables[next(iter(_tables))]
    return tables


def _held() -> int:
    """Overlaps of all tables that are kept."""
    return sum(len(each.subchunk) for tables in _tables.values() for each in tables)


def _overlaps(layout: RequestLayout, take: Take) -> list[Overlaps]:
    """Overlaps of an array, for each server that it may begin at."""
    chunks = mesh_chunks(layout.shape, layout.client_mesh, policy=layout.policy)
    if layout.server_mesh:
        cut = schema_subchunks(
            layout.shape,
            layout.server_mesh,
            itemsize=layout.itemsize,
            policy=layout.policy,
            most=layout.most,
        )
        take(chunks, cut)
        return [overlaps(chunks, cut)]
    dealt = dealt_out(
        chunks,
        layout.storage,
        layout.inner or None,
        number=layout.servers,
        servers=layout.servers,
        itemsize=layout.itemsize,
        take=take,
    )
    return [table for table, _ in dealt]
