"""Plans of a request: complete, ranked by each objective, and those of the published findings."""

import json
from dataclasses import replace
from functools import cache
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.chunks import listed_chunks, mesh_chunks
from parcast.arrays.geometry.meshes import fitting_meshes
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks
from parcast.arrays.law.request import Options, request_time
from parcast.arrays.planning.plan import StorageChunks, in_order, plan_request
from parcast.errors import ParameterError
from tests.arrays.law.test_request import SP2, with_servers

SMALL, LARGER = (32, 16, 16), (32, 32, 16)


@cache
def plan(clients=(2, 4, 4), shape=SMALL, servers=(8,), number=2048, **arguments):
    chunks = mesh_chunks(shape, clients)
    return plan_request(chunks, SP2, itemsize=8, servers=servers, number=number, **arguments)


# PA-3: the findings of the source about plans


def test_aligned_schemas_are_best_and_row_slabs_worst_for_small_arrays():
    result = plan()
    aligned = [x.is_aligned for x in result.plans]
    assert aligned == [True] * 5 + [False] * 5
    assert result.plans[-1].mesh == (8, 1, 1)
    assert f"{result.plans[-1].time / result.best.time:.2f}" == "2.50"
    assert all(x.utilisation > 0.96 for x in result.plans[:5])
    assert result.best.overlapping == (4, 4)


# All plans


@given(st.integers(1, 60), st.integers(1, 4))
def test_meshes_are_all_ordered_products(count, dimensions):
    every = fitting_meshes(count, (60,) * dimensions)
    assert all(prod(mesh) == count for mesh in every)
    assert len(set(every)) == len(every)
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    if dimensions == 2:
        assert len(every) == len(divisors)


def test_meshes_that_leave_servers_idle_are_left_out_where_others_do_not():
    flat = [x.mesh for x in plan(shape=(4, 64, 64), clients=(1, 2, 2)).plans]
    assert (4, 2, 1) in flat
    assert (8, 1, 1) not in flat
    narrow = plan_request(mesh_chunks((3,), (2,)), SP2, itemsize=8, servers=[5])
    assert [x.mesh for x in narrow.plans] == [(5,)]


def test_times_are_those_of_the_law():
    result = plan(servers=(1, 4))
    for each in result.plans:
        subchunks = schema_subchunks(SMALL, each.mesh, itemsize=8)
        table = overlaps(mesh_chunks(SMALL, (2, 4, 4)), subchunks)
        own = request_time(EqualArrays(table, 2048), SP2)
        assert each.time == own.time
        assert each.utilisation == pytest.approx(float(own.utilisation.mean()))
    assert result.simulation.time == result.best.time


# Objectives


def test_objectives_rank_by_what_they_say():
    arguments = {"clients": (3, 4, 2), "servers": range(1, 9)}
    by_time, by_use, fewest = (
        plan(objective=x, **arguments) for x in ("time", "utilisation", "fewest")
    )
    times = [x.time for x in by_time.plans]
    assert times == sorted(times)
    used = [x.utilisation for x in by_use.plans]
    assert used == sorted(used, reverse=True)
    assert {x.mesh for x in fewest.plans} == {x.mesh for x in by_time.plans}
    assert by_use.fastest == by_time.best


@pytest.mark.parametrize(
    ("within", "servers"), [(0.0, 8), (0.1, 8), (0.4, 6), (1.1, 4), (100.0, 1)]
)
def test_fewest_servers_within_some_percent_of_the_least_time(within, servers):
    result = plan(clients=(3, 4, 2), servers=range(1, 9), objective="fewest", within=within)
    best = result.best
    latest = result.fastest.time * (1 + within)
    assert best.servers == servers
    assert best.time <= latest
    assert min(x.time for x in result.plans if x.servers == servers) == best.time
    assert all(x.time > latest for x in result.plans if x.servers < servers)


def test_of_equal_plans_the_one_with_fewer_servers_is_first():
    few, many = plan(servers=(1,)).best, plan(servers=(2,)).best
    tied = [replace(each, time=1.0, utilisation=0.5) for each in (many, few)]
    for objective in ("time", "utilisation", "fewest"):
        assert in_order(tied, objective, 0.0)[0].servers == 1


# Other layouts, reads, machines whose servers differ


