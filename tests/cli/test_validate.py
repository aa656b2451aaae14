"""`parcast validate`: what it answers, in every form, what it refuses, and with which status."""

import csv
import io
import json
import re

import pytest

from parcast.verbs import validate as verb
from tests.validated import FakeRunner, lawful, subject

from .conftest import ROOT


@pytest.fixture
def machine(monkeypatch):
    """Let the command run a program that is none, and give what runs it."""

    def use(runner):
        monkeypatch.setattr(verb, "_run_kernel", runner)
        monkeypatch.setattr(verb, "subject_named", subject)
        monkeypatch.setitem(verb.validate.__kwdefaults__, "subject", subject)
        return runner

    return use


def test_a_law_that_holds_has_the_status_0(parcast, machine):
    machine(FakeRunner(noise=0.01))
    said = parcast("validate", "sort", "--seed", "2")
    assert (said.status, said.err) == (0, "")
    assert "law         holds: " in said.out


def test_a_law_that_does_not_hold_has_the_status_1(parcast, machine):
    machine(FakeRunner(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.4))
    said = parcast("validate", "sort", "-np", "1,2,4", "--repetitions", "2")
    assert said.status == 1
    assert said.err == "parcast: no: The law does not hold for sort.\n"
    said = parcast("validate", "sort", "square_sort", "--quick")
    assert said.err == "parcast: no: The laws do not hold for sort, square_sort.\n"


def test_every_form_has_the_same_facts(parcast, machine, tmp_path):
    machine(FakeRunner(noise=0.01))
    table, document, picture = (tmp_path / f"a.{x}" for x in ("csv", "json", "svg"))
    said = parcast(
        "validate", "sort", "--sizes", "2e6,4e6", "--calibrate-with", "1e5,2e5,4e5",
        "--longest", "2s", "--time-limit", "5 min", "--json",
        "-o", table, "-o", document, "-o", picture,
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    told = json.loads(said.out)
    assert told == json.loads(document.read_text())
    assert told["schema"] == "parcast/validation/1"
    assert told["inputs"]["options"] == {
        "p": None,
        "sizes": "2e6,4e6",
        "calibrate_with": "1e5,2e5,4e5",
        "repetitions": 4,
        "longest": 2.0,
        "quick": False,
        "time_limit": 300.0,
        "seed": 0,
    }
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [float(row["time_s"]) for row in rows] == [row["time_s"] for row in told["rows"]]
    assert list(rows[0]) == list(told["rows"][0])
    assert {row["purpose"] for row in rows} == {"calibration", "comparison"}
    compared = [row for row in told["rows"] if row["purpose"] == "comparison"]
    assert told["coverage"] == sum(row["inside"] for row in compared) / len(compared)
    assert picture.read_text().startswith("<?xml")
    printed = parcast("validate", "sort", "--quick", "-o", "-")
    assert printed.out.startswith("program,purpose,n,p,")


def test_without_a_name_the_programs_are_listed(parcast):
    said = parcast("validate")
    assert (said.status, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()] == [
        *("sort", "square_sort", "fractal", "monte_carlo", "matmul", "gauss", "stencil")
    ]


def test_interrupted_it_shows_what_was_compared(parcast, machine):
    whole = machine(FakeRunner())
    parcast("validate", "sort")
    machine(FakeRunner(fails_after=len(whole.asked) - 1))
    said = parcast("validate", "sort")
    assert said.status == 130
    assert "ended by    interrupted" in said.out
    assert said.err == "parcast: interrupted.\n"


def test_interrupted_too_early_it_says_so(parcast, machine):
    machine(FakeRunner(fails_after=2))
    said = parcast("validate", "sort")
    assert (said.status, said.out, said.err) == (130, "", "parcast: interrupted.\n")


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("bubble",), 2, "must be that of a program"),
        (("all", "sort"), 2, "Name programs, or all, not both."),
        (("sort", "-np", "0"), 2, "-np must be"),
        (("sort", "--longest", "0s"), 2, "--longest must be above 0"),
        (("sort", "--sizes", "1e5..x"), 2, "--sizes must be"),
        (("sort", "--calibrate-with", "1e5"), 2, "--calibrate-with must be at least 2 sizes"),
        (("sort", "-o", "a.txt"), 2, "-o must be a path that ends in"),
        (("sort", "--time-limit", "1 us"), 4, "could not be calibrated within the time limit"),
    ],
)
def test_refusals(parcast, machine, args, status, says):
    if args[0] == "sort":
        machine(FakeRunner())
    said = parcast("validate", *args)
    assert said.status == status
    assert says in said.err
    assert said.out == ""


def test_every_option_is_in_the_reference(parcast):
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = page.split("## parcast validate\n")[1].split("\n## ")[0]
    for option in re.findall(r"--[a-z-]+", parcast("validate", "--help").out):
        assert option in section or option in {"--help", "--hosts", "--link"}
