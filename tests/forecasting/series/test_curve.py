"""`series.curve`: what a forecast keeps, so that lines and knees need no new one."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.forecasting.picture import figure_of
from parcast.forecasting.result import one_series
from parcast.forecasting.series.curve import Columns
from parcast.timings.measurements import Measurements

STRONG = Measurements(p=[1, 2, 4, 8, 16], time=[100.0, 51, 27, 15, 9])
COUNTS = (1, 2, 4, 8)


def several(names, times=lambda i, p: (i + 2) / p + 0.1):
    """Runs of call paths, each with times of its own."""
    rows = [(x, p, times(i, p)) for i, x in enumerate(names) for p in COUNTS]
    callpath, p, time = zip(*rows, strict=True)
    return Measurements(callpath=callpath, p=p, time=time)


@pytest.mark.parametrize("names", ["abc", ["main", "main->a", "main->b"]])
def test_at_the_counts_asked_for_it_gives_the_forecast(names):
    answer = forecast(several(names, lambda i, p: (9 - i * 3) / p + 1), [[1, 3], [16, 32]])
    again = answer.curve.at(answer.p)
    for name in Columns._fields:
        np.testing.assert_array_equal(getattr(again, name), getattr(answer, name))


def test_one_series_is_what_a_forecast_of_it_alone_says():
    runs = several("ab")
    alone = one_series(forecast(runs, hold_out=[8]), 1)
    expected = forecast(runs.select(callpath="b"), hold_out=[8], by=[])
    for name in ("time", "lower", "upper", "efficiency", "observed"):
        assert getattr(alone, name).tolist() == getattr(expected, name).tolist()
    assert alone.curve.at([5]).time[0].tolist() == expected.curve.at([5]).time[0].tolist()
    assert alone.notes[0].label == "b"
    assert [row["p"] for row in alone.rows()] == [8]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize(
    "donors", [None, Measurements(p=[1, 4, 64], time=[9, 3, 1], machine="SP")]
)
def test_an_answer_is_pickled_and_copied_with_its_curve(again, donors):
    answer = forecast(STRONG, [32], donors=donors)
    other = again(answer)
    assert other.curve.at(64).time.tolist() == answer.curve.at(64).time.tolist()
    assert other.to_document() == answer.to_document()


def test_what_an_answer_keeps_does_not_grow_with_the_lines_drawn():
    answer = forecast(several([f"f{i}" for i in range(30)]), [16])
    before = len(pickle.dumps(answer))
    figure_of(answer)
    assert len(pickle.dumps(answer)) == before < 100_000


def test_a_picture_draws_only_what_the_answer_keeps():
    without = replace(forecast(STRONG, [32, 64]), curve=None)
    (line,) = [x for x in figure_of(without).axes[0].lines if x.get_label() == "forecast"]
    assert line.get_xdata().tolist() == [32, 64]
    assert line.get_ydata().tolist() == without.time.tolist()


@pytest.mark.parametrize("at", [{}, {"n": [100.0, 300.0]}])
def test_progress_is_told_until_all_rows_are_answered(at):
    p, n = np.tile(COUNTS, 4), np.repeat([100.0, 200, 100, 200], 4)
    machine = np.repeat(["SP", "T3E"], 8)
    steps = []
    answer = forecast(
        Measurements(p=p, n=n, machine=machine, time=n / p + np.log2(p + 1)),
        [16],
        progress=lambda *step: steps.append(step),
        **at,
    )
    assert steps[-1] == (len(answer.notes), len(answer.notes))
    assert len(steps) == (2 if at else 1)
