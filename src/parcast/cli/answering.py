"""The class of all commands, and what click refuses in our words."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from parcast.cli.running import WRITTEN, runs
from parcast.words import did_you_mean

COUNTS: Final = ("-p", "-np")
MEANT: Final[Mapping[str, Sequence[str]]] = {  # options of other programs, and ours instead
    **dict.fromkeys(("--cores", "--nodes", "--ntasks", "--nprocs", "--processes"), COUNTS),
    **dict.fromkeys(("-np", "-p", "--np", "--procs", "--processors", "--ranks"), COUNTS),
    **dict.fromkeys(("--figure", "--picture", "--plot"), ("-o FILE.svg",)),
    "--deadline": ("--within TIME",),
    "--param": ("--at", "--set"),
    "--set": ("--param", "--at"),
    "--at": ("--param", "--set"),
}
NEAR: Final = 0.75  # of a misspelt option: at 0.6, --nodes would be --panels

DEBUG: Final = "Show a traceback when something fails."

EXAMPLES: Final = {"LIST": "64,128"}  # of values, by what help calls them


class Answering(click.Command):
    """A command with the option --debug, which `failures.run` looks for among the arguments."""

    allow_extra_args = True  # refused below, in our words

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.parts: click.Group | None = None  # commands below this one, which its help lists
        option = click.Option(["--debug"], is_flag=True, expose_value=False, help=DEBUG)
        self.params.append(option)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        ctx.meta[WRITTEN] = tuple(args)
        try:
            rest = super().parse_args(ctx, list(self._written(ctx, args)))
        except click.UsageError as refusal:
            refusal.ctx = refusal.ctx or ctx  # not every one has it
            raise
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(
                f"{rest[0]!r:.60} is one argument too many. Usage: {usage(ctx)}", ctx
            )
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; what messages advise is spelled for it from now on."""
        runs(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, and the parts if there are any."""
        super().format_options(ctx, formatter)
        if self.parts is not None:
            self.parts.format_commands(ctx, formatter)

    def _written(self, ctx: click.Context, args: Sequence[str]) -> Iterator[str]:
        """Divide -np4, as mpiexec takes it, and refuse -np where click would read it as -n.

        A file behind an option whose value may be left out is no value of it.
        """
        options = [x for x in self.get_params(ctx) if isinstance(x, click.Option)]
        takes_ranks = any("-np" in option.opts for option in options)
        by_default = {
            name: option.flag_value
            for option in options
            for name in option.opts
            if not option.is_flag and isinstance(option.flag_value, str)
        }
        for i, word in enumerate(args):
            if word == "--":
                yield from args[i:]
                return
            if word.startswith("-np") and not takes_ranks:
                raise click.NoSuchOption("-np", ctx=ctx)
            if word.startswith("-np") and word[3:4].isdigit():
                yield from ("-np", word[3:])
            elif word in by_default and any(map(os.path.exists, args[i + 1 : i + 2])):
                yield f"{word}={by_default[word]}"
            else:
                yield word


def cli_command(
    *, name: str, help: str, short_help: str | None = None, **settings: Any
) -> Callable[[Callable[..., Any]], Answering]:
    """Make a function a command: it takes the context, answers and returns its exit status.

    `short_help` is its line in the help of the command above it: `parcast.cli` has its own.
    """

    def decorate(function: Callable[..., Any]) -> Answering:
        named = click.command(
            name=name, cls=Answering, help=help, short_help=short_help, **settings
        )
        return named(click.pass_context(function))

    return decorate


class Whole(click.IntRange):
    """Whole numbers from `min` up to `max`; `metavar` is what help calls them."""

    def __init__(
        self, min: int | None = None, max: int | None = None, metavar: str = "COUNT"
    ) -> None:
        super().__init__(min, max)
        self.metavar = metavar

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> Any:
        """Read the number, also one such as 1e6, or refuse it in our words."""
        text = value
        if isinstance(value, str) and (match := re.fullmatch(r"([0-9]+)[eE]([0-9]{1,2})", value)):
            text = int(match[1]) * 10 ** int(match[2])
        try:
            return super().convert(text, param, ctx)
        except click.BadParameter:
            link = " of " if self.max is None else " from "
            domain = f"{link}{self._describe_range()}" if self.min is not None else ""
            raise click.UsageError(
                f"{param.opts[0]} must be a whole number{domain}, got {value!r:.60}.", ctx
            ) from None

    def _describe_range(self) -> str:
        """Say what help and refusals say of the range."""
        if self.min is None:
            return ""
        return f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"


class OneOf(click.Choice):  # type: ignore[type-arg]  # in click 8.1 it has no parameter
    """One of several words."""

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> Any:
        """Take the word, or suggest the nearest."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            *others, last = map(str, self.choices)
            hint = did_you_mean(str(value), map(str, self.choices))
            raise click.UsageError(
                f"{param.opts[0]} must be {', '.join(others)} or {last}, got {value!r:.60}.{hint}",
                ctx,
            ) from None


def in_our_words(failure: click.UsageError) -> str:
    """Say what click refuses as everything else is said."""
    ctx = failure.ctx
    known = [x for x in ctx.command.params if isinstance(x, click.Option)] if ctx else []
    match failure:
        case click.NoSuchOption(option_name=name):
            every = [spelling for option in known for spelling in _spellings(option)]
            where = f" of {ctx.command_path}" if ctx else ""
            meant = [x for x in MEANT.get(name, ()) if x.split()[0] in every]
            hint = did_you_mean(name, [*every, "--help"], cutoff=NEAR)
            if meant:
                value = [f" {_value(x)}" for x in known if meant[0] in _spellings(x)]
                hint = f" Did you mean {''.join([meant[0], *value])}?"
            return f"{name:.60} is not an option{where}.{hint}"
        case click.BadOptionUsage(option_name=name):
            option = next((x for x in known if name in _spellings(x)), None)
            if option is None or option.is_flag:
                return f"{name} takes no value. Write {name} alone."
            return f"{name} must have a value, got none. Write {name} {_value(option)}."
        case click.MissingParameter(param=click.Option() as option):
            example = EXAMPLES.get(_value(option), _value(option))
            return f"{option.opts[0]} must be given. Write for example {option.opts[0]} {example}."
        case click.MissingParameter(param=click.Argument() as argument) if ctx:
            needed = argument.human_readable_name.partition(" [")[0].removesuffix("...")
            return f"{needed} must be given. Usage: {usage(ctx)}"
    return failure.format_message()


def _spellings(option: click.Option) -> list[str]:
    """Every way to write an option."""
    return [*option.opts, *option.secondary_opts]


def _value(option: click.Option) -> str:
    """What help calls the value of an option."""
    return option.metavar or "VALUE"


def usage(ctx: click.Context, *, options: bool = True) -> str:
    """How a command is called, in a line; without `options` its arguments alone."""
    pieces = ctx.command.collect_usage_pieces(ctx)
    return " ".join([ctx.command_path, *pieces] if options else pieces[1:])


A_FILE: Final = click.Path(readable=False)  # a path that shells complete; who reads it checks it
