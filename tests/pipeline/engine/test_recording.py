"""Clocks against simulated ones with an offset, a drift and noise: the true time lies within."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.pipeline.engine.recording import clock_from


def round_trips(rng, begin, ahead, *, count=20, way=20e-6):
    """Messages to a rank and back, each way as long as it happens to be."""
    samples, now = [], begin
    for _ in range(count):
        there, back = way + rng.exponential(5 * way, 2)
        samples.append((now, now + there + ahead(now + there), now + there + back))
        now += there + back + rng.exponential(1e-3)
    return samples


@given(
    seed=st.integers(0, 2**32 - 1),
    offset=st.floats(-1e6, 1e6),
    drift=st.floats(-500e-6, 500e-6),
    seconds=st.floats(0.1, 3600),
)
def test_the_true_time_lies_within_the_residual(seed, offset, drift, seconds):
    rng = np.random.default_rng(seed)
    start = round_trips(rng, 0.0, lambda t: offset + drift * t)
    end = round_trips(rng, start[-1][2] + seconds, lambda t: offset + drift * t)
    clock = clock_from(start, end)
    true = np.linspace(start[-1][2], end[0][0], 50)
    error = np.abs(clock.aligned(true + offset + drift * true) - true)
    rounding = 4 * np.spacing(abs(offset) + 2 * seconds)
    assert error.max() <= clock.residual + rounding
    shortest = max(min(t1 - t0 for t0, _, t1 in group) for group in (start, end))
    assert shortest / 2 <= clock.residual * (1 + clock.drift) + rounding
    assert clock.residual <= 2.1 * shortest / 2 + 2 * rounding  # and it is no idle bound


def test_of_several_samples_the_shortest_round_trip_counts():
    start = [(0.0, 100.9, 1.0), (2.0, 102.01, 2.02), (3.0, 103.0, 3.5)]
    clock = clock_from(start)
    assert (clock.offset, clock.drift) == pytest.approx((100.0, 0.0))
    assert clock.residual == pytest.approx(0.01)
    assert clock.aligned(107.0) == pytest.approx(7.0)


def test_a_clock_that_was_set_during_the_run_has_a_residual_that_covers_it():
    start = [(0.0, 0.005, 0.01), (1.0, 1.005, 1.01), (2.0, 2.005, 2.01)]
    stepped = [(10.0, 10.005, 10.01), (11.0, 12.005, 11.012)]  # a second ahead from 10.5 on
    assert clock_from(start, stepped).residual == pytest.approx(0.005 + 0.999 - 0.006)
    shorter = [(10.0, 10.005, 10.01), (11.0, 12.004, 11.008)]
    assert clock_from(start, shorter).residual > 0.8


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ([], "start must have a sample, got 0. Send a message there and back before the run."),
        ([(1.0, 0.0, 0.5)], "t1 - t0 must be at least 0, got -0.5. Use a monotonic clock."),
        (
            [(0.0, np.nan, 0.5)],
            "samples must be finite, got nan. Send a message there and back before the run.",
        ),
    ],
)
def test_samples_that_say_nothing_are_refused(start, says, refusal):
    assert refusal(ParameterError, clock_from, start) == says
