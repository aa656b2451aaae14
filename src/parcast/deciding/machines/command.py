"""`parcast match`: machines ranked for a program, from its description or its runs."""

from typing import Any, Final

import click

from parcast.cli.answering import OneOf, cli_command
from parcast.cli.options import answer_options, option
from parcast.cli.outputs import Outputs
from parcast.deciding.goals.options import answer, question_options
from parcast.deciding.plans import decide

HELP: Final = """Rank machines for a program by time, cost or efficiency, under limits.

Prints each machine at its best processor count, with time, cost and the probability that it is the
best. The program is given by a table of its runs (TIMINGS) or by its description (PROGRAM).

TIMINGS is a CSV table as in `parcast forecast`, with a column machine if there are several.
PROGRAM and MACHINE are TOML files; the files may have any order. With PROGRAM, machine files give
the speed of each machine. With TIMINGS they give its price and size, and a machine without runs is
projected by its compute.rate. "-" is standard input, for one of them.

LIST is a list of counts: 64,128 or 1..16 or 1..1024x2 (doubling). With TIMINGS the default is the
measured counts. COST and RULE are those of `parcast plan`.

\b
Exit status: 0  answered
             1  answered, and the answer is no: no machine meets the limits
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: a rate is missing, or too few runs

\b
Examples:
  parcast match program.toml a.toml b.toml -p 1..64x2 --within 2h --budget 500
  parcast match times.csv --price "T3E=0.5,SP=0.2" --goal cost --within 12s
"""


@cli_command(name="match", help=HELP)
@option(
    "--goal",
    OneOf(["time", "cost", "efficiency"]),
    "Rank by least time, least cost or highest efficiency.",
    default=["time"],
    multiple=True,
)
@question_options
@answer_options()
def command(
    ctx: click.Context, /, *, files: tuple[str, ...], outputs: Outputs, **options: Any
) -> int:
    """Answer the question and return the exit status."""
    from parcast.deciding.machines.match import match

    options["goal"], *others = options["goal"]
    if others:
        raise click.UsageError("--goal is given twice. Rank by one, and limit the others.", ctx)
    outputs.check([*files, *options["donors"]])
    matched = answer(ctx, files, options, match)
    is_found = matched.best is not None
    return decide(outputs, matched, is_found=is_found, none="no machine meets the limits")
