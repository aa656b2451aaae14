"""`parcast check`: whether a new version is slower than a base, for CI."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, NO_FORECAST, own_options, spelled_with
from parcast.cli.options import (
    Read,
    all_option,
    answer_options,
    option,
    repeated_option,
    select_option,
    share,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import table_options
from parcast.cli.screen import tell

if TYPE_CHECKING:
    from parcast.deciding.check.result import RegressionCheck
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions

HELP = """Check whether a program is slower than before, for continuous integration.

Compares the runs in NEW with those of --against at every processor count and call path; an
unchanged program is reported in 1% of checks (--level). The first NEW is the first run of the new
version; further ones confirm it. Nothing is reported without a second run of --confirm
repetitions: the answer is which counts to measure again. Without NEW, the answer is the smallest
slowdown that can be found.

NEW and BASE are tables as `parcast forecast` reads them, or forecasts that were saved as JSON.
Several tables of the base are runs of several days.

\b
Exit status: 0  no slowdown is seen, though one by a factor of 2 would be
             1  something is slower
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  a second run is needed, too few runs to tell, or nothing was run in both versions

\b
Examples:
  parcast check --against base.csv --repetitions 5
  parcast check new.csv --against base.csv
  parcast check new.csv again.csv --against base.csv --history history.csv --commit 1a2b3c
"""


@cli_command(name="check", help=HELP)
@click.argument("files", metavar="[NEW]...", nargs=-1, type=A_FILE)
@repeated_option("--against", "PATH", "Runs of the base.", required=True)
@option("--confirm", Whole(0), "Repetitions of a second run that a report needs.", default=3)
@option("--level", Read("SHARE", share), "Share of unchanged programs reported.", default="1%")
@option("--tolerate", Read("SHARE", share), "Slowdown that does not count.", default="0%")
@option("--repetitions", Whole(1), "Without NEW: runs of each count that are planned.")
@option("--history", A_FILE, "CSV file to add a line of the times to, as Apache Otava reads it.")
@option("--commit", "NAME", "With --history: what the line is of.")
@select_option
@table_options
@answer_options()
@all_option
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    against: tuple[str, ...],
    select: list[tuple[str, str]],
    table: "TableOptions",
    repetitions: int | None,
    history: str | None,
    commit: str | None,
    outputs: Outputs,
    show_all: bool,
    **rule: Any,
) -> int:
    """Answer the question and return the exit status."""
    if files and repetitions is not None:
        raise click.UsageError("--repetitions is of runs not made. Leave out NEW or it.", ctx)
    if history is not None and not files:
        raise click.UsageError("--history needs NEW, whose times it adds. Give it.", ctx)
    if commit is not None and history is None:
        raise click.UsageError("--commit is of a line of --history. Give that too.", ctx)
    outputs.check([*files, *against])
    base, base_inputs, base_out = read_sessions(against, select, table, "--against")
    new, inputs, left_out = read_sessions(files, select, table, "NEW", stopped_too=True)
    from parcast.deciding.check.check import check

    with spelled_with(own_options(new="NEW"), click.UsageError):
        result = check(new or None, against=base, repetitions=repetitions, **rule)
    options = {**rule, "select": [f"{x}={y}" for x, y in select], **table.to_document()}
    result = with_inputs(result, new=inputs, against=base_inputs, options=options)
    result = replace(result, warnings=(*base_out, *left_out, *result.warnings))
    outputs.give(result, show_all=show_all)
    if history is not None:
        from parcast.deciding.check.history import add_line

        for note in add_line(history, new, commit=commit or ""):
            tell(note)
    return _status(result)


def read_sessions(
    files: Sequence[str],
    select: Sequence[tuple[str, str]],
    table: "TableOptions",
    argument: str,
    *,
    stopped_too: bool = False,
) -> tuple[list["Measurements"], list[dict[str, Any]], list[str]]:
    """Read tables, each a session; say what they come from, and which are left out."""
    from parcast.cli.reading import read_ended_or_stopped, read_file
    from parcast.deciding.compare.sides import ended

    one = read_ended_or_stopped if stopped_too else read_file
    read, left_out = ended(files, lambda file: one(file, select, table, argument=argument))
    return [runs for runs, _ in read], [inputs for _, inputs in read], left_out


def _status(result: "RegressionCheck") -> int:
    """Exit status of an answer; an answer that is no is said on stderr."""
    from parcast.deciding.check.result import AGAIN, CANNOT_TELL

    if result.regressed:
        tell("no: it is slower.")
        return ANSWER_IS_NO
    if result.answer == AGAIN:
        tell("a second run is needed to decide.")
        return NO_FORECAST
    if result.answer == CANNOT_TELL:
        tell("there are too few runs to tell.")
        return NO_FORECAST
    return ANSWERED
