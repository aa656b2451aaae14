"""`parcast predict`: what it answers, in every form, what it refuses, and with which status."""

import csv
import hashlib
import io
import json
import re
import sys
from types import ModuleType

import pytest

import parcast as package
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.prediction.predict import predict
from tests.cli.test_golden import kept, near, six_digits
from tests.conftest import ROOT
from tests.forecasting.test_command import document
from tests.written import written

PROGRAM = ROOT / "tests" / "cli" / "data" / "spmd_program.toml"
MACHINE = ROOT / "examples" / "btio" / "sp2.toml"
BOTH = ("predict", PROGRAM, MACHINE)
QUESTION = (*BOTH, "-p", "1..256x4")


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def text_of(value):
    return "" if value is None else str(value)


@pytest.fixture
def changed(tmp_path):
    """Write a description with a part of it replaced."""

    def change(path, old, new):
        text = path.read_text(encoding="utf-8")
        assert re.search(old, text)
        written = tmp_path / path.name
        written.write_text(re.sub(old, new, text), encoding="utf-8")
        return written

    return change


# what is answered


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


def test_csv_carries_the_rows_of_json(parcast, tmp_path):
    path = tmp_path / "told.csv"
    said = parcast(*QUESTION, "-d", "1,2", "-o", "-", "-o", path)
    assert said.status == 0
    assert path.read_text() == said.out
    from_json = document(parcast(*QUESTION, "-d", "1,2", "--json"))["rows"]
    assert rows(said.out) == [{k: text_of(v) for k, v in row.items()} for row in from_json]


def test_json_is_written_to_a_file_beside_the_table(parcast, tmp_path):
    path = tmp_path / "told.json"
    said = parcast(*QUESTION, "-o", path)
    assert said.out.startswith("BTIO, class A on IBM SP-2\n")
    assert path.read_text() == parcast(*QUESTION, "--json").out


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


def test_an_interval_comes_with_what_is_uncertain_and_can_be_left_out(parcast):
    assert "90 % interval" in parcast(*QUESTION).out
    without = parcast(*QUESTION, "--no-interval", "--json")
    assert {row["lower_s"] for row in document(without)["rows"]} == {None}
    assert document(without)["inputs"]["options"]["interval"] is False


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


@pytest.mark.parametrize("picture", [None, "map"])
def test_a_picture_is_drawn_as_asked(parcast, tmp_path, monkeypatch, picture):
    drawn = []

    def draw_prediction(prediction, path, *, picture=None):
        drawn.append((prediction.shape, path, picture))

    fake = ModuleType("parcast.prediction.picture")
    fake.draw_prediction = draw_prediction
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    path = str(tmp_path / "told.svg")
    asked = ["--picture", picture] if picture else []
    said = parcast(*QUESTION, "-o", path, *asked)
    assert said.status == 0
    assert drawn == [((5,), path, picture)]


def test_a_picture_can_be_looked_at(parcast, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "told.svg"
    assert parcast(*QUESTION, "-d", "1,2", "-o", path).status == 0
    assert path.read_text().startswith("<?xml")


def test_a_large_surface_is_written_and_shortened_on_the_screen(parcast, tmp_path, changed):
    certain = changed(PROGRAM, " \\+- 5%", "")
    path = tmp_path / "surface.csv"
    said = parcast("predict", certain, MACHINE, "-p", "1..512", "-d", "1..64", "-o", path)
    assert said.status == 0
    assert path.read_text().count("\n") == 1 + 512 * 64
    assert len(said.out.splitlines()) < 40
    assert said.err == (
        "parcast: 10 of 512 values of p and 7 of 64 values of d are shown, only times. "
        "Everything: --all, --json or -o all.csv.\n"
    )


def test_a_formula_in_d_takes_the_servers_of_the_machine(parcast, changed):
    by_disks = changed(PROGRAM, "cycles = 40", 'cycles = "10*d + 10"')
    told, expected = (
        document(parcast("predict", program, MACHINE, "-p", "4", "--json"))["rows"][0]["time_s"]
        for program in (by_disks, PROGRAM)
    )
    assert told == expected


def test_a_problem_size_that_nothing_uses_is_warned_of(parcast, changed):
    warning = "warning:    The times do not depend on n: no formula in the descriptions uses it."
    assert warning in parcast(*BOTH, "-p", "4", "-n", "1,2").out
    by_size = changed(PROGRAM, "10 MB", "1 MB * n")
    said = parcast("predict", by_size, MACHINE, "-p", "4", "-n", "1,2")
    assert said.status == 0
    assert warning not in said.out


# kept answers


@pytest.mark.parametrize("width", [40, 60, 80, 100, None])
def test_the_table(parcast, monkeypatch, width):
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    said = parcast(*QUESTION, "-d", "1,4")
    assert (said.status, said.err) == (0, "")
    assert said.out == kept(f"predict_{width or 'pipe'}.txt", said.out)
    too_long = [line for line in said.out.splitlines() if width and len(line) > width]
    assert not [line for line in too_long if " " in line.strip()]  # one word is not broken


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("many", ("-p", "1..4096x2", "-d", "1..64")),
        ("vary", ("-p", "64", "--vary", "network.bandwidth=10..1000x10 MB/s")),
        ("three", ("-p", "1,64", "-d", "1..8", "--vary", "network.latency=1,100 us")),
    ],
)
def test_tables_of_other_axes(parcast, monkeypatch, name, options):
    monkeypatch.setenv("COLUMNS", "80")
    said = parcast(*BOTH, *options, "--no-interval")
    assert said.status == 0
    assert said.out == kept(f"predict_{name}.txt", said.out)


