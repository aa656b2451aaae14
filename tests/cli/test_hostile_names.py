"""No name, from whatever place, commands a terminal, turns a line, or begins one that is ours."""

import csv
import io
import json
import os
import pty
import re
import subprocess
from xml.etree import ElementTree

import pytest

from parcast.show.html import html_of
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.show.warning import Rank, RankedWarning
from tests.conftest import COMMAND, ROOT, shown_on

BTIO = ROOT / "examples" / "btio"
ESCAPES = {
    "on one line": "\x1b[2J\x1b]0;own\x07\x9b3m\x08\x7f\u202etxt.\u2066\u2028parcast: forged\x85",
    "on several": "\nparcast: forged\r  line 3  forged\x1b[1A",
}
IN_LABELS = ("on one line",)  # none has line breaks
IN_FILES = {name: f"{text}\udcff" for name, text in ESCAPES.items()}  # those may be any bytes
NAME = "nm7"  # what each hostile name begins with
FORGED = re.compile(r"\s*(parcast: forged|line 3  forged)")
OURS = re.compile(r"\x1b\[[0-9;]*m")  # colours


def require_quiet(said, *, is_named=True):
    """Require that nothing but printable text and our own line breaks was printed."""
    for text in (said.out, said.err):
        lines = text.split("\n")
        assert [line for line in lines if not line.isprintable()] == []
        assert not any(FORGED.match(line) for line in lines)
    assert NAME in said.out + said.err or not is_named


