"""Jobs of a measurement for a person: what they measure, and what became of them."""

from collections.abc import Sequence

from parcast.measurement.collect import JobStanding, JobStandings
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.trials.command import as_typed
from parcast.units import shown
from parcast.words import clock, listed


def sheet_of(told: JobStandings) -> Sheet:
    """Everything that is said."""
    [first, *_] = told.jobs
    return Sheet(
        title=shown(as_typed(first.job.command.command), limit=200),
        tables=(_table(told.jobs),),
        warnings=told.warnings,
    )


def _table(jobs: Sequence[JobStanding]) -> Table:
    """Give a line for each job."""
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
