"""`parcast characterise`: profiles of timed regions in, a description of the program out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import OneOf, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import answer_options, as_written
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import read_description

if TYPE_CHECKING:
    from parcast.characterisation.result import Characterisation


FORMATS: Final = ("toml", "json", "csv")

HELP = """Describe a program by its regions, from runs in which they were timed.

PROFILE is what a program wrote whose regions are marked with parcast.region and that ran with
PARCAST_PROFILE=PROFILE; one file may hold many runs. Runs at two sizes or more, each on one and on
several processors, tell how iterations, calls and bytes depend on n and p. What comes out is a
program file for `parcast predict` and `parcast match`.

Loops are timed by processor time unless --clock says otherwise. Communication and files are left
to the figures of the machine that the program is then taken to.

\b
Exit status: 0  characterised
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  the runs do not tell the times of the regions

\b
Examples:
  parcast characterise stencil.jsonl -o program.toml
  parcast characterise p1.jsonl p2.jsonl --machine here.toml --json
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What the command line says."""

    profiles: tuple[str, ...]  # files
    machine: str | None
    plain: str | None
    size: str
    clock: str
    name: str | None


@cli_command(
    name="characterise",
    help=HELP,
    short_help="Describe a program by profiles of its timed regions.",
)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True)
@click.option("--machine", metavar="MACHINE", help="TOML file that describes what it ran on.")
@click.option(
    "--plain", metavar="FILE", help="CSV table of times of the same runs without regions."
)
@click.option(
    "--size", metavar="NAME", default="n", help="Parameter of the runs that is n (default n)."
)
@click.option(
    "--clock",
    type=OneOf(["processor", "wall"]),
    default="processor",
    help="What times the loops (default processor).",
)
@click.option("--name", metavar="TEXT", help="What to call the program.")
@answer_options(FORMATS, toml="the program")
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    from parcast.files.document import write_document

    question = Question(**options)
    files = [*question.profiles, *filter(None, [question.machine, question.plain])]
    if files.count("-") > 1:
        raise click.UsageError("Only one file must be -, got several. Name the others.", ctx)
    outputs.check(files)
    program = _characterised(question)
    outputs.give(program, write=lambda path: write_document(path, [program.toml]))
    return ANSWERED


def _characterised(question: Question) -> "Characterisation":
    """Read the files and compute the answer."""
    from dataclasses import replace

    from parcast.characterisation.characterise import characterise
    from parcast.descriptions.toml_files import read_machine
    from parcast.timings.csv_files import read_measurements
    from parcast.timings.read_profiles import read_profiles

    read = read_profiles(question.profiles)
    machine, from_machine = None, None
    if question.machine is not None:
        machine, from_machine = read_description(
            question.machine, read_machine, argument="MACHINE"
        )
    plain = None if question.plain is None else read_measurements(question.plain)
    program = characterise(
        read.runs,
        size=question.size,
        clock=question.clock,
        machine=machine,
        plain=plain,
        name=question.name,
    )
    return with_inputs(
        replace(program, warnings=(*read.notes, *program.warnings)),
        profiles=[
            {"file": name, "sha256": digest, "runs": runs} for name, digest, runs in read.files
        ],
        machine=from_machine,
        plain=question.plain,
        options=as_written(question, "profiles", "machine", "plain"),
    )
