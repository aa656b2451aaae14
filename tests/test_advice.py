"""Command lines that messages advise: made in one place, and of commands and options there are."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast.advice import Choice, Command, File, ours, quoted, spelled_by
from parcast.cli import COMMANDS
from parcast.errors import Argument
from tests.advising import commands_in_module, every_command, faults_of, options_of

ROOT = Path(parcast.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TOOLS = "awk|bzip2|cali-query|chmod|cp|gunzip|gzip|iconv|jq|mkdir|mv|sacct|sed|split|srun|tr|unzip"
A_COMMAND = re.compile(
    rf"\bparcast ({'|'.join(COMMANDS)})\b|(?<![\w-])({TOOLS}|darshan-parser) +(-\w|'|\{{)"
)
AN_OPTION = re.compile(r"(?<![\w'\"-])(--[a-z][a-z-]+|-[a-zA-Z](?![\w-]))")
IS_DECLARED = re.compile(r"(--?[\w-]+(/--[\w-]+)? ?)+([a-z_]+)?")
DECLARES = re.compile(r"(\w+_)?(option|flag)")  # functions

# Modules whose texts name commands or options and advise nothing; each with why.
EXCEPTIONS = {
    "advice.py": "makes them",
    "cli/__init__.py": "command lines to try first",
    "reports/demo.py": "command lines to try next",
    "cli/answering.py": "maps options of other programs to those of the command, which it asks",
    "cli/failures.py": "maps arguments to options, which it checks against the command",
    "cli/described.py": "refuses --set, of which it is the reader",
    "cli/outputs.py": "refuses -o and --json, of which it is the reader",
    "cli/law_error_output.py": "refuses what -o names, as cli/outputs.py does",
    "cli/screen.py": "an answer that is shortened has been asked for with -v, --all or -o",
    "arrays/trials/request.py": "describes a key of a file by the option that uses it",
    "deciding/goals/result.py": "an option of sbatch, to be copied from an answer",
    "deciding/proposal/sites.py": "options of the command that its sheet prints",
    "forecasting/asked.py": "refuses options of `forecast`, of which it is the reader",
    "show/pictures/elements.py": "names of colours that a style sheet sets",
    "web/command.py": "an option of ssh, to be copied",
    "templates/command.py": "the help of the command, in pieces",
    "templates/machine.py": "comments of a file, which say which command measures a value",
    "calibration/benchmarks/osu.py": "a pattern for options of mpirun and srun",
    "kernels/__main__.py": "the name of a program in its help",
    "kernels/command.py": "the help of the command, in pieces",
    "pipeline/sheet.py": "an answer that is shortened, as in cli/screen.py",
    "testbed/testbed.py": "the arguments of unshare, which it starts",
    "cli/batch_script.py": "directives of batch scripts, which tests of measurement submit",
    "characterisation/recording/command.py": "options of mpirun, which the user starts",
    "calibration/command.py": "a batch script, whose lines the tests of calibration run",
    "pipeline/options.py": "a batch script, whose lines the tests of pipelines run",
    "calibration/benchmarks/ior.py": "options of IOR",
    "arrays/calibration/result.py": "says which command wrote a file",
    "calibration/machine_file.py": "says which command wrote a file",
    "measurement/batch.py": "a batch script, which tests of measurement submit",
    "measurement/batch_command.py": "refuses options of `measure`, of which it is the reader",
    "measurement/findings.py": "options of the command that its sheet prints",
    "measurement/jobs.py": "says which command wrote a file",
    "measurement/sheet.py": "options of the command that its sheet prints",
    "measurement/slurm.py": "options of squeue, which it asks",
    "measurement/table.py": "says which command wrote a file",
    "descriptions/machine.py": "describes a key of a file: which command writes it",
    "descriptions/program.py": "describes a key of a file: which command writes it",
    "descriptions/toml_files.py": "says which command wrote a file",
    "importers/darshan.py": "names what a file must be by the tools that write it",
    "importers/google_benchmark.py": "names what a file must be by the tool that writes it",
    "forecasting/memory/command.py": "refuses options of `forecast`, of which it is a part",
    "importers/gnu_time.py": "names what a file must be by the tool that writes it",
    "importers/hyperfine.py": "names what a file must be by the tool that writes it",
    "importers/pyperf.py": "names what a file must be by the tool that writes it",
    "importers/pytest_benchmark.py": "names what a file must be by the tool that writes it",
    "importers/talp.py": "a setting of the tool that writes the files",
    "importers/slurm.py": "names what a file must be by the tool that writes it",
}


MAY_ADVISE = re.compile(
    rf"--[a-z]|(?<!\w)-[a-zA-Z](?!\w)|parcast |(?<!\w)({TOOLS}|darshan-parser) "
)


def literals_of(path):
    """Texts in a module that may be shown: no docstrings, help of options, or declared options."""
    source = path.read_text(encoding="utf-8")
    if not MAY_ADVISE.search(source):
        return
    nodes = [*ast.walk(ast.parse(source))]
    left_out = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help", "epilog"):
            left_out |= {id(x) for x in ast.walk(node.value)}
        elif isinstance(node, ast.Call) and called(node) in MADE:
            left_out |= {id(x) for x in ast.walk(node)}
        elif isinstance(node, ast.Call) and DECLARES.fullmatch(called(node)):
            left_out |= {id(x) for x in node.args}
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        text = node.value
        is_help = "Exit status:" in text
        if id(node) not in left_out and not is_help and not IS_DECLARED.fullmatch(text.strip()):
            yield node.lineno, text


def called(node):
    """Name of what is called, without that of its module."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


