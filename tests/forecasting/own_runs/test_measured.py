"""`parcast.forecasting.own_runs.measured`: at, between, beyond and below the measured counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.own_runs import measured as doubt
from parcast.forecasting.own_runs.measured import WIDEST, curve_from, unknown_slope

NOISE = 0.01
seconds = st.floats(1e-9, 1e9)
counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)


@st.composite
def timings(draw, p=counts, time=seconds):
    p = draw(p)
    t = draw(st.lists(time, min_size=len(p), max_size=len(p)))
    return np.array(p, dtype=float), np.array(t)


def plausible(smallest=0):
    """Times of programs: p in powers of two, log time wandering a little about a slope."""
    return timings(
        p=st.lists(st.integers(smallest, 12), min_size=2, max_size=6, unique=True).map(
            lambda powers: [2**x for x in sorted(powers)]
        ),
        time=st.floats(1, 30),
    )


def curve(p, time, targets, noise=NOISE):
    """The curve of a single series."""
    p, time, targets = (np.asarray(x, dtype=float) for x in (p, time, targets))
    return curve_from(p[None], time[None], np.array([len(p)]), np.array([noise]), targets)


def noise_alone(noise=NOISE):
    return doubt.NORMAL_90 * noise


# At a measured count.


@given(table=timings(), noise=st.floats(0.001, 1))
def test_at_a_measured_count_the_forecast_is_the_time_measured_there(table, noise):
    p, time = table
    said = curve(p, time, p, noise)
    np.testing.assert_allclose(said.log_time[0], np.log(time), atol=1e-9)
    assert (said.reach == 1).all()


@given(table=timings(), noise=st.floats(0.001, 1))
def test_at_a_measured_count_the_interval_is_the_noise_and_nothing_else(table, noise):
    p, time = table
    said = curve(p, time, p, noise)
    np.testing.assert_allclose(said.half_width[0], noise_alone(noise), rtol=1e-3)


# Between measured counts.


@given(table=timings(), part=st.floats(0, 1), which=st.integers(0, 4))
def test_between_two_counts_the_line_is_straight_in_log_log(table, part, which):
    p, time = table
    i = which % (len(p) - 1)
    target = p[i] * (p[i + 1] / p[i]) ** part
    expected = np.interp(np.log(target), np.log(p), np.log(time))
    assert curve(p, time, [target]).log_time[0, 0] == pytest.approx(expected, abs=1e-4)


# Beyond the measured counts.


def test_one_processor_is_forecast_from_growing_logarithmic_times():
    p = np.array([4.0, 8, 16, 32])
    said = curve(p, 1e-3 * np.log2(p), [1, 2, 3])
    assert np.isfinite(said.log_time).all()
    assert (np.diff(said.log_time[0]) > 0).all()
    assert (said.log_time < np.log(2e-3)).all()


@given(table=plausible(), noise=st.floats(0.001, 0.5), more=st.floats(0, 0.5))
def test_noisier_runs_never_narrow_an_interval(table, noise, more):
    p, time = table
    targets = [p[0], np.sqrt(p[0] * p[1]), 2 * p[-1]]
    quiet, noisy = curve(p, time, targets, noise), curve(p, time, targets, noise + more)
    assert (noisy.half_width >= quiet.half_width).all()
    assert (quiet.half_width >= noise_alone(noise) * (1 - 1e-12)).all()


# Whatever is given.


@given(table=timings(), targets=st.lists(st.integers(1, 10**6), min_size=1, max_size=6))
def test_times_and_intervals_are_numbers_however_wild_the_times(table, targets):
    p, time = table
    said = curve(p, time, targets)
    assert np.isfinite(said.log_time).all()
    assert ((said.half_width > 0) & (said.half_width <= WIDEST)).all()
    assert np.isfinite(np.exp(said.log_time + said.half_width)).all()
    assert (np.exp(said.log_time - said.half_width) > 0).all()
    expected = [max(x / p[-1], p[0] / x, 1.0) for x in targets]
    np.testing.assert_allclose(said.reach[0], expected)


@given(tables=st.lists(plausible(), min_size=1, max_size=4))
def test_a_series_padded_in_a_batch_is_answered_as_it_is_alone(tables):
    width = max(len(p) for p, _ in tables)
    p, time = np.full((2, len(tables), width), np.nan)
    for i, (own_p, own_time) in enumerate(tables):
        p[i, : len(own_p)], time[i, : len(own_p)] = own_p, own_time
    count = np.array([len(own_p) for own_p, _ in tables])
    targets = np.array([1.0, 3, 64, 1000, 10**4])
    together = curve_from(p, time, count, np.full(len(tables), NOISE), targets)
    for i, (own_p, own_time) in enumerate(tables):
        alone = curve(own_p, own_time, targets)
        for name in ("log_time", "half_width", "reach", "weights", "backtest", "without_last"):
            np.testing.assert_allclose(
                getattr(together, name)[i], getattr(alone, name)[0], rtol=1e-6, atol=1e-6
            )


def test_counts_close_together_leave_the_slope_open():
    """Twice as far the program may take as long or half as long."""
    p = np.array([[100.0, 101.0], [100.0, 126.0]])
    time = 1000 / p
    told = curve_from(p, time, np.array([2, 2]), np.array([0.0, 0.0]), np.array([200.0]))
    assert told.half_width[0, 0] > 0.65
    wide = curve_from(p[1:], time[1:], np.array([2]), np.array([0.0]), np.array([200.0]))
    assert told.half_width[1, 0] == wide.half_width[0, 0]
    assert unknown_slope(np.array(100.0), np.array(126.0)) == 0
