"""The power law against numpy's own regression, its laws, and exact data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.laws.curves import LARGEST
from parcast.laws.curves import POWER as LAW

counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)
seconds = st.floats(1e-6, 1e6)


def row(values):
    return np.array([values], dtype=float)


@given(data=st.data(), p=counts)
def test_the_fit_is_the_line_that_numpy_fits_in_log_log(data, p):
    time = data.draw(st.lists(seconds, min_size=len(p), max_size=len(p)))
    weight = data.draw(st.lists(st.floats(0.1, 1), min_size=len(p), max_size=len(p)))
    slope, at_one = np.polyfit(np.log(p), np.log(time), 1, w=weight)
    log_a, b = LAW.fit(row(p), row(time), row(weight))[0]
    x = np.log(p)
    scale = 1 + np.abs(slope) * x[-1] + np.abs(at_one)
    np.testing.assert_allclose(log_a + b * x, at_one + slope * x, atol=1e-6 * scale)


@given(p=counts, a=seconds, b=st.floats(-2, 2))
def test_the_fit_recovers_the_law_the_times_were_made_with(p, a, b):
    time = a * row(p) ** b
    log_a, exponent = LAW.fit(row(p), time, np.ones_like(time))[0]
    assert np.exp(log_a + exponent * np.log(p)) == pytest.approx(time[0], rel=1e-6)
    if p[-1] >= 2 * p[0]:
        assert exponent == pytest.approx(b, abs=1e-6)
        assert log_a == pytest.approx(np.log(a), abs=1e-6)


def test_a_point_without_weight_is_left_out():
    p, time = row([1, 2, 4, 8]), row([8, 4, 2, 1000])
    log_a, b = LAW.fit(p, time, row([1, 1, 1, 0]))[0]
    assert (np.exp(log_a), b) == pytest.approx((8, -1))


def test_a_time_that_no_float_holds_is_cut_off_and_not_infinite():
    time = LAW.time(row([10, 1e6]), np.array([[0.0, 60.0]]))
    assert np.log(time[0]) == pytest.approx([60 * np.log(10), LARGEST])
