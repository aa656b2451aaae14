"""Runs that were stopped: their times lie above bounds, which is what forecasts take of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parcast
from parcast.errors import FitFailed
from parcast.forecasting.own_runs.cut_off import cut_off_runs
from parcast.timings.measurements import Measurements

RUNS = Measurements(p=[1, 2, 4, 8, 16], time=[102.1, 52.4, 28.2, 16.1, 10.2])
ASKED = [12, 32, 64, 128]


def told(runs, p=ASKED, **asked):
    found = parcast.forecast(runs, p, **asked)
    return np.stack([found.lower, found.time, found.upper])


@settings(max_examples=8)
@given(bound=st.floats(0.1, 1e4), more=st.floats(1.0, 10.0))
def test_a_higher_bound_never_lowers_the_forecast(bound, more):
    less = told(RUNS.with_cut_off(p=32, time=bound))
    assert np.all(told(RUNS.with_cut_off(p=32, time=bound * more)) >= less * (1 - 1e-9))
    assert np.all(less[:, 1] >= bound)


def test_a_bound_says_nothing_across_a_measured_count():
    plain = told(RUNS, [1, 3, 12, 16, 32])
    given_bound = told(RUNS.with_cut_off(p=32, time=20), [1, 3, 12, 16, 32])
    assert np.array_equal(plain[:, :4], given_bound[:, :4])
    between = told(RUNS.with_cut_off(p=3, time=45), [1, 3, 12, 16, 32])
    assert between[0, 1] >= 45 > plain[1, 1]
    assert np.array_equal(plain[:, [0, 2, 3, 4]], between[:, [0, 2, 3, 4]])
    below = told(RUNS.select(p=[4, 8, 16]).with_cut_off(p=2, time=60), [1, 2, 32])
    assert below[0, 1] >= 60
    assert below[1, 0] > told(RUNS.select(p=[4, 8, 16]), [1])[1, 0]


def test_stopped_runs_are_no_times_and_no_repetitions():
    plain = parcast.forecast(RUNS, 32)
    given_bound = parcast.forecast(RUNS.with_cut_off(p=[32, 32], time=[9, 8]), 32)
    assert given_bound.notes[0].measured == (1, 16)
    assert given_bound.notes[0].backtest == plain.notes[0].backtest
    assert given_bound.notes[0].noise == plain.notes[0].noise


def test_where_other_runs_ended_a_bound_is_not_used():
    assert np.array_equal(told(RUNS.with_cut_off(p=16, time=100)), told(RUNS))


def test_bounds_belong_to_their_series():
    rows = {"p": [1, 2, 4] * 2, "time": [9, 5, 3] * 2, "machine": ["A"] * 3 + ["B"] * 3}
    runs = Measurements(rows).with_cut_off(p=8, time=4, machine="B")
    found = parcast.forecast(runs, [8, 16])
    assert found.time[1, 0] > 4 > found.time[0, 0]
    alone = Measurements(p=[1, 2, 4], time=[9, 5, 3])
    assert np.array_equal(found.time[0], parcast.forecast(alone, [8, 16]).time)
    knee = cut_off_runs(runs.cut_off, runs.series())
    assert knee.runs.tolist() == [[0], [1]]


def test_call_paths_that_add_up_are_forecast_without_bounds():
    rows = {"p": [1, 2, 4] * 2, "time": [9, 5, 3, 4, 2, 1], "callpath": ["m"] * 3 + ["m->a"] * 3}
    runs = Measurements(rows)
    bound = runs.with_cut_off(p=8, time=50, callpath="m")
    assert np.array_equal(told(bound, [8]), told(runs, [8]))
    said = "1 run that was stopped is left out: for call paths that add up"
    assert any(said in x for x in parcast.forecast(bound, [8]).warnings)


@pytest.mark.parametrize("has_donors", [False, True])
def test_planned_runs_take_as_long_as_the_forecast_with_the_bound(has_donors):
    donors = Measurements(p=[1, 4, 16, 64], time=[51, 14, 5, 4], machine=["B"] * 4)
    more = {"donors": donors} if has_donors else {}
    bound = RUNS.with_cut_off(p=64, time=12)
    found = parcast.plan_runs(bound, 256, runs=2, **more)
    assert found
    for run in found:
        assert run.time == pytest.approx(told(bound, int(run.at["p"]), **more)[1])
    before = parcast.plan_runs(RUNS, 256, runs=2, **more)
    wider = np.log(np.divide(*told(bound, 256, **more)[[2, 0]]))
    assert 2 * found[0].before == pytest.approx(wider)
    if not has_donors:
        assert found[0].before > before[0].before
    far = parcast.plan_runs(RUNS.with_cut_off(p=64, time=1e-3), 256, runs=2, **more)
    assert [x.at for x in far] == [x.at for x in before]


def test_the_answer_says_what_was_stopped_and_what_it_changes():
    note = parcast.forecast(RUNS.with_cut_off(p=32, time=9), [32, 64]).notes[0]
    assert note.rests_on.endswith(
        "; 1 run at p = 32 was stopped after 9 s: shorter times are excluded there"
    )
    assert note.warnings[0].startswith("Without the runs that were stopped, the forecast at p = ")
    quiet = parcast.forecast(RUNS.with_cut_off(p=[32, 64], time=[1, 2]), [32, 64]).notes[0]
    assert "2 runs at p = 32, 64 were stopped after 1 s or more" in quiet.rests_on
    assert not any("stopped" in x for x in quiet.warnings)


def test_a_bound_that_contradicts_the_other_runs_is_told():
    warning = parcast.forecast(RUNS.with_cut_off(p=32, time=3600), [32, 64]).notes[0].warnings
    assert any(
        x.startswith("A run at p = 32 was stopped after 60 min, where the other runs forecast ")
        and "If it hung, leave it out." in x
        for x in warning
    )


def test_a_refusal_names_the_runs_that_were_stopped():
    runs = Measurements(p=[1, 1], time=[9, 9.1]).with_cut_off(p=[2, 4], time=60)
    with pytest.raises(FitFailed, match="requires at least two processor counts") as caught:
        parcast.forecast(runs, 8)
    says = "2 runs at p = 2, 4 were stopped after 60 s: no times."
    assert str(caught.value).endswith(says)


def test_programs_of_which_no_run_ended_are_named():
    runs = Measurements(p=[1, 2, 4], time=[9, 5, 3], n=[1, 1, 1])
    stopped = runs.with_cut_off(p=[1, 2], time=60, n=[8, 8])
    answer = parcast.forecast(stopped, 8, by=["n"])
    assert answer.warnings[0] == (
        "n = 8: no forecast. All 2 runs were stopped before the end. Give more time."
    )
