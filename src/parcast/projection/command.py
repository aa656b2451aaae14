"""`parcast project`: run times on a machine with few runs, from what is known elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, in_options
from parcast.cli.kinds import MACHINE, PROGRAM, ArgumentPlace, in_places, kind_of
from parcast.cli.options import (
    SIZES,
    CountList,
    SizeList,
    answer_options,
    option,
    processors,
    repeated_option,
)
from parcast.cli.outputs import ANSWERS, Outputs
from parcast.cli.reading import table_options
from parcast.cli.stdin import require_one_stdin
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program
    from parcast.projection.result import CountedProjection, Projection
    from parcast.timings.tables.options import TableOptions


MOST_NAMED: Final = 12  # programs in one message
MOST_COUNTS: Final = 64  # processors up to which counts double where none are given [D]
WRONG_USE: Final = ("base", "n", "donors")  # arguments that may not go with the program
COUNTS: Final = ArgumentPlace("COUNTS", "table of counts", ("timings",))
RUN: Final = ArgumentPlace("RUN", "table of runs", ("timings",), least=0)

HELP = """Predict run times of a program on a machine with few runs, from what is known elsewhere.

Prints the time at each processor count of -p with its 90% interval.

COUNTS is a table with a row for each p: computing, messages, bytes and calls of collectives of all
ranks together. PROGRAM is instead a TOML file of regions, as parcast characterise writes it, whose
times are those of the machine of --base. MACHINE is a TOML file with the network and, if possible,
the primitives. RUN is a table of runs on MACHINE: one, best at p = 1, gives its computing speed.
The files may have any order; "-" is standard input, for one of them.

LIST is a list of processor counts: 64,128 or 1..16 or 1..1024x2 (doubling).

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no prediction is possible: a rate is missing, a donor is not
                described, or a run is shorter than its communication

\b
Examples:
  parcast project counts.csv new.toml one_run.csv -p 4,16,64 \\
      --donors old_runs.csv --donor-machine old.toml
  parcast project program.toml --base old.toml --target new.toml run.csv
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectionAsked:
    """What was asked on the command line."""

    work: str  # files: counts, or a program
    machine: str
    known: str | None
    base: str | None
    donors: str | None
    described: tuple[str, ...]
    p: CountList | None
    n: SizeList | None
    name: str | None  # of the program
    is_program: bool
    table: "TableOptions"  # how the tables of runs are read

    @classmethod
    def of(
        cls,
        ctx: click.Context,
        files: Sequence[str],
        *,
        target: str | None,
        known: str | None,
        **options: Any,
    ) -> "ProjectionAsked":
        """Take the files in any order."""
        base, others = options["base"], (options["donors"], *options["described"])
        given = [*files, *filter(None, (target, known, base, *others))]
        require_one_stdin(ctx, given)
        machine = replace(MACHINE, least=0 if target else 1)
        if is_program := base is not None or any(kind_of(file) == "program" for file in files):
            [work], machines, runs = in_places(ctx, files, (PROGRAM, machine, RUN))
        else:
            [work, *runs], machines = in_places(ctx, files, (replace(COUNTS, most=2), machine))
        for name, value, there in (("--target", target, machines), ("--known", known, runs)):
            if value is not None and there:
                raise click.UsageError(
                    f"{name} must be left out with {there[0]}. Give one of the two.", ctx
                )
        return cls(
            work=work,
            machine=target or machines[0],
            known=known or next(iter(runs), None),
            is_program=is_program,
            **options,
        )

    def files(self) -> list[str]:
        """Files that are read."""
        others = [x for x in (self.base, self.known, self.donors) if x]
        return [self.work, self.machine, *others, *self.described]


@cli_command(
    name="project",
    help=HELP,
)
@click.argument(
    "files", nargs=-1, required=True, metavar="{COUNTS|PROGRAM} [MACHINE] [RUN]", type=A_FILE
)
@processors("Processor counts. By default, of PROGRAM, 1, 2, 4, ... up to those of MACHINE.")
@option(
    "-n --size n", SIZES, "Problem size, if formulas of PROGRAM use n; by default that of RUN."
)
@option("--program name", "NAME", "Program, if COUNTS has several.")
@option("--base", A_FILE, "Machine on which PROGRAM takes its times.", metavar="FILE")
@option("--target", A_FILE, "MACHINE, as an option.", metavar="FILE")
@option("--known", A_FILE, "RUN, as an option. Runs at the lowest count are used.", metavar="FILE")
@option(
    "--donors", A_FILE, "Table of runs on other machines, with a column machine.", metavar="FILE"
)
@repeated_option(
    "--donor-machine described",
    "FILE",
    "Description of a machine of --donors, with the same name.",
)
@table_options
@answer_options(ANSWERS)
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = ProjectionAsked.of(ctx, files, **options)
    if bool(question.donors) != bool(question.described):
        raise click.UsageError(
            "--donors and --donor-machine require each other: the runs and the machines. Add the "
            "other.",
            ctx,
        )
    if question.p is None and not question.is_program:
        raise click.UsageError("-p must be given. Write for example -p 64,128.", ctx)
    if question.n is not None and len(question.n.values) > 1:
        raise click.UsageError(
            f"-n must be one value here, got {question.n.text}. Run project once for each.", ctx
        )
    outputs.check(question.files())
    outputs.give(_projected(question))
    return ANSWERED


def _projected(question: ProjectionAsked) -> "CountedProjection | Projection":
    """Read the files and compute the answer."""
    from parcast.cli.reading import options_in, read_description, read_file
    from parcast.descriptions.toml_files import read_machine
    from parcast.errors import ParameterError
    from parcast.projection.program import project

    program = _program(question)
    on, _ = read_description(question.machine, read_machine, argument="MACHINE")
    base = None
    if question.base is not None:
        base, _ = read_description(question.base, read_machine, argument="--base")
    others = [
        read_description(x, read_machine, argument="--donor-machine")[0]
        for x in question.described
    ]
    tables = [file for file in (question.known, question.donors) if file]
    runs: dict[str, Any] = {
        file: read_file(file, (), options_in(file, question.table, among=tables))[0]
        for file in tables
    }
    try:
        return project(
            program,
            on,
            _doubling(on) if question.p is None else question.p.values,
            base=base,
            known=runs.get(question.known or ""),
            n=None if question.n is None else question.n.values[0],
            donors=runs.get(question.donors or ""),
            donor_machines=others,
        )
    except ParameterError as refusal:
        kind = click.UsageError if refusal.name in WRONG_USE else NoAnswer
        raise kind(in_options(refusal, OPTIONS | AXES | {"base": "--base"})) from refusal


def _doubling(machine: "Machine") -> list[int]:
    """Give 1, 2, 4, ... up to the processors of a machine."""
    most = machine.processors or MOST_COUNTS
    return [1 << i for i in range(most.bit_length())]


def _program(question: ProjectionAsked) -> "Program":
    """Read the program, or the counts of one."""
    from parcast.cli.reading import read_description
    from parcast.descriptions.toml_files import read_program
    from parcast.projection.read_counts import read_counts

    if question.is_program:
        return read_description(question.work, read_program, argument="PROGRAM")[0]
    programs, _ = read_description(question.work, read_counts, argument="COUNTS")
    return _chosen(programs, question.name)


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
