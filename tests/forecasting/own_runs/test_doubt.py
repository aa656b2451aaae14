"""`own_runs.measured`: the laws of half-widths, whatever the constants are tuned to."""

import numpy as np
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


@given(reach=st.floats(0.1, 10))
def test_three_lucky_points_do_not_promise_an_error_of_nothing(reach):
    lucky = beyond(reach=reach, disagreement=0.0, backtest=0.0)
    assert 0.02 < lucky < 0.2


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


# Between two measured counts.


def between(distance, bend):
    return float(doubt.between(distance=distance, bend=bend))


@given(distance=logs, bend=logs, a=more, b=more)
def test_between_counts_doubt_grows_with_distance_and_bend(distance, bend, a, b):
    assert between(distance + a, bend + b) >= between(distance, bend)
    assert between(distance, -bend) == between(distance, bend)
