"""Options whose text is more than a word: counts, columns, rows to take, an efficiency.

Each function is a click callback: it takes the text of an option and returns what it means.

Options that every command has: where its answer goes, and a traceback for whoever asks.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import click

from parcast.cli.ranges import parse_counts
from parcast.errors import ParameterError
from parcast.units import Dimension, quantity


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of processors or disks, and the text that names them."""

    text: str
    values: list[int]  # [1]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Problem sizes, and the text that names them."""

    text: str
    values: list[float]  # [1]


def as_written(question: Any, *files: str, **names: str) -> dict[str, Any]:
    """What a dataclass of options holds, as it stands in a document: all but the `files`.

    `names` are what the document calls some of them.
    """
    return {
        names.get(option.name, option.name): _plain(getattr(question, option.name))
        for option in fields(question)
        if option.name not in files
    }


def _plain(value: Any) -> Any:
    """Write an option: by its text, if it has one, and pairs as "name=value"."""
    pairs = list(value.items()) if isinstance(value, dict) else value
    if isinstance(pairs, list | tuple):
        return [f"{x[0]}={x[1]}" if isinstance(x, tuple) else x for x in pairs]
    return getattr(value, "text", value)


def processors(help: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Option for counts of processors, which may be repeated."""
    return click.option(
        "-p",
        "--processors",
        "p",
        multiple=True,
        metavar="LIST",
        required=required,
        callback=counts,
        help=help,
    )


def counts(
    _: click.Context, option: click.Parameter, text: str | tuple[str, ...] | None
) -> Counts | None:
    """Read a list of counts; of an option that may be repeated, all its lists together."""
    if isinstance(text, tuple):
        text = ",".join(text) if text else None
    return _counted(option, text, "processors")


def disks(_: click.Context, option: click.Parameter, text: str | None) -> Counts | None:
    """Read a list of counts of disks."""
    return _counted(option, text, "disks")


def _counted(option: click.Parameter, text: str | None, of: str) -> Counts | None:
    """Read a list of counts, unless the option was left out."""
    if text is None:
        return None
    try:
        return Counts(text, parse_counts(text, name=option.opts[0], of=of))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def sizes(_: click.Context, option: click.Parameter, text: str | None) -> Sizes | None:
    """Read a list of problem sizes."""
    from parcast.cli.ranges import parse_sizes

    if text is None:
        return None
    try:
        return Sizes(text, parse_sizes(text, name=option.opts[0]))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def variations(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read names of parameters and the ranges they take, which their units will tell."""
    varied: dict[str, str] = {}
    for text in texts:
        name, equals, written = map(str.strip, text.partition("="))
        if not (name and equals and written):
            raise click.UsageError(
                f"--vary must be a parameter and its range, got {text!r:.60}. "
                'Write such as "network.bandwidth=10..1000 MB/s".'
            )
        if name in varied:
            raise click.UsageError(
                f"--vary must name a parameter once, got {name!r:.60} twice. "
                "Put its values into one list, with commas between them."
            )
        varied[name] = written
    return varied


def columns(_: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """Read names of columns with commas between them; empty text names none."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if not all(names):
        raise click.UsageError(
            f"{option.opts[0]} must be names of columns, got {text!r:.60}. "
            "Write such as callpath,machine."
        )
    return names


def selection(
    _: click.Context, __: click.Parameter, texts: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Read columns and the values that they must have."""
    wanted = []
    for text in texts:
        column, equals, value = map(str.strip, text.partition("="))
        if not (column and equals and value):
            raise click.UsageError(
                f"--select must be a column and its value, got {text!r:.60}. "
                "Write such as machine=T3E."
            )
        wanted.append((column, value))
    return wanted


def select_option(help: str) -> Callable[[Any], Any]:
    """Option for rows of a table to take."""
    return click.option(
        "--select", metavar="COLUMN=VALUE", multiple=True, callback=selection, help=help
    )


def ignore_option(help: str) -> Callable[[Any], Any]:
    """Option for columns of a table to pass over."""
    return click.option("--ignore", metavar="COLUMNS", callback=columns, help=help)


def efficiency(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Read a fraction above 0 and at most 1, such as 50% or 0.5."""
    if text is None:
        return None
    try:
        share = quantity(_plain_fraction(text), "fraction", name="--knee")
    except ParameterError:
        share = 0.0
    if not 0 < share <= 1:
        raise click.UsageError(
            f"--knee must be an efficiency above 0% and up to 100%, got {text!r:.60}. "
            "Write such as 50% or 0.5, or put --knee after FILE to take 50%."
        )
    return share


def _plain_fraction(text: str) -> str | float:
    """Take a number without a unit as one; text without a unit is refused as a quantity."""
    try:
        return float(text)
    except ValueError:
        return text


Command = TypeVar("Command", bound=Callable[..., Any])

TABLES: Final = ".csv or .json"
FIGURES: Final = ".csv, .json, .svg, .png or .pdf"

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document, nothing else."
)
# `failures.run` looks for it among the arguments.
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show a traceback when something fails."
)


def output_option(endings: str = FIGURES) -> Callable[[Command], Command]:
    """Option -o, whose help names the endings that are known."""
    return written_option(f'Write PATH too: {endings}. "-" prints CSV. Repeatable.')


def written_option(told: str) -> Callable[[Command], Command]:
    """Option -o with a help text of its own."""
    return click.option("-o", "--output", "outputs", multiple=True, metavar="PATH", help=told)


def duration(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Read a time above 0 with its unit."""
    from parcast.errors import ParameterError
    from parcast.units import quantity

    if text is None:
        return None
    try:
        time = quantity(text, "time", name=option.opts[0])
    except ParameterError as refusal:
        raise click.UsageError(str(refusal)) from None
    if time <= 0:
        raise click.UsageError(
            f"{option.opts[0]} must be above 0, got {text!r:.60}. Give the most that is allowed."
        )
    return time


def _above_0(
    option: click.Parameter, text: str | None, dimension: Dimension, example: str
) -> float | None:
    """Read an amount above 0, unless the option was left out."""
    if text is None:
        return None
    try:
        amount = quantity(text, dimension, name=option.opts[0])
    except ParameterError as error:
        raise click.UsageError(str(error)) from None
    if amount <= 0:
        raise click.UsageError(
            f"{option.opts[0]} must be above 0, got {text!r:.60}. Write such as {example}."
        )
    return amount


def time_limit(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Read the time to spend."""
    return _above_0(option, text, "time", "60s")
