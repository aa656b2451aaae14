"""A sorted file as a sheet: how large, how long, and what each rank held."""

from dataclasses import replace
from typing import Final

from parcast.applications.sorting.result import SortedFile
from parcast.pipeline.sheet import sheet_of as sheet_of_run
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import format_quantity, shown
from parcast.words import counted

NO_SHARD: Final = "-"  # in place of the peak memory of a rank


def sheet_of(result: SortedFile) -> Sheet:
    """Everything that is said of a sort."""
    size = format_quantity(float(result.size), "size")
    by = f" by {', '.join(result.by)}" if result.by else ""
    tables = tuple(_with_peaks(table, result) for table in sheet_of_run(result.run).tables)
    rate = result.size / result.seconds if result.seconds else 0.0
    return Sheet(
        title=f"Sorted {result.elements} elements ({size}){by} into {shown(result.output)}",
        tables=tables,
        facts=(
            Fact("time", f"{format_quantity(result.seconds, 'time')} with the start of ranks"),
            Fact("rate", format_quantity(rate, "rate")),
            Fact("memory", f"{format_quantity(result.memory, 'size')} a rank at most allowed"),
            Fact(
                "cut into", f"{counted(result.chunks, 'chunk')}, {counted(result.shards, 'shard')}"
            ),
        ),
        warnings=result.warnings,
    )


def _with_peaks(table: Table, result: SortedFile) -> Table:
    """Add what each rank held at most to the table of a run."""
    cells = [NO_SHARD if x is None else format_quantity(x, "size") for x in result.peaks]
    column = Column(title="peak memory", cells=cells)
    forms = tuple(Form(columns=[*form.columns, column]) for form in table.forms)
    legend = f"{NO_SHARD}: not measured, as the rank wrote no shard" if NO_SHARD in cells else ""
    return replace(table, forms=forms, legend=legend)
