"""`parcast import`: a table of measurements or a machine file from what another tool wrote."""

import difflib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parcast.cli.answering import A_FILE, cli_command, usage
from parcast.cli.failures import ANSWERED, own_options
from parcast.cli.options import (
    called,
    flag,
    once_each,
    option,
    output_option,
    pairs,
    repeated_option,
)
from parcast.cli.outputs import Outputs, do_each, tell_written, write_all
from parcast.cli.reading import asked_in_options
from parcast.cli.screen import tell
from parcast.cli.stdin import beginning_of_stdin, stdin_as_file

if TYPE_CHECKING:
    from parcast.importers.registry import Format


HELP = """Convert files of other tools to tables of timings.

Prints a CSV table for `parcast forecast`, or writes it with -o. Several FILES are joined into one
table. For OSU, IMB and IOR, which measure machines, the result is a machine file instead.

FILES are profiles of Extra-P, accounts of Slurm, exports of hyperfine and others (--list names
all); "-" is standard input. FORMAT is required only if it cannot be recognised from the content.

\b
Exit status: 0  imported
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or something in it is wrong

\b
Examples:
  parcast import extrap profile.txt --rename ranks=p -o timings.csv
  parcast import node.json --set p=64 --set machine=T3E -o timings.csv
  sacct --json -j 1001,1002 | parcast import slurm - -o timings.csv
  parcast import runs/p*.json -o timings.csv
  parcast import *.log --time-pattern 'time (\\S+)' --count-pattern 'np (\\d+)'
"""


def settings(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Read names and what is said of each."""
    example = "ranks=p" if option == "--rename" else "p=64"
    named = pairs(texts, option, "a name and a value", such_as=example)
    return list(once_each(named, option, "name each once").items())


@cli_command(name="import", help=HELP)
@click.argument("files", metavar="[FORMAT] FILES...", nargs=-1, type=A_FILE)
@flag("--list is_list", "List the formats and what they require.")
@option("--metric", "NAME", "Metric to use as the time, if there are several.")
@option(
    "--memory",
    "NAME",
    "Memory of the messages of a machine file, if there are several: host, device.",
)
@repeated_option(
    "--rename",
    "NAME=AXIS",
    "Use parameter NAME of FILES as AXIS, as --column AXIS=NAME.",
    settings,
)
@repeated_option(
    "--column columns",
    "NEW=OLD",
    "Use column OLD of FILES as NEW: p=nodes, time_s=seconds.",
    called,
)
@repeated_option(
    "--set constants",
    "AXIS=VALUE",
    "Add a parameter that FILES do not contain: p=64, machine=T3E.",
    settings,
)
@option("--time-pattern", "REGEX", "Read logs of your own: the group of REGEX is the time.")
@option(
    "--count-pattern",
    "REGEX",
    "The group of REGEX is p, in logs of your own or in the names of FILES.",
)
@output_option('Write PATH: .csv, or .toml for a machine file. "-" prints it.')
def command(
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    is_list: bool,
    outputs: tuple[str, ...],
    **asked: Any,
) -> int:
    """Import the files and return the exit status."""
    from parcast.files.document import write_document
    from parcast.importers.registry import OWN_LOG, format_named, recognised_format

    if is_list:
        _show_formats()
        return ANSWERED
    name, paths = _divided(files)
    if name is None and asked["time_pattern"] is not None:
        name = OWN_LOG
    if not paths:
        raise click.UsageError(f"FILES must be given. Usage: {usage(ctx)}", ctx)

    def read() -> tuple[Callable[[], Any], Sequence[str]]:
        with _standing(paths, is_named=name is not None) as standing:
            known = format_named(name) if name else recognised_format(standing)
            if name is None:
                tell(f"recognised as {known.name}: {known.title}.")
            ending = "csv" if known.makes == "timings" else "toml"
            Outputs(outputs, formats=(ending,)).check(paths)
            return _imported(known, standing, asked)

    pieces, notes = asked_in_options(read, own_options())
    for note in notes:
        tell(note)

    def write(output: str) -> None:
        if output != "-":
            write_document(output, pieces())
            tell_written(output)
            return
        for piece in pieces():
            write_all(piece)

    do_each(partial(write, output) for output in outputs or ["-"])
    return ANSWERED


@contextmanager
def _standing(paths: Sequence[str], *, is_named: bool) -> Iterator[list[str]]:
    """Give paths that can be read more than once: of standard input and pipes, those of copies."""
    from parcast.files.copies import readable_again
    from parcast.files.decoding import STDIN
    from parcast.importers.registry import format_of_beginning

    if list(paths).count("-") > 1:
        raise click.UsageError("Only one of FILES can be -, got several.")
    with ExitStack() as meanwhile:
        standing = []
        for path in paths:
            if path == "-":
                head = beginning_of_stdin("FILES", "a file")
                is_wanted = is_named or format_of_beginning(head, Path(STDIN)) is not None
                copy = meanwhile.enter_context(stdin_as_file(head, with_rest=is_wanted))
            else:
                copy = str(meanwhile.enter_context(readable_again(Path(path))))
            standing.append(copy)
        yield standing


def _divided(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Tell the name of a format, where there is one, from the files."""
    from parcast.importers.registry import formats

    if not words:
        return None, []
    first, *others = words
    names = formats()
    if first in names and (others or not os.path.exists(first)):
        return first, others
    if not others or first == "-" or os.path.exists(first) or not re.fullmatch(r"[\w-]+", first):
        return None, list(words)
    near = difflib.get_close_matches(first, names, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"There is {', '.join(names)}."
    raise click.UsageError(f"{first!r:.60} is neither a format nor a file. {hint}")


def _imported(
    known: "Format", paths: Sequence[str], options: dict[str, Any]
) -> tuple[Callable[[], Any], Sequence[str]]:
    """Read the files; give what makes the text of the answer, and the notes."""
    from parcast.importers.registry import import_machine, import_timings
    from parcast.timings.tables.files import measurements_pieces

    if known.makes == "machine":
        for argument, value in options.items():
            if value and argument != "memory":
                raise click.UsageError(
                    f"{own_options()[argument]} cannot be combined with {known.name}, which "
                    "describes a machine. Leave it out."
                )
        figures = import_machine(paths, known.name, memory=options["memory"])
        return lambda: iter([figures.to_toml()]), figures.notes
    if options["memory"]:
        raise click.UsageError(
            f"--memory cannot be combined with {known.name}, which contains timings. Leave it out."
        )
    imported = import_timings(
        paths,
        known.name,
        metric=options["metric"],
        rename={
            **{old: new for new, old in options["columns"].items()},
            **dict(options["rename"]),
        },
        constants=dict(options["constants"]),
        time_pattern=options["time_pattern"],
        count_pattern=options["count_pattern"],
    )
    return lambda: measurements_pieces(imported.measurements), imported.notes


def _show_formats() -> None:
    """Print a line for each format: its name, what it is, what it gives and needs."""
    from parcast.importers.registry import formats

    listed = formats().values()
    names = max(len(known.name) for known in listed)
    titles = max(len(known.title) for known in listed)
    for known in listed:
        makes = "timings.csv" if known.makes == "timings" else "machine.toml"
        needs = f"{known.extra_for} needs".strip()
        extra = f"  {needs} parcast[{known.extra}]" if known.extra else ""
        click.echo(f"{known.name:{names}}  {known.title:{titles}}  {makes:12}{extra}".rstrip())
