"""How well runs determine a median."""

import numpy as np
import pytest

from parcast.trials.precision import interval_of, is_known, is_mean_known, precision_of


@pytest.mark.parametrize("number", [5, 8, 9, 20])
def test_the_interval_holds_the_median_of_skewed_times_in_90_percent_or_more(number):
    random = np.random.default_rng(number)
    held, held_by_less = 0, 0
    for times in random.lognormal(0.0, 0.5, (2000, number)):
        lower, upper = interval_of(list(times))
        held += lower <= 1.0 <= upper
        within = sorted(x for x in times if lower < x < upper)
        held_by_less += within[0] <= 1.0 <= within[-1]
    assert held / 2000 >= 0.9
    assert held_by_less / 2000 < 0.9  # no shorter interval does


def test_of_fewer_than_five_runs_the_interval_is_their_range():
    for times in ([2.0], [2.0, 1.0], [3.0, 1.0, 2.0], [4.0, 1.0, 2.0, 3.0]):
        assert interval_of(times) == (min(times), max(times))


def test_a_median_is_known_if_its_interval_ends_within_10_percent():
    assert is_known([1.0, 1.0, 1.0, 0.91, 1.09])
    assert not is_known([1.0, 1.0, 1.0, 1.0, 1.2])
    assert not is_known([1.0, 1.0, 1.0, 1.0, 0.8])
    assert is_known([1.0] * 7 + [5.0])  # of eight, one may be anywhere
    assert not is_known([])
    assert precision_of([1.0, 1.0, 1.3, 0.9, 1.0]) == pytest.approx(0.3)


def test_a_mean_is_known_if_so_many_times_determine_it_to_10_percent():
    assert not is_mean_known([])
    assert is_mean_known([1.0])
    assert is_mean_known([1.0, 1.03])
    assert not is_mean_known([1.0, 1.04])
    assert not is_mean_known([1.0, 1.5, 1.0, 1.5])
    assert is_mean_known([1.0, 1.5] * 8)
