"""`forecasting.own_runs.ensemble`: the laws that it must recover, and its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.own_runs import members
from parcast.forecasting.own_runs.ensemble import extrapolate
from parcast.forecasting.own_runs.members import OF_TIME, cuts_of

seconds = st.floats(1e-9, 1e9)
plausible = st.floats(1e-3, 1e3)
counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)


doublings = st.lists(st.integers(0, 15), min_size=2, max_size=6, unique=True).map(
    lambda powers: [2**x for x in sorted(powers)]
)


@st.composite
def timings(draw, p=counts, time=seconds):
    p = draw(p)
    t = draw(st.lists(time, min_size=len(p), max_size=len(p)))
    return np.array(p, dtype=float), np.array(t)


def told(p, time, targets):
    """The extrapolation of a single series."""
    valid = np.ones((1, len(p)), dtype=bool)
    p, time, targets = (np.array([x], dtype=float) for x in (p, time, targets))
    return extrapolate(p, time, valid, targets)


# What is continuous.


@given(table=timings(p=doublings, time=plausible))
def test_beyond_the_last_count_the_forecast_begins_at_its_time_and_has_no_jump(table):
    p, time = table
    at = p[-1] * np.exp(np.linspace(0, 3, 3001))
    said = told(p, time, at).log_time[0]
    assert said[0] == pytest.approx(np.log(time[-1]), abs=1e-9)
    slopes = np.abs(np.diff(said)) / np.diff(np.log(at))
    assert slopes.max() < 100


LAW_TRUE = {
    "amdahl": lambda p: 95 / p + 5,
    "linear": lambda p: 98 / p + 1.95 + 0.05 * p,
    "logarithmic": lambda p: 99 / p + 2 * np.log2(p) + 1,
    "power": lambda p: 100 * p**-0.5,
    "quadratic": lambda p: 100 / p + 1 + 0.01 * p**2,
}


@pytest.mark.parametrize("name", LAW_TRUE)
def test_times_on_a_law_are_forecast_by_it_four_times_further(name):
    p, law = 2.0 ** np.arange(6), LAW_TRUE[name]
    said = told(p, law(p), [64, 128])
    np.testing.assert_allclose(np.exp(said.log_time[0]), law(np.array([64, 128])), rtol=0.01)


# Its laws.


@given(table=timings(), reach=st.floats(1, 1e6), last_two=st.booleans())
def test_time_never_falls_faster_than_the_steepest_allowed(table, reach, last_two):
    p, time = table
    (cut,) = cuts_of(p[None], time[None], np.ones((1, len(p))), OF_TIME, all_counts=1, last_two=1)
    said = cut.log_times(np.array([[p[-1] * reach]]), last_two=last_two)
    bound = np.log(time.min()) - 1 - members.STEEPEST * np.log(reach)
    assert (said >= bound - 1e-9).all()


@given(serial=st.floats(0, 1), length=st.integers(3, 7))
def test_the_change_of_an_exact_amdahl_program_is_not_exaggerated(serial, length):
    p = 2.0 ** np.arange(length + 1)
    time = serial + (1 - serial) / p
    said = told(p[:-1], time[:-1], [p[-1]])
    change, true = said.log_time[0, 0] - np.log(time[-2]), np.log(time[-1] / time[-2])
    assert change == pytest.approx(true, abs=0.03)
