"""`parcast explain`: why a program takes its time and what would help; pipelines and traffic too.

The kinds of the files tell what is explained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, cli_command, usage
from parcast.cli.described import given_amounts, read_subject, set_option
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, NoAnswer, spelled_with
from parcast.cli.kinds import MACHINE, in_places, kind_of
from parcast.cli.options import (
    COLUMNS,
    SIZES,
    CountList,
    Read,
    SizeList,
    all_option,
    answer_options,
    as_written,
    disks,
    law_error_option,
    option,
    processors,
    repeated_option,
    scaling_option,
    seed_option,
    select_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.parts import with_parts
from parcast.cli.reading import read_files, table_options
from parcast.deciding.goals.options import PROGRAM_OR_TIMINGS

if TYPE_CHECKING:
    from parcast.deciding.explain.descriptions.result import DescriptionsExplained
    from parcast.deciding.explain.profiles.result import ProfilesExplained
    from parcast.deciding.explain.timings.result import TimingsExplained
    from parcast.timings.tables.options import TableOptions


EXPLAIN: Final = {
    "pipeline": "parcast.pipeline.explaining.command:command",
    "traffic": "parcast.pipeline.traces.traffic.command:command",
}

HELP: Final = """Explain why a program takes its time, and what would shorten it.

From PROGRAM and MACHINE: what each upgrade would save, alone and in pairs; the elasticity of the
time by every amount; how much of the time each resource takes, and what limits from which
processor count on.

From TIMINGS: how much of the time is shared, constant and growing work; the serial fraction by
count; the run that would narrow the forecast most.

From PROFILE, of `parcast.region`, TALP, Score-P or Caliper: POP efficiencies at each count, and
which region loses most.

Each number has its 90% interval. PROGRAM and MACHINE are TOML files, TIMINGS is a table as in
`parcast forecast`; the files may have any order, and "-" is standard input. LIST is a list of
counts: 64,128 or 1..1024x2 (doubling). With TIMINGS the default is the next two doublings.

\b
Exit status: 0  answered
             1  answered, and the answer is no
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: a rate is missing, or a formula has no
                value at one of the counts

\b
Examples:
  parcast explain program.toml machine.toml -p 64
  parcast explain times.csv -p 512 --what-if serial/2
  parcast explain talp_*.json -p 1024
  parcast explain pipeline run.jsonl -o timeline.png
