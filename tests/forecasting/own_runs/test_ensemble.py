"""`forecasting.ensemble` against a plain loop over its members, its laws, and hard input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.own_runs import ensemble, members
from parcast.forecasting.own_runs.ensemble import ALL, MEMBERS, READINGS, extrapolate
from parcast.forecasting.own_runs.ensemble import weighted_median as medians
from parcast.forecasting.own_runs.members import LAWS, OF_TIME, cuts_of

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


@given(drawn=weighted_values(), more=st.floats(0, 1e6), which=st.integers(0, 8))
def test_weighted_median_never_falls_when_a_member_rises(drawn, more, which):
    members, weight = drawn
    raised = members.copy()
    raised[which % len(raised)] += more
    assert weighted_median(raised, weight) >= weighted_median(members, weight) - 1e-5


@given(drawn=weighted_values(), seed=st.integers(0, 1000))
def test_weighted_median_does_not_depend_on_the_order_of_the_members(drawn, seed):
    members, weight = drawn
    order = np.random.default_rng(seed).permutation(len(members))
    assert weighted_median(members[order], weight[order]) == close(weighted_median(*drawn))


# Against a plain loop.


def plain_member(p, time, law, *, since=0, is_steady=False):
    """Logarithm of the time at a count by one law, fitted to the counts from `since` on."""
    weight = np.ones(len(p[since:]))
    if is_steady and law.name != "power":
        before = time[-2] * (p[-2] / p[-1]) ** 0.5
        weight[-1] = (time[-1] / before) ** 0.5
    own = (np.array([x[since:]], dtype=float) for x in (p, time))
    coefficients = law.fit(*own, weight[None])

    def at(target):
        lowest = min(time) / np.e * np.exp(-members.STEEPEST * abs(np.log(target / p[-1])))
        said = law.time(np.array([[float(target)]]), coefficients)[0, 0]
        return float(np.log(max(said, lowest)))

    return at


def plain_joined(p, time, at, target):
    """A member bent to the last time within half a doubling."""
    near = max(0.0, 1 - abs(np.log(target / p[-1])) / (np.log(2) / 2))
    return at(target) + near * (np.log(time[-1]) - at(p[-1]))


def plain_errors(p, time, law, *, since=0):
    """Log errors at the last three counts, each forecast from those before; 0 where untested."""
    errors = []
    for n in range(len(p), len(p) - 3, -1):
        if n < 3:
            errors.append(0.0)
        else:
            at = plain_member(p[: n - 1], time[: n - 1], law, since=since and n - 3)
            errors.append(at(p[n - 1]) - np.log(time[n - 1]))
    return errors


def plain_trust(errors, scale):
    votes = [np.exp(-abs(error) / scale) for error in errors]
    return [vote / sum(votes) for vote in votes]


def plain_near(p, time, target, *, is_steady):
    """All laws in both readings, and their weights."""
    said, errors = [], []
    for reading, law in itertools.product(READINGS, LAWS.values()):
        since = 0 if reading == ALL else len(p) - 2
        at = plain_member(p, time, law, since=since, is_steady=is_steady and reading == ALL)
        said.append(plain_joined(p, time, at, target))
        errors.append(plain_errors(p, time, law, since=since)[0])
    return said, plain_trust(errors, OF_TIME.near_error)


def plain_named(p, time):
    """Weights of the laws that can be recognised, and their share."""
    likely, variances = [], []
    laws = [law for law in LAWS.values() if law.name != "gustafson"]
    for law in laws:
        parameters = 2 if law.name in {"amdahl", "power"} else 3
        last, *earlier = plain_errors(p, time, law)
        at = plain_member(p[:-1], time[:-1], law)
        squares = sum((at(x) - np.log(t)) ** 2 for x, t in zip(p[:-1], time[:-1], strict=True))
        free = max(len(p) - 1 - parameters, 0)
        variances.append((squares / max(free, 0.5), free, last))
        chained = np.mean(np.square(earlier)) + ensemble.EXACT**2
        likely.append(-free / 2 * np.log(variances[-1][0] + ensemble.EXACT**2) - np.log(chained))
    best = [(v + ensemble.EXACT**2) ** -1.5 if free else 1e-9 for v, free, _ in variances]
    mean = sum(b * v for b, (v, *_) in zip(best, variances, strict=True)) / sum(best)
    believed = 0.04 if len(p) == 5 else 0.08
    share = 1 / (1 + mean / believed**2) if len(p) >= 5 else 0.0
    scale = np.hypot(ensemble.LIKELY, ensemble.OF_NOISE * mean**0.5)
    votes = [x - abs(last) / scale for x, (*_, last) in zip(likely, variances, strict=True)]
    weight = np.exp(np.array(votes) - max(votes))
    return laws, weight / weight.sum(), share


def plain_forecast(p, time, target, *, is_steady=True):
    """Log time and disagreement of one series and one target."""

    def joined(law):
        at = plain_member(p, time, law, is_steady=is_steady)
        return plain_joined(p, time, at, target)

    near, near_weights = plain_near(p, time, target, is_steady=is_steady)
    far_laws = [LAWS[name] for name in ("amdahl", "logarithmic", "power")]
    far = [joined(law) for law in far_laws]
    sums = [sum(abs(e) for e in plain_errors(p, time, law)) for law in far_laws]
    far_weights = plain_trust(sums, ensemble.FAR_ERROR)
    laws, weights, share = plain_named(p, time)
    named = [joined(law) for law in laws]
    reach = abs(np.log(target / p[-1]))
    distance = min(max((reach - np.log(2)) / np.log(3), 0), 1)
    parts = [
        (near, near_weights, (1 - share) * (1 - distance)),
        (far, far_weights, (1 - share) * distance),
        (named, weights, share),
    ]
    middle = weighted_median(np.array(near), np.array(near_weights))
    means = [np.dot(far, far_weights), np.dot(named, weights)]
    log_time = sum(part * x for x, (*_, part) in zip([middle, *means], parts, strict=True))
    apart = sum(part * np.dot(w, np.abs(np.array(x) - log_time)) for x, w, part in parts)
    return log_time, apart


@st.composite
def plausible_timings(draw):
    """Times that go with p as those of programs do, so that no member is cut off."""
    p = draw(st.lists(st.integers(1, 12), min_size=2, max_size=7, unique=True).map(sorted))
    p = 2.0 ** np.array(p)
    slope = draw(st.floats(-0.9, 0.4))
    wobble = draw(st.lists(st.floats(0.9, 1.1), min_size=len(p), max_size=len(p)))
    return p, 10 * p**slope * np.array(wobble)


@given(table=plausible_timings(), reach=st.sampled_from([1.2, 1.5, 2, 4, 16]))
def test_the_forecast_is_what_a_plain_loop_over_the_members_says(table, reach):
    p, time = table
    target = reach * p[-1]
    said = told(p, time, [target])
    log_time, disagreement = plain_forecast(p, time, target)
    _, weights = plain_near(p, time, target, is_steady=True)
    np.testing.assert_allclose(said.weights[0], weights, atol=1e-6)
    assert said.log_time[0, 0] == pytest.approx(log_time, abs=1e-5)
    assert said.disagreement[0, 0] == pytest.approx(disagreement, abs=1e-5)


@given(table=plausible_timings().filter(lambda table: len(table[0]) > 2))
def test_the_backtest_is_the_same_method_told_all_counts_but_the_last(table):
    p, time = table
    said = told(p, time, [2 * p[-1]])
    without, _ = plain_forecast(p[:-1], time[:-1], p[-1], is_steady=False)
    assert said.backtest[0] == pytest.approx(np.log(time[-1]) - without, abs=1e-5)
    beyond, _ = plain_forecast(p[:-1], time[:-1], 2 * p[-1], is_steady=False)
    assert said.without_last[0, 0] == pytest.approx(beyond, abs=1e-5)


# What is continuous.


@given(table=timings(p=doublings, time=plausible), reach=st.sampled_from([1.1, 1.5, 3, 8]))
def test_a_last_time_that_changes_a_little_changes_the_forecast_a_little(table, reach):
    p, time = table
    nudged = time * np.where(p == p[-1], 1 + 1e-6, 1)
    one, other = (told(p, x, [reach * p[-1]]).log_time for x in (time, nudged))
    assert abs(one - other) < 1e-2


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
    for name in ("log_time", "weights", "disagreement", "backtest", "without_last"):
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
