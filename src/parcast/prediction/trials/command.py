"""`parcast validate PROGRAM MACHINE TIMINGS`: a description beside runs that are there already."""

from typing import TYPE_CHECKING, Final

import click

from parcast.cli.answering import A_FILE, OneOf, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, NO_FORECAST, NoAnswer, in_options
from parcast.cli.kinds import ANY_MACHINE, PROGRAM, TIMINGS, in_places
from parcast.cli.law_error_output import CONTENT, FORMATS, check_programs, writer
from parcast.cli.options import (
    all_option,
    answer_options,
    law_error_option,
    seed_option,
    select_option,
)
from parcast.cli.outputs import Outputs, format_of, with_inputs
from parcast.cli.reading import and_text, read_description, read_file, table_options
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.prediction.trials.result import ProgramValidation
    from parcast.timings.tables.options import TableOptions

HELP: Final = """Compare the prediction of a description with runs that you have.

Prints predicted and measured times of each configuration with signed errors, how many runs lie in
their 90% intervals, and whether the law holds. Runs that the description was fitted to count
apart: only the others show how well it predicts.

PROGRAM and MACHINE are TOML files as in `parcast predict`; MACHINE may be left out if PROGRAM
gives times alone. TIMINGS is a table as in `parcast fit`. The files may have any order.

\b
Exit status: 0  answered: the law holds
             1  answered: it does not hold
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer: the runs do not decide, or have no prediction

\b
Examples:
  parcast validate program.toml sp2.toml runs.csv
  parcast validate program.toml sp2.toml runs.csv --picture surface -o x.svg
  parcast validate fitted.toml sp2.toml runs.csv -o fitted.toml
"""


@cli_command(name="runs", help=HELP, short_help="Compare a description with runs that you have.")
@click.argument("files", nargs=-1, required=True, metavar="PROGRAM [MACHINE] TIMINGS", type=A_FILE)
@select_option
@table_options
@law_error_option
@seed_option
@click.option(
    "--picture",
    type=OneOf(["lines", "surface", "errors", "times"]),
    help="Kind of figure that -o draws. By default lines over p, or the errors of two axes.",
)
@answer_options(FORMATS, toml=CONTENT)
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    picture: str | None,
    select: list[tuple[str, str]],
    table: "TableOptions",
    law_error: bool,
    seed: int,
    show_all: bool,
) -> int:
    """Answer the question and return the exit status."""
    [program], machines, [timings] = in_places(ctx, files, (PROGRAM, ANY_MACHINE, TIMINGS))
    if picture and not outputs.is_drawn:
        raise click.UsageError(f"--picture requires a figure to draw. Add -o {picture}.svg.", ctx)
    written = [path for path in outputs.paths if format_of(path) == "toml"]
    outputs.check([timings, *machines, *([] if program in written else [program])])
    validation, text = _validated(
        program, next(iter(machines), None), timings, select, table, law_error=law_error, seed=seed
    )
    laws = [law for phase in validation.program.phase for law in phase.laws_within]
    check_programs(outputs, laws[:1], may_be_new=True)

    def write(path: str) -> None:
        from parcast.descriptions.toml_files import moved

        if all(x.was_fitted for x in validation.cases):
            tell(f"{path} was not written: fitted runs do not determine the error.")
            return
        new = moved(text, program, path)
        writer(validation.own_law_errors(), new)(path)

    outputs.give(validation, write=write, picture={"picture": picture}, show_all=show_all)
    return _status(validation)


def _validated(
    program: str,
    machine: str | None,
    timings: str,
    select: list[tuple[str, str]],
    table: "TableOptions",
    *,
    law_error: bool,
    seed: int,
) -> tuple["ProgramValidation", str]:
    """Read the files and compute the answer; give the text of PROGRAM as well."""
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.errors import FitFailed, ParameterError
    from parcast.prediction.trials.validate import validate_program

    (described, text), from_program = read_description(
        program, and_text(read_program), argument="PROGRAM"
    )
    here, from_machine = None, None
    if machine is not None:
        here, from_machine = read_description(machine, read_machine, argument="MACHINE")
    runs, from_timings = read_file(timings, select, table, argument="TIMINGS")
    try:
        validation = validate_program(described, runs, here, law_error=law_error, seed=seed)
    except (ParameterError, FitFailed) as refusal:
        raise NoAnswer(in_options(refusal)) from refusal
    options = {"select": [*select], "law_error": law_error, "seed": seed, **table.to_document()}
    validation = with_inputs(
        validation,
        program=from_program,
        machine=from_machine,
        surface=from_timings,
        options=options,
    )
    return validation, text


def _status(validation: "ProgramValidation") -> int:
    """Tell the exit status, and on stderr why it is not 0."""
    [part] = validation.parts
    if part.holds is False:
        tell(f"no: the law does not hold for {part.name}.")
        return ANSWER_IS_NO
    if part.holds is None:
        tell(f"no answer for {part.name}: the verdict and warnings say why.")
        return NO_FORECAST
    return ANSWERED
