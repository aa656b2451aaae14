"""`parcast.forecasting.series.curve`: the time of a program whose call paths were timed apart."""

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

P = np.array([1.0, 2, 4, 8, 16])
EXCLUSIVE = {"solve": 80 / P, "halo": 2 + 0 * P, "reduce": 0.2 * np.sqrt(P)}


def runs(paths, **labels):
    return Measurements(
        p=np.tile(P, len(paths)),
        callpath=np.repeat(list(paths), len(P)),
        time=np.concatenate(list(paths.values())),
        **labels,
    )


def test_exclusive_call_paths_add_up():
    told = forecast(runs(EXCLUSIVE), [32, 64])
    totals = told.totals
    assert totals.parts.tolist() == [3]
    assert totals.time[0] == pytest.approx(told.time.sum(axis=0))
    assert totals.speedup[0] == pytest.approx(82.2 / totals.time[0])
    assert totals.efficiency[0] == pytest.approx(totals.speedup[0] / [32, 64])
    assert totals.reach[0].tolist() == [2, 4]
    assert np.isnan(totals.observed).all()


def test_a_total_is_compared_with_what_was_held_out():
    told = forecast(runs(EXCLUSIVE), hold_out=[8, 16])
    total = sum(EXCLUSIVE.values())[-2:]
    assert told.totals.observed[0] == pytest.approx(total)
    assert [row["measured_s"] for row in told.to_document()["totals"]] == pytest.approx(total)
    lines = [x.split() for x in str(told).splitlines() if x.startswith("total of 3")]
    assert [line[3] for line in lines] == ["8", "16"]
    for line, error in zip(lines, told.totals.time[0] / total - 1, strict=True):
        assert any(float(x) == pytest.approx(100 * error, abs=0.6) for x in line if x[0] in "+-")


def test_the_interval_of_a_sum_lies_between_independent_and_equal_errors():
    told = forecast(runs(EXCLUSIVE), [32, 64])
    up, down = told.upper - told.time, told.time - told.lower
    for found, errors in (
        (told.totals.upper[0] - told.totals.time[0], up),
        (told.totals.time[0] - told.totals.lower[0], down),
    ):
        independent, equal = np.sqrt((errors**2).sum(axis=0)), errors.sum(axis=0)
        assert np.all((independent < found) & (found < equal))
        assert found == pytest.approx(np.sqrt((independent**2 + equal**2) / 2))


@pytest.mark.parametrize(
    "paths",
    [
        {"main": 90 / P, "main->solve": 80 / P},
        {"main": 90 / P, **EXCLUSIVE},
        {"Total": 90 / P + 5, **EXCLUSIVE},
        {"everything": sum(EXCLUSIVE.values()), **EXCLUSIVE},
    ],
    ids=["nested", "main", "named", "equal"],
)
def test_a_call_path_that_holds_the_others_is_the_total(paths):
    told = forecast(runs(paths), [64])
    assert told.totals.parts.tolist() == [1]
    assert told.totals.time[0] == pytest.approx(told.time[0])
    assert "totals" not in told.to_document()


@pytest.mark.parametrize(
    "paths",
    [
        {"main": 1 / P, "main->solve": 80 / P},
        {"solve": 80 / P, "halo": 79 / P},
        {"main": 1 / P, **EXCLUSIVE},
    ],
    ids=["exclusive though nested", "two of one length", "main is short"],
)
def test_a_call_path_that_holds_no_others_is_a_part(paths):
    told = forecast(runs(paths), [64])
    assert told.totals.parts.tolist() == [len(paths)]
    assert told.totals.time[0] == pytest.approx(told.time.sum(axis=0))
