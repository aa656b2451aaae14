"""`parcast project`: what it answers, in every form, what it refuses, and with which status."""

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


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ((*QUESTION, "--program", "sort"), 2, "COUNTS, got 'sort'. There are: 'solve'."),
        ((*QUESTION, "known.csv"), 2, "--known must be left out with known.csv. Give one of"),
        ((*QUESTION, "--target", "old.toml"), 2, "--target must be left out with here.toml."),
        ((*QUESTION, "-n", "4"), 2, "-n must be left out for a program described by counts."),
        ((*QUESTION, "--donors", "old.csv", "--donor-machine", "here.toml"), 4, "include 'old'"),
    ],
)
def test_what_cannot_be_answered_is_refused(project, args, status, says):
    found, out, err = project(*args)
    assert (found, out) == (status, "")
    assert says in err
    assert "Traceback" not in err


def test_a_machine_without_a_rate_is_refused(project, files):
    (files / "here.toml").write_text('name = "here"\n')
    status, out, err = project(*QUESTION)
    assert (status, out) == (4, "")
    assert "network.bandwidth must be given in the description of here" in err
