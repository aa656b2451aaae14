"""`parcast plan proposal`: tables, figures and hours of a proposal for computing time."""

from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, own_options, spelled_with
from parcast.cli.options import (
    CERTAINTY,
    EFFICIENCY,
    Read,
    amount,
    answer_options,
    beyond_option,
    option,
    plain,
    repeated_option,
    scaling_option,
    select_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import read_files, table_options
from parcast.forecasting.asked import axis_values

if TYPE_CHECKING:
    pass

SITES: Final = ("incite", "archer2", "ncar")
HELP: Final = """Make the tables of a proposal for computing time.

Prints the hours to ask for, which suffice with the --margin; the jobs with their nodes, wall-time
limits and hours; scaling, what was measured and what is forecast apart; the largest count used
efficiently, and how the times were extrapolated. -o proposal.md or proposal.tex writes all of it,
with the figures that are written in the same call; -o scaling.svg draws time on linear and on
logarithmic axes, and efficiency.

TIMINGS is a table as in `parcast forecast`, of one program on one machine. NAME=VALUES are sizes
such as n=1000,2000: times of sizes that were not run are forecast from all runs. LIST has a count
for each size, or one for all.

--site lists what a site asks for, with its source. Read the current call as well.

\b
Exit status: 0  answered
             2  wrong use, or an output that cannot be written
             3  TIMINGS cannot be read, or something in it is wrong
             4  no forecast is possible from these timings

\b
Examples:
  parcast plan proposal times.csv --runs 40 -p 64 --p-is nodes -o proposal.md -o scaling.svg
  parcast plan proposal times.csv --runs 40,10 --sizes n=1000,2000 --cores-per-node 128
"""


def whole_numbers(text: str, option: str) -> list[int]:
    """Read one number, or one for each size, in their order."""
    parts = [x.strip() for x in text.split(",")]
    if not all(x.isascii() and x.isdigit() and int(x) for x in parts):
        raise click.UsageError(
            f"{option} must be whole numbers above 0, got {text!r:.60}. Write for example 40,10."
        )
    return [int(x) for x in parts]


@cli_command(
    name="proposal", help=HELP, short_help="Tables and hours of a proposal for computing time."
)
@click.argument("files", metavar="TIMINGS...", nargs=-1, required=True, type=A_FILE)
@option("--runs", Read("LIST", whole_numbers), "Runs of each size: 40, or 40,10.", default="1")
@repeated_option("--sizes", "NAME=VALUES", "Sizes to run: n=1000,2000.", axis_values)
@option(
    "-p --processors p",
    Read("LIST", whole_numbers),
    "Count of a run, or of a run of each size. By default the largest efficient one.",
)
@option("--margin", CERTAINTY, "Probability with which the hours suffice.", default="90%")
@option("--efficiency", EFFICIENCY, "Least efficiency of the largest count.", default="50%")
@option("--cores-per-node", Whole(1), "Cores of a node: whole nodes are charged.")
@option(
    "--p-is",
    OneOf(["cores", "nodes"]),
    "What p counts.  [default: nodes if its column is nodes, else cores]",
)
@option("--storage", amount("SIZE", "size", "50GB"), "What a run leaves on disk: 50GB.")
@option("--per-run", "AMOUNT", 'What a run computes: "10 simulated years".')
@option("--site", OneOf(SITES), "List what this site asks for.")
@select_option
@table_options
@scaling_option
@beyond_option("a count")
@answer_options()
def command(
    ctx: click.Context,  # noqa: ARG001 - of every command
    /,
    *,
    files: tuple[str, ...],
    select: list[tuple[str, str]],
    table: Any,
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    from parcast.deciding.proposal.propose import plan_proposal

    outputs.check(files)
    measured, inputs = read_files(files, select, table)
    given = {**options, "sizes": options["sizes"] or None}
    with spelled_with({**OPTIONS, **AXES, **own_options()}, click.UsageError):
        result = plan_proposal(measured, **given)
    written = {name: plain(value) for name, value in options.items()}
    result = with_inputs(result, **inputs, options=written | table.to_document())
    outputs.give(result)
    return ANSWERED
