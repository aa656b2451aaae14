"""`parcast match`: machines ranked for a program, from its description or its runs.

Functions that read an option (limits, a certainty, prices) take its text and its name, and return
what the text means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice, quoted
from parcast.cli.answering import A_FILE, OneOf, cli_command, usage
from parcast.cli.failures import (
    AXES,
    OPTIONS,
    NoAnswer,
    Spelling,
    in_options,
)
from parcast.cli.kinds import MACHINE, ArgumentPlace, in_places, kind_of
from parcast.cli.options import (
    SIZES,
    CountList,
    Read,
    SizeList,
    answer_options,
    as_written,
    beyond_option,
    disks,
    donors_option,
    in_percent,
    law_error_option,
    once_each,
    option,
    pairs,
    processors,
    repeated_option,
    scaling_option,
    seed_option,
    select_option,
    within_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.cli.reading import read_description, table_options
from parcast.deciding.plans import decide
from parcast.errors import selection
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.matching.result import Match
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions


PROGRAM_OR_TIMINGS: Final = ArgumentPlace(
    "{TIMINGS|PROGRAM}", "program file or table of timings", ("program", "timings")
)
MACHINES: Final = replace(MACHINE, least=0, most=1_000_000)


@dataclass(frozen=True, slots=True)
class Budget:
    """Highest cost, as it was written, and its currency where it was named."""

    text: str
    value: float
    currency: str


def budget(text: str, option: str) -> Budget:
    """Read a number above 0, optionally with a currency after it."""
    number, *currency = text.split(maxsplit=1) or [""]
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise click.UsageError(
            f"{option} must be a number above 0, got {text!r:.60}. Write for example 500, or "
            '"500 EUR".'
        )
    return Budget(text, value, "".join(currency))


def certainty(text: str, option: str) -> float:
    """Read a probability from a half up to below 1, such as 0.9 or 90%."""
    try:
        share = float(text[:-1]) / 100 if text.strip().endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0.5 <= share < 1:
        raise click.UsageError(
            f"{option} must lie between 50% and 100%, got {text!r:.60}. "
            f"Write for example {in_percent(text) or '90%'}."
        )
    return share


def prices(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read names of machines and what a processor-hour costs on each."""
    each = [part for text in texts for part in _each_priced(text)]
    must, example = "machines and prices of a processor-hour", '"T3E=0.5,SP=0.2"'
    priced = pairs(each, option, must, such_as=example, divide=str.rpartition)
    return once_each(priced, option, "name a machine once")


def _each_priced(text: str) -> list[str]:
    """Divide names with their prices at commas behind a price: names may hold some."""
    pieces, begun = list[str](), list[str]()
    for part in text.split(","):
        begun.append(part)
        if "=" in part:
            pieces.append(",".join(begun))
            begun = []
    return [*pieces, ",".join(begun)] if any(begun) or not pieces else pieces


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
        "price": "--price",
        "prices": _price,
        "runs": "the table",
        "table the runs": runs,
        "table donors": ", ".join(donors),
    }


def _price(prices: Mapping[str, float] | None) -> str:
    """Name the option, possibly with prices: it is quoted, as names hold blanks."""
    given = ",".join(f"{name}={price}" for name, price in (prices or {}).items())
    return f"--price {quoted(given)}" if given else "--price"


HELP = """Rank machines for a program by time, cost or efficiency, under limits.

Prints each machine at its best processor count, with time, cost and the probability that it is the
best. The program is given by a table of its runs (TIMINGS) or by its description (PROGRAM).

TIMINGS is a CSV table as in `parcast forecast`, with a column machine if there are several.
PROGRAM and MACHINE are TOML files; the files may have any order. With PROGRAM, machine files give
the speed of each machine. With TIMINGS they give its price and size, and a machine without runs is
projected by its compute.rate. "-" is standard input, for one of them.

LIST is a list of counts: 64,128 or 1..16 or 1..1024x2 (doubling). With TIMINGS the default is the
measured counts.

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What the command line says."""

    what: str  # files
    is_program: bool  # what the first is; otherwise it is a table
    machines: tuple[str, ...]
    p: CountList | None
    d: CountList | None
    n: SizeList | None
    goal: Any  # "time", "cost" or "efficiency"
    within: float | None  # [s]
    budget: "Budget | None"
    certainty: float | None  # [1]
    price: dict[str, str]
    select: list[tuple[str, str]]
    table: "TableOptions"  # how TIMINGS are read
    donors: tuple[str, ...]  # files of runs on machines that are not ranked
    target: tuple[str, ...]  # machines of the table that are ranked, all others being donors
    scaling: Any  # "auto", "strong" or "weak"
    beyond: bool  # whether to choose where there is no forecast
    law_error: bool  # whether intervals allow for it
    seed: int


