"""`parcast.calibration.lines`: intervals over launches hold what they say they hold."""

from math import isnan

import numpy as np
import pytest

from parcast.calibration.lines import estimate, outliers, sample_of


@pytest.mark.parametrize("launches", [2, 3, 4])
def test_nine_of_ten_intervals_hold_the_true_value(launches):
    random = np.random.default_rng(launches)
    held = 0
    for _ in range(1000):
        found = estimate(np.exp(random.normal(0.0, 0.1, launches)).tolist())
        held += found.lower <= 1.0 <= found.upper
    assert held >= 870


@pytest.mark.parametrize(("launches", "depth"), [(5, 1), (7, 1), (8, 2), (11, 3), (20, 6)])
def test_the_order_statistics_are_those_of_the_tables(launches, depth):
    # D. J. Sheskin, table of the binomial distribution: the deepest with at least 90%
    found = estimate([float(x) for x in range(1, launches + 1)])
    assert (found.lower, found.upper) == (depth, launches + 1 - depth)


def test_one_launch_has_no_interval():
    found = estimate([3.0])
    assert found.value == 3.0
    assert isnan(found.lower)
    assert isnan(found.cv)
    assert not found.is_within(0.05)


def test_outliers_are_those_far_above_the_median_only():
    assert outliers([1.0] * 20 + [0.1]) == (0, 1.0)
    assert outliers([1.0] * 20 + [1.05]) == (0, 1.05)  # not by a tenth of the median
    assert outliers([1.0, 1.3, 0.8, 1.1, 0.9, 1.4]) == (0, 1.333)
    assert outliers([1.0] * 20 + [30.0, 3.0]) == (2, 30.0)


def test_a_sample_tells_of_all_repetitions_and_drops_none():
    sample = sample_of(8, [[1.0, 2.0, 3.0], [2.0, 3.0, 90.0]], [[], []], target=0.05)
    assert sample.time == 2.5
    assert sample.p25 == 2.0
    assert (sample.launches, sample.repetitions, sample.outliers) == (2, 6, 1)
    assert sample.worst == 30.0
    assert not sample.settled


def test_disturbed_repetitions_are_counted_and_kept_out_of_the_median():
    sample = sample_of(8, [[1.0, 1.0, 1.0]], [[50.0, 40.0]], target=0.05)
    assert sample.time == 1.0
    assert (sample.repetitions, sample.disturbed, sample.outliers) == (5, 2, 2)
    assert sample.worst == 50.0
