"""What the command line says when something goes wrong, and the status it ends with."""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Any, Final, TextIO

import click

from parcast.advice import Choice, Command, File, ours, quoted, spelled_by
from parcast.cli.answering import in_our_words
from parcast.cli.running import chosen, one_runs, own_option, running
from parcast.cli.screen import tell
from parcast.errors import (
    Argument,
    FileProblems,
    FitFailed,
    ParameterError,
    ParcastError,
    Part,
    RunFailed,
    one_line,
    subject,
)
from parcast.places import PluginFaultError, PluginWarning, plugin_at_fault
from parcast.signals import Terminated

ANSWERED: Final = 0
ANSWER_IS_NO: Final = 1
WRONG_USE: Final = 2
BAD_FILE: Final = 3
NO_FORECAST: Final = 4
NOT_CHECKED: Final = 5  # nothing wrong was found, but not all could be checked
OUR_BUG: Final = 70  # as sysexits.h has it: not to be taken for an answer
INTERRUPTED: Final = 130  # what a shell reports for SIGINT
PIPE_CLOSED: Final = 141  # and for SIGPIPE
DEBUG: Final = "Run it again with --debug and report what it prints."
SIGNALLED: Final = 128  # and, with its number added, for any signal


class NoAnswer(click.ClickException):
    """What was asked was understood, and has no answer."""

    exit_code = NO_FORECAST


Spelling = str | Callable[[Any], str]


def _as_text(value: Any) -> str:
    """Write a value as an option takes it: 64,128 or 1..8x2, jobid,date or machine=T3E."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    doubles = len(value) > 2 and all(y == 2 * x for x, y in pairwise(value))
    return f"{value[0]}..{value[-1]}x2" if doubles else ",".join(map(_in_list, value))


def _in_list(value: Any) -> str:
    """Write an element of a list: in quotation marks, where it holds what separates elements."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & {",", '"'} else text


def _axis_given(axis: str) -> str:
    """Say how an axis is given that a formula needs."""
    return f"Give it with -{axis}." if axis in AXES else f"Call it with {axis}=..."


# What Python calls an argument, and what the command line calls it, followed by its value; or how
# the value is put there. A command has arguments of its own, or gives some by other options.
OPTIONS: Final[dict[str, Spelling]] = {
    "axis": _axis_given,
    "by": "--by",
    "columns": "--column",
    "donors": "--donors",
    "donors.select": lambda callpath: f"keep only {callpath} in their files",
    "fixed": "--fix",
    "free": "--free",
    "hold_out": "--hold-out",
    "ignore": "--ignore",
    "interval": "leave the interval out with --no-interval",
    "min_efficiency": "--knee",
    "named columns": lambda columns: str(list(columns)) if columns else "none",
    "picture": "--picture",
    "select": "--select",
    "top": "--top",
    "vary": "--vary",
}
AXES: Final[dict[str, Spelling]] = {"p": "-p", "d": "-d", "n": "-n"}
OF_IMPORT: Final = {
    "constants": "--set",
    "count_pattern": "--count-pattern",
    "metric": "--metric",
    "rename": "--column",
}
OF_FORECAST: Final = {"scaling": "--scaling"}  # of a forecast that another command makes


def spell(part: Part, options: Mapping[str, Spelling] | None = None) -> str:
    """Write what a message advises for the command that runs, with none but its own options.

    Where it has none for an argument, another command may have it, and all else is written as
    Python does. What a message is about is an option only where a command has said so in its
    `options`.
    """
    ctx = running()
    if isinstance(part, Command):
        return part.line(partial(chosen, ctx))
    if part == subject(part.name) and part.name not in (options or {}):
        return part.name
    option = (OPTIONS if options is None else options).get(part.name)
    if option is not None and not isinstance(option, str):
        return option(part.value)
    value = part.value
    if part.name == "rename" and isinstance(value, Mapping):
        value = {new: old for old, new in value.items()}  # OLD may hold =, where NEW cannot
        option = OF_IMPORT["rename"]
    option = own_option(ctx, part.name, option)
    if option is not None:
        return option if value is None or value is True else f"{option} {quoted(_as_text(value))}"
    elsewhere = None if value is None else _elsewhere(part, _as_text(value), ctx)
    return part.in_python() if elsewhere is None else elsewhere.line(partial(chosen, ctx))


def _elsewhere(part: Argument, value: str, ctx: click.Context | None) -> Command | None:
    """Give the command that takes an argument which the running one has no option for.

    A file that is imported gets it from `parcast import`, a forecast from `parcast forecast`.
    """
    if part.file and part.name in OF_IMPORT:
        return ours("import", File(part.file), OF_IMPORT[part.name], value, "-o", "timings.csv")
    if ctx is not None and part.name in OF_FORECAST:
        return ours("forecast", Choice("TIMINGS"), OF_FORECAST[part.name], value)
    return None


