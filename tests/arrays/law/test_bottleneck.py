"""What limits a request, by how much, and which servers are out of balance."""

from dataclasses import replace

import pytest

from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.arrays.law.bottleneck import simulate_request
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.law.request import Options
from tests.arrays.law.test_published import simulation
from tests.arrays.law.test_request import SP2, bound_of, table_of, with_servers


def test_limits_follow_from_the_three_modes():
    assert simulation("3x4x2", "3x1x1").limited_by == "file system"
    # 2.07 over 1.76 MB/s: messages take less than a quarter of the time of computation.
    assert simulation("4x4x2", "8x1x1").limited_by == "computation"
    slow = with_servers(SP2, write_rate=1e9, bandwidth=1e5)
    table = table_of((64, 64, 64), (2, 2, 1), (2, 1, 1))
    assert simulate_request(table, slow).limited_by == "communication"


def test_one_slow_disk_is_what_limits():
    table = table_of((64, 64, 64), (2, 2, 1), (2, 1, 1))
    result = simulate_request(table, with_servers(SP2, write_rate=[2.23e6, 0.5e6]))
    assert result.limited_by == "file system"
    assert result.normal.utilisation[0] < 0.3
    [slow] = result.imbalances
    assert (slow.server, slow.reasons) == (1, ())


def test_with_infinitely_fast_disks_clients_still_receive_as_slowly_as_they_do():
    """A server that reads goes on while clients receive; only its disk vanishes."""
    protocol = Protocol(nonblocking=True)
    slow = replace(SP2, protocol=protocol, clients=replace(SP2.clients, bandwidth=1.5e6))
    table = table_of((64, 64), (4, 1), (1, 1), most=8192)
    normal, disks, network = simulate_request(
        table, slow, Options(operation="read")
    ).times.values()
    # Four subchunks, each of them all that a client has. While one is received the next is read.
    disk = 8192 / 2.23e6
    assert normal.intermediate == pytest.approx(disks.intermediate + disk)
    assert network.intermediate[0] < disks.intermediate[0]


def test_a_request_may_take_no_time():
    free = Costs(clients=ClientCosts(), servers=ServerCosts(write_rate=1e9))
    some = simulate_request(table_of((64, 64), (4, 1), (2, 1)), free)
    assert some.times["disks"].time == 0
    empty = overlaps(
        mesh_chunks((0, 8), (2, 2)), storage_subchunks((0, 8), (4, 8), servers=2, itemsize=8)
    )
    none = simulate_request(empty, free)
    assert none.time == 0
    assert none.normal.utilisation.tolist() == [0, 0]
    assert set(none.shares.values()) == {0.0}


def test_servers_without_a_part_of_the_array_are_no_measure_of_balance():
    own = with_servers(SP2, synchronise=0.1, begin=0.1)  # which those take as well
    for costs, operation in ((SP2, "write"), (own, "write"), (own, "read")):
        options = Options(operation=operation)
        result = simulate_request(table_of((3, 8), (1, 1), (8, 1)), costs, options)
        assert result.normal.subchunks.tolist() == [0, 0, 1, 0, 0, 1, 0, 1]
        assert result.imbalances == ()


def test_reasons_are_bytes_and_subchunks_where_chunks_differ():
    rows = schema_subchunks((4, 1024), (3, 1), itemsize=8, most=8192)
    result = simulate_request(overlaps(mesh_chunks((4, 1024), (1, 2)), rows), SP2)
    [large] = result.imbalances
    assert large.server == 2
    assert large.reasons == ("messages", "subchunks", "bytes")
    assert large.ratios["bytes"] == 2


def test_contention_is_reported_with_its_resource():
    table = table_of((64, 64), (1, 1), (8, 1))
    result = simulate_request(table, SP2, Options(contention=True))
    assert result.normal.bound.time == pytest.approx(4.363e-3, abs=5e-7)
    fast = simulate_request(table, with_servers(SP2, write_rate=1e9), Options(contention=True))
    assert fast.normal.is_bound
    assert bound_of(table, SP2, clients=[0], servers=[1] * 8).resource == "client 0"


def test_a_client_that_is_needed_by_many_servers_is_warned_of():
    table = table_of((64, 64), (1, 1), (8, 1))
    fast = with_servers(SP2, write_rate=1e9)
    [needed, single] = simulate_request(table, fast).warnings
    assert needed == (
        "The client 0 would be busy for 4.36 ms, longer than the servers: the time is too low. "
        "Count it with contention=True."
    )
    assert single.startswith("The transfer of a subchunk that overlaps one client only")
    counted = Options(contention=True, overlap_rendezvous=True)
    assert simulate_request(table, fast, counted).warnings == ()
    assert simulate_request(table, fast, Options(operation="read", contention=True)).warnings == ()
