"""The files of a question: read with their progress, their digest taken, their rows selected."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar

import click

if TYPE_CHECKING:
    from parcast.measurements import Measurements

Described = TypeVar("Described")


def read_file(
    file: str, select: Sequence[tuple[str, str]], ignore: Sequence[str] = ()
) -> tuple["Measurements", dict[str, Any]]:
    """Measurements of a file that have the values wanted, and what they come from.

    Parameters
    ----------
    file : str
        A path; "-" is standard input. What another tool wrote is imported where its format is
        certain, which is said on standard error.
    select : sequence of (str, str)
        Columns and the values that their rows must have, one of them where there are several.
    ignore : sequence of str, optional
        Columns to pass over.

    Returns
    -------
    measurements : Measurements
    inputs : dict
        `file`, `sha256` and `measurements`, the number of runs in the file [1]; `format` of a
        file that was imported.

    Raises
    ------
    click.UsageError, ParameterError
        If standard input is closed, or what is wanted is not there.
    FileProblems
        If the file cannot be read, or something in it is wrong.
    """
    from parcast.cli.screen import Progress
    from parcast.io.csv_table import read_measurements
    from parcast.io.decoding import opened

    _prepare_stdin(file, "FILE", "a table")
    if imported := _imported(file, ignore):
        runs, inputs = imported
        return (runs.select(**wanted(select, runs.labels)) if select else runs), inputs
    with opened(file) as (name, stream), Progress("reading") as progress:
        watched = _Watched(name, stream)
        runs = read_measurements(watched, ignore=ignore, progress=progress)  # type: ignore[arg-type]  # reads
    digest = watched.sha256.hexdigest()
    inputs = {"file": name, "sha256": digest, "measurements": len(runs)}
    return (runs.select(**wanted(select, runs.labels)) if select else runs), inputs


def read_surface(
    file: str, ignore: Sequence[str] = ()
) -> tuple[tuple["Measurements", Literal["time", "speedup"]], dict[str, Any]]:
    """Measurements to fit a program to, whether times or speedups, and what they come from.

    Parameters
    ----------
    file : str
        A path; "-" is standard input. What another tool wrote is imported, as `read_file` does.
    ignore : sequence of str, optional
        Columns to pass over.

    Raises
    ------
    click.UsageError
        If standard input is closed.
    FileProblems
        If the file cannot be read, or something in it is wrong.
    """
    from parcast.io.speedup_table import read_runs

    if imported := _imported(file, ignore):
        runs, inputs = imported
        del inputs["measurements"]
        return (runs, "time"), inputs
    return read_description(file, lambda x: read_runs(x, ignore=ignore), argument="SURFACE")


def _imported(file: str, ignore: Sequence[str]) -> tuple["Measurements", dict[str, Any]] | None:
    """Import a file that another tool wrote; give None for a table, and what is not certain."""
    from parcast.cli.imports import in_options, say
    from parcast.errors import FileProblems, Problem
    from parcast.io.formats.registry import import_timings, recognised

    known = recognised(file) if file != "-" else None
    if known is None:
        return None
    if known.makes == "machine":
        refusal = (
            f"must be timings, got {known.title}, which tell of a machine. "
            f"Import them: parcast import {known.name} FILE -o machine.toml"
        )
        raise FileProblems(file, [Problem(message=refusal)])
    told = in_options(lambda: import_timings(file, known.name))
    say([f"{file} is recognised as {known.name}: {known.title}.", *told.notes])
    runs = _without(told.measurements, ignore)
    inputs = {"file": file, "sha256": _digest(file), "measurements": len(runs)}
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
    from parcast.io.decoding import opened

    if os.path.isdir(file):
        return None
    with opened(file) as (_, stream):
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # a path gives bytes


def read_description(
    file: str, read: Callable[[Any], Described], *, argument: str
) -> tuple[Described, dict[str, Any]]:
    """Description in a file, and what it comes from.

    Parameters
    ----------
    file : str
        A path; "-" is standard input.
    read : callable
        `parcast.read_machine` or `parcast.read_program`.
    argument : str
        What the command line calls the file: "PROGRAM" or "MACHINE".

    Returns
    -------
    description : Machine or Program
    inputs : dict
        `file` and `sha256`.

    Raises
    ------
    click.UsageError
        If standard input is closed.
    FileProblems
        If the file cannot be read, or something in it is wrong.
    """
    from parcast.io.decoding import opened

    _prepare_stdin(file, argument, "a description")
    with opened(file) as (name, stream):
        watched = _Watched(name, stream)
        description = read(watched)
    return description, {"file": name, "sha256": watched.sha256.hexdigest()}


def _prepare_stdin(file: str, argument: str, what: str) -> None:
    """Refuse standard input that is closed, and say that a terminal is waited for."""
    from parcast.cli.screen import is_a_terminal

    if file == "-" and sys.stdin is None:
        raise click.UsageError(
            f"{argument} must not be - where standard input is closed. Name a file."
        )
    if file == "-" and is_a_terminal(sys.stdin):
        click.echo(f"parcast: reading {what} from the terminal; end it with Ctrl-D.", err=True)


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


def wanted(select: Sequence[tuple[str, str]], labels: Iterable[str]) -> dict[str, list[Any]]:
    """Gather the values wanted in each column: text for labels, numbers for axes."""
    wanted: dict[str, list[Any]] = {}
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
        wanted.setdefault(column, []).append(value)
    return wanted
