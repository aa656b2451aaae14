"""A traced run for a person: what each rank did, and what limited the run."""

from collections.abc import Iterator
from typing import Final

from parcast.pipeline.explaining.timeline import RankUse, Timeline
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import format_quantity, percent, shown
from parcast.words import counted, whole_percent

MOST_ROWS: Final = 64  # ranks that are shown
KINDS: Final = {  # of time, and their titles
    "computing": "computing",
    "merging": "merging",
    "communicating": "comm.",
    "idle": "idle",
}
LEGEND: Final = (
    "shares of the run; comm.: no task and no merge runs, but a message, a fetch or a delivery is "
    "under way"
)


def sheet_of(result: Timeline) -> Sheet:
    """Everything that is said of a traced run."""
    left_out = ""
    if len(result.ranks) > MOST_ROWS:
        left_out = f"the first {MOST_ROWS} of {len(result.ranks)} ranks are shown. All of them"
    return Sheet(
        title=title_of(result),
        tables=(_table(result),),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
        left_out=left_out,
    )


def title_of(result: Timeline) -> str:
    """Name the run."""
    header = result.header
    ranks = counted(header.ranks, "rank")
    pipelines = f", {header.pipelines} pipelines" if header.pipelines > 1 else ""
    time = format_quantity(result.seconds, "time", digits=3)
    return f"{shown(header.program)}, schedule {header.schedule}: {ranks}{pipelines}, {time}"


def _table(result: Timeline) -> Table:
    rows = result.ranks[:MOST_ROWS]
    several = len(result.ranks) > 1
    names = [str(x.rank) for x in rows] + ["all"] * several
    hosts = [shown(x.host) for x in rows] + [""] * several
    first = [Column(title="rank", cells=names)]
    host = [Column(title="host", cells=hosts, align="left")] if len(set(hosts[:-1])) > 1 else []
    counts = [
        Column(
            title=name,
            cells=[str(getattr(x, name)) for x in rows]
            + [str(sum(getattr(x, name) for x in result.ranks))] * several,
        )
        for name in ("tasks", "merges")
    ]
    shares = [
        Column(
            title=title,
            unit="[%]",
            cells=[_share(x, name, result.seconds) for x in rows]
            + [whole_percent(result.share(name))] * several,
        )
        for name, title in KINDS.items()
    ]
    return Table(
        forms=(
            Form(columns=[*first, *host, *counts, *shares]),
            Form(columns=[*first, *counts, *shares]),
            Form(columns=[*first, *shares]),
        ),
        in_full=tuple(_in_full(x, result.seconds) for x in rows),
        legend=LEGEND,
    )


def _share(rank: RankUse, kind: str, seconds: float) -> str:
    return whole_percent(getattr(rank, kind) / seconds) if seconds else "-"


def _in_full(rank: RankUse, seconds: float) -> Entry:
    each = (Fact(title, f"{_share(rank, kind, seconds)}%") for kind, title in KINDS.items())
    return Entry(title=f"rank {rank.rank}", facts=tuple(each))


def _facts(result: Timeline) -> Iterator[Fact]:
    header, events = result.header, result.events
    yield Fact("limited by", result.limited_by)
    tasks, merges, items = (
        sum(getattr(rank, name) for rank in result.ranks) for name in ("tasks", "merges", "items")
    )
    yield Fact("work", f"{items} items in {tasks} tasks, {merges} merges")
    if count := events.message_count:
        size = format_quantity(events.mean_bytes, "size", digits=3)
        delay = format_quantity(events.mean_delay, "time", digits=3)
        yield Fact("messages", f"{count}, mean size {size}, mean delay {delay}")
    where = f"{counted(header.cores, 'core')} on {counted(len(set(header.hosts)), 'host')}"
    text = f"{where}; tasks and merges used {percent(result.core_share)} of one each"
    yield Fact("cores", text, is_marked=header.cores < header.ranks)
    yield Fact(
        "clocks",
        f"agree within {format_quantity(max(header.residual), 'time', digits=2)}",
        is_detail=True,
    )
