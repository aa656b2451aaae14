"""`parcast predict`: what it answers, in every form, what it refuses, and with which status."""

import csv
import hashlib
import io
import json
import re
import sys

import pytest

import parcast as package
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.prediction.predict import predict
from tests.conftest import ROOT
from tests.forecasting.test_command import document
from tests.written import written

PROGRAM = ROOT / "tests" / "prediction" / "spmd_program.toml"
MACHINE = ROOT / "examples" / "btio" / "sp2.toml"
BOTH = ("predict", PROGRAM, MACHINE)
QUESTION = (*BOTH, "-p", "1..256x4")


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def changed(file):
    """Write a description with a part of it replaced."""

    def change(path, old, new):
        text = path.read_text(encoding="utf-8")
        assert re.search(old, text)
        return file(re.sub(old, new, text), path.name)

    return change


# what is answered


def test_all_amounts_that_a_machine_lacks_are_named_at_once(parcast, file):
    said = parcast("predict", PROGRAM, file('name = "here"\n', "here.toml"), "-p", "4", "-n", "1")
    assert said.status in (2, 4)
    for key in ("compute.rate", "network.bandwidth"):
        assert key in said.err.partition(" must be given in the description of here. ")[0]
    assert "measure them: parcast calibrate" in said.err


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_answer(parcast, tmp_path):
    path = tmp_path / "map.svg"
    said = parcast(*BOTH, "-p", "1..1024x2", "-n", "1", "--picture", "map", "-o", path)
    assert said.out == ""
    assert "a map must have two axes with several values" in said.err
    assert not path.exists()


def test_times_of_the_bounds_that_lie_far_apart_have_units_of_their_own(parcast, file):
    program = file(
        '[[phase]]\nlaw = "spmd"\ncompute.parallel = "1 s"\n'
        'communication = {messages = 1, volume = "1 kB"}\n',
        "small.toml",
    )
    machine = file('[network]\nlatency = "1 us"\nbandwidth = "1 GB/s"\n', "fast.toml")
    said = parcast("predict", program, machine, "-p", "100000")
    assert re.search(r"contention +at p = 100000: \S+ us with a link .*, \S+ m?s with", said.out)


def test_the_answer_is_that_of_the_function(parcast):
    told = predict(
        read_program(PROGRAM),
        read_machine(MACHINE),
        p=[1, 4, 16],
        d=[1, 2],
        n=[0.5, 1],
        vary={"network.latency": [1e-6, 2e-6]},
    )
    axes = ("-p", "1..16x4", "-d", "1..2", "-n", "0.5,1", "--vary", "network.latency=1..2 us")
    said = parcast(*BOTH, *axes, "--json")
    assert (said.status, said.err) == (0, "")
    answered = document(said)
    inputs = answered.pop("inputs")
    expected = written(told.to_document())
    del expected["inputs"]
    assert answered == expected
    assert inputs == {
        "program": {
            "file": str(PROGRAM),
            "sha256": hashlib.sha256(PROGRAM.read_bytes()).hexdigest(),
        },
        "machine": {
            "file": str(MACHINE),
            "sha256": hashlib.sha256(MACHINE.read_bytes()).hexdigest(),
        },
        "options": {
            "p": "1..16x4",
            "d": "1..2",
            "n": "0.5,1",
            "vary": ["network.latency=1..2 us"],
            "interval": True,
            "law_error": True,
        },
        "parcast": package.__version__,
    }


@pytest.mark.parametrize("which", [1, 2])
def test_either_file_may_be_standard_input(parcast, which):
    question = list(QUESTION)
    stdin = question[which].read_bytes()
    question[which] = "-"
    said = parcast(*question, "--json", stdin=stdin)
    told = document(said)["inputs"]
    assert told[("program", "machine")[which - 1]] == {
        "file": "standard input",
        "sha256": hashlib.sha256(stdin).hexdigest(),
    }
    assert parcast(*QUESTION).out == parcast(*question, stdin=stdin).out