def quoted(text):
    """A cell of a CSV file."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow([text, ""])
    return written.getvalue().removesuffix(",")


def in_machine(name):
    return {
        "an unknown key": f"{json.dumps(name)} = 1\n",
        "an unknown table": f"[{json.dumps(name)}]\na = 1\n",
        "a value": f"[network]\nlatency = {json.dumps(f'5 {name}')}\n",
        "a number": f"processors = {json.dumps(name)}\n",
    }


def in_program(name):
    written = json.dumps(name)
    law = '[[phase]]\nlaw = "spmd"\n'
    phase = f'{law}compute = {{parallel = "1 s"}}\n'
    return {
        "an unknown key": f"{phase}{written} = 1\n",
        "a law": f"[[phase]]\nlaw = {written}\n",
        "a phase twice": 2 * f"{phase}name = {written}\n",
        "a value": f"{law}compute = {{parallel = {json.dumps(f'5 {name}')}}}\n",
        "costs": f'{law}[phase.io]\nlaw = "array_io"\nshape = [8]\ncosts = {written}\n',
        "a law of I/O": f"{law}[phase.io]\nlaw = {written}\n",
    }


@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize("case", in_machine(""))
def test_a_machine_that_is_refused(parcast, tmp_path, case, kind):
    machine = tmp_path / "machine.toml"
    machine.write_text(in_machine(f"{NAME}{ESCAPES[kind]}")[case])
    said = parcast("predict", BTIO / "program.toml", machine, "-p", "4")
    assert said.status == 3
    require_quiet(said)


@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize("case", in_program(""))
def test_a_program_that_is_refused(parcast, tmp_path, case, kind):
    program = tmp_path / "program.toml"
    program.write_text(in_program(f"{NAME}{ESCAPES[kind]}")[case])
    said = parcast("predict", program, BTIO / "sp2.toml", "-p", "4")
    assert said.status == 3
    require_quiet(said)


@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize(
    "command",
    [
        ("predict", "-p", "1,4"),
        ("predict", "-p", "1,4", "-d", "1,2", "--vary", "network.latency=1..4x2 us", "-v"),
        ("simulate", "-p", "2", "--precision", "50%"),
        ("match", "-p", "1..8x2", "-v"),
    ],
    ids=" ".join,
)
def test_names_in_descriptions_that_are_used(parcast, tmp_path, kind, command):
    name = f"{NAME}{ESCAPES[kind]}"
    program, machine = tmp_path / "program.toml", tmp_path / "machine.toml"
    text = (BTIO / "program.toml").read_text()
    phase = (
        f'\n[[phase]]\nlaw = "spmd"\nname = {json.dumps(name)}\ncompute = {{parallel = "1 s"}}\n'
    )
    program.write_text(text.replace('"BTIO, class A"', json.dumps(name)) + phase)
    text = (BTIO / "sp2.toml").read_text()
    machine.write_text(text.replace('"IBM SP-2"', json.dumps(name)))
    said = parcast(command[0], program, machine, *command[1:])
    assert said.status in {0, 1}, said.err
    require_quiet(said)


@pytest.mark.fault(
    "Files that are read",
    "Names with escape sequences, line ends or other control characters.",
    promise="They reach a terminal as visible escapes.",
)
@pytest.mark.parametrize("kind", IN_LABELS)
def test_names_in_a_table_that_is_used(parcast, kind):
    name = f"{NAME}{ESCAPES[kind]}"
    table = "machine,callpath,p,time_s\n" + "".join(
        f"{quoted(name)},{quoted(path)},{p},{5 + 95 / p}\n"
        for path in (name, f"main->{name}")
        for p in (1, 2, 4, 8)
    )
    for option in ([], ["--knee"], ["--hold-out", "8", "-v"]):
        require_quiet(parcast("forecast", "-", "-p", "16,100000", *option, stdin=table))
    require_quiet(parcast("forecast", "-", "--select", "machine=T3E", stdin=table))
    require_quiet(parcast("forecast", "-", "--target", "T3E", "-p", "16", stdin=table))


HEADERS = {
    "a column": "p,time_s,{}\n1,2,3\n2,1,\n",
    "a column twice": "p,time_s,{0},{0}\n1,2,3,4\n",
    "a column of time": "p,{}\n1,2\n",
    "a count": "p,time_s\n{},2\n",
    "a metric": "p,metric,value\n1,{},2\n",
}


@pytest.mark.parametrize("kind", ESCAPES)
@pytest.mark.parametrize("case", HEADERS)
def test_a_table_that_is_refused(parcast, case, kind):
    table = HEADERS[case].format(*[quoted(f"{NAME}{ESCAPES[kind]}")] * 2)
    said = parcast("forecast", "-", "-p", "4", stdin=table)
    assert said.status == 3
    require_quiet(said, is_named=kind in IN_LABELS)


ARGUMENTS = {
    "a command": ["{}"],
    "an option": ["forecast", "{times}", "--{}"],
    "a value that is no file": ["forecast", "{}.csv", "-p", "4"],
    "a second file": ["forecast", "{times}", "{}", "-p", "4"],
    "a count": ["forecast", "{times}", "-p", "{}"],
    "a range": ["forecast", "{times}", "-p", "1..{}"],
    "a selection": ["forecast", "{times}", "-p", "4", "--select", "{}"],
    "a value of a selection": ["forecast", "{times}", "-p", "4", "--select", "p={}"],
    "a column of a selection": ["forecast", "{times}", "-p", "4", "--select", "{}=1"],
    "a column to ignore": ["forecast", "{times}", "-p", "4", "--ignore", "{}"],
    "a column by another name": ["forecast", "{times}", "-p", "4", "--column", "n={}"],
    "a place of an output": ["forecast", "{times}", "-p", "4", "-o", "{}"],
    "a folder of an output": ["forecast", "{times}", "-p", "4", "-o", "{}/x.csv"],
    "donors": ["forecast", "{times}", "-p", "4", "--donors", "{}"],
    "a knee": ["forecast", "{times}", "--knee={}"],
    "a program file": ["predict", "{}", "{machine}", "-p", "4"],
    "a machine file": ["predict", "{program}", "{}", "-p", "4"],
    "a parameter": ["predict", "{program}", "{machine}", "-p", "4", "--vary", "{}=1..2"],
    "values of one": [
        "predict",
        "{program}",
        "{machine}",
        "-p",
        "4",
        "--vary",
        "network.latency={}",
    ],
    "a word": ["predict", "{program}", "{machine}", "-p", "4", "--picture", "{}"],
    "a file to import": ["import", "{}"],
    "a format": ["import", "{}", "{times}"],
    "a constant": ["import", "hyperfine", "{times}", "--set", "{}"],
    "a program to run": ["run", "{}"],
    "a program to validate": ["validate", "{}"],
    "a store": ["arrays", "verify", "{}"],
    "a part": ["plan", "{}"],
    "a limit": ["match", "{program}", "{machine}", "--within", "{}"],
    "a price": ["match", "{program}", "{machine}", "-p", "4", "--price", "{}=3"],
    "a fitted parameter": ["fit", "{program}", "{machine}", "{times}", "--free", "{}"],
    "a size": ["plan", "io", "{}"],
    "an axis": ["forecast", "{times}", "--at", "{}"],
    "a part to calibrate": ["calibrate", "--only", "{}"],
    "a folder to calibrate": ["calibrate", "--only", "storage", "--directory", "{}"],
    "a file of benchmarks": ["calibrate", "--from", "{}"],
    "profiles": ["characterise", "{}"],
}


@pytest.mark.parametrize("kind", IN_FILES)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_are_refused(parcast, times, monkeypatch, case, kind):
    monkeypatch.chdir(times.parent)
    files = {"times": times, "program": BTIO / "program.toml", "machine": BTIO / "sp2.toml"}
    said = parcast(*(x.format(f"{NAME}{IN_FILES[kind]}", **files) for x in ARGUMENTS[case]))
    assert said.status in {1, 2, 3, 4}
    require_quiet(said, is_named=case != "a price")


@pytest.mark.parametrize("kind", IN_FILES)
def test_files_that_are_there(parcast, tmp_path, kind):
    folder = tmp_path / f"{NAME}{IN_FILES[kind]}"
    folder.mkdir()
    table, wrong = folder / "times.csv", folder / "machine.toml"
    table.write_text("p,time_s\n1,100\n2,52\n4,28\n8,16\n")
    wrong.write_text("compute = 3\n")
    require_quiet(parcast("forecast", table, "-p", "16", "--donors", table), is_named=False)
    require_quiet(parcast("forecast", folder, "-p", "16"))
    require_quiet(parcast("forecast", table, "-p", "16", "-o", table))
    require_quiet(parcast("predict", BTIO / "program.toml", wrong, "-p", "4"))
    require_quiet(parcast("predict", wrong, wrong, "-p", "4"))
    require_quiet(parcast("fit", BTIO / "program.toml", BTIO / "sp2.toml", wrong))
    (folder / "read only.csv").write_text("")
    (folder / "read only.csv").chmod(0o444)
    require_quiet(parcast("forecast", table, "-p", "16", "-o", folder / "read only.csv"))


@pytest.mark.parametrize("kind", IN_LABELS)
def test_files_of_other_tools(parcast, tmp_path, kind):
    name = f"{NAME}{ESCAPES[kind]}"
    path = tmp_path / "export.json"
    results = [
        {"command": name, "times": [2.0 / p], "parameters": {"p": str(p), name: name}}
        for p in (1, 2, 4)
    ]
    path.write_text(json.dumps({"results": results}))
    said = parcast("import", "hyperfine", path, "-o", tmp_path / "t.csv")
    require_quiet(said, is_named=False)
    require_quiet(parcast("forecast", path, "-p", "8"))


@pytest.mark.parametrize("kind", ESCAPES)
def test_profiles(parcast, tmp_path, kind):
    name = f"{NAME}{ESCAPES[kind]}"
    path = tmp_path / "runs.jsonl"
    text = (ROOT / "examples" / "stencil" / "runs.jsonl").read_text()
    path.write_text(text.replace('"name": "halo"', f'"name": {json.dumps(name)}'))
    require_quiet(parcast("characterise", path, "-v"))
    path.write_text(text.replace('"kind": "halo"', f'"kind": {json.dumps(name)}'))
    require_quiet(parcast("characterise", path))
    path.write_text(text.replace('"span_s"', json.dumps(name), 1))
    require_quiet(parcast("characterise", path), is_named=False)


def test_a_terminal_gets_our_own_colours_and_no_others(tmp_path):
    name = NAME + "".join(ESCAPES.values())
    machine = tmp_path / f"{name}.toml"
    machine.write_text(f"{json.dumps(name)} = 1\n")
    ours, theirs = pty.openpty()
    command = [*COMMAND, "predict", str(BTIO / "program.toml"), str(machine), "-p", "4"]
    running = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=dict(os.environ)
    )
    os.close(theirs)
    seen = shown_on(ours)
    assert running.wait() == 3
    lines = OURS.sub("", seen.decode().replace("\r\n", "\n")).split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert [line[:9] for line in lines] == ["parcast: ", "  line 1 ", ""]


def test_every_text_of_a_sheet_is_a_line_in_html_as_well():
    name = NAME + "".join(IN_FILES.values())
    column = Column(title=name, unit=name, cells=[name], heading=name)
    form = Form(columns=[column], titles=[name], caption=name, legend=name, left_out=name)
    table = Table(title=name, forms=(form,), notes=(Fact(name, name),), legend=name)
    full = Table(in_full=(Entry(title=name, lines=(name,), facts=(Fact(name, name),)),))
    warnings = (name, RankedWarning(name, rank=Rank.SERIOUS), RankedWarning(name, rank=Rank.MINOR))
    sheet = Sheet(
        title=name,
        tables=(table, full),
        facts=(Fact(name, name, is_detail=True),),
        warnings=warnings,
        conclusion=(Fact(name, name),),
        parts=(Sheet(title=name, warnings=warnings, name=name), Sheet(title="other")),
        left_out=name,
    )
    assert html_of(sheet).isprintable()


@pytest.mark.parametrize("command", ["forecast", "predict", "match"])
def test_pictures_show_names_as_terminals_do(parcast, tmp_path, command):
    name = f"{NAME}{ESCAPES['on one line']}"
    table, program, machine = (tmp_path / x for x in ("t.csv", "program.toml", "machine.toml"))
    rows = "".join(f"{quoted(name)},{p},{5 + 95 / p}\n" for p in (1, 2, 4, 8))
    table.write_text(f"machine,p,time_s\n{rows}")
    text = (BTIO / "program.toml").read_text()
    program.write_text(text.replace('"BTIO, class A"', json.dumps(name)))
    text = (BTIO / "sp2.toml").read_text()
    machine.write_text(text.replace('"IBM SP-2"', json.dumps(name)))
    files = [table] if command == "forecast" else [program, machine]
    picture = tmp_path / "picture.svg"
    said = parcast(command, *files, "-p", "4,16", "-o", picture)
    assert said.status in {0, 1}, said.err
    written = picture.read_text()
    ElementTree.fromstring(written)  # a control character is no XML
    assert NAME in written
    assert [line for line in written.split("\n") if not line.isprintable()] == []
