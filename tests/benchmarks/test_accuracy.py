"""`benchmarks/accuracy.py` as a person runs it: the table, or one message and a status."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def accuracy(*files):
    program = [sys.executable, ROOT / "benchmarks" / "accuracy.py", *files]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_a_file_is_scored():
    said = accuracy(ROOT / "examples" / "finite_difference" / "times.csv")
    assert (said.returncode, said.stderr) == (0, "")
    assert [line.split()[0] for line in said.stdout.splitlines()][:2] == ["method", "parcast"]


def test_two_doublings_of_rates_are_scored_beside_rules_of_thumb(file):
    path = file("p,time_s\n1,64\n2,64\n4,32\n8,16\n", "training.csv")
    said = accuracy(path, "--rates")
    assert (said.returncode, said.stderr) == (0, "")
    error = {line[:28].strip(): line[28:].split()[0] for line in said.stdout.splitlines()}
    assert error["constant efficiency"] == "0.0%"
    assert error["constant marginal efficiency"] == "200.0%"


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("p,time_s\n1,fast\n", 3, "1 problem\n  line 2  time_s  must be a time above 0, got"),
        (None, 3, "must exist, but is not in"),
        ("p,time_s\n1,8\n2,5\n4,3\n", 4, "parcast: Nothing to score: no series has 4 counts."),
    ],
)
def test_what_cannot_be_scored_is_told_in_one_message(tmp_path, text, status, says):
    path = tmp_path / "times.csv"
    if text is not None:
        path.write_text(text)
    said = accuracy(path)
    assert said.returncode == status
    assert says in said.stderr
    assert said.stderr.startswith("parcast: ")
    assert "Traceback" not in said.stderr
    assert said.stdout == ""
