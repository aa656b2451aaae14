"""Options whose text is more than a word, those that several commands have.

Functions that read take the text of an option and its name, and return what the text means.
"""

import csv
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import click

from parcast.cli.answering import A_FILE, OneOf, Whole
from parcast.cli.outputs import FIGURES, Outputs
from parcast.cli.ranges import parse_counts, parse_sizes
from parcast.cli.screen import VERBOSE
from parcast.errors import ParameterError
from parcast.units import Dimension, quantity

PAIRS = re.compile(r",(?=\s*\w+\s*=)")  # between NEW=OLD and NEW=OLD; OLD may have commas
Function = TypeVar("Function", bound=Callable[..., Any])
Option = Callable[[Function], Function]  # decorator that adds one


def json_option(function: Function) -> Function:
    """Options --json and -v, of every command that answers; `page_of_stdout` looks for -v."""
    json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document, nothing else."
    )
    verbose = click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=lambda context, _, given: context.meta.update({VERBOSE: given}),
        help="Show all warnings and details.",
    )
    return json(verbose(function))


@dataclass(frozen=True, slots=True)
class CountList:
    """Processor or disk counts, and the text that names them."""

    text: str
    values: list[int]  # [1]


@dataclass(frozen=True, slots=True)
class SizeList:
    """Problem sizes, and the text that names them."""

    text: str
    values: list[float]  # [1]


def as_written(question: Any, *files: str, **names: str) -> dict[str, Any]:
    """What a dataclass of options holds, as it stands in a document: all but the `files`.

    `names` are what the document calls some of them.
    """
    given = {option.name: getattr(question, option.name) for option in fields(question)}
    written: dict[str, Any] = {}
    for name, value in given.items():
        if name == "table":
            written |= value.to_document()
        elif name not in files:
            written[names.get(name, name)] = plain(value)
    return written


def plain(value: Any) -> Any:
    """Write an option: by its text, if it has one, and pairs as "name=value"."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    if isinstance(pairs, list | tuple):
        return [f"{x[0]}={x[1]}" if isinstance(x, tuple) else x for x in pairs]
    return getattr(value, "text", value)


def processors(help: str, *, required: bool = False, name: str = "p") -> Option[Any]:
    """Option for processor counts, which may be repeated; -p, or --at where that is taken."""
    names = ("-p", "--processors", "p") if name == "p" else (f"--{name}",)
    return click.option(
        *names,
        multiple=True,
        metavar="LIST",
        required=required,
        callback=understood(counts),
        help=help,
    )


def size_option(
    help: str, *, metavar: str = "SIZES", read: Callable[[str, str], Any] | None = None
) -> Option[Any]:
    """Option for problem sizes."""
    return click.option(
        "-n", "--size", "n", metavar=metavar, callback=understood(read or sizes), help=help
    )


def ranks_option(
    help: str, *, read: Callable[..., Any], metavar: str = "LIST", **settings: Any
) -> Option[Any]:
    """Option for counts of MPI ranks."""
    return click.option(
        "-np", "ranks", metavar=metavar, callback=understood(read), help=help, **settings
    )


def understood(read: Callable[[Any, str], Any]) -> Callable[..., Any]:
    """Callback of click that has `read` understand a text, given the name of the option."""

    def callback(_: click.Context, option: click.Parameter, text: Any) -> Any:
        try:
            return None if text is None else read(text, option.opts[0])
        except ValueError as refusal:
            raise click.UsageError(str(refusal)) from None

    return callback


def counts(text: str | tuple[str, ...], option: str) -> CountList | None:
    """Read a list of counts; of an option that may be repeated, all its lists together."""
    if text == ():
        return None
    text = text if isinstance(text, str) else ",".join(text)
    return CountList(text, parse_counts(text, name=option, of="processors"))


def disks(text: str, option: str) -> CountList:
    """Read a list of counts of disks."""
    return CountList(text, parse_counts(text, name=option, of="disks"))


def sizes(text: str, option: str) -> SizeList:
    """Read a list of problem sizes."""
    return SizeList(text, parse_sizes(text, name=option))


def columns(text: str, option: str) -> list[str]:
    """Read names of columns with commas between them, or in quotation marks; "" names none."""
    names = []
    with suppress(csv.Error):  # of a line break between names
        names = next(csv.reader([text] if text.strip() else [], skipinitialspace=True), [])
    names = [name.strip() for name in names]
    if not all(names or [not text.strip()]):
        raise click.UsageError(
            f"{option} must be names of columns, got {text!r:.60}. "
            "Write for example callpath,machine."
        )
    return names


def pairs(
    texts: Sequence[str],
    option: str,
    must: str,
    *,
    such_as: str,
    divide: Callable[[str, str], tuple[str, str, str]] = str.partition,
) -> list[tuple[str, str]]:
    """Read names and what is said of each: `NAME=VALUE`."""
    read = []
    for text in texts:
        name, _, value = map(str.strip, divide(text, "="))
        if not (name and value):
            raise click.UsageError(
                f"{option} must be {must}, got {text!r:.60}. Write for example {such_as}."
            )
        read.append((name, value))
    return read


def once_each(
    named: Sequence[tuple[str, str]],
    option: str,
    must: str,
    *,
    hint: str = "Leave one out.",
) -> dict[str, str]:
    """Take pairs by their names, none of which may occur twice."""
    by_name: dict[str, str] = {}
    for name, value in named:
        if name in by_name:
            raise click.UsageError(f"{option} must {must}, got {name!r:.60} twice. {hint}")
        by_name[name] = value
    return by_name


def variations(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read names of parameters and the ranges they take, which their units will tell."""
    example = '"network.bandwidth=10..1000 MB/s"'
    varied = pairs(texts, option, "a parameter and its range", such_as=example)
    hint = "Put its values into one list, with commas between them."
    return once_each(varied, option, "name a parameter once", hint=hint)


