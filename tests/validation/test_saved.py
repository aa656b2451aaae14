"""A validation that was saved and is loaded again: it has the picture that it had."""

import json

import pytest

import parcast
from parcast.errors import ParameterError
from parcast.show.pictures.canvas import svg_of
from tests.pipeline.trials.made import Engine


@pytest.fixture(scope="module")
def validation():
    few = {"cores": 16, "seed": 1, "layouts": [(4, 1)], "sizes": [64]}
    return parcast.validate_pipeline(launcher=Engine(), **few)


@pytest.fixture
def saved(validation, tmp_path):
    validation.save(tmp_path / "saved.json")
    return tmp_path / "saved.json"


def test_its_picture_is_the_one_that_it_had(validation, saved, tmp_path):
    again = parcast.load(saved)
    assert isinstance(again, parcast.SavedResult)
    assert svg_of(again._drawn) == svg_of(validation._drawn)
    parcast.report([again], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Predicted before the runs, and measured" in page


def test_many_columns_are_tables_that_a_page_has_room_for(saved):
    titles = [
        [x.title for x in table.forms[0].columns]
        for table in parcast.load(saved).to_sheet().tables
    ]
    assert len(titles) > 1
    assert {tuple(x[:1]) for x in titles} == {("schedule",)}
    assert max(map(len, titles)) <= 8


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.pop("schedules"),
        lambda x: x["schedules"].append(3),
        lambda x: x["schedules"][0].update(answer="perhaps"),
        lambda x: x["rows"][0].update(lower_s="soon"),
        lambda x: x["rows"][0].update(predicted_s=0),
        lambda x: x["rows"][0].pop("kind"),
    ],
)
def test_where_its_document_lacks_a_case_the_rows_are_shown_alone(change, saved, tmp_path):
    document = json.loads(saved.read_text())
    change(document)
    saved.write_text(json.dumps(document))
    again = parcast.load(saved)
    with pytest.raises(ParameterError, match="must have the subjects and cases of a validation"):
        again.plot()
    parcast.report([again], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<table>" in page
    assert "<figure>" not in page
