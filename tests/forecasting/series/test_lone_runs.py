"""Runs parted by a column that is no parameter: the column is named, and what to do."""

import numpy as np
import pytest

from parcast.errors import FitFailed
from parcast.forecasting.forecast import forecast
from parcast.forecasting.series.question import parting_columns
from parcast.timings.measurements import Measurements

P = np.repeat([1.0, 2, 4, 8], 3)
TIME = 5 + 95 / P + np.tile([0, 0.1, 0.2], 4)
JOBID = np.arange(4711.0, 4711 + len(P))
RUNS = Measurements(p=P, time=TIME, jobid=JOBID)
REMEDY = (
    "jobid differs in nearly every run: each is a series of its own. If jobid is no parameter of "
    "the program, ignore it (read_measurements(path, ignore=['jobid']))."
    " If it is one, forecast at a value of it (jobid=4722)."
)
BRIEFLY = REMEDY.partition(" If it is one,")[0]


def parting(**columns):
    """The columns that leave runs alone."""
    runs = Measurements(p=P, time=TIME, **columns)
    return parting_columns(runs, runs.series())


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({}, ()),
        ({"jobid": JOBID}, ("jobid",)),
        ({"jobid": JOBID, "n": 100}, ("jobid",)),
        ({"jobid": JOBID, "n": np.tile([1, 2, 3], 4)}, ("jobid",)),
        ({"jobid": JOBID, "date": JOBID[::-1]}, ("jobid", "date")),
        ({"jobid": JOBID, "machine": ["A", "A", "B"] * 4}, ("jobid",)),
        ({"jobid": [4711, 4711, *JOBID[2:]]}, ("jobid",)),
        ({"jobid": np.tile([1, 2, 3], 4)}, ()),
        ({"n": 100 * P}, ()),
        ({"machine": [f"host{i}" for i in range(12)]}, ()),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, dict) else None,
)
def test_columns_by_which_runs_stand_alone_are_found(columns, found):
    assert parting(**columns) == found


def test_no_forecast_names_the_column(refusal):
    assert refusal(FitFailed, forecast, RUNS, 64) == f"No forecast. {REMEDY}"
    assert refusal(FitFailed, forecast, RUNS, 64, hold_out=8) == f"No forecast. {REMEDY}"


def test_where_some_series_has_a_forecast_the_others_name_the_column():
    two = Measurements(p=[*P, 16], time=[*TIME, 11], jobid=[*JOBID, 4711])
    told = forecast(two, 64)
    assert len(told.notes) == 1
    assert next(iter(told.refused.values())) == f"All times are at p = 1. {BRIEFLY}"


def test_what_the_remedy_says_helps():
    told = forecast(Measurements(p=P, time=TIME), 64)
    assert told.notes[0].measured == (1, 8)
    assert forecast(RUNS, 64, jobid=4722).time.shape == (1,)


def test_donors_that_stand_alone_are_told():
    here = Measurements(p=4, time=20.0)
    donors = Measurements(machine=["A"] * 12, **RUNS.columns)
    says = BRIEFLY.replace("nearly every run:", "nearly every run of the donors:")
    with pytest.raises(FitFailed) as refused:
        forecast(here, 64, donors=donors)
    assert says in str(refused.value)
    assert "a forecast requires at least two processor counts" in str(refused.value)


def test_without_such_a_column_nothing_changes():
    few = Measurements(p=[4, 8], time=[20.0, 12.0], machine=["A", "B"])
    with pytest.raises(FitFailed, match="Grouped by machine the runs form 2 series of one"):
        forecast(few, 64)
