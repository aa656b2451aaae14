"""What limits a request, by how much, and which servers are out of balance; how it is shown."""

import json
from dataclasses import replace

import numpy as np
import pytest

from parcast.arrays.bottleneck.evaluate import simulate_request
from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.law.request import Options
from parcast.errors import ParameterError
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
    assert "no more to do: its costs, or the runs of its overlaps, differ" in str(result)


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


def test_a_request_that_takes_no_time_can_be_shown(tmp_path):
    free = Costs(clients=ClientCosts(), servers=ServerCosts(write_rate=1e9))
    some = simulate_request(table_of((64, 64), (4, 1), (2, 1)), free)
    assert some.times["disks"].time == 0
    some.save(tmp_path / "some.png")
    assert [text.get_text() for text in some.plot()[1].texts] == 4 * ["∞"]
    empty = overlaps(
        mesh_chunks((0, 8), (2, 2)), storage_subchunks((0, 8), (4, 8), servers=2, itemsize=8)
    )
    none = simulate_request(empty, free)
    assert none.time == 0
    assert none.normal.utilisation.tolist() == [0, 0]
    assert set(none.shares.values()) == {0.0}
    assert "0 s" in str(none)


def test_shares_add_up_to_the_time():
    result = simulation("3x4x2", "3x1x1")
    assert sum(result.shares.values()) == pytest.approx(1)
    times = [each.time for each in result.times.values()]
    assert result.shares["file system"] == pytest.approx(1 - times[1] / times[0])


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


SHOWN = """\
Write of 134 MB by 24 clients and 8 servers: 17.52 s

servers           messages  subchunks  assembly   files  normal  fast disks  fast network  used
                                            [s]     [s]  [MB/s]      [MB/s]        [MB/s]   [%]
0, 1, 3, 4, 6, 7     16384       2048     9.503  0.2894  0.9577      0.9737         1.156  42.9
2, 5                 32768       2048     17.22  0.2870  0.9577      0.9737         1.156  42.9
"""
SAID = """\
limited by  computation (finding, requesting, packing and unpacking overlaps)
if faster   infinitely fast disks: 17.23 s (2% less)
            infinitely fast network too: 14.51 s (16% less)
imbalance   servers 2, 5: 1.79 times the time of the fastest, with 2.00 times the messages
"""


def test_a_person_reads_servers_that_do_the_same_in_one_row():
    text = str(simulation("3x4x2", "8x1x1"))
    assert text.startswith(SHOWN)
    assert f"{text}\n".endswith(SAID)


def test_contention_is_reported_with_its_resource():
    table = table_of((64, 64), (1, 1), (8, 1))
    result = simulate_request(table, SP2, Options(contention=True))
    assert "contention  client 0 is busy for 4.363 ms" in str(result)
    fast = simulate_request(table, with_servers(SP2, write_rate=1e9), Options(contention=True))
    assert "client 0 is busy for 4.363 ms, which determines the time" in str(fast)
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


def test_an_infinite_network_has_no_slow_links():
    table = table_of((64, 64, 64), (2, 2, 1), (1, 1, 1))
    slow = Placement(clients=[0, 0, 1, 1], servers=[2], link=1e4)
    fast = with_servers(SP2, write_rate=1e9)
    result = simulate_request(table, fast, Options(contention=True, placement=slow))
    assert result.limited_by == "communication"
    assert result.shares["communication"] > 0.9


def test_a_transfer_that_counts_once_is_not_warned_of():
    table = table_of((64, 64, 64), (2, 1, 1), (2, 1, 1))
    assert "counted twice" in str(simulate_request(table, SP2))
    nonblocking = replace(SP2, protocol=Protocol(nonblocking=True))
    assert "counted twice" not in str(simulate_request(table, nonblocking))


def test_the_document_has_every_server():
    document = json.loads(json.dumps(simulation("3x4x2", "8x1x1").to_document()))
    assert document["schema"] == "parcast/array-io-simulation/1"
    assert document["limited_by"] == "computation"
    assert [row["messages"] for row in document["servers"]][:3] == [16384, 16384, 32768]
    assert document["times"]["normal"] == document["time_s"]
    assert [x["server"] for x in document["imbalances"]] == [2, 5]
    assert document["contention"]["counted"] is False
    assert document["warnings"] == []


@pytest.mark.parametrize("ending", ["svg", "png", "csv", "json"])
def test_it_is_saved_in_every_format(ending, tmp_path):
    path = tmp_path / f"request.{ending}"
    simulation("3x4x2", "8x1x1").save(path)
    assert path.stat().st_size > 500


def test_the_picture_has_the_phases_and_the_modes_of_every_server():
    above, below = simulation("3x4x2", "8x1x1").plot()
    assert [len(bars) for bars in above.containers] == [8, 8, 8]
    assert [bars.get_label() for bars in above.containers] == [
        "startup",
        "assembly",
        "file system",
    ]
    tops = [bar.get_y() + bar.get_height() for bar in above.containers[-1]]
    normal = simulation("3x4x2", "8x1x1").normal
    assert tops == pytest.approx(normal.startup + normal.intermediate)
    assert [bars.get_label() for bars in below.containers] == [
        "normal",
        "infinitely fast disks",
        "infinitely fast network too",
    ]
    heights = [bar.get_height() for bar in below.containers[0]]
    assert heights == pytest.approx(np.full(8, 0.9577), abs=5e-5)
    with pytest.raises(ParameterError, match="two panels"):
        simulation("3x4x2", "8x1x1").plot(above)


def test_reads_are_called_reads():
    result = simulate_request(
        EqualArrays(table_of((8, 8), (2, 1), (1, 1)), 3), SP2, Options(operation="read")
    )
    assert str(result).startswith("Read of 1.54 kB by 2 clients and 1 server: ")
