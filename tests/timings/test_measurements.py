"""`timings.measurements`: the tables it accepts, those it refuses, and what it keeps of them."""

import copy
import pickle
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from parcast.errors import ParameterError
from parcast.timings.measurements import Measurements

P, TIME, MACHINE = [1, 2, 4], [8.0, 4.5, 2.5], ["A", "A", "B"]
RUNS = Measurements(p=P, time=TIME, machine=MACHINE, n=100, repetition=1)
AXIS = "must be the name of an axis, got"
COUNTS = "Choose from 1, 2, 4, 8, 16, 32, 128, 256 and 2 more."
FLAT = "Give it as a flat list."
FORMS = "Give a dict of columns, a data frame or a structured array."
NAME = "must be a name: one line of text, not empty, got"
UNKNOWN = "Leave it out if it is unknown."
TEXT = "Only callpath and machine may be text; leave the column out otherwise."


def refusal(**columns):
    with pytest.raises(ParameterError) as caught:
        Measurements(**({"p": 4, "time": 1.0} | columns))
    return str(caught.value)


def test_nothing_can_be_changed():
    own = np.array(TIME)
    runs = Measurements(p=P, time=own, machine=MACHINE)
    own[0] = 99
    assert runs.time[0] == 8
    for column in runs.columns.values():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[1]
    for mapping in (runs.axes, runs.labels):
        with pytest.raises(TypeError):
            mapping["p"] = own
    with pytest.raises(AttributeError):
        runs.time = own


def test_copies_and_pickles_are_equal_and_as_frozen():
    for again in (copy.deepcopy(RUNS), pickle.loads(pickle.dumps(RUNS))):
        assert again == RUNS
        assert not again.time.flags.writeable


def test_equality_is_that_of_the_columns():
    assert Measurements(repetition=1, n=[100] * 3, machine=MACHINE, time=TIME, p=P) == RUNS
    assert Measurements(p=1, time=1, a=1, b=2) == Measurements(p=1, time=1, b=2, a=1)
    for other in (
        Measurements(p=P, time=TIME, machine=MACHINE, n=100),
        Measurements(p=P, time=TIME, machine="A", n=100, repetition=1),
        Measurements(p=P, time=[8, 4.5, 2], machine=MACHINE, n=100, repetition=1),
        "RUNS",
    ):
        assert other != RUNS
    with pytest.raises(TypeError):
        hash(RUNS)


# tables


@pytest.mark.parametrize(
    "table",
    [
        {"p": P, "time": TIME, "machine": MACHINE},
        pd.DataFrame({"p": P, "time_s": TIME, "machine": MACHINE}),
        pl.DataFrame({"p": P, "time_ms": [8000.0, 4500.0, 2500.0], "machine": MACHINE}),
        np.rec.fromarrays([P, TIME, MACHINE], names="p,time_s,machine"),
        np.array(
            list(zip(P, TIME, MACHINE, strict=True)),
            dtype=[("p", int), ("time_s", float), ("machine", "U1")],
        ),
    ],
    ids=["dict", "pandas", "polars", "record", "structured"],
)
def test_any_table_with_named_columns_is_read(table):
    expected = Measurements(p=P, time=TIME, machine=MACHINE)
    assert Measurements.from_table(table) == expected


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("min", 60), ("h", 3600), ("d", 86400)],
)
def test_the_unit_of_time_stands_in_the_name(unit, seconds):
    for name in (f"time_{unit}", f"time [{unit}]", f"Time ({unit})"):
        table = {"p": [1, 2], name: [3, 5]}
        assert Measurements.from_table(table).time == pytest.approx([3 * seconds, 5 * seconds])


