"""Normal numbers above bounds, and the answers that are made from them."""

import numpy as np
import pytest
from scipy import stats

from parcast.forecasting.own_runs import bounds


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
