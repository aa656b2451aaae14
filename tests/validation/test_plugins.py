"""Subjects of other packages: commands of `parcast validate`, and named where they are wrong."""

import doctest
import json

import pytest

from parcast.errors import ParameterError
from parcast.validation.plugins import OwnSubject
from tests.conftest import ROOT
from tests.installed import installed

HOW_TO = ROOT / "docs" / "howto" / "add-a-subject.md"


ENTRIES = "[parcast.validation]\ncopies = parcast_copies:SUBJECT\nsort = parcast_copies:SUBJECT\n"


@pytest.mark.filterwarnings("always::parcast.places.PluginWarning")
def test_the_example_of_the_how_to_is_a_command(parcast, monkeypatch, tmp_path):
    page = HOW_TO.read_text(encoding="utf-8")
    installed(
        tmp_path, monkeypatch, ENTRIES, "copies", parcast_copies=doctest.script_from_examples(page)
    )
    said = parcast("validate", "copies", "--most", "5000", "--json")
    assert said.status == 0, said.err
    assert [row["n"] for row in json.loads(said.out)["rows"]] == [1000, 5000]
    assert 'plugin "sort" of parcast-copies in parcast.validation is ignored' in said.err
    assert "copies       Copies of files." in parcast("validate").out
    refused = parcast("validate", "copies", "--most", "many")
    assert (refused.status, "--most must be a" in refused.err) == (2, True)


def refuses(**_):
    """Give a subject whose option is found to be wrong when it is calibrated."""
    raise ParameterError("most", must="be less")


@pytest.mark.parametrize(
    ("subject", "status", "says"),
    [
        (lambda: None, 70, "subject must have name, title, law, "),
        (lambda: 1 / 0, 70, "ZeroDivisionError"),
        (refuses, 2, "--most must be less"),
    ],
)
def test_a_broken_subject_is_named(parcast, monkeypatch, subject, status, says):
    own = OwnSubject(summary="Copies.", subject=subject, options={"most": ""})
    monkeypatch.setattr("parcast.cli.plugged.plugins", lambda *_, **__: {"copies": own})
    said = parcast("validate", "copies")
    assert said.status == status
    assert says in said.err