def test_without_pandas_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        RUNS.to_pandas()
    assert str(caught.value) == "to_pandas needs pandas. Install with: pip install pandas"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (
            {"procs": [1], "time": [1]},
            "table must have a column p, got procs, time. Rename the column of processors to p, "
            "or use parcast.read_measurements.",
        ),
        (
            {"p": [1], "n": [1]},
            "table must have one column of times, got p, n. "
            "Call it time_s, or by another unit: s, ms, us, ns, min, h, d.",
        ),
        ([1, 2], f"table must have columns by name, got list. {FORMS}"),
        (np.ones(3), f"table must have columns by name, got ndarray. {FORMS}"),
        ({0: [1], "p": [1]}, "table must name each column once, in text, got 0. Rename it."),
        (
            pd.DataFrame([[1, 2, 3]], columns=["p", "p", "time"]),
            "table must name each column once, in text, got 'p'. Rename it.",
        ),
        (
            pd.DataFrame({"p": [1, 2], "time_s": [1, None]}),
            "time must be a time above 0, got nan. Leave out runs that failed.",
        ),
        (
            {"p": np.array([1, pd.NA], dtype=object), "time_s": [1, 2]},
            "p must be a whole number of at least 1, got <NA>. Count processors from 1.",
        ),
        (
            {"p": 1, "time": 1, "date": "today"},
            f"date must be a finite number, got 'today'. {TEXT}",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_a_remedy(table, says):
    with pytest.raises(ParameterError) as caught:
        Measurements.from_table(table)
    assert str(caught.value) == says


# values and names that are refused


@pytest.mark.parametrize(
    ("bad", "got"),
    [
        (0, "0"),
        ([4, 1.5], "1.5"),
        (np.nan, "nan"),
        ("four", "'four'"),
        ([4, None], "None"),
        (True, "True"),
        (1 + 2j, "(1+2j)"),
        (10**400, "inf"),
        (np.ma.array([4, 8], mask=[False, True]), "a masked value"),
    ],
    ids=repr,
)
def test_p_counts_processors(bad, got):
    says = f"p must be a whole number of at least 1, got {got}. Count processors from 1."
    assert refusal(p=bad) == says


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"n": np.nan}, f"n must be a finite number, got nan. {TEXT}"),
        (
            {"machines": "SP"},
            f"machines must be a finite number, got 'SP'. Did you mean machine? {TEXT}",
        ),
        (
            {"repetition": [0, 1.5]},
            "repetition must be a whole number of at least 0, got 1.5. "
            "Number repetitions 1, 2, 3.",
        ),
        ({"machine": 7}, f"machine {NAME} 7. {UNKNOWN}"),
        ({"callpath": ["main", " "]}, f"callpath {NAME} ' '. {UNKNOWN}"),
        ({"callpath": "\ud800"}, f"callpath {NAME} '\\ud800'. {UNKNOWN}"),
        (
            {"p": [1, 2], "n": [1, 2, 3]},
            "columns must be of one length, got p 2, n 3. Give every row a value in each column.",
        ),
        ({"p": [[1], [2]]}, f"p must be one value, or one for each row, got (2, 1). {FLAT}"),
        (
            {"time": [[1, 2], [3]]},
            f"time must be one value, or one for each row, got rows of different lengths. {FLAT}",
        ),
        ({"speedup": 3}, f"'speedup' {AXIS} what parcast computes. Leave it out."),
        ({"time_s": 3}, f"'time_s' {AXIS} a name for times. Rename it."),
        ({"rep": 3}, f"'rep' {AXIS} a name of the repetition column. Rename it to repetition."),
        ({"Machine": "A"}, f"'Machine' {AXIS} that of another column. Rename it to machine."),
        (
            {"metric": 1},
            f"'metric' {AXIS} half of the pair metric,value. Give both, or rename it.",
        ),
        (
            {" n": 3},
            "' n' must be one line without blanks at its ends. Name it as n or problem_size.",
        ),
    ],
    ids=repr,
)
def test_a_bad_table_cannot_be_built(columns, says):
    assert refusal(**columns) == says