"""


WHAT: Final = replace(PROGRAM_OR_TIMINGS, most=1_000_000)
SOME_MACHINE: Final = replace(MACHINE, least=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainAsked:
    """What was asked on the command line."""

    p: CountList | None
    d: CountList | None
    n: SizeList | None
    law_error: bool
    seed: int
    by: list[str] | None
    select: list[tuple[str, str]]
    table: "TableOptions"  # how TIMINGS are read
    scaling: Any  # "auto", "strong" or "weak"
    what_if: tuple[str, ...]

    @property
    def of_descriptions(self) -> dict[str, Any]:
        """Options that only PROGRAM has."""
        return {"-d": self.d, "-n": self.n, "--no-law-error": not self.law_error}

    @property
    def of_tables(self) -> dict[str, Any]:
        """Options that only TIMINGS have."""
        table = {f"--{name}": value for name, value in self.table.to_document().items()}
        own = {"--by": self.by, "--select": self.select, "--what-if": self.what_if}
        return {**own, **table}

    def check(self, ctx: click.Context, file: str, *, is_program: bool, is_profile: bool) -> None:
        """Refuse options that what was given has not."""
        kind = "a profile" if is_profile else "a table of timings"
        described = {**self.of_descriptions, "--set": given_amounts(ctx)}
        needs = [(described, "PROGRAM", kind)]
        if is_program:
            own = {**self.of_tables, "--scaling": self.scaling != "auto"}
            needs = [(own, "TIMINGS", "a program")]
        elif is_profile:
            needs.append((self.of_tables, "TIMINGS", kind))
        for options, needed, given in needs:
            if wrong := [name for name, value in options.items() if value]:
                raise click.UsageError(
                    f"{wrong[0]} requires {needed}, but {file} is {given}. Leave it out.", ctx
                )


@cli_command(name="explain", help=HELP)
@click.argument(
    "files", nargs=-1, required=True, metavar="{TIMINGS|PROGRAM MACHINE|PROFILE...}", type=A_FILE
)
@processors("Processor counts. Required with PROGRAM.")
@option("-d --disks d", Read("COUNT", disks), "Number of disks or I/O servers.")
@option("-n --size n", SIZES, "Problem size, if formulas of PROGRAM use n.", metavar="SIZE")
@set_option
@law_error_option
@repeated_option("--what-if", "PART/NUMBER", "Less of a part of TIMINGS: serial/2, growing/2.")
@option("--by", COLUMNS, "Columns that distinguish series of TIMINGS: machine,n.")
@select_option
@table_options
@scaling_option
@seed_option
@answer_options()
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    asked = ExplainAsked(**options)
    what, machines = in_places(ctx, files, (WHAT, SOME_MACHINE))
    programs = [x for x in what if kind_of(x) == "program" or x.lower().endswith(".toml")]
    is_program = bool(programs)
    if 0 < len(programs) < len(what):
        raise click.UsageError(
            f"explain needs TIMINGS or PROGRAM, got both: {programs[0]} is a program. "
            "Leave it out.",
            ctx,
        )
    is_profile = not is_program and _are_profiles(what)
    asked.check(ctx, what[0], is_program=is_program, is_profile=is_profile)
    outputs.check(files)
    if not is_program:
        if machines:
            raise click.UsageError(
                f"MACHINE requires PROGRAM, but {what[0]} is none. Leave {machines[0]} out.", ctx
            )
        answer = _of_profiles if is_profile else _of_timings
        outputs.give(answer(what, asked), show_all=show_all)
        return ANSWERED
    if len(what) > 1 or not machines:
        raise click.UsageError(f"one PROGRAM and one MACHINE must be given. {usage(ctx)}", ctx)
    if asked.p is None:
        raise click.UsageError("-p must be given with PROGRAM. Write for example -p 64.", ctx)
    outputs.give(_of_descriptions(what[0], machines[0], asked, asked.p), show_all=show_all)
    return ANSWERED


def _are_profiles(files: Sequence[str]) -> bool:
    """Whether any of some files is a profile."""
    from parcast.characterisation.profiles.reading import kind_of_profile

    return any(map(kind_of_profile, files))


def _of_profiles(files: Sequence[str], asked: ExplainAsked) -> "ProfilesExplained":
    """Read the profiles and compute the answer."""
    from parcast.deciding.explain.profiles.explain import explain_profiles

    p = asked.p.values if asked.p else None
    with spelled_with({**OPTIONS, **AXES, "profiles": "PROFILE"}, click.UsageError):
        result = explain_profiles(files, p=p, scaling=asked.scaling)
    sources = [{"file": file} for file in files]
    return with_inputs(result, profiles=sources, options=as_written(asked))


def _of_timings(files: Sequence[str], asked: ExplainAsked) -> "TimingsExplained":
    """Read the table and compute the answer."""
    from parcast.deciding.explain.timings.explain import explain_timings

    runs, source = read_files(files, asked.select, asked.table, argument="TIMINGS")
    with spelled_with({**OPTIONS, **AXES, "what_if": "--what-if"}, click.UsageError):
        result = explain_timings(
            runs,
            p=asked.p.values if asked.p else None,
            by=asked.by,
            scaling=asked.scaling,
            what_if=asked.what_if,
            seed=asked.seed,
        )
    return with_inputs(result, runs=source, options=as_written(asked))


def _of_descriptions(
    program_file: str, machine_file: str, asked: ExplainAsked, p: CountList
) -> "DescriptionsExplained":
    """Read the files and compute the answer."""
    from parcast.deciding.explain.descriptions.explain import explain_descriptions

    read = read_subject(program_file, [machine_file])
    with spelled_with(OPTIONS | AXES, NoAnswer):
        result = explain_descriptions(
            read.program,
            read.machine,
            p=p.values,
            d=asked.d.values if asked.d else None,
            n=asked.n.values if asked.n else None,
            law_error=asked.law_error,
            seed=asked.seed,
        )
    return with_inputs(result, **read.inputs, options=as_written(asked))


explain: Final = with_parts(command, EXPLAIN)
