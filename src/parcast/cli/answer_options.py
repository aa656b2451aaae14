"""Options that every command has: where its answer goes, and a traceback for whoever asks."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

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
