"""How long does the law of array I/O take? Overlaps, one evaluation, all plans, and a write's.

In the library, overlaps are those that one server finds, here all servers one after the other.

`python benchmarks/arrays_law.py [REPEATS]` prints the least time of each, with the parameters of
examples/arrays/sp2_like.toml. Takes some ten seconds.
"""

import sys
from pathlib import Path
from time import perf_counter

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.chunks import listed_chunks, mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks
from parcast.arrays.law.bottleneck import simulate_request
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.law.request import Options, request_time
from parcast.arrays.library.schema import Kind, NamedArray, Schema, layout_for
from parcast.arrays.planning.plan import plan_request
from parcast.arrays.planning.writes import plan_write, wanted

COSTS = read_costs(Path(__file__).parents[1] / "examples" / "arrays" / "sp2_like.toml")
SMALL, LARGE = (32, 16, 16), (512, 512, 512)


def main(repeats):
    """Time all of them and print a table."""
    clients = mesh_chunks(SMALL, (3, 4, 2))
    small = EqualArrays(overlaps(clients, rows_of(SMALL, 8)), 2048)
    odd = (31, 17, 13)
    uneven = EqualArrays(overlaps(mesh_chunks(odd, (3, 4, 2)), rows_of(odd, 8)), 2048)
    of_16 = mesh_chunks(LARGE, (2, 2, 4))
    pairs = zip(of_16.boxes.start.tolist(), of_16.boxes.extents.tolist(), strict=True)
    listed = listed_chunks(LARGE, list(pairs))
    large = rows_of(LARGE, 8)
    one = overlaps(of_16, large)
    auto, of_24 = wanted("auto", None, None, None), mesh_chunks(LARGE, (3, 4, 2))
    few, many = schema_of(of_24, 1), schema_of(clients, 2048)
    cases = {
        "overlaps, 16 clients on a mesh, 1024 subchunks": lambda: overlaps(of_16, large),
        "overlaps, 16 clients that list boxes, 1024 subchunks": lambda: overlaps(listed, large),
        "overlaps in the library, 16 clients, 1024 subchunks": (
            lambda: units_of(schema_of(of_16, 1, limit=1 << 20))
        ),
        "request, 2048 arrays, 8 servers": lambda: request_time(small, COSTS),
        "request, 2048 arrays, 8 servers, whose bytes are no multiple of a partition": (
            lambda: request_time(uneven, COSTS)
        ),
        "request, 2048 arrays, 8 servers, batched": (
            lambda: request_time(small, COSTS, Options(batch=True))
        ),
        "request, 1 GiB, 8 servers": lambda: request_time(one, COSTS),
        "simulation, 2048 arrays, 8 servers": lambda: simulate_request(small, COSTS),
        "plans, 24 clients, 1 to 8 servers, 2048 arrays": (
            lambda: plan_request(clients, COSTS, itemsize=8, number=2048)
        ),
        "plans, 24 clients, 1 to 8 servers, 1 GiB": (
            lambda: plan_request(of_24, COSTS, itemsize=8)
        ),
        "plan of a write, 24 clients, 8 servers, 1 GiB": (
            lambda: plan_write(few, COSTS, auto, servers=8)
        ),
        "plan of a write, 24 clients, 8 servers, 2048 arrays": (
            lambda: plan_write(many, COSTS, auto, servers=8)
        ),
    }
    for name, case in cases.items():
        print(f"{name:80} {1e3 * least(case, repeats):9.2f} ms")


def rows_of(shape, servers):
    """Distribute an array of doubles over servers in row slabs."""
    return schema_subchunks(shape, (servers, 1, 1), itemsize=8)


def schema_of(clients, number, *, limit=1 << 22):
    """A write of equal arrays of doubles, as the library makes it without a plan."""
    layout = layout_for(clients.shape, 8, servers=8, limit=limit)
    kind = Kind(clients.shape, "<f8", *layout, clients)
    arrays = tuple(NamedArray(f"a{i}", 0) for i in range(number))
    return Schema("write", "x.zarr", arrays, (kind,), limit=limit)


def units_of(schema):
    """Find everything that 8 servers gather."""
    return [list(schema.units(server, 8)) for server in range(8)]


def least(case, repeats):
    """Least time of some evaluations, after one that is not counted [s]."""
    case()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        case()
        times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
