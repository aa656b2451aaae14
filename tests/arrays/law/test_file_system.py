"""Writes composed through the cache and one after the other, and servers without work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.law.file_system import write_map
from parcast.arrays.law.request import Options, request_time
from tests.arrays.law import reference
from tests.arrays.law.test_request import SP2, WRITERS, table_of, with_servers

sizes = st.integers(0, 20).map(float)


@given(
    writes=st.lists(st.tuples(st.integers(-20, 20).map(float), sizes), min_size=1, max_size=30),
    cache=sizes,
    dirty=sizes,
    power=st.integers(1, 9),
)
def test_writes_are_composed_as_if_one_followed_the_other(writes, cache, dirty, power):
    shift, low = (np.array([each]) for each in zip(*writes, strict=True))
    composed = write_map(shift, low, np.full_like(shift, cache)).composed()
    after, waited = dirty, 0.0
    for _ in range(power):
        for by, least in writes:
            after = max(after + by, least)
            waited += max(after - cache, 0.0)
            after = min(after, cache)
    expected = [after, waited]
    made = composed.power(power).applied(np.array([dirty]))
    assert [float(x[0]) for x in made] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("operation", ["write", "read"])
def test_servers_without_a_part_of_an_array_go_on_with_the_next(writer, operation):
    if (writer, operation) == ("write-behind", "read"):
        writer = "sync"
    shapes = [(8, 8), (1, 8), (1, 8), (8, 8), (1, 8)]
    costs = with_servers(SP2, cache=300.0, partition=16)
    options = Options(operation=operation, writer=writer)
    result = request_time([table_of(x, (2, 1), (2, 1), most=64) for x in shapes], costs, options)
    law = reference.Law(costs, 2, 2, writer=writer)
    arrays = []
    for shape in shapes:
        chunks = reference.mesh_boxes(shape, (2, 1))
        arrays.append((chunks, [reference.slabs(box, 8, 64) for box in chunks]))
    expected = (law.write if operation == "write" else law.read)(arrays, 8)
    assert result.intermediate == pytest.approx(expected, rel=1e-12)
    assert result.subchunks.tolist() == [8, 11]


@pytest.mark.parametrize("number", [1, 3, 100])
def test_an_unlimited_cache_is_one_that_never_fills(number):
    table = table_of((64, 64), (2, 2), (2, 1), most=2048)
    times = [
        request_time(EqualArrays(table, number), with_servers(SP2, cache=cache, cache_rate=rate))
        for rate in (np.inf, 60e6)
        for cache in (np.inf, 1e15)
    ]
    assert np.isfinite(times[0].time)
    assert times[0].time == pytest.approx(times[1].time, rel=1e-12)
    assert times[2].time == pytest.approx(times[3].time, rel=1e-12)
