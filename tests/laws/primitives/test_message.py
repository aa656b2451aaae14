"""Lines of a message: published figures, recovery, its laws, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FitFailed, ParameterError
from parcast.laws.primitives.message import fit_long_messages, fit_message, fit_messages

SIZES = np.concatenate([[0.0], 2.0 ** np.arange(23)])
startups = st.floats(1e-8, 1e-2)
rates = st.floats(1e5, 1e12)


@given(t0=startups, rate=rates)
def test_a_line_is_found_again(t0, rate):
    fit = fit_message(SIZES, t0 + SIZES / rate)
    assert fit.startup == pytest.approx(t0, rel=1e-6)
    assert fit.time(SIZES) == pytest.approx(t0 + SIZES / rate, rel=1e-6)
    assert fit.error < 1e-6


@given(t0=startups, half=st.floats(2**6, 2**16), first=st.sampled_from([0, 1, 2]))
def test_a_third_of_disturbed_messages_does_not_move_the_line(t0, half, first):
    times = t0 + SIZES * t0 / half
    disturbed = np.arange(len(SIZES)) % 3 == first
    fit = fit_message(SIZES, np.where(disturbed, 10 * times, times))
    assert fit.time(SIZES) == pytest.approx(times, rel=1e-6)


@given(
    times=st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=8),
    t0=st.floats(0, 1e3),
    byte=st.floats(0, 1e3),
)
def test_no_other_line_of_costs_fits_better(times, t0, byte):
    sizes = np.arange(len(times), dtype=float)
    fit = fit_message(sizes, times)
    assert fit.startup >= 0
    assert fit.byte >= 0
    other = np.abs((t0 + byte * sizes) / times - 1).mean()
    assert fit.error <= other + 1e-9


@pytest.mark.parametrize("first", [64.0, 8192.0, 2.0**18])
def test_a_switch_of_the_protocol_is_found_where_it_is(first):
    sizes = SIZES[1:]
    times = np.where(sizes < first, 1e-6 + sizes / 1e9, 1e-3 + sizes / 1e10)
    assert fit_messages(sizes, times).switches == (first,)


def test_one_line_has_no_switch_and_noise_is_none():
    random = np.random.default_rng(1)
    times = 1e-6 + SIZES / 1e9
    assert fit_messages(SIZES, times).switches == ()
    assert fit_messages(SIZES, times * random.uniform(0.7, 1.5, len(SIZES))).switches == ()
    assert fit_messages(SIZES[:5], [1, 9, 1, 9, 1]).switches == ()


BURST, LIMIT, WIRE = 14_700, 12e6, 1.2e9
COARSE = np.array([0, 8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304.0])


def limited(sizes):
    """A link that lets a burst through at the rate of the wire and then limits."""
    return 1.2e-4 + sizes / WIRE + np.maximum(sizes - BURST, 0) / LIMIT


@pytest.mark.parametrize("sizes", [SIZES, COARSE, COARSE[:-1]], ids=len)
def test_above_a_bend_the_rate_is_that_of_the_limit(sizes):
    curve = fit_messages(sizes, limited(sizes))
    assert curve.bend == 16384
    assert curve.startup == pytest.approx(1.2e-4, rel=0.01)
    assert 1 / curve.byte == pytest.approx(LIMIT, rel=0.02)
    assert 1 / fit_long_messages(sizes, limited(sizes)).byte == pytest.approx(LIMIT, rel=0.02)
    between = np.geomspace(100, 4e6, 50)
    assert curve.time(between) == pytest.approx(limited(between), rel=0.03)


def test_a_measured_ping_pong_on_a_limited_link():
    # two hosts of a cluster in a box with links of 100 Mbit/s, least times of 20, `tc` with tbf
    times = [115.3, 122.9, 117.7, 129.2, 129.0, 121.6, 139.7, 4312.6, 19677.9, 89256.8, 349240.0]
    times = np.array(times) * 1e-6
    assert 1 / fit_message(COARSE, times).byte > 7e8  # one line has the rate of neither
    assert 1 / fit_messages(COARSE, times).byte == pytest.approx(12e6, rel=0.03)
    assert 1 / fit_long_messages(COARSE, times).byte == pytest.approx(12e6, rel=0.03)


def test_a_protocol_that_announces_long_messages_does_not_bend():
    curve = fit_messages(SIZES, np.where(SIZES < 8192, 1e-6 + SIZES / 1e9, 1e-4 + SIZES / 5e9))
    assert curve.switches == (8192,)
    assert curve.bend is None
    assert curve.time([100, 8191, 8192]) == pytest.approx(
        [1.1e-6, 9.191e-6, 1.016384e-4], rel=1e-3
    )


@pytest.mark.parametrize(
    ("volume", "time", "says"),
    [
        ([-1, 2], [1, 2], "volume must be at least 0, got -1. Give it in bytes."),
        ([1, np.nan], [1, 2], "volume must be at least 0, got nan."),
        ([1, 2], [1, 0], "time must be above 0, got 0. Leave out runs that failed."),
        ([1, 2], [1, np.inf], "time must be above 0, got inf."),
        ([1, 2], [1], "volume and time must have the same length, got 2 and 1."),
    ],
)
def test_what_is_no_message_is_refused(volume, time, says):
    for ask in (fit_long_messages, fit_message, fit_messages):
        with pytest.raises(ParameterError) as caught:
            ask(volume, time)
        assert says in str(caught.value)


def test_one_size_is_refused():
    with pytest.raises(FitFailed, match="must have two sizes or more"):
        fit_message([8, 8], [1, 2])
