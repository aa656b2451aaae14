"""The answer for a real study, in every form, kept as files: PARCAST_REWRITE=1 writes them anew.

Numbers in JSON and CSV are compared to six digits, everything else to the letter.
"""

import csv
import io
import json
import os

import pytest

from tests.conftest import ROOT

DATA = ROOT / "tests" / "cli" / "data"
QUESTION = ("forecast", "examples/finite_difference/times.csv", "--hold-out", "64")
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def kept(name, text):
    """Give the file that is kept, or keep this one."""
    if REWRITE:
        (DATA / name).write_text(text, encoding="utf-8")
    return (DATA / name).read_text(encoding="utf-8")


def six_digits(value):
    """Round every number in a document."""
    if isinstance(value, dict):
        return {key: six_digits(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [six_digits(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def near(told, expected):
    """Compare documents, numbers to six digits."""
    if isinstance(expected, dict):
        return told.keys() == expected.keys() and all(near(told[x], expected[x]) for x in told)
    if isinstance(expected, list):
        return len(told) == len(expected) and all(map(near, told, expected))
    if isinstance(expected, float):
        return told == pytest.approx(expected, rel=1e-5)
    return told == expected


@pytest.mark.parametrize("width", [60, 80, None])
def test_the_table(parcast, monkeypatch, width):
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    said = parcast(*QUESTION)
    assert (said.status, said.err) == (0, "")
    assert said.out == kept(f"hold_out_{width or 'pipe'}.txt", said.out)


def test_json(parcast):
    said = parcast(*QUESTION, "--json")
    told = json.loads(said.out)
    told["inputs"].pop("parcast")  # its version changes
    expected = json.loads(kept("hold_out.json", json.dumps(six_digits(told), indent=1) + "\n"))
    assert near(told, expected)
    assert list(told) == list(expected)


def test_csv(parcast):
    told = cells(parcast(*QUESTION, "-o", "-").out)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(six_digits(told))
    assert near(told, cells(kept("hold_out.csv", text.getvalue())))


def cells(text):
    """Split a CSV file into cells, those with a point being numbers."""
    return [[float(x) if "." in x else x for x in row] for row in csv.reader(io.StringIO(text))]
