"""`parcast project`: what it answers, in every form, what it refuses, and with which status."""

import csv
import io
import json

import pytest

from parcast.cli.failures import run
from parcast.descriptions.toml_files import read_machine
from parcast.projection.command import command
from parcast.projection.counted import project_counts
from parcast.projection.read_counts import read_counts
from parcast.timings.tables.files import read_measurements
from tests.written import written

COUNTS = (
    "program,p,compute_s,busiest_s,messages,bytes,calls_allreduce\n"
    "solve,1,8,8,0,0,10\n"
    "solve,4,8.4,2.5,4000,4e6,40\n"
    "solve,16,9,0.7,16000,1.6e7,160\n"
)
HERE = (
    'name = "here"\n[network]\nlatency = "0.1 ms"\nbandwidth = "10 MB/s"\n'
    'saturation = "20 MB/s"\n[primitives.allreduce]\nstartup = "0.2 ms*log2(p)"\n'
)
OLD = HERE.replace("here", "old").replace("0.1 ms", "0.3 ms")
RUNS = "machine,p,time_s\nold,1,16\nold,4,6\nold,16,3.1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of a question, in the folder that is worked in."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "counts.csv": COUNTS,
        "here.toml": HERE,
        "old.toml": OLD,
        "known.csv": "p,time_s\n1,24\n",
        "old.csv": RUNS,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def project(files, capsys):  # noqa: ARG001 - files are there before it starts
    """Run the command and give its status and what it printed."""

    def start(*args):
        status = run(command, [*map(str, args)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return start


QUESTION = ("counts.csv", "here.toml", "-p", "4,16", "--known", "known.csv")
WITH_DONORS = (*QUESTION, "--donors", "old.csv", "--donor-machine", "old.toml")


def test_the_answer_is_that_of_the_function(project):
    status, out, err = project(*WITH_DONORS, "--json")
    assert (status, err) == (0, "")
    told = project_counts(
        read_counts("counts.csv")[0],
        read_machine("here.toml"),
        [4, 16],
        known=read_measurements("known.csv"),
        donors=read_measurements("old.csv"),
        donor_machines=[read_machine("old.toml")],
    )
    assert json.loads(out) == written(told.to_document())


def test_a_person_is_told_times_and_where_they_go(project):
    status, out, err = project(*WITH_DONORS)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "solve on here, from counts"
    assert lines[2].split()[:6] == ["p", "time", "90", "%", "interval", "compute"]
    assert (
        "pace        computing takes 3 x the time of the counted run, based on a run at p = 1"
        in out
    )
    assert "donors      old; the times are multiplied by" in out


@pytest.mark.parametrize(
    ("width", "parts", "legend"),
    [
        ("100", ["compute", "waiting", "latency", "transfer", "shared", "coll."], "modelled time"),
        ("80", ["compute", "waiting", "latency", "transfer", "shared", "coll."], "modelled time"),
        ("60", ["compute", "waiting", "latency", "shared"], "time; left out: transfer, coll."),
        ("40", ["compute", "shared"], "time; left out: waiting, latency, transfer, coll."),
    ],
)
def test_a_narrow_screen_has_fewer_parts_and_explains_those(
    project, monkeypatch, width, parts, legend
):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = project(*QUESTION)
    lines = out.splitlines()
    assert lines[2].split() == ["p", "time", "90", "%", "interval", *parts]
    assert max(map(len, lines)) <= int(width)
    explained = " ".join(out.partition("pace  ")[0].split())
    assert explained.endswith(legend)
    for name in ("waiting", "latency", "transfer", "shared", "coll."):
        assert (f"{name}: " in explained) == (name in parts)


def test_files_are_written_by_their_endings(project, files):
    status, out, _ = project(*QUESTION, "-o", "told.json", "-o", "-")
    assert status == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    kept = json.loads((files / "told.json").read_text())["rows"]
    assert [float(row["time_s"]) for row in rows] == [row["time_s"] for row in kept]


def test_columns_of_runs_may_have_other_names(project, files):
    same = project(*WITH_DONORS, "--json")
    (files / "known.csv").write_text("ranks,seconds\n1,24\n")
    (files / "old.csv").write_text(RUNS.replace("machine,p,time_s", "site,ranks,seconds"))
    called = ("p=ranks", "time_s=seconds", "machine=site")
    options = [part for text in called for part in ("--column", text)]
    assert project(*WITH_DONORS, *options, "--json") == same
    status, _, err = project(*WITH_DONORS, *options, "--column", "n=size")
    assert status == 2
    assert err.startswith("parcast: --column must name columns of known.csv, got 'size'.")


def test_the_files_may_have_any_order_and_be_given_as_options(project):
    counts, machine, *rest, known = QUESTION
    rest.remove("--known")
    same = project(*QUESTION, "--json")
    assert project(machine, counts, known, *rest, "--json") == same
    assert project(counts, "--target", machine, known, *rest, "--json") == same


def test_one_of_several_programs_is_chosen(project, files):
    (files / "counts.csv").write_text(COUNTS + COUNTS.partition("\n")[2].replace("solve", "sort"))
    status, out, err = project(*QUESTION, "--program", "sort")
    assert (status, out.splitlines()[0], err) == (0, "sort on here, from counts", "")


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("counts.csv", "here.toml"), 2, "-p must be given. Write for example -p 64,128."),
        ((*QUESTION, "--program", "sort"), 2, "COUNTS, got 'sort'. There are: 'solve'."),
        ((*QUESTION, "--donors", "old.csv"), 2, "--donors and --donor-machine require each other"),
        (("-", "-", "-p", "4"), 2, "Only one file may be -, standard input."),
        ((*QUESTION, "-o", "told.svg"), 2, "-o must be a path that ends in .csv, .json"),
        (("here.toml", "here.toml", "-p", "4"), 2, "here.toml and here.toml are both machines"),
        (
            ("counts.csv", "counts.csv", "-p", "4"),
            2,
            "counts.csv and counts.csv are both tables of",
        ),
        ((*QUESTION, "known.csv"), 2, "--known must be left out with known.csv. Give one of"),
        ((*QUESTION, "--target", "old.toml"), 2, "--target must be left out with here.toml."),
        ((*QUESTION, "-n", "4"), 2, "-n must be left out for a program described by counts."),
        (("counts.csv", "no.toml", "-p", "4"), 3, "must exist, but is not in"),
        ((*QUESTION, "--donors", "old.csv", "--donor-machine", "here.toml"), 4, "include 'old'"),
    ],
)
def test_what_cannot_be_answered_is_refused(project, args, status, says):
    found, out, err = project(*args)
    assert (found, out) == (status, "")
    assert says in err
    assert "Traceback" not in err


def test_several_programs_are_named_where_none_is_chosen(project, files):
    (files / "counts.csv").write_text(COUNTS + "sort,1,8,8,0,0,0\n")
    status, _, err = project(*QUESTION)
    assert status == 2
    assert "--program must name one of the programs: 'solve', 'sort'." in err


def test_a_machine_without_a_rate_is_refused(project, files):
    (files / "here.toml").write_text('name = "here"\n')
    status, out, err = project(*QUESTION)
    assert (status, out) == (4, "")
    assert "network.bandwidth must be given in the description of here" in err


def test_help_has_two_examples(project):
    status, out, _ = project("--help")
    assert status == 0
    assert out.partition("Examples:")[2].count("  parcast project ") == 2
    assert max(map(len, out.splitlines())) <= 80
