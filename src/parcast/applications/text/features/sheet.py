"""Features of documents as a sheet: what was found, and the most frequent phrases."""

from collections.abc import Iterator

from parcast.applications.text.features.extract import FeaturesResult
from parcast.pipeline.sheet import skipped
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import format_quantity, shown
from parcast.words import counted


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
    documents = counted(totals.documents, "document")
    phrases = sum(part.phrases for part in result.parts)
    return Sheet(
        title=f"Noun phrases of {documents}: {phrases:,} different",
        tables=(Table(forms=(Form(columns=columns),)),) if rows else (),
        facts=tuple(_facts(result)),
        warnings=result.run.warnings,
    )


def _facts(result: FeaturesResult) -> Iterator[Fact]:
    totals, run = result.totals, result.run
    yield Fact("tokens", f"{totals.tokens:,}")
    yield Fact("occurrences", f"{sum(part.occurrences for part in result.parts):,}")
    ranks = counted(len(run.ranks), "rank")
    speed = f", {totals.tokens / run.seconds:,.0f} tokens/s" if run.seconds else ""
    yield Fact("time", f"{format_quantity(run.seconds, 'time')} on {ranks}{speed}")
    paths = [path for part in result.parts for path in part.paths]
    if paths:
        yield Fact("written", ", ".join(paths))
    if run.was_stopped:
        yield Fact("stopped", "by Ctrl-C; the result is of the documents read until then", True)
    yield from skipped(totals.faults, totals.skipped)
