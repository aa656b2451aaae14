"""`forecasting.result`: rows, the JSON document, labels, and what a result says of itself."""

import json
from dataclasses import FrozenInstanceError, replace
from html import escape

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements
from parcast.timings.series import label_of
from parcast.words import whole

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


def test_rows_hold_the_arrays_one_count_of_one_series_each():
    told = forecast(RUNS, [8, 16, 32])
    rows = list(told.rows())
    assert [tuple(row) for row in rows] == [("machine", *KEYS)] * 6
    assert [(row["machine"], row["p"]) for row in rows] == [
        *(("T3E", 8), ("T3E", 16), ("T3E", 32)),
        *(("SP", 8), ("SP", 16), ("SP", 32)),
    ]
    columns = {
        "time_s": told.time,
        "lower_s": told.lower,
        "upper_s": told.upper,
        "speedup": told.speedup,
        "efficiency": told.efficiency,
        "reach": told.reach,
    }
    for name, array in columns.items():
        assert [row[name] for row in rows] == array.ravel().tolist()


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


def test_whole_numbers_are_written_as_such():
    runs = Measurements(p=[1, 2, 1, 2], time=[8, 5, 9, 6.0], n=[64.0, 64.0, 0.5, 0.5])
    rows = list(forecast(runs, [4]).rows())
    assert json.dumps([row["n"] for row in rows]) == "[64, 0.5]"
    assert json.dumps([row["p"] for row in rows]) == "[4, 4]"


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


def test_the_document_says_everything():
    told = replace(forecast(RUNS, [8, 16]), inputs={"file": "times.csv"})
    document = told.to_document()
    assert list(document) == [
        *(
            "schema",
            "verdict",
            "rows",
            "interval",
            "parameters",
            "limited_by",
            "warnings",
            "law",
            "sources",
            "inputs",
        ),
        *("series", "refused"),
    ]
    assert document["schema"] == "parcast/forecast/1"
    assert document["rows"] == list(told.rows())
    assert document["interval"] == 0.9
    assert document["limited_by"] == [note.limited_by for note in told.notes]
    assert document["warnings"] == list(told.warnings)
    assert document["law"] == told.law
    assert document["sources"] == list(told.sources)
    assert document["inputs"] == {"file": "times.csv"}
    assert forecast(ALONE, 8).to_document()["inputs"] == {}
    assert document["refused"] == [
        {"series": "one count", "why": told.refused["one count"]},
    ]


def test_the_document_says_of_each_series_what_its_note_does():
    told = forecast(RUNS, [8, 16])
    for note, said in zip(told.notes, told.to_document()["series"], strict=True):
        assert said == {
            "machine": note.key["machine"],
            "measured_p": list(note.measured),
            "scaling": note.scaling,
            "scaling_reason": note.scaling_reason,
            "limited_by": note.limited_by,
            "limit": note.limit,
            "laws": dict(note.laws),
            "follows": None,
            "rests_on": note.rests_on,
            "backtest_error": note.backtest,
            "noise": note.noise,
            "donors": [],
            "no_forecast_p": list(note.no_forecast),
            "useful_upto": note.useful_upto,
            "warnings": list(note.warnings),
        }
    first = told.to_document()["series"][0]
    assert json.dumps(first["measured_p"]) == "[1, 8]"


def test_warnings_name_their_series_and_those_left_out():
    told = forecast(RUNS, [64])
    starts = [text.split(": ")[0] for text in told.warnings]
    expected = [note.label for note in told.notes for _ in note.warnings]
    assert sorted(starts) == sorted([*expected, "one count"])
    assert told.warnings[: len(told.verdict)] == told.verdict
    assert told.warnings[-1].startswith("one count: no forecast. All its times are at p = 4,")
    assert f"T3E: {told.notes[0].warnings[0]}" in told.warnings


def test_warnings_of_a_single_series_stand_alone():
    told = forecast(ALONE, 64)
    assert told.warnings == told.notes[0].warnings != ()


