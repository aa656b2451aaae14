"""Rounds in which the machine was equally fast."""

from dataclasses import replace

import pytest

from parcast.arrays.running.observation import Turn
from parcast.arrays.running.steady import changed_turns, steadiest
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


@pytest.mark.parametrize(("speed", "is_changed"), [(1.09, False), (1.11, True), (0.90, True)])
def test_a_round_is_of_another_machine_where_most_requests_take_longer_or_shorter(
    speed, is_changed
):
    runs = rounds(1.0, speed, 0.95)
    assert changed_turns(runs, USUAL) == ({Turn(1, 2)} if is_changed else set())
    one_is_slow = [replace(run, time=9.0) if run.request == 0 else run for run in runs]
    assert changed_turns(one_is_slow, USUAL) == ({Turn(1, 2)} if is_changed else set())
    assert changed_turns([], USUAL) == set()


def test_the_most_rounds_of_one_speed_are_taken():
    runs = [*rounds(1.0, 1.5, 1.04, 0.98), *rounds(1.55, 1.02, launch=2)]
    kept = {run.turn for run in steadiest(runs)}
    assert kept == {Turn(1, 1), Turn(1, 3), Turn(1, 4), Turn(2, 2)}
    assert steadiest(runs)[0] is runs[0]


def test_of_equally_many_rounds_the_later_are_taken():
    assert {run.round for run in steadiest(rounds(1.0, 1.0, 1.5, 1.5))} == {3, 4}
    assert {run.round for run in steadiest(rounds(1.0))} == {1}
