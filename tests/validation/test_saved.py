"""A validation that was saved and is loaded again: it is what it was, with its picture."""

import json
from tempfile import TemporaryDirectory

import pytest

import parcast
from parcast.arrays.subject import validate_array_io
from parcast.arrays.trials.request import ArrayRequest
from parcast.errors import ParameterError
from parcast.saved.load import first_difference
from parcast.saved.result import SavedResult
from parcast.show.pictures.canvas import svg_of
from parcast.timings.notes import ImportNote
from tests.arrays.trials.made import KnownCosts
from tests.arrays.trials.made import Machine as KnownMachine
from tests.pipeline.trials.made import Engine


def of_pipeline():
    few = {"cores": 16, "seed": 1, "layouts": [(4, 1)], "sizes": [64]}
    return parcast.validate_pipeline(launcher=Engine(), **few)


def of_array_io():
    request = ArrayRequest(shape=(64, 64), client_mesh=(2, 1), servers=1)
    machine = {"costs": KnownCosts(), "launcher": KnownMachine()}
    with TemporaryDirectory() as folder:
        return validate_array_io([request], folder=folder, **machine)


@pytest.fixture(scope="module", params=[of_pipeline, of_array_io])
def validation(request):
    return request.param()


@pytest.fixture
def saved(validation, tmp_path):
    validation.save(tmp_path / "saved.json")
    return tmp_path / "saved.json"


def test_it_is_what_it_was(validation, saved, tmp_path):
    again = parcast.load(saved)
    assert type(again) is type(validation)
    assert svg_of(again._drawn) == svg_of(validation._drawn)
    for name in ("comparisons", "runs"):
        one, other = ([*getattr(x, name)()] for x in (again, validation))
        assert first_difference(one, other) == ""
    one, other = (json.loads(json.dumps(x.to_document())) for x in (again, validation))
    assert one.keys() == other.keys()
    assert [[*x] for x in one["predictions"]] == [[*x] for x in other["predictions"]]
    parcast.report([again], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Predicted before the runs, and measured" in page
    assert validation.parts[0].agreement in page


def test_its_runs_are_no_table_of_measurements(saved):
    with pytest.raises(ParameterError, match="has no table of measurements"):
        next(parcast.load(saved).measurement_rows())


def test_many_columns_are_tables_that_a_page_has_room_for(validation):
    told = SavedResult(document=validation.to_document()).to_sheet()
    titles = [[x.title for x in table.forms[0].columns] for table in told.tables]
    assert len(titles) > 1
    assert max(map(len, titles)) <= 8


@pytest.mark.parametrize(
    "change",
    [
        lambda x, name: x.pop(f"{name}s"),
        lambda x, name: x[f"{name}s"].append(3),
        lambda x, _: x.pop("runs"),
        lambda x, _: x["call"]["arguments"].pop("parts"),
        lambda x, _: x["call"]["arguments"]["parts"].update(comparisons=[]),
        lambda x, _: x["rows"][0].update(lower_s="soon"),
        lambda x, _: x["rows"][0].update(predicted_s=0),
    ],
)
def test_where_its_document_was_changed_the_rows_are_shown_alone(
    change, validation, saved, tmp_path
):
    document = json.loads(saved.read_text())
    change(document, validation.names[1])
    saved.write_text(json.dumps(document))
    with pytest.warns(ImportNote, match="Its numbers are those that were written"):
        again = parcast.load(saved)
    assert isinstance(again, SavedResult)
    parcast.report([again], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<table>" in page
    assert "<figure>" not in page
