"""What a request says: every element is dealt with once, whatever the layout and the servers."""

from dataclasses import replace
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.library.gathering import KindOverlaps
from parcast.arrays.library.schema import Kind, NamedArray, Schema, layout_for


def kind_of(shape, mesh, *, servers, limit, policy="balanced", dtype="<i4", cut=()):
    """A kind of arrays in blocks over a mesh, which are cut on disk over another."""
    layout = layout_for(shape, 4, servers=servers, mesh=cut, limit=limit)
    return Kind(shape, dtype, *layout, mesh_chunks(shape, mesh, policy=policy))


@st.composite
def requests(draw):
    """Some arrays of one or two kinds, and the servers that write them."""
    kinds = []
    servers, limit = draw(st.integers(1, 5)), draw(st.sampled_from([4, 64, 300, 4000]))
    for _ in range(draw(st.integers(1, 2))):
        shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
        mesh = tuple(draw(st.integers(1, 3)) for _ in shape)
        policy = draw(st.sampled_from(["balanced", "hpf"]))
        cut = tuple(draw(st.integers(1, 3)) for _ in shape) if draw(st.booleans()) else ()
        kinds.append(kind_of(shape, mesh, servers=servers, limit=limit, policy=policy, cut=cut))
    numbers = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=7))
    arrays = tuple(NamedArray(f"a{i}", kind) for i, kind in enumerate(numbers))
    batch = draw(st.booleans())
    taking = tuple(sorted(draw(st.sets(st.integers(0, servers - 1)))))
    schema = Schema("write", "x", arrays, tuple(kinds), is_batched=batch, limit=limit)
    return replace(schema, servers=taking), servers


@given(requests())
def test_every_element_is_in_one_subchunk_of_one_server(case):
    schema, servers = case
    seen = [np.zeros(schema.kinds[a.kind].shape, int) for a in schema.arrays]
    for server in range(servers):
        units = list(schema.units(server, servers))
        assert not units or not schema.servers or server in schema.servers
        for unit in units:
            kind = schema.kinds[schema.arrays[unit.arrays[0]].kind]
            size = kind.item * sum(prod(x.count) for x in unit.subchunks) * len(unit.arrays)
            assert size <= max(schema.limit, kind.item)
            for number in unit.arrays:
                assert schema.arrays[number].kind == schema.arrays[unit.arrays[0]].kind
                for x in unit.subchunks:
                    box = tuple(slice(a, a + n) for a, n in zip(x.start, x.count, strict=True))
                    seen[number][box] += 1
    assert all((each == 1).all() for each in seen)


@given(st.integers(1, 10_000), st.integers(1, 64), st.integers(1, 8), st.integers(64, 10_000))
def test_servers_have_equal_parts_of_a_large_array(rows, row, servers, limit):
    (chunk, _), (inner, _) = layout_for((rows, row), 1, servers=servers, limit=limit)
    share = -(-rows // (servers if rows * row > limit else 1))
    assert inner * row <= limit
    assert share <= chunk < share + chunk // inner  # less than a row for each subchunk
    fewest = -(-share // (limit // row))
    assert chunk // inner == fewest


@given(requests())
def test_subchunks_of_a_storage_chunk_come_together_and_in_row_major_order(case):
    schema, servers = case
    owners = {}
    for server in range(servers):
        order = {}
        for unit in schema.units(server, servers):
            for number in unit.arrays:
                for x in unit.subchunks:
                    order.setdefault((number, x.chunk), []).append(x.start)
                    assert owners.setdefault((number, x.chunk), server) == server
        assert all(places == sorted(places) for places in order.values())
    for array in schema.arrays:
        kind = schema.kinds[array.kind]
        assert all(c % i == 0 for c, i in zip(kind.chunk, kind.inner, strict=True))


@given(requests(), st.randoms())
def test_overlaps_put_together_give_the_array_back_whatever_comes_first(case, random):
    schema, servers = case
    wholes = [
        np.arange(prod(schema.kinds[a.kind].shape), dtype="<i4").reshape(
            schema.kinds[a.kind].shape
        )
        for a in schema.arrays
    ]
    for server in range(servers):
        for i, unit in enumerate(schema.units(server, servers)):
            kind = schema.kinds[schema.arrays[unit.arrays[0]].kind]
            gathering = KindOverlaps(kind).gathering(i, unit, is_filled=True)
            clients = sorted(gathering.overlaps)
            random.shuffle(clients)
            for client in clients:
                parts = [
                    wholes[a][tuple(slice(s, s + n) for s, n in zip(start, count, strict=True))]
                    for a in unit.arrays
                    for _, start, count in gathering.wanted(client)
                ]
                value = np.frombuffer(b"".join(part.tobytes() for part in parts), np.uint8)
                gathering.take(client, value)
                assert np.array_equal(gathering.give(client), value)
            assert not gathering.missing
            for a, own in zip(unit.arrays, gathering.buffers, strict=True):
                for x, values in zip(unit.subchunks, own, strict=True):
                    box = tuple(slice(s, s + n) for s, n in zip(x.start, x.count, strict=True))
                    assert np.array_equal(values, wholes[a][box])


def test_many_small_arrays_are_dealt_to_all_servers():
    kind = kind_of((8, 8), (2, 2), servers=4, limit=1 << 20)
    schema = Schema("write", "x", tuple(NamedArray(f"a{i}", 0) for i in range(10)), (kind,))
    units = [list(schema.units(server, 4)) for server in range(4)]
    assert [[unit.arrays for unit in own] for own in units] == [
        [(0, 4, 8)],
        [(1, 5, 9)],
        [(2, 6)],
        [(3, 7)],
    ]
