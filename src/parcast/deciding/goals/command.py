"""`parcast plan`: what to ask for, from timings or descriptions; its parts plan other programs."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, cli_command, usage
from parcast.cli.failures import ANSWERED, AXES, OPTIONS, own_options, spelled_with
from parcast.cli.kinds import MACHINE, ArgumentPlace, in_places, kind_of
from parcast.cli.options import (
    DISKS,
    EFFICIENCY,
    SIZES,
    Read,
    all_option,
    amount,
    answer_options,
    beyond_option,
    donors_option,
    law_error_option,
    option,
    plain,
    processors,
    repeated_option,
    scaling_option,
    seed_option,
    select_option,
    within_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.parts import with_parts
from parcast.cli.reading import read_description, table_options
from parcast.cli.running import WRITTEN
from parcast.deciding.plans import PLAN, decide, with_plugins
from parcast.matching.command import certainty, prices

if TYPE_CHECKING:
    from parcast.deciding.goals.result import ResourcePlan

HELP: Final = """Choose how many nodes to ask for, for how long and at which cost.

Prints what to ask for, with a wall-time limit that holds with 95 % certainty, and the cost; then
the configurations than which no other takes less time and costs no more. Goals are met all
together with the --certainty. With --within the cheapest of those that meet them is recommended,
else the fastest; without --within an efficiency of 50 % has to hold where none is given.

TIMINGS is a table as in `parcast forecast`; times are forecast from it. PROGRAM and MACHINE are
TOML files as in `parcast predict`. With TIMINGS, MACHINE gives prices and the most processors, and
a machine without runs is projected by its compute.rate, as by `parcast match`.

COST is "5000 core-h", "200 node-h" or "500 EUR". A number alone is money where all machines have a
price, else core-hours (node-hours with --p-is nodes alone). A node that is not filled is charged
in full.

RULE is square, power-of-two, divides:1280 or multiple:48: counts that the program can use.

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
WHAT: Final = ArgumentPlace(
    "{TIMINGS|PROGRAM}", "table of timings or program file", ("program", "timings")
)
MACHINES: Final = replace(MACHINE, least=0, most=1_000_000)
OF_TABLES: Final = {"select": (), "donors": (), "scaling": "auto", "memory": None}


@cli_command(name="plan", help=HELP, short_help="Choose nodes, wall-time limit and cost of a run.")
@click.argument("files", nargs=-1, metavar="{TIMINGS|PROGRAM} [MACHINE]...", type=A_FILE)
@within_option
@option("--efficiency", EFFICIENCY, "Least efficiency allowed: 70%.")
@option("--budget", "COST", 'Highest cost allowed: "5000 core-h", "200 node-h", "500 EUR".')
@option("--memory", amount("SIZE", "size", "256GB"), "What programs can use of a node: 256GB.")
@option(
    "--certainty",
    Read("SHARE", certainty),
    "Probability with which all goals must be met.  [default: 90%]",
)
@option("--counts", "RULE", "Counts that the program can use: multiple:48.")
@option("--cores-per-node", Whole(1), "Cores of a node: plan whole nodes.")
@option(
    "--p-is",
    OneOf(["cores", "nodes"]),
    "What p counts.  [default: nodes if its column is nodes, else cores]",
)
@processors("Counts to choose from. By default up to 16 times the largest measured one.")
@option("--upto", Whole(1), "Largest count to choose from, without -p.", metavar="P")
@option("-d --disks d", DISKS, "Numbers of disks or I/O servers to choose from.")
@option("-n --size n", SIZES, "Problem size.", metavar="SIZE")
@repeated_option(
    "--price", "NAME=PRICE", "Price of a processor-hour on a machine: T3E=0.5,SP=0.2.", prices
)
@select_option
@table_options
@donors_option
@scaling_option
@beyond_option("a choice")
@seed_option
@law_error_option
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
    if not ctx.meta[WRITTEN]:
        click.echo(ctx.get_help())  # which lists the parts
        return ANSWERED
    [what], machines = in_places(ctx, files, (WHAT, MACHINES))
    size = options["n"]
    if size is not None and len(size.values) > 1:
        raise click.UsageError(f"-n must be one value here, got {size.text}.", ctx)
    outputs.check([*files, *options["donors"]])
    result = _planned(ctx, what, machines, options)
    is_found = result.recommended is not None
    return decide(
        outputs, result, is_found=is_found, none="nothing meets the goals", show_all=show_all
    )


def _planned(
    ctx: click.Context, what: str, files: list[str], options: dict[str, Any]
) -> "ResourcePlan":
    """Read the files and choose."""
    from parcast.deciding.goals.plan import plan
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.forecasting.donors.gather import read_with_donors

    given = dict(options)
    names = ("select", "table", "donors")
    select, table, donors = (given.pop(name) for name in names)
    given["n"] = given["n"].values[0] if given["n"] else None
    for name in ("p", "d"):
        given[name] = given[name].values if given[name] else None
    given["prices"] = given.pop("price")
    inputs: dict[str, Any]
    subject: Any
    if kind_of(what) == "program" or what.lower().endswith(".toml"):
        of_table = {**OF_TABLES, "table": table.to_document()}
        wrong = [x for x in OF_TABLES if options[x] not in (OF_TABLES[x], [])]
        wrong += [x for x, value in of_table["table"].items() if value]
        if wrong:
            raise click.UsageError(
                f"--{wrong[0].replace('_', '-')} requires TIMINGS, but {what} is a program. Leave "
                "it out.",
                ctx,
            )
        if not files:
            raise click.UsageError(f"MACHINE must be given with PROGRAM. Usage: {usage(ctx)}", ctx)
        subject, source = read_description(what, read_program, argument="PROGRAM")
        inputs = {"program": source}
    else:
        subject, given["donors"], source, others = read_with_donors(
            [what], select=select, table=table, donors=donors, targets=(), argument="TIMINGS"
        )
        inputs = {"runs": source, **({"donors": others} if donors else {})}
    read = [read_description(x, read_machine, argument="MACHINE") for x in files]
    spelling = own_options(**{"prices": "--price", "price": "--price", "what": "TIMINGS"})
    with spelled_with({**OPTIONS, **AXES, **spelling}, click.UsageError):
        result = plan(subject, [machine for machine, _ in read], **given)
    written = {name: plain(value) for name, value in options.items() if name != "table"}
    return with_inputs(
        result, **inputs, machines=[x for _, x in read], options=written | table.to_document()
    )


command = with_parts(plan_run, with_plugins(PLAN))
