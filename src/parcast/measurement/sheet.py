"""A measurement for a person: times, memory and what spoils them; and jobs that make its runs."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.measurement.collect import JobStanding, JobStandings
from parcast.measurement.result import MeasuredProgram, PointSummary
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.trials.command import as_typed
from parcast.trials.precision import intervals_named
from parcast.units import TIME_UNITS, format_quantity, shown
from parcast.words import clock, common_unit, counted, listed, rounded, rounded_interval

LEGEND: Final = "time: median; {}: {}; memory: most of one process, and of all at a time"


def sheet_of(measured: MeasuredProgram) -> Sheet:
    """Everything that is said."""
    rows = measured.summaries
    return Sheet(
        title=shown(as_typed(measured.command), limit=200),
        tables=(_table(rows),) if rows else (),
        facts=tuple(_facts(measured)),
        warnings=measured.findings,
    )


def _table(rows: Sequence[PointSummary]) -> Table:
    known = [x.time for x in rows if x.time is not None]
    unit = common_unit(known or [1.0])
    second = TIME_UNITS[unit]
    names = [*rows[0].point.columns]
    labels = [
        Column(title=name, cells=[f"{x.point.columns[name]:,}" for x in rows]) for name in names
    ]
    ends = [_interval(x, second) for x in rows]
    named, meaning = intervals_named(len(x.counting) for x in rows)
    columns = [
        *labels,
        Column(title="time", unit=f"[{unit}]", cells=[each[0] for each in ends]),
        interval_column(named, f"[{unit}]", [(low, high) for _, low, high in ends]),
        Column(title="memory", unit="of one", cells=[_memory(x, "memory") for x in rows]),
        Column(title="memory", unit="of all", cells=[_memory(x, "memory_total") for x in rows]),
        Column(title="runs", cells=[f"{len(x.counting)}/{len(x.rows)}" for x in rows]),
    ]
    in_full = [
        Entry(
            lines=(str(x.point),),
            facts=tuple(Fact(c.title, str(c.cells[i])) for c in columns[len(labels) :]),
        )
        for i, x in enumerate(rows)
    ]
    return Table(
        forms=(Form(columns=columns), Form(columns=[*columns[: len(labels) + 2], columns[-1]])),
        in_full=tuple(in_full),
        is_spaced=False,
        legend=LEGEND.format(named, meaning),
    )


def _interval(x: PointSummary, second: float) -> tuple[str, str, str]:
    """Time and its interval as texts."""
    if x.time is None:
        return "-", "", ""
    if x.interval is None:
        return rounded(x.time / second, 3), "", ""
    ends = (y / second for y in (x.time, *x.interval))
    return rounded_interval(*ends, most=4)


def _memory(x: PointSummary, name: str) -> str:
    most = x.most(name)
    return "-" if most is None else format_quantity(float(most), "size")


def _facts(measured: MeasuredProgram) -> Iterator[Fact]:
    """Say how many runs there were, and where they are."""
    asked = measured.runs * len(measured.points)
    if measured.ended_by:
        made = f"{len(measured.table)} of {counted(asked, 'run')} were made"
        yield Fact("stopped by", f"{measured.ended_by}: {made}. --resume goes on")
    if measured.stopped:
        yield Fact("stopped", measured.stopped)
    count = len(measured.table)
    yield Fact("runs", f"{count}, in {measured.path}" if count else "none")


def sheet_of_jobs(told: JobStandings) -> Sheet:
    """What jobs measure, and what became of them."""
    [first, *_] = told.jobs
    return Sheet(
        title=shown(as_typed(first.job.command.command), limit=200),
        tables=(_table_of_jobs(told.jobs),),
        warnings=told.warnings,
    )


def _table_of_jobs(jobs: Sequence[JobStanding]) -> Table:
    numbers = Column(title="job", cells=[str(x.job.number) for x in jobs])
    ids = Column(title="id", cells=[x.id or "-" for x in jobs])
    nodes = Column(title="nodes", cells=[f"{x.job.nodes:,}" for x in jobs])
    counts = Column(title="p", cells=[listed(map(str, x.job.counts)) for x in jobs])
    runs = Column(title="runs", cells=[f"{x.made}/{x.asked}" for x in jobs])
    limit = Column(title="time limit", cells=[clock(x.job.seconds) for x in jobs])
    state = Column(title="state", cells=[x.word for x in jobs], align="left")
    why = Column(title="", cells=[x.why for x in jobs], align="left")
    in_full = [
        Entry(
            lines=(f"job {x.job.number}: {x.word}{f': {x.why}' if x.why else ''}",),
            facts=(
                Fact("p", str(counts.cells[i])),
                Fact("runs", str(runs.cells[i])),
                Fact("time limit", str(limit.cells[i])),
            ),
        )
        for i, x in enumerate(jobs)
    ]
    return Table(
        forms=(
            Form(columns=[numbers, ids, nodes, counts, runs, limit, state, why]),
            Form(columns=[numbers, counts, runs, state]),
        ),
        in_full=tuple(in_full),
        is_spaced=False,
    )
