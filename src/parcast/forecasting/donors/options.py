"""Runs on other machines for `forecast` and `match`: in files of their own, or in FILE itself."""

import csv
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.words import did_you_mean, listed

if TYPE_CHECKING:
    from parcast.timings.measurements import Measurements


MOST_NAMED: Final = 12  # machines in one message


def read_with_donors(
    file: str,
    *,
    select: Sequence[tuple[str, str]],
    ignore: Sequence[str],
    columns: Mapping[str, str],
    donors: Sequence[str],
    targets: Sequence[str],
    argument: str = "FILE",
) -> tuple["Measurements", "Measurements | None", dict[str, Any], list[dict[str, Any]]]:
    """Runs of `file` that are asked about, those on other machines, and where both come from.

    `targets` are machines of the file that are asked about; the others in it are donors. Columns
    to ignore or with another name need not be in every file, but in one.
    """
    from parcast.cli.reading import read_file
    from parcast.forecasting.donors.tables import joined

    own = _of_this_file(file, donors, {*ignore, *columns.values()})
    runs, source = read_file(
        file,
        select,
        [name for name in ignore if name in own],
        {name: title for name, title in columns.items() if title in own},
        argument=argument,
    )
    others: list[Measurements] = []
    if targets:
        runs, others = parts_of_targets(runs, targets, source["file"])
    tables, sources = read_donors(donors, ignore, columns)
    named = [*((source["file"], table) for table in others), *tables]
    if not named:
        return runs, None, source, sources
    table, remarks = joined([table for _, table in named], [name for name, _ in named])
    for remark in remarks:
        click.echo(f"parcast: {remark}", err=True)
    return runs, table, source, sources


def parts_of_targets(
    runs: "Measurements", targets: Sequence[str], file: str
) -> tuple["Measurements", list["Measurements"]]:
    """Divide the runs of a file into those on some machines and those on all others."""
    from parcast.forecasting.donors.tables import without

    if "machine" not in runs.labels:
        raise click.UsageError(
            f"--target must be a machine of {file}, which has no column machine. Leave it out, or "
            "name the column: --column machine=NAME."
        )
    known = sorted(set(runs.labels["machine"].tolist()))
    for target in targets:
        if target not in known:
            raise click.UsageError(
                f"--target must be a machine of {file}, got {target!r:.60}."
                f"{did_you_mean(target, known)} Machines: {listed(known, MOST_NAMED)}."
            )
    here, others = runs.select(machine=list(targets)), without(runs, targets)
    return here, [] if others is None else [others]


def read_donors(
    files: Sequence[str], ignore: Sequence[str], columns: Mapping[str, str]
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
        there = _present(file, {*ignore, *columns.values()})
        runs, source = read_file(
            file,
            (),
            [name for name in ignore if name in there],
            {name: title for name, title in columns.items() if title in there},
        )
        inputs.append(source)
        same = next((x["file"] for x in inputs[:-1] if x["sha256"] == source["sha256"]), None)
        if same is not None and source["sha256"] is not None:
            click.echo(f"parcast: {file} holds the same as {same}. It counts once.", err=True)
            continue
        if "format" in source and "machine" not in runs.labels:
            runs = _of_machine(runs, file)
        tables.append((source["file"], runs))
    return tables, inputs


def _of_this_file(file: str, donors: Sequence[str], titles: Set[str]) -> Set[str]:
    """Which titles are those of the file that is forecast: not those that donors alone have."""
    if not donors or not titles or "-" in (file, *donors):
        return titles
    theirs = {title for other in donors for title in _present(other, titles)}
    return _present(file, titles) | (titles - theirs)


def _of_machine(runs: "Measurements", file: str) -> "Measurements":
    """Call the machine of an import by its file: few other tools tell where a program ran."""
    from pathlib import Path

    name = Path(file).stem.strip() or file
    click.echo(f"parcast: {file} names no machine; it is called {name!r:.60}.", err=True)
    return type(runs)(machine=name, **runs.columns)


def _present(file: str, titles: Set[str]) -> Set[str]:
    """Which titles of columns stand in the header of a file."""
    from parcast.files.decoding import opened

    if not titles:
        return set()
    with opened(file) as (_, stream):
        lines = (line if isinstance(line, bytes) else line.encode() for line in stream)
        header = next((x for x in lines if x.strip() and not x.lstrip().startswith(b"#")), b"")
    there = next(csv.reader([header.decode("utf-8", errors="replace")]), [])
    return titles & {title.strip() for title in there}
