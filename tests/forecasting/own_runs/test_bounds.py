"""Normal numbers above bounds, and the answers that are made from them."""

import numpy as np
import pytest
from scipy import stats

from parcast.forecasting.own_runs import bounds
from parcast.forecasting.own_runs.bounds import LogTimes, given_bounds


def test_numbers_above_bounds_are_those_of_the_truncated_distribution():
    z, weight = bounds._above(np.array([1.5]), np.eye(1))
    levels = np.quantile(z[:, 0], [0.05, 0.5, 0.95])
    assert levels == pytest.approx(stats.truncnorm(1.5, np.inf).ppf([0.05, 0.5, 0.95]), abs=0.01)
    correlation = np.array([[1, 0.6], [0.6, 1]])
    z, weight = bounds._above(np.array([0.5, 1.0]), correlation)
    drawn = np.random.default_rng(1).multivariate_normal([0, 0], correlation, 400_000)
    kept = drawn[(drawn > [0.5, 1.0]).all(axis=1)]
    assert weight @ z == pytest.approx(kept.mean(axis=0), abs=0.02)


def test_numbers_above_many_bounds_fill_every_dimension():
    # multiples of the powers of one number begin to be all near 0 at the tenth bound
    many = 60
    z, weight = bounds._above(np.zeros(many), np.eye(many))
    expected = stats.halfnorm.mean()
    assert weight @ z == pytest.approx(np.full(many, expected), abs=0.04)


def test_an_end_of_an_interval_is_a_twentieth_of_the_distribution():
    told = LogTimes(np.array([1.0]), np.array([0.5]), np.array([0.3]))
    below, above = told.sides
    for end, quantile in zip((1 - below, 1 + above), (0.05, 0.95), strict=True):
        z = bounds._normal_of(end, told)
        assert stats.norm.cdf(z) == pytest.approx(quantile)
        assert bounds._log_time_of(z, told) == pytest.approx(end)


def test_bounds_only_raise_answers_and_hold_at_their_places():
    told = LogTimes(*np.full((3, 2), [[0.0], [0.5], [0.0]]))
    own, other = np.array([[1, -0.4], [-0.4, 1]]), np.array([[1, -0.4], [-0.4, -0.4]])
    found = given_bounds(told, told, np.array([0.3, -0.1]), own, other)
    assert found.log_time[0] - found.sides[0][0] >= 0.3
    assert np.all(found.log_time >= told.log_time)
