"""The files of a question: read with their progress, their digest taken, their rows selected."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

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
        A path; "-" is standard input.
    select : sequence of (str, str)
        Columns and the values that their rows must have, one of them where there are several.
    ignore : sequence of str, optional
        Columns to pass over.

    Returns
    -------
    measurements : Measurements
    inputs : dict
        `file`, `sha256` and `measurements`, the number of runs in the file. [1]

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
    with opened(file) as (name, stream), Progress("reading") as progress:
        watched = _Watched(name, stream)
        runs = read_measurements(watched, ignore=ignore, progress=progress)  # type: ignore[arg-type]  # reads
    digest = watched.sha256.hexdigest()
    inputs = {"file": name, "sha256": digest, "measurements": len(runs)}
    return (runs.select(**wanted(select, runs.labels)) if select else runs), inputs


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