def test_limited_by_is_that_of_each_series():
    told = forecast(RUNS, [64])
    assert told.limited_by == tuple(note.limited_by for note in told.notes)


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ({}, ""),
        ({"machine": "T3E"}, "T3E"),
        ({"machine": "T3E", "callpath": "main->solve"}, "T3E, main->solve"),
        ({"machine": "T3E", "n": 64.0}, "T3E, n = 64"),
        ({"n": 0.5, "d": 2.0}, "n = 0.5, d = 2"),
    ],
)
def test_a_series_is_labelled_by_the_values_of_its_key(key, label):
    assert label_of(key) == label


def test_a_note_is_labelled_as_its_series():
    assert [note.label for note in forecast(RUNS, 16).notes] == ["T3E", "SP"]
    assert forecast(ALONE, 16).notes[0].label == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [(64.0, 64), (0.5, 0.5), ("T3E", "T3E"), (3, 3), (float("inf"), float("inf")), (None, None)],
)
def test_whole_floats_become_ints_and_nothing_else_changes(value, expected):
    assert whole(value) == expected
    assert type(whole(value)) is type(expected)


def test_the_table_for_pandas_holds_the_rows():
    told = forecast(RUNS, [8, 16])
    frame = told.to_pandas()
    parts = ("compute_s", "communication_s", "io_s", "synchronisation_s")  # not known of times
    assert list(frame.columns) == ["machine", *(x for x in KEYS if x not in parts)]
    assert frame["time_s"].tolist() == told.time.ravel().tolist()
    assert frame["measured_s"].isna().tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (forecast(ALONE, 8), "Forecast(p = 8)"),
        (forecast(ALONE, [[8, 16]]), "Forecast(p = 8, 16)"),
        (forecast(RUNS, [8, 16]), "Forecast(2 series, p = 8, 16)"),
        (forecast(ALONE, range(1, 7)), "Forecast(p = 1, 2, 3, 4, 5, 6)"),
        (forecast(ALONE, range(1, 8)), "Forecast(p = 1, 2, 3, 4, 5, 6, ...)"),
    ],
)
def test_a_forecast_says_in_one_line_how_much_was_asked(told, says):
    assert repr(told) == says


def test_as_text_it_names_every_series_count_and_warning():
    told = forecast(RUNS, [8, 64])
    shown = str(told)
    for word in ("T3E", "SP", "one count", "64"):
        assert word in shown
    assert len(str(forecast(ALONE, 8)).splitlines()) < len(shown.splitlines())


def test_in_a_notebook_it_is_a_table_with_everything_of_the_user_escaped():
    told = forecast({"p": [1, 2], "time": [8, 5.0], "machine": "<b>SP & co"}, [8])
    shown = told._repr_html_()
    assert "<table" in shown
    assert "&lt;b&gt;SP &amp; co" in shown
    assert "<b>SP" not in shown


def test_in_a_notebook_it_says_what_each_series_rests_on():
    told = forecast(RUNS.columns | {"machine": ["<i>T3E"] * 4 + ["SP"] * 4 + ["one"]}, [64])
    shown = told._repr_html_()
    assert "<b>&lt;i&gt;T3E</b><br><b>scaling:</b> strong (n is the same at every p)" in shown
    for note in told.notes:
        for text in (note.scaling_reason, note.limited_by, note.rests_on):
            assert escape(text) in shown
    assert "<p><b>scaling:</b> strong" in forecast(ALONE, 8)._repr_html_()


def test_in_a_notebook_the_series_beyond_twenty_are_counted():
    rows = [(f"k{i:02}", p, 1 / p) for i in range(23) for p in (1, 2)]
    callpath, p, time = zip(*rows, strict=True)
    shown = forecast(Measurements(callpath=callpath, p=p, time=time), 4)._repr_html_()
    assert "<b>k19</b>" in shown
    assert "<b>k20</b>" not in shown
    assert (
        "3 more series are not shown; these 20 take longest. All of them: to_document()" in shown
    )


def test_a_forecast_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        forecast(ALONE, 8).time = 1
