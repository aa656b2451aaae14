"""Donors given as several tables: joined as the command line joins its files."""

import numpy as np
import pytest

from parcast.deciding.machines.match import match
from parcast.errors import ParameterError
from parcast.forecasting.donors.gather import joined
from parcast.forecasting.forecast import forecast
from parcast.forecasting.knee import knee
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.timings.measurements import Measurements

HERE = Measurements(p=4, time=20.0)
NAMED = Measurements(p=4, time=20.0, machine="here")
COUNTS = np.array([1.0, 2, 4, 8, 16])
A = Measurements(p=COUNTS, time=1 + 100 / COUNTS, machine="A")
B = Measurements(p=COUNTS, time=2 + 180 / COUNTS, machine="B")
BOTH = Measurements(
    p=[*COUNTS] * 2, time=[*A.time, *B.time], machine=["A"] * 5 + ["B"] * 5, repetition=1
)


several_tables = pytest.mark.parametrize(
    "donors",
    [
        [A, B],
        (A, B),
        [BOTH],
        [A, {"p": COUNTS, "time_ms": 1000 * B.time, "machine": ["B"] * 5}],
        [A, Measurements(repetition=2, **B.columns)],
    ],
    ids=["list", "tuple", "one", "dict", "repetition"],
)


@several_tables
def test_several_tables_are_as_good_as_one(donors):
    told, whole = forecast(HERE, [8, 64], donors=donors), forecast(HERE, [8, 64], donors=BOTH)
    np.testing.assert_allclose(told.time, whole.time, rtol=1e-12)
    np.testing.assert_allclose(told.upper, whole.upper, rtol=1e-12)
    assert knee(HERE, upto=64, donors=donors) == knee(HERE, upto=64, donors=BOTH)


@pytest.mark.parametrize(
    ("donors", "says"),
    [
        ([], "donors must hold a table, got an empty list. Leave it out."),
        (
            [A, 3],
            "donors[1]: table must have columns by name, got int. "
            "Give a dict of columns, a data frame or a structured array.",
        ),
        (
            [A, Measurements(n=100, x=1, **B.columns)],
            "donors must have the same columns as all other tables, got no n, x in donors[0]. Add "
            "them, or ignore them in the others: parcast.read_measurements(path, "
            "ignore=['n', 'x']).",
        ),
        (
            [A, HERE],
            "donors must have the same columns as all other tables, got no machine in donors[1]. "
            "Name the machine of every run in it.",
        ),
    ],
)
def test_tables_that_cannot_be_joined_are_refused(donors, says):
    for refuses in (
        lambda: forecast(HERE, 8, donors=donors),
        lambda: knee(HERE, upto=8, donors=donors),
        lambda: plan_runs(HERE, p=8, donors=donors),
        lambda: match(NAMED, p=[8], donors=donors),
    ):
        with pytest.raises(ParameterError) as refused:
            refuses()
        assert str(refused.value) == says


def part(table, *rows):
    return Measurements(**{name: column[list(rows)] for name, column in table.columns.items()})


MORE_OF_A = Measurements(p=[1, 32], time=[103.0, 4.5], machine="A")


@pytest.mark.parametrize(
    ("tables", "rows", "says"),
    [
        ([A, A], 5, ["1: all its runs are in 0 as well."]),
        ([A, A, A], 5, ["1: all its runs are in 0 as well.", "2: all its runs are in 0 as well."]),
        ([A, part(A, 4, 3, 2, 1, 0)], 5, ["1: all its runs are in 0 as well."]),
        ([part(A, 0, 2), A], 5, ["0: all its runs are in 1 as well."]),
        ([A, part(BOTH, *range(10))], 10, ["1: its runs on A are in 0 as well."]),
        (
            [part(A, 0, 1), part(A, 2, 3, 4), A],
            5,
            ["0: all its runs are in 2 as well.", "1: all its runs are in 2 as well."],
        ),
        (
            [A, MORE_OF_A, Measurements(p=[8, 32], time=[13.5, 4.5], machine="A")],
            7,
            ["2: all its runs are in 0, 1 as well."],
        ),
        ([A, MORE_OF_A], 7, []),
        ([A, part(A, 0), MORE_OF_A, B], 12, ["1: all its runs are in 0 as well."]),
        ([A, B], 10, []),
    ],
)
def test_copies_count_once_and_other_runs_add_up(tables, rows, says):
    table, remarks = joined(tables, [str(i) for i in range(len(tables))])
    assert len(table) == rows
    assert list(remarks) == [f"{text} They are used once." for text in says]


def test_copies_do_not_make_a_forecast_surer_and_are_told():
    once, twice = forecast(HERE, 64, donors=[A, B]), forecast(HERE, 64, donors=[A, B, A])
    np.testing.assert_array_equal(once.upper, twice.upper)
    said = "donors[2]: all its runs are in donors[0] as well. They are used once."
    assert twice.notes[0].warnings == (*once.notes[0].warnings, said)
