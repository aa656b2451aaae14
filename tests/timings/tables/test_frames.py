"""Data frames are read as the same table in a file is."""

import numpy as np
import pandas as pd
import pytest

import parcast
from parcast.errors import FileProblems
from parcast.timings.notes import ImportNote

FRAME = pd.DataFrame({"ranks": [1, 2, 4, 8], "elapsed": [100.1, 52.0, 28.0, 17.0]})
RUNS = parcast.Measurements(p=FRAME.ranks, time=FRAME.elapsed)
IN_TEXT = FRAME.assign(elapsed=["0:01:40.1", "52 s", "28 s", "17 s"])
IN_DURATIONS = FRAME.assign(
    elapsed=pd.to_timedelta(FRAME.elapsed, unit="s"), started=pd.Timestamp("2026-01-01")
)


@pytest.mark.filterwarnings("ignore::parcast.timings.notes.ImportNote")
@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        FRAME.set_index("ranks"),
        FRAME.set_index("ranks", drop=False),
        FRAME.groupby("ranks").elapsed.median(),
        FRAME.astype({"ranks": "Int64"}),
        IN_TEXT,
        IN_DURATIONS,
        FRAME.rename(columns={"elapsed": "time"}).to_dict("list"),
        FRAME.to_records(index=False),
        FRAME.rename(columns={"ranks": "p", "elapsed": "time"}).set_index("p"),
    ],
)
def test_a_table_of_any_columns_is_read_as_from_a_file(table):
    assert parcast.read_measurements(table) == RUNS


def test_a_frame_and_its_file_are_the_same_runs(tmp_path):
    beside = {"user_s": [9.0, 8, 7, 6], "host": "a1", "status": ["ok", "ok", "ok", "timeout"]}
    frame = pd.DataFrame({"p": [1, 2, 4, 8], "time_s": [100.0, 52, 28, 60], "n": 5, **beside})
    frame.to_csv(tmp_path / "runs.csv", index=False)
    with pytest.warns(ImportNote, match="1 failed run left out") as given:
        told, of_file = (parcast.read_measurements(x) for x in (frame, tmp_path / "runs.csv"))
    assert told == of_file
    assert told.cut_off == of_file.cut_off
    assert list(told.axes) == ["p", "n"]
    assert str(given[0].message).startswith("table: ")
    with pytest.warns(ImportNote):
        assert np.all(parcast.forecast(frame, p=8).time > 60)


def test_deviations_and_times_that_are_missing_are_those_of_a_file():
    table = {"p": [1, 2, 4], "time_s": [100.0, 52.0, np.nan], "time_std": [1.0, 2.0, np.nan]}
    with pytest.warns(ImportNote, match="1 failed run left out"):
        told = parcast.read_measurements(table)
    assert told == parcast.Measurements(p=[1, 2], time=[100.0, 52.0], deviation=[1.0, 2.0])


def test_what_was_assumed_of_a_frame_and_what_is_wrong_with_it_are_said():
    with pytest.warns(ImportNote, match="table: p is ranks; the time is elapsed"):
        parcast.forecast(FRAME, p=16)
    unclear = FRAME.rename(columns={"elapsed": "took"})
    with pytest.raises(FileProblems) as caught:
        parcast.forecast(unclear, p=16)
    [problem] = caught.value.problems
    assert "parcast.read_measurements(table, columns={'time_s': 'took'})" in str(caught.value)
    assert problem.line == 1
    with pytest.raises(FileProblems, match=r"line 3 +p +must be a whole number"):
        parcast.read_measurements({"p": [1, "x"], "time": [2.0, 1.0]})
    options = {"columns": {"p": "ranks", "time_s": "took"}}
    assert parcast.read_measurements(unclear, **options) == RUNS


@pytest.mark.parametrize("word", ["stopped", "cut off", "TIMEOUT", "time limit"])
def test_words_for_a_run_that_was_stopped_make_its_time_a_bound(word):
    rows = {"p": [1, 2, 4], "time_s": [10.0, 6, 60], "state": ["ok", "ok", word]}
    with pytest.warns(ImportNote, match="counts as a lower bound"):
        told = parcast.read_measurements(rows)
    assert told.p.tolist() == [1, 2]
    assert told.cut_off.time.tolist() == [60]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"ranks": [1, 2], "elapsed": [1, 2, 3]}, "be of one length, got ranks 2, elapsed 3"),
        ({"ranks": [[1, 2], [3, 4]], "elapsed": [1, 2]}, "cells of 2 dimensions in ranks"),
        ({"ranks": [], "elapsed": []}, "at least one row"),
    ],
)
def test_a_frame_that_is_no_table_is_refused(columns, says):
    with pytest.raises(parcast.ParameterError, match=says):
        parcast.read_measurements(columns)


def test_columns_that_were_given_can_still_be_changed():
    given = np.array([1.0, 2.0])
    with pytest.warns(ImportNote):
        parcast.read_measurements({"ranks": given, "elapsed": [2.0, 1.0]})
    given[0] = 3.0
