"""What a longer last run, a repetition and one run more do to a forecast, over many series."""

from itertools import pairwise

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.forecasting.own_runs.ensemble import extrapolate
from parcast.timings.measurements import Measurements


def series_at_random(draw, counts):
    """Times of a program with a serial part and an overhead that grows, give or take 3%."""
    p = 2.0 ** np.arange(counts)
    serial, share = draw.uniform(0, 0.1), draw.uniform(0, 0.02)
    grown = p ** draw.uniform(0, 1)
    return 100 * (serial + 1 / p + share * grown) * draw.lognormal(0, 0.03, counts)


def forecasts_by_last_time(times, factors, reach):
    """Log times beyond, (series, factors, reach), with the last time multiplied by each factor."""
    p = 2.0 ** np.arange(len(times[0]))
    time = np.repeat(np.array(times), len(factors), axis=0)
    time[:, -1] *= np.tile(factors, len(times))
    valid = np.ones(time.shape, dtype=bool)
    at = np.tile(np.multiply(reach, p[-1]), (len(time), 1))
    said = extrapolate(np.tile(p, (len(time), 1)), time, valid, at).log_time
    return said.reshape(len(times), len(factors), len(reach))


@pytest.mark.parametrize("counts", [3, 4, 7])
def test_a_longer_last_time_never_shortens_what_is_forecast_beyond_it(counts):
    draw = np.random.default_rng(counts)
    times = [series_at_random(draw, counts) for _ in range(500)]
    said = forecasts_by_last_time(times, np.exp(np.linspace(-0.7, 1.0, 18)), [1.1, 2, 4, 16])
    assert (np.maximum.accumulate(said, axis=1) - said).max() < 0.02


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.03])
def test_that_holds_where_a_law_is_recognised_too(noise):
    draw = np.random.default_rng(1)
    p = 2.0 ** np.arange(6)
    laws = [95 / p + 5, 100 / p + 2 * np.log2(p) + 1, 100 * p**-0.8, 100 / p + 0.3 * p]
    times = [law * draw.lognormal(0, noise, 6) for law in laws for _ in range(10)]
    said = forecasts_by_last_time(times, np.exp(np.linspace(-0.7, 1.0, 103)), [4.0])
    assert (np.maximum.accumulate(said, axis=1) - said).max() < 0.02


def forecasts_by_repetition(counts, others, factors, reach, series=100):
    """Log times beyond, (series, factors, reach), with one run of the last count changed."""
    draw = np.random.default_rng(counts)
    p = np.append(2.0 ** np.arange(counts), np.full(others, 2.0 ** (counts - 1)))
    tables = []
    for _ in range(series):
        time = series_at_random(draw, counts)
        time = np.append(time, time[-1] * draw.lognormal(0, 0.03, others))
        tables += [np.where(np.arange(len(p)) == counts - 1, f * time, time) for f in factors]
    names = [f"{i:06d}" for i in range(len(tables)) for _ in p]
    runs = Measurements(p=np.tile(p, len(tables)), time=np.ravel(tables), callpath=names)
    told = forecast(runs, [int(np.ceil(x * p[-1])) for x in reach], by=["callpath"])
    return np.log(told.time).reshape(series, len(factors), len(reach))


@pytest.mark.parametrize(("counts", "others"), [(3, 1), (3, 4), (4, 2), (6, 1)])
def test_a_longer_repetition_never_shortens_what_is_forecast(counts, others):
    factors = np.exp(np.linspace(-0.7, 1.0, 12))
    said = forecasts_by_repetition(counts, others, factors, [1.2, 2, 4, 16])
    assert (np.maximum.accumulate(said, axis=1) - said).max() < 1e-6


def test_from_one_run_more_the_forecast_of_a_count_is_better_in_expectation():
    draw, p = np.random.default_rng(5), 2.0 ** np.arange(9)
    times = np.array([series_at_random(draw, 9) for _ in range(500)])
    errors = []
    for known in range(2, 9):
        names = np.repeat([f"{i:06d}" for i in range(len(times))], known)
        runs = Measurements(
            p=np.tile(p[:known], len(times)), time=times[:, :known].ravel(), callpath=names
        )
        told = forecast(runs, [int(p[-1])]).time[:, 0]
        errors.append(np.abs(np.log(told / times[:, -1])))
    means = np.mean(errors, axis=1)
    assert (np.diff(means) < 0).all()
    assert means[-1] < 0.1
    for fewer, more in pairwise(errors):
        assert np.mean(more <= fewer) > 0.6