@cli_command(
    name="match", help=HELP, short_help="Rank machines for a program by time, cost or efficiency."
)
@click.argument(
    "files", nargs=-1, required=True, metavar="{TIMINGS|PROGRAM} [MACHINE]...", type=A_FILE
)
@processors("Processor counts to choose from.")
@option("-d --disks d", Read("COUNT", disks), "Number of disks or I/O servers.")
@option("-n --size n", SIZES, "Problem size.", metavar="SIZE")
@option(
    "--goal",
    OneOf(["time", "cost", "efficiency"]),
    "Rank by least time, least cost or highest efficiency.",
    default="time",
)
@within_option
@option("--budget", Read("COST", budget), 'Highest cost allowed: 500 or "500 EUR".')
@option(
    "--certainty",
    Read("SHARE", certainty),
    "Probability with which the limits must be met. By default 90%.",
)
@repeated_option(
    "--price", "NAME=PRICE", "Price of a processor-hour on a machine: T3E=0.5,SP=0.2.", prices
)
@select_option
@table_options
@donors_option
@repeated_option(
    "--target", "MACHINE", "Rank this machine of TIMINGS, with the other machines as donors."
)
@scaling_option
@beyond_option("a choice")
@seed_option
@law_error_option
@answer_options()
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    outputs: Outputs,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    [what], machines = in_places(ctx, files, (PROGRAM_OR_TIMINGS, MACHINES))
    is_program = kind_of(what) == "program" or what.lower().endswith(".toml")
    question = Question(what=what, is_program=is_program, machines=tuple(machines), **options)
    for name, values in (("-d", question.d), ("-n", question.n)):
        if values is not None and len(values.values) > 1:
            raise click.UsageError(
                f"{name} must be one value here, got {values.text}. Run match once for each.", ctx
            )
    outputs.check([*files, *question.donors])
    matched = _matched(ctx, question)
    is_found = matched.best is not None
    return decide(outputs, matched, is_found=is_found, none="no machine meets the limits")


def _matched(ctx: click.Context, question: Question) -> "Match":
    """Read the files and compute the answer."""
    from parcast.descriptions.toml_files import read_machine
    from parcast.errors import ParameterError
    from parcast.matching.match import match

    what, donors, inputs = _program_or_runs(ctx, question)
    read = [read_description(x, read_machine, argument="MACHINE") for x in question.machines]
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
            scaling=question.scaling,
            beyond=question.beyond,
            prices=question.price,
            donors=donors,
            law_error=question.law_error,
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
        options=as_written(question, "what", "is_program", "machines", within="within_s"),
    )


def _program_or_runs(
    ctx: click.Context, question: Question
) -> tuple[Any, "Measurements | None", dict[str, Any]]:
    """Read what is to be matched, and donors of runs; say where it comes from."""
    from parcast.descriptions.toml_files import read_program
    from parcast.forecasting.donors.gather import read_with_donors

    if question.is_program:
        if question.p is None:
            raise click.UsageError(
                "-p must be given with PROGRAM: the counts to choose from. Write -p 1..1024x2.",
                ctx,
            )
        if not question.machines:
            raise click.UsageError(f"MACHINE must be given with PROGRAM. Usage: {usage(ctx)}", ctx)
        of_table = {
            "--select": question.select,
            **{f"--{name}": value for name, value in question.table.to_document().items()},
            "--donors": question.donors,
            "--target": question.target,
            "--scaling": question.scaling != "auto",
        }
        if wrong := [option for option, value in of_table.items() if value]:
            raise click.UsageError(
                f"{wrong[0]} requires TIMINGS, but {question.what} is a program. Leave it out.",
                ctx,
            )
        program, source = read_description(question.what, read_program, argument="PROGRAM")
        return program, None, {"program": source}
    if question.d is not None or question.n is not None:
        raise click.UsageError(
            f"-d and -n require PROGRAM, but {question.what} is a table of timings. Use "
            f"rows of one size with {selection('n', Choice('NUMBER'))}",
            ctx,
        )
    runs, donors, source, sources = read_with_donors(
        [question.what],
        select=question.select,
        table=question.table,
        donors=question.donors,
        targets=question.target,
        argument="TIMINGS",
    )
    has_donors = question.donors or question.target
    return runs, donors, {"runs": source} | ({"donors": sources} if has_donors else {})
