"""The law of a request: values by hand, the equations as loops, limits, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parcast.arrays.geometry.batches import EqualArrays, batches
from parcast.arrays.geometry.chunks import listed_chunks, mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.message import Protocol
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.law.request import Options, request_time
from parcast.errors import ParameterError
from tests.arrays.law import reference
from tests.conftest import ROOT

SP2 = read_costs(ROOT / "examples" / "arrays" / "sp2_like.toml")
WRITERS = ("sync", "write-behind", "double-buffer")
DOUBLE = Options(writer="double-buffer")


def table_of(shape, clients, servers, *, itemsize=8, most=2**20):
    """Overlaps of two meshes."""
    rows = schema_subchunks(shape, servers, itemsize=itemsize, most=most)
    return overlaps(mesh_chunks(shape, clients), rows)


# PA-2: the fixtures of the illustrative parameters, by hand


def test_messages_by_hand():
    own = SP2.protocol, SP2.servers
    assert own[0].call_time([128, 4096], 40e-6, 1e-6, 40e6) == pytest.approx([41e-6, 158.4e-6])
    assert own[0].call_time(2048, 40e-6, 1e-6, 40e6) == pytest.approx(48e-6)
    assert own[0].wire_time([2048, 4096], 40e6) == pytest.approx([51.2e-6, 0.0])


def test_one_small_array_in_row_slabs():
    result = request_time(table_of((32, 16, 16), (2, 4, 4), (8, 1, 1)), SP2)
    assert result.startup[:2] == pytest.approx([10.3908e-3, 10.1936e-3], rel=1e-12)
    assert result.assembly == pytest.approx(np.full(8, 9.048e-3), rel=1e-12)
    assert result.intermediate == pytest.approx(np.full(8, 12.858075934e-3), rel=1e-10)
    assert result.closing[[0, 31]] == pytest.approx([1.3538e-3, 1.3956e-3], rel=1e-12)
    assert result.time == pytest.approx(24.699275934e-3, rel=1e-10)
    assert result.messages.tolist() == [16] * 8


def test_delays_by_hand():
    table = table_of((8, 8), (2, 2), (2, 1))
    result = request_time(table, SP2)
    # Both handle a request for 388.4 us: the first within 431 us of others, the second of 61 us.
    assert result.delay == pytest.approx([327.4e-6] * 2, rel=1e-12)
    assert result.assembly == pytest.approx([1.5114e-3] * 2, rel=1e-12)
    assert result.intermediate == pytest.approx([1.630464873e-3] * 2, rel=1e-9)
    assert result.time == pytest.approx(12.071664873e-3, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("place_rate", Options(writer="sync")),
        ("memory_rate", Options(writer="sync")),
        ("cache_rate", Options(writer="write-behind")),
        ("copy_rate", Options(operation="read", writer="sync")),
        ("read_rate", Options(operation="read", writer="sync")),
        ("compression_rate", Options(writer="sync")),
        ("decompression_rate", Options(operation="read", writer="sync")),
    ],
)
def test_each_rate_may_be_one_for_each_server(name, options):
    """Two servers with 32 KiB each, of four clients that hold columns."""
    table = table_of((64, 128), (1, 4), (2, 1), most=32768)
    free = with_servers(SP2, memory_rate=np.inf, copy_rate=np.inf, cache_rate=np.inf)
    alone = request_time(table, with_servers(free, **{name: 1e6}), options)
    slow = request_time(table, with_servers(free, **{name: [1e6, 0.5e6]}), options)
    more = slow.intermediate - alone.intermediate
    assert more == pytest.approx([0.0, 32768 / 1e6])


def arrays_in_first(group, options):
    """Arrays in the first batch, by the bytes of its messages."""
    servers = group.overlaps.subchunks.servers
    first = next(batches([group], batch=options.batch, buffer=options.buffer, servers=servers))
    return first.requests.size.sum() / group.overlaps.size.sum()


def with_servers(costs, **changes):
    own = {name: getattr(costs.servers, name) for name in costs.servers.__dataclass_fields__}
    return Costs(
        clients=costs.clients, servers=ServerCosts(**{**own, **changes}), protocol=costs.protocol
    )


# The equations as loops, for any costs


@st.composite
def costs_for(draw, clients, servers):
    """Draw costs, one number for each node or for all."""

    def numbers(count, low, high):
        if draw(st.booleans()):
            return draw(st.floats(low, high))
        return draw(st.lists(st.floats(low, high), min_size=count, max_size=count))

    def messages(count):
        names = ("send_startup", "receive_startup", "packet_time", "run")
        times = {name: numbers(count, 0.0, 1e-3) for name in names}
        return times | {
            "bandwidth": numbers(count, 1e5, 1e8),
            "copy_rate": numbers(count, 1e5, 1e9),
        }

    of_clients = {name: numbers(clients, 0.0, 1e-2) for name in ("construct_schema", "decode")}
    times = ("parse_schema", "find", "boundary", "open_file", "synchronise")
    of_servers = {name: numbers(servers, 0.0, 1e-2) for name in times}
    rates = ("write_rate", "read_rate", "cache_rate", "compression_rate", "decompression_rate")
    of_servers |= {name: numbers(servers, 1e3, 1e7) for name in rates}
    partition = draw(st.sampled_from([1, 7, 16, 64]))
    of_servers |= {
        "cache": numbers(servers, float(partition), 2000.0),
        "compression": numbers(servers, 0.1, 1.5),
        "partition": partition,
    }
    lengths = {
        name: draw(st.floats(0.0, 200.0))
        for name in ("schema_length", "request_length", "quit_length")
    }
    protocol = Protocol(
        packet=draw(st.floats(1.0, 64.0)),
        eager_limit=draw(st.floats(0.0, 400.0)),
        always=draw(st.booleans()),
        **lengths,
    )
    return Costs(
        clients=ClientCosts(**messages(clients), **of_clients),
        servers=ServerCosts(**messages(servers), **of_servers),
        protocol=protocol,
    )


@st.composite
def requests(draw):
    """Draw a few arrays of one request, as tables and as lists of boxes, and costs."""
    rank = draw(st.integers(1, 3))
    clients = [draw(st.integers(1, 3)) for _ in range(rank)]
    servers = [draw(st.integers(1, 2)) for _ in range(rank)]
    count = int(np.prod(clients)), int(np.prod(servers))
    groups, arrays, itemsize = [], [], draw(st.sampled_from([1, 4]))
    for _ in range(draw(st.integers(1, 2))):
        shape = [draw(st.integers(1, 9)) for _ in range(rank)]
        most = draw(st.integers(1, 100)) * itemsize
        number = draw(st.integers(1, 4))
        groups.append(
            EqualArrays(table_of(shape, clients, servers, itemsize=itemsize, most=most), number)
        )
        chunks = reference.mesh_boxes(shape, clients)
        pieces = [
            reference.slabs(box, itemsize, most) for box in reference.mesh_boxes(shape, servers)
        ]
        arrays += [(chunks, pieces)] * number
    assume(sum(len(p) for _, pieces in arrays for p in pieces) * count[0] <= 400)
    return groups, arrays, itemsize, draw(costs_for(*count)), count


@given(requests(), st.sampled_from(WRITERS), st.booleans())
def test_writes_take_as_long_as_the_equations_say(drawn, writer, rendezvous):
    groups, arrays, itemsize, costs, (clients, servers) = drawn
    options = Options(writer=writer, overlap_rendezvous=rendezvous)
    result = request_time(groups, costs, options)
    law = reference.Law(costs, clients, servers, rendezvous=rendezvous, writer=writer)
    expected = law.write(arrays, itemsize)
    assert result.intermediate == pytest.approx(expected, rel=1e-9)
    assert result.startup == pytest.approx([law.startup(i) for i in range(servers)], rel=1e-12)
    assert result.closing == pytest.approx([law.closing(i) for i in range(clients)], rel=1e-12)
    assert result.time == pytest.approx(law.total(expected), rel=1e-9)


@given(requests(), st.sampled_from(["sync", "double-buffer"]), st.booleans())
def test_reads_take_as_long_as_the_equations_say(drawn, writer, rendezvous):
    groups, arrays, itemsize, costs, (clients, servers) = drawn
    options = Options(operation="read", writer=writer, overlap_rendezvous=rendezvous)
    result = request_time(groups, costs, options)
    law = reference.Law(costs, clients, servers, rendezvous=rendezvous, writer=writer)
    expected = law.read(arrays, itemsize)
    assert result.intermediate == pytest.approx(expected, rel=1e-9)
    assert result.time == pytest.approx(law.total(expected), rel=1e-9)


@given(requests(), st.floats(0.0, 2.0), st.sampled_from([1e3, 1e9]))
def test_what_a_writing_thread_slows_down_is_exchange(drawn, interference, cache_rate):
    groups, _, _, costs, _ = drawn
    costs = with_servers(costs, through_cache=True, cache_rate=cache_rate)
    alone, both = (
        request_time(groups, with_servers(costs, interference=x), Options(writer="double-buffer"))
        for x in (0.0, interference)
    )
    least = -1e-9 * both.intermediate
    assert (both.file_system >= least).all()
    assert (both.assembly - alone.assembly >= least).all()
    assert both.assembly + both.file_system == pytest.approx(both.intermediate, rel=1e-9)
    longest = (1 + interference) * alone.intermediate
    assert (both.intermediate <= longest - least).all()


@given(requests(), st.integers(2, 3))
def test_batches_are_arrays_in_one_message(drawn, size):
    groups, arrays, itemsize, costs, (clients, servers) = drawn
    group = groups[0]
    result = request_time(group, costs, Options(batch=size, writer="sync"))
    law = reference.Law(costs, clients, servers, writer="sync")
    chunks, pieces = arrays[0]
    is_single = max(map(len, pieces)) == 1
    each = min(size, group.number) if is_single else 1
    assert arrays_in_first(group, Options(batch=size)) == each
    expected = np.zeros(servers)
    messages = np.zeros(servers, dtype=int)
    for first in range(0, group.number, each):
        count = min(each, group.number - first)
        for server, own in enumerate(pieces):
            steps = []
            for k, piece in enumerate(own):
                bytes_ = reference.elements(piece) * itemsize * count
                assembly, waits = law.gather(server, piece, chunks, itemsize, count)
                assembly += law.servers[server].open_file * (count if k == 0 else 0)
                steps.append((assembly, bytes_, False))
                messages[server] += len(waits)
            node = law.servers[server]
            expected[server] += law.written(node, steps) - node.synchronise
    expected += [node.synchronise for node in law.servers]
    assert result.intermediate == pytest.approx(expected, rel=1e-9)
    assert result.messages.tolist() == messages.tolist()


# Many arrays


@pytest.mark.parametrize("number", [1, 2, 3, 40, 200])
def test_equal_arrays_take_as_long_as_each_of_them_in_turn(number):
    table = table_of((33, 15, 7), (3, 2, 1), (2, 1, 1), most=4096)
    # W is a multiple of a partition after 64 arrays at the latest: 200 are several cycles.
    costs = with_servers(SP2, cache=100_000.0, write_rate=[5e6, 2e6], partition=512)
    for writer in WRITERS:
        at_once = request_time(EqualArrays(table, number), costs, Options(writer=writer))
        in_turn = request_time([table] * number, costs, Options(writer=writer))
        assert at_once.intermediate == pytest.approx(in_turn.intermediate, rel=1e-9)


def test_a_million_arrays_are_a_power_of_one_cycle():
    table = table_of((32, 16, 16), (2, 4, 4), (8, 1, 1))
    per_array = [
        request_time(EqualArrays(table, n), SP2).intermediate[0] / n for n in (10**5, 10**6)
    ]
    # One server with 8 KiB an array: as long as its assembly, which is longer than the disk takes.
    assert per_array == pytest.approx([9.048e-3 + 8192 / 60e6] * 2, rel=1e-4)


# Limits


def test_with_an_infinite_network_messages_take_no_time():
    result = request_time(
        table_of((32, 16, 16), (2, 4, 4), (1, 2, 4)), SP2, Options(infinite="disks and network")
    )
    assert result.startup == pytest.approx(np.full(8, 10e-3))
    assert result.closing.tolist() == [0.0] * 32
    # Chunks of 16x4x4 lie in the subchunk of 32x8x4 in 16 runs each, and are sent whole. The last
    # client is asked last, and has not decoded the request when the three others are unpacked.
    late = 0.3e-3 - 3 * 16 * 5e-6
    assert result.assembly == pytest.approx(np.full(8, 0.2e-3 + 4 * (0.39e-3 + 80e-6) + late))


@given(requests(), st.sampled_from(WRITERS))
def test_faster_disks_and_networks_never_take_longer(drawn, writer):
    groups, _, _, costs, _ = drawn
    kinds = ("none", "disks", "disks and network")
    times = [request_time(groups, costs, Options(infinite=x, writer=writer)).time for x in kinds]
    assert times[0] >= times[1] * (1 - 1e-12)
    assert times[1] >= times[2] * (1 - 1e-12)


def test_a_part_is_read_from_the_subchunks_that_hold_it():
    shards = storage_subchunks((64, 64), (16, 64), inner=(8, 64), servers=2, itemsize=8)
    part = listed_chunks((64, 64), [((20, 0), (2, 64)), []], is_partial=True)
    result = request_time(overlaps(part, shards), SP2, Options(operation="read"))
    assert result.subchunks.tolist() == [1, 0]
    assert result.size.tolist() == [2 * 64 * 8, 0]
    assert result.stored.tolist() == [8 * 64 * 8, 0]
    assert result.file_system == pytest.approx([8 * 64 * 8 / 2.23e6, 0])


# Contention


def test_a_client_that_all_servers_need_bounds_the_time():
    table = table_of((64, 64), (1, 1), (8, 1))
    alone = request_time(table, SP2, Options(infinite="disks"))
    result = request_time(table, SP2, Options(infinite="disks", contention=True))
    # Eight requests of 128 B, and eight overlaps of 4 KiB, each a run of the chunk.
    each = 41e-6 + 0.3e-3 + (5e-6 + 4096 / 100e6) + 158.4e-6
    assert result.bound.resource == "client 0"
    assert result.bound.time == pytest.approx(8 * each)
    assert result.is_bound
    assert result.time > alone.time
    assert alone.bound == result.bound
    assert not alone.is_bound


def bound_of(table, costs, **placed):
    placement = Placement(**placed)
    return request_time(table, costs, Options(contention=True, placement=placement)).bound


def test_ranks_of_a_node_share_its_link():
    table = table_of((64, 64), (4, 1), (2, 1))  # 16 KiB of each two clients go to one server
    apart = bound_of(table, SP2, clients=(0, 3, 4, 1), servers=(2, 1), link=1e3)
    assert apart == (16384 / 1e3, "link of node 2")
    # The traffic of client 3 and server 1 stays on node 1.
    inside = bound_of(table, SP2, clients=(0, 0, 0, 1), servers=(0, 1), link=1e3)
    assert inside == (8192 / 1e3, "link of node 0")


def test_ranks_of_a_node_share_its_cores():
    table = table_of((64, 64), (4, 1), (2, 1))
    placed = {"clients": (0, 0, 0, 0), "servers": (0, 0)}
    # Each server finds and asks two clients, and receives two contiguous overlaps of 8 KiB.
    server = 0.2e-3 + 2 * (0.39e-3 + 41e-6 + 72e-6 + 5e-6)
    client = 41e-6 + 0.3e-3 + 72e-6  # sends its whole chunk
    one = bound_of(table, SP2, **placed, cores=0.1)
    assert one.resource == "cores of node 0"
    assert one.time == pytest.approx((2 * server + 4 * client) / 0.1)
    assert bound_of(table, SP2, **placed).resource.startswith("client")


def test_a_rank_that_is_server_and_client_does_both():
    table = table_of((64, 64), (4, 1), (2, 1))
    placed = {"clients": (0, 1, 2, 3), "servers": (0, 1)}
    both = bound_of(table, SP2, **placed, serving=(-1, 1))
    alone = request_time(table, SP2)
    client = 41e-6 + 0.3e-3 + 72e-6 + 8192 / 40e6
    assert both.resource == "rank of server 1"
    assert both.time == pytest.approx(alone.intermediate[1] + client)


# Parameters


TWO, ONE = table_of((8, 8), (2, 1), (2, 1)), table_of((8, 8), (1, 1), (1, 1))
UNITS = "Give seconds, bytes or bytes per second."
LEAST = "must be a whole number of at least 1, got 0."


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: ServerCosts(write_rate=0.0),
            f"write_rate of servers must be above 0 and finite, got 0. {UNITS}",
        ),
        (
            lambda: ClientCosts(decode=[1e-3, -1e-3]),
            f"decode of clients must be at least 0 and finite, got -0.001. {UNITS}",
        ),
        (
            lambda: ClientCosts(decode=[[1e-3]]),
            "decode of clients must be a number, or one for each, got an array of 2 dimensions. "
            "Give an array of one dimension, or one number for all clients.",
        ),
        (
            lambda: request_time(TWO, with_servers(SP2, write_rate=[1e6] * 3)),
            "write_rate of servers must have one number, or one for each of the 2 servers, got 3. "
            "Give as many as there are.",
        ),
        (
            lambda: request_time(TWO, with_servers(SP2, cache=100.0)),
            'cache of servers must be at least a partition, got 100. Use writer = "sync" for a '
            "file system without a cache.",
        ),
        (
            lambda: ServerCosts(write_rate=1e6, partition=0),
            f"partition {LEAST} Give bytes; 1 writes behind all of them.",
        ),
        (
            lambda: Options(writer="async"),
            'writer must be "sync", "write-behind" or "double-buffer", got \'async\'. Choose one.',
        ),
        (lambda: Options(buffer=0), f"buffer {LEAST} Give it in bytes; 1 MiB is usual."),
        (
            lambda: request_time([TWO, table_of((8, 8), (2, 1), (4, 1))], SP2),
            "arrays must have the same clients and servers, got 2 and 2, 2 and 4. Make a request "
            "of each.",
        ),
        (lambda: request_time([], SP2), f"arrays {LEAST} Give at least one array."),
        (
            lambda: request_time(EqualArrays(TWO, 0), SP2),
            f"number of arrays {LEAST} Count equal arrays from 1.",
        ),
        (
            lambda: bound_of(TWO, SP2, clients=(0,), servers=(0, 0)),
            "clients of the placement must be 2, got 1. Give one number for each.",
        ),
        (
            lambda: bound_of(ONE, SP2, clients=[0], servers=[-1]),
            "servers of the placement must be at least 0, got -1. Count from 0.",
        ),
        (
            lambda: bound_of(ONE, SP2, clients=[0], servers=[0], serving=[1]),
            "serving of the placement must be a client from 0 to 0, or -1, got 1. Count from 0.",
        ),
        (
            lambda: request_time(ONE, "sp2_like.toml"),
            "costs must be a Costs, got str. Read a file with "
            "parcast.arrays.law.parameters.read_costs.",
        ),
        (
            lambda: Options(batch="all"),
            "batch must be a number, got 'all'. Give the arrays of a message, or True.",
        ),
        (
            lambda: Placement(clients=(0,), servers=(0,), cores=0),
            "cores must be above 0, got 0. Leave it out if unlimited.",
        ),
        (lambda: Protocol(packet=0), "packet must be above 0, got 0. Give it in bytes."),
    ],
)
def test_what_the_law_cannot_price_is_refused(call, says, refusal):
    assert refusal(ParameterError, call) == says


def rested(protocol, waited):
    return (protocol.rest + min(0.4 * waited, protocol.longest_rest)) / 2


def test_ranks_that_rest_notice_messages_late():
    """Two clients and one subchunk, by the equations of the reference page."""
    chunks = mesh_chunks((4, 8), (2, 1))
    table = overlaps(chunks, schema_subchunks((4, 8), (1, 1), itemsize=8))
    protocol = Protocol(rest=1e-4, longest_rest=1e-3, eager_limit=1e9)
    costs = with_protocol(SP2, protocol)
    alone = request_time(table, with_protocol(SP2, Protocol(eager_limit=1e9)))
    time = request_time(table, costs)
    longest = rested(protocol, np.inf)
    late = alone.delay[0] + 2 * longest * 2 / 3  # the last of two clients
    assert time.delay[0] == pytest.approx(late + rested(protocol, late))
    assert time.startup[0] == pytest.approx(alone.startup[0] + longest)
    flushed = rested(protocol, alone.file_system[0])
    assert time.closing.max() == pytest.approx(alone.closing.max() + flushed + flushed, rel=1e-3)


def with_protocol(costs, protocol):
    return Costs(clients=costs.clients, servers=costs.servers, protocol=protocol)


def test_metadata_and_places_take_their_time():
    chunks = mesh_chunks((4, 8), (2, 1))
    table = EqualArrays(overlaps(chunks, schema_subchunks((4, 8), (1, 1), itemsize=8)), 5)
    before = request_time(table, SP2)
    costs = with_servers(SP2, metadata=0.25, place_rate=256.0)
    after = request_time(table, costs)
    assert after.startup[0] == pytest.approx(before.startup[0] + 5 * 0.25)
    assert after.assembly[0] + after.delay[0] >= before.assembly[0]
    assert after.intermediate[0] == pytest.approx(before.intermediate[0] + 5 * 1.0, rel=0.1)
    free = request_time(table, costs, Options(infinite="disks"))
    assert free.startup[0] == pytest.approx(before.startup[0])


@pytest.mark.parametrize("writer", ["sync", "double-buffer", "write-behind"])
def test_writers_that_copy_into_the_cache_first(writer):
    """One server, four subchunks of 64 bytes: as the equations say, subchunk by subchunk."""
    chunks = mesh_chunks((4, 8), (1, 1))
    table = overlaps(chunks, schema_subchunks((4, 8), (1, 1), itemsize=8, most=64))
    costs = with_servers(
        SP2, through_cache=True, write_rate=1e4, cache_rate=1e5, flush=1e-2, partition=128
    )
    time = request_time(table, costs, Options(writer=writer))
    each, copied, written = time.assembly[0] / 4, 64 / 1e5, 64 / 1e4
    expected = {
        "sync": 4 * (each + copied + written + 1e-2),
        "double-buffer": max(
            each + 3 * max(each, copied) + copied + 128 / 1e4, each + copied + 4 * written
        ),
    }
    if writer in expected:
        assert time.intermediate[0] == pytest.approx(expected[writer])
    else:
        plain = with_servers(costs, through_cache=False)
        same = request_time(table, plain, Options(writer=writer))
        assert time.intermediate[0] == same.intermediate[0]


def test_nonblocking_messages_are_the_time_of_the_receiver():
    alone = overlaps(mesh_chunks((64, 64), (1, 1)), schema_subchunks((64, 64), (1, 1), itemsize=8))
    costs, size = with_protocol(SP2, Protocol(nonblocking=True)), 64 * 64 * 8
    write = [request_time(alone, x).delay[0] for x in (costs, SP2)]
    assert write[1] - write[0] == pytest.approx(size / 40e6)
    chunks, o = mesh_chunks((64, 64), (4, 1)), size / 4
    table = overlaps(chunks, schema_subchunks((64, 64), (1, 1), itemsize=8))
    read = [request_time(table, x, Options(operation="read")) for x in (costs, SP2)]
    assert read[1].assembly[0] - read[0].assembly[0] == pytest.approx(4 * o / 40e6)
    slow = replace(costs, clients=replace(costs.clients, bandwidth=1e5))
    waits = request_time(table, slow, Options(operation="read"))
    assert waits.delay[0] == pytest.approx(waits.assembly[0] - read[0].assembly[0])
    received = o / 1e5 - o / 40e6  # all four receive at a time, and the next could be read
    assert received - 2 * waits.file_system[0] < waits.delay[0] < received
    assert waits.intermediate[0] - read[0].intermediate[0] == pytest.approx(received)


def test_what_a_rank_exchanges_with_itself_passes_no_link():
    table = table_of((8, 8), (2, 1), (1, 1))
    protocol = Protocol(always=True)
    costs = replace(SP2, protocol=protocol)
    apart = Placement(clients=[0, 0], servers=[0])
    own = replace(apart, serving=[1])
    for operation in ("write", "read"):
        times = [
            request_time(table, costs, Options(operation=operation, placement=x))
            for x in (apart, own)
        ]
        size = 8 * 8 * 8 / 2  # of the overlap with client 1, in the calls of the server
        gained = times[0].assembly[0] - times[1].assembly[0]
        assert gained >= size / 40e6 * (1 - 1e-9)
        assert times[1].messages.tolist() == times[0].messages.tolist()


def test_exchanging_and_writing_at_a_time_disturb_each_other():
    """Four equal subchunks: the part of the shorter stage is added where both work."""
    chunks = mesh_chunks((4, 8), (2, 1))
    table = overlaps(chunks, schema_subchunks((4, 8), (1, 1), itemsize=8, most=64))
    fast = {"through_cache": True, "write_rate": 1e9, "cache_rate": 1e5, "partition": 128}
    alone, both = (
        request_time(table, with_servers(SP2, interference=x, **fast), DOUBLE) for x in (0.0, 0.5)
    )
    exchange, copied = alone.assembly[0] / 4, 64 / 1e5
    added = 3 * 0.5 * min(exchange, copied)
    assert both.intermediate[0] - alone.intermediate[0] == pytest.approx(added)
    assert both.assembly[0] - alone.assembly[0] == pytest.approx(added)
    assert both.file_system[0] == pytest.approx(alone.file_system[0])


def test_a_server_that_asks_ahead_waits_for_its_first_subchunk_alone():
    chunks = mesh_chunks((8, 8), (4, 1))
    table = overlaps(chunks, schema_subchunks((8, 8), (1, 1), itemsize=8, most=128))
    base = with_servers(SP2, through_cache=True, write_rate=1e9, cache_rate=1e9)
    slow = Costs(
        clients=replace(base.clients, decode=1e-2), servers=base.servers, protocol=base.protocol
    )
    waits = request_time(table, slow, DOUBLE)
    ahead = request_time(table, with_servers(slow, asks_ahead=True), DOUBLE)
    in_turn = request_time(table, with_servers(slow, asks_ahead=True), Options(writer="sync"))
    assert waits.delay[0] == pytest.approx(4 * ahead.delay[0])
    assert in_turn.delay[0] == waits.delay[0]


def test_each_server_waits_for_its_first_subchunk_however_many_arrays_follow():
    slow = with_servers(SP2, through_cache=True, write_rate=1e9, cache_rate=1e9, asks_ahead=True)
    slow = replace(slow, clients=replace(slow.clients, decode=1e-2))
    chunks = mesh_chunks((8, 8), (1, 1))
    own = [
        overlaps(chunks, storage_subchunks((8, 8), (8, 8), servers=2, itemsize=8, first=i))
        for i in (0, 1)
    ]
    one = request_time(own[0], slow, DOUBLE).delay[0]
    assert one > 1e-2
    for number in (1, 2, 7):
        groups = [EqualArrays(table, number) for table in own]
        assert request_time(groups, slow, DOUBLE).delay.tolist() == pytest.approx([one, one])


def test_arrays_that_lie_in_one_have_its_metadata_and_its_files():
    costs = with_servers(SP2, metadata=0.25, open_file=0.5)
    table = EqualArrays(table_of((8, 8), (2, 1), (1, 1)), 8)
    before = request_time(table, SP2)
    for options, metadata, files in (
        (Options(), 8, 8),
        (Options(on_disk=1, arrays_a_file=4), 1, 2),
    ):
        time = request_time(table, costs, options)
        assert time.startup[0] - before.startup[0] == pytest.approx(metadata * 0.25)
        assert time.file_system[0] - before.file_system[0] == pytest.approx(files * 0.5)


@pytest.mark.parametrize(
    ("arrays", "options", "flushed"),
    [
        (1, Options(), 1),
        (63, Options(), 63),
        (64, Options(), 0),  # which are flushed as a whole
        (64, Options(on_disk=1, arrays_a_file=64), 1),
        (8, Options(operation="read"), 0),
        (8, Options(infinite="disks"), 0),
    ],
)
@pytest.mark.parametrize("servers", [1, 2])
def test_metadata_of_few_arrays_are_flushed_one_by_one_at_the_end(
    arrays, options, flushed, servers
):
    table = EqualArrays(table_of((8, 8), (2, 1), (servers, 1)), arrays)
    before, after = (
        request_time(table, with_servers(SP2, commit=commit), options) for commit in (0.0, 0.25)
    )
    assert after.closing - before.closing == pytest.approx(np.full(2, flushed * 0.25))
    assert after.startup.tolist() == before.startup.tolist()
    assert after.intermediate.tolist() == before.intermediate.tolist()


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        (Options(), 1),
        (Options(on_disk=64), 1),
        (Options(operation="read"), 0),
        (Options(infinite="disks"), 0),
    ],
)
def test_server_0_puts_what_was_written_in_its_place_once(options, ends):
    table = EqualArrays(table_of((8, 8), (2, 1), (2, 1)), 64)
    before, after = (
        request_time(table, with_servers(SP2, end=end), options) for end in (0.0, [0.25, 9.0])
    )
    assert after.closing - before.closing == pytest.approx(np.full(2, ends * 0.25))
    assert after.time - before.time == pytest.approx(ends * 0.25)


def test_client_0_and_then_each_server_open_a_store_that_is_read():
    table = EqualArrays(table_of((8, 8), (2, 1), (2, 1)), 4)
    slow = with_servers(SP2, begin=[0.5, 0.75], metadata=[0.25, 0.5])
    for options, opened in (
        (Options(operation="read"), [1.5, 2.75]),
        (Options(operation="read", on_disk=1, arrays_a_file=4), [0.75, 1.25]),
        (Options(operation="read", infinite="disks"), [0.0, 0.0]),
    ):
        before, after = (request_time(table, costs, options) for costs in (SP2, slow))
        assert after.file_system - before.file_system == pytest.approx(opened)
        assert after.startup - before.startup == pytest.approx(np.full(2, opened[0]))
    wrote = request_time(table, slow)
    assert wrote.file_system == pytest.approx(request_time(table, SP2).file_system)
