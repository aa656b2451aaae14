"""`parcast fit`: a description of a program and its timings in, the constants of its law out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from parcast.cli.failures import ANSWER_IS_NO, ANSWERED
from parcast.cli.options import (
    as_written,
    columns,
    debug_option,
    ignore_option,
    json_option,
    output_option,
    select_option,
)
from parcast.cli.outputs import check_outputs, format_of, give_result
from parcast.cli.reading import read_description, read_surface, wanted
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.fitting.result import Fit


Described = TypeVar("Described")

FORMATS: Final = ("toml", "json", "csv")

HELP = """Find the constants of a program's law that explain its timings.

PROGRAM is a TOML file that describes the program, with a first guess of its amounts. SURFACE is a
CSV table of its timings: columns p, time_s (or time_ms, ...) and perhaps d and n, or speedup in
place of a time; "-" is standard input. An amount written "6.9 s +- 5%" is a measurement itself.

Each constant comes with its 90 % interval. What the timings do not determine is named, with the
run that would determine it.

NAMES are of amounts, with commas between them: compute.serial,communication.contention.

\b
Exit status: 0  fitted, and every constant is determined
             1  fitted, but something is not determined, on its bound, or the
                fit has not converged
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no fit is possible from these timings

\b
Examples:
  parcast fit program.toml times.csv --machine sp2.toml -o fitted.toml
  parcast fit program.toml times.csv --fix communication.startup,io.startup
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What the command line says."""

    program: str  # files
    surface: str
    machine: str | None
    free: list[str] | None
    fix: list[str] | None
    select: list[tuple[str, str]]
    ignore: list[str] | None
    starts: int
    seed: int
    interval: bool


@click.command(name="fit", help=HELP, short_help="Timings in, constants of the law out.")
@click.argument("program")
@click.argument("surface")
@click.option("--machine", metavar="MACHINE", help="TOML file that describes what it ran on.")
@click.option("--free", metavar="NAMES", callback=columns, help="Amounts to fit, no others.")
@click.option("--fix", metavar="NAMES", callback=columns, help="Amounts to leave as described.")
@select_option("Rows to take: machine=T3E. Repeatable.")
@ignore_option("Columns of SURFACE to pass over: date,jobid.")
@click.option(
    "--starts",
    metavar="COUNT",
    type=click.IntRange(1, 10_000),
    default=10,
    help="Sets of values to start from (default 10).",
)
@click.option("--seed", metavar="NUMBER", type=click.IntRange(0), default=0, help="Of these sets.")
@click.option("--interval/--no-interval", default=True, help="Find the intervals? By default yes.")
@json_option
@output_option(".toml (PROGRAM, fitted), .json or .csv")
@click.option(
    "--machine-output", metavar="PATH", help="Write MACHINE with its fitted amounts to PATH."
)
@debug_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    outputs: tuple[str, ...],
    machine_output: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    question = Question(**options)
    files = [question.program, question.surface, *filter(None, [question.machine])]
    if files.count("-") > 1:
        raise click.UsageError("Only one file must be -, got several. Name the others.", ctx)
    if machine_output and question.machine is None:
        raise click.UsageError("--machine-output must have a --machine to write. Name it.", ctx)
    if machine_output and format_of(machine_output) != "toml":
        raise click.ClickException(
            f"--machine-output must be a path that ends in .toml, got {machine_output!r}."
        )
    places = [*outputs, *filter(None, [machine_output])]
    check_outputs(places, sources=files, as_json=as_json, formats=FORMATS)
    result, texts = _answer(question)
    if machine_output:
        _write_toml(result, texts["machine"], machine_output, of_machine=True)
    give_result(
        result,
        outputs,
        as_json=as_json,
        draw=lambda path: _write_toml(result, texts["program"], path, of_machine=False),
    )
    return _status(result)


def _answer(question: Question) -> tuple["Fit", dict[str, str]]:
    """Read the files and compute the answer; give the texts of the descriptions as well."""
    from dataclasses import replace

    from parcast.cli.failures import NoAnswer, in_options
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.read_toml import read_machine, read_program
    from parcast.errors import ParameterError
    from parcast.fitting.fit import fit

    (program, text), from_program = read_description(
        question.program, _kept(read_program), argument="PROGRAM"
    )
    texts, machine, from_machine = {"program": text}, Machine(), None
    if question.machine is not None:
        (machine, texts["machine"]), from_machine = read_description(
            question.machine, _kept(read_machine), argument="MACHINE"
        )
    (runs, quantity), from_surface = read_surface(question.surface, question.ignore or ())
    from_surface |= {"measurements": len(runs)}
    if question.select:
        runs = runs.select(**wanted(question.select, runs.labels))
    try:
        result = fit(
            program,
            runs,
            machine,
            free=question.free,
            fixed=question.fix,
            quantity=quantity,
            starts=question.starts,
            seed=question.seed,
            interval=question.interval,
        )
    except ParameterError as refusal:
        if refusal.name in {"free", "fixed"}:
            raise  # wrong use of an option
        raise NoAnswer(in_options(refusal)) from refusal
    inputs = {
        "program": from_program,
        "surface": from_surface,
        "machine": from_machine,
        "options": as_written(question, "program", "surface", "machine"),
        "parcast": __version__,
    }
    return replace(result, inputs=inputs), texts


def _kept(read: Callable[[Any], Described]) -> Callable[[Any], tuple[Described, str]]:
    """Read a description and keep its text as well."""

    def read_and_keep(stream: Any) -> tuple[Described, str]:
        from parcast.descriptions.read_toml import LARGEST
        from parcast.timings.speedups import NamedContent

        content = stream.read(LARGEST + 1)
        described = read(NamedContent(stream.name, content))
        return described, content.decode("utf-8-sig")

    return read_and_keep


def _write_toml(result: "Fit", text: str, path: str, *, of_machine: bool) -> None:
    """Write a description with the fitted amounts in place of the described ones."""
    from parcast.descriptions.write_program import with_amounts, write_description

    fitted = result.machine if of_machine else result.program
    amounts = fitted.parameters()
    texts = {
        x.name: str(amounts[x.name]) for x in result.parameters if x.is_of_machine == of_machine
    }
    program = None if of_machine else result.program
    write_description(path, with_amounts(text, texts, program))


def _status(result: "Fit") -> int:
    """Say whether everything is determined."""
    if result.is_settled:
        return ANSWERED
    open_ones = [x.name for x in result.parameters if not x.is_determined]
    why = f"not determined: {', '.join(open_ones)}" if open_ones else "it has not converged"
    if not open_ones and result.has_converged:
        why = "not everything is determined"
    click.echo(f"parcast: no: {why}.", err=True)
    return ANSWER_IS_NO
