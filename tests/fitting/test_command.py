"""`parcast fit`: what it prints and writes, and its exit status."""

import csv
import json
import shutil
import tomllib
from itertools import permutations

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import read_program
from tests.conftest import ROOT

QCRD = ROOT / "examples" / "qcrd"
PROGRAM = """\
# My program.
[[phase]]
law = "spmd"
compute = { parallel = "5 s", serial = "1 s" }  # guessed
"""
TIMES = "p,time_s\n1,12\n2,7.01\n4,4.49\n8,3.25\n"


pytestmark = pytest.mark.usefixtures("files")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A program and its timings, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.toml").write_text(PROGRAM)
    (tmp_path / "times.csv").write_text(TIMES)
    (tmp_path / "machine.toml").write_text('[compute]\nrate = "100 Mflop/s"  # said the vendor\n')
    return tmp_path


def test_a_fit_that_determines_everything_ends_well(parcast):
    said = parcast("fit", "program.toml", "times.csv")
    assert said.status == 0
    assert said.err == ""
    assert said.out.splitlines()[:3] == [
        "parameter         fitted  90 % interval   described  determined by",
        "compute.parallel  10.0 s  9.5 to 10.6 s         5 s  runs",
        "compute.serial    2.00 s  1.83 to 2.17 s        1 s  runs",
    ]


def test_a_law_that_counts_needs_no_capacities_and_its_file_gets_them(parcast, files):
    (files / "law.toml").write_text('[[phase]]\nlaw = "gauss"\n')
    true = {"law": "gauss", "capacities": {"compute": "50 Mflop/s", "network": "20 MB/s"}}
    at = {"p": [1.0, 2, 4] * 2, "n": [200.0] * 3 + [400.0] * 3}
    times = Program(phase=[true]).times(Machine(), {x: np.array(at[x]) for x in at}).time
    rows = zip(at["p"], at["n"], times, strict=True)
    text = "".join(f"{p:g},{n:g},{float(t)!r}\n" for p, n, t in rows)
    (files / "runs.csv").write_text(f"p,n,time_s\n{text}")
    said = parcast("fit", "law.toml", "runs.csv", "-o", "fitted.toml", "-v")
    assert (said.status, said.err) == (0, "")
    assert "the fit started from estimates based on the runs" in " ".join(said.out.split())
    capacities = read_program("fitted.toml").phase[0].capacities
    assert float(capacities.compute({})) == pytest.approx(50e6, rel=1e-3)
    assert float(capacities.network({})) == pytest.approx(20e6, rel=1e-3)
    fixed = parcast("fit", "law.toml", "runs.csv", "--fix", "capacities.network")
    assert fixed.status == 4
    assert "capacities.network must be described, as it is not fitted." in fixed.err


