"""`parcast.cli.kinds`: what a file holds, and files of a command in any order."""

import io
import os
import sys

import click
import pytest

from parcast.cli.kinds import MACHINE, PROGRAM, ArgumentPlace, in_places, kind_of, kind_of_text
from parcast.cli.reading import read_description
from parcast.descriptions.toml_files import read_machine
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"
TIMINGS = ArgumentPlace("TIMINGS", "table of timings", ("timings",))


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.toml")), ids=lambda path: path.name)
def test_descriptions_are_told_apart(path):
    text = path.read_text()
    expected = "program" if "[[phase]]" in text else "machine"
    if "[messages]" in text:
        expected = "costs"
    assert kind_of(str(path)) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", ""),
        ("# a comment alone\n", ""),
        ('name = "nothing more"', ""),
        ("[[phase]\nlaw = ", "program"),  # damaged
        ("name = 'x'\n[network\nlatency = 1 us", "machine"),
        ("processors = 4", "machine"),
        ("phase = [{law = 'spmd'}]", "program"),
        ("name = 'x'\n\n[[phase]]\ncompute = {parallel = '1 s'}", "program"),
        ("[[phase]]\nnetwork = 3", "program"),
        ("p,time_s\n1,2\n", "timings"),
        ("# runs\np,time_s\n", "timings"),
        ('{"results": [1]}', "timings"),
        ('[{"p": 1}]', "timings"),
        ("PARAMETER p\n", "timings"),
    ],
)
def test_the_keys_tell_though_the_file_may_be_damaged(text, kind):
    assert kind_of_text(text, "file") == kind


def test_a_damaged_program_is_read_as_one(parcast, tmp_path):
    program = tmp_path / "program.toml"
    program.write_text("name x\n[[phase]]\n")
    machine = EXAMPLES / "btio" / "sp2.toml"
    for command in ("predict", "match"):
        said = parcast(command, machine, program, "-p", "4")
        assert said.status == 3
        assert "program.toml: 1 problem\n  line 1  must be " in said.err


def test_a_file_that_is_not_text_is_called_so(parcast, file):
    said = parcast("predict", file(b"\x00p\x01", "bin.csv"), EXAMPLES / "btio/sp2.toml", "-p4")
    assert said.status == 2
    assert "needs one program file; " in said.err
    assert "bin.csv is not text." in said.err


def test_of_a_pipe_nothing_is_taken(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert kind_of(str(pipe)) == ""


def placed(folder, names, places=(PROGRAM, MACHINE)):
    """Put files into places as a command does."""
    argument = click.Argument(["files"], nargs=-1, metavar="PROGRAM MACHINE")
    ctx = click.Context(click.Command("predict", params=[argument]), info_name="predict")
    texts = {"p": "[[phase]]\n", "m": "[network]\n", "t": "p,time_s\n", "u": "name = 'x'\n"}
    for name in names:
        if name[0] in texts:
            (folder / name).write_text(texts[name[0]])
    return in_places(ctx, names, places)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "places", "expected"),
    [
        (["p1", "m1"], (PROGRAM, MACHINE), [["p1"], ["m1"]]),
        (["m1", "p1"], (PROGRAM, MACHINE), [["p1"], ["m1"]]),
        (["u1", "p1"], (PROGRAM, MACHINE), [["p1"], ["u1"]]),
        (["absent", "m1"], (PROGRAM, MACHINE), [["absent"], ["m1"]]),
        (["u1", "u2"], (PROGRAM, MACHINE), [["u1"], ["u2"]]),
        (["t1", "m1", "p1"], (PROGRAM, TIMINGS, MACHINE), [["p1"], ["t1"], ["m1"]]),
    ],
)
def test_files_take_the_places_that_suit_them(folder, names, places, expected):
    assert placed(folder, names, places) == expected


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["p1", "p2"], "predict needs one machine file; p1 and p2 are both programs."),
        (["p1", "p2", "p3"], "predict needs one machine file; p1, p2 and p3 are all programs."),
        (["p1", "p2", "m1"], "predict needs one program file; p1 and p2 are both programs."),
        (["p1"], "predict needs one machine file; p1 is a program."),
        (["t1", "m1"], "predict needs one program file; t1 is a table of timings."),
        (["p1", "m1", "t1"], "predict reads PROGRAM MACHINE; t1 is a table of timings."),
        (["p1", "m1", "u1"], "predict reads PROGRAM MACHINE; u1 is one file too many."),
        (["u1"], "MACHINE must be given. Usage: predict [OPTIONS] PROGRAM MACHINE"),
    ],
)
def test_what_is_missing_or_too_much_is_named(folder, names, says):
    with pytest.raises(click.UsageError) as caught:
        placed(folder, names)
    assert caught.value.message == says


def test_standard_input_is_read_once_and_whole(monkeypatch):
    text = b"[network]\n" + b"# much of it\n" * 20_000 + b'[compute]\nrate = "1 Gflop/s"\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert kind_of("-") == "machine"
    assert kind_of("-") == "machine"
    machine, source = read_description("-", read_machine, argument="MACHINE")
    assert machine.compute.rate({}) == 1e9
    assert source["file"] == "standard input"
