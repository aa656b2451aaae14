"""Runs on other machines for `forecast` and `match`: in files of their own, or in FILE itself."""

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from parcast.timings.measurements import Measurements


def read_with_donors(
    file: str,
    *,
    select: Sequence[tuple[str, str]],
    ignore: Sequence[str],
    donors: Sequence[str],
    targets: Sequence[str],
    argument: str = "FILE",
) -> tuple["Measurements", "Measurements | None", dict[str, Any], list[dict[str, Any]]]:
    """Runs of `file` that are asked about, those on other machines, and where both come from.

    `targets` are machines of the file that are asked about; the others in it are donors.
    """
    from parcast.cli.reading import read_file
    from parcast.forecasting.donors.tables import joined

    runs, source = read_file(file, select, ignored_here(file, donors, ignore))
    others: list[Measurements] = []
    if targets:
        runs, others = parts_of_targets(runs, targets, argument)
    tables, sources = read_donors(donors, ignore)
    named = [*((source["file"], table) for table in others), *tables]
    if not named:
        return runs, None, source, sources
    table, remarks = joined([table for _, table in named], [name for name, _ in named])
    for remark in remarks:
        click.echo(f"parcast: {remark}", err=True)
    return runs, table, source, sources


def parts_of_targets(
    runs: "Measurements", targets: Sequence[str], argument: str
) -> tuple["Measurements", list["Measurements"]]:
    """Divide the runs of a file into those on some machines and those on all others."""
    from parcast.forecasting.donors.tables import without

    if "machine" not in runs.labels:
        raise click.UsageError(
            f"--target must be a machine of {argument}, but {argument} has no column machine. "
            "Leave it out."
        )
    here, others = runs.select(machine=list(targets)), without(runs, targets)
    return here, [] if others is None else [others]


def read_donors(
    files: Sequence[str], ignore: Sequence[str]
) -> tuple[list[tuple[str, "Measurements"]], list[dict[str, Any]]]:
    """Measurements of each file of donors by its name, and what they come from.

    A file with the same bytes as one before it is told and left out of the measurements.
    """
    from parcast.cli.reading import read_file

    tables: list[tuple[str, Measurements]] = []
    inputs: list[dict[str, Any]] = []
    for file in files:
        if file == "-":
            raise click.UsageError("--donors must be a file, got -. Write its name.")
        runs, source = read_file(file, (), _present(file, ignore))
        inputs.append(source)
        same = next((x["file"] for x in inputs[:-1] if x["sha256"] == source["sha256"]), None)
        if same is not None and source["sha256"] is not None:
            click.echo(f"parcast: {file} is the same as {same}. It is used once.", err=True)
            continue
        if "format" in source and "machine" not in runs.labels:
            runs = _of_machine(runs, file)
        tables.append((source["file"], runs))
    return tables, inputs


def ignored_here(file: str, donors: Sequence[str], ignore: Sequence[str]) -> Sequence[str]:
    """Columns to pass over in the file that is forecast: not those that donors alone have."""
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


def _present(file: str, ignore: Sequence[str]) -> list[str]:
    """Which of the columns to pass over stand in the header of a file."""
    from parcast.files.decoding import opened

    if not ignore:
        return []
    with opened(file) as (_, stream):
        lines = (line if isinstance(line, bytes) else line.encode() for line in stream)
        header = next((x for x in lines if x.strip() and not x.lstrip().startswith(b"#")), b"")
    titles = next(csv.reader([header.decode("utf-8", errors="replace")]), [])
    there = {title.strip() for title in titles}
    return [name for name in ignore if name in there]
