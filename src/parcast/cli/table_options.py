"""Options that say how a table is read, of every command that reads one, given as one value."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from parcast.cli.answering import OneOf
from parcast.cli.options import Option, called, columns, repeated_option, text_option
from parcast.timings.tables.options import DECIMALS, SEPARATOR_NAMES, WIDE, TableOptions


def table_options(of: str = "the table") -> Option[Any]:
    """Options for how a table is read, given to the command as `table`."""
    options = [
        repeated_option(
            "--column",
            "NEW=OLD",
            f"Use column OLD of {of} as NEW: p=nodes, time_s=seconds, p=ranks*threads.",
            called,
            "columns",
        ),
        text_option("--ignore", "COLUMNS", columns, f"Columns of {of} to ignore: date,jobid."),
        click.option(
            "--rate", metavar="COLUMN", help="Column that is a rate: SYPD, ns/day, samples/s."
        ),
        click.option(
            "--work",
            metavar="AMOUNT",
            help="Amount of work to forecast the time of, in the unit of the rate: 100. "
            "By default one unit.",
        ),
        text_option(
            "--repeats", "COLUMNS", columns, "Columns that are repetitions: run1,run2 or run*."
        ),
        click.option(
            "--wide",
            type=OneOf(list(WIDE)),
            help="Each column of times is of another machine, or call path.",
        ),
        click.option(
            "--separator",
            metavar="MARK",
            help=f"Separator of columns: {', '.join(SEPARATOR_NAMES)}, or a character. "
            "By default found from the rows.",
        ),
        click.option(
            "--decimal",
            type=OneOf(list(DECIMALS)),
            help="Decimal mark. By default found from the rows.",
        ),
    ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def reading(*args: Any, **given: Any) -> Any:
            return function(*args, table=_taken(given), **given)

        for option in reversed(options):
            reading = option(reading)
        return reading

    return decorate


def _taken(given: dict[str, Any]) -> TableOptions:
    """Take the options of a table out of those of a command."""
    ignore: Sequence[str] | None = given.pop("ignore")
    repeats: Sequence[str] | None = given.pop("repeats")
    return TableOptions(
        columns=given.pop("columns"),
        ignore=ignore or (),
        repeats=repeats or (),
        separator=given.pop("separator") or "",
        decimal=given.pop("decimal") or "",
        **{name: given.pop(name) for name in ("rate", "work", "wide")},
    )
