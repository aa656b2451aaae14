"""Forecasts from rates and speedups: times of the work, and the rate in the unit it came in."""

import io
import warnings

import numpy as np
import pytest

from parcast.errors import ParameterError
from parcast.forecasting.ensemble import extrapolate
from parcast.forecasting.forecast import forecast
from parcast.forecasting.picture import figure_of
from parcast.timings.tables.files import read_measurements

SYPD = "nodes,SYPD\n4,1.5\n20,7.25\n50,15.3\n100,25\n"


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
        "unit": "sypd",
        "amount": "simulated year",
        "work": 1.0,
    }


def test_more_work_takes_longer_at_the_same_rate():
    one, ten = (forecast(read(SYPD, work=work), [200]) for work in (None, "10 years"))
    assert ten.time == pytest.approx(10 * one.time)
    assert next(ten.rows())["rate"] == pytest.approx(next(one.rows())["rate"])
    assert "that of 10 simulated years, from the rate SYPD" in str(ten)


def test_both_stand_in_the_table_and_the_rate_in_the_picture():
    told = forecast(read("p,throughput (images/s)\n1,100\n2,190\n4,350\n8,600\n"), [16])
    assert "throughput (images/s)" in str(told)
    (ax,) = figure_of(told).axes
    assert ax.get_ylabel() == "throughput (images/s)"
    (ax,) = figure_of(told, quantity="time").axes
    assert ax.get_ylabel().startswith("time [")


def test_a_rate_is_not_drawn_where_none_was_measured():
    with pytest.raises(ParameterError, match='or "rate" where rates were measured'):
        figure_of(forecast({"p": [1, 2, 4], "time": [8, 4, 2]}, [8]), quantity="rate")


def test_a_speedup_is_a_relative_time_without_a_unit():
    told = forecast(read("cores,speed-up\n4,3.72\n8,4.77\n16,5.21\n"), [32])
    assert "relative time" in str(told)
    assert "[ms]" not in str(told)
    assert "rate" not in next(told.rows())


def test_donors_have_the_measure_of_the_runs():
    donors = read("machine,p,time_s\nA,1,100\nA,2,52\nA,4,28\n")
    with pytest.raises(ParameterError, match="must have the same measure as the runs, got time"):
        forecast(read(SYPD), [200], donors=donors)


def test_a_mean_with_a_large_deviation_counts_less():
    p, time = np.array([[1.0, 2, 4, 8, 16]]), np.array([[100.0, 75, 26, 14, 8]])
    valid = np.ones(p.shape, dtype=bool)
    at = np.array([[64.0]])
    kept = np.array([0, 2, 3, 4])
    without = extrapolate(p[:, kept], time[:, kept], valid[:, kept], at).members
    one, little = (
        extrapolate(p, time, valid, at, np.array([[1, weight, 1, 1, 1]])).members
        for weight in (1.0, 1e-9)
    )
    assert np.abs(little - without).max() < 1e-3 < np.abs(one - without).max()
    series = read("p,time_s\n1,100\u00b11\n2,75\u00b160\n4,26\n").series()
    assert series.weight[0].tolist() == pytest.approx([1 / 1.04, 1 / 257, 1])
