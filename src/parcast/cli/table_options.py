"""Options that say how a table is read, of every command that reads one, given as one value."""

from typing import Any, Final

from parcast.cli.answering import OneOf
from parcast.cli.options import COLUMNS, called, gathered, option, repeated_option
from parcast.timings.tables.options import DECIMALS, SEPARATOR_NAMES, WIDE, TableOptions


def _table(**given: Any) -> TableOptions:
    """Take what is given."""
    return TableOptions(**{name: value for name, value in given.items() if value is not None})


table_options: Final = gathered(  # of a command that takes them as `table`
    "table",
    _table,
    ("columns", "ignore", "rate", "work", "repeats", "wide", "separator", "decimal"),
    repeated_option(
        "--column columns",
        "NEW=OLD",
        "Use column OLD of the table as NEW: p=nodes, time_s=seconds, p=ranks*threads.",
        called,
    ),
    option("--ignore", COLUMNS, "Columns to ignore: date,jobid."),
    option("--rate", "COLUMN", "Column that is a rate: SYPD, ns/day, samples/s."),
    option(
        "--work",
        "AMOUNT",
        "Amount of work to forecast the time of, in the unit of the rate: 100. By default one "
        "unit.",
    ),
    option("--repeats", COLUMNS, "Columns that are repetitions: run1,run2 or run*."),
    option(
        "--wide", OneOf(list(WIDE)), "Each column of times is of another machine, or call path."
    ),
    option(
        "--separator",
        "MARK",
        f"Separator of columns: {', '.join(SEPARATOR_NAMES)}, or a character. By default found "
        "from the rows.",
    ),
    option("--decimal", OneOf(list(DECIMALS)), "Decimal mark. By default found from the rows."),
)
