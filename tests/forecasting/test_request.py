"""`parcast.forecasting.request`: the limit to request is kept as often as it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.forecasting.request import request_for, time_kept, wall_time_limit
from parcast.show.outline import document_of


@pytest.mark.parametrize("certainty", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_so_many_log_normal_times_keep_it(certainty):
    time, sd = 100.0, 0.4
    upper = time * np.exp(1.6448536 * sd)
    drawn = time * np.exp(sd * np.random.default_rng(1).normal(size=200_000))
    kept = time_kept(time, upper, certainty)
    assert np.mean(drawn <= kept) == pytest.approx(certainty, abs=0.005)


def test_ninety_percent_lies_below_the_upper_end_and_ninety_five_on_it():
    assert 100 < time_kept(100, 200, 0.9) < 200
    assert time_kept(100, 200, 0.95) == pytest.approx(200)
    assert time_kept(100, 100, 0.9) == 100


@given(st.floats(1e-9, 1e7))
def test_a_limit_is_rounded_up_to_minutes_and_not_by_much(seconds):
    limit = wall_time_limit(seconds)
    assert limit % 60 == pytest.approx(0)
    assert seconds <= limit * (1 + 1e-9)
    assert limit <= max(seconds + 60, 1.09 * seconds)


def test_a_request_says_what_to_ask_for():
    request = request_for(64, 3600.0, 3000.0, 5400.0)
    assert (request.core_hours, request.upper) == (64, 96)
    assert document_of(request)["time_limit"] == "01:30:00"
    assert str(request).startswith("wall-time limit 01:30:00 (kept with 95% certainty), 64")


def test_hours_of_nodes_whose_cores_are_not_known_are_node_hours():
    request = request_for(2, 3600.0, 3000.0, 5400.0, is_of_nodes=True)
    assert (request.core_hours, request.node_hours) == (None, 2)
    assert "2.0 node-hours (1.7 to 3.0)" in str(request)
