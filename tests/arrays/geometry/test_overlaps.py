"""Subchunks and their overlaps with clients: published counts, partitions, and brute force."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parcast.arrays.geometry.chunks import listed_chunks, mesh_chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.errors import ParameterError
from tests.arrays.geometry.test_boxes import meshes
from tests.arrays.geometry.test_chunks import partitions
from tests.arrays.law import reference

DIVISIBLE = (48, 48, 48)
LARGE = 2**62  # a limit above any chunk


def messages_of(clients, servers):
    """Requests of each server."""
    chunks = mesh_chunks(DIVISIBLE, clients)
    subchunks = schema_subchunks(DIVISIBLE, servers, itemsize=8, most=LARGE)
    return np.bincount(overlaps(chunks, subchunks).requests.server, minlength=np.prod(servers))


# PA-1: published counts of overlapping clients, exactly


@pytest.mark.parametrize(
    ("clients", "servers", "counts"),
    [
        ((3, 4, 2), 2, [16] * 2),
        ((3, 4, 2), 3, [8] * 3),
        ((3, 4, 2), 4, [8, 16, 16, 8]),
        ((3, 4, 2), 6, [8] * 6),
        ((3, 4, 2), 8, [8, 8, 16, 8, 8, 16, 8, 8]),
        ((4, 4, 2), 6, [8, 16, 8, 8, 16, 8]),
        ((4, 4, 2), 4, [8] * 4),
        ((4, 4, 2), 8, [8] * 8),
        ((3, 4, 4), 8, [16, 16, 32, 16, 16, 32, 16, 16]),
        ((2, 4, 4), 8, [16] * 8),
    ],
)
def test_overlapping_clients_of_row_slabs(clients, servers, counts):
    assert messages_of(clients, (servers, 1, 1)).tolist() == counts


@pytest.mark.parametrize("servers", [(1, 2, 4), (1, 4, 2), (2, 2, 2), (2, 4, 1), (2, 1, 4)])
def test_aligned_meshes_overlap_four_clients_with_their_whole_chunks(servers):
    chunks = mesh_chunks(DIVISIBLE, (2, 4, 4))
    subchunks = schema_subchunks(DIVISIBLE, servers, itemsize=8, most=LARGE)
    requests = overlaps(chunks, subchunks).requests
    assert np.bincount(requests.server).tolist() == [4] * 8
    assert requests.is_whole_chunk.all()


# Properties


@given(meshes(), meshes(), st.integers(1, 6), st.sampled_from([1, 2, 4, 8]))
def test_overlaps_partition_every_subchunk(drawn, other, rows, itemsize):
    shape, mesh, policy = drawn
    servers = (other[1] * 6)[: len(shape)]
    chunks = mesh_chunks(shape, mesh, policy=policy)
    subchunks = schema_subchunks(
        shape, servers, itemsize=itemsize, policy=policy, most=rows * itemsize
    )
    table = overlaps(chunks, subchunks)
    total = np.bincount(table.subchunk, table.size, len(subchunks.server))
    assert total.tolist() == subchunks.size.tolist()
    assert subchunks.size.max() <= rows * itemsize
    assert subchunks.size.sum() == np.prod(shape) * itemsize
    assert np.bincount(table.chunk, table.boxes.elements, len(chunks.client)).tolist() == (
        chunks.boxes.elements.tolist()
    )


@given(meshes(most=6), st.integers(1, 60))
def test_subchunks_are_those_of_the_recursion(drawn, most):
    shape, mesh, policy = drawn
    subchunks = schema_subchunks(shape, mesh, itemsize=2, policy=policy, most=2 * most)
    expected = []
    for server, chunk in enumerate(reference.mesh_boxes(shape, mesh, policy)):
        expected += [(server, box) for box in reference.slabs(chunk, 2, 2 * most)]
    sides = np.stack(subchunks.boxes, axis=-1).tolist()
    assert [
        (s, [tuple(x) for x in box]) for s, box in zip(subchunks.server, sides, strict=True)
    ] == (expected)


@given(meshes(most=6), meshes(most=6))
def test_the_table_is_that_of_a_double_loop(drawn, other):
    shape, mesh, policy = drawn
    servers = (other[1] * 6)[: len(shape)]
    chunks = reference.mesh_boxes(shape, mesh, policy)
    pieces = [
        box for box in reference.mesh_boxes(shape, servers, policy) if reference.elements(box)
    ]
    assume(len(chunks) * len(pieces) <= 300)
    table = overlaps(
        mesh_chunks(shape, mesh, policy=policy),
        schema_subchunks(shape, servers, itemsize=1, policy=policy, most=LARGE),
    )
    rows = []
    for k, piece in enumerate(pieces):
        for i, chunk in enumerate(chunks):
            part = reference.intersection(piece, chunk)
            if size := reference.elements(part):
                in_piece, in_chunk = reference.runs(part, piece), reference.runs(part, chunk)
                rows.append((k, i, size, in_piece, in_chunk, part == chunk, part == piece))
    columns = (
        table.subchunk,
        table.client,
        table.size,
        table.runs_in_subchunk,
        table.runs_in_chunk,
        table.is_whole_chunk,
        table.is_whole_subchunk,
    )
    assert [tuple(row) for row in zip(*columns, strict=True)] == rows


@given(partitions(), st.integers(1, 3), st.integers(1, 3))
def test_several_boxes_of_a_client_are_one_message(drawn, ranks, servers):
    shape, boxes = drawn
    chunks = listed_chunks(shape, [boxes[i::ranks] for i in range(ranks)])
    mesh = (servers,) + (1,) * (len(shape) - 1)
    table = overlaps(chunks, schema_subchunks(shape, mesh, itemsize=4))
    requests = table.requests
    keys = list(zip(table.subchunk, table.client, strict=True))
    assert list(zip(requests.subchunk, requests.client, strict=True)) == sorted(set(keys))
    for k, client, size, runs, is_whole in zip(
        requests.subchunk,
        requests.client,
        requests.size,
        requests.runs_in_chunk,
        requests.is_whole_chunk,
        strict=True,
    ):
        rows = [i for i, key in enumerate(keys) if key == (k, client)]
        assert size == table.size[rows].sum()
        assert runs == table.runs_in_chunk[rows].sum()
        assert is_whole == (len(rows) == 1 and table.is_whole_chunk[rows[0]])


# Storage chunks


@st.composite
def grids(draw):
    """Draw the extents of an array, of an inner chunk and of a storage chunk."""
    shape = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    inner = [draw(st.integers(1, 4)) for _ in shape]
    return shape, inner, [n * draw(st.integers(1, 3)) for n in inner]


@given(grids(), st.integers(1, 7))
def test_storage_chunks_are_a_regular_grid_cut_at_the_edges(drawn, servers):
    shape, inner, storage = drawn
    subchunks = storage_subchunks(shape, storage, inner=inner, servers=servers, itemsize=8)
    assert (subchunks.boxes.start % inner == 0).all()
    full = subchunks.boxes.start + inner
    assert (subchunks.boxes.stop == np.minimum(full, shape)).all()
    assert (subchunks.stored == np.prod(inner) * 8).all()
    assert subchunks.size.sum() == np.prod(shape) * 8
    counts = [-(-n // s) for n, s in zip(shape, storage, strict=True)]
    of = np.ravel_multi_index((subchunks.boxes.start // storage).T, counts)
    assert of.tolist() == subchunks.storage_chunk.tolist()
    assert (np.diff(of) >= 0).all()


@given(grids(), st.integers(1, 7))
def test_servers_have_whole_storage_chunks_in_balanced_runs(drawn, servers):
    shape, inner, storage = drawn
    subchunks = storage_subchunks(shape, storage, inner=inner, servers=servers, itemsize=8)
    owner = {}
    for chunk, server in zip(subchunks.storage_chunk, subchunks.server, strict=True):
        assert owner.setdefault(int(chunk), int(server)) == server
    assert sorted(owner) == list(range(len(owner)))
    assert list(owner.values()) == sorted(owner.values())
    each = np.bincount(list(owner.values()), minlength=servers)
    assert np.ptp(each) <= 1


def test_subchunks_of_one_server_and_those_that_are_needed():
    shards = storage_subchunks((10, 8), (4, 8), inner=(2, 8), servers=2, itemsize=8)
    mine = shards.at(shards.server == 1)
    assert mine.boxes.start[:, 0].tolist() == [4, 6, 8]
    part = listed_chunks((10, 8), [((5, 0), (1, 2))], is_partial=True)
    needed = overlaps(part, shards).needed()
    assert needed.subchunks.boxes.start.tolist() == [[4, 0]]
    assert needed.subchunk.tolist() == [0]
    whole = overlaps(mesh_chunks((10, 8), (2, 1)), shards)
    assert whole.needed() is whole


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: schema_subchunks((8, 8), (2, 1), itemsize=8, most=4),
            "subchunk must hold one element: at least 8 bytes, got 4. 1 MiB is usual.",
        ),
        (
            lambda: schema_subchunks((8, 8), (2,), itemsize=8),
            "server mesh must have one number for each of the 2 dimensions, got 2. Give the "
            "positions in each dimension, such as 2, 4 and 1.",
        ),
        (
            lambda: storage_subchunks((8, 8), (4, 8), inner=(3, 8), servers=2, itemsize=8),
            "inner chunk must divide the storage chunk of 4x8 in every dimension, got 3x8. Choose "
            "divisors of its extents.",
        ),
        (
            lambda: storage_subchunks((8, 8), (4, 8), servers=0, itemsize=8),
            "servers must be a whole number of at least 1, got 0. Count the servers from 1.",
        ),
        (
            lambda: storage_subchunks((10**6,) * 3, (1, 1, 1), servers=1, itemsize=4),
            "subchunks must be at most 1,000,000, got 1,000,000,000,000,000,000. Make them "
            "larger.",
        ),
        (
            lambda: schema_subchunks((10**10, 10**10), (1, 1), itemsize=8),
            "shape must be that of at most 4611686018427387904 bytes, got "
            "10000000000x10000000000. Check the extents.",
        ),
        (
            lambda: overlaps(
                mesh_chunks((8, 8), (2, 1)), schema_subchunks((8, 9), (2, 1), itemsize=8)
            ),
            "shape must be that of the clients' array, 8x8, got 8x9. Distribute the same "
            "array over clients and servers.",
        ),
    ],
)
def test_what_cannot_be_distributed_is_refused(call, says, refusal):
    assert refusal(ParameterError, call) == says
