"""Forecasts from rates and speedups: times of the work, and the rate in the unit it came in."""

import io
import warnings

import numpy as np
import pytest

from parcast.deciding.machines.match import match
from parcast.errors import ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.forecasting.next_runs.sheet import sheet_of_plan
from parcast.forecasting.own_runs.ensemble import extrapolate
from parcast.forecasting.picture import figure_of
from parcast.forecasting.sheet import sheet_of, table_of
from parcast.timings.tables.files import read_measurements

SYPD = "nodes,SYPD\n4,1.5\n20,7.25\n50,15.3\n100,25\n"
GROWING = {  # the problem size grows with p
    "rate": "p,n,images/s\n1,100,100\n2,200,195\n4,400,380\n8,800,740\n",
    "speedup": "p,n,speedup\n1,100,1\n2,200,1.95\n4,400,3.8\n8,800,7.4\n",
}
UNEVEN = "p,time_s\n1,100\u00b11\n2,52\u00b11\n4,60\u00b160\n8,15\u00b11\n16,9\u00b11\n"


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_measurements(io.StringIO(text), **options)


def test_a_rate_is_forecast_with_the_interval_of_the_time_turned_over():
    told = forecast(read(SYPD), [200, 400])
    for row in told.rows():
        assert row["rate"] * row["time_s"] == pytest.approx(86400)
        assert row["rate_lower"] * row["upper_s"] == pytest.approx(86400)
        assert row["rate_lower"] < row["rate"] < row["rate_upper"]
    assert told.to_document()["measured"] == {
        "quantity": "rate",
        "column": "SYPD",
        "unit": "simulated years/day",
        "amount": "simulated year",
        "seconds": 86400.0,
        "work": 1.0,
    }


def test_both_stand_in_the_table_and_the_rate_in_the_picture():
    told = forecast(read("p,throughput (images/s)\n1,100\n2,190\n4,350\n8,600\n"), [16])
    assert "throughput (images/s)" in str(told)
    (ax,) = figure_of(told).axes
    assert ax.get_ylabel() == "throughput (images/s)"
    (ax,) = figure_of(told, quantity="time").axes
    assert ax.get_ylabel().startswith("time [")


def test_donors_have_the_measure_of_the_runs():
    donors = read("machine,p,time_s\nA,1,100\nA,2,52\nA,4,28\n")
    with pytest.raises(ParameterError, match="must have the same measure as the runs, got time"):
        forecast(read(SYPD), [200], donors=donors)


def test_a_mean_with_a_large_deviation_counts_less():
    p = np.array([[1.0, 2, 4, 8, 16, 32]])
    time = np.array([[100.0, 75, 26, 14, 8, 5]])
    valid = np.ones(p.shape, dtype=bool)
    at = np.array([[128.0]])
    kept = np.array([0, 2, 3, 4, 5])
    without = extrapolate(p[:, kept], time[:, kept], valid[:, kept], at).log_time
    one, little = (
        extrapolate(p, time, valid, at, np.array([[1, weight, 1, 1, 1, 1]])).log_time
        for weight in (1.0, 1e-9)
    )
    assert np.abs(little - without).max() < 1e-3 < np.abs(one - without).max()
    series = read("p,time_s\n1,100\u00b11\n2,75\u00b160\n4,26\n").series()
    assert series.weight[0].tolist() == pytest.approx([1 / 1.04, 1 / 257, 1])


@pytest.mark.parametrize(
    ("text", "options"),
    [(GROWING["rate"], {}), (GROWING["rate"], {"work": 1000}), (GROWING["speedup"], {})],
)
def test_rates_and_speedups_are_of_fixed_work_whatever_the_problem_size(text, options):
    runs = read(text, **options)
    told = forecast(runs, [8, 16])
    assert told.speedup[0] == pytest.approx(7.4)
    assert told.efficiency[0] == pytest.approx(7.4 / 8)
    assert told.notes[0].scaling == "strong"
    assert told.notes[0].scaling_reason in {
        "a rate is per unit of work",
        "a speedup is of equal work",
    }
    assert knee(runs, upto=32)[0].scaling == match(runs).reading.name == "strong"
    assert forecast(runs, [16], scaling="strong").speedup == pytest.approx(told.speedup[1:])
    for ask in (lambda **x: forecast(runs, [16], **x), lambda **x: knee(runs, **x)):
        with pytest.raises(ParameterError, match=r"must be strong, because a (rate|speedup) is"):
            ask(scaling="weak")
    with pytest.raises(ParameterError, match="must be strong, because a"):
        match(runs, scaling="weak")


