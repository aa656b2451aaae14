"""What the law counts is what the servers of the library do: their own units, and a real run."""

import json
from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.law.request import request_time
from parcast.arrays.planning.pricing import arrays_of, options_of
from parcast.arrays.subject import MeasuredRequest as Measured
from parcast.arrays.subject import predicted
from parcast.arrays.trials.request import FAST, SLOW, read_requests
from tests.arrays.trials.made import COSTS, request

FEW = 200  # arrays that are counted, where a request has more
LISTED = {  # neither its writer nor --quick matters to what is counted
    repr(each.model_dump() | {"writer": "", "quick": False}): each
    for each in (*read_requests(FAST), *read_requests(SLOW))
}


def by_law(asked):
    return predicted(asked, Measured(COSTS, {})).facts["counted"]


def by_library(asked):
    """Count as the servers do."""
    return counted(asked.carried.schema, asked.servers, asked.itemsize)


def counted(schema, servers, itemsize):
    """Count unit by unit."""
    messages = subchunks = size = 0
    for server in range(servers):
        for unit in schema.units(server, servers):
            lying = [x for subchunk in unit.subchunks for x in subchunk.overlaps]
            if lying:
                messages += len({x.client for x in lying})
                subchunks += len(unit.arrays) * len(unit.subchunks)
                elements = sum(prod(x.count) for x in lying)
                size += len(unit.arrays) * elements * itemsize
    return {"messages": messages, "subchunks": subchunks, "bytes": size}


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("asked", LISTED.values(), ids=str)
def test_the_law_counts_what_servers_do(asked):
    asked = asked.model_copy(update={"arrays": min(asked.arrays, FEW)})
    assert by_law(asked) == by_library(asked)
    assert by_law(asked)["bytes"] == asked.size


shapes = st.lists(st.integers(1, 20), min_size=1, max_size=3)


@given(data=st.data(), shape=shapes, arrays=st.integers(1, 9), limit=st.integers(16, 4096))
def test_it_does_so_for_any_request(data, shape, arrays, limit):
    mesh = [data.draw(st.integers(1, 3)) for _ in shape]
    clients = 1
    for n in mesh:
        clients *= n
    servers = data.draw(st.integers(1, min(clients, 4)))
    asked = request(
        shape=shape, client_mesh=mesh, servers=servers, arrays=arrays, subchunk=f"{limit} B"
    )
    reading = asked.model_copy(update={"operation": "read"})
    for each in (asked, reading):
        assert by_law(each) == by_library(each)


@pytest.mark.parametrize(
    "changed", [{"is_batched": False}, {"stack": "all", "arrays_a_chunk": 25}]
)
def test_it_does_so_for_stacks_and_for_arrays_in_messages_of_their_own(changed):
    asked = request(shape=[8, 8], client_mesh=[4, 1], servers=2, arrays=50)
    schema = replace(asked.carried.schema, **changed)
    time = request_time(arrays_of(schema, 2), COSTS, options_of(schema))
    by_servers = counted(schema, 2, asked.itemsize)
    assert time.messages.sum() == by_servers["messages"]
    assert time.size.sum() == by_servers["bytes"] == asked.size


PROGRAM = """
import json, sys
from mpi4py import MPI
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
import numpy as np
asked = json.loads(sys.argv[1])
found = []
with connect(MPI.COMM_WORLD, servers=asked["servers"], dedicated=asked["dedicated"]) as io:
    if io.is_client:
        mesh = asked["client_mesh"]
        places = np.array(np.unravel_index(io.client, mesh))
        count = [(i + 1) * n // m - i * n // m
                 for i, n, m in zip(places.tolist(), asked["shape"], mesh)]
        held = {f"a{i}": Block(np.full(count, float(i)), asked["shape"], mesh)
                for i in range(asked["arrays"])}
        took = [io.write(sys.argv[2], held, writer=asked["writer"], subchunk=asked["limit"])]
        io.read(sys.argv[2], list(held), mesh=mesh)
        took.append(io.last_read)
        if io.client == 0:
            for each in took:
                print([sum(getattr(s, n) for s in each.servers)
                       for n in ("messages", "subchunks", "size")])
"""


@pytest.mark.parametrize(
    "keys",
    [
        {"shape": [40, 32], "client_mesh": [1, 2], "servers": 2, "subchunk": "1 KiB"},
        {"shape": [9, 5], "client_mesh": [2, 1], "servers": 1, "arrays": 21, "dedicated": True},
    ],
    ids=["one array", "many arrays"],
)
def test_a_run_reports_what_the_law_counts(ran, tmp_path, keys):
    asked = request(**keys)
    told = asked.model_dump(mode="json") | {"limit": asked.limit}
    status, out, err = ran(
        PROGRAM, json.dumps(told), tmp_path / "a.zarr", ranks=asked.layout.ranks
    )
    assert status == 0, err
    written, read = (tuple(json.loads(line)) for line in out.splitlines())
    assert written == (*by_law(asked).values(),)
    reading = asked.model_copy(update={"operation": "read"})
    # A read counts the overlaps that are sent, as the law does.
    assert read == (*by_law(reading).values(),)