def test_an_interval_that_is_asked_for_in_vain_is_explained(parcast, changed):
    certain = changed(PROGRAM, " \\+- 5%", "")
    said = parcast("predict", certain, MACHINE, "-p", "4", "--no-law-error")
    assert said.status == 0
    assert "interval" not in said.out
    assert said.err == (
        "parcast: there is no interval, as no parameter has +- and --no-law-error leaves out the "
        'error of the law. Write for example bandwidth = "27 MB/s +- 5%".\n'
    )
    assert parcast(*BOTH, "-p", "4", "--no-law-error").err == ""
    assert parcast("predict", certain, MACHINE, "-p", "4").err == ""


def test_an_interval_without_the_error_of_the_law_is_narrower(parcast):
    told, narrow = (
        json.loads(parcast(*BOTH, "-p", "4", "--json", *options).out)
        for options in ((), ("--no-law-error",))
    )
    (row,), (without,) = told["rows"], narrow["rows"]
    assert (row["law_error"], without["law_error"]) == (pytest.approx(0.15), None)
    assert (
        row["lower_s"] < without["lower_s"] < row["time_s"] < without["upper_s"] < row["upper_s"]
    )
    assert told["law_error"][0]["measured"].startswith("16 runs of NAS BT")
    assert narrow["law_error"] == []


def test_a_formula_in_d_takes_the_servers_of_the_machine(parcast, changed):
    by_disks = changed(PROGRAM, "cycles = 40", 'cycles = "10*d + 10"')
    told, expected = (
        document(parcast("predict", program, MACHINE, "-p", "4", "--json"))["rows"][0]["time_s"]
        for program in (by_disks, PROGRAM)
    )
    assert told == expected


# what is refused: one message, the right status, no traceback


def refused(said, status):
    assert said.status == status
    assert said.out == ""
    assert said.err.startswith("parcast: ")
    assert "Traceback" not in said.err
    return said.err.removeprefix("parcast: ").removesuffix("See: parcast predict --help\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("-p", "4", "--vary", "d=1..2"),
            "--vary must name a parameter that the files give, got 'd'. Give it with -d.\n",
        ),
        (
            ("-p", "4", "-o", "x.csv", "-o", "./x.csv"),
            "-o must be different files, got x.csv and ./x.csv. Leave one out.\n",
        ),
    ],
)
def test_wrong_use(parcast, options, says):
    assert refused(parcast(*BOTH, *options), 2) == says


@pytest.mark.parametrize("which", [1, 2])
def test_standard_input_that_is_closed(monkeypatch, which):
    from parcast.cli.reading import read_description

    monkeypatch.setattr(sys, "stdin", None)
    argument = ("PROGRAM", "MACHINE")[which - 1]
    with pytest.raises(Exception, match=f"{argument} must not be -: standard input is"):
        read_description("-", read_machine, argument=argument)


@pytest.mark.parametrize(
    "case",
    [
        (
            PROGRAM,
            "10 MB",
            "1 MB * n",
            ("-p", "4"),
            "io.volume must have a value for each variable in its formula, got none for n in "
            '"1 MB * n". '
            "Give it with -n.\n",
        ),
        (
            MACHINE,
            "rate = .*",
            "",
            ("-p", "4"),
            "compute.rate must be given in the description of IBM SP-2: compute.parallel needs "
            "it. Add it to [compute].\n",
        ),
        (
            PROGRAM,
            "(?s)bursts_per_io.*",
            "",
            ("-p", "4"),
            "the time must be above 0 and finite, got 0 s at p = 4. Check the amounts in the "
            "descriptions.\n",
        ),
        (
            PROGRAM,
            "cycles = 40",
            'cycles = "8 - min(p, 8)"',
            ("-p", "4,8", "-d", "1,2"),
            "the time must be above 0 and finite, got 0 s at p = 8, d = 1. "
            "Check the amounts in the descriptions.\n",
        ),
    ],
)
def test_a_question_without_an_answer(parcast, changed, case):
    path, old, new, options, says = case
    files = [changed(path, old, new) if one == path else one for one in (PROGRAM, MACHINE)]
    assert refused(parcast("predict", *files, *options), 4) == says
