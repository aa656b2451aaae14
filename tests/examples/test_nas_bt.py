"""`examples/nas_bt`: what `make demo` runs, the first that a newcomer sees."""

import json
import re
from pathlib import Path

import pytest

from parcast import read_measurements

EXAMPLE = Path(__file__).parents[2] / "examples" / "nas_bt"
ROW = re.compile(
    r"^ +(\d+) +(\S+) s +(\S+) to (\S+) s +(\S+) s +([+-][^ %]+)%(  outside.*)?$", re.M
)


@pytest.fixture(scope="module")
def scenes(printed):
    """Rows of the three scenes: p, forecast, lower, upper, actual, error, and whether inside."""
    texts = re.split(r"^\d\. ", printed, flags=re.M)[1:]
    assert len(texts) == 3
    return [
        [([float(x) for x in row[:6]], not row[6]) for row in ROW.findall(text)] for text in texts
    ]


def test_it_fits_on_two_screens(printed):
    assert len(printed.splitlines()) <= 2 * 26
    assert max(map(len, printed.splitlines())) <= 80


def test_intervals_of_a_new_machine_and_of_one_curve_contain_the_actual_times(scenes):
    moved, grown, _ = scenes
    assert [row[0] for row, _ in moved] == [1, 9, 16, 25, 36, 49, 64, 100, 144]
    assert [row[0] for row, _ in grown] == [49, 64, 100, 144]
    for (_, _, lower, upper, actual, error), inside in moved + grown:
        assert inside
        assert lower <= actual <= upper
        assert abs(error) <= 15


def test_the_hard_case_is_missed_until_a_run_as_recommended_is_added(scenes, printed):
    rows = scenes[2]
    missed, repaired = rows[:4], rows[4:]
    assert [inside for _, inside in missed] == [True, False, False, False]
    assert [inside for _, inside in repaired] == [True, True, True]
    assert [row[0] for row, _ in repaired] == [36, 64, 100]
    assert "--plan-runs recommends to run p = 50 next." in printed


def test_every_row_is_that_of_the_command_below_it(parcast, printed):
    blocks = re.findall(r"((?:^ +\d+ .*\n)+) +\$ parcast forecast .*\\\n +(.*)", printed, re.M)
    assert len(blocks) == 4
    for block, options in blocks:
        told = parcast("forecast", EXAMPLE / "times.csv", *options.split(), "--json")
        answered = json.loads(told.out)["rows"]
        rows = ROW.findall(block)
        assert [row["p"] for row in answered] == [int(row[0]) for row in rows]
        for row, (_, time, *_) in zip(answered, rows, strict=True):
            assert row["time_s"] == pytest.approx(float(time), rel=0.05)


def test_the_picture_is_where_it_says(printed, folder):
    assert f"Picture: {folder / 'forecast.png'}\n" in printed
    assert (folder / "forecast.png").stat().st_size > 20_000


def test_the_data_name_their_source_and_three_clusters():
    text = (EXAMPLE / "times.csv").read_text(encoding="utf-8")
    assert "SimGrid/SMPI" in text
    runs = read_measurements(EXAMPLE / "times.csv")
    assert set(runs.labels["machine"]) == {"crossbar", "mesh", "sp2"}
