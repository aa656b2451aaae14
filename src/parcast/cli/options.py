"""Options: the kinds of their values, those that several commands have, and what makes them.

An option that several commands have with one meaning is declared once, here or beside the frame of
these commands. Functions that read take the text of an option and its name, and return what the
text means.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial, wraps
from typing import Any, Final, TypeVar

import click

from parcast.cli.answering import A_FILE, OneOf, Whole
from parcast.cli.failures import own_options, spelled_with
from parcast.cli.outputs import FIGURES, Outputs
from parcast.cli.ranges import parse_counts, parse_sizes
from parcast.cli.screen import VERBOSE
from parcast.errors import ParameterError
from parcast.units import Dimension, quantity

PAIRS = re.compile(r",(?=\s*\w+\s*=)")  # between NEW=OLD and NEW=OLD; OLD may have commas
Function = TypeVar("Function", bound=Callable[..., Any])
Option = Callable[[Function], Function]  # decorator that adds one


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
    share = _fraction(text)
    if not 0 < share <= 1:
        meant = in_percent(text) or "50% or 0.5"
        raise click.UsageError(
            f"{option} must be an efficiency above 0% and up to 100%, got {text!r:.60}. "
            f"Write for example {meant}."
        )
    return share


def certainty(text: str, option: str) -> float:
    """Read a probability from a half up to below 1, such as 0.9 or 90%."""
    probability = _fraction(text)
    if not 0.5 <= probability < 1:
        raise click.UsageError(
            f"{option} must lie between 50% and 100%, got {text!r:.60}. "
            f"Write for example {in_percent(text) or '90%'}."
        )
    return probability


def share(text: str, option: str) -> float:
    """Read a fraction of at least 0, such as 5% or 0.05."""
    share = _fraction(text)
    if share < 0:
        raise click.UsageError(
            f"{option} must be a share of at least 0, got {text!r:.60}. Write for example 5%."
        )
    return share


def in_percent(text: str) -> str:
    """Write a number above 1 and up to 100, of which the sign was left out, in percent.

    >>> in_percent("90"), in_percent("0.9"), in_percent("many")
    ('90%', '', '')
    """
    try:
        return f"{text.strip()}%" if 1 < float(text) <= 100 else ""
    except ValueError:
        return ""


def _fraction(text: str) -> float:
    """Read a fraction, of which the unit may be left out; -1 where it is none."""
    amount: str | float = text
    with suppress(ValueError):
        amount = float(text)
    with suppress(ParameterError):
        return quantity(amount, "fraction", name="share")
    return -1.0


def above_0(text: str, option: str, dimension: Dimension, *, example: str) -> float:
    """Read an amount above 0 with its unit, in SI."""
    amount = quantity(text, dimension, name=option)
    if amount <= 0:
        raise click.UsageError(
            f"{option} must be above 0, got {text!r:.60}. Write for example {example}."
        )
    return amount


class Read(click.ParamType):  # type: ignore[type-arg]  # in click 8.1 it has no parameter
    """Kind of values that a function understands; `metavar` is what help calls them."""

    def __init__(self, metavar: str, read: Callable[[Any, str], Any]) -> None:
        self.name = self.metavar = metavar
        self.read = read

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> Any:
        """Understand a text, given the name of the option."""
        try:
            return self.read(value, param.opts[0])
        except ValueError as refusal:
            raise click.UsageError(str(refusal), ctx) from None


def amount(metavar: str, dimension: Dimension, example: str) -> Read:
    """Kind of amounts above 0, in SI."""
    return Read(metavar, partial(above_0, dimension=dimension, example=example))


TIME: Final = amount("TIME", "time", "60s")
COLUMNS: Final = Read("COLUMNS", columns)
COUNTS: Final = Read("LIST", counts)
DISKS: Final = Read("LIST", disks)
CERTAINTY: Final = Read("SHARE", certainty)
EFFICIENCY: Final = Read("SHARE", efficiency)
SIZES: Final = Read("SIZES", sizes)


def option(
    names: str,
    kind: str | click.ParamType,  # type: ignore[type-arg]  # likewise
    help: str,
    *,
    metavar: str = "",
    **settings: Any,
) -> Option[Any]:
    """Option with a value: `names` as click has them, with blanks between them.

    In place of a kind stands what help calls a text that is taken as it is.
    """
    if isinstance(kind, str):
        return option(names, click.STRING, help, metavar=kind, **settings)
    return click.option(
        *names.split(),
        type=kind,
        metavar=metavar or getattr(kind, "metavar", None) or ("PATH" if kind is A_FILE else None),
        show_default=settings.get("default") not in (None, ""),
        help=help,
        **settings,
    )


def flag(names: str, help: str, **settings: Any) -> Option[Any]:
    """Option that is given or not."""
    return click.option(*names.split(), is_flag=True, help=help, **settings)


def repeated_option(
    names: str, metavar: str, help: str, read: Callable[..., Any] | None = None, **settings: Any
) -> Option[Any]:
    """Option that may be given several times: `read` understands all its texts together."""

    def callback(_: click.Context, given: click.Parameter, texts: Any) -> Any:
        try:
            return read(texts, given.opts[0]) if read else texts
        except ValueError as refusal:
            raise click.UsageError(str(refusal)) from None

    help = f"{help} Repeatable."
    kind = A_FILE if metavar in {"PATH", "FILE"} else click.STRING
    return option(names, kind, help, metavar=metavar, multiple=True, callback=callback, **settings)


def together(*options: Option[Any]) -> Option[Any]:
    """Several arguments and options, in this order, as one."""

    def decorate(function: Any) -> Any:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate


def gathered(
    into: str, make: Callable[..., Any], names: Iterable[str], *options: Option[Any]
) -> Option[Any]:
    """Options that the command gets as one: what `make` makes of their values, by `names`."""
    own = tuple(names)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def gathering(*args: Any, **given: Any) -> Any:
            with spelled_with(own_options(), click.UsageError):
                made = make(**{name: given.pop(name) for name in own})
            return function(*args, **{into: made}, **given)

        with_options: Callable[..., Any] = together(*options)(gathering)
        return with_options

    return decorate


def output_option(help: str) -> Option[Any]:
    """Option -o."""
    return repeated_option("-o --output outputs", "PATH", help)


def processors(
    help: str, names: str = "-p --processors p", *, required: bool = False
) -> Option[Any]:
    """Option for processor counts."""
    return repeated_option(names, "LIST", help, counts, required=required)


json_option: Final = together(  # and -v, of every command that answers
    flag("--json as_json", "Print one JSON document, nothing else."),
    flag(
        "-v --verbose",
        "Show all warnings and details.",
        expose_value=False,
        callback=lambda context, _, given: context.meta.update({VERBOSE: given}),
    ),
)
all_option: Final = flag("--all show_all", "Show all rows, however many.")
name_option: Final = option("--name", "NAME", "Name of the machine. By default its host name.")
donors_option: Final = repeated_option(
    "--donors",
    "PATH",
    "Table of runs of the same program on other machines.",
)
law_error_option: Final = click.option(
    "--no-law-error",
    "law_error",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Leave the error of the law of PROGRAM out of intervals: only +- counts.",
)
scaling_option: Final = option(
    "--scaling",
    OneOf(["auto", "strong", "weak"]),
    "Scaling of the runs: strong (fixed problem size), weak (size grows with p), or auto: weak if "
    "a column n grows with p.",
    default="auto",
)
seed_option: Final = option(
    "--seed", Whole(0, metavar="NUMBER"), "Seed of the random numbers.", default=0
)
select_option: Final = repeated_option(
    "--select",
    "COLUMN=VALUES",
    "Use only rows with these values: machine=T3E,SP.",
    selection,
)
start_limit_option: Final = option(
    "--time-limit", TIME, "Time after which no run begins. By default none."
)
within_option: Final = option("--within", TIME, 'Longest time allowed: "2 h", 90s.')


def answer_options(formats: Sequence[str] = FIGURES, **contents: str) -> Option[Any]:
    """Options --json and -o, given to the command as `outputs`.

    `formats` are the endings of files, `contents` what those hold whose ending is not clear.
    """
    *others, last = (
        f".{ending} ({contents[ending]})" if ending in contents else f".{ending}"
        for ending in formats
    )
    help = f'Write PATH too: {", ".join(others)} or {last}. "-" prints CSV.'

    def made(outputs: Sequence[str], *, as_json: bool) -> Outputs:
        return Outputs(outputs, as_json=as_json, formats=formats)

    return gathered("outputs", made, ("outputs", "as_json"), json_option, output_option(help))


def beyond_option(what: str) -> Option[Any]:
    """Option to choose where there is no forecast."""
    return flag(
        "--beyond",
        f"Allow {what} where there is no forecast.",
    )
