"""`parcast fit`: what it prints and writes, and its exit status."""

import csv
import json
import shutil
import tomllib

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import read_program

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


def test_a_law_that_counts_needs_no_capacities_and_its_file_gets_them(parcast, files):
    (files / "law.toml").write_text('[[phase]]\nlaw = "gauss"\n')
    true = {"law": "gauss", "capacities": {"compute": "50 Mflop/s", "network": "20 MB/s"}}
    at = {"p": [1.0, 2, 4] * 2, "n": [200.0] * 3 + [400.0] * 3}
    times = Program(phase=[true]).times(Machine(), {x: np.array(at[x]) for x in at}).time
    rows = zip(at["p"], at["n"], times, strict=True)
    text = "".join(f"{p:g},{n:g},{float(t)!r}\n" for p, n, t in rows)
    (files / "runs.csv").write_text(f"p,n,time_s\n{text}")
    said = parcast("fit", "law.toml", "runs.csv", "-o", "fitted.toml", "-v")
    assert (said.status, said.err) == (0, "parcast: wrote fitted.toml.\n")
    assert "the fit started from estimates based on the runs" in " ".join(said.out.split())
    capacities = read_program("fitted.toml").phase[0].capacities
    assert float(capacities.compute({})) == pytest.approx(50e6, rel=1e-3)
    assert float(capacities.network({})) == pytest.approx(20e6, rel=1e-3)
    fixed = parcast("fit", "law.toml", "runs.csv", "--fix", "capacities.network")
    assert fixed.status == 4
    assert "capacities.network must be described, as it is not fitted." in fixed.err


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
