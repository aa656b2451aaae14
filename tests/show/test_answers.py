"""`parcast.show.answers`: lists of answers, which are lists and show themselves as tables."""

import copy
import pickle

import pytest

import parcast

RUNS = {
    "machine": ["a"] * 4 + ["<b>"] * 4,
    "p": [1, 2, 4, 8] * 2,
    "time": [8.0, 4.6, 2.8, 2.0, 9.0, 5.2, 3.5, 3.0],
}


@pytest.fixture(scope="module", params=["knee", "plan_runs"])
def answers(request):
    return {
        "knee": lambda: parcast.knee(RUNS),
        "plan_runs": lambda: parcast.plan_runs(RUNS, 64, beyond=True),
    }[request.param]()


def test_they_survive_being_copied(answers):
    for again in (pickle.loads(pickle.dumps(answers)), copy.deepcopy(answers)):
        assert type(again) is type(answers)
        assert again == answers


def test_their_table_is_printed_and_shown(answers):
    lines = str(answers).splitlines()
    assert any(line.split()[:1] == ["machine"] for line in lines)
    shown = answers._repr_html_()
    assert "<table>" in shown
    assert "&lt;b&gt;" in shown
    assert ">a</td>" in shown


def test_their_rows_are_a_table_of_pandas(answers):
    pytest.importorskip("pandas")
    frame = answers.to_pandas()
    assert frame["machine"].tolist() == [x.key["machine"] for x in answers]
    assert frame["p"].tolist() == [row["p"] for row in answers.rows()]


def test_none_is_said():
    assert "no further run" in str(parcast.plan_runs(RUNS, 4, upto=1, counts=[1]))
    assert "No series has" in str(type(parcast.knee(RUNS))())
