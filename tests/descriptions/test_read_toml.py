"""Machines and programs from files: what is read, and every fault with its line."""

from pathlib import Path

import pytest

from parcast.descriptions.toml_files import (
    LARGEST,
    as_machine,
    as_machines,
    as_program,
    read_machine,
    read_program,
)
from parcast.errors import FileProblems, ParameterError

EXAMPLES = Path(__file__).parents[2] / "examples"


def problems(read, content, folder):
    path = folder / "given.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileProblems) as refusal:
        read(path)
    return [(x.line, x.field, x.message) for x in refusal.value.problems]


def test_the_examples_are_read():
    machine = read_machine(EXAMPLES / "btio" / "sp2.toml")
    program = read_program(EXAMPLES / "btio" / "program.toml")
    assert machine.storage.servers == 3
    assert str(program.phase[0].communication.messages) == "6*sqrt(p)"


@pytest.mark.parametrize("content", ["\ufeffname = 'x'\n", "name = 'x'\r\nprocessors = 3\r\n"])
def test_a_mark_at_the_start_and_other_line_ends_do_not_matter(content, tmp_path):
    (tmp_path / "m.toml").write_bytes(content.encode())
    assert read_machine(tmp_path / "m.toml").name == "x"


def test_every_fault_has_its_line(tmp_path):
    text = """\
name = "x"
[compute]
rate = "3 MB"
[network]
latency = "1 us"
bandwith = "3 MB/s"
"""
    assert [(line, field) for line, field, _ in problems(read_machine, text, tmp_path)] == [
        (3, "compute.rate"),
        (6, "network.bandwith"),
    ]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e-400", "1_000.5e999"])
def test_a_number_that_is_no_float_is_refused_as_it_is_written(number, tmp_path):
    (problem,) = problems(read_machine, f'name = "x"\n[compute]\nrate = {number}\n', tmp_path)
    says = f"must have numbers between 1e-308 and 1e308, got {number}. Correct it."
    assert problem == (3, "", says)


def test_faults_of_phases_have_their_lines(tmp_path):
    text = """\
[[phase]]
law = "spmd"
io = { volume = "3 s" }

[[phase]]  # the second
law = "spmd"
bursts = "often"
[phase.compute]
parallel = "3 MB"
[phase.io]
kind = "sync"

[[phase]]
law = "smpd"
"""
    found = problems(read_program, text, tmp_path)
    assert [(line, field) for line, field, _ in found] == [
        (3, "phase 1, io.volume"),
        (7, "phase 2, bursts"),
        (9, "phase 2, compute.parallel"),
        (11, "phase 2, io.kind"),
        (14, "phase 3, law"),
    ]


def test_a_fault_of_a_whole_table_has_the_line_of_its_header(tmp_path):
    text = "[storage]\nservers = 2\n[network]\nsaturation = '1 MB/s'\ncontention = 0.3\n"
    ((line, field, message),) = problems(read_machine, text, tmp_path)
    assert (line, field) == (3, "network")
    assert "must be left out" in message


def test_a_phase_in_an_inline_list_has_the_line_of_the_list(tmp_path):
    ((line, _, _),) = problems(read_program, "phase = [{law = 'spmd', cycle = 3}]\n", tmp_path)
    assert line == 1


@pytest.mark.parametrize(
    "text",
    ["[compute]\nrate = '1 Mflop/s'\n", "[price]\nprocessor_hour = 0.1\n", "processors = 4\n"],
)
def test_a_machine_is_no_program(text, tmp_path):
    ((_, _, message),) = problems(read_program, text, tmp_path)
    assert "has no [[phase]], like a machine. Check the order of the files." in message


def test_a_description_is_taken_as_it_is_or_read_by_its_path():
    files = EXAMPLES / "btio"
    program, machine = read_program(files / "program.toml"), read_machine(files / "sp2.toml")
    assert as_program(program) is program
    assert as_machine(machine) is machine
    assert as_program(files / "program.toml") == as_program(str(files / "program.toml")) == program
    assert as_machine(str(files / "sp2.toml")) == machine
    assert as_machines(files / "sp2.toml") == as_machines([machine]) == [machine]
    with pytest.raises(FileProblems, match="must describe a program"):
        as_program(files / "sp2.toml")
    with pytest.raises(ParameterError, match=r"machines\[1\] must be a Machine, got dict. Give"):
        as_machines([machine, {}])


def test_an_unknown_key_that_looks_like_a_phase_of_any_number_is_named(tmp_path):
    key = f"phase {'9' * 5000}"
    ((_, _, message),) = problems(read_machine, f'name = "x"\n"{key}" = 1\n', tmp_path)
    assert "known key" in message


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a =\n", 1, "must be valid TOML, such as"),
        ("a = 3\na = 4\n", 2, "must be valid TOML, such as"),
        ('a = "x\n', 1, "must be valid TOML, such as"),
        ("a = [1,\n", 2, "must be valid TOML, such as"),
        (b"name = '\xff'\n", 1, "must be text in UTF-8"),
        ("", None, "must describe a machine, but is empty"),
        ("# nothing\n", None, "must describe a machine, but is empty"),
        ("x = 1\n" + "#" * LARGEST, None, "must have at most 1,000,000 bytes"),
        ("a = " + "[" * 5000, 1, "must have at most 30 levels, got more"),
        ("[price]\nprocessor_hour = 1\n[[phase]]\n", None, "has phases like a program"),
        ("[[phase]]\nlaw = 'spmd'\n", None, "has phases like a program. Check the order of the"),
    ],
    ids=range(11),
)
def test_what_is_no_machine_is_refused(content, line, message, tmp_path):
    ((found_line, _, found),) = problems(read_machine, content, tmp_path)
    assert message in found
    assert line is None or found_line == line
