"""`parcast forecast`: what it answers, in every form, and the status it ends with."""

import csv
import io
import json
import os
import re

import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements
from tests.conftest import TIMES
from tests.written import written

WEAK = "p,n,time_s\n1,100,80\n2,200,82\n4,400,85\n"


def document(said):
    """Read the JSON that was printed, as strictly as another language would."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(said.out, parse_constant=refuse)


def rows(said):
    return list(csv.DictReader(io.StringIO(said.out)))


# what is answered


def test_the_answer_is_that_of_the_function(parcast, times):
    told = forecast(Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0]), [16, 32])
    said = parcast("forecast", times, "-p", "16,32", "--json")
    assert said.status == 0
    assert said.err == ""
    answered = document(said)
    assert answered["rows"] == written(list(told.rows()))
    del answered["inputs"]
    expected = written(told.to_document())
    del expected["inputs"]
    assert answered == expected


@pytest.mark.parametrize(
    "text",
    [
        TIMES.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + TIMES.encode(),
        TIMES.replace(",", " , ").encode(),
    ],
    ids=["CR LF", "byte order mark", "blanks"],
)
def test_a_file_of_another_system_gives_the_same_answer(parcast, times, text):
    same = rows(parcast("forecast", times, "-p", "16", "-o", "-"))
    assert rows(parcast("forecast", "-", "-p", "16", "-o", "-", stdin=text)) == same


def test_columns_that_follow_p_are_left_out_of_by(parcast):
    said = parcast("forecast", "-", "-p", "8", "--by", "", "--json", stdin=WEAK)
    assert said.status == 0
    assert document(said)["series"][0]["scaling"] == "weak"
    assert document(said)["inputs"]["options"]["by"] == []


# where it goes


def test_a_file_holds_what_is_printed(parcast, times, tmp_path):
    printed = parcast("forecast", times, "-p", "16", "--json", "-o", tmp_path / "out.json").out
    assert (tmp_path / "out.json").read_text() == printed
    printed = parcast("forecast", times, "-p", "16", "-o", "-", "-o", tmp_path / "out.csv").out
    assert (tmp_path / "out.csv").read_text() == printed


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            "out.xls",
            "-o must be a path that ends in .csv, .json, .html, .md, .tex, .svg, .png, .pdf, "
            "got 'out.xls'.",
        ),
        ("folder.csv", "-o folder.csv must be a file, got a folder. Name a file in it."),
        ("kept.csv", "-o kept.csv must be a file that may be written, got a read-only one."),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_file_is_read(
    parcast, times, monkeypatch, output, says
):
    monkeypatch.chdir(times.parent)
    times.with_name("folder.csv").mkdir()
    times.with_name("kept.csv").write_text("kept")
    times.with_name("kept.csv").chmod(0o444)
    times.write_text("nonsense")
    said = parcast("forecast", times.name, "-p", "16", "-o", output)
    assert said.status == 2
    assert said.err.startswith(f"parcast: {says}")
    assert said.out == ""
    assert sorted(os.listdir()) == ["folder.csv", "kept.csv", "times.csv"]
    assert times.with_name("kept.csv").read_text() == "kept"


def test_a_figure_without_matplotlib_names_the_extra(parcast, times, tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.cli.outputs.find_spec", lambda _: None)
    said = parcast("forecast", times, "-p", "16", "-o", tmp_path / "out.png")
    assert said.status == 2
    assert said.err == (
        'parcast: Figures need matplotlib. Install with: pip install "parcast[plot]"\n'
    )


# pictures


def test_series_share_a_panel_or_have_one_each(parcast, machines, tmp_path):
    path = tmp_path / "out.svg"
    for options, panels in (((), 1), (("--overlay",), 1), (("--panels",), 2)):
        assert parcast("forecast", machines, "-p", "16", *options, "-o", path).status == 0
        assert path.read_text().count('class="axes"') == panels


@pytest.mark.parametrize("option", [("--quantity", "speedup"), ("--overlay",), ("--panels",)])
def test_options_of_a_picture_require_one(parcast, times, option):
    said = parcast("forecast", times, "-p", "16", *option)
    assert said.status == 2
    assert "--quantity, --overlay and --panels require a picture." in said.err


# the knee


def test_the_knees_of_many_series_are_thinned_out(parcast):
    table = "callpath,p,time_s\n" + "".join(
        f"f{i},{p},{1 + 3 * (i + 1) / p}\n" for i in range(40) for p in (1, 2, 4, 8)
    )
    said = parcast("forecast", "-", "--knee", "--json", stdin=table)
    answered = document(said)
    counts = {row["p"] for row in answered["rows"]}
    knees = {knee["p"] for knee in answered["knee"]}
    assert len(knees) > len(counts) == 12
    assert {min(knees), max(knees)} < counts < knees


def test_the_knee_is_not_told_what_is_held_out(parcast, times):
    kept = parcast("forecast", times, "--hold-out", "8", "--knee", "--json")
    same = parcast("forecast", times, "--knee", "--json", "--select", "p=1,2", "--select", "p=4")
    assert document(kept)["knee"] == document(same)["knee"]


# many series


MANY = "callpath,p,time_s\n" + "".join(
    f"f{i},{p},{(i + 1) / p}\n" for i in range(25) for p in (1, 2, 4)
)


def test_of_many_series_the_slowest_are_shown(parcast):
    said = parcast("forecast", "-", "-p", "8,16", stdin=MANY)
    names = [line.split()[0] for line in said.out.splitlines()[2:42:2]]
    assert names == [f"f{i}" for i in range(24, 4, -1)]
    assert said.err == (
        "parcast: 5 more series are not shown; these 20 take longest. "
        "All of them: --all, --json or -o all.csv.\n"
    )


def test_series_without_an_answer_are_listed(parcast):
    lonely = TIMES.replace("p,", "machine,p,").replace("\n", "\nT3E,").removesuffix("T3E,")
    lonely += "".join(f"m{i},4,1.0\n" for i in range(8))
    said = parcast("forecast", "-", "-p", "16", stdin=lonely)
    assert said.status == 0
    why = "No forecast. All times are at p = 4"
    assert said.out.count(why) == 1
    assert f"warning:    m0 and 7 more series: {why}" in said.out
    said = parcast("forecast", "-", "-p", "16", "-v", stdin=lonely)
    assert said.out.count(f"warning:    {why}") == 8


# wrong use


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("-p", "4", "--scaling", "stong"),
            "--scaling must be auto, strong or weak, got 'stong'. Did",
        ),
        (("-p",), "-p must have a value, got none. Write -p LIST."),
        (("--json=3",), "--json takes no value. Write --json alone."),
        (("-n", "1", "--at", "n=2"), "-n cannot be combined with --at n=... Leave one out."),
        (("-n", "1"), "-n requires a column n (problem size) in "),
        (("-np", "64"), "-np is not an option of parcast forecast. Did you mean -p LIST?"),
        (("--nodes", "64"), "--nodes is not an option of parcast forecast. Did you mean -p LIST?"),
        (("--plot", "a.svg"), "--plot is not an option of parcast forecast. Did you mean -o FILE"),
        (("--within", "3s"), "--within is not an option of parcast forecast.\n"),
        (("--knee", "50"), "--knee must be an efficiency above 0% and up to 100%, got '50'."),
        (
            ("--quantity", "speed-up"),
            "--quantity must be time, rate, speedup or efficiency, got "
            "'speed-up'. Did you mean speedup?",
        ),
        (("-n", "-1"), "-n must be numbers and ranges such as 64,128 or 64..1024x2, got '-1'."),
        (("--column", "p"), "--column must be a name and the name in the file, got 'p'."),
        (
            ("--column", "p=a", "--column", "p=b"),
            "--column must name a column once, got 'p' twice.",
        ),
        (("--column", "p=procs"), "--column must name columns of "),
    ],
)
def test_wrong_use_is_named_with_a_remedy_and_status_2(parcast, times, options, says):
    said = parcast("forecast", times, *options)
    assert said.status == 2
    assert said.err.startswith(f"parcast: {says}")
    assert "Traceback" not in said.err
    assert said.out == ""


def test_a_file_alone_is_forecast_for_the_next_two_doublings(parcast, times):
    said = parcast("forecast", times, "--json")
    assert said.status == 0
    assert said.err == (
        "parcast: no -p given: p = 16 and 32, the next two doublings of the largest measured "
        "count.\n"
    )
    assert [row["p"] for row in document(said)["rows"]] == [16, 32]
    assert document(said)["inputs"]["options"]["p"] is None
    assert parcast("forecast", times, "--hold-out", "8").err == ""


def test_the_default_is_that_of_the_machine_that_is_forecast(parcast, file):
    path = file("machine,p,time_s\nA,1,9\nA,2,5\nB,1,9\nB,2,5\nB,4,3\nB,8,2\n", "runs.csv")
    said = parcast("forecast", path, "--target", "A", "--json")
    assert [row["p"] for row in document(said)["rows"]] == [4, 8]


SIZES = "p,n,time_s\n" + "".join(f"{p},{n},{n / p + 1}\n" for n in (1e2, 2e2) for p in (1, 2, 4))


def test_sizes_are_values_of_the_axis_n(parcast):
    short = parcast("forecast", "-", "-p", "8", "-n", "4e2,800", "--json", stdin=SIZES)
    long = parcast("forecast", "-", "-p", "8", "--at", "n=400,800", "--json", stdin=SIZES)
    assert (short.status, short.out) == (0, long.out)
    assert document(short)["inputs"]["options"]["at"] == {"n": [400.0, 800.0]}
    said = parcast("forecast", "-", "-n", "400", "--knee", stdin=SIZES)
    assert said.err.startswith("parcast: -n cannot be combined with --knee. Leave one out.")


def test_a_value_with_a_comma_is_selected_as_it_is(parcast):
    table = 'callpath,p,time_s\n"a,b",1,8\n"a,b",2,4\na,1,9\na,2,5\n'
    said = parcast("forecast", "-", "-p", "4", "--select", "callpath=a,b", "-o", "-", stdin=table)
    assert [row["callpath"] for row in rows(said)] == ["a,b"]


def test_values_that_were_not_measured_together_leave_no_row(parcast):
    table = "machine,p,time_s\nA,1,9\nA,2,5\nB,4,3\n"
    said = parcast(
        *("forecast", "-", "-p", "8", "--select", "machine=A", "--select", "p=4"), stdin=table
    )
    assert said.status == 2
    assert said.err.startswith(
        "parcast: --select machine=A --select p=4: no row of standard input has all of these"
    )


# columns with other names


def test_columns_are_called_as_the_options_say(parcast):
    other = TIMES.replace("p,time_s", "nodes,seconds")
    called = ("--column", "p=nodes", "--column", "time_s=seconds")
    said = parcast("forecast", "-", "-p", "16", *called, "--json", stdin=other)
    assert said.status == 0
    same = parcast("forecast", "-", "-p", "16", "--json", stdin=TIMES)
    assert document(said)["rows"] == document(same)["rows"]
    assert document(said)["inputs"]["options"]["column"] == ["p=nodes", "time_s=seconds"]
    assert "column" not in document(same)["inputs"]["options"]


def test_columns_with_usual_names_are_taken_and_named(parcast):
    said = parcast("forecast", "-", "-p", "16", stdin=TIMES.replace("p,time_s", "nodes,seconds"))
    assert said.status == 0
    assert said.err == "parcast: standard input: p is nodes; the time is seconds, in s.\n"


def test_a_refusal_does_not_say_which_counts_would_be_forecast(parcast, times):
    said = parcast("forecast", times, "--by", "system")
    assert said.status == 2
    assert said.err.startswith("parcast: --by must name columns")


def test_a_column_that_is_not_there_is_told_with_the_nearest(parcast, times):
    said = parcast("forecast", times, "--column", "time_s=tim_s")
    assert (said.status, said.out) == (2, "")
    assert said.err == (
        f"parcast: --column must name columns of {times}, got 'tim_s'. Did you mean time_s? "
        "There are p, time_s.\n"
    )


# bad files


def test_two_counts_of_which_one_is_held_out_end_with_status_4(parcast):
    said = parcast("forecast", "-", "--hold-out", "2", stdin="p,time_s\n1,2\n2,1\n")
    assert said.status == 4


def test_lists_of_counts_may_be_repeated(parcast, file):
    times = file("p,time_s\n1,9\n2,5\n4,3\n", "runs.csv")
    one, both = (
        json.loads(parcast("forecast", times, *counts, "--json").out)["rows"]
        for counts in (["-p", "128,256"], ["-p", "128", "-p", "256"])
    )
    assert one == both
    assert [row["p"] for row in both] == [128, 256]


@pytest.mark.parametrize(
    ("titles", "asked", "says"),
    [
        ("machine,p,time_s", ["--target", "C"], "--target must be a machine of t.csv, got 'C'"),
        ("nodes,cores,time_s", [], "could all be. Choose one: --column p=nodes or --column p="),
        ("nodes,cores,time_s", ["--column", "p=a"], "--column must name columns of t.csv"),
        ("nodes,p,time_s", ["--knee", ""], "got ''. Write for example 50% or 0.5."),
        ("nodes,p,time_s", ["--top", "3"], "--top must be asked of series by callpath, got"),
    ],
)
def test_what_a_table_cannot_answer_is_refused_in_options(parcast, tmp_path, titles, asked, says):
    path = tmp_path / "t.csv"
    path.write_text(f"{titles}\n1,1,100\n1,2,52\n2,4,28\n2,8,16\n")
    said = parcast("forecast", path, *asked, "-p", "16")
    assert said.status == (2 if asked else 3)
    assert says in said.err.replace(f"{tmp_path}/", "")


def test_an_option_without_its_value_may_stand_before_the_file(parcast, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p,time_s\n1,100\n2,52\n4,28\n8,16\n")
    before, after = parcast("forecast", "--knee", path), parcast("forecast", path, "--knee")
    assert (before.status, before.out) == (0, after.out)
    assert "below 50%" in before.out
    assert "below 70%" in parcast("forecast", "--knee", "70%", path).out


OF_SIZES = "n,time_s\n1000,1.0\n2000,2.1\n4000,4.3\n8000,8.8\n16000,18.1\n"


def test_a_table_without_p_is_forecast_along_another_column(parcast, file, tmp_path):
    table = file(OF_SIZES, "sizes.csv")
    said = parcast("forecast", table, "--along", "n", "-o", tmp_path / "n.svg")
    assert said.status == 0, said.err
    assert "n = 32000 and 64000, the next two doublings of the largest measured" in said.err
    assert "speedup" not in said.out
    assert not re.search(r"\bp\b", said.out)
    assert "forecast from runs at other n" in (tmp_path / "n.svg").read_text()
    found = document(parcast("forecast", table, "--along", "n", "-n", "32000", "--json"))
    same = file(OF_SIZES.replace("\n", "\n1,").replace("n,t", "p,n,t", 1).rstrip("1,"), "p.csv")
    as_one = document(parcast("forecast", same, "-p", "1", "-n", "32000", "--json"))
    assert found["rows"] == as_one["rows"]
    assert found["inputs"]["options"]["along"] == "n"
    refused = parcast("forecast", same, "--along", "n")
    assert "without p. Leave out the column, or --along." in refused.err


def test_several_tables_without_p_are_forecast_along_their_column_or_names(parcast, tmp_path):
    one, two = OF_SIZES.splitlines()[1:3], OF_SIZES.splitlines()[3:]
    for name, rows in (("one", one), ("two", two)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["n,time_s", *rows]))
    whole = tmp_path / "all.csv"
    whole.write_text(OF_SIZES)
    asked = ("--along", "n", "--json")
    rows = document(parcast("forecast", whole, *asked))["rows"]
    parts = (tmp_path / "one.csv", tmp_path / "two.csv")
    assert document(parcast("forecast", *parts, *asked))["rows"] == rows
    paths = []
    for row in (*one, *two):
        n, time = row.split(",")
        paths.append(tmp_path / f"size_{n}.csv")
        paths[-1].write_text(f"time_s\n{time}\n")
    said = parcast("forecast", *paths, *asked)
    assert document(said)["rows"] == rows
    assert "n is taken from the names of the files: 1000 of size_1000.csv" in said.err


@pytest.mark.parametrize(
    ("table", "args", "refused"),
    [
        (OF_SIZES, ["--along", "m"], (2, "--along must be a column of numbers besides the time")),
        (OF_SIZES, ["--along", "n", "-p", "4"], (2, "--along cannot be combined with -p")),
        (OF_SIZES, ["--along", "n", "--knee"], (2, "--along cannot be combined with --knee")),
        (
            "p,n,time_s\n1,2,3\n1,4,5\n",
            ["--along", "n"],
            (3, "must not be a column of a table that is read without p. Leave out"),
        ),
        ("n,time_s\n1,2\n", ["--along", "n"], (4, "n = 2 cannot be forecast")),
        ("n,time_s\n-2,2\n-1,2\n0,3\n", ["--along", "n"], (2, "Add --at n=VALUES")),
    ],
)
def test_what_cannot_be_forecast_along_is_refused(parcast, file, table, args, refused):
    said = parcast("forecast", file(table, "t.csv"), *args)
    assert said.status == refused[0]
    assert refused[1] in said.err
