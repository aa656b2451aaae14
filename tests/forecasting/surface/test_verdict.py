"""`parcast.forecasting.surface.notes`: where a forecast over several axes is none."""

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.forecasting.surface.notes import problem_axes
from parcast.forecasting.surface.runs import runs_by_label
from parcast.timings.measurements import Measurements

P, N = (1.0, 2.0, 4.0, 8.0), (100.0, 200.0, 400.0, 800.0)


def grid(law, **more):
    p, n = (x.ravel() for x in np.meshgrid(P, N, indexing="ij"))
    return Measurements(p=p, n=n, time=law(p, n), **{x: y(p, n) for x, y in more.items()})


def runs_of(measurements, names):
    (found,) = runs_by_label(measurements, names)
    return found


def test_n_is_a_problem_size_and_so_is_an_axis_along_which_time_only_rises():
    rises = grid(lambda p, n: n / p)
    assert problem_axes(runs_of(rises, ["n"])) == {1: False}
    falls = grid(lambda p, n: 1e4 / n / p)
    assert problem_axes(runs_of(falls, ["n"])) == {1: True}
    p, size = (x.ravel() for x in np.meshgrid(P, N, indexing="ij"))
    other = Measurements(p=p, size=size, time=size / p)
    assert problem_axes(runs_of(other, ["size"])) == {1: False}
    theta = Measurements(p=p, theta=size, time=1e4 / size / p)
    assert problem_axes(runs_of(theta, ["theta"])) == {}


def test_a_larger_problem_that_runs_faster_is_no_forecast(monkeypatch):
    from parcast.forecasting.surface import runs as module

    plain = module.forecast_surface

    def wrong(axes, time, targets, noise=0.0):
        """A surface that turns down beyond the largest n."""
        from dataclasses import replace

        told = plain(axes, time, targets, noise)
        n = targets[:, 1]
        return replace(told, log_time=told.log_time - 3 * np.maximum(np.log(n / 800), 0))

    asked = {"p": [4, 8], "n": [800, 1600]}
    runs = grid(lambda p, n: n / p + 0.01 * n)
    assert forecast(runs, asked["p"], n=asked["n"]).verdict == ()
    monkeypatch.setattr(module, "forecast_surface", wrong)
    told = forecast(runs, asked["p"], n=asked["n"])
    (text,) = told.verdict
    assert text.startswith("n = 1600: No forecast at p = 4, 8: a larger n would run faster there ")
    assert text.endswith("Measure a run at n = 1600.")
    assert [note.no_forecast for note in told.notes] == [(), (4.0, 8.0)]


def test_a_test_that_was_off_by_more_than_everything_leaves_no_forecast():
    random = np.random.default_rng(0)
    runs = grid(lambda p, n: n / p * np.exp(random.normal(scale=2.0, size=len(p))))
    told = forecast(runs, [64], n=[800])
    (text,) = told.verdict
    assert text.startswith("n = 800: No forecast at p = 64: ")
    assert told.notes[0].no_forecast == (64.0,)


def test_wide_intervals_have_no_forecast_and_the_last_useful_count_is_told():
    runs = grid(lambda p, n: n / p + 3 * np.log2(p) + 5)
    told = forecast(runs, [16, 10**6], n=[800])
    (text,) = told.verdict
    assert text.startswith(
        "n = 800: No forecast at p = 1000000: the 90% interval spans a factor of "
    )
    assert "The last useful count is p = 16. Measure a run at p = 32." in text
    assert told.notes[0].useful_upto == 16
    assert "no forecast" in str(told)


@pytest.mark.parametrize("n", [50.0, 100.0, 600.0, 1000.0])
def test_a_sound_forecast_has_no_verdict(n):
    assert forecast(grid(lambda p, n: n**1.5 / p + n), [8, 16], n=[n]).verdict == ()
