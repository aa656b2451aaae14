"""Runs on other machines for `parcast forecast`: in files of their own, or in FILE itself."""

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from parcast.measurements import Measurements


def part_of_target(
    runs: "Measurements", target: str
) -> tuple["Measurements", list["Measurements"]]:
    """Divide the runs of a file into those on one machine and those on all others.

    Raises
    ------
    click.UsageError, ParameterError
        If the file does not name machines, or not this one.
    """
    machines = runs.labels.get("machine")
    if machines is None:
        raise click.UsageError(
            "--target must be a machine of FILE, but FILE has no column machine. Leave it out."
        )
    others = [name for name in dict.fromkeys(machines.tolist()) if name != target]
    here = runs.select(machine=target)
    return here, [runs.select(machine=others)] if others else []


def read_donors(
    files: Sequence[str], ignore: Sequence[str]
) -> tuple[list["Measurements"], list[dict[str, Any]]]:
    """Measurements of each file of donors, and what they come from.

    Parameters
    ----------
    files : sequence of str
        Paths.
    ignore : sequence of str
        Columns to pass over in those files that have them.

    Raises
    ------
    click.UsageError, FileProblems
        If a file cannot be read, or something in it is wrong.
    """
    from parcast.cli.reading import read_file

    tables, inputs = [], []
    for file in files:
        if file == "-":
            raise click.UsageError("--donors must be a file, got -. Write its name.")
        runs, source = read_file(file, (), _present(file, ignore))
        if "format" in source and "machine" not in runs.labels:
            runs = _of_machine(runs, file)
        tables.append(runs)
        inputs.append(source)
    return tables, inputs


def ignored_here(file: str, donors: Sequence[str], ignore: Sequence[str]) -> Sequence[str]:
    """Columns to pass over in the file that is forecast: not those that donors alone have.

    Raises
    ------
    FileProblems
        If a file cannot be read.
    """
    if not donors or not ignore or "-" in (file, *donors):
        return ignore
    own, theirs = _present(file, ignore), {x for other in donors for x in _present(other, ignore)}
    return [name for name in ignore if name in own or name not in theirs]


def _of_machine(runs: "Measurements", file: str) -> "Measurements":
    """Call the machine of an import by its file: few other tools tell where a program ran."""
    from pathlib import Path

    name = Path(file).stem.strip() or file
    click.echo(f"parcast: {file} names no machine; it is called {name!r:.60}.", err=True)
    return type(runs)(machine=name, **runs.columns)


def joined(tables: Sequence["Measurements"]) -> "Measurements":
    """One table of the rows of all.

    Raises
    ------
    click.UsageError
        If their columns differ.
    """
    from parcast.measurements import Measurements

    if len(tables) == 1:
        return tables[0]
    columns = [
        {name: column for name, column in table.columns.items() if name != "repetition"}
        for table in tables
    ]
    for other in columns[1:]:
        if odd := sorted(columns[0].keys() ^ other.keys()):
            raise click.UsageError(
                f"Donors must have the same columns, got {', '.join(odd)} in some of them only. "
                "Add what is missing, or pass over it: --ignore."
            )
    return Measurements(
        **{name: [x for table in columns for x in table[name].tolist()] for name in columns[0]}
    )


def _present(file: str, ignore: Sequence[str]) -> list[str]:
    """Which of the columns to pass over stand in the header of a file."""
    from parcast.io.decoding import opened

    if not ignore:
        return []
    with opened(file) as (_, stream):
        lines = (line if isinstance(line, bytes) else line.encode() for line in stream)
        header = next((x for x in lines if x.strip() and not x.lstrip().startswith(b"#")), b"")
    titles = next(csv.reader([header.decode("utf-8", errors="replace")]), [])
    there = {title.strip() for title in titles}
    return [name for name in ignore if name in there]
