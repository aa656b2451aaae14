"""A machine with round costs, and requests of it."""

from math import inf

from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law.costs import ClientCosts, Costs, LibraryCosts, ServerCosts
from parcast.arrays.law.libraries.library import LibraryRequest

RATE, LINK = 10e6, 20e6  # [B/s]
MIB = 1 << 20


def costs(*, libraries=None, **servers):
    """Costs of bytes alone, unless others are given."""
    known = {"open_shared": 0.0, "create": 0.0, "collective": 0.0, "pair": 0.0}
    own = LibraryCosts(**known | {"cache_rate": inf, "writes_behind": False} | (libraries or {}))
    return Costs(
        clients=ClientCosts(bandwidth=LINK),
        servers=ServerCosts(write_rate=RATE, bandwidth=LINK, **servers),
        libraries=own,
    )


def request(shape=(128, 64, 128), mesh=(1, 2, 2), **others):
    """Arrays of float64 on disks enough."""
    return LibraryRequest(chunks=mesh_chunks(shape, mesh), itemsize=8, **{"disks": 16} | others)
