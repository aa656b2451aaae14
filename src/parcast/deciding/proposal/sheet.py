"""A proposal as tables and paragraphs, for a screen, a page or a document."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from parcast.deciding.goals.goals import amount_text
from parcast.deciding.proposal.result import Proposal, ProposedJob, ScalingPoint
from parcast.deciding.sheet import time_columns
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.units import format_quantity, percent_in_full
from parcast.words import counted, rounded, whole, whole_percent


def sheet_of(result: Proposal) -> Sheet:
    """Everything that a proposal has: the request first, then the tables and how they came."""
    interval = f"{amount_text(result.total_lower)} to {amount_text(result.total_upper)}"
    runs = counted(sum(job.runs for job in result.jobs), "run")
    return Sheet(
        title=(
            f"Request {amount_text(result.request, up=True)} {result.unit} for {runs}: they "
            f"suffice with {percent_in_full(result.margin)} certainty (expected "
            f"{amount_text(result.total)}, 90% interval {interval})"
        ),
        tables=(
            _table("Jobs", _job_columns(result), _job_legend(result)),
            *(
                _table(_title(kind), _scaling_columns(result, points), SPEEDUP)
                for kind in ("measured", "forecast")
                if (points := [x for x in result.scaling if x.kind == kind])
            ),
            *([_items(result)] if result.items else []),
        ),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
    )


SPEEDUP: Final = "speedup: over the smallest measured count, or of all, of the same size"


def _title(kind: str) -> str:
    return f"Scaling, {kind}"


def _table(title: str, columns: Sequence[Column], legend: str = "") -> Table:
    """Make a table, in full for narrow pages."""
    rows = range(len(columns[0].cells))
    first, *others = columns
    return Table(
        title=title,
        forms=(Form(columns=columns),),
        in_full=tuple(
            Entry(
                title=f"{first.title} {first.cells[i]}".strip(),
                facts=tuple(Fact(x.full_title, x.cells[i]) for x in others if x.cells[i]),
            )
            for i in rows
        ),
        legend=legend,
    )


Rows = Sequence[ScalingPoint] | Sequence[ProposedJob]


def _counts(rows: Rows, result: Proposal) -> Iterator[Column]:
    """Columns of sizes and counts."""
    if any(x.size for x in rows):
        yield Column(title="size", cells=[x.size for x in rows], align="left")
    if rows[0].nodes is not None:
        yield Column(title="nodes", cells=[f"{whole(x.nodes)}" for x in rows])
    per_node = result.node_size.cores_per_node
    if rows[0].nodes is None or per_node is not None:
        yield Column(title="cores", cells=[f"{whole(x.cores)}" for x in rows])
    if per_node is not None:
        cells = [f"{whole(min(x.cores, per_node))}" for x in rows]
        yield Column(title="cores", unit="a node", cells=cells)


def _scaling_columns(result: Proposal, points: Sequence[ScalingPoint]) -> list[Column]:
    """Give times, speedups and efficiencies."""
    times = [
        np.array([getattr(x, name) or x.time for x in points])
        for name in ("time", "lower", "upper")
    ]
    columns = [*_counts(points, result), *time_columns(*times)]
    if points[0].runs is not None:
        columns.append(Column(title="runs", cells=[f"{x.runs}" for x in points]))
    speedups = [rounded(x.speedup, 3) for x in points]
    columns.append(Column(title="speedup", cells=speedups))
    shares = [whole_percent(x.efficiency) for x in points]
    columns.append(Column(title="efficiency", unit="[%]", cells=shares))
    return columns


def _job_columns(result: Proposal) -> list[Column]:
    """Give the jobs."""
    jobs = result.jobs
    times = [np.array([getattr(x, name) for x in jobs]) for name in ("time", "lower", "upper")]
    time, *_ = time_columns(*times)
    columns = [
        Column(title="job", cells=[x.job or "other" for x in jobs], align="left"),
        *_counts(jobs, result),
        time,
        Column(title="--time", unit="95%", cells=[x.clock for x in jobs]),
        Column(title="runs", cells=[f"{x.runs}" for x in jobs]),
    ]
    if any(x.memory is not None for x in jobs):
        cells = ["" if x.memory is None else format_quantity(x.memory, "size") for x in jobs]
        columns.append(Column(title="memory", unit="of a node", cells=cells))
    if jobs[0].storage is not None:
        cells = [format_quantity(x.storage or 0.0, "size") for x in jobs]
        columns.append(Column(title="storage", cells=cells))
    columns.append(Column(title=result.unit, cells=[amount_text(x.hours) for x in jobs]))
    ends = [(amount_text(x.hours_lower), amount_text(x.hours_upper)) for x in jobs]
    columns.append(interval_column("90% interval", "", ends))
    if result.unit_of_science:
        cells = [amount_text(x.per_unit or 0.0) for x in jobs]
        columns.append(Column(title="hours for one", unit="of the units", cells=cells))
    return columns


def _job_legend(result: Proposal) -> str:
    """Say what the columns are."""
    legend = [f"{result.unit}: of all runs of the job"]
    if result.node_size.knows_nodes:
        legend.append("nodes that are not filled are charged in full")
    if result.unit_of_science:
        legend.append(f"units: {result.unit_of_science}")
    return "; ".join(legend)


def _items(result: Proposal) -> Table:
    """Give what a site asks for."""
    items = result.items
    number = {source: f"[{i}]" for i, source in enumerate(_sources(result), 1)}
    columns = [
        Column(title="item", cells=[x.item for x in items], align="left"),
        Column(title="given", cells=["yes" if x.given else "no" for x in items], align="left"),
        Column(title="where", cells=[x.where for x in items], align="left"),
        Column(title="source", cells=[number[x.source] for x in items], align="left"),
    ]
    return _table(f"What {result.site.upper()} asks for", columns)


def _sources(result: Proposal) -> list[str]:
    """Pages that say what a site asks for, each once."""
    return list(dict.fromkeys(x.source for x in result.items))


def _facts(result: Proposal) -> Iterator[Fact]:
    """Give what is to be written beside the tables."""
    share, sure = map(percent_in_full, (result.efficiency, result.margin))
    for job in result.jobs:
        of = f" of {job.size}" if job.size else ""
        if job.largest is None:
            text = f"no count{of} has an efficiency of {share} with {sure} certainty"
        else:
            count = f"p = {whole(job.largest)}{of}"
            text = f"{count} has an efficiency of at least {share} with {sure} certainty"
        yield Fact("largest" if job is result.jobs[0] else "", text)
    yield from facts_of("method", result.method)
    if result.unit_of_science:
        text = f"node-hours of a run over its {result.unit_of_science}"
        yield Fact("for one", text.replace("node-hours", result.unit))
    if result.items:
        numbered = (f"[{i}] {source}" for i, source in enumerate(_sources(result), 1))
        yield from facts_of("sources", numbered)
        yield Fact("", "Forms change from call to call: read the current one as well.")
