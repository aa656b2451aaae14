"""The files of a question: read with their progress, their digest taken, their rows selected."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar

import click

from parcast.cli.stdin import RestOfStdin, beginning_of_stdin, prepare_stdin, stdin_as_file

if TYPE_CHECKING:
    from parcast.importers.registry import Format
    from parcast.timings.measurements import Measurements


Described = TypeVar("Described")


def read_file(
    file: str, select: Sequence[tuple[str, str]], ignore: Sequence[str] = ()
) -> tuple["Measurements", dict[str, Any]]:
    """Measurements of a file that have the values wanted, and what they come from.

    What another tool wrote is imported where its format is certain, which is said on stderr.
    """
    from parcast.cli.screen import Progress
    from parcast.timings.csv_files import read_measurements

    name = _named(file)
    with _recognised(file, "FILE") as (known, path, stream):
        if known is not None:
            runs, inputs = _imported(known, path, name, ignore)
        else:
            watched = _Watched(name, stream)
            with Progress("reading") as progress:
                runs = read_measurements(watched, ignore=ignore, progress=progress)  # type: ignore[arg-type]  # reads
            digest = watched.sha256.hexdigest()
            inputs = {"file": name, "sha256": digest, "measurements": len(runs)}
    return (runs.select(**selected(select, runs.labels)) if select else runs), inputs


def read_surface(
    file: str, ignore: Sequence[str] = ()
) -> tuple[tuple["Measurements", Literal["time", "speedup"]], dict[str, Any]]:
    """Measurements to fit a program to, whether times or speedups, and what they come from.

    What another tool wrote is imported, as `read_file` does.
    """
    from parcast.timings.speedups import read_runs

    name = _named(file)
    with _recognised(file, "SURFACE") as (known, path, stream):
        if known is not None:
            runs, inputs = _imported(known, path, name, ignore)
            del inputs["measurements"]
            return (runs, "time"), inputs
        return _described(stream, name, lambda x: read_runs(x, ignore=ignore))


@contextmanager
def _recognised(file: str, argument: str) -> Iterator[tuple["Format | None", str, Any]]:
    """Give the format and place of what another tool wrote, or the stream of a table."""
    from pathlib import Path

    from parcast.files.decoding import STDIN, opened
    from parcast.importers.registry import format_of_beginning, recognised

    if file != "-":
        if known := recognised(file):
            yield known, file, None
            return
        with opened(file) as (_, stream):
            yield None, file, stream
        return
    prepare_stdin(argument, "a table")
    head = beginning_of_stdin()
    if known := format_of_beginning(head, Path(STDIN)):
        with stdin_as_file(head) as path:
            yield known, path, None
    else:
        yield None, file, RestOfStdin(head)


def _named(file: str) -> str:
    """Name a file as messages do."""
    from parcast.files.decoding import STDIN

    return STDIN if file == "-" else file


def _imported(
    known: "Format", file: str, name: str, ignore: Sequence[str]
) -> tuple["Measurements", dict[str, Any]]:
    """Import a file that another tool wrote."""
    from parcast.cli.commands.import_files import asked_in_options, say
    from parcast.errors import FileProblems, Problem
    from parcast.importers.registry import import_timings

    if known.makes == "machine":
        refusal = (
            f"must be timings, got {known.title}, which tell of a machine. "
            f"Import them: parcast import {known.name} FILE -o machine.toml"
        )
        raise FileProblems(name, [Problem(message=refusal)])
    answer = asked_in_options(lambda: import_timings(file, known.name))
    say([f"{name} is recognised as {known.name}: {known.title}.", *answer.notes])
    runs = _without(answer.measurements, ignore)
    inputs = {"file": name, "sha256": _digest(file), "measurements": len(runs)}
    return runs, inputs | {"format": known.name}


def _without(runs: "Measurements", ignore: Sequence[str]) -> "Measurements":
    """Pass over columns of runs that were imported."""
    columns = runs.columns
    for name in ignore:
        if name not in columns or name in {"p", "time"}:
            there = ", ".join(x for x in columns if x not in {"p", "time"}) or "none"
            raise click.UsageError(
                f"--ignore must be a column to be passed over, got {name!r:.60}. There is {there}."
            )
    return type(runs)(**{x: y for x, y in columns.items() if x not in ignore})


def _digest(file: str) -> str | None:
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
    with opened(file) as (name, stream):
        return _described(stream, name, read)


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


def selected(select: Sequence[tuple[str, str]], labels: Iterable[str]) -> dict[str, list[Any]]:
    """Gather the values wanted in each column: text for labels, numbers for axes."""
    values: dict[str, list[Any]] = {}
    for column, text in select:
        value: str | float = text
        if column not in labels:
            try:
                value = float(text)
            except ValueError:
                raise click.UsageError(
                    f"--select {column} must be a number, got {text!r:.60}. "
                    "Only machine and callpath are text."
                ) from None
        values.setdefault(column, []).append(value)
    return values
