"""--set: other amounts than the files give, in every command that reads PROGRAM and MACHINE."""

import json

import pytest

from tests.conftest import ROOT

PROGRAM = ROOT / "examples" / "btio" / "program.toml"
MACHINE = ROOT / "examples" / "btio" / "sp2.toml"
FASTER = ("--set", "network.latency=20us")


@pytest.fixture
def faster(file):
    """The machine with another latency in its file."""
    text = MACHINE.read_text(encoding="utf-8")
    assert '"150 us"' in text
    return file(text.replace('"150 us"', '"20us"'), MACHINE.name)


def answered(run):
    told = json.loads(run.out)
    return told.pop("inputs"), told


@pytest.mark.parametrize("command", ["predict", "explain", "plan"])
def test_a_set_amount_is_as_if_it_stood_in_the_file(parcast, faster, command):
    asked = ("-p", "16,64", "--json")
    inputs, told = answered(parcast(command, PROGRAM, MACHINE, *asked, *FASTER))
    assert told == answered(parcast(command, PROGRAM, faster, *asked))[1]
    assert told != answered(parcast(command, PROGRAM, MACHINE, *asked))[1]
    machine = inputs["machine"] if "machine" in inputs else inputs["machines"][0]
    assert machine["set"] == {"network.latency": "20us"}


def test_an_amount_of_the_program_and_its_interval_can_be_set(parcast):
    name = "io.volume"
    run = parcast("predict", PROGRAM, MACHINE, "-p", "4", "--set", f"{name}=1 MB +- 50%", "--json")
    inputs, told = answered(run)
    assert inputs["program"]["set"] == {name: "1 MB +- 50%"}
    [row] = told["rows"]
    assert row["lower_s"] < row["time_s"] < row["upper_s"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("network.latnecy=1us", "Did you mean network.latency?"),
        ("network.latency=1kg", 'got "1kg"'),
        ("network.latency", "must be a parameter and its value"),
        ("network.latency=", "must be a parameter and its value"),
        ("storage.servers=3", "Give it with -d."),
        ("nothing=3", "They give"),
    ],
)
def test_what_cannot_be_set_is_refused(parcast, given, said):
    run = parcast("predict", PROGRAM, MACHINE, "-p", "4", "--set", given)
    assert run.status == 2
    assert run.err.startswith("parcast: --set ")
    assert said in run.err


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_a_table_has_no_amounts_to_set(parcast, command):
    run = parcast(command, ROOT / "examples" / "nas_bt" / "times.csv", *FASTER)
    assert run.status == 2
    assert "--set requires PROGRAM" in run.err


def test_what_runs_told_of_the_error_of_the_law_stays(parcast, file):
    error = """
[[law_error]]
law = "spmd"
platform = "a switched network"
error = 3.0
runs = "some"
least = 1
largest = 64
"""
    known = file(PROGRAM.read_text(encoding="utf-8") + error, "program.toml")
    widths = []
    for program in (PROGRAM, known):
        run = parcast("predict", program, MACHINE, "-p", "4", "--set", "io.volume=1 MB", "--json")
        [row] = answered(run)[1]["rows"]
        widths.append(row["upper_s"] / row["time_s"])
    assert widths[1] > 2 * widths[0]
