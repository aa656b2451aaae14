"""`parcast fit`: the constants of a program's description, from its timings."""

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED
from parcast.cli.kinds import ANY_MACHINE, PROGRAM, TIMINGS, in_places
from parcast.cli.options import (
    Read,
    answer_options,
    as_written,
    columns,
    flag,
    option,
    seed_option,
    select_option,
)
from parcast.cli.outputs import FIGURES, Outputs, do_each, format_of, tell_written, with_inputs
from parcast.cli.reading import and_text, read_description, read_file, table_options
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.fitting.result import Fit
    from parcast.timings.tables.options import TableOptions


FORMATS: Final = ("toml", *FIGURES)

HELP = """Fit the constants of a program's description to its timings.

Prints each constant with its 90% interval. Constants that the timings do not determine are named,
with a run that would determine them. -o writes the fitted description.

PROGRAM is a TOML file that describes the program, with a first guess of its constants. TIMINGS is
a CSV table with the columns p and time_s (or time_ms, ...), and optionally d and n; or speedup in
place of a time. Parts of the time, in columns compute_s, communication_s and disk_s or as `parcast
run` writes them, are each fitted by this part of the law. MACHINE is the TOML file of the machine,
required if PROGRAM gives operations or bytes. The files may have any order; "-" is standard input,
for one of them.

NAMES is a list of constants: compute.serial,communication.contention. A constant written
"6.9 s +- 5%" counts as a measurement.

\b
Exit status: 0  fitted, and all constants are determined
             1  fitted, but a constant is not determined, on its bound or
                different at each p, or the fit has not converged
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no fit is possible from these timings

\b
Examples:
  parcast fit program.toml times.csv sp2.toml -o fitted.toml
  parcast fit program.toml times.csv --fix communication.startup,io.startup
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class FitAsked:
    """What the command line says."""

    program: str  # files
    surface: str
    machine: str | None
    free: list[str] | None
    fix: list[str] | None
    select: list[tuple[str, str]]
    table: "TableOptions"  # how TIMINGS are read
    starts: int
    seed: int
    interval: bool
    by_p: bool


@cli_command(name="fit", help=HELP)
@click.argument("files", nargs=-1, required=True, metavar="PROGRAM TIMINGS [MACHINE]", type=A_FILE)
@option("--machine", A_FILE, "MACHINE, as an option.", metavar="MACHINE")
@option("--free", Read("NAMES", columns), "Constants to fit; all others keep their values.")
@option("--fix", Read("NAMES", columns), "Constants that keep their values.")
@select_option
@table_options
@option("--starts", Whole(1, 10_000), "Number of starting points.", default=10)
@seed_option
@flag("--interval/--no-interval", "Give 90% intervals, as by default, or none.", default=True)
@flag("--by-p", "Write constants that depend on p as formulas of p.")
@answer_options(FORMATS, toml="PROGRAM, fitted")
@option("--machine-output", A_FILE, "Write MACHINE with its fitted constants to PATH.")
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    machine: str | None,
    outputs: Outputs,
    machine_output: str | None,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    given = [*files, *filter(None, [machine])]
    [program], [surface], machines = in_places(ctx, given, (PROGRAM, TIMINGS, ANY_MACHINE))
    question = FitAsked(
        program=program, surface=surface, machine=next(iter(machines), None), **options
    )
    if machine_output and question.machine is None:
        raise click.UsageError("--machine-output requires MACHINE. Name its file.", ctx)
    if machine_output and format_of(machine_output) != "toml":
        raise click.ClickException(
            f"--machine-output must be a path that ends in .toml, got {machine_output!r}."
        )
    places = [*outputs.paths, *filter(None, [machine_output])]
    replace(outputs, paths=places).check(given)
    _keep_other_files(outputs, machine_output)
    fitted, texts = _fitted(question)

    def write(path: str) -> None:
        from parcast.descriptions.toml_files import moved

        text = moved(texts["program"], program, path)
        _write_toml(fitted, text, path, of_machine=False)

    def write_machine() -> None:
        if machine_output:
            _write_toml(fitted, texts["machine"], machine_output, of_machine=True)
            tell_written(machine_output)

    do_each([write_machine, partial(outputs.give, fitted, write=write)])
    return _status(fitted)


def _keep_other_files(outputs: Outputs, machine_output: str | None) -> None:
    """Refuse to replace files that are no descriptions of the kind that is written there."""
    from parcast.cli.law_error_output import described_at
    from parcast.descriptions.toml_files import read_machine, read_program

    for path in outputs.paths:
        if format_of(path) == "toml" and os.path.exists(path):
            described_at(path, read_program, "a program")
    if machine_output and os.path.exists(machine_output):
        described_at(machine_output, read_machine, "a machine")


def _fitted(question: FitAsked) -> tuple["Fit", dict[str, str]]:
    """Read the files and compute the answer; give the texts of the descriptions as well."""
    from parcast.cli.failures import NoAnswer, in_options
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.errors import ParameterError
    from parcast.fitting.fit import fit

    (program, text), from_program = read_description(
        question.program, and_text(read_program), argument="PROGRAM"
    )
    texts, machine, from_machine = {"program": text}, Machine(), None
    if question.machine is not None:
        (machine, texts["machine"]), from_machine = read_description(
            question.machine, and_text(read_machine), argument="MACHINE"
        )
    runs, from_surface = read_file(
        question.surface, question.select, question.table, argument="TIMINGS"
    )
    try:
        fitted = fit(
            program,
            runs,
            machine,
            free=question.free,
            fixed=question.fix,
            starts=question.starts,
            seed=question.seed,
            interval=question.interval,
            by_p=question.by_p,
        )
    except ParameterError as refusal:
        if refusal.name in {"free", "fixed"}:
            raise  # wrong use of an option
        raise NoAnswer(in_options(refusal)) from refusal
    fitted = with_inputs(
        fitted,
        program=from_program,
        surface=from_surface,
        machine=from_machine,
        options=as_written(question, "program", "surface", "machine"),
    )
    return fitted, texts


def _write_toml(fit: "Fit", text: str, path: str, *, of_machine: bool) -> None:
    """Write a description with the fitted amounts in place of the described ones."""
    from parcast.descriptions.toml_files import with_amounts, write_description
    from parcast.fitting.written import first_lines

    described = fit.machine if of_machine else fit.program
    amounts = described.parameters()
    texts = {x.name: str(amounts[x.name]) for x in fit.parameters if x.is_of_machine == of_machine}
    program = None if of_machine else fit.program
    written = with_amounts(
        text,
        texts,
        program,
        record=described.fit,
        law_errors=program.law_error if program else (),
        first=tuple(first_lines(fit)),
    )
    write_description(path, written)


def _status(fit: "Fit") -> int:
    """Say whether everything is determined."""
    if fit.is_settled:
        return ANSWERED
    open_ones = [x.name for x in fit.parameters if not x.is_determined]
    why = f"not determined: {', '.join(open_ones)}" if open_ones else "it has not converged"
    if not open_ones and fit.has_converged:
        varying = [x.name for x in fit.by_p if not fit.writes_by_p]
        why = "not everything is determined"
        if varying:
            why = f"no single value for all p: {', '.join(varying)}"
    tell(f"no: {why}.")
    return ANSWER_IS_NO
