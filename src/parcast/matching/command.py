"""`parcast match`: a program, or its runs, and machines in; the machine to take out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, NoAnswer, in_options
from parcast.cli.options import (
    Counts,
    Sizes,
    as_written,
    debug_option,
    disks,
    duration,
    ignore_option,
    json_option,
    output_option,
    processors,
    select_option,
    sizes,
)
from parcast.cli.outputs import check_outputs, give_result
from parcast.cli.reading import read_description
from parcast.matching.options import (
    Budget,
    budget,
    certainty,
    check_budget,
    options_of_match,
    prices,
)
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.matching.result import Match


HELP = """Rank machines for a program: by time, cost or efficiency, under limits.

WHAT is the description of a program (.toml), or a table of its runs with a column machine.
MACHINES are TOML files. For a program they say how fast each machine is; beside runs they say its
price and size, and a machine without runs is projected by its compute.rate. Each machine stands
at its best count of processors, with the probability that it is the best.

LIST names counts: 64,128 or 1..16 or 1..1024x2 (doubling); beside runs those of the runs by
default.

\b
Exit status: 0  answered
             1  answered, and the answer is no: no machine fits
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong
             4  no answer is possible: a rate is missing, runs are too few

\b
Examples:
  parcast match program.toml a.toml b.toml -p 1..64x2 --within 2h --budget 500
  parcast match times.csv --price "T3E=0.5,SP=0.2" --goal cost --within 12s
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What the command line says."""

    what: str  # files
    machines: tuple[str, ...]
    p: Counts | None
    d: Counts | None
    n: Sizes | None
    goal: Any  # "time", "cost" or "efficiency"
    within: float | None  # [s]
    budget: "Budget | None"
    certainty: float | None  # [1]
    price: dict[str, str]
    select: list[tuple[str, str]]
    ignore: list[str] | None
    donors: tuple[str, ...]  # files of runs on machines that are not ranked
    target: tuple[str, ...]  # machines of the table that are ranked, all others being donors
    seed: int


@click.command(name="match", help=HELP, short_help="Which machine, and how many processors?")
@click.argument("what")
@click.argument("machines", nargs=-1)
@processors("Counts to choose from.")
@click.option(
    "-d", "--disks", "d", metavar="COUNT", callback=disks, help="Disks or I/O servers, one count."
)
@click.option("-n", "--size", "n", metavar="SIZE", callback=sizes, help="Problem size, one.")
@click.option(
    "--goal",
    type=click.Choice(["time", "cost", "efficiency"]),
    default="time",
    help="What is to be best: least time (default), least cost, highest efficiency.",
)
@click.option(
    "--within", metavar="TIME", callback=duration, help='Longest time allowed: "2 h", 90s.'
)
@click.option(
    "--budget", metavar="COST", callback=budget, help='Highest cost allowed: 500 or "500 EUR".'
)
@click.option(
    "--certainty",
    metavar="SHARE",
    callback=certainty,
    help="Probability with which both must hold; by default an even chance.",
)
@click.option(
    "--price",
    metavar="NAME=PRICE",
    multiple=True,
    callback=prices,
    help="Price of a processor-hour on a machine: T3E=0.5,SP=0.2. Repeatable.",
)
@select_option("Rows of a table to take: n=64. Repeatable.")
@ignore_option("Columns of a table to pass over.")
@click.option(
    "--donors",
    metavar="PATH",
    multiple=True,
    help="Table of runs of the program on machines not to be ranked: they help to forecast. "
    "Repeatable.",
)
@click.option(
    "--target",
    metavar="MACHINE",
    multiple=True,
    help="Rank this machine of the table, with those not named as donors. Repeatable.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="Of the samples behind the probabilities.",
)
@json_option
@output_option()
@debug_option
@click.pass_context
def command(
    ctx: click.Context, /, *, outputs: tuple[str, ...], as_json: bool, **options: Any
) -> int:
    """Answer the question and return the exit status."""
    question = Question(**options)
    files = [question.what, *question.machines]
    if files.count("-") > 1:
        raise click.UsageError("Only one file may be -. Name the others.", ctx)
    for name, values in (("-d", question.d), ("-n", question.n)):
        if values is not None and len(values.values) > 1:
            raise click.UsageError(
                f"{name} must be one value here, got {values.text}. Match once for each.", ctx
            )
    check_outputs(outputs, sources=[*files, *question.donors], as_json=as_json)
    result = _answer(ctx, question)
    give_result(result, outputs, as_json=as_json)
    if result.best is None:
        click.echo("parcast: no: no machine fits.", err=True)
        return ANSWER_IS_NO
    return ANSWERED


def _answer(ctx: click.Context, question: Question) -> "Match":
    """Read the files and compute the answer."""
    from dataclasses import replace

    from parcast.descriptions.read_toml import read_machine
    from parcast.errors import ParameterError
    from parcast.matching.match import match

    what, donors, inputs = _what(ctx, question)
    read = [read_description(x, read_machine, argument="MACHINES") for x in question.machines]
    machines = [machine for machine, _ in read]
    check_budget(question.budget, machines)
    if question.target and donors is not None:  # who names machines to rank means no others
        machines = [x for x in machines if x.name not in donors.labels["machine"]]
    try:
        result = match(
            what,
            machines,
            p=question.p.values if question.p else None,
            d=question.d.values[0] if question.d else None,
            n=question.n.values[0] if question.n else None,
            goal=question.goal,
            within=question.within,
            budget=question.budget.value if question.budget else None,
            certainty=question.certainty,
            prices=question.price,
            donors=donors,
            seed=question.seed,
        )
    except ParameterError as refusal:
        file = inputs.get("runs", {}).get("file", question.what)
        text = in_options(refusal, options_of_match(runs=file, donors=question.donors))
        if refusal.name in {"prices", "donors"}:
            raise click.UsageError(text, ctx) from refusal
        raise NoAnswer(text) from refusal
    currency = result.currency or (question.budget.currency if question.budget else "")
    inputs |= {
        "machines": [from_file for _, from_file in read],
        "options": as_written(question, "what", "machines", within="within_s"),
        "parcast": __version__,
    }
    return replace(result, inputs=inputs, currency=currency)


def _what(ctx: click.Context, question: Question) -> tuple[Any, Any, dict[str, Any]]:
    """Read the program, or the runs and their donors, and say what files they come from."""
    from parcast.descriptions.read_toml import read_program
    from parcast.forecasting.donors.options import read_with_donors

    what: Any
    donors = None
    inputs: dict[str, Any] = {}
    if Path(question.what).suffix.lower() == ".toml":
        if question.p is None:
            raise click.UsageError("Say which counts to choose from: -p 1..1024x2.", ctx)
        if not question.machines:
            raise click.UsageError("Name the files of the machines after the program.", ctx)
        if question.select or question.ignore is not None or question.donors or question.target:
            raise click.UsageError(
                "--select, --ignore, --donors and --target must be asked of a table of runs, got "
                "a program. Leave them out.",
                ctx,
            )
        what, inputs["program"] = read_description(question.what, read_program, argument="WHAT")
    else:
        if question.d is not None or question.n is not None:
            raise click.UsageError(
                "-d and -n must be asked of a program, got a table of runs. Take rows of one "
                "size with --select n=...",
                ctx,
            )
        what, donors, inputs["runs"], sources = read_with_donors(
            question.what,
            select=question.select,
            ignore=question.ignore or (),
            donors=question.donors,
            targets=question.target,
            argument="WHAT",
        )
        if question.donors or question.target:
            inputs["donors"] = sources
    return what, donors, inputs
