"""Rounds in which the machine was equally fast."""

from dataclasses import replace
from math import inf, log

import pytest

from parcast.arrays.running.observation import RoundId
from parcast.arrays.running.steady import is_centered, is_steady, largest_steady_set, speeds
from tests.arrays.validating.made import request, run_of

USUAL = {0: 1.0, 1: 2.0, 2: 10.0}


def rounds(*speeds, launch=1):
    """Runs of three requests in rounds in which all take so many times as long as usual."""
    one = run_of(0, request(), launch)
    return [
        replace(one, request=place, round=turn, time=factor * usual)
        for turn, factor in enumerate(speeds, 1)
        for place, usual in USUAL.items()
    ]


@pytest.mark.parametrize(("speed", "counts"), [(1.09, True), (1.11, False), (0.90, False)])
def test_a_round_is_steady_unless_most_requests_take_longer_or_shorter(speed, counts):
    runs = rounds(1.0, speed, 0.95)
    steady = {RoundId(1, 1), RoundId(1, 3)} | ({RoundId(1, 2)} if counts else set())
    assert {each for each, x in speeds(runs, USUAL).items() if is_steady(x)} == steady
    one_is_slow = [replace(run, time=9.0) if run.request == 0 else run for run in runs]
    assert {each for each, x in speeds(one_is_slow, USUAL).items() if is_steady(x)} == steady
    assert speeds([], USUAL) == {}


def test_a_round_that_was_cut_off_is_not_steady():
    assert speeds(rounds(1.0, 1.0)[:-1], USUAL) == {RoundId(1, 1): 0.0, RoundId(1, 2): inf}


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((1.04,), True),
        ((1.06,), False),
        ((1.09, 1.0, 0.93), True),
        ((0.92, 0.91), False),
        ((), False),
    ],
)
def test_several_rounds_are_centered_if_their_median_is_as_usual(factors, expected):
    assert is_centered([log(factor) for factor in factors]) is expected


def test_the_most_rounds_of_one_speed_are_taken():
    runs = [*rounds(1.0, 1.5, 1.04, 0.98), *rounds(1.55, 1.02, launch=2)]
    kept = {run.round_id for run in largest_steady_set(runs)}
    assert kept == {RoundId(1, 1), RoundId(1, 3), RoundId(1, 4), RoundId(2, 2)}
    assert largest_steady_set(runs)[0] is runs[0]


def test_of_equally_many_rounds_the_later_are_taken():
    assert {run.round for run in largest_steady_set(rounds(1.0, 1.0, 1.5, 1.5))} == {3, 4}
    assert {run.round for run in largest_steady_set(rounds(1.0))} == {1}
