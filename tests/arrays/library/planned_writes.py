"""A parallel program that writes arrays by plans, and reads them back on another mesh.

Arguments: servers, "dedicated" or "shared", a file of costs, a folder.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from parcast.arrays.geometry.boxes import Box, block_of
from parcast.arrays.geometry.choices import WRITERS
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.law.request import request_time
from parcast.arrays.library import master
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
from parcast.arrays.planning import writes
from parcast.arrays.planning.plan_io import plan_io
from parcast.arrays.planning.pricing import arrays_of, options_of
from parcast.errors import ParcastError

SHAPES = {"one": (30, 32, 40), "other": (6, 50, 9), "small": (4, 10, 6)}
SCHEMAS = []  # that were made by plans, on client 0


def part(array, mesh, client):
    whole = Box((0,) * array.ndim, array.shape)
    return array[block_of(array.shape, mesh, client).within(whole)]


def requests(clients):
    """Arrays and options of each request, by name."""
    values = np.random.default_rng(1)
    arrays = {name: values.random(shape) for name, shape in SHAPES.items()}
    many = {f"a{i}": arrays["small"] + i for i in range(11)}
    yield "one.zarr", {"u": arrays["one"]}, {}
    yield "again.zarr", {"u": arrays["one"] + 1}, {}
    yield "sizes.zarr", {**arrays, **many}, {"subchunk": 4096}
    yield "many.zarr", many, {"batch": False, "writer": "sync"}
    yield "batched.zarr", many, {}
    yield "stacked.zarr", many, {"stack": "all"}
    yield "rows.npy", {"u": arrays["one"]}, {"subchunk": 20_000}
    mesh, keys = (1, clients, 1), {"servers": [2], "writer": "sync"}
    before = plan_io(SHAPES["one"], mesh, subchunk=8192, **keys)
    yield "before.zarr", {"u": arrays["one"]}, {"plan": before}
    shards = plan_io(SHAPES["one"], mesh, storage=(8, 16, 20), inner=(4, 8, 20), **keys)
    yield "shards.zarr", {"u": arrays["one"]}, {"plan": shards}


def run(io, costs, path, arrays, options):
    """Write and read; what servers did is what the law has priced."""
    clients, me = len(io.clients), io.client
    mesh, other = (1, clients, 1), (1, 1, clients)
    held = {k: Block(part(a, mesh, me), a.shape, mesh) for k, a in arrays.items()}
    written = io.write(path, held, **{"plan": "auto"} | options)
    read = io.read(path, list(arrays), mesh=other)
    assert all(np.array_equal(read[k], part(a, other, me)) for k, a in arrays.items())
    plan = written.plan
    assert plan.time > 0
    assert len(written.servers) == plan.servers <= len(io.servers)
    assert plan.writer in WRITERS
    assert options.get("writer") in (None, plan.writer)
    assert options.get("subchunk") in (None, plan.subchunk)
    if me == 0:
        schema = SCHEMAS[-1]
        assert [each.server for each in written.servers] == list(schema.servers)
        own = costs.with_servers(schema.servers)
        of_client = {rank: number for number, rank in enumerate(io.clients)}
        place = Placement(
            clients=[0] * clients,
            servers=[0] * plan.servers,
            serving=[of_client.get(io.servers[i], -1) for i in schema.servers],
        )
        asked = replace(options_of(schema), contention=True, placement=place)
        law = request_time(arrays_of(schema, len(io.servers)), own, asked)
        assert "plan" in options or plan.time == law.time
        assert law.size.tolist() == [each.size for each in written.servers]
        assert law.messages.tolist() == [each.messages for each in written.servers]
    return plan


def main():
    servers, kind, path, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    made, by_plan = [], master.by_plan
    plan_write = writes.plan_write
    writes.plan_write = lambda *given, **keys: made.append(1) or plan_write(*given, **keys)
    master.by_plan = lambda *given, **keys: SCHEMAS.append(by_plan(*given, **keys)) or SCHEMAS[-1]
    costs, plans = read_costs(path), {}
    with connect(servers=servers, dedicated=kind == "dedicated", costs=path) as io:
        if io.is_client:
            for name, arrays, options in requests(len(io.clients)):
                made.clear()
                SCHEMAS.clear()
                plans[name] = run(io, costs, folder / name, arrays, options)
                is_known = name in ("again.zarr", "before.zarr", "shards.zarr")
                assert len(made) == (io.client == 0 and not is_known)
            assert plans["one.zarr"] == plans["again.zarr"]
            assert plans["before.zarr"].subchunk == 8192
            assert plans["before.zarr"].writer == "sync"
            assert plans["shards.zarr"].chunks == ((8, 16, 20), (4, 8, 20))
            assert plans["stacked.zarr"].mesh == (plans["stacked.zarr"].servers, 1, 1, 1)
            assert [shape for shape, _ in plans["sizes.zarr"].meshes] == list(SHAPES.values())
            rows = {
                "u": Block(
                    np.ones((3, 32, 40 // len(io.clients))), (3, 32, 40), (1, 1, len(io.clients))
                )
            }
            assert io.append(folder / "one.zarr", rows).plan is None
            (folder / f"plans-{io.client}").write_text(repr(plans))
            if len(io.clients) > 1:
                plan = None if io.client else "auto"
                try:
                    io.write(folder / "odd.zarr", rows, plan=plan)
                except ParcastError as refusal:
                    (folder / f"odd-{io.client}").write_text(str(refusal))


if __name__ == "__main__":
    main()
