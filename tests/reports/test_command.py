"""`parcast report` and `parcast.report`: one page of several answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import parcast as package
from parcast.errors import ParameterError
from tests.conftest import ROOT, TIMES

BTIO = ROOT / "examples" / "btio"
PROGRAM, MACHINE = BTIO / "program.toml", BTIO / "sp2.toml"


def titles(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text(TIMES)
    return path


@pytest.fixture
def there(table, monkeypatch):
    monkeypatch.chdir(table.parent)


def test_a_table_and_descriptions_become_one_page(parcast, table, tmp_path):
    page = tmp_path / "report.html"
    said = parcast("report", table, PROGRAM, MACHINE, "-p", "16,64", "-o", page)
    assert said.status == 0, said.err
    assert said.err.startswith(f"parcast: wrote {page}: 4 answers: Forecast of times.csv; ")
    text = page.read_text(encoding="utf-8")
    assert len(titles(text)) == 5
    assert titles(text)[-1] == "Sources"
    assert text.count("<figure>") == 4
    assert "IBM SP-2" in text


def test_two_versions_are_compared_first(parcast, table, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(TIMES.replace("8,16", "8,30"))
    page = tmp_path / "report.html"
    said = parcast("report", table, new, "-o", page, "--title", "Release 2")
    assert said.status == 0, said.err
    text = page.read_text(encoding="utf-8")
    assert "<title>Release 2 - parcast</title>" in text
    assert "p = 8" in titles(text)[0]
    assert titles(text)[1:3:1][0] == "Forecast of times.csv"


def test_files_that_are_the_same_are_used_once(parcast, table, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_text(TIMES)
    once = " It is used once."
    said = parcast("report", table, copy, table, "-o", tmp_path / "report.md")
    assert f"{copy} is the same as {table}.{once}" in said.err
    assert f"{table} is given twice.{once}" in said.err
    assert said.err.count("Forecast of") == 1
    said = parcast("forecast", table, copy)
    assert f"{copy} is the same as {table}.{once}" in said.err
    assert said.out == parcast("forecast", table).out
    for words in (["compare", table, copy], ["check", copy, "--against", table]):
        assert "is the same as" in parcast(*words).out


def test_several_tables_are_not_compared_and_that_is_said(parcast, table, tmp_path):
    others = [tmp_path / f"{i}.csv" for i in range(2)]
    for i, other in enumerate(others):
        other.write_text(TIMES.replace("8,16", f"8,1{i}"))
    said = parcast("report", table, *others, "-o", tmp_path / "report.md")
    assert (
        "3 tables and results are not compared with each other: parcast compare BASE NEW"
        in said.err
    )


def test_saved_results_are_part_of_a_page(parcast, table, tmp_path):
    parcast("forecast", table, "-p", "16", "-o", tmp_path / "a.json")
    parcast("explain", table, "-o", tmp_path / "b.json")
    page = tmp_path / "report.html"
    said = parcast("report", tmp_path / "a.json", tmp_path / "b.json", "-o", page)
    assert said.status == 0, said.err
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure>") == 2
    assert "Serial fraction (Karp-Flatt)" in text


def test_profiles_of_regions_are_explained(parcast, tmp_path):
    page = tmp_path / "report.html"
    said = parcast("report", ROOT / "examples/stencil/runs.jsonl", "-o", page)
    assert said.status == 0, said.err
    assert "<figure>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [[], ["--picture", "map", "-d", "1,2"]])
def test_a_prediction_is_drawn_without_matplotlib(tmp_path, options):
    code = "import sys; sys.modules['matplotlib'] = None; from parcast.cli import main; main()"
    asked = [PROGRAM, MACHINE, "-p", "4,16", *options, "-o", tmp_path / "a.html"]
    command = [sys.executable, "-c", code, "predict", *map(str, asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "</svg>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_an_amount_that_one_of_two_machines_has_is_set_there(parcast, tmp_path):
    text = MACHINE.read_text(encoding="utf-8").replace('saturation = "120 MB/s"', "")
    (tmp_path / "plain.toml").write_text(text, encoding="utf-8")
    asked = ["report", PROGRAM, tmp_path / "plain.toml", MACHINE, "-p", "64"]
    page = tmp_path / "report.md"
    said = parcast(*asked, "--set", "network.saturation=1 GB/s", "-o", page)
    assert said.status == 0, said.err
    assert "network.saturation | 1 GB/s |" in page.read_text(encoding="utf-8")
    said = parcast(*asked, "--set", "network.saturated=1 GB/s", "-o", page)
    assert said.status == 2
    assert "Did you mean network.saturation?" in said.err


def test_one_table_as_markdown(parcast, table, tmp_path):
    said = parcast("report", table, "-o", tmp_path / "report.md")
    assert said.status == 0, said.err
    assert "| p | time \\[s\\] |" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("file", "options", "status", "says"),
    [
        ("t", ["-o", "-"], 2, "-o must name a file. Write for example -o report.html."),
        ("t", ["-o", "r.png"], 2, "-o must be a path that ends in .html, .md, .tex"),
        ("p", ["-o", "r.html"], 2, "needs a MACHINE. Name its file too."),
        ("m", ["-o", "r.html"], 2, "needs a PROGRAM. Name its file too."),
        ("-", ["-o", "r.html"], 2, "FILE must be a file, got -."),
        ("no.csv", ["-o", "r.html"], 3, "no.csv"),
        ("no.toml", ["-o", "r.html"], 3, "must exist"),
        ("other.toml", ["-o", "r.html"], 3, "must describe a program, by [[phase]], or a machine"),
    ],
)
def test_what_cannot_be_reported_is_refused(parcast, file, options, status, says):
    known = {"t": "times.csv", "p": PROGRAM, "m": MACHINE}
    Path("other.toml").write_text("[tool]\nline = 1\n")
    said = parcast("report", known.get(file, file), *options)
    assert (said.status, says in said.err) == (status, True), said.err
    assert not [*Path().glob("r.*")]


@pytest.mark.usefixtures("there")
def test_without_a_name_the_page_is_report_html_in_this_folder(parcast):
    for _ in range(2):  # the second takes the place of the first
        said = parcast("report", "times.csv")
        assert (said.status, said.err[:27]) == (0, "parcast: wrote report.html:")
    assert "Forecast of times.csv" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.fault(
    "Output files",
    "`parcast report` without -o, where report.html is not a page of parcast.",
    promise="Status 2; it is named, and left as it is.",
)
@pytest.mark.usefixtures("there")
def test_a_page_of_somebody_else_is_left_as_it_is(parcast):
    Path("report.html").write_text("<!DOCTYPE html>mine")
    said = parcast("report", "times.csv")
    assert (said.status, "report.html is no page of parcast" in said.err) == (2, True)
    assert Path("report.html").read_text() == "<!DOCTYPE html>mine"


def test_sources_of_several_answers_stand_once_at_the_end(parcast, tmp_path):
    page = tmp_path / "report.html"
    parcast("report", PROGRAM, MACHINE, "-p", "16,64", "-o", page)
    text = page.read_text(encoding="utf-8")
    before, _, last = text.partition("<h2>Sources</h2>")
    sources = re.findall(r"<li>(.*?)</li>", last)
    assert sources
    assert all(text.count(f">{x}<") == 1 for x in sources)
    assert "<dt>Sources</dt>" not in before
    parcast("predict", PROGRAM, MACHINE, "-p", "16", "-o", page)
    assert "<dt>Sources</dt>" in page.read_text(encoding="utf-8")


def test_a_table_that_is_too_short_is_refused_and_an_old_page_stays(parcast, table, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("old")
    table.write_text("p,time_s\n")
    said = parcast("report", table, "-o", page)
    assert said.status == 3
    assert page.read_text() == "old"


@pytest.mark.parametrize(
    ("results", "says"),
    [([], "must be 1 to 100 results, got 0"), ([{"p": 1}], "must be results of parcast, got a d")],
)
def test_what_is_no_result_is_refused(results, says, tmp_path):
    with pytest.raises(ParameterError, match=says):
        package.report(results, tmp_path / "a.html")
    with pytest.raises(ParameterError, match=r"must end in \.html"):
        package.report(package.forecast({"p": [1, 2], "time": [2, 1]}, 4), tmp_path / "a.txt")
