"""`examples/matching`: the three machines of In et al., ranked as a newcomer would run it."""

import re
from pathlib import Path

import pytest

import parcast

EXAMPLE = Path(__file__).parents[2] / "examples" / "matching"


def test_each_question_has_its_answer(printed):
    assert "choose      T3E at p = 32: 1.18 s" in printed
    assert "choose      T3E at p = 2: 9 s, 3.00 credits" in printed
    assert "none fits   T3E at best (p = 16) takes" in printed


def test_the_projection_holds_what_was_measured_up_to_64(printed):
    found = re.findall(r"^ ?(\d+) +\S+ s +\((\S+) to (\S+)\) +(\S+) s$", printed, re.MULTILINE)
    assert [int(row[0]) for row in found] == [2, 4, 8, 16, 32, 64]
    assert all(float(low) <= float(time) <= float(high) for _, low, high, time in found)


def test_the_picture_is_where_it_says(printed, folder):
    assert f"Picture: {folder / 'matching.png'}" in printed
    assert (folder / "matching.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["t3e", "sp", "o2000"])
def test_every_price_is_said_to_be_invented(name):
    text = (EXAMPLE / f"{name}.toml").read_text(encoding="utf-8")
    assert "invented for this example" in text
    assert "invented" in parcast.read_machine(EXAMPLE / f"{name}.toml").source


def test_the_times_are_those_of_the_other_example():
    other = EXAMPLE.parent / "finite_difference" / "times.csv"
    assert (EXAMPLE / "times.csv").read_text() == other.read_text()
