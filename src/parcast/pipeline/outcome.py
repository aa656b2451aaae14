"""What a run gave, as its result and as its trace."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from parcast.pipeline.engine.desk import span
from parcast.pipeline.engine.job import Job
from parcast.pipeline.engine.session import Outcome
from parcast.pipeline.result import PipelineResult, RankShare
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.pipeline.traces.header import TraceHeader

MOST_NAMED: Final = 4  # spans of items in a warning
EMPTY_INPUT: Final = "the value is that of an empty input (zero)."


def result_of(job: Job, outcome: Outcome, *, is_root: bool) -> PipelineResult:
    """Make the result of a run."""
    return PipelineResult(
        value=outcome.value,
        items=outcome.items,
        resumed_items=outcome.resumed_items,
        retried=outcome.retried,
        seconds=outcome.seconds,
        reductions=outcome.reductions,
        skipped=outcome.skipped,
        was_stopped=outcome.was_stopped,
        ranks=tuple(
            RankShare(
                rank=x.rank,
                items=x.tasks,
                tasks=x.task_time,
                merges=x.merge_time,
                processor=x.task_processor + x.merge_processor,
                messages=x.messages,
                sent=x.sent,
            )
            for x in outcome.notes
        ),
        pipelines=job.pipelines,
        fan_in=job.fan_in,
        shards=job.shards,
        schedule=job.schedule,
        program=job.name,
        is_root=is_root,
        warnings=tuple(_warnings(outcome)),
    )


def _warnings(outcome: Outcome) -> Iterator[str]:
    """Say what the value does not have, or has from elsewhere."""
    if outcome.is_of_two_codes and outcome.resumed_items:
        yield (
            "The job file has changed since the interrupted run: the results of "
            f"{outcome.resumed_items:,} items are those of the earlier file."
        )
    if outcome.damaged:
        spans = [span(*each) for each in outcome.damaged]
        if len(spans) > MOST_NAMED:
            spans[MOST_NAMED:] = [f"{len(spans) - MOST_NAMED} more"]
        listed = ", ".join(spans)
        yield (
            f"Results in the checkpoint were damaged or missing ({listed}): the task was run "
            "again on their items."
        )
    if not outcome.items:
        yield f"There were no items: {EMPTY_INPUT}"
    elif len(outcome.skipped) == outcome.items:
        which = "The only item was" if outcome.items == 1 else f"All {outcome.items:,} items were"
        yield f"{which} skipped: {EMPTY_INPUT}"


def traced(
    job: Job, outcome: Outcome, started: datetime
) -> tuple["TraceHeader", Iterator[Mapping[str, Any]]]:
    """Make the header of a trace, and its events on the clock of rank 0."""
    from parcast.pipeline.traces.header import TraceHeader

    header = TraceHeader(
        program=job.name,
        schedule=job.schedule,
        ranks=len(outcome.notes),
        pipelines=job.pipelines,
        fan_in=job.fan_in,
        items=outcome.items,
        hosts=outcome.hosts,
        cores=outcome.cores,
        offset=tuple(clock.offset for clock in outcome.clocks),
        residual=tuple(clock.residual for clock in outcome.clocks),
        seconds=outcome.seconds,
        started=started.isoformat(timespec="seconds"),
        parcast=__version__,
    )
    return header, _events(outcome)


def _events(outcome: Outcome) -> Iterator[Mapping[str, Any]]:
    """Give all events, on the clock of rank 0 since the run began."""
    for notes in outcome.notes:
        for event in notes.events:
            aligned = dict(event)
            for key in ("start", "end", "sent", "received"):
                if key in event:
                    rank = event["source"] if key == "sent" else notes.rank
                    time = float(outcome.clocks[rank].aligned(event[key]))
                    aligned[key] = max(time - outcome.begun, 0.0)
            if "sent" in aligned:
                aligned["received"] = max(aligned["received"], aligned["sent"])
            yield aligned
