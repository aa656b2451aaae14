"""`own_runs.measured`: the laws of half-widths, whatever the constants are tuned to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.own_runs import measured as doubt
from parcast.forecasting.own_runs.members import OF_TIME

logs = st.floats(0, 10)
more = st.floats(0, 10)
SIGNS_OF_DOUBT = ("reach", "disagreement", "backtest")
doubts = st.fixed_dictionaries(dict.fromkeys(SIGNS_OF_DOUBT, logs))


def beyond(**signs):
    usual = {"reach": 0.7, "disagreement": 0.1, "backtest": 0.1}
    return float(doubt.beyond(**usual | signs))


@given(signs=doubts, which=st.sampled_from(SIGNS_OF_DOUBT), more=more)
def test_more_of_any_doubt_never_narrows_the_interval(signs, which, more):
    assert beyond(**signs | {which: signs[which] + more}) >= beyond(**signs) * (1 - 1e-12)


@pytest.mark.parametrize("which", SIGNS_OF_DOUBT)
def test_each_sign_of_doubt_widens_the_interval(which):
    assert beyond(**{which: 0.4}) > 1.1 * beyond(**{which: 0.1})


@given(reach=st.floats(0.1, 10))
def test_three_lucky_points_do_not_promise_an_error_of_nothing(reach):
    lucky = beyond(reach=reach, disagreement=0.0, backtest=0.0)
    assert 0.02 < lucky < 0.2


def test_a_doubling_that_is_well_understood_is_known_within_tens_of_percent():
    doubling = np.log(2)
    assert 0.1 < beyond(reach=doubling, disagreement=0.02, backtest=0.02) < 0.25
    assert 0.2 < beyond(reach=doubling, disagreement=0.1, backtest=0.1) < 0.6
    assert 0.5 < beyond(reach=doubling, disagreement=0.5, backtest=0.5) < 2.0


@given(signs=doubts)
def test_what_could_not_be_tested_stands_in_as_a_fixed_error(signs):
    untested = beyond(**signs | {"backtest": np.nan})
    assert untested == beyond(**signs | {"backtest": doubt.UNTESTED})
    assert np.isfinite(untested)


# Overheads that the noise hides.


def hidden(reach=0.7, change=-0.7, noise=0.05):
    arrays = {"reach": reach, "change": change, "noise": noise}
    return float(doubt.hidden(**{name: np.array(x) for name, x in arrays.items()}))


@given(
    reach=st.floats(0.01, 10),
    change=st.floats(-20, 10),
    noise=st.floats(0, 1),
    more=st.floats(0.01, 5),
)
def test_more_hides_further_out_in_noisier_runs_and_where_time_has_fallen(
    reach, change, noise, more
):
    here = hidden(reach, change, noise)
    assert here > 0
    for other in ((reach + more, change, noise), (reach, change - more, noise)):
        assert hidden(*other) > here
    assert hidden(reach, change, noise + more) >= here


def test_at_the_last_count_nothing_is_hidden_and_the_least_noise_hides_something_beyond():
    assert hidden(reach=0.0) == 0
    least = hidden(noise=OF_TIME.least_hiding)
    assert hidden(noise=0.0) == least < hidden(noise=2 * OF_TIME.least_hiding)


def test_an_overhead_that_grows_is_a_multiple_of_a_time_that_falls():
    far = np.log(32)
    grown = 0.05 * doubt.HIDDEN * (32**OF_TIME.growth - 1) * 32
    assert np.expm1(hidden(reach=far, change=-far)) == pytest.approx(grown)


# Between two measured counts.


def between(distance, bend):
    return float(doubt.between(distance=distance, bend=bend))


@given(distance=logs, bend=logs, a=more, b=more)
def test_between_counts_doubt_grows_with_distance_and_bend(distance, bend, a, b):
    assert between(distance + a, bend + b) >= between(distance, bend)
    assert between(distance, -bend) == between(distance, bend)


@given(distance=logs, more=more)
def test_an_unknown_bend_is_taken_as_fixed_and_a_wide_one_is_cut(distance, more):
    assert between(distance, np.nan) == between(distance, doubt.UNKNOWN_BEND)
    assert between(distance, doubt.WIDEST_BEND + more) == between(distance, doubt.WIDEST_BEND)


# The noise of the runs.


def noise(spread, repeated):
    return float(doubt.pooled_noise(np.array([spread], dtype=float), np.array([repeated]))[0])


@given(spread=st.lists(st.floats(0.01, 3), min_size=1, max_size=6))
def test_noise_is_the_root_mean_square_over_the_counts(spread):
    expected = np.sqrt(np.mean(np.square(spread)))
    assert noise(spread, [True] * len(spread)) == pytest.approx(expected)


def test_no_series_is_trusted_to_repeat_perfectly():
    assert noise([0.0, 0.0], [True, True]) == doubt.QUIETEST > 0
    assert noise([0.0, np.nan], [False, False]) == doubt.UNKNOWN_NOISE > doubt.QUIETEST


@given(width=st.lists(logs, min_size=3, max_size=3), sd=st.floats(0, 3))
def test_noise_is_added_in_quadrature(width, sd):
    found = doubt.with_noise(np.array([width]), np.array([sd]))
    expected = [np.sqrt(x**2 + (1.645 * sd) ** 2) for x in width]
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)


def test_nine_in_ten_of_a_normal_distribution_lie_within_its_factor():
    drawn = np.random.default_rng(1).normal(size=200_000)
    assert np.mean(np.abs(drawn) < doubt.NORMAL_90) == pytest.approx(0.9, abs=0.003)
