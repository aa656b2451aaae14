"""`parcast characterise`: a description of a program, from profiles of its timed regions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import answer_options, as_written, option
from parcast.cli.outputs import ANSWERS, Outputs, with_inputs
from parcast.cli.reading import read_description, read_file, table_options
from parcast.cli.stdin import require_one_stdin

if TYPE_CHECKING:
    from parcast.characterisation.result import Characterisation
    from parcast.timings.tables.options import TableOptions


FORMATS: Final = ("toml", *ANSWERS)

HELP = """Describe a program by profiles of its timed regions.

Prints formulas in n and p: of loops the iterations and the time of one, of calls the bytes, of
work without counted iterations its time. -o program.toml writes a program file for `parcast
predict` and `parcast match`.

PROFILE is written by parcast record, or by a program whose regions are marked with parcast.region,
run with PARCAST_PROFILE=PROFILE; one file may hold many runs. Or it is a file of Caliper, Score-P
or TALP, one for each run. Runs at two or more problem sizes are needed, each on one and on several
processors.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  the runs do not determine the times of the regions

\b
Examples:
  parcast characterise stencil.jsonl -o program.toml
  parcast characterise p2.cubex p4.cubex p8.cubex --machine here.toml --json
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterisationAsked:
    """What the command line says."""

    profiles: tuple[str, ...]  # files
    machine: str | None
    plain: str | None
    size: str
    clock: str | None
    name: str | None
    table: "TableOptions"  # how the table is read


@cli_command(
    name="characterise",
    help=HELP,
)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=A_FILE)
@option("--machine", A_FILE, "TOML file of the machine of the runs.", metavar="MACHINE")
@option("--plain", A_FILE, "CSV table of times of the same runs without regions.", metavar="FILE")
@table_options
@option(
    "-n --size size",
    "NAME",
    "Parameter of the runs that is the problem size.",
    default="n",
)
@option(
    "--clock",
    OneOf(["processor", "wall"]),
    "Clock for loops. By default processor time where profiles have it.",
)
@option("--name", "TEXT", "Name of the program in the description.")
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

    question = CharacterisationAsked(**options)
    files = [*question.profiles, *filter(None, [question.machine, question.plain])]
    require_one_stdin(ctx, files)
    outputs.check(files)
    program = _characterised(question)
    outputs.give(program, write=lambda path: write_document(path, [program.toml]))
    return ANSWERED


def _characterised(question: CharacterisationAsked) -> "Characterisation":
    """Read the files and compute the answer."""
    from dataclasses import replace

    from parcast.characterisation.characterise import characterise
    from parcast.characterisation.profiles.reading import read_profiles
    from parcast.descriptions.toml_files import read_machine

    read = read_profiles(question.profiles)
    machine, from_machine = None, None
    if question.machine is not None:
        machine, from_machine = read_description(
            question.machine, read_machine, argument="MACHINE"
        )
    plain = None
    if question.plain is not None:
        plain, _ = read_file(question.plain, (), question.table, argument="--plain")
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