def run(command: click.Command, args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; whatever goes wrong is reported in one message."""
    given = sys.argv[1:] if args is None else list(args)
    if "_PARCAST_COMPLETE" in os.environ:  # a shell asks what may follow
        from parcast.cli.completion import register

        register()
        command.main(given, prog_name="parcast")
    with spelled_by(spell), one_runs():
        try:
            with _plugins_told():
                status = invoked(command, given)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BaseException as failure:  # whatever it is, the user gets one message
            if "--debug" in given:
                _tell(traceback.format_exc().splitlines())
            return _told(failure)
    return status


@contextmanager
def _plugins_told() -> Iterator[None]:
    """Say in a line which plugins are ignored and what a table says, like every other message."""
    from parcast.timings.notes import ImportNote

    shown = warnings.showwarning

    def told(  # noqa: PLR0917 - the signature of `warnings.showwarning`
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, PluginWarning | ImportNote):
            tell(str(message))
        else:
            shown(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ImportNote)
        warnings.showwarning = told
        yield


def invoked(command: click.Command, given: list[str]) -> int:
    """Run a command as `click.Command.main` does, but let every failure through."""
    # A command alone has -h as well: Click keeps the first help option that is made of it.
    names = ["-h", "--help"]
    try:
        with command.make_context("parcast", list(given), help_option_names=names) as ctx:
            status = command.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return status if isinstance(status, int) else ANSWERED


def _told(failure: BaseException) -> int:
    """Say what went wrong on stderr and return the status for it."""
    lines, status = meaning(failure)
    _tell(lines)
    if status == PIPE_CLOSED or isinstance(failure, Terminated):
        _let_go_of_stdout()
    return status


def _tell(lines: Iterable[str]) -> None:
    """Print lines on stderr, which may be closed."""
    with suppress(OSError):
        for line in lines:
            click.echo(one_line(line), err=True)


def meaning(failure: BaseException) -> tuple[list[str], int]:
    """Give the lines of the message of a failure, and the exit status."""
    if isinstance(failure, BaseExceptionGroup):  # of outputs, each of which was tried
        each = [meaning(one) for one in failure.exceptions]
        return [line for lines, _ in each for line in lines], max(status for _, status in each)
    lines, status = _meaning(_interruption(failure) or failure)
    if lines:
        lines[0] = f"parcast: {lines[0]}"
    return lines, status


def _meaning(failure: BaseException) -> tuple[list[str], int]:  # noqa: PLR0911 - one a kind
    """Give the lines of a message without our name before them, and the exit status."""
    notes = getattr(failure, "__notes__", [])
    match failure:
        case click.Abort() | KeyboardInterrupt():
            return ["interrupted.", *notes], INTERRUPTED
        case Terminated():
            return [f"ended by {failure}.", *notes], SIGNALLED + failure.number
        case BrokenPipeError():
            return [], PIPE_CLOSED
        case click.ClickException():
            if not isinstance(failure, click.UsageError):
                status = NO_FORECAST if isinstance(failure, NoAnswer) else WRONG_USE
                return [failure.format_message(), *notes], status
            path = failure.ctx.command_path if failure.ctx else "parcast"
            return [in_our_words(failure), *notes, f"See: {path} --help"], WRONG_USE
        case ParcastError() if isinstance(
            failure, ModuleNotFoundError
        ):  # of pictures: it says all
            return [str(failure)], WRONG_USE
        case FileProblems():
            return lines_in_options(failure), BAD_FILE
        case FitFailed() | RunFailed():
            return lines_in_options(failure), NO_FORECAST
        case ParameterError():
            return lines_in_options(failure), WRONG_USE
        case OSError():
            place = f"{failure.filename}: " if failure.filename else "the output "
            why = (failure.strerror or str(failure)).lower()
            return [f"{place}cannot be written: {why}. Choose another place."], WRONG_USE
        case MemoryError():
            return ["out of memory. Ask for fewer counts or series."], NO_FORECAST
        case PluginFaultError():
            return [f"this is a fault of {failure}", DEBUG], OUR_BUG
    whose = plugin_at_fault(failure) or "parcast itself"
    text = f"this is a fault of {whose}: {type(failure).__name__}: {failure}"
    return [text, DEBUG], OUR_BUG


def _interruption(failure: BaseException) -> BaseException | None:
    """Give the Ctrl-C or the signal that caused a failure, such as of the import of a module.

    A run that failed is not meant: what its tasks raise is no Ctrl-C.
    """
    cause: BaseException | None = failure
    seen = []
    while cause is not None and cause not in seen and not isinstance(cause, RunFailed):
        if isinstance(cause, KeyboardInterrupt | Terminated):
            return cause
        seen.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return None


def own_options(**others: Spelling) -> dict[str, Spelling]:
    """The options of the command that runs, by what Python calls them; `others` are added."""
    ctx = running()
    names = [x.name for x in ctx.command.params if isinstance(x, click.Option)] if ctx else []
    return {name: own_option(ctx, name) or "" for name in names if name} | others


def in_options(error: ParcastError, options: Mapping[str, Spelling] = OPTIONS) -> str:
    """Say what went wrong, and call the arguments of a function by the options that give them.

    >>> in_options(ParameterError("hold_out", must="be a measured count", got="128"))
    '--hold-out must be a measured count, got 128.'
    >>> from parcast.errors import Argument
    >>> hint = ("Add 'machine' to ", Argument("by"), ", or say ", Argument("p", [1, 2, 4]), ".")
    >>> in_options(ParameterError("by", must="name it", hint=hint), OPTIONS | AXES)
    "--by must name it. Add 'machine' to --by, or say -p 1..4x2."
    """
    return "\n".join(lines_in_options(error, options))


def lines_in_options(error: ParcastError, options: Mapping[str, Spelling] = OPTIONS) -> list[str]:
    """Lines of what went wrong; as `in_options`."""
    return error.lines(partial(spell, options=options))


@contextmanager
def spelled_with(
    options: Mapping[str, Spelling], kind: type[click.ClickException] = click.ClickException
) -> Iterator[None]:
    """Say refusals in a command's own options; it is a decorator as well."""
    try:
        yield
    except ParameterError as refusal:
        first, *below = lines_in_options(refusal, options)
        refused = kind(first)
        for line in below:
            refused.add_note(line)
        raise refused from refusal


def _let_go_of_stdout() -> None:
    """Point stdout nowhere, so that Python does not complain when it flushes at the end."""
    with suppress(OSError, ValueError, AttributeError):  # it is no file, or is closed already
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
