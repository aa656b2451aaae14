"""Overlaps are received where they belong, and written from where they lie."""

import numpy as np
import pytest

from parcast.arrays.library.gathering import KindOverlaps, Memory
from parcast.arrays.library.schema import NamedArray, Schema
from tests.arrays.library.test_schema import kind_of


def gatherings(mesh, arrays=1, shape=(8, 6), limit=96, memory=None):
    kind = kind_of(shape, mesh, servers=1, limit=limit)
    named = tuple(NamedArray(f"a{i}", 0) for i in range(arrays))
    schema = Schema("write", "x", named, (kind,), limit=limit * arrays)
    overlaps = KindOverlaps(kind, memory)
    for number, unit in enumerate(schema.units(0, 1)):
        yield overlaps.gathering(number, unit, is_filled=True)


def test_rows_are_received_in_the_subchunk():
    first, *_ = gatherings((4, 1))
    assert not first.is_on_its_way
    for client in (0, 1):
        room = first.room(client, 48)
        room[:] = bytes([client + 1]) * 48
        first.take(client, np.frombuffer(room, np.uint8))
    assert not first.missing
    assert np.array_equal(first.buffers[0][0].view(np.uint8)[:, 0], [1, 1, 2, 2])


@pytest.mark.parametrize(("client", "size"), [(0, 47), (1, 0)])
def test_a_message_of_another_length_is_received_elsewhere(client, size):
    first, *_ = gatherings((4, 1))
    assert first.room(client, size) is None


def test_a_subchunk_of_one_client_is_written_from_where_it_lies():
    first, *_ = gatherings((1, 1))
    value = np.arange(96, dtype=np.uint8)
    first.take(0, value)
    assert np.shares_memory(first.buffers[0][0], value)


def test_memory_is_used_again():
    memory = Memory()
    first, second, *_ = gatherings((4, 1), memory=memory)
    assert not np.shares_memory(first.memory, second.memory)
    memory.give_back(first.memory)
    assert memory.taken(90) is first.memory
    assert memory.taken(90) is not first.memory
