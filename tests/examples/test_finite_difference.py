"""`examples/finite_difference`: the first code a newcomer runs, as they run it."""

import subprocess
import sys
from pathlib import Path

import pytest

import parcast

EXAMPLE = Path(__file__).parents[2] / "examples" / "finite_difference"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def printed(folder):
    command = [sys.executable, "-W", "error", EXAMPLE / "demo.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert not done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def told():
    return parcast.forecast(parcast.read_measurements(EXAMPLE / "times.csv"), hold_out=[64])


def test_each_machine_has_a_line_with_what_was_measured_there(printed):
    measured = {"T3E": "3.08 s", "SP": "50.9 s", "O2000": "34.2 s"}
    table = printed.partition("\n\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line.split()[0] for line in table] == list(measured)
    for line, time in zip(table, measured.values(), strict=True):
        assert time in line


def test_a_line_says_whether_the_interval_holds(printed, told):
    table = printed.partition("\n\n")[2].partition("\n\n")[0].splitlines()[1:]
    for line, row in zip(table, told.rows(), strict=True):
        held = row["lower_s"] <= row["measured_s"] <= row["upper_s"]
        assert line.split()[-1] == ("yes" if held else "no")


def test_the_doubts_of_the_forecast_are_printed_in_its_own_words(printed, told):
    assert any(warning.startswith("T3E: The 90 % interval") for warning in told.warnings)
    for warning in told.warnings:
        assert f"- {warning}\n" in printed


def test_the_figures_are_where_it_says_they_are(printed, folder):
    for name in ("forecast.svg", "forecast.png"):
        assert f"  {folder / name}\n" in printed
        assert (folder / name).stat().st_size > 10_000


def test_the_figure_shows_every_machine_and_what_was_held_out(printed, folder):
    assert printed
    drawn = (folder / "forecast.svg").read_text(encoding="utf-8")
    for text in ("T3E", "SP", "O2000", "measured, held out", "Time on 64 processors"):
        assert text in drawn
