"""Features of documents as a sheet: what was found, and the most frequent phrases."""

from collections.abc import Iterator
from typing import Final

from parcast.pipeline.features.extract import FeaturesResult
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import format_quantity, shown

MOST_FAULTS: Final = 5  # that are listed


def sheet_of(result: FeaturesResult) -> Sheet:
    """Everything that is said of features of documents."""
    rows = result.frequent
    columns = [
        Column(title="frequency", cells=[f"{count:,}" for count, _ in rows]),
        Column(
            title="phrase", cells=[shown(phrase, limit=50) for _, phrase in rows], align="left"
        ),
    ]
    totals = result.totals
    documents = f"{totals.documents:,} document{'s' if totals.documents != 1 else ''}"
    phrases = sum(part.phrases for part in result.parts)
    return Sheet(
        title=f"Noun phrases of {documents}: {phrases:,} different",
        tables=(Table(forms=(Form(columns=columns),)),) if rows else (),
        facts=tuple(_facts(result)),
        warnings=result.run.warnings,
    )


def _facts(result: FeaturesResult) -> Iterator[Fact]:
    """Give the totals, how long it took, where it was written, and what was skipped."""
    totals, run = result.totals, result.run
    yield Fact("tokens", f"{totals.tokens:,}")
    yield Fact("occurrences", f"{sum(part.occurrences for part in result.parts):,}")
    ranks = f"{len(run.ranks)} rank{'s' if len(run.ranks) != 1 else ''}"
    speed = f", {totals.tokens / run.seconds:,.0f} tokens/s" if run.seconds else ""
    yield Fact("time", f"{format_quantity(run.seconds, 'time')} on {ranks}{speed}")
    paths = [path for part in result.parts for path in part.paths]
    if paths:
        yield Fact("written", ", ".join(paths))
    if run.was_stopped:
        yield Fact("stopped", "by Ctrl-C; the result is of the documents read until then", True)
    if totals.skipped:
        listed = [" ".join(fault.split()) for fault in totals.faults[:MOST_FAULTS]]
        more = totals.skipped - len(listed)
        listed += [f"and {more} more"] if more else []
        yield Fact(f"skipped {totals.skipped}", "; ".join(listed), True)
