"""`parcast match`: a program, or its runs, and machines in; the machine to take out.

Options whose text is more than a word (limits, a certainty, prices) have click callbacks, which
take the text and return what it means.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import OneOf, cli_command
from parcast.cli.failures import (
    ANSWER_IS_NO,
    ANSWERED,
    AXES,
    OPTIONS,
    NoAnswer,
    Spelling,
    in_options,
)
from parcast.cli.options import (
    Counts,
    Sizes,
    answer_options,
    as_written,
    disks,
    duration,
    ignore_option,
    processors,
    repeated_option,
    seed_option,
    select_option,
    sizes,
    text_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import read_description
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.matching.result import Match
    from parcast.timings.measurements import Measurements


_NAMED = re.compile(r"(.+?=[^,=]*)(?:,|$)")  # a comma ends a price only: names may hold some


@dataclass(frozen=True, slots=True)
class Budget:
    """Highest cost, as it was written, and its currency where it was named."""

    text: str
    value: float
    currency: str


def budget(_: click.Context, __: click.Parameter, text: str | None) -> Budget | None:
    """Read a number above 0, perhaps with a currency after it."""
    if text is None:
        return None
    number, *currency = text.split(maxsplit=1) or [""]
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise click.UsageError(
            f"--budget must be a number above 0, got {text!r:.60}. Write such as 500, or "
            '"500 EUR".'
        )
    return Budget(text, value, "".join(currency))


def certainty(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Read a probability from a half up to below 1, such as 0.9 or 90%."""
    if text is None:
        return None
    try:
        share = float(text[:-1]) / 100 if text.strip().endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0.5 <= share < 1:
        raise click.UsageError(
            f"--certainty must lie between 50% and 100%, got {text!r:.60}. Write such as 90%."
        )
    return share


def prices(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Read names of machines and what a processor-hour costs on each."""
    by_name: dict[str, str] = {}
    for text in [part for each in texts for part in _NAMED.findall(each) or [each]]:
        name, equals, price = map(str.strip, text.rpartition("="))
        if not (name and equals and price):
            raise click.UsageError(
                f"--price must be machines and prices of a processor-hour, got {text!r:.60}. "
                'Write such as "T3E=0.5,SP=0.2".'
            )
        if name in by_name:
            raise click.UsageError(
                f"--price must name a machine once, got {name!r:.60} twice. Leave one out."
            )
        by_name[name] = price
    return by_name


def check_budget(requested: Budget | None, machines: Sequence["Machine"]) -> None:
    """Refuse a budget in another currency than the prices."""
    priced = {machine.price.currency for machine in machines} - {""}
    if requested and requested.currency and priced and requested.currency not in priced:
        raise click.UsageError(
            f"--budget must be in {shown(' or '.join(sorted(priced)))}, as the prices are, got "
            f"{requested.text!r:.60}. Convert it."
        )


def options_of_match(*, runs: str, donors: Sequence[str]) -> Mapping[str, Spelling]:
    """What the command line calls the arguments of `match`, and tables by their files."""
    return {
        **OPTIONS,
        **AXES,
        "prices": _price,
        "runs": "the table",
        "table the runs": runs,
        "table donors": ", ".join(donors),
    }


def _price(prices: Mapping[str, float] | None) -> str:
    """Name the option, perhaps with prices: it is quoted, as names hold blanks."""
    given = ",".join(f"{name}={price}" for name, price in (prices or {}).items())
    return f'--price "{given}"' if given else "--price"


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


@cli_command(
    name="match", help=HELP, short_help="Rank machines for a program by time, cost or efficiency."
)
@click.argument("what")
@click.argument("machines", nargs=-1)
@processors("Counts to choose from.")
@click.option(
    "-d", "--disks", "d", metavar="COUNT", callback=disks, help="Disks or I/O servers, one count."
)
@click.option("-n", "--size", "n", metavar="SIZE", callback=sizes, help="Problem size, one.")
@click.option(
    "--goal",
    type=OneOf(["time", "cost", "efficiency"]),
    default="time",
    help="What is to be best: least time (default), least cost, highest efficiency.",
)
@text_option("--within", "TIME", duration, 'Longest time allowed: "2 h", 90s.')
@text_option("--budget", "COST", budget, 'Highest cost allowed: 500 or "500 EUR".')
@text_option(
    "--certainty",
    "SHARE",
    certainty,
    "Probability with which both must hold; by default an even chance.",
)
@repeated_option(
    "--price", "NAME=PRICE", "Price of a processor-hour on a machine: T3E=0.5,SP=0.2.", prices
)
@select_option("Rows of a table to take: n=64. Repeatable.")
@ignore_option("Columns of a table to pass over.")
@repeated_option(
    "--donors",
    "PATH",
    "Table of runs of the program on machines not to be ranked: they help to forecast.",
)
@repeated_option(
    "--target", "MACHINE", "Rank this machine of the table, with those not named as donors."
)
@seed_option("Of the samples behind the probabilities.")
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    outputs: Outputs,
    **options: Any,
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
    outputs.check([*files, *question.donors])
    matched = _matched(ctx, question)
    outputs.give(matched)
    if matched.best is None:
        click.echo("parcast: no: no machine fits.", err=True)
        return ANSWER_IS_NO
    return ANSWERED


def _matched(ctx: click.Context, question: Question) -> "Match":
    """Read the files and compute the answer."""
    from dataclasses import replace

    from parcast.descriptions.toml_files import read_machine
    from parcast.errors import ParameterError
    from parcast.matching.match import match

    what, donors, inputs = _program_or_runs(ctx, question)
    read = [read_description(x, read_machine, argument="MACHINES") for x in question.machines]
    machines = [machine for machine, _ in read]
    check_budget(question.budget, machines)
    if question.target and donors is not None:  # who names machines to rank means no others
        machines = [x for x in machines if x.name not in donors.labels["machine"]]
    try:
        matched = match(
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
    currency = matched.currency or (question.budget.currency if question.budget else "")
    return with_inputs(
        replace(matched, currency=currency),
        **inputs,
        machines=[from_file for _, from_file in read],
        options=as_written(question, "what", "machines", within="within_s"),
    )


def _program_or_runs(
    ctx: click.Context, question: Question
) -> tuple[Any, "Measurements | None", dict[str, Any]]:
    """Read what is to be matched, and donors of runs; say where it comes from."""
    from parcast.descriptions.toml_files import read_program
    from parcast.forecasting.donors.options import read_with_donors

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
        program, source = read_description(question.what, read_program, argument="WHAT")
        return program, None, {"program": source}
    if question.d is not None or question.n is not None:
        raise click.UsageError(
            "-d and -n must be asked of a program, got a table of runs. Take rows of one "
            "size with --select n=...",
            ctx,
        )
    runs, donors, source, sources = read_with_donors(
        question.what,
        select=question.select,
        ignore=question.ignore or (),
        donors=question.donors,
        targets=question.target,
        argument="WHAT",
    )
    has_donors = question.donors or question.target
    return runs, donors, {"runs": source} | ({"donors": sources} if has_donors else {})