# selection


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            {"machin": "A"},
            "select must name columns of these measurements, got 'machin'. "
            "Did you mean machine? Choose from p, n, machine, repetition, time.",
        ),
        (
            {"machine": "Dibon"},
            "machine must be one of those measured, got 'Dibon'. Did you mean Dibona? "
            "Choose from Dibona, CTE.",
        ),
        ({"p": 64}, f"p must be one of those measured, got 64. {COUNTS}"),
        ({"p": "4"}, f"p must be one of those measured, got '4'. Did you mean 4? {COUNTS}"),
        (
            {"machine": "CTE", "p": 1},
            "select must leave at least one row, got none for machine='CTE', p=1. "
            "Select values that were measured together.",
        ),
    ],
)
def test_a_selection_of_nothing_is_refused(wanted, says):
    runs = Measurements(
        p=[1, 2, 4, 8, 16, 32, 128, 256, 512, 1024],
        time=1,
        n=100,
        repetition=1,
        machine=["Dibona"] * 5 + ["CTE"] * 5,
    )
    with pytest.raises(ParameterError) as caught:
        runs.select(**wanted)
    assert str(caught.value) == says


# what a person sees


def test_html_shows_the_first_rows_escaped_and_uncoloured():
    shown = Measurements(p=range(1, 13), time=0.5, callpath="<b>&main")._repr_html_()
    assert re.sub(r' style="[^"]*"', "", shown).startswith(
        '<table><thead><tr><th scope="col">p</th><th scope="col">callpath</th>'
        '<th scope="col">time [s]</th></tr></thead>'
        "<tbody><tr><td>1</td><td>&lt;b&gt;&amp;main</td><td>0.5</td></tr>"
    )
    assert shown.count("<tr") == 11
    assert shown.endswith("</table><p>and 2 more rows</p>")
    assert "<b>" not in shown
    assert "color" not in shown


def test_a_table_alone_is_taken_as_from_table_takes_it():
    frame = pd.DataFrame({"p": [1, 2], "time_ms": [80.0, 41.5]})
    assert Measurements(frame) == Measurements.from_table(frame)
    assert Measurements({"p": 1, "time": 2, "table": 3}).axes["table"].tolist() == [3]
    with pytest.raises(ParameterError) as caught:
        Measurements(frame, machine="A")
    assert str(caught.value) == (
        "table must be given alone, got machine as well. Put all columns into the table."
    )


@pytest.mark.parametrize("given", [{}, {"p": [1, 2]}, {"time": [8, 4]}])
def test_without_p_and_time_there_are_no_measurements(given):
    with pytest.raises(ParameterError, match=r"must be given\. Measurements need p and time, or "):
        Measurements(**given)


# runs that were stopped


def test_stopped_runs_are_kept_beside_the_others():
    runs = Measurements(p=[1, 2, 1, 2], time=[8, 4, 6, 5], machine=["A", "A", "B", "B"])
    given = runs.with_cut_off(p=[4, 4], time=[9, 7], machine=["A", "B"])
    assert len(given) == 4
    assert given.cut_off == Measurements(p=[4, 4], time=[9, 7], machine=["A", "B"])
    assert repr(given).endswith("time 4 to 8 s; 2 runs cut off)")
    assert given != runs
    assert pickle.loads(pickle.dumps(given)) == given
    assert given.select(machine="B").cut_off == Measurements(p=4, time=7, machine="B")
    assert given.select(p=[1, 2]).cut_off is None
    assert given.without("machine").cut_off == Measurements(p=[4, 4], time=[9, 7])
    assert given.with_columns(n=5).cut_off.axes["n"].tolist() == [5, 5]
    assert given.with_columns(n=[1, 2, 3, 4]).cut_off is None


def test_stopped_runs_have_the_axes_of_the_others():
    with pytest.raises(ParameterError, match=r"^with_cut_off must be given n, p and the time"):
        Measurements(p=[1, 2], time=[8, 4], n=3).with_cut_off(p=4, time=9)