def called(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read names of columns and what a file calls them."""
    must, example = "a name and the name in the file", "p=nodes or time_s=seconds"
    each = [part for text in texts for part in PAIRS.split(text)]
    return once_each(pairs(each, option, must, such_as=example), option, "name a column once")


def selection(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Read columns and the values that they must have."""
    example = "machine=T3E or machine=T3E,SP"
    return pairs(texts, option, "a column and its value", such_as=example)


def efficiency(text: str, option: str) -> float:
    """Read a fraction above 0 and at most 1, such as 50% or 0.5."""
    try:
        share = quantity(_plain_fraction(text), "fraction", name=option)
    except ParameterError:
        share = 0.0
    if not 0 < share <= 1:
        meant = in_percent(text) or f"50% or 0.5, or put {option} after FILE to take 50%"
        raise click.UsageError(
            f"{option} must be an efficiency above 0% and up to 100%, got {text!r:.60}. "
            f"Write for example {meant}."
        )
    return share


def share(text: str, option: str) -> float:
    """Read a fraction of at least 0, such as 5% or 0.05."""
    try:
        return quantity(_plain_fraction(text), "fraction", name=option)
    except ParameterError:
        raise click.UsageError(
            f"{option} must be a share of at least 0, got {text!r:.60}. Write for example 5%."
        ) from None


def in_percent(text: str) -> str:
    """Write a number above 1 and up to 100, of which the sign was left out, in percent.

    >>> in_percent("90"), in_percent("0.9"), in_percent("many")
    ('90%', '', '')
    """
    try:
        return f"{text.strip()}%" if 1 < float(text) <= 100 else ""
    except ValueError:
        return ""


def _plain_fraction(text: str) -> str | float:
    """Take a number without a unit as one; text without a unit is refused as a quantity."""
    try:
        return float(text)
    except ValueError:
        return text


def text_option(
    name: str, metavar: str, read: Callable[..., Any], help: str, **settings: Any
) -> Option[Any]:
    """Option whose text `read` understands."""
    return click.option(name, metavar=metavar, callback=understood(read), help=help, **settings)


def repeated_option(
    name: str, metavar: str, help: str, read: Callable[..., Any] | None = None, *names: str
) -> Option[Any]:
    """Option that may be given several times; a file's name is one that shells complete."""
    help = f"{help} Repeatable."
    kind = A_FILE if metavar in {"PATH", "FILE"} else None
    return click.option(
        name,
        *names,
        metavar=metavar,
        callback=read and understood(read),
        help=help,
        multiple=True,
        type=kind,
    )


def answer_options(formats: Sequence[str] = FIGURES, **contents: str) -> Option[Any]:
    """Options --json and -o, given to the command as `outputs`.

    `formats` are the endings of files, `contents` what those hold whose ending is not clear.
    """
    *others, last = (
        f".{ending} ({contents[ending]})" if ending in contents else f".{ending}"
        for ending in formats
    )
    help = f'Write PATH too: {", ".join(others)} or {last}. "-" prints CSV. Repeatable.'

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def answering(*args: Any, outputs: Sequence[str], as_json: bool, **options: Any) -> Any:
            given = Outputs(outputs, as_json=as_json, formats=formats)
            return function(*args, outputs=given, **options)

        with_options: Callable[..., Any] = json_option(output_option(help)(answering))
        return with_options

    return decorate


def output_option(help: str) -> Option[Any]:
    """Option -o."""
    return click.option(
        "-o", "--output", "outputs", multiple=True, metavar="PATH", help=help, type=A_FILE
    )


def select_option(help: str = "Use only rows with these values: machine=T3E,SP.") -> Option[Any]:
    """Option for rows of a table to use."""
    return repeated_option("--select", "COLUMN=VALUES", help, selection)


def seed_option(help: str, **more: Any) -> Option[Any]:
    """Option for what makes random numbers repeat."""
    return click.option("--seed", type=Whole(0), metavar="NUMBER", default=0, help=help, **more)


def scaling_option() -> Option[Any]:
    """Option to say how the work of runs changed with p."""
    return click.option(
        "--scaling",
        type=OneOf(["auto", "strong", "weak"]),
        default="auto",
        help="Scaling of the runs: strong (fixed problem size) or weak (size grows with p). By "
        "default weak if a column n grows with p, strong otherwise.",
    )


def beyond_option(what: str) -> Option[Any]:
    """Option to choose where there is no forecast."""
    return click.option(
        "--beyond",
        is_flag=True,
        help=f"Allow {what} where there is no forecast: an interval of more than thirtyfold, or "
        "a test that was more than 100% off.",
    )


def law_error_option() -> Option[Any]:
    """Option to leave how wrong laws have been out of intervals."""
    return click.option(
        "--no-law-error",
        "law_error",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Leave the error of the law of PROGRAM out of intervals: only +- counts.",
    )


def all_option(rows: str) -> Option[Any]:
    """Option to show everything, however long it is."""
    return click.option(
        "--all", "show_all", is_flag=True, help=f"Show every {rows}, however many."
    )


def duration(text: str, option: str) -> float:
    """Read the most time that something may take. [s]."""
    return above_0(text, option, "time", hint="Give the most that is allowed.")


def time_limit(text: str, option: str) -> float:
    """Read the time to spend. [s]."""
    return above_0(text, option, "time", hint="Write for example 60s.")


def above_0(text: str, option: str, dimension: Dimension, *, hint: str) -> float:
    """Read an amount above 0 with its unit, in SI."""
    amount = quantity(text, dimension, name=option)
    if amount <= 0:
        raise click.UsageError(f"{option} must be above 0, got {text!r:.60}. {hint}")
    return amount
