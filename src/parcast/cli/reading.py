"""The files of a question: read with their progress, their digest taken, their rows selected.

Options that say how a table is read are given to commands as one value, `table`.
"""

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import click

from parcast.advice import File, ours
from parcast.cli.answering import OneOf
from parcast.cli.failures import Spelling, in_options
from parcast.cli.options import COLUMNS, called, gathered, option, repeated_option
from parcast.cli.outputs import tell_copy
from parcast.cli.screen import tell
from parcast.cli.stdin import WholeStdin, beginning_of_stdin, prepare_stdin, stdin_as_file
from parcast.errors import Argument
from parcast.timings.tables.options import AS_IT_IS, DECIMALS, SEPARATOR_NAMES, WIDE, TableOptions
from parcast.words import did_you_mean, listed

if TYPE_CHECKING:
    from parcast.importers.registry import Format
    from parcast.timings.measurements import Measurements


Described = TypeVar("Described")
MOST_NAMED: Final = 12  # values of a column in one message


def read_file(
    file: str,
    select: Sequence[tuple[str, str]] = (),
    table: TableOptions = AS_IT_IS,
    *,
    argument: str = "FILE",
) -> tuple["Measurements", dict[str, Any]]:
    """Measurements of a file that have the values wanted, and what they come from.

    What another tool wrote is imported where its format is certain. That, and what was understood
    of a table beyond parcast's own names, is said on stderr.
    """
    from parcast.cli.screen import Progress
    from parcast.timings.tables.files import read_table

    name = _named(file)
    with _recognised(file, argument) as (known, path, stream):
        if known is not None:
            runs, inputs = _imported(known, path, name, table)
        else:
            with Progress("reading") as progress:
                read = partial(read_table, name=name, options=table, progress=progress)
                (runs, notes), inputs = _described(stream, name, read)
            inputs |= {"measurements": len(runs)} | _told(name, notes)
    return rows_selected(runs, select, name), inputs


def read_ended_or_stopped(
    file: str, select: Sequence[tuple[str, str]], table: TableOptions, *, argument: str
) -> tuple["Measurements", dict[str, Any]]:
    """The same of a file in which a run was stopped, if none ended."""
    from parcast.errors import NoRunEnded
    from parcast.timings.tables.rows import none_ended

    try:
        return read_file(file, select, table, argument=argument)
    except NoRunEnded as refusal:
        if refusal.stopped is None or file == "-":
            raise
        stopped = rows_selected(refusal.stopped, select, file)
        inputs = {"file": file, "sha256": digest_of(file), "measurements": 0}
        return none_ended(stopped), inputs


def read_files(
    files: Sequence[str],
    select: Sequence[tuple[str, str]] = (),
    table: TableOptions = AS_IT_IS,
    *,
    argument: str = "FILE",
) -> tuple["Measurements", dict[str, Any]]:
    """Measurements of one file or of several, which are joined, and what they come from."""
    files = without_copies(files)
    if len(files) == 1:
        return read_file(files[0], select, table, argument=argument)
    from parcast.importers.registry import import_timings

    if "-" in files:
        raise click.UsageError(f"Only a {argument} alone can be -, got several.")
    rename = {old: new for new, old in table.columns.items()}
    answer = asked_in_options(
        lambda: import_timings(files, rename=rename, table=table), {"rename": "--column"}
    )
    name = f"{files[0]} and {len(files) - 1} more"
    warnings = _told(name, answer.notes)
    runs = _without(
        answer.measurements, [x for x in table.ignore if x in answer.measurements.columns], name
    )
    sources = [{"file": file, "sha256": digest_of(file)} for file in files]
    inputs = {"file": name, "sha256": None, "files": sources, "measurements": len(runs)}
    return rows_selected(runs, select, name), inputs | warnings


def without_copies(files: Sequence[str]) -> list[str]:
    """Leave out files with the bytes of one before, and say so."""
    kept: dict[str | None, str] = {}
    for file in files:
        mark = digest_of(file) if len(files) > 1 and os.path.isfile(file) else None
        if mark is not None and mark in kept:
            tell_copy(file, kept[mark])
        else:
            kept[mark or f"{len(kept)} {file}"] = file
    return list(kept.values())


def _told(name: str, notes: Iterable[str]) -> dict[str, list[str]]:
    """Say notes on a file, and give those as `warnings` that its answer says instead."""
    from parcast.show.warning import RankedWarning, said_of

    for note in notes:
        if not isinstance(note, RankedWarning):
            tell(f"{name}: {note}")
    graver = [said_of(name, note) for note in notes if isinstance(note, RankedWarning)]
    return {"warnings": list(graver)} if graver else {}


