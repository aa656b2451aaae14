"""`parcast.forecast(..., n=..., theta=...)` and `parcast.plan_runs`: answers and refusals."""

import json
from itertools import pairwise

import numpy as np
import pytest

from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.timings.measurements import Measurements

P, N, THETA = [1, 2, 4, 8, 16], [100, 200, 400], [0.1, 0.4]


def law(p, n, theta):
    return (1 + 0.5 * n / p + 0.2 * np.log2(p)) * theta**-0.5


def full(callpath=None, times=1.0):
    p, n, theta = (x.ravel() for x in np.meshgrid(P, N, THETA, indexing="ij"))
    labels = {} if callpath is None else {"callpath": callpath}
    return Measurements(p=p, n=n, theta=theta, time=times * law(p, n, theta), **labels)


def of_one_size(p=(1, 2, 4, 8), n=(100, 200)):
    p, n = (x.ravel() for x in np.meshgrid(p, n, indexing="ij"))
    return Measurements(p=p, n=n, time=1 + 0.5 * n / p)


# answers


def test_rows_hold_all_axes_in_the_order_asked_for():
    told = forecast(full(), p=[32, 64], n=[800, 100], theta=0.2)
    assert told.by == ("n", "theta")
    assert told.time.shape == (2, 2)
    rows = list(told.rows())
    assert [(row["n"], row["theta"], row["p"]) for row in rows] == [
        *((800, 0.2, 32), (800, 0.2, 64)),
        *((100, 0.2, 32), (100, 0.2, 64)),
    ]
    for row in rows:
        truth = law(row["p"], row["n"], row["theta"])
        assert row["lower_s"] < truth < row["upper_s"]
        assert row["time_s"] == pytest.approx(truth, rel=0.15)
    json.dumps(told.to_document())
    assert "<table>" in told._repr_html_()


def test_every_axis_beyond_its_range_is_told_with_how_far():
    told = forecast(full(), p=64, n=1600, theta=0.05)
    said = " ".join(told.notes[0].warnings)
    assert "p = 64 is an extrapolation to 4x the largest measured p (16)." in said
    assert "n = 1600 is an extrapolation to 4x the largest measured n (400)." in said
    assert "theta = 0.05 is an extrapolation to 1/2 of the smallest measured theta (0.1)." in said
    assert told.reach[0] == pytest.approx(4)
    assert "furthest out in p and n and theta" in told.notes[0].rests_on


def test_an_axis_that_goes_along_with_p_is_passed_over():
    runs = full()
    nodes = Measurements(**runs.columns, nodes=runs.p / 2)
    told = forecast(nodes, p=32, n=400, theta=0.4)
    plain = forecast(runs, p=32, n=400, theta=0.4)
    np.testing.assert_array_equal(told.time, plain.time)
    assert "nodes changes together with p" in told.notes[0].warnings[-1]


def test_an_axis_of_zero_is_used_and_told():
    p, k = (x.ravel() for x in np.meshgrid(P, [0, 1, 2], indexing="ij"))
    told = forecast(Measurements(p=p, k=k, time=(1 + k) * (1 + 8 / p)), p=32, k=[0, -1, 3])
    assert np.all(told.time > 0)
    assert "k has values of 0 or below" in told.notes[0].warnings[-1]
    assert "k = 3 lies 1 beyond the largest measured k (2)." in told.notes[2].warnings


def test_strong_and_weak_scaling_mean_what_they_do_elsewhere():
    strong = forecast(full(), p=32, n=400, theta=0.4)
    assert strong.notes[0].scaling == "strong"
    weak = forecast(full(), p=32, n=400, theta=0.4, scaling="weak")
    assert weak.efficiency[0] > strong.efficiency[0]


# refusals


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"thet": 1}, "thet must be a parameter of forecast or an axis of the meas"),
        ({"n": -5}, "n must be above 0, as all measured are, got -5."),
        ({"n": 0}, "n must be above 0, as all measured are, got 0."),
        ({"n": 1e300}, "n must lie between 1e-30 and 1e+30, got 1e+300. Count in other"),
        ({"n": [256, 1e-300]}, "n must lie between 1e-30 and 1e+30, got 1e-300."),
        ({"n": np.nan}, "n must be finite, got nan."),
        ({"n": "many"}, "n must be numbers, got 'many'."),
        ({"n": []}, "n must be one number or a list, got (0,)."),
        ({"n": 1, "by": ["theta"]}, "by must be left out where values of n are asked for."),
        ({"n": 1, "donors": full()}, "donors must be left out where values of n are asked for."),
        ({"n": np.arange(1, 10**6)}, "n, theta must make at most 1000000 points with p"),
    ],
)
def test_what_cannot_be_asked_is_named_with_a_remedy(asked, says, refusal):
    assert refusal(ParameterError, forecast, full(), p=32, **asked).startswith(says)