MADE = ("Command", "ours")


def own_options(path):
    """Options of the commands that a module defines."""
    module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    return {x for command in commands_in_module(module) for x in options_of(command)}


def test_command_lines_and_options_in_messages_are_made_in_one_place():
    """Commands are made with `advice`, options are named with `Argument`."""
    written = []
    for path in FILES:
        if str(path.relative_to(ROOT)) in EXCEPTIONS:
            continue
        own = own_options(path)
        for line, text in literals_of(path):
            named = {match[1] for match in AN_OPTION.finditer(text)}
            if A_COMMAND.search(text) or not named <= own:
                written.append(f"{path.relative_to(ROOT)}:{line}: {text}")
    assert written == []


def test_exceptions_are_needed():
    needed = {"advice.py"}
    for name in EXCEPTIONS:
        own = own_options(ROOT / name)
        for _, text in literals_of(ROOT / name):
            if A_COMMAND.search(text) or {m[1] for m in AN_OPTION.finditer(text)} - own:
                needed.add(name)
    assert EXCEPTIONS.keys() - needed == set()


def made_by(path):
    """Words of each `ours(...)` of a module, some other word for one that is no literal."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)) if "ours(" in source else ():
        if isinstance(node, ast.Call) and called(node) == "ours":
            yield [x.value if isinstance(x, ast.Constant) else "WORD" for x in node.args]


def test_commands_and_options_that_are_advised_exist():
    assert [fault for path in FILES for words in made_by(path) for fault in faults_of(words)] == []


def test_faults_are_found():
    assert faults_of(["impotr", "x"])
    assert faults_of(["forecast", "x", "--set", "p=4"]) == [
        "forecast x --set p=4: no option --set"
    ]
    assert not faults_of(["run", "pipeline", "job.py", "--trace", "x"])
    assert faults_of(["run", "sort", "--trace"])
    assert len(every_command()) > 20


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(words=st.lists(names, min_size=1, max_size=3))
def test_a_shell_takes_words_as_they_were(words):
    line = " ".join(map(quoted, ["printf", "%s\\0", *words]))
    said = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == words


def test_a_name_that_is_no_text_reaches_the_shell_as_its_bytes():
    line = f"printf %s {quoted(chr(0xDCFF) + 'x')}"
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout == b"\xffx"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (ours("import", "osu", File("a b"), "-o", "x"), "parcast import osu 'a b' -o x"),
        (ours("import", File("standard input")), "parcast import -"),
        (ours("forecast", File("--knee")), "parcast forecast ./--knee"),
        (Command(("tr", "\\t", ","), reads="standard input"), "tr '\\t' , < FILE"),
        (Command(("tr", ";", ","), reads="-x", writes="y"), "tr ';' , < ./-x > y"),
        (ours("run", "sort", "-np", Choice("COUNT")), "parcast run sort -np COUNT"),
        (
            Command(("gzip", "-dc"), reads="a'", into=Command(("split", "-"))),
            """gzip -dc < 'a'"'"'' | split -""",
        ),
    ],
)
def test_a_command_line_is_one_for_a_shell(command, line):
    assert str(command) == line
    assert shlex.split(line)


def test_who_runs_spells_arguments_and_commands():
    with spelled_by(lambda part: "<" + getattr(part, "name", "command") + ">"):
        assert f"{Argument('by', ['x'])} {ours('fit')}" == "<by> <command>"
    assert f"{Argument('by', ['x'])} {ours('fit')}" == "by=['x'] parcast fit"
