"""Batches: all bytes of a request in its order, within the buffer, each message once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.batches import EqualArrays, batches
from parcast.arrays.law.request import Options, request_time
from tests.arrays.law.test_request import SP2, requests, table_of


def split(groups, **options):
    servers = groups[0].overlaps.subchunks.servers
    arguments = {"batch": True, "buffer": 2**20, **options}
    return list(batches(groups, servers=servers, **arguments))


@st.composite
def small_arrays(draw):
    """Draw groups of equal arrays of few elements, on the same clients and servers."""
    clients = draw(st.sampled_from([(2, 1), (2, 2), (3, 1)]))
    servers = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    return [
        EqualArrays(
            table_of(
                (draw(st.integers(1, 6)), draw(st.integers(1, 6))),
                clients,
                servers,
                itemsize=1,
                most=draw(st.sampled_from([4, 1000])),
            ),
            draw(st.integers(1, 9)),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]


@given(small_arrays(), st.integers(1, 60) | st.none(), st.integers(1, 5))
def test_batches_have_all_bytes_and_fit_the_buffer(groups, buffer, count):
    options = {"batch": True, "buffer": buffer} if buffer else {"batch": count}
    made = split(groups, **options)
    servers = groups[0].overlaps.subchunks.servers
    total = np.zeros(servers, dtype=int)
    for batch in made:
        size = np.bincount(batch.requests.server, batch.requests.size, servers)
        assert np.bincount(batch.server, batch.stored, servers).tolist() == size.tolist()
        total += batch.number * size.astype(int)
        is_one = batch.files.max() == 1  # with several of a server none has to fit
        if buffer:
            assert is_one or size.max() <= buffer
        else:
            assert batch.files.max() <= count
    expected = sum(
        number * np.bincount(table.server, table.size, servers) for table, number in groups
    )
    assert total.tolist() == expected.tolist()
    files = sum(batch.number * np.bincount(batch.server, batch.files, servers) for batch in made)
    with_some = sum(
        number * (np.bincount(table.server, minlength=servers) > 0) for table, number in groups
    )
    assert files.tolist() == with_some.tolist()


def test_equal_arrays_share_messages_wherever_they_are():
    first, second = table_of((8, 8), (2, 2), (2, 1)), table_of((4, 6), (2, 2), (2, 1))
    groups = [EqualArrays(first, 1), EqualArrays(second, 2), EqualArrays(first, 3)]
    made = split(groups)
    assert [batch.number for batch in made] == [1, 1]
    assert [batch.requests.size.tolist() for batch in made] == [[4 * 16 * 8] * 4, [2 * 6 * 8] * 4]
    assert [batch.files.tolist() for batch in made] == [[4, 4], [2, 2]]
    result = request_time(groups, SP2, Options(batch=True))
    assert result.messages.tolist() == [4, 4]
    assert result.time < request_time(groups, SP2).time


def test_an_array_with_several_subchunks_on_a_server_is_a_batch_of_its_own():
    small, large = table_of((8, 8), (2, 2), (2, 1)), table_of((8, 8), (2, 2), (2, 1), most=128)
    made = split([EqualArrays(small, 3), EqualArrays(large, 2), EqualArrays(small, 1)])
    assert [(batch.number, int(batch.files.max())) for batch in made] == [(1, 4), (2, 1)]


@given(requests())
def test_equal_arrays_are_batched_equally_in_one_group_or_in_several(drawn):
    [group, *_], _, _, costs, _ = drawn
    options = Options(batch=True, writer="sync")
    table, number = group
    at_once = request_time(EqualArrays(table, number), costs, options)
    one_by_one = request_time([table] * number, costs, options)
    assert one_by_one.messages.tolist() == at_once.messages.tolist()
    assert one_by_one.intermediate == pytest.approx(at_once.intermediate, rel=1e-9)
