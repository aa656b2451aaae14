"""A run of a pipeline as a sheet: what each rank did, and what was skipped."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.advice import Choice
from parcast.errors import Argument, text_of
from parcast.pipeline.result import PipelineResult
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import TIME_UNITS, format_quantity, shown
from parcast.words import common_unit, counted, rounded, whole_percent

MOST_SKIPPED: Final = 5  # that are listed without -v
MOST_SHOWN: Final = 200  # characters of a value
DIGITS: Final = 3


def sheet_of(result: PipelineResult, *, with_value: bool = False) -> Sheet:
    """Everything that is said of a run, and possibly the beginning of its value."""
    value = (Fact("value", _beginning(text_of(result.value))),) if with_value else ()
    on = counted(len(result.ranks), "rank")
    return Sheet(
        title=f"{result.program}: {counted(result.items, 'item')} on {on}",
        tables=(Table(forms=(Form(columns=list(_columns(result))),)),) if result.ranks else (),
        facts=(*_facts(result), *value),
        warnings=result.warnings,
    )


def _beginning(value: str) -> str:
    """Shorten a value, and say where all of it can be."""
    more = (
        f" ({Argument('outputs', Choice('PATH'), python='value')} holds all of it)"
        if len(value) > MOST_SHOWN
        else ""
    )
    return shown(value, limit=MOST_SHOWN) + more


def _columns(result: PipelineResult) -> Iterator[Column]:
    ranks = result.ranks
    unit = common_unit([result.seconds])
    yield Column(title="rank", cells=[str(x.rank) for x in ranks])
    yield Column(title="items", cells=[str(x.items) for x in ranks])
    for title, times in (
        ("tasks", [x.tasks for x in ranks]),
        ("merges", [x.merges for x in ranks]),
    ):
        cells = [rounded(time / TIME_UNITS[unit], DIGITS) for time in times]
        yield Column(title=title, unit=f"[{unit}]", cells=cells)
    busy = [(x.tasks + x.merges) / result.seconds if result.seconds else 0.0 for x in ranks]
    yield Column(
        title="busy", unit="[%]", cells=[f"{100 * min(share, 1.0):.0f}" for share in busy]
    )
    if any(x.messages for x in ranks):
        yield Column(title="messages", cells=[str(x.messages) for x in ranks])
        yield Column(title="sent", cells=[format_quantity(float(x.sent), "size") for x in ranks])


def _facts(result: PipelineResult) -> Iterator[Fact]:
    yield Fact("time", format_quantity(result.seconds, "time"))
    if result.task_time is not None:
        yield Fact("task", f"{format_quantity(result.task_time, 'time')} per item")
    yield Fact("busy", f"{whole_percent(result.utilisation)}% of the time of all ranks")
    if result.resumed_items:
        yield Fact("resumed", f"{counted(result.resumed_items, 'item')} of an interrupted run")
    if result.retried:
        yield Fact("retried", f"{counted(result.retried, 'attempt')} after a task had failed")
    if result.reductions > 1:
        yield Fact("reductions", str(result.reductions))
    if result.was_stopped:
        yield Fact("stopped", "by Ctrl-C; the result is of the items taken until then", True)
    listed = [
        f"{x.index} {shown(x.item, limit=40)}: {shown(x.error, limit=200)}" for x in result.skipped
    ]
    yield from skipped(listed)


def skipped(listed: Sequence[str], count: int | None = None) -> Iterator[Fact]:
    """Warn of what was skipped, a line for each with its fault, the later ones as details.

    `count` is how many there are, where not all of them are listed.
    """
    count = len(listed) if count is None else count
    label = f"skipped {count}"
    for fault in listed[:MOST_SKIPPED]:
        yield Fact(label, fault, True)
        label = ""
    if count > MOST_SKIPPED:
        yield Fact("", f"and {count - MOST_SKIPPED} more, listed with -v and in --json")
    for fault in listed[MOST_SKIPPED:]:
        yield Fact("", fault, is_detail=True)
    if count > len(listed) > MOST_SKIPPED:
        yield Fact("", f"and {count - len(listed)} more that are not listed", is_detail=True)