def test_a_surface_of_rates_is_of_fixed_work_too():
    rows = [f"{p},{p * n},{100 * p**0.9}" for p in (1, 2, 4, 8) for n in (1, 2, 4)]
    runs = read("\n".join(["p,n,images/s", *rows]))
    assert forecast(runs, [16], n=8).notes[0].scaling == "strong"
    with pytest.raises(ParameterError, match="must be strong"):
        forecast(runs, [16], n=8, scaling="weak")


def test_what_a_run_needs_is_told_only_where_times_are_of_runs():
    rate, speedup = read(GROWING["rate"]), read(GROWING["speedup"])
    for runs in (rate, speedup):
        (found,) = knee(runs, upto=64)
        assert found.request is None
        assert not {"core_hours", "time_limit_s"} & set(found.to_document())
        assert "wall-time" not in str(sheet_of(forecast(runs, [16]), knees=[found]))
        matched = match(runs)
        assert matched.candidates[0].request is None
        assert "core_hours" not in next(matched.ranking())
        assert "wall-time limit" not in str(matched)
    of_work = read(GROWING["rate"], work=7.4e6)
    (found,) = knee(of_work, upto=8)
    assert found.request.core_hours == pytest.approx(8 * 1e4 / 3600)
    assert match(of_work).candidates[0].request is not None


def test_relative_times_have_no_unit_anywhere():
    runs = read("cores,speed-up\n4,3.72\n8,4.77\n16,5.21\n")
    told = forecast(runs, [8, 64])
    table = table_of(told)
    units = {x.title: x.unit for x in table.forms[0].columns}
    assert units["relative time"] == units["measured"] == "[1]"
    facts = {fact.label: fact.text for fact in table.in_full[0].facts}
    assert facts["relative time"] == "0.210"
    assert facts["measured"] == "0.210"
    for form in table.forms:  # the measured speedup and its interval, no second one
        assert [x.title for x in form.columns if x.title.startswith("speed")] == ["speed-up"]
    figure = figure_of(told, quantity="time")
    assert figure.axes[0].get_ylabel() == "relative time"
    assert figure.get_suptitle().startswith("Relative time on 8 and 64 processors")
    planned = plan_runs(runs, 64)
    assert " s)" not in repr(planned[0])
    assert "[p x s]" not in str(sheet_of_plan(planned))
    matched = match(runs)
    assert "relative time" in str(matched)
    assert not {"[s]", "[ms]"} & set(str(matched).split())


def test_own_runs_count_as_much_beside_donors_as_alone():
    here = read(UNEVEN.replace("p,", "machine,p,").replace("\n", "\nA,").removesuffix("A,"))
    far = read("machine,p,time_s\nB,1,1\nB,2,2\nB,4,4\nB,8,8\nB,16,16\n")  # contradicts
    alone, beside = forecast(here, [64]), forecast(here, [64], donors=far)
    assert not beside.notes[0].donors
    assert np.ravel(beside.time) == pytest.approx(np.ravel(alone.time))


def test_large_spread_is_named_by_where_it_comes_from():
    def noise(text):
        return [x for x in forecast(read(text), [8]).warnings if "repeat each count" in x]

    (means,) = noise("p,time_s\n1,80\u00b18\n2,45\u00b120\n4,25\u00b18\n")
    assert means == "The deviations of the means are 32%: repeat each count more often."
    (runs,) = noise("p,time_s\n1,80\n1,40\n2,40\n2,22\n4,25\n")
    assert runs.startswith("Repeated runs differ by")


def test_a_deviation_of_zero_tells_nothing():
    zero = read("p,time_s\n1,80\u00b10\n2,45\u00b10\n4,25\u00b10\n")
    assert not zero.series().shows_spread.any()


def test_a_match_within_a_time_or_budget_needs_times_of_runs():
    rate, speedup = read(GROWING["rate"]), read(GROWING["speedup"])
    with pytest.raises(
        ParameterError, match=r"within must .* got times of one unit of work.*work="
    ):
        match(rate, within="2 h")
    with pytest.raises(ParameterError, match=r"budget must .* got speedups"):
        match(speedup, budget=1.0, prices={"here": 1.0})
    assert match(read(GROWING["rate"], work=1e6), within="2 h").best is not None
