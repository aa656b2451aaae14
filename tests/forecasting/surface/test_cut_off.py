"""Runs over several axes that were stopped: their times lie above bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parcast
from parcast.errors import FitFailed
from parcast.timings.measurements import Measurements

P, N = (x.ravel() for x in np.meshgrid([1, 2, 4, 8, 16], [100, 200, 400], indexing="ij"))
TIME = N**1.5 / P + 0.3 * N + 2 * np.log2(2 * P)
RUNS = Measurements(p=P, n=N, time=TIME)


def told(runs, p=(12, 32, 64), **at):
    found = parcast.forecast(runs, list(p), **at or {"n": [100, 400, 800]})
    return np.stack([found.lower, found.time, found.upper])


@settings(max_examples=8)
@given(bound=st.floats(1, 1e5), more=st.floats(1, 10))
def test_a_higher_bound_never_lowers_the_forecast(bound, more):
    less = told(RUNS.with_cut_off(p=32, n=800, time=bound))
    assert np.all(told(RUNS.with_cut_off(p=32, n=800, time=bound * more)) >= less * (1 - 1e-9))
    assert np.all(less >= told(RUNS) * (1 - 1e-12))
    assert np.all(less[:, 2, 1] >= bound)


def test_bounds_far_below_the_forecast_change_nothing():
    bound = RUNS.with_cut_off(p=[32, 32, 64], n=[400, 800, 800], time=1e-3)
    assert np.array_equal(told(bound), told(RUNS))


def test_bounds_at_the_largest_size_alone_raise_it_and_not_what_was_measured():
    small, measured = RUNS.select(n=[100, 200]), {"p": [1, 8, 16], "n": [100, 200]}
    counts = [1, 4, 16]
    limit = 2 * told(small, counts, n=400)[1, 0]
    bound = small.with_cut_off(p=counts, n=400, time=limit)
    assert np.all(told(bound, counts, n=400)[1, 0] > limit)
    assert np.all(told(bound, [2, 32], n=800) > told(small, [2, 32], n=800))
    assert told(bound, **measured) == pytest.approx(told(small, **measured), rel=0.01)


@pytest.mark.parametrize("apart", [1e-12, 1e-10, 1e-8, 1e-6])
def test_bounds_at_nearly_one_place_are_one(apart):
    near = RUNS.with_cut_off(p=[32, 32, 32], n=800 * (1 + apart * np.arange(3)), time=1e4)
    assert told(near) == pytest.approx(told(RUNS.with_cut_off(p=32, n=800, time=1e4)), rel=0.01)


def test_bounds_belong_to_their_program():
    both = {x: np.tile(y, 2) for x, y in RUNS.columns.items()}
    runs = Measurements(**both, machine=["A"] * len(P) + ["B"] * len(P))
    found = told(runs.with_cut_off(p=32, n=400, time=1e4, machine="B"), [32], n=400)
    assert found[1, 1, 0] > 1e4 > found[1, 0, 0]
    assert found[:, 0] == pytest.approx(told(RUNS, [32], n=400)[:, 0], rel=1e-12)


def test_at_another_value_than_the_single_one_stopped_runs_are_left_out():
    alone = RUNS.select(n=400)
    bound = alone.with_cut_off(p=[8, 64], n=[800, 400], time=[900, 400])
    note = parcast.forecast(bound, [64], n=400).notes[0]
    assert "1 run that was stopped is left out: at another n than all finished runs" in str(
        note.warnings
    )
    assert "; 1 run at p = 64 was stopped after 400 s" in note.rests_on


def test_a_refusal_names_the_runs_that_were_stopped():
    bound = RUNS.select(n=100).with_cut_off(p=[8, 8], n=[200, 400], time=60)
    with pytest.raises(FitFailed, match="n = 400 cannot be forecast") as caught:
        parcast.forecast(bound, [8], n=400)
    says = "2 runs at (p, n) = (8, 200), (8, 400) were stopped after 60 s: no times."
    assert str(caught.value).endswith(says)


def test_the_answer_says_what_was_stopped_and_what_it_changes():
    bound = RUNS.with_cut_off(p=[32] * 5, n=[800] * 4 + [400], time=[900, 900, 900, 1000, 300])
    note = parcast.forecast(bound, [16, 32], n=800).notes[0]
    assert note.rests_on.endswith(
        "; 5 runs at (p, n) = (32, 400), (32, 800) were stopped after 300 s or more: shorter "
        "times are excluded there"
    )
    said = "Without the runs that were stopped, the forecast at p = 32 would be "
    assert note.warnings[0].startswith(said)
    quiet = parcast.forecast(RUNS.with_cut_off(p=32, n=800, time=1), [16], n=800).notes[0]
    assert "was stopped after 1 s" in quiet.rests_on
    assert not any("stopped" in x for x in quiet.warnings)


def test_no_forecast_lies_below_the_bound_of_a_smaller_problem_in_silence():
    bound = RUNS.with_cut_off(p=[32] * 9, n=np.arange(450, 900, 50), time=1e4)
    found = parcast.forecast(bound, [32], n=[1500, 1e5])
    assert found.time[0, 0] < 1e4 < found.time[1, 0]
    said = "No forecast at p = 32: a larger n would run faster there than a smaller one."
    assert any(x.startswith(said) for x in found.notes[0].warnings)
    assert not any("larger n" in x for x in found.notes[1].warnings)


def test_planned_runs_take_as_long_as_the_forecast_with_the_bound():
    bound = RUNS.with_cut_off(p=64, n=400, time=500)
    for run in parcast.plan_runs(bound, 128, runs=2, n=400):
        here = told(bound, [int(run.at["p"])], n=run.at["n"]).ravel()
        assert (run.lower, run.time, run.upper) == pytest.approx(tuple(here))


def test_along_a_table_without_p_a_bound_is_told_and_drawn_at_its_place():
    sizes = np.array([1000, 2000, 4000, 8000])
    runs = Measurements(p=1, n=sizes, time=sizes / 1000.0)
    found = parcast.forecast(runs.with_cut_off(p=1, n=16000, time=20), 1, n=[16000, 32000])
    assert "; 1 run at n = 16000 was stopped after 20 s" in found.notes[0].rests_on
    assert np.all(found.time > 20)
    assert found.stopped.runs.tolist() == [[1], [0]]
    arrows = [x for x in found.plot().lines if "stopped" in x.get_label()]
    assert [(*x.get_xdata(), *x.get_ydata()) for x in arrows] == [(16000, 20)]
