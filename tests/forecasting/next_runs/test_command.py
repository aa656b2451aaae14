"""`parcast forecast --at ... --plan-runs ...`: tables, documents and refusals."""

import csv
import io

import pytest

from tests.conftest import ROOT

ROWS = [(p, n, 1 + 0.5 * n / p + 0.1 * p**0.5) for p in (1, 2, 4, 8) for n in (100, 200, 400)]


@pytest.fixture
def sizes(file):
    return file("p,n,time_s\n" + "".join(f"{p},{n},{t}\n" for p, n, t in ROWS), "sizes.csv")


def test_nothing_worth_running_is_said(parcast, sizes):
    said = parcast("forecast", sizes, "-p", "4", "--at", "n=200", "--plan-runs", "1")
    assert said.out.endswith(
        "next runs\nNone: no further run below p = 4 (--upto 4 includes it) whose own time can be "
        "forecast (--beyond allows others) would narrow the interval by 5%.\n"
    )


def table(parcast, *asked):
    said = parcast("forecast", *asked, "-o", "-")
    assert (said.status, said.err) == (0, "")
    return list(csv.DictReader(io.StringIO(said.out)))


def test_csv_of_a_plan_without_a_run_tells_that_by_a_column_without_entries(parcast, sizes):
    rows = table(parcast, sizes, "-p", "4", "--at", "n=200", "--plan-runs", "1")
    assert [row["planned_run"] for row in rows] == [""]


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["-p", "8", "--at", "n="], 2, "--at must be axes and values, got 'n='."),
        (["-p", "8", "--at", "n=4..1"], 2, "--at n must be ranges from the smaller"),
        (["-p", "8", "--at", "n=1", "--at", "n=2"], 2, "--at must name an axis once, got 'n'"),
        (["-p", "8", "--at", "by=1"], 2, "--at by must be an axis of these measurements"),
        (["-p", "8", "--at", "n=1", "--by", "n"], 2, "--at cannot be combined with --by."),
        (["-p", "8", "--at", "n=1", "--target", "SP"], 2, "--at cannot be combined with --ta"),
        (["-p", "8", "--at", "n=1", "--select", "p=1"], 4, "No forecast. All its runs have p = 1"),
    ],
)
def test_wrong_use_is_told_in_one_message(parcast, sizes, options, status, says):
    said = parcast("forecast", sizes, *options)
    assert said.status == status
    assert said.err.startswith(f"parcast: {says}")
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("axis", "more", "status"),
    [("by", (), 2), ("runs", ("--plan-runs", "1"), 2), ("runs", (), 0), ("at", (), 0)],
)
def test_an_axis_with_a_name_of_our_own_is_told_to_be_renamed(parcast, sizes, axis, more, status):
    sizes.write_text(sizes.read_text().replace(",n,", f",{axis},"))
    said = parcast("forecast", sizes, "-p", "16", "--at", f"{axis}=200", *more)
    assert said.status == status
    if status:
        assert f"--at {axis} must have another name, got a word of parcast's own." in said.err


def test_runs_are_planned_for_the_counts_held_out_where_no_others_are_asked_for(parcast):
    options = ["--select", "machine=T3E", "--hold-out", "8,16,32,64", "--plan-runs", "9"]
    told = " ".join(
        parcast("forecast", ROOT / "examples/finite_difference/times.csv", *options).out.split()
    )
    assert "upper / lower end of the interval at p = 64" in told
    assert "up to p = 16 (--upto 64 allows larger ones)" in told
    assert "narrows the intervals at other counts, not the widest one" in told
