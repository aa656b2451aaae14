"""`forecasting.ensemble` against a plain loop over its members, its laws, and hard input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting import ensemble
from parcast.forecasting.ensemble import LAST_TWO, LAWS, MEMBERS, READINGS, extrapolate
from parcast.forecasting.ensemble import weighted_median as medians

values = st.floats(-1e6, 1e6)
weights = st.floats(0.01, 100)
seconds = st.floats(1e-9, 1e9)
plausible = st.floats(1e-3, 1e3)
counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True).map(sorted)


@st.composite
def weighted_values(draw):
    n = draw(st.integers(2, 9))
    return [np.array(draw(st.lists(x, min_size=n, max_size=n))) for x in (values, weights)]


doublings = st.lists(st.integers(0, 15), min_size=2, max_size=6, unique=True).map(
    lambda powers: [2**x for x in sorted(powers)]
)


@st.composite
def timings(draw, p=counts, time=seconds):
    p = draw(p)
    t = draw(st.lists(time, min_size=len(p), max_size=len(p)))
    return np.array(p, dtype=float), np.array(t)


def weighted_median(members, weight):
    return float(medians(members[None, None], weight[None])[0, 0])


def told(p, time, targets):
    """The extrapolation of a single series."""
    valid = np.ones((1, len(p)), dtype=bool)
    p, time, targets = (np.array([x], dtype=float) for x in (p, time, targets))
    return extrapolate(p, time, valid, targets)


# The weighted median.


def close(expected):
    """Equal but for rounding, of members as large as `values`."""
    return pytest.approx(expected, rel=1e-9, abs=1e-5)


@given(drawn=weighted_values())
def test_weighted_median_lies_between_the_least_and_the_largest(drawn):
    members, weight = drawn
    found, rounding = weighted_median(members, weight), 1e-9 * np.abs(members).max()
    assert members.min() - rounding <= found <= members.max() + rounding


@given(drawn=weighted_values(), weight=weights)
def test_weighted_median_with_equal_weights_is_the_median(drawn, weight):
    members = drawn[0]
    found = weighted_median(members, np.full(len(members), weight))
    assert found == close(np.median(members))


@given(drawn=weighted_values(), more=st.floats(0, 1e6), which=st.integers(0, 8))
def test_weighted_median_never_falls_when_a_member_rises(drawn, more, which):
    members, weight = drawn
    raised = members.copy()
    raised[which % len(raised)] += more
    assert weighted_median(raised, weight) >= weighted_median(members, weight) - 1e-5


@given(drawn=weighted_values(), less=st.floats(0, 1e-3), which=st.integers(0, 8))
def test_weighted_median_moves_no_further_than_its_members(drawn, less, which):
    members, weight = drawn
    moved = members.copy()
    moved[which % len(moved)] -= less
    found = weighted_median(moved, weight)
    assert abs(found - weighted_median(members, weight)) <= less + 1e-6


@given(drawn=weighted_values(), scale=st.floats(1e-3, 1e3))
def test_weighted_median_does_not_depend_on_the_sum_of_the_weights(drawn, scale):
    members, weight = drawn
    assert weighted_median(members, scale * weight) == close(weighted_median(members, weight))


@given(drawn=weighted_values(), seed=st.integers(0, 1000))
def test_weighted_median_does_not_depend_on_the_order_of_the_members(drawn, seed):
    members, weight = drawn
    order = np.random.default_rng(seed).permutation(len(members))
    assert weighted_median(members[order], weight[order]) == close(weighted_median(*drawn))


@given(drawn=weighted_values(), shift=st.floats(-100, 100))
def test_weighted_median_moves_with_its_members_and_turns_with_them(drawn, shift):
    members, weight = drawn
    found = weighted_median(members, weight)
    assert weighted_median(members + shift, weight) == close(found + shift)
    assert weighted_median(-members, weight) == close(-found)


@given(drawn=weighted_values(), heavy=st.integers(0, 8))
def test_a_member_that_weighs_twice_all_others_together_is_the_median(drawn, heavy):
    members, weight = drawn
    weight[heavy % len(weight)] = 2 * weight.sum()
    if len(members) > 2:  # of two, the middle half is averaged
        assert weighted_median(members, weight) == close(members[heavy % len(weight)])


def test_equal_members_count_as_one_whose_weight_is_their_sum_in_any_order():
    # found as a forecast that changed by 3 % with the unit of its times
    apart = [[1.0, 0.5, 1.0], [0.5, 1.0, 1.0]]
    a, b = (weighted_median(np.array([0.0, 0.0, 1.0]), np.array(w)) for w in apart)
    assert a == close(b)


def test_weighted_median_is_the_mean_of_the_middle_of_the_weight():
    # the middle third of a weight of 4, from 1.33 to 2.67, is all of the second
    assert weighted_median(np.array([10.0, 20.0, 40.0]), np.array([1.0, 2.0, 1.0])) == close(20)
    # the middle half of a weight of 4, from 1 to 3, is all of the first
    assert weighted_median(np.array([0.0, 8.0]), np.array([3.0, 1.0])) == close(0)
    # of 8, from 2 to 6: three parts of the first and one of the second
    assert weighted_median(np.array([0.0, 8.0]), np.array([5.0, 3.0])) == close(2)


def test_each_point_and_each_series_has_its_own_median():
    members = np.array([[[1.0, 2, 9], [5, 3, 4]], [[7, 8, 9], [0, 0, 6]]])
    found = medians(members, np.ones((2, 3)))
    assert found.tolist() == [[2, 4], [8, 0]]


# Against a plain loop.


def plain_members(p, time, target):
    """What each member says of one series and one target, without padding or batches."""
    least = min(time) / np.e
    lowest = least * np.exp(-ensemble.STEEPEST * abs(np.log(target / p[-1])))

    def curve(law, since, at):
        own_p, own_time = (np.array([x[since:]], dtype=float) for x in (p, time))
        fitted = law.fit(own_p, own_time, np.ones_like(own_p))
        return float(law.time(np.array([[float(at)]]), fitted)[0, 0])

    both = itertools.product(LAWS.values(), (0, -2))
    return [np.log(max(curve(law, since, target), lowest)) for law, since in both]


def plain_trust(p, time):
    """Weights of the members of one series."""
    votes = [1.0] * len(MEMBERS)
    if len(p) > 2:
        said = plain_members(p[:-1], time[:-1], p[-1])
        errors = [abs(x - np.log(time[-1])) for x in said]
        votes = [1 / (error + ensemble.TRUST) for error in errors]
    return [v / sum(votes) for v in votes]


def plain_forecast(p, time, target):
    """Log time, disagreement and weights of one series and one target."""
    members = plain_members(p, time, target)
    trust = plain_trust(p, time)
    low, high = 0.5 - 0.5 / len(members), 0.5 + 0.5 / len(members)
    median, below = 0.0, 0.0
    for member, weight in sorted(zip(members, trust, strict=True)):
        inside = max(0.0, min(below + weight, high) - max(below, low))
        median += inside * member * len(members)
        below += weight
    disagreement = sum(w * abs(m - median) for m, w in zip(members, trust, strict=True))
    return median, disagreement, trust


@st.composite
def plausible_timings(draw):
    """Times that go with p as those of programs do, so that no member is cut off."""
    p = draw(st.lists(st.integers(1, 12), min_size=2, max_size=5, unique=True).map(sorted))
    p = 2.0 ** np.array(p)
    slope = draw(st.floats(-0.9, 0.4))
    wobble = draw(st.lists(st.floats(0.9, 1.1), min_size=len(p), max_size=len(p)))
    return p, 10 * p**slope * np.array(wobble)


@given(table=plausible_timings(), reach=st.sampled_from([1.5, 2, 4, 16]))
def test_the_forecast_is_what_a_plain_loop_over_the_members_says(table, reach):
    p, time = table
    target = reach * p[-1]
    said = told(p, time, [target])
    log_time, disagreement, trust = plain_forecast(p, time, target)
    np.testing.assert_allclose(said.weights[0], trust, atol=1e-6)
    np.testing.assert_allclose(said.members[0, 0], plain_members(p, time, target), atol=1e-5)
    assert said.log_time[0, 0] == pytest.approx(log_time, abs=1e-5)
    assert said.disagreement[0, 0] == pytest.approx(disagreement, abs=1e-5)


@given(table=plausible_timings().filter(lambda table: len(table[0]) > 2))
def test_the_backtest_is_the_same_method_told_all_counts_but_the_last(table):
    p, time = table
    said = told(p, time, [2 * p[-1]])
    without, *_ = plain_forecast(p[:-1], time[:-1], p[-1])
    assert said.backtest[0] == pytest.approx(np.log(time[-1]) - without, abs=1e-5)
    beyond, *_ = plain_forecast(p[:-1], time[:-1], 2 * p[-1])
    assert said.without_last[0, 0] == pytest.approx(beyond, abs=1e-5)


# Its laws.


@given(table=timings(p=doublings, time=plausible), scale=st.sampled_from([2.0**-20, 3.7, 1e6]))
def test_times_in_another_unit_give_the_same_forecast_in_that_unit(table, scale):
    p, time = table
    targets = [p[-1], 2 * p[-1], 100 * p[-1]]
    said, scaled = told(p, time, targets), told(p, scale * time, targets)
    np.testing.assert_allclose(scaled.log_time, said.log_time + np.log(scale), atol=1e-6)
    np.testing.assert_allclose(scaled.disagreement, said.disagreement, atol=1e-6)
    np.testing.assert_allclose(scaled.backtest, said.backtest, atol=1e-6)


@given(table=timings(), padding=st.integers(1, 4), filler=st.floats(1, 1e6))
def test_padding_on_the_left_changes_nothing(table, padding, filler):
    p, time = table
    target = np.array([[p[-1], 4 * p[-1]]])
    alone = told(p, time, target[0])
    left = np.full(padding, filler)
    padded = extrapolate(
        np.concatenate([left, p])[None],
        np.concatenate([np.full(padding, time[0]), time])[None],
        np.arange(padding + len(p))[None] >= padding,
        target,
    )
    for name in ("log_time", "members", "weights", "disagreement", "backtest", "without_last"):
        np.testing.assert_allclose(getattr(padded, name), getattr(alone, name), atol=1e-9)


@given(tables=st.lists(timings(), min_size=1, max_size=4), reach=st.floats(1, 100))
def test_a_series_in_a_batch_is_answered_as_it_is_alone(tables, reach):
    width = max(len(p) for p, _ in tables)
    p, time, valid = (np.ones((len(tables), width), dtype=x) for x in (float, float, bool))
    targets = np.array([[p[-1] * reach, p[-1] * 2] for p, _ in tables])
    for i, (own_p, own_time) in enumerate(tables):
        start = width - len(own_p)
        p[i, :start], time[i, :start], valid[i, :start] = own_p[0], own_time[0], False
        p[i, start:], time[i, start:] = own_p, own_time
    together = extrapolate(p, time, valid, targets)
    for i, (own_p, own_time) in enumerate(tables):
        alone = told(own_p, own_time, targets[i])
        np.testing.assert_allclose(together.log_time[i], alone.log_time[0], atol=1e-6)
        np.testing.assert_allclose(together.backtest[i], alone.backtest[0], atol=1e-6)
        np.testing.assert_allclose(together.weights[i], alone.weights[0], atol=1e-6)


@given(table=timings(), reach=st.floats(1, 1e6))
def test_a_forecast_is_finite_however_wild_the_times(table, reach):
    p, time = table
    said = told(p, time, [p[-1] * reach, p[-1]])
    assert np.isfinite(said.log_time).all()
    assert np.isfinite(said.members).all()
    assert np.isfinite(said.disagreement).all()
    assert np.isfinite(said.backtest).all() == (len(p) > 2)
    assert np.isfinite(said.without_last).all() == (len(p) > 2)
    assert (said.disagreement >= 0).all()


@given(table=timings(), reach=st.floats(1, 1e6))
def test_time_never_falls_faster_than_the_steepest_allowed(table, reach):
    p, time = table
    said = told(p, time, [p[-1] * reach])
    bound = np.log(time.min()) - 1 - ensemble.STEEPEST * np.log(reach)
    assert (said.members >= bound - 1e-9).all()


@given(time=seconds, p=counts, reach=st.floats(1, 100))
def test_times_that_stay_are_forecast_to_stay(time, p, reach):
    said = told(p, np.full(len(p), time), [p[-1] * reach])
    assert said.log_time[0, 0] == pytest.approx(np.log(time), abs=1e-4)
    assert said.disagreement[0, 0] == pytest.approx(0, abs=1e-3)


@given(serial=st.floats(0, 1), length=st.integers(3, 7), t1=st.floats(1e-3, 1e3))
def test_an_exact_amdahl_program_is_forecast_within_five_percent_one_doubling_on(
    serial, length, t1
):
    p = 2.0 ** np.arange(length + 1)
    time = t1 * (serial + (1 - serial) / p)
    said = told(p[:-1], time[:-1], [p[-1]])
    assert np.exp(said.log_time[0, 0]) == pytest.approx(time[-1], rel=0.05)


@given(serial=st.floats(0, 1), length=st.integers(3, 7))
def test_the_change_of_an_exact_amdahl_program_is_not_exaggerated(serial, length):
    p = 2.0 ** np.arange(length + 1)
    time = serial + (1 - serial) / p
    said = told(p[:-1], time[:-1], [p[-1]])
    change, true = said.log_time[0, 0] - np.log(time[-2]), np.log(time[-1] / time[-2])
    assert change == pytest.approx(true, abs=0.03)


def test_the_members_are_the_laws_in_their_readings():
    assert tuple((name, reading) for name in LAWS for reading in READINGS) == MEMBERS


def test_one_member_is_the_line_through_the_last_two_counts_alone():
    said = told([1, 2, 4, 8], [100.0, 3.0, 8.0, 6.0], [32])
    found = said.members[0, 0, MEMBERS.index(("power", LAST_TWO))]
    assert np.exp(found) == pytest.approx(6 * 0.75**2)


def test_two_counts_give_each_member_the_same_weight_and_no_backtest():
    said = told([1, 2], [8.0, 5.0], [4, 8])
    np.testing.assert_allclose(said.weights[0], 1 / len(MEMBERS))
    assert np.isnan(said.backtest).all()
    assert np.isnan(said.without_last).all()
    assert np.isfinite(said.log_time).all()


def test_two_counts_beside_longer_series_are_not_made_nan_by_them():
    p = np.array([[1.0, 1, 1, 2], [1, 2, 4, 8]])
    time = np.array([[8.0, 8, 8, 5], [8, 5, 4, 3.0]])
    valid = np.array([[False, False, True, True], [True] * 4])
    said = extrapolate(p, time, valid, np.full((2, 1), 16.0))
    assert np.isfinite(said.log_time).all()
    assert np.isnan(said.backtest).tolist() == [True, False]
    np.testing.assert_allclose(said.weights.sum(axis=1), 1)


def test_the_member_that_forecast_the_last_count_best_weighs_most():
    p = 2.0 ** np.arange(6)
    said = told(p, 10 * p**-0.6, [64])
    heaviest = [MEMBERS[i][0] for i in np.flatnonzero(said.weights[0] > 0.8 * said.weights.max())]
    assert heaviest == ["power"] * 2


def test_members_agree_where_all_laws_do_and_part_where_they_do_not():
    p = 2.0 ** np.arange(4)
    flat, bent = told(p, 0 * p + 3, [16]), told(p, [8, 5, 4, 4.5], [64])
    assert flat.disagreement[0, 0] < 1e-6
    assert bent.disagreement[0, 0] > 0.1
