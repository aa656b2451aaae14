"""The channel from fast messages, the trace-driven queue, and intervals of means and cv^2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.pipeline.traces.traffic.channel import channel_of, messages_of, queue_delays
from parcast.pipeline.traces.traffic.check import block_length, intervals_of
from parcast.queueing.open import mg1
from tests.pipeline.traces.traffic.simulated import KINDS, simulated_trace


def messages(kind, n=1000, seed=0, *, load=1.0, noise=0.0, **options):
    r = np.random.default_rng(seed)
    gaps, lengths = KINDS[kind](r, n)
    trace = simulated_trace(gaps / load, lengths, capacity=50e6, **options)
    trace.messages["received"] += noise * r.exponential(size=n)
    return messages_of(trace)


def one_by_one(gaps, service):
    """Delays by simulating the queue message after message."""
    now, free, delays = 0.0, 0.0, []
    for gap, needed in zip([0.0, *gaps], service, strict=True):
        now += gap
        free = max(now, free) + needed
        delays.append(free - now)
    return delays


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1))
def test_the_recursion_is_the_queue_simulated_message_by_message(pairs):
    gaps, service = np.array(pairs).T
    expected = one_by_one(gaps[1:], service)
    assert queue_delays(gaps[1:], service) == pytest.approx(expected, abs=1e-9)


def test_long_poisson_traffic_has_the_delay_of_the_formula():
    r = np.random.default_rng(5)
    gaps, service = r.exponential(1.0, 400_000), r.gamma(2.0, 0.25, 400_001)
    expected = float(mg1(1.0, service=0.5, cv2=0.5).response)
    assert queue_delays(gaps, service).mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["poisson", "discrete", "lognormal", "bursts", "modulated"])
@pytest.mark.parametrize("load", [0.3, 1.0, 2.0])  # times a utilisation of 0.4
def test_capacity_and_latency_are_estimated_from_the_fastest_messages(kind, load):
    found = channel_of(messages(kind, load=load, latency=10e-6), None, None)
    assert found.capacity == pytest.approx(50e6, rel=0.01)
    assert found.latency == pytest.approx(10e-6, abs=2e-6)
    assert found.source.startswith("estimated from the fastest messages that met no other")


def test_delays_in_the_receiver_hardly_change_the_estimate():
    found = channel_of(messages("poisson", n=5000, latency=10e-6, noise=200e-6), None, None)
    assert found.capacity == pytest.approx(50e6, rel=0.1)
    assert found.lower < found.capacity < found.upper


def test_equal_lengths_determine_no_latency():
    found = channel_of(messages("equal", latency=0.1e-3), None, None)
    assert found.capacity == pytest.approx(20_000 / (0.4e-3 + 0.1e-3))
    assert found.latency == 0
    assert "a latency is not determined" in found.source


def test_delays_of_nothing_determine_no_capacity():
    found = messages("poisson")
    found.delays[:] = 0
    channel = channel_of(found, None, None)
    assert np.isnan(channel.capacity)
    assert channel.source.startswith("not determined, as the shortest delays are not above 0")


def test_independent_values_are_drawn_one_by_one():
    lengths = [
        block_length(np.random.default_rng(seed).exponential(size=500)) for seed in range(20)
    ]
    assert np.median(lengths) == 1
    assert block_length(np.ones(50)) == 1


def follow(n, phi, seed):
    r = np.random.default_rng(seed)
    z = np.zeros(n)
    for i, noise in enumerate(r.normal(size=n)):
        z[i] = phi * z[i - 1] + noise
    return z


def test_blocks_grow_with_the_dependence_of_the_values():
    lengths = [block_length(follow(4000, phi, 1)) for phi in (0.0, 0.3, 0.9)]
    assert lengths[0] <= 3 < lengths[1] < lengths[2]
    # Of a first-order sequence the best length is known: Politis and White (2004), section 3.
    best = (1.5 * (2 * 0.9 / (1 - 0.9**2)) ** 2 * 4000) ** (1 / 3)
    assert lengths[2] == pytest.approx(best, rel=0.5)


def test_intervals_contain_the_true_mean_about_as_often_as_they_say():
    contained = 0
    for seed in range(100):
        values = 10 + follow(1000, 0.7, seed)
        (low, high), _ = intervals_of(values, np.random.default_rng(seed))
        contained += low <= 10 <= high
    assert 80 <= contained <= 98  # of 100, at 90%


def test_intervals_of_cv2_contain_the_true_one_about_as_often_as_they_say():
    contained = 0
    for seed in range(100):
        values = np.random.default_rng(seed).exponential(size=400)
        _, (low, high) = intervals_of(values, np.random.default_rng(seed))
        contained += low <= 1 <= high
    assert 78 <= contained <= 98
