"""Runs on other machines for `forecast` and `match`: in files of their own, or in FILE itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice
from parcast.cli.screen import tell
from parcast.errors import Argument
from parcast.words import did_you_mean, listed

if TYPE_CHECKING:
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions


MOST_NAMED: Final = 12  # machines in one message


def read_with_donors(
    files: Sequence[str],
    *,
    select: Sequence[tuple[str, str]],
    table: "TableOptions",
    donors: Sequence[str],
    targets: Sequence[str],
    argument: str = "FILE",
) -> tuple["Measurements", "Measurements | None", dict[str, Any], list[dict[str, Any]]]:
    """Runs of `files` that are asked about, those on other machines, and where both come from.

    `targets` are machines of the files that are asked about; the others in them are donors.
    Columns to ignore or with another name need not be in every file, but in one.
    """
    from parcast.cli.reading import options_in, read_files
    from parcast.forecasting.donors.tables import joined

    here = options_in(files[0], table, among=[*files[1:], *donors])
    runs, source = read_files(files, select, here, argument=argument)
    others: list[Measurements] = []
    if targets:
        runs, others = parts_of_targets(runs, targets, source["file"])
    tables, sources = read_donors(donors, table, beside=files)
    named = [*((source["file"], runs) for runs in others), *tables]
    if not named:
        return runs, None, source, sources
    donated, remarks = joined([runs for _, runs in named], [name for name, _ in named])
    for remark in remarks:
        tell(remark)
    return runs, donated, source, sources


def parts_of_targets(
    runs: "Measurements", targets: Sequence[str], file: str
) -> tuple["Measurements", list["Measurements"]]:
    """Divide the runs of a file into those on some machines and those on all others."""
    from parcast.forecasting.donors.tables import without

    if "machine" not in runs.labels:
        column = Argument("columns", {"machine": Choice("NAME")})
        raise click.UsageError(
            f"{Argument('target')} must be a machine of {file}, which has no column machine. "
            f"Leave it out, or name the column: {column}."
        )
    known = sorted(set(runs.labels["machine"].tolist()))
    for target in targets:
        if target not in known:
            raise click.UsageError(
                f"{Argument('target')} must be a machine of {file}, got {target!r:.60}."
                f"{did_you_mean(target, known)} Machines: {listed(known, MOST_NAMED)}."
            )
    here, others = runs.select(machine=list(targets)), without(runs, targets)
    return here, [] if others is None else [others]


def read_donors(
    files: Sequence[str], table: "TableOptions", *, beside: Sequence[str]
) -> tuple[list[tuple[str, "Measurements"]], list[dict[str, Any]]]:
    """Measurements of each file of donors by its name, and what they come from.

    A file with the same bytes as one before it is reported and left out of the measurements.
    """
    from parcast.cli.reading import options_in, read_file

    tables: list[tuple[str, Measurements]] = []
    inputs: list[dict[str, Any]] = []
    for file in files:
        if file == "-":
            raise click.UsageError(f"{Argument('donors')} must be a file, got -. Write its name.")
        others = [*beside, *(other for other in files if other != file)]
        runs, source = read_file(file, (), options_in(file, table, among=others))
        inputs.append(source)
        same = next((x["file"] for x in inputs[:-1] if x["sha256"] == source["sha256"]), None)
        if same is not None and source["sha256"] is not None:
            tell(f"{file} is the same as {same}. It is used once.")
            continue
        if "format" in source and "machine" not in runs.labels:
            runs = _of_machine(runs, file)
        tables.append((source["file"], runs))
    return tables, inputs


def _of_machine(runs: "Measurements", file: str) -> "Measurements":
    """Call the machine of an import by its file: few other tools tell where a program ran."""
    from pathlib import Path

    name = Path(file).stem.strip() or file
    tell(f"{file} names no machine; it is called {name!r:.60}.")
    return runs.with_columns(machine=name)
