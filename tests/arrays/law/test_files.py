"""Which costs of files a request has: by how many a server has, how long, and what is done."""

from dataclasses import replace
from math import inf

import pytest

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.files import OTHERS, files_of
from parcast.arrays.law.parameters import ArrayParameters, FileParameters
from parcast.arrays.law.request import Options, request_time
from parcast.errors import ParameterError

PART = 1024  # of which files are small [B]
LARGE = ServerCosts(write_rate=1e6, open_file=1.0, synchronise=2.0, partition=PART)
KNOWN = {
    "single_write_rate": 2e6,
    "few_write_rate": 3e6,
    "many_write_rate": 4e6,
    "many_open_file": 5.0,
    "many_synchronise": 6.0,
    "sync_write_rate": 7e6,
    "sync_open_file": 8.0,
    "read_open_file": 9.0,
    "read_metadata": 10.0,
    "read_begin": 11.0,
}
COSTS = Costs(clients=ClientCosts(), servers=LARGE, files=KNOWN)


def arrays(number, *, rows=8, servers=1, most=2**20):
    """Equal arrays of some rows of 64 B, each in one file of a server."""
    cut = schema_subchunks((rows, 8), (servers, 1), itemsize=8, most=most)
    return EqualArrays(overlaps(mesh_chunks((rows, 8), (2, 1)), cut), number)


def chosen(group, **keys):
    return COSTS.for_files(files_of([group], arrays=group.number, **keys)).servers


@pytest.mark.parametrize(
    ("number", "rows", "costs"),
    [
        (1, 8, (2e6, 1.0, 2.0)),
        (2, 8, (3e6, 1.0, 2.0)),
        (63, 8, (3e6, 1.0, 2.0)),
        (64, 8, (4e6, 5.0, 6.0)),  # with the folder of the store 65 folders
        (1, 16, (2e6, 1.0, 2.0)),  # a partition
        (1, 18, (1e6, 1.0, 2.0)),
        (64, 18, (1e6, 5.0, 6.0)),
    ],
)
@pytest.mark.parametrize("writer", ["write-behind", "double-buffer"])
def test_costs_of_a_write_are_by_the_number_and_length_of_files(number, rows, costs, writer):
    own = chosen(arrays(number, rows=rows), operation="write", writer=writer)
    assert (float(own.write_rate), float(own.open_file), float(own.synchronise)) == costs
    assert (own.partition > PART) == (rows <= 16)  # nothing is written behind


@pytest.mark.parametrize(("number", "flush"), [(1, 2.0), (64, 6.0)])
def test_flushed_subchunks_have_costs_of_their_own(number, flush):
    own = chosen(arrays(number), operation="write", writer="sync")
    assert (float(own.write_rate), float(own.open_file)) == (7e6, 8.0)
    assert (float(own.synchronise), own.partition) == (flush, PART)


def test_files_are_counted_for_each_server():
    of = {"operation": "write", "writer": "sync"}
    parts = files_of([arrays(5, rows=8, servers=2)], arrays=5, **of)
    assert (parts.number.tolist(), parts.size) == ([5, 5], 4 * 64)
    both = files_of([arrays(5), arrays(3, rows=16)], arrays=8, **of)
    assert (both.number.tolist(), both.size) == ([8], 16 * 64)
    shared = files_of([arrays(5)], arrays=1, arrays_a_file=4, **of)
    assert (shared.number.tolist(), shared.size) == ([2], 4 * 8 * 64)
    cut = storage_subchunks((10, 8), (4, 8), inner=(2, 8), servers=2, itemsize=8)
    shards = EqualArrays(overlaps(mesh_chunks((10, 8), (2, 1)), cut), 1)
    counted = files_of([shards], arrays=1, **of)
    assert (counted.number.tolist(), counted.size) == ([1, 2], 4 * 64)


def test_the_law_takes_them():
    for number, sync, opening, rate in ((1, 2.0, 1.0, 2e6), (64, 6.0, 5.0, 4e6)):
        time = request_time(arrays(number), COSTS)
        files = number * opening + number * 512 / rate + sync
        assert time.file_system.tolist() == pytest.approx([files])
    time = request_time(arrays(3), COSTS, Options(operation="read"))
    assert time.file_system.tolist() == pytest.approx([3 * (9.0 + 512 / 1e6) + 11.0 + 3 * 10.0])
    assert time.startup.tolist() == pytest.approx([3 * 10.0 + 11.0])
    free = request_time(arrays(64), COSTS, Options(infinite="disks"))
    assert (free.startup.tolist(), free.file_system.tolist()) == ([0.0], [0.0])


@pytest.mark.parametrize(
    ("keys", "units"),
    [
        ({"writer": "write-behind"}, 1),
        ({"writer": "sync"}, 1),
        ({"writer": "double-buffer"}, 2),
        ({"writer": "double-buffer", "asks_ahead": True}, 3),
        ({"writer": "double-buffer", "asks_ahead": True, "rows": 16}, 2),  # all that it writes
        ({"writer": "double-buffer", "asks_ahead": True, "servers": 8}, 1),
    ],
)
def test_memory_is_filled_once_for_each_unit(keys, units):
    servers = replace(LARGE, memory_rate=512.0, asks_ahead=keys.pop("asks_ahead", False))
    rows, count = keys.pop("rows", 64), keys.pop("servers", 1)
    group, options = arrays(1, rows=rows, servers=count, most=512), Options(**keys)
    slow, fast = (
        request_time(group, replace(COSTS, servers=x, files={}), options)
        for x in (servers, replace(servers, memory_rate=inf))
    )
    assert slow.time - fast.time == pytest.approx(units)


def test_small_files_are_not_written_behind_whatever_the_cache_holds():
    servers = replace(LARGE, cache=2048.0, cache_rate=1e3)
    costs = replace(COSTS, servers=servers)
    time = request_time(arrays(8), costs)
    assert time.file_system.tolist() == pytest.approx([8 * 1.0 + 8 * 512 / 3e6 + 2.0])


def test_a_file_of_costs_has_them():
    tables = {
        "servers": {"write_rate": "1 MB/s", "begin": "1 ms", "memory_rate": "2 GB/s"},
        "files": {"many_synchronise": "6 s", "few_write_rate": "3 MB/s"},
    }
    costs = ArrayParameters(**tables).costs()
    assert costs.files == {"many_synchronise": 6.0, "few_write_rate": 3e6}
    assert (float(costs.servers.begin), float(costs.servers.memory_rate)) == (1e-3, 2e9)
    assert {*FileParameters.model_fields} == {*OTHERS} == KNOWN.keys()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"few_write": 1.0}, "costs of files must be one of single_write_rate, few_"),
        ({"few_write_rate": 0.0}, "few_write_rate of files must be above 0 and finite, got"),
        ({"read_begin": -1.0}, "read_begin of files must be at least 0"),
        ({"read_begin": inf}, "read_begin of files must be at least 0"),
    ],
)
def test_costs_of_files_that_cannot_be_are_refused(files, says, refusal):
    assert says in refusal(ParameterError, replace, COSTS, files=files)