def test_storage_chunks_have_one_plan_for_each_number_of_servers():
    result = plan_request(
        mesh_chunks((64, 64), (2, 2)),
        SP2,
        itemsize=8,
        servers=[1, 2, 4],
        storage=StorageChunks((16, 64), (8, 64)),
    )
    assert sorted(x.servers for x in result.plans) == [1, 2, 4]
    assert {(x.mesh, x.schema) for x in result.plans} == {((), "")}
    title = "Write of 1 array of 64x64 (32.8 kB) by 4 clients: 4 servers, "
    assert str(result).startswith(title)


def test_small_arrays_in_one_storage_chunk_each_are_dealt_out_to_the_servers():
    result = plan_request(
        mesh_chunks((64, 64), (2, 2)),
        SP2,
        itemsize=8,
        number=10,
        servers=[1, 4],
        storage=StorageChunks((64, 64), (64, 64)),
    )
    assert [x.servers for x in result.plans] == [4, 1]
    assert result.simulation.normal.subchunks.tolist() == [3, 3, 2, 2]


def test_reads_of_listed_boxes_are_planned():
    chunks = listed_chunks((64, 64), [((0, 0), (40, 64)), ((40, 0), (24, 64))])
    options = Options(operation="read", writer="double-buffer")
    result = plan_request(chunks, SP2, itemsize=8, servers=(1, 2), options=options)
    assert str(result).startswith("Read of 1 array of 64x64 (32.8 kB) by 2 clients: ")
    assert result.to_document()["operation"] == "read"


def test_of_servers_that_differ_the_first_are_taken():
    costs = with_servers(SP2, write_rate=[1e6, 4e6, 4e6])
    chunks = mesh_chunks((64, 64), (2, 2))
    times = {x.servers: x for x in plan_request(chunks, costs, itemsize=8, servers=(1, 3)).plans}
    alone = plan_request(chunks, with_servers(SP2, write_rate=1e6), itemsize=8, servers=(1,))
    assert times[1].time == alone.best.time
    with pytest.raises(ParameterError, match="one for each of the 4 servers, got 3"):
        plan_request(chunks, costs, itemsize=8, servers=(4,))


# How it is shown


def test_a_person_sees_the_best_of_each_number_on_one_screen():
    result = plan(clients=(3, 4, 2), servers=range(1, 9), objective="fewest", within=0.4)
    lines = str(result).splitlines()
    assert lines[0] == (
        "Write of 2,048 arrays of 32x16x16 (134 MB) by 24 clients: 6 servers as "
        f"{'x'.join(map(str, result.best.mesh))} {result.best.schema}, {result.best.time:.2f} s"
    )
    cells = result.to_sheet().tables[0].forms[0].columns[0].cells
    assert cells == ["6", "8", "7", "4", "5"]  # by time, after the recommended one
    [why] = [line for line in lines if line.startswith("why")]
    assert why.startswith(
        "why         the fewest servers within 40% of the least time of 38 plans"
    )
    assert why.endswith(f"takes {result.fastest.time:.3f} s, 27% less")
    assert "            7 servers: 14.5 s, 40% longer" not in lines  # as the table has them
    assert "7 servers: 14.5 s, 40% longer" in str(result.to_sheet(show_all=True))
    assert any(x.startswith("limited by  the file system: ") for x in lines)
    assert "ADIOS2: NumAggregators 6" in str(result.to_sheet(show_all=True))
    assert lines[-1] == "5 of 38 plans are shown. All of them: to_document()."
    assert len(result.to_sheet(show_all=True).tables[0].forms[0].columns[0].cells) == 38


def test_the_document_has_every_plan_the_best_first():
    document = json.loads(json.dumps(plan(servers=(1, 2)).to_document()))
    assert document["schema"] == "parcast/array-io-plan/1"
    assert document["plans"][0] == document["best"]
    each = [server["messages"] for server in document["servers"]]
    assert (min(each), max(each)) == (
        document["best"]["messages_least"],
        document["best"]["messages_most"],
    )
    assert all(x["throughput_infinite_disks_B_per_s"] > 0 for x in document["servers"])
    assert document["settings"]["adios2"] == {"NumAggregators": document["best"]["servers"]}
    assert document["reasons"][0] == "the least time of 4 plans"
    assert len(document["plans"]) == 4
    assert document["best"]["mesh"] in ([1, 1, 2], [1, 2, 1], [2, 1, 1])
    assert [row["mesh"] for row in plan(servers=(1,)).rows()] == ["1x1x1"]
    assert repr(plan(servers=(1,))).endswith(" s; 1 plan)")