@pytest.mark.parametrize(
    ("runs", "asked", "says"),
    [
        ({"p": [1, 2, 1], "n": [1, 1, 2]}, 2, "over p and n needs at least 4 configurations, got"),
        ({"p": [1, 2, 4], "n": [5, 5, 5]}, 7, "All its runs have n = 5: n = 7 cannot be forecast"),
        ({"p": [4, 4, 4], "n": [1, 2, 3]}, 2, "All its runs have p = 4: p = 16 cannot be"),
        ({"p": [1, 2, 4, 8], "n": [3, 6, 12, 24]}, 9, "p and n change together in all its runs"),
        ({"p": [4, 4], "n": [5, 5]}, 5, "All its runs have p = 4"),
    ],
)
def test_runs_that_do_not_carry_it_are_refused_with_what_to_do(runs, asked, says):
    with pytest.raises(FitFailed) as caught:
        forecast(Measurements(**runs, time=np.arange(1.0, len(runs["p"]) + 1)), p=16, n=asked)
    assert says in str(caught.value)


def test_a_program_without_enough_runs_is_left_out_and_named():
    few = {"p": [1, 2], "n": [100, 100], "theta": [0.1, 0.1], "time": [9, 5], "callpath": "few"}
    enough = full("enough").columns
    few = Measurements(**few).columns
    runs = Measurements(**{x: np.concatenate([enough[x], few[x]]) for x in enough})
    told = forecast(runs, p=32, n=400, theta=0.4)
    assert list(told.refused) == ["few"]
    assert "few: no forecast. " in told.warnings[-1]


# planned runs


def test_runs_of_a_series_shorten_the_reach():
    runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    run, *_ = plan_runs(runs, p=128, runs=3)
    told = forecast(runs, p=128)
    assert run.at == {"p": 32.0}
    assert 2 * run.before == pytest.approx(float(np.log(told.upper / told.lower)))
    assert run.cost == pytest.approx(32 * run.time)
    assert run.because == "reduces the extrapolation to p = 128 from 16x to 4x"
    assert run.after < run.before


def test_runs_stay_inside_what_is_allowed_and_narrow_one_after_the_other():
    found = plan_runs(full(), p=256, n=1600, theta=0.2, upto=64, runs=4)
    assert found
    assert all(run.at["p"] <= 64 for run in found)
    widths = [found[0].before, *(run.after for run in found)]
    assert all(a > b for a, b in pairwise(widths))
    assert [run.before for run in found[1:]] == [run.after for run in found[:-1]]
    only = plan_runs(full(), p=256, n=1600, theta=0.2, counts=[32])
    assert {run.at["p"] for run in only} == {32.0}


def test_the_cost_decides():
    lines = Measurements(
        p=[1, 2, 4, 8, 1, 1], n=[1, 1, 1, 1, 2, 4], time=[8, 4.1, 2.2, 1.2, 16, 33]
    )
    cheap = plan_runs(lines, p=64, n=4, runs=1)[0]
    free = plan_runs(lines, p=64, n=4, runs=1, cost=lambda p, time: 1 + 0 * p * time)[0]
    assert cheap.cost <= free.at["p"] * free.time
    assert free.cost == 1
    assert free.after <= cheap.after


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"counts": "x"}, "counts must be numbers, got 'x'."),
        ({"n": 1, "by": ["n"]}, "by must be left out where values of n are asked for."),
        ({"cost": lambda p, time: 0 * p * time}, "cost must give a number above 0 for every run"),
    ],
)
def test_a_plan_that_cannot_be_made_is_told(asked, says, refusal):
    assert refusal(ParameterError, plan_runs, of_one_size(), p=64, **asked).startswith(says)


def test_the_size_of_a_problem_that_is_given_is_the_same_at_every_count():
    sizes = {1: 100, 2: 100, 4: 100, 8: 100}
    table = {
        "p": [*sizes, *sizes],
        "n": [*sizes.values(), *[1000] * 4],
        "time": [1.0, 1.05, 1.2, 1.5, 80, 41, 21.5, 11.5],
    }
    found = forecast(table, p=[8], n=100)
    assert found.notes[0].scaling.startswith("strong")
    assert found.efficiency[0] < 0.2


def test_doubling_the_processors_has_its_sign_at_one_processor_too():
    p = [1.0, 2, 4, 8]
    table = {
        "p": p * 2,
        "n": [100] * 4 + [200] * 4,
        "time": [100 / x for x in p] + [200 / x for x in p],
    }
    for at in ([1], [8]):
        limit = forecast(table, p=at, n=100).notes[0].limited_by
        assert "p by -" in limit, limit
