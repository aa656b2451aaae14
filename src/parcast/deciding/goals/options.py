"""Options of `parcast plan` and `parcast match`, and their answers: both ask one question."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import click

from parcast.cli.answering import A_FILE, OneOf, Whole, usage
from parcast.cli.described import read_subject, refuse_set, set_option
from parcast.cli.failures import AXES, OPTIONS, NoAnswer, Spelling, in_options, own_options
from parcast.cli.kinds import MACHINE, ArgumentPlace, in_places, kind_of
from parcast.cli.options import (
    CERTAINTY,
    DISKS,
    EFFICIENCY,
    SIZES,
    amount,
    beyond_option,
    donors_option,
    law_error_option,
    once_each,
    option,
    pairs,
    plain,
    processors,
    repeated_option,
    scaling_option,
    seed_option,
    select_option,
    together,
    within_option,
)
from parcast.cli.outputs import with_inputs
from parcast.cli.reading import read_description, table_options
from parcast.errors import ParameterError
from parcast.show.result import Result

Answer = TypeVar("Answer", bound=Result)
PROGRAM_OR_TIMINGS: Final = ArgumentPlace(
    "{TIMINGS|PROGRAM}", "program file or table of timings", ("program", "timings")
)
MACHINES: Final = replace(MACHINE, least=0, most=1_000_000)
OF_TABLES: Final = ("select", "donors", "target", "memory")


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


question_options: Final = together(
    click.argument("files", nargs=-1, metavar="{TIMINGS|PROGRAM} [MACHINE]...", type=A_FILE),
    within_option,
    option("--efficiency", EFFICIENCY, "Least efficiency allowed: 70%."),
    option("--budget", "COST", 'Highest cost allowed: "5000 core-h", "200 node-h", "500 EUR".'),
    option("--memory", amount("SIZE", "size", "256GB"), "What programs can use of a node: 256GB."),
    option(
        "--certainty",
        CERTAINTY,
        "Probability with which all limits must be met.  [default: 90%]",
    ),
    option("--counts", "RULE", "Counts that the program can use: multiple:48."),
    option("--cores-per-node", Whole(1), "Cores of a node: whole nodes are charged."),
    option(
        "--p-is",
        OneOf(["cores", "nodes"]),
        "What p counts.  [default: nodes if its column is nodes, else cores]",
    ),
    processors("Counts to choose from."),
    option("--upto", Whole(1), "Largest count to choose from, without -p.", metavar="P"),
    option("-d --disks d", DISKS, "Numbers of disks or I/O servers to choose from."),
    option("-n --size n", SIZES, "Problem size.", metavar="SIZE"),
    repeated_option(
        "--price", "NAME=PRICE", "Price of a processor-hour on a machine: T3E=0.5,SP=0.2.", prices
    ),
    select_option,
    table_options,
    donors_option,
    repeated_option(
        "--target", "MACHINE", "Consider this machine of TIMINGS, with the others as donors."
    ),
    scaling_option,
    beyond_option("a choice"),
    seed_option,
    set_option,
    law_error_option,
)


def answer(
    ctx: click.Context,
    files: Sequence[str],
    options: dict[str, Any],
    verb: Callable[..., Answer],
) -> Answer:
    """Read the files, ask `plan` or `match`, and note what the answer comes from."""
    [what], machines = in_places(ctx, files, (PROGRAM_OR_TIMINGS, MACHINES))
    of_table = ("select", "table", "target")
    given = {name: x for name, x in options.items() if name not in of_table}
    lists = {name: options[name].values if options[name] else None for name in ("p", "d", "n")}
    [size] = lists["n"] if lists["n"] and len(lists["n"]) == 1 else [lists["n"]]
    given |= {**lists, "n": size, "prices": given.pop("price")}
    subject, described, given["donors"], inputs = _subject(ctx, what, machines, options)
    if options["target"] and given["donors"] is not None:  # who names machines means no others
        described = [x for x in described if x.name not in given["donors"].labels["machine"]]
    try:
        result = verb(subject, described, **given)
    except ParameterError as refusal:
        text = in_options(refusal, spellings(what, options["donors"]))
        if refusal.name in {*own_options(), "prices", "what"}:
            raise click.UsageError(text, ctx) from refusal
        raise NoAnswer(text) from refusal  # a description or a table lacks something
    written = {name: plain(x) for name, x in options.items() if name != "table"}
    written |= {"within_s": written.pop("within")} | options["table"].to_document()
    return with_inputs(result, **inputs, options=written)


def spellings(runs: str, donors: Sequence[str] = ()) -> dict[str, Spelling]:
    """What the command line calls the arguments of both, and tables by their files."""
    return {
        **OPTIONS,
        **AXES,
        **own_options(),
        "price": "--price",
        "prices": "--price",
        "what": "TIMINGS",
        "runs": "the table",
        "table the runs": runs,
        "table donors": ", ".join(donors),
    }


def _subject(
    ctx: click.Context, what: str, machines: Sequence[str], options: dict[str, Any]
) -> tuple[Any, list[Any], Any, dict[str, Any]]:
    """Read a program, or runs, machines, and donors beside runs; say where they come from."""
    from parcast.descriptions.toml_files import read_machine
    from parcast.forecasting.donors.gather import read_with_donors

    if kind_of(what) == "program" or what.lower().endswith(".toml"):
        given = {name: options[name] for name in OF_TABLES} | options["table"].to_document()
        given["scaling"] = options["scaling"] != "auto"
        if wrong := [name.replace("_", "-") for name, value in given.items() if value]:
            raise click.UsageError(
                f"--{wrong[0]} requires TIMINGS, but {what} is a program. Leave it out.", ctx
            )
        if not machines:
            raise click.UsageError(f"MACHINE must be given with PROGRAM. Usage: {usage(ctx)}", ctx)
        described = read_subject(what, machines)
        sources = {"program": described.from_program, "machines": described.from_machines}
        return described.program, list(described.machines), None, sources
    refuse_set(ctx, what)
    runs, donors, source, donated = read_with_donors(
        [what],
        select=options["select"],
        table=options["table"],
        donors=options["donors"],
        targets=options["target"],
        argument="TIMINGS",
    )
    has_donors = options["donors"] or options["target"]
    read = [read_description(x, read_machine, argument="MACHINE") for x in machines]
    inputs = {"runs": source} | ({"donors": donated} if has_donors else {})
    inputs["machines"] = [x for _, x in read]
    return runs, [machine for machine, _ in read], donors, inputs