def test_the_document(parcast, monkeypatch):
    monkeypatch.chdir(ROOT)
    question = (PROGRAM.relative_to(ROOT), MACHINE.relative_to(ROOT), "-p", "1,64", "-d", "1,2")
    told = json.loads(parcast("predict", *question, "--json").out)
    told["inputs"].pop("parcast")  # its version changes
    expected = json.loads(kept("predict.json", json.dumps(six_digits(told), indent=1) + "\n"))
    assert near(told, expected)
    assert list(told) == list(expected)


def test_help_has_two_examples_and_every_status(parcast):
    said = parcast("predict", "--help")
    assert said.status == 0
    assert said.out.partition("Examples:")[2].count("  parcast ") == 2
    described = said.out.partition("Exit status:")[2]
    assert all(f" {status}  " in described for status in (0, 2, 3, 4))
    assert max(map(len, said.out.splitlines())) <= 80


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
        ((), "-p must be given. Write for example -p 64,128.\n"),
        (
            ("-p", "0"),
            "-p must be whole numbers from 1 to 1000000000, got 0. "
            "Write for example 64,128 or 1..1024x2.\n",
        ),
        (
            ("-p", "4", "-d", "1-8"),
            "-d must be counts of disks, got '1-8'. Write a range as 1..8.\n",
        ),
        (
            ("-p", "4", "-n", "0"),
            "-n must be numbers above 0 and up to 1e+18, got 0. "
            "Write for example 64,128 or 64..1024x2.\n",
        ),
        (
            ("-p", "4", "--vary", "network.bandwith=1..2 MB/s"),
            "--vary must name a parameter that the files give, got 'network.bandwith'. "
            "Did you mean network.bandwidth?\n",
        ),
        (
            ("-p", "4", "--vary", "bandwidth=1..2 MB/s"),
            "--vary must name a parameter that the files give, got 'bandwidth'. "
            "Did you mean network.bandwidth or storage.bandwidth?\n",
        ),
        (
            ("-p", "4", "--vary", "q=1"),
            "--vary must name a parameter that the files give, got 'q'. They give "
            "bursts_per_io, communication.group, communication.messages, communication.volume, "
            "compute.parallel, compute.rate, compute.serial, cycles, io.volume, "
            "network.bandwidth, network.latency, network.saturation and 1 more.\n",
        ),
        (
            ("-p", "4", "--vary", "network.contention=0,1"),
            "--vary must name a parameter that the files give, got 'network.contention'. "
            "MACHINE could give it, but does not. Add it there.\n",
        ),
        (
            ("-p", "4", "--vary", "io.startup=1,2 s"),
            "--vary must name a parameter that the files give, got 'io.startup'. "
            "PROGRAM could give it, but does not. Add it there.\n",
        ),
        (
            ("-p", "4", "--vary", "storage.servers=1,2"),
            "--vary must name a parameter that the files give, got 'storage.servers'. "
            "Give it with -d.\n",
        ),
        (
            ("-p", "4", "--vary", "d=1..2"),
            "--vary must name a parameter that the files give, got 'd'. Give it with -d.\n",
        ),
        (
            ("-p", "4", "--vary", "network.bandwidth=1..2 MB"),
            '--vary network.bandwidth must be a rate such as "12.5 GB/s", got "1..2 MB", which '
            "is a size.\n",
        ),
        (
            ("-p", "4", "--vary", "cycles"),
            "--vary must be a parameter and its range, got 'cycles'. "
            'Write for example "network.bandwidth=10..1000 MB/s".\n',
        ),
        (
            ("-p", "4", "--vary", "cycles=1", "--vary", "cycles=2"),
            "--vary must name a parameter once, got 'cycles' twice. "
            "Put its values into one list, with commas between them.\n",
        ),
        (
            ("-p", "4", "--picture", "map"),
            "--picture requires a figure to draw. Add -o map.svg.\n",
        ),
        (
            ("-p", "4", "-o", "-", "--json"),
            "-o - and --json cannot be combined: both print. Leave one out.\n",
        ),
        (
            ("-p", "4", "-o", "x.csv", "-o", "./x.csv"),
            "-o must be different files, got x.csv and ./x.csv. Leave one out.\n",
        ),
    ],
)
def test_wrong_use(parcast, options, says):
    assert refused(parcast(*BOTH, *options), 2) == says


