"""`parcast.laws.primitives.network`: networks made of known figures are found again."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import FitFailed, ParameterError
from parcast.laws.primitives.measured import primitive_time
from parcast.laws.primitives.network import network_keys

SIZES = (8, 64, 512, 4096, 32768, 262144, 1048576)
COUNTS = (2, 4, 8, 16, 32, 64)
STARTUP, BYTE = 1e-4, 1e-8
LINE = {m: STARTUP + BYTE * m for m in SIZES}


BENDS = (0, 8, 64, 512, 4096, 32768, 131072, 524288, 1048576)


def bent(size):
    """Time of a message on a link that is limited to 12 MB/s after a burst of 32 kB."""
    return STARTUP + BYTE * size + max(size - 32768, 0) / 12e6


def exchange(per_byte):
    """Exchange of all with all whose byte takes `per_byte(p)`."""
    return {p: {m: STARTUP + per_byte(p) * m for m in SIZES} for p in COUNTS}


def machine(**options):
    return Machine(**network_keys(LINE, **options))


def together(found, p):
    return float(found.network.saturation({"p": np.array(float(p))}))


def test_messages_give_latency_and_bandwidth():
    found = machine()
    assert float(found.network.latency({})) == pytest.approx(STARTUP)
    assert float(found.network.bandwidth({})) == pytest.approx(1 / BYTE)
    assert found.network.saturation is None


def test_where_messages_bend_the_long_ones_decide():
    found = Machine(**network_keys({m: bent(m) for m in BENDS}))
    assert float(found.network.latency({})) == pytest.approx(STARTUP)
    assert float(found.network.bandwidth({})) == pytest.approx(1 / (BYTE + 1 / 12e6), rel=1e-3)


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_where_messages_bend_the_sizes_that_are_sent_keep_both_rates(size):
    found = Machine(**network_keys({m: bent(m) for m in BENDS}, message_sizes={4: size}))
    rate = float(found.network.bandwidth({"p": np.array(4.0)}))
    # of S exponential of mean s, E[max(S - B, 0)] = s * exp(-B / s)
    assert rate == pytest.approx(1 / (BYTE + np.exp(-32768 / size) / 12e6), rel=0.02)


def test_an_alltoall_where_messages_bend_has_the_rate_of_its_size():
    line, times = {m: bent(m) for m in BENDS}, {p: {m: bent(m) for m in BENDS} for p in COUNTS}
    at = {"p": np.array(4.0)}
    for size in (8192.0, 1e6):
        found = Machine(**network_keys(line, exchange=times, exchange_sizes={4: size}))
        time = primitive_time("alltoall", found, at, np.array(size))
        assert time == pytest.approx(bent(size), rel=0.02)


def test_links_of_their_own_have_no_saturation():
    found = machine(exchange=exchange(lambda _: BYTE))
    assert found.network.saturation is None
    volume = np.array(1e6)
    for p in (4.0, 64.0):
        time = primitive_time("alltoall", found, {"p": np.array(p)}, volume)
        assert time == pytest.approx(STARTUP + BYTE * 1e6, rel=1e-4)


def test_a_bus_stays_the_same_for_every_count():
    found = machine(exchange=exchange(lambda p: p * (p - 1) * BYTE))
    assert [together(found, p) for p in (4, 64)] == pytest.approx([1 / BYTE] * 2, rel=1e-4)
    time = primitive_time("alltoall", found, {"p": np.array(8.0)}, np.array(1e6))
    assert time == pytest.approx(STARTUP + 56 * BYTE * 1e6, rel=1e-3)


def test_one_size_and_one_processor_tell_nothing_of_a_rate():
    short = {1: {8: 1e-6, 64: 2e-6}, 4: {8: STARTUP}}
    assert machine(exchange=short).network.saturation is None


def short_ones(p):
    """Bus on which the first 1000 B of a message take three times as long each."""
    return {
        m: STARTUP + p * (p - 1) * BYTE * (m + 2 * min(m, 1000))
        for m in (8, 64, 1000, 10**5, 10**6)
    }


def test_short_messages_get_less_of_a_shared_network():
    sent = {p: short_ones(p) for p in COUNTS}
    found = machine(exchange=sent)
    assert together(found, 8) == pytest.approx(1 / BYTE, rel=1e-3)
    # what is sent up to 1000 B is counted three times: E[min(S, 1000)] = s * (1 - exp(-1000 / s))
    for size in (50.0, 1000.0, 1e5):
        found = machine(exchange=sent, message_sizes={8: size})
        factor = 1 + 2 * (1 - np.exp(-1000 / size))
        assert together(found, 8) == pytest.approx(1 / BYTE / factor, rel=0.02)


def test_sizes_that_change_with_p_are_followed_between_the_counts():
    sent = {p: short_ones(p) for p in COUNTS}
    sizes = {1: 0.0, 2: 1e6, 4: 1e4, 16: 1e3, 64: 100.0}
    found = machine(exchange=sent, message_sizes=sizes)
    alone = {
        p: together(machine(exchange=sent, message_sizes={p: sizes[p]}), p) for p in (2, 4, 16, 64)
    }
    for p, rate in alone.items():
        assert together(found, p) == pytest.approx(rate, rel=2e-3)
    assert alone[4] > together(found, 8) > alone[16]
    assert together(found, 8) == pytest.approx(np.sqrt(alone[4] * alone[16]), rel=2e-3)


def test_an_alltoall_has_the_size_that_is_given():
    sent = {p: short_ones(p) for p in COUNTS}
    found = machine(exchange=sent, exchange_sizes={8: 1000.0, 16: 1000.0})
    assert together(found, 8) == pytest.approx(1 / BYTE, rel=1e-3)
    time = primitive_time("alltoall", found, {"p": np.array(8.0)}, np.array(1000.0))
    startup = primitive_time("alltoall", found, {"p": np.array(8.0)}, np.zeros(()))
    assert time - startup == pytest.approx(56 * BYTE * 3000, rel=1e-3)


def tree(p):
    return np.log2(p) * STARTUP


def test_a_barrier_in_the_times_is_taken_off():
    barrier = {p: {0: 2 * tree(p)} for p in COUNTS}
    held = {p: {m: (2 + 1) * tree(p) + BYTE * m for m in SIZES} for p in COUNTS}
    bare = {p: {m: tree(p) + BYTE * m for m in SIZES} for p in COUNTS}
    at = {"p": np.array([2.0, 16.0, 64.0])}
    for times, options in (
        (held, {}),
        (bare, {}),
        (held, {"with_barrier": True}),
        (bare, {"with_barrier": False}),
    ):
        found = machine(collectives={"broadcast": times, "barrier": barrier}, **options)
        told = primitive_time("broadcast", found, at, np.array(8.0))
        assert told == pytest.approx(tree(at["p"]), rel=0.02)
        told = primitive_time("barrier", found, at, np.zeros(3))
        assert told == pytest.approx(2 * tree(at["p"]), rel=0.02)


def test_without_a_broadcast_of_two_nothing_is_taken_off():
    times = {p: {m: 3 * tree(p) + BYTE * m for m in SIZES} for p in COUNTS[1:]}
    barrier = {p: {0: 2 * tree(p)} for p in COUNTS[1:]}
    found = machine(collectives={"broadcast": times, "barrier": barrier})
    at = {"p": np.array(16.0)}
    told = primitive_time("broadcast", found, at, np.array(8.0))
    assert told == pytest.approx(3 * tree(16), rel=0.02)


def test_what_cannot_be_read_is_refused():
    with pytest.raises(ParameterError, match=r"^collectives must be broadcast, reduce, .* 'scan'"):
        machine(collectives={"scan": {2: LINE}})
    with pytest.raises(FitFailed, match="two sizes or more"):
        network_keys({8: 1e-6})
    with pytest.raises(FitFailed, match="Longer messages must take more time"):
        network_keys({8: 1e-6, 64: 1e-6})
