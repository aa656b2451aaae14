"""`parcast project`: run times from what was counted of a program, and a machine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.options import (
    Counts,
    answer_options,
    column_option,
    processors,
    repeated_option,
)
from parcast.cli.outputs import TABLES, Outputs
from parcast.cli.stdin import require_one_stdin
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.descriptions.program import Program
    from parcast.projection.result import CountedProjection


MOST_NAMED: Final = 12  # programs in one message

HELP = """Predict run times of a program on a machine with few runs, from counted work.

Prints the time at each processor count of -p with its 90 % interval.

COUNTS is a table with a row for each p: computing, messages, bytes and calls of collectives of all
ranks together. MACHINE is a TOML file with the network and, if possible, the primitives. "-" is
standard input, for one file. One run on the machine (--known), best at p = 1, gives its computing
speed. Runs on other machines, each described by a file, correct what the counts leave out.

LIST is a list of processor counts: 64,128 or 1..16 or 1..1024x2 (doubling).

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no prediction is possible: a rate is missing, a donor is not
                described, or a run is shorter than its communication

\b
Examples:
  parcast project counts.csv new.toml -p 4,16,64 --known one_run.csv
  parcast project counts.csv new.toml -p 64 --known one_run.csv \\
      --donors old_runs.csv --donor-machine old.toml
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked on the command line."""

    counts_file: str  # files
    machine: str
    p: Counts
    name: str | None  # of the program
    known: str | None  # files
    donors: str | None
    described: tuple[str, ...]
    columns: dict[str, str]  # columns and what the tables of runs call them

    def files(self) -> list[str]:
        """Files that are read."""
        runs = [x for x in (self.known, self.donors) if x]
        return [self.counts_file, self.machine, *runs, *self.described]


@cli_command(
    name="project",
    help=HELP,
    short_help="Predict run times from counted work and one measured run.",
)
@click.argument("counts_file", metavar="COUNTS", type=A_FILE)
@click.argument("machine", type=A_FILE)
@processors("Processor counts.", required=True)
@click.option("--program", "name", metavar="NAME", help="Program, if COUNTS has several.")
@click.option(
    "--known",
    metavar="FILE",
    type=A_FILE,
    help="Table of runs on the machine; those at the lowest count are used.",
)
@click.option(
    "--donors",
    metavar="FILE",
    type=A_FILE,
    help="Table of runs on other machines, with a column machine.",
)
@repeated_option(
    "--donor-machine",
    "FILE",
    "Description of a machine of --donors, with the same name.",
    None,
    "described",
)
@column_option("--known and --donors")
@answer_options(TABLES)
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Question(**options)
    files = question.files()
    require_one_stdin(ctx, files)
    if bool(question.donors) != bool(question.described):
        raise click.UsageError(
            "--donors and --donor-machine require each other: the runs and the machines. Add the "
            "other.",
            ctx,
        )
    outputs.check(files)
    outputs.give(_projected(question))
    return ANSWERED


def _projected(question: Question) -> "CountedProjection":
    """Read the files and compute the answer."""
    from parcast.cli.reading import columns_in, read_description, read_file
    from parcast.descriptions.toml_files import read_machine
    from parcast.projection.counted import project_counts
    from parcast.projection.read_counts import read_counts

    programs, _ = read_description(question.counts_file, read_counts, argument="COUNTS")
    on, _ = read_description(question.machine, read_machine, argument="MACHINE")
    others = [
        read_description(x, read_machine, argument="--donor-machine")[0]
        for x in question.described
    ]
    tables = [file for file in (question.known, question.donors) if file]
    runs: dict[str, Any] = {
        file: read_file(
            file, (), *columns_in(file, among=tables, ignore=(), columns=question.columns)
        )[0]
        for file in tables
    }
    program = _chosen(programs, question.name)
    with spelled_with(OPTIONS | AXES, NoAnswer):
        return project_counts(
            program,
            on,
            question.p.values,
            known=runs.get(question.known or ""),
            donors=runs.get(question.donors or ""),
            donor_machines=others,
        )


def _chosen(programs: "tuple[Program, ...]", name: str | None) -> "Program":
    """Give the program of this name, or the only one there is."""
    by_name = {program.name: program for program in programs}
    listed = ", ".join(shown(repr(x)) for x in list(by_name)[:MOST_NAMED])
    if name is None and len(programs) > 1:
        raise click.UsageError(f"--program must name one of the programs: {listed}.")
    if name is not None and name not in by_name:
        raise click.UsageError(
            f"--program must be a program of COUNTS, got {name!r:.60}. There are: {listed}."
        )
    return programs[0] if name is None else by_name[name]
