"""`parcast compare`: the times of two versions of a program, and what changed."""

from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWERED, own_options, spelled_with
from parcast.cli.options import (
    CountList,
    all_option,
    answer_options,
    plain,
    processors,
    select_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import table_options

if TYPE_CHECKING:
    from parcast.timings.tables.options import TableOptions

HELP = """Compare the times of two versions of a program.

Prints the ratio of the times of NEW and BASE at each count that both have, with its 90%
interval, and which work changed: shared by the processors, constant, or growing with them.

BASE and NEW are tables as `parcast forecast` reads them, or forecasts and predictions that were
saved as JSON (-o x.json). LIST is a list of processor counts, 512,1024;
a version that has no time there is forecast from its runs.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  both have no count in common

\b
Examples:
  parcast compare before.csv after.csv -o compared.svg
  parcast compare before.csv after.csv -p 512,1024
  parcast compare forecast.json measured.csv
"""


@cli_command(name="compare", help=HELP)
@click.argument("base", type=A_FILE)
@click.argument("new", type=A_FILE)
@processors("Counts to compare at, by default those of both.")
@select_option
@table_options
@answer_options()
@all_option
def command(
    ctx: click.Context,  # noqa: ARG001 - of every command
    /,
    *,
    base: str,
    new: str,
    p: CountList | None,
    select: list[tuple[str, str]],
    table: "TableOptions",
    outputs: Outputs,
    show_all: bool,
) -> int:
    """Answer the question and return the exit status."""
    outputs.check([base, new])
    (one, of_base), (other, of_new) = (
        _version(file, select, table, argument)
        for file, argument in ((base, "BASE"), (new, "NEW"))
    )
    from parcast.deciding.compare.compare import compare

    with spelled_with(own_options(base="BASE", new="NEW"), click.UsageError):
        result = compare(one, other, p=None if p is None else p.values)
    options = {"p": plain(p), "select": plain(select), **table.to_document()}
    outputs.give(with_inputs(result, base=of_base, new=of_new, options=options), show_all=show_all)
    return ANSWERED


def _version(
    file: str, select: list[tuple[str, str]], table: "TableOptions", argument: str
) -> tuple[Any, dict[str, Any]]:
    """Read a table, or a result that was saved, and say what it comes from."""
    from parcast.cli.reading import read_file
    from parcast.deciding.compare.sides import is_saved
    from parcast.saved.load import load

    if file != "-" and is_saved(file):
        return load(file), {"file": file}
    return read_file(file, select, table, argument=argument)