def options_in(file: str, table: TableOptions, *, among: Sequence[str]) -> TableOptions:
    """How one of several files is read: columns are named in those that have them.

    Columns that no file has are named too, so that their absence is reported.
    """
    own = _titles(file, table.named)
    if own is None:
        return table
    theirs = [_titles(other, table.named) for other in among]
    there = {title for some in theirs if some is not None for title in some}
    parts = {part.strip() for title in table.named for part in (title, *title.split("*"))}
    return table.only(own | (parts - there if None not in theirs else set()))


def _titles(file: str, wanted: Set[str]) -> Set[str] | None:
    """Which titles of columns stand in the header of a file; None of what is read only once."""
    from parcast.importers.content import head_of
    from parcast.timings.tables.files import titles_of

    if not wanted:
        return set()
    head = None if file == "-" else head_of(file)
    return None if head is None else {*titles_of(head)}


@contextmanager
def _recognised(file: str, argument: str) -> Iterator[tuple["Format | None", str, Any]]:
    """Give the format and place of what another tool wrote, or the stream of a table."""
    from pathlib import Path

    from parcast.files.decoding import STDIN, opened
    from parcast.importers.registry import (
        format_of_beginning,
        recognised,
        refuse_unknown_json,
    )

    if file != "-":
        if known := recognised(file):
            yield known, file, None
            return
        refuse_unknown_json(file)
        with opened(file) as (_, stream):
            yield None, file, stream
        return
    head = beginning_of_stdin(argument, "a table")
    if known := format_of_beginning(head, Path(STDIN)):
        with stdin_as_file(head) as path:
            yield known, path, None
    else:
        refuse_unknown_json(STDIN, head)
        yield None, file, WholeStdin()


def _named(file: str) -> str:
    """Name a file as messages do."""
    from parcast.files.decoding import STDIN

    return STDIN if file == "-" else file


def asked_in_options(ask: Callable[[], Described], arguments: Mapping[str, Spelling]) -> Described:
    """Do what may be refused, and call arguments by the options that stand for them."""
    from parcast.errors import FileProblems, ParameterError

    try:
        return ask()
    except FileProblems:
        raise
    except ParameterError as error:
        raise click.UsageError(in_options(error, {**arguments, "format": "FORMAT"})) from error
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("parcast"):
            raise
        raise click.ClickException(str(error)) from error


def _imported(
    known: "Format", file: str, name: str, table: TableOptions
) -> tuple["Measurements", dict[str, Any]]:
    """Import a file that another tool wrote."""
    from parcast.errors import FileProblems, Problem
    from parcast.importers.registry import import_timings

    if known.makes == "machine":
        importing = ours("import", known.name, File(name), "-o", "machine.toml")
        got = f"{known.title}, which describe a machine"
        refusal = f"must be timings, got {got}. Import them: {importing}"
        raise FileProblems(name, [Problem(message=refusal)])
    if table.is_of_table:
        given = [x for x in table.to_document() if x not in {"ignore", "column"}]
        raise click.UsageError(
            f"{Argument(given[0])} is for tables, and {name} is recognised as {known.name}. "
            "Leave it out."
        )
    rename = {old: new for new, old in table.columns.items()}
    answer = asked_in_options(
        lambda: import_timings(file, known.name, rename=rename), {"rename": "--column"}
    )
    for note in (f"{name} is recognised as {known.name}: {known.title}.", *answer.notes):
        tell(note)
    runs = _without(answer.measurements, table.ignore, name)
    inputs = {"file": name, "sha256": digest_of(file), "measurements": len(runs)}
    return runs, inputs | {"format": known.name}


def _without(runs: "Measurements", ignore: Sequence[str], name: str) -> "Measurements":
    """Leave out columns of runs that were imported."""
    columns = runs.columns
    others = [x for x in columns if x not in {"p", "time"}]
    for column in ignore:
        if column not in others:
            raise click.UsageError(
                f"{Argument('ignore')} must name columns of {name} besides p and the time, got "
                f"{column!r:.60}. There {_are(others)}."
            )
    return runs.without(*ignore)


def _are(names: Sequence[str]) -> str:
    """Write what there is."""
    return f"{'are' if len(names) > 1 else 'is'} {', '.join(names) or 'none'}"


def digest_of(file: str) -> str | None:
    """Take the digest of a file; of a folder there is none."""
    from parcast.files.decoding import opened

    if os.path.isdir(file):
        return None
    with opened(file) as (_, stream):
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # a path gives bytes


def read_description(
    file: str, read: Callable[[Any], Described], *, argument: str
) -> tuple[Described, dict[str, Any]]:
    """Description in a file, read by `read`, and what it comes from: `file` and `sha256`.

    `argument` is what the command line calls the file: "PROGRAM" or "MACHINE".
    """
    from parcast.files.decoding import opened

    if file == "-":
        prepare_stdin(argument, "a description")
        return _described(WholeStdin(), _named(file), read)
    with opened(file) as (name, stream):
        return _described(stream, name, read)


