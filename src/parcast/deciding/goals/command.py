"""`parcast plan`: what to ask for, from timings or descriptions; its parts plan other programs."""

from typing import Any, Final

import click

from parcast.cli.answering import cli_command
from parcast.cli.failures import ANSWERED
from parcast.cli.options import all_option, answer_options
from parcast.cli.outputs import Outputs
from parcast.cli.parts import with_parts
from parcast.cli.running import WRITTEN
from parcast.deciding.goals.options import answer, question_options
from parcast.deciding.plans import PLAN, decide, with_plugins

HELP: Final = """Choose how many nodes to ask for, for how long and at which cost.

Prints what to ask for, with a wall-time limit that holds with 95% certainty, and the cost; then
the configurations that no other beats in both time and cost. Goals are met all together with the
--certainty. With --within the cheapest of those that meet them is recommended, else the fastest;
without --within and --efficiency the cores that are charged have to be used with an efficiency of
50%.

TIMINGS is a table as in `parcast forecast`; times are forecast from it. PROGRAM and MACHINE are
TOML files as in `parcast predict`. With TIMINGS, MACHINE gives prices and the most processors, and
a machine without runs is projected by its compute.rate, as by `parcast match`.

COST is "5000 core-h", "200 node-h" or "500 EUR". A number alone is money where all machines have a
price, else core-hours (node-hours with --p-is nodes alone). A node that is not filled is charged
in full.

RULE is square, power-of-two, divides:1280 or multiple:48: counts that the program can use. Without
-p, counts up to 16 times the largest measured one are considered.

\b
Exit status: 0  answered
             1  answered, and the answer is no: nothing meets the goals
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: too few runs, or a rate is missing

\b
Examples:
  parcast plan times.csv --within 2h --budget "5000 core-h" --cores-per-node 48
  parcast plan times.csv --efficiency 70% --counts power-of-two -o plan.svg
  parcast plan program.toml a.toml b.toml -p 1..1024x2 --within 10min
"""


@cli_command(name="plan", help=HELP)
@question_options
@all_option
@answer_options()
def plan_run(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    from parcast.deciding.goals.plan import plan

    if not ctx.meta[WRITTEN]:
        click.echo(ctx.get_help())  # which lists the parts
        return ANSWERED
    outputs.check([*files, *options["donors"]])
    result = answer(ctx, files, options, plan)
    is_found = result.recommended is not None
    return decide(
        outputs, result, is_found=is_found, none="nothing meets the goals", show_all=show_all
    )


command = with_parts(plan_run, with_plugins(PLAN))
