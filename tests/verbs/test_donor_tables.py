"""Donors given as several tables: joined as the command line joins its files."""

import numpy as np
import pytest

from parcast import Measurements, ParameterError, forecast, knee, match, plan_runs

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


@several_tables
def test_runs_are_planned_from_several_tables(donors):
    told, whole = (plan_runs(HERE, p=64, donors=x) for x in (donors, BOTH))
    assert [run.at for run in told] == [run.at for run in whole] != []
    assert [run.after for run in told] == pytest.approx([run.after for run in whole])


@several_tables
def test_machines_are_ranked_with_several_tables(donors):
    told, whole = (match(NAMED, p=[8, 64], donors=x) for x in (donors, BOTH))
    assert told.candidates[0].time == pytest.approx(whole.candidates[0].time)
    assert told.law == whole.law == "forecast of here from its runs and those on the donors A, B"
    assert told.warnings == whole.warnings


@pytest.mark.parametrize(
    ("donors", "says"),
    [
        ([], "donors must hold a table, got an empty list. Leave it out."),
        (
            [A, "other.csv"],
            "donors[1]: table must have columns by name, got str. "
            "Read a file first: parcast.read_measurements('other.csv').",
        ),
        (
            [A, Measurements(n=100, x=1, **B.columns)],
            "donors must have the same columns as all other tables, got no n, x in donors[0]. Add "
            "them, or pass over them in the others: parcast.read_measurements(path, "
            "ignore=['n', 'x']).",
        ),
        (
            [A, HERE],
            "donors must have the same columns as all other tables, got no machine in donors[1]. "
            "Name the machine of every run in it.",
        ),
        (
            [HERE, HERE],
            "donors must have a column machine, got none. Name the machine of every run in it.",
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
