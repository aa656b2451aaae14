"""`forecasting.result`: rows, the JSON document, labels, and what a result says of itself."""

import json

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

RUNS = Measurements(
    p=[1, 2, 4, 8, 2, 4, 8, 8, 4],
    time=[80, 41, 22, 13.0, 9, 9.5, 10, 10.4, 5],
    machine=["T3E"] * 4 + ["SP"] * 4 + ["one count"],
    n=[64.0] * 9,
)
ALONE = Measurements(p=[1, 2, 4], time=[80, 41, 22.0])
KEYS = (
    *("p", "time_s", "lower_s", "upper_s"),
    *("compute_s", "communication_s", "io_s", "synchronisation_s"),
    *("speedup", "efficiency", "reach", "measured_s"),
)


def test_what_was_not_measured_is_none_and_not_a_nan():
    rows = list(forecast(RUNS, [8, 16]).rows())
    assert [row["measured_s"] for row in rows] == [13, None, 10.2, None]
    assert {row[name] for row in rows for name in KEYS[4:8]} == {None}


@pytest.mark.parametrize("p", [16, [16], [[16, 32], [64, 128]]])
def test_a_single_series_has_rows_without_a_key(p):
    told = forecast(ALONE, p)
    rows = list(told.rows())
    assert [tuple(row) for row in rows] == [KEYS] * np.size(p)
    assert [row["p"] for row in rows] == np.ravel(p).tolist()
    assert [row["time_s"] for row in rows] == np.ravel(told.time).tolist()


@pytest.mark.parametrize(
    "told",
    [
        forecast(RUNS, [1, 8, 16, 10**6]),
        forecast(ALONE, 8),
        forecast(ALONE, hold_out=[4]),
        forecast({"p": [1, 2], "time": [1e-9, 1e9]}, [[10**6]]),
    ],
    ids=["several series", "one count", "held out", "wild"],
)
def test_the_document_is_json_and_comes_back_from_it(told):
    document = told.to_document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_warnings_name_their_series_and_those_left_out():
    told = forecast(RUNS, [64])
    starts = [text.split(": ")[0] for text in told.warnings]
    expected = [note.label for note in told.notes for _ in note.warnings]
    assert sorted(starts) == sorted([*expected, "one count"])
    assert told.warnings[: len(told.verdict)] == told.verdict
    assert told.warnings[-1].startswith("one count: no forecast. All times are at p = 4,")
    assert f"T3E: {told.notes[0].warnings[0]}" in told.warnings


def test_in_a_notebook_it_is_a_table_with_everything_of_the_user_escaped():
    told = forecast({"p": [1, 2], "time": [8, 5.0], "machine": "<b>SP & co"}, [8])
    shown = told._repr_html_()
    assert "<table" in shown
    assert "&lt;b&gt;SP &amp; co" in shown
    assert "<b>SP" not in shown