def test_both_files_cannot_be_standard_input(parcast):
    says = "Only one file may be -, standard input. Name the others.\n"
    assert refused(parcast("predict", "-", "-", "-p", "4"), 2) == says


@pytest.mark.parametrize("which", [1, 2])
def test_standard_input_that_is_closed(monkeypatch, which):
    from parcast.cli.reading import read_description

    monkeypatch.setattr(sys, "stdin", None)
    argument = ("PROGRAM", "MACHINE")[which - 1]
    with pytest.raises(Exception, match=f"{argument} must not be -: standard input is"):
        read_description("-", read_machine, argument=argument)


def test_no_file_is_overwritten_that_is_read(parcast, changed, tmp_path):
    machine = changed(MACHINE, "SP-2", "SP-3")
    as_csv = machine.rename(tmp_path / "sp2.csv")
    says = refused(parcast("predict", PROGRAM, as_csv, "-p", "4", "-o", as_csv), 2)
    assert says.startswith("-o must be another file than the one that is read, got ")


@pytest.mark.parametrize(
    "case",
    [
        (MACHINE, "saturation", "saturatoin", "is not a known key. Did you mean saturation?"),
        (PROGRAM, "cycles =", "cycle =", "is not a known key. Did you mean cycles?"),
        (
            MACHINE,
            "27 MB/s",
            "27 MB",
            'must be a rate such as "12.5 GB/s", got "27 MB", which is a size.',
        ),
    ],
)
def test_a_fault_in_a_file(parcast, changed, case):
    path, old, new, says = case
    files = [changed(path, old, new) if one == path else one for one in (PROGRAM, MACHINE)]
    said = refused(parcast("predict", *files, "-p", "4"), 3)
    assert re.match(rf".*/{path.name}: 1 problem\n  line \d+  ", said)
    assert said.endswith(f"{says}\n")


def test_the_files_may_have_any_order(parcast):
    said = parcast("predict", MACHINE, PROGRAM, "-p", "4", "--json")
    assert said == parcast("predict", PROGRAM, MACHINE, "-p", "4", "--json")
    text = MACHINE.read_text()
    assert said.out.replace(str(MACHINE), "standard input") == (
        parcast("predict", "-", PROGRAM, "-p", "4", "--json", stdin=text).out
    )


def test_a_file_that_is_not_there(parcast):
    said = refused(parcast("predict", PROGRAM, MACHINE.with_name("sp.toml"), "-p", "4"), 3)
    assert "must exist, but is not in " in said
    assert said.endswith("sp2.toml?\n")


@pytest.mark.parametrize(
    "case",
    [
        (
            PROGRAM,
            "(messages = .*)",
            "\\1\ngroup = 4",
            ("-p", "4,6"),
            "communication.group must divide p, got 4 at p = 6. Leave that p out.\n",
        ),
        (
            PROGRAM,
            "(messages = .*)",
            "\\1\ngroup = 4",
            ("-p", "2,4"),
            "communication.group must divide p, got 4 at p = 2. Leave that p out, or write a "
            'formula such as "min(p, 4)".\n',
        ),
        (
            PROGRAM,
            "6\\*sqrt\\(p\\)",
            "p - 8",
            ("-p", "2..64x2"),
            "communication.messages must be at least 0: p - 8 is -6 at p = 2. Check the "
            "formula.\n",
        ),
        (
            PROGRAM,
            "6\\*sqrt\\(p\\)",
            "log(p - 16)",
            ("-p", "32,16,8"),
            "communication.messages must be finite: log(p - 16) is -inf at p = 16. Write a "
            'separate value for that case, with "... if ... else ...".\n',
        ),
        (
            MACHINE,
            "27 MB/s",
            "27 MB/s * (4 - min(p, 4))",
            ("-p", "2,4"),
            "network.bandwidth must be above 0, got 0. Give the rate that was measured.\n",
        ),
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


def test_a_grid_that_is_too_large_is_refused_with_its_size(parcast):
    said = parcast(*BOTH, "-p", "1..100000", "-d", "1..10000")
    assert refused(said, 4) == (
        "the grid must have at most 1,000,000 points of phases that take as long as these, "
        "got 100000 x 10000 = 1,000,000,000. Use larger steps.\n"
    )


def test_an_interval_of_too_many_times_is_refused(parcast):
    said = parcast(*BOTH, "-p", "1..1000", "-d", "1..1000")
    assert refused(said, 4).endswith(
        "Use fewer points, or leave the interval out with --no-interval.\n"
    )


def test_debug_shows_where_it_was_refused(parcast):
    said = parcast(*BOTH, "-p", "4", "--vary", "network.bandwidth=0 MB/s", "--debug")
    assert said.status == 4
    assert "Traceback" in said.err
