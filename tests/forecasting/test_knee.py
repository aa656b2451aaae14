"""`forecasting.knee`: where more processors stop being worth it, against analytic counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.series.verdict import COUNTS_A_DOUBLING
from parcast.timings.measurements import Measurements
from parcast.units import percent

STEP = 2 ** (1 / COUNTS_A_DOUBLING)  # between two counts that are looked at
P = 2.0 ** np.arange(6)


def amdahl_runs(serial, p=P, **labels):
    return Measurements(p=p, time=100 * (serial + (1 - serial) / p), **labels)


def only(found):
    (one,) = found
    return one


# Efficiency.


@pytest.mark.parametrize("min_efficiency", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("serial", [0.02, 0.1])
def test_the_knee_of_an_exact_amdahl_program_is_where_its_efficiency_falls(serial, min_efficiency):
    # efficiency = 1 / (serial * p + 1 - serial)
    analytic = (1 / min_efficiency - 1 + serial) / serial
    found = only(knee(amdahl_runs(serial), upto=400, min_efficiency=min_efficiency))
    # within the measured counts the log-log line is a little off; beyond, the damping
    assert found.p == pytest.approx(analytic, rel=0.12, abs=1)
    assert found.because == "efficiency"
    assert found.min_efficiency == min_efficiency


# Time.


@pytest.mark.parametrize(("a", "b", "c"), [(1, 100, 0.1), (0, 100, 0.5), (5, 200, 0.2)])
def test_the_knee_of_a_program_with_growing_cost_is_where_its_time_is_least(a, b, c):
    p = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    runs = Measurements(p=p, time=a + b / p + c * p)
    found = only(knee(runs, upto=500, min_efficiency=0.001))
    assert found.because == "time"
    assert np.log2(found.p / np.sqrt(b / c)) == pytest.approx(0, abs=0.6)
    assert found.fastest == found.p


def test_under_weak_scaling_rising_time_alone_is_no_knee():
    p = np.array([1, 2, 4, 8, 16])
    runs = Measurements(p=p, time=10 + 0.2 * np.log2(p))
    assert only(knee(runs, upto=64, scaling="weak")).because == "not reached"
    told = only(knee(runs, upto=64, min_efficiency=0.95, scaling="weak"))
    assert told.because == "efficiency"
    # the same times of a fixed work, as which they are read: the first count is the fastest
    told = only(knee(runs, upto=64))
    assert told.verdict.startswith(
        "This does not scale: p = 16 takes 1.08 times as long as p = 1."
    )
    assert (told.p, told.because) == (1, "time")


def test_under_weak_scaling_it_is_the_efficiency_even_where_the_first_count_is_the_fastest():
    runs = Measurements(p=[1, 2, 4], time=[10, 14, 20.0])
    found = only(knee(runs, upto=8, min_efficiency=1, scaling="weak"))
    assert (found.p, found.fastest, found.because) == (1, 1, "efficiency")


# Not reached.


def test_a_knee_is_looked_for_up_to_16_times_the_largest_count_by_default():
    runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 62.0, 43.0, 33.5])
    (first,) = knee(runs)
    assert first.upto == 128
    assert knee(runs, upto=128) == [first]


def test_a_program_that_scales_on_has_no_knee():
    runs = Measurements(p=[1, 2, 4, 8], time=[80, 40.1, 20.2, 10.2])
    found = only(knee(runs, upto=16))
    assert (found.because, found.p, found.upto, found.fastest) == ("not reached", 16, 16, 16)
    assert found.lower_is_limit
    assert found.upper_is_limit
    assert str(found) == (
        f"not reached up to p = 16: efficiency there is {percent(found.efficiency)}"
    )


def test_a_knee_not_reached_tells_the_lower_end_of_its_interval_where_it_was_found():
    runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 54, 31, 19.5])
    whole = only(knee(runs, upto=10**6))
    middle = whole.p - 1
    assert whole.lower < middle
    found = only(knee(runs, upto=middle))
    assert (found.because, found.p, found.upper) == ("not reached", middle, middle)
    assert (found.lower_is_limit, found.upper_is_limit) == (False, True)
    assert found.lower == pytest.approx(whole.lower, abs=1)
    share = percent(found.efficiency)
    assert str(found) == (
        f"not reached up to p = {middle} (90% interval {found.lower} to >{middle}): "
        f"efficiency there is {share}"
    )


# The interval.


def test_the_ends_of_the_interval_are_the_knees_of_the_ends_of_the_times():
    runs = amdahl_runs(0.02)
    found = only(knee(runs, upto=1000))
    counts = np.arange(1, 1001)
    told = forecast(runs, counts)
    for end, time in (("lower", told.upper), ("p", told.time), ("upper", told.lower)):
        worth = told.efficiency * told.time / time >= 0.5
        exact = counts[np.argmin(worth) - 1] if not worth.all() else 1000
        assert getattr(found, end) == pytest.approx(exact, rel=STEP - 1, abs=1)
    assert found.lower < found.p < found.upper


@given(
    data=st.data(),
    min_efficiency=st.floats(0.01, 1),
    scaling=st.sampled_from(["auto", "strong", "weak"]),
    beyond=st.booleans(),
)
def test_the_knee_lies_in_its_interval_and_in_the_range_looked_at(
    data, min_efficiency, scaling, beyond
):
    p = data.draw(
        st.lists(st.sampled_from([2, 3, 4, 8, 17, 64]), min_size=2, max_size=6, unique=True)
    )
    time = data.draw(st.lists(st.floats(0.5, 20), min_size=len(p), max_size=len(p)))
    upto = data.draw(st.integers(min(p) + 1, 2000))
    runs = {"p": p, "time": time}
    found = only(
        knee(runs, upto=upto, min_efficiency=min_efficiency, scaling=scaling, beyond=beyond)
    )
    assert found.is_cut == (found.upto < upto)
    assert not (beyond and found.is_cut)
    told = forecast(runs, found.p, scaling=scaling)
    assert beyond or told.notes[0].no_forecast == ()
    assert found.time == pytest.approx(told.time.item())
    upto = found.upto
    assert min(p) <= found.lower <= found.p <= found.upper <= upto
    assert min(p) <= found.fastest <= upto
    assert found.upto == upto
    assert found.because in ("efficiency", "time", "not reached")
    assert (found.because == "not reached") == (found.p == upto)
    assert isinstance(found.p, int)
    assert found.lower_is_limit == (found.lower == upto)
    assert found.upper_is_limit == (found.upper == upto)
    if found.p > min(p):
        assert found.efficiency >= min_efficiency
    if found.because == "time":
        assert found.p == found.fastest


@given(serial=st.floats(0.01, 0.3), low=st.floats(0.1, 0.5), more=st.floats(0.05, 0.4))
def test_a_stricter_threshold_never_moves_the_knee_up(serial, low, more):
    runs = amdahl_runs(serial)
    lax, strict = (only(knee(runs, upto=300, min_efficiency=x)) for x in (low, low + more))
    assert strict.p <= lax.p


# Several series.


def test_below_its_smallest_count_a_series_is_never_the_fastest():
    rising = {
        "p": [1, 2, 4, 8, 16, 32],
        "time": [8, 4.2, 2.2, 10, 20, 40],
        "machine": ["A"] * 3 + ["B"] * 3,
    }
    _, late = knee(rising, upto=64, scaling="weak")
    assert knee(rising, upto=64)[1].p == 8
    assert late.fastest == pytest.approx(8, abs=1)
    assert late.p >= 8
    assert late.lower >= 8


# Refusals.


def refusal(runs, error=ParameterError, **options):
    with pytest.raises(error) as caught:
        knee(runs, **options)
    return str(caught.value)


@pytest.mark.parametrize("upto", [8, 16])
def test_a_series_that_starts_above_the_range_is_refused_by_name(upto):
    runs = {
        "p": [1, 2, 4, 16, 32],
        "time": [8, 5, 3, 9.0, 7],
        "machine": ["A", "A", "A", "B", "B"],
    }
    assert refusal(runs, upto=upto) == (
        f"upto must be above the smallest measured p of every series, got {upto} where B starts "
        "at 16. Give a larger one, or select other series."
    )


@pytest.mark.parametrize("upto", [4, 3, 0, -1, np.nan, np.inf])
def test_a_largest_count_that_leaves_nothing_to_look_at_is_refused(upto):
    assert refusal(amdahl_runs(0.1, p=np.array([4.0, 8, 16])), upto=upto) == (
        f"upto must be above the smallest measured p (4), got {upto}. "
        "Give the largest count worth looking at."
    )