@pytest.mark.usefixtures("uncovered")
def test_the_example_is_fitted_and_says_what_is_open(parcast, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "fit.json"
    said = parcast("fit", QCRD / "program.toml", QCRD / "speedups.csv", "-o", path)
    assert said.status == 1
    assert said.err.startswith("parcast: no: not determined: ")
    document = json.loads(path.read_text())
    assert document["schema"] == "parcast/fit/1"
    assert document["rank"] == 5
    assert document["quantity"] == "speedup"
    assert document["rms_relative_error"] < 0.015
    assert document["inputs"]["surface"]["measurements"] == 42
    assert document["inputs"]["machine"] is None
    assert all(len(line) <= 80 for line in said.out.splitlines())


def test_the_fitted_program_is_the_users_file_with_other_amounts(parcast, files):
    said = parcast("fit", "program.toml", "times.csv", "-o", "fitted.toml", "-o", "fit.csv",
                   "-o", "fit.json")  # fmt: skip
    assert said.status == 0
    text = (files / "fitted.toml").read_text()
    assert text.startswith(
        '# My program.\n[[phase]]\nlaw = "spmd"\ncompute = { parallel = "10.0073 s +- '
    )
    assert "}  # guessed\n\n[[law_error]]\n" in text
    assert "\nlargest = 8.0\n\n[fit]\n" in text
    assert "+- 5.7%" in tomllib.loads(text)["phase"][0]["compute"]["parallel"]
    assert parcast("predict", "fitted.toml", "machine.toml", "-p", "16").status == 0
    again = parcast("fit", "fitted.toml", "times.csv", "--no-interval")
    assert again.status == 0
    assert "was fitted to 4 times, p = 1 to 8 before: if these are the same" in " ".join(
        again.out.split()
    )
    assert "before" not in said.out
    rows = list(csv.DictReader((files / "fit.csv").read_text().splitlines()))
    document = json.loads((files / "fit.json").read_text())
    assert [row["name"] for row in rows] == ["compute.parallel", "compute.serial"]
    assert float(rows[0]["value"]) == document["rows"][0]["value"]


def test_a_file_that_is_no_program_is_not_replaced(parcast, files):
    for name, text in (("machine.toml", None), ("notes.toml", "[tool]\nx = 1\n")):
        if text:
            (files / name).write_text(text)
        before = (files / name).read_text()
        said = parcast("fit", "program.toml", "times.csv", "-o", name)
        assert said.status == 2
        assert f"{name} exists and is no description of a program" in said.err
        assert (files / name).read_text() == before
    said = parcast(
        "fit", "program.toml", "times.csv", "machine.toml", "--machine-output", "program2.toml"
    )
    assert said.status == 0
    (files / "other.toml").write_text(PROGRAM)
    said = parcast(
        "fit", "program.toml", "times.csv", "machine.toml", "--machine-output", "other.toml"
    )
    assert "other.toml exists and is no description of a machine" in said.err


def test_the_fitted_machine_is_written_too(parcast, files):
    (files / "program.toml").write_text(PROGRAM.replace("5 s", "830 Mflop"))
    said = parcast(
        "fit", "program.toml", "times.csv", "--machine", "machine.toml",
        "--free", "compute.rate,compute.serial", "--machine-output", "fitted.toml", "-o", "-",
    )  # fmt: skip
    assert said.status == 0
    assert said.out.startswith("name,value,lower,upper,unit,")
    written = (files / "fitted.toml").read_text()
    assert written.startswith('[compute]\nrate = "82.9')
    assert "  # said the vendor\n\n[fit]\n" in written


def test_rows_may_be_selected_and_columns_ignored(parcast, files):
    (files / "times.csv").write_text(
        "machine,day,p,time_s\n" + "".join(f"A,mon,{r}\n" for r in TIMES.splitlines()[1:])
        + "B,tue,1,99\n"
    )  # fmt: skip
    options = ["fit", "program.toml", "times.csv", "--ignore", "day", "--fix", "compute.serial"]
    assert parcast(*options, "--select", "machine=A").status == 0
    said = parcast(*options)
    assert said.status == 4
    assert "measurements must be of one machine, got A, B. Select one value: --select" in said.err


def test_standard_input_may_be_one_of_the_files(parcast):
    assert parcast("fit", "program.toml", "-", stdin=TIMES).status == 0
    assert parcast("fit", "-", "times.csv", stdin=PROGRAM).status == 0
    said = parcast("fit", "-", "-", stdin=PROGRAM)
    assert said.status == 2
    assert "Only one file may be -, standard input." in said.err


@pytest.mark.parametrize("quantity", ["time_s", "speedup"])
def test_columns_of_the_timings_may_have_other_names(parcast, tmp_path, quantity):
    table = tmp_path / "table.csv"
    text = (tmp_path / "times.csv").read_text()
    table.write_text(text.replace("time_s", quantity))
    same = parcast("fit", "program.toml", "table.csv", "-o", "-")
    table.write_text(text.replace("time_s", "measured").replace("p,", "ranks,", 1))
    options = ("--column", "p=ranks", "--column", f"{quantity}=measured")
    said = parcast("fit", "program.toml", "table.csv", *options, "-o", "-")
    assert (said.status, said.out) == (same.status, same.out)
    assert said.out


def test_the_files_may_have_any_order(parcast):
    first = parcast("fit", "program.toml", "times.csv", "--machine", "machine.toml", "--json")
    for files in permutations(["program.toml", "times.csv", "machine.toml"]):
        assert parcast("fit", *files, "--json").out == first.out


def test_two_machines_are_one_too_many(parcast):
    said = parcast("fit", "program.toml", "times.csv", "m.toml", "--machine", "machine.toml")
    assert (said.status, said.err.splitlines()[0]) == (
        2,
        "parcast: fit reads PROGRAM TIMINGS [MACHINE]; m.toml is one file too many.",
    )
    shutil.copy("machine.toml", "m.toml")
    said = parcast("fit", "program.toml", "times.csv", "m.toml", "--machine", "machine.toml")
    assert said.status == 2
    assert said.err.startswith(
        "parcast: fit needs one machine file; m.toml and machine.toml are both machines.\n"
    )


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--free", "compute.paralel"], 2, "parcast: --free must name amounts in the "
         "descriptions, got 'compute.paralel'. Did you mean compute.parallel?"),
        (["--machine-output", "m.toml"], 2, "--machine-output requires MACHINE. Name its file."),
        (["--machine", "machine.toml", "--machine-output", "m.json"], 2,
         "--machine-output must be a path that ends in .toml, got 'm.json'."),
        (["-o", "fit.svg"], 2, "-o must be a path that ends in .toml, .json, .csv, got"),
        (["-o", "program.toml"], 2, "-o must be another file than the one that is read"),
        (["--machine", "nowhere.toml"], 3, "nowhere.toml: 1 problem"),
        (["--starts", "0"], 2, "--starts"),
    ],
)  # fmt: skip
def test_wrong_use_is_named_with_a_remedy(parcast, options, status, says):
    said = parcast("fit", "program.toml", "times.csv", *options)
    assert said.status == status
    assert says in said.err
    assert said.out == ""


def test_too_few_runs_end_with_the_status_of_no_fit(parcast, files):
    (files / "times.csv").write_text("p,time_s\n1,12\n")
    said = parcast("fit", "program.toml", "times.csv")
    assert said.status == 4
    assert said.err.startswith("parcast: No fit. 1 run cannot determine 2 parameters")


def test_a_fit_that_has_not_converged_ends_with_1(parcast, monkeypatch):
    from dataclasses import replace

    from parcast.fitting.fit import fit

    def tired(*args, **options):
        return replace(fit(*args, **options), has_converged=False)

    monkeypatch.setattr("parcast.fitting.fit.fit", tired)
    said = parcast("fit", "program.toml", "times.csv")
    assert (said.status, said.err) == (1, "parcast: no: it has not converged.\n")

    def unsure(*args, **options):
        return replace(fit(*args, **options), undetermined=("something is open.",))

    monkeypatch.setattr("parcast.fitting.fit.fit", unsure)
    said = parcast("fit", "program.toml", "times.csv")
    assert (said.status, said.err) == (1, "parcast: no: not everything is determined.\n")
