"""`parcast.load`: the same result again, and documents that are none or of another version."""

import json

import numpy as np
import pytest

import parcast
from parcast.errors import FileProblems
from parcast.saved.call import decoded, encoded
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
RUNS = {"machine": ["a"] * 3 + ["b"] * 3, "p": [1, 2, 4] * 2, "time": [8, 5, 3, 9, 6, 5]}
SIZES = {"p": [1, 2, 4] * 3, "n": [1e3] * 3 + [2e3] * 3 + [4e3] * 3, "time": [8, 5, 3] * 3}
SIZES["time"] = [t * n / 1e3 for t, n in zip(SIZES["time"], SIZES["n"], strict=True)]
PREDICT = (EXAMPLES / "btio" / "program.toml", EXAMPLES / "btio" / "sp2.toml")
MADE = {
    "forecast": lambda: parcast.forecast(RUNS, [8, 16]),
    "held out": lambda: parcast.forecast(RUNS, 8, hold_out=4),
    "donors": lambda: parcast.forecast(
        {"p": [1, 2], "time": [8, 5], "machine": "c"}, 16, donors=RUNS, scaling="weak"
    ),
    "several axes": lambda: parcast.forecast(SIZES, [8, 16], n=[1e3, 8e3]),
    "cut off": lambda: parcast.forecast(
        Measurements(p=[1, 2, 4], time=[8, 5, 3]).with_cut_off(p=8, time=4.0), 16
    ),
    "prediction": lambda: parcast.predict(*PREDICT, p=[4, 16], d=[1, 2]),
    "match": lambda: parcast.match(
        RUNS, goal="cost", prices={"a": 1.0, "b": "2 +- 10%"}, within="2 h"
    ),
    "plan": lambda: parcast.plan(
        {"p": [1, 2, 4, 8], "time": [4000.0, 2050.0, 1080.0, 590.0]},
        within="10 min",
        budget="4 core-h",
        cores_per_node=4,
    ),
    "plan of a program": lambda: parcast.plan(PREDICT[0], [PREDICT[1]], within="2 h", p=[4, 16]),
    "match of a program": lambda: parcast.match(PREDICT[0], [PREDICT[1]], p=[4, 16]),
    "explained times": lambda: parcast.explain(RUNS, p=range(8, 10), what_if="serial/2"),
    "explained program": lambda: parcast.explain(*PREDICT, p=[4, 16], law_error=False),
    "check": lambda: parcast.check([RUNS], against=RUNS, tolerate=0.05),
    "comparison": lambda: parcast.compare(RUNS, RUNS, p=[1, 8]),
    "validation of a program": lambda: parcast.validate_program(
        PREDICT[0], {"p": [4, 16], "d": [1, 2], "time": [300.0, 120.0]}, PREDICT[1]
    ),
    "varied": lambda: parcast.predict(*PREDICT, p=[4], vary={"network.bandwidth": [1e7, 1e8]}),
}


def saved(result, folder):
    path = folder / "result.json"
    result.save(path)
    return path


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_result_is_the_same_again(make, tmp_path):
    result = make()
    again = parcast.load(saved(result, tmp_path))
    assert again == result
    assert again.to_document() == json.loads(json.dumps(result.to_document()))
    assert str(again) == str(result)


def test_results_of_other_numbers_are_not_equal():
    one, other = (parcast.forecast(RUNS, p) for p in (8, 16))
    assert one != other
    assert one != MADE["plan"]()


def test_a_forecast_of_fewer_series_has_those_in_their_order(tmp_path):
    paths = {"p": [1, 2, 4] * 2, "time": [80, 40, 20, 1, 2, 4], "callpath": ["a"] * 3 + ["b"] * 3}
    result = parcast.largest_regions(parcast.forecast(paths, 64), top=1)
    again = parcast.load(saved(result, tmp_path))
    assert [note.label for note in again.notes] == ["b"]
    assert again.time == pytest.approx(result.time)


def test_what_the_command_line_wrote_is_read_with_its_inputs(parcast, tmp_path):
    from parcast import load

    path = tmp_path / "f.json"
    table = str(EXAMPLES / "versions" / "base.csv")
    assert parcast("forecast", table, "-p", "64", "-o", str(path)).status == 0
    assert load(path).inputs["file"] == table
    told = parcast("check", table, "--against", str(path))
    assert told.status == 0
    assert "No regression: 6 counts compared." in told.out


