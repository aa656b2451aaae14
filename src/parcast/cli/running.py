"""The command that runs: the options it has, and what its user gave it.

Messages ask, so that they name no option that the command lacks, and repeat what is known: where
advice has PROGRAM, and the command was given a program, it is its file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import click

from parcast.advice import Choice, quoted

FILES: Final = (
    "parcast.files"  # in the context of a command: its files, by what the usage calls them
)
WRITTEN: Final = "parcast.written"  # and its arguments as written
SAME_QUESTION: Final = ("p", "d", "n", "vary")  # options that predict, simulate and match share

_RUNNING: Final[ContextVar[click.Context | None]] = ContextVar("running", default=None)


@contextmanager
def one_runs() -> Iterator[None]:
    """Remember which command runs until the block ends, also after the command has failed."""
    before = _RUNNING.set(None)
    try:
        yield
    finally:
        _RUNNING.reset(before)


def runs(ctx: click.Context) -> None:
    """Note the command that runs from now on."""
    _RUNNING.set(ctx)


def running() -> click.Context | None:
    """Context of the command that runs, or ran last; None in Python."""
    return _RUNNING.get()


def own_option(
    ctx: click.Context | None, argument: str, expected: str | None = None
) -> str | None:
    """Option of a command that stands for an argument of Python; None if it has no such option.

    `expected` is its spelling where it is called otherwise than the argument.
    """
    if ctx is None or (expected is not None and not expected.startswith("-")):
        return expected
    for option in ctx.command.params:
        if not isinstance(option, click.Option):
            continue
        spellings = [*option.opts, *option.secondary_opts]
        if expected is not None and expected.partition(" ")[0] in spellings:
            return expected
        if expected is None and option.name == argument:
            full = f"--{argument}"
            return full if full in spellings else option.opts[0]
    return None


def chosen(ctx: click.Context | None, choice: Choice) -> str:
    """Write what the user of a command has already chosen; else the choice as it is."""
    if ctx is None:
        return str(choice)
    if choice.startswith("-"):
        return _question(ctx) or str(choice)
    file = files_of(ctx).get(choice)
    if file is None:
        return str(choice)
    return "-" if file == "-" else quoted(f"./{file}" if file.startswith("-") else file)


def files_of(ctx: click.Context) -> Mapping[str, str]:
    """Files of a command by what its usage calls them, where there is one of the name."""
    alone = {
        argument.human_readable_name: ctx.params.get(argument.name or "")
        for argument in ctx.command.params
        if isinstance(argument, click.Argument) and argument.nargs == 1
    }
    known: dict[str, Any] = alone | ctx.meta.get(FILES, {})
    return {name: file for name, file in known.items() if isinstance(file, str)}


def _question(ctx: click.Context) -> str:
    """Write the options that say what was asked, as they were given."""
    command, words = ctx.command, list(ctx.meta.get(WRITTEN, ()))
    context = click.Context(
        command, parent=ctx.parent, resilient_parsing=True, ignore_unknown_options=True
    )
    given, _, _ = command.make_parser(context).parse_args(args=words)
    spelled = []
    for option in command.params:
        if option.name in SAME_QUESTION and option.name in given:
            texts = given[option.name]
            for text in [texts] if isinstance(texts, str) else texts:
                spelled += [option.opts[0], quoted(text)]
    return " ".join(spelled)
