"""`parcast.laws.primitives.measured`: the costs of the sources, and how primitives take them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import PRIMITIVES, Machine
from parcast.errors import ParameterError
from parcast.laws.primitives.measured import COUNTS, WORDS, primitive_time, standard_time

A, B = 1e-5, 1e-9  # startup [s] and time of a byte [s/B]
PUBLISHED = {  # n bytes in all, lg p and p as the sources have them; p = 8, and 1 MB of a partner
    "broadcast": 3 * (A + 1e6 * B),
    "reduce": 3 * (A + 1e6 * B),
    "allreduce": 6 * (A + 1e6 * B),
    "gather": 3 * A + 7 / 8 * 8e6 * B,  # lg p a + (p - 1)/p n b
    "scatter": 3 * A + 7 / 8 * 8e6 * B,
    "allgather": 3 * A + 7 / 8 * 8e6 * B,  # of all ranks together, n is the result
    "alltoall": 7 * A + 7 / 8 * 8e6 * B,  # (p - 1) a + (p - 1)/p n b, n of one rank
    "send": A + 1e6 * B,
    "receive": A + 1e6 * B,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_costs_are_those_of_the_sources(name):
    assert standard_time(name, 8, 1e6, startup=A, byte=B) == pytest.approx(PUBLISHED[name])


def test_a_barrier_takes_a_message_a_level_and_no_bytes():
    told = standard_time("barrier", [1, 2, 5, 8], 0, startup=A, byte=B)
    assert told == pytest.approx([0, A, 3 * A, 3 * A])


def test_every_primitive_of_a_machine_has_a_cost_and_words():
    assert set(COUNTS) == set(WORDS) == set(PRIMITIVES)


@given(name=st.sampled_from(PRIMITIVES), p=st.integers(1, 10**6), m=st.floats(0, 1e9))
def test_more_processors_or_bytes_are_never_faster_and_one_says_nothing(name, p, m):
    one, here, more = standard_time(name, [1, p, p + 1], m, startup=A, byte=B)
    assert one == 0
    assert here <= more
    assert standard_time(name, p, 2 * m, startup=A, byte=B) >= here


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_machine_without_figures_is_priced_so(name):
    machine = Machine(network={"latency": "10 us", "bandwidth": "1 GB/s"})
    volume = np.asarray(0.0 if name == "barrier" else 1e6)
    told = primitive_time(name, machine, {"p": np.array([1.0, 8, 9])}, volume)
    assert told == pytest.approx(standard_time(name, [1, 8, 9], volume, startup=A, byte=B))


def test_the_bytes_of_a_barrier_are_refused():
    machine = Machine(primitives={"barrier": {"startup": "2 us*log2(p)"}})
    at = {"p": np.array([4.0])}
    assert primitive_time("barrier", machine, at, np.zeros(())) == pytest.approx([4e-6])
    with pytest.raises(ParameterError, match=r"volume must be 0, got 8\. A barrier sends no"):
        primitive_time("barrier", machine, at, np.asarray(8.0))
    with pytest.raises(ParameterError, match="bandwidth"):
        Machine(primitives={"barrier": {"bandwidth": "1 GB/s"}})