def and_text(read: Callable[[Any], Described]) -> Callable[[Any], tuple[Described, str]]:
    """Make what reads a description give its text as well."""

    def read_and_keep(stream: Any) -> tuple[Described, str]:
        from parcast.descriptions.toml_files import LARGEST

        content = stream.read(LARGEST + 1)
        described = read(NamedContent(stream.name, content))
        return described, content.decode("utf-8-sig")

    return read_and_keep


class NamedContent(io.BytesIO):
    """Bytes of a file, with its name for messages."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def _described(
    stream: Any, name: str, read: Callable[[Any], Described]
) -> tuple[Described, dict[str, Any]]:
    """Read a stream, and take its digest."""
    watched = _Watched(name, stream)
    description = read(watched)
    return description, {"file": name, "sha256": watched.sha256.hexdigest()}


class _Watched:
    """A stream of bytes whose digest is taken as it is read."""

    def __init__(self, name: str, stream: Any) -> None:
        self.name = name
        self.sha256 = hashlib.sha256()
        self._stream: BinaryIO = stream

    def read(self, count: int) -> bytes:
        """Read on."""
        text = self._stream.read(count)
        self.sha256.update(text)
        return text

    def fileno(self) -> int:
        """Name the file, so that its size can be asked."""
        return self._stream.fileno()


def rows_selected(
    runs: "Measurements", select: Sequence[tuple[str, str]], file: str
) -> "Measurements":
    """Keep the rows that have the values of --select: text in labels, numbers in axes."""
    from parcast.errors import ParameterError

    wanted: dict[str, list[Any]] = {}
    columns = runs.columns
    for column, text in select:
        option = f"--select {column}={text:.60}"
        if column not in columns:
            named = ", ".join(name for name in columns if name != "time")
            raise click.UsageError(
                f"{option}: no such column; columns in {file} besides the time: {named}."
                f"{did_you_mean(column, columns)}"
            )
        known: list[Any] = sorted(set(columns[column].tolist()))
        read = str if column in runs.labels else _number
        for value in [text] if text in known else [part.strip() for part in text.split(",")]:
            if read(value) not in known:
                ended = {} if runs.cut_off is None else runs.cut_off.columns
                if column in ended and read(value) in ended[column].tolist():
                    raise click.UsageError(
                        f"{option}: all runs with {column} = {value:.60} in {file} were stopped "
                        "before the end. Give more time, or leave the option out."
                    )
                there = [value if isinstance(value, str) else f"{value:g}" for value in known]
                raise click.UsageError(
                    f"{option}: no rows; {_several(column, runs)} in {file}: "
                    f"{listed(there, MOST_NAMED)}.{did_you_mean(value, there)}"
                )
            wanted.setdefault(column, []).append(read(value))
    try:
        return runs.select(**wanted) if wanted else runs
    except ParameterError as refusal:
        asked = " ".join(f"--select {column}={text}" for column, text in select)
        raise click.UsageError(f"{asked}: no row of {file} has all of these values.") from refusal


def _number(text: str) -> float | None:
    """Read a number, if the text is one."""
    try:
        return float(text)
    except ValueError:
        return None


def _several(column: str, runs: "Measurements") -> str:
    """Write the name of a column in the plural, where it holds names."""
    return f"{column}s" if column in runs.labels else column


def _table(**given: Any) -> TableOptions:
    """Take what is given."""
    return TableOptions(**{name: value for name, value in given.items() if value is not None})


table_options: Final = gathered(  # of a command that takes them as `table`
    "table",
    _table,
    ("columns", "ignore", "rate", "work", "repeats", "wide", "separator", "decimal"),
    repeated_option(
        "--column columns",
        "NEW=OLD",
        "Use column OLD of the table as NEW: p=nodes, time_s=seconds, p=ranks*threads.",
        called,
    ),
    option("--ignore", COLUMNS, "Columns to ignore: date,jobid."),
    option("--rate", "COLUMN", "Column that is a rate: SYPD, ns/day, samples/s."),
    option(
        "--work",
        "AMOUNT",
        "Amount of work to forecast the time of, in the unit of the rate: 100. By default one "
        "unit.",
    ),
    option("--repeats", COLUMNS, "Columns that are repetitions: run1,run2 or run*."),
    option(
        "--wide", OneOf(list(WIDE)), "Each column of times is of another machine, or call path."
    ),
    option(
        "--separator",
        "MARK",
        f"Separator of columns: {', '.join(SEPARATOR_NAMES)}, or a character. By default found "
        "from the rows.",
    ),
    option("--decimal", OneOf(list(DECIMALS)), "Decimal mark. By default found from the rows."),
)