def test_any_other_result_comes_with_its_rows(tmp_path):
    result = parcast.simulate(*PREDICT, p=[1, 2])
    again = parcast.load(saved(result, tmp_path))
    assert isinstance(again, parcast.SavedResult)
    assert again.schema == "parcast/simulation/1"
    assert [row["p"] for row in again.rows()] == [row["p"] for row in result.rows()]
    assert "Saved simulation" in str(again)
    again.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == again.to_document()


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"\x00\x8f\xff", "a file that is not JSON"),
        (b"<!doctype html>", "a file that is not JSON"),
        (b'{"schema": ', "damaged JSON: Expecting value"),
    ],
)
def test_a_file_that_is_no_json_is_no_saved_result(tmp_path, content, got):
    path = tmp_path / "r.html"
    path.write_bytes(content)
    with pytest.raises(FileProblems, match=f"must be a saved result, got {got}"):
        parcast.load(path)


def changed(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


@pytest.mark.fault(
    "Files that are read",
    "A saved result has numbers that this version does not compute.",
    promise="The written ones stand; the first difference is said.",
)
def test_numbers_that_this_version_does_not_compute_stand_as_they_were_written(tmp_path):
    path = saved(MADE["forecast"](), tmp_path)
    changed(path, lambda x: x["rows"][1].update(time_s=99.0))
    with pytest.warns(ImportNote, match="computes other numbers: time_s of row 2 is .*99"):
        again = parcast.load(path)
    assert isinstance(again, parcast.SavedResult)
    assert list(again.rows())[1]["time_s"] == 99.0


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x["call"].update(arguments={}),
        lambda x: x["call"]["arguments"].update(measurements={"runs": {"columns": {"p": [1]}}}),
        lambda x: x["call"]["arguments"].update(measurements={"runs": 3}),
        lambda x: x["call"]["arguments"].update(hold_out=[3]),
        lambda x: x["call"].update(arguments=[1]),
        lambda x: x["series"].clear(),
    ],
)
def test_a_call_that_cannot_be_made_again_leaves_the_numbers(change, tmp_path):
    path = changed(saved(MADE["forecast"](), tmp_path), change)
    with pytest.warns(ImportNote, match="Its numbers are those that were written"):
        assert isinstance(parcast.load(path), parcast.SavedResult)


@pytest.mark.fault(
    "Files that are read",
    "A saved result is of another version, or none.",
    promise="Status 3; both versions are named.",
)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "must be a saved result, got damaged JSON"),
        ("[]", "must be the document of a result of parcast, got no schema"),
        ('{"schema": "other/1"}', "must be the document of a result of parcast, got other/1"),
        ('{"schema": "parcast/match/1", "rows": [1]}', "must have rows"),
        (
            '{"schema": "parcast/forecast/2", "inputs": {"parcast": "9.1"}}',
            "must have the schema parcast/forecast/1, got parcast/forecast/2, written by "
            "parcast 9.1. Make it again with this version.",
        ),
    ],
)
def test_what_is_no_document_of_this_version_is_refused(text, says, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(FileProblems, match=r"1 problem") as caught:
        parcast.load(path)
    assert says in str(caught.value)


def test_documents_without_runs_are_no_table(tmp_path):
    path = saved(MADE["prediction"](), tmp_path)
    with pytest.raises(FileProblems, match="must hold the runs that it was made from"):
        parcast.forecast(path, 64)


def test_arguments_survive():
    runs = Measurements(
        p=[1, 2], time=[8, 5], deviation=[0.1, np.nan], callpath=["a", "b"], memory_B=[np.nan, 1e9]
    )
    text = json.dumps(
        encoded({"runs": runs, "p": np.array([1.0]), "n": [1, None]}), allow_nan=True
    )
    again = decoded(json.loads(text))
    assert (again["runs"], again["p"], again["n"]) == (runs, [1.0], [1, None])


def test_a_list_as_verb_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "told.json"
    call = {"verb": [1], "arguments": {}}
    path.write_text(json.dumps({"schema": "parcast/forecast/1", "rows": [], "call": call}))
    assert list(parcast.load(path).rows()) == []
