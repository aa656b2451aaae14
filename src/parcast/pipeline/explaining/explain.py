"""A schedule expanded step by step, all tasks and merges taking one step.

The engine's coordinators decide: that of the published schedule by its steps, and that of
`adaptive` in simulated time, in which tasks and merges take 1 and messages nothing.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from parcast.errors import Argument, ParameterError, as_whole, require_one_of
from parcast.pipeline.engine.coordinator import Combine, Deliver, Grant, TaskBlock
from parcast.pipeline.explaining.result import (
    Activity,
    Delivered,
    Kind,
    Moved,
    PipelineSchedule,
    Schedule,
)
from parcast.pipeline.published.orders import StaticCoordinator
from parcast.pipeline.published.schedule import ItemRange, cycle_length, last_step
from parcast.pipeline.simulation.adaptive import AdaptiveSimulation, SimulatedMerge
from parcast.pipeline.simulation.scenario import Scenario
from parcast.saved.call import Call

CYCLES: Final = 2  # that are given of unlimited items
ITEMS_A_RANK: Final = 4  # that are given of `adaptive`
MOST: Final = 1_000_000  # of what ranks do in all steps
# Of `adaptive`, items times ranks, as the coordinator looks at every rank after each report; the
# rest of the simulation costs as much as 25 ranks. It is a few seconds. [D]
MOST_LOOKS: Final = 5_000_000
AS_MANY_RANKS: Final = 25


def explain_pipeline(
    ranks: int,
    *,
    pipelines: int = 1,
    cycles: int | None = None,
    items: int | None = None,
    schedule: Schedule | None = None,
) -> PipelineSchedule:
    """Say what each rank of a pipeline does in each step, all tasks and merges of one step.

    Parameters
    ----------
    ranks : int
        Ranks of one pipeline, P. [1]
    pipelines : int, default 1
        Identical pipelines, G. [1]
    cycles : int, optional
        Cycles of the published schedule to give, of unlimited items; by default 2. [1]
    items : int, optional
        Items that one pipeline takes in all. By default unlimited; of "adaptive" 4 a rank. [1]
    schedule : {"source", "adaptive"}, optional
        The published schedule, for a power of two of ranks, or the default one of `run_pipeline`.
        By default "source" where it can be.

    Returns
    -------
    PipelineSchedule
        ``activities``, ``messages`` and ``deliveries`` by step, ``depth``, ``speedup`` (ideal) and
        ``busy``, the share of the ranks that work.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the schedule would be too long to be read.

    Examples
    --------
    >>> import parcast
    >>> schedule = parcast.explain_pipeline(8)
    >>> schedule.depth, round(schedule.speedup, 2)
    (7, 6.86)
    """
    hint = "Count from 1."
    ranks = as_whole("ranks", ranks, least=1, hint=hint)
    pipelines = as_whole("pipelines", pipelines, least=1, hint=hint)
    cycles = None if cycles is None else as_whole("cycles", cycles, least=1, hint=hint)
    items = None if items is None else as_whole("items", items, least=1, hint=hint)
    if items is not None and cycles is not None:
        raise ParameterError(
            "cycles",
            must="be left out for a number of items",
            got=str(cycles),
            hint="The cycles follow from the items.",
        )
    if schedule is None:
        schedule = "adaptive" if ranks & (ranks - 1) else "source"
    require_one_of("schedule", schedule, ("source", "adaptive"))
    asked = {"ranks": ranks, "pipelines": pipelines, "cycles": cycles, "items": items}
    call = Call(verb="explain-pipeline", arguments={**asked, "schedule": schedule})
    if schedule == "source":
        return replace(_source(ranks, pipelines, cycles, items), call=call)
    if cycles is not None:
        raise ParameterError(
            "cycles",
            must=(
                "be left out with ",
                Argument("schedule", "adaptive", python='schedule="adaptive"'),
                ", which has none",
            ),
            got=str(cycles),
            hint=("Give a number of ", Argument("items"), "."),
        )
    items = ITEMS_A_RANK * ranks if items is None else items
    return replace(_adaptive(ranks, pipelines, items), call=call)


def _limited(size: int, steps: int) -> None:
    """Refuse what would be too long to be read, drawn or computed."""
    if size * steps > MOST:
        raise ParameterError(
            "items",
            must=f"give at most {MOST:,} tasks and merges",
            got=f"{size} ranks over {steps} steps",
            hint="Ask for fewer ranks, cycles or items.",
        )


def _source(size: int, pipelines: int, cycles: int | None, items: int | None) -> PipelineSchedule:
    """Draw what the engine's coordinator of the published schedule orders, step by step."""
    number = (CYCLES if cycles is None else cycles) * cycle_length(size)
    if items is not None:
        number = last_step(items, size) + 1
    _limited(size, number)
    coordinator = StaticCoordinator(size)
    done: list[Activity] = []
    sent: list[Moved] = []
    delivered: list[Delivered] = []
    reached = -1
    while reached <= number and not coordinator.is_over:
        ended = items is not None
        coordinator.fetched(coordinator.wants if items is None else items, ended=ended)
        for order in [*coordinator.orders()]:
            match order:
                case Grant(rank, block, _):
                    coordinator.done(rank, block, (), 0.0)
                    reached, own = block.node.level, ItemRange(block.first, block.stop)
                    if own.length and reached <= number:
                        done.append(Activity(reached, rank, "task", own))
                case Combine(rank, node, (*before, more)):
                    coordinator.merged(rank, node, 0.0)
                    moved = ItemRange(more.first, more.stop)
                    if moved.length and node.level <= number:
                        kind: Kind = "merge" if before else "receive"
                        whole = ItemRange(order.inputs[0].first, more.stop)
                        done.append(Activity(node.level, rank, kind, whole, more.rank))
                        sent.append(Moved(node.level, more.rank, rank, moved))
                case Deliver(rank, node, _, first, stop) if node.level <= number:
                    delivered.append(Delivered(node.level, rank, ItemRange(first, stop)))
    if items is not None:  # without steps in which ranks only find out that items have ended
        number = max(activity.step for activity in done)
    return PipelineSchedule(
        schedule="source",
        ranks=size,
        pipelines=pipelines,
        items=items,
        steps=number,
        activities=tuple(done),
        messages=tuple(sent),
        deliveries=tuple(each._replace(step=min(each.step, number)) for each in delivered),
    )


def _adaptive(size: int, pipelines: int, items: int) -> PipelineSchedule:
    """Draw what the engine's coordinator orders where messages take no time."""
    most = MOST_LOOKS // (size + AS_MANY_RANKS)
    if items > most:
        must, hint = f"be at most {most:,} on {size} ranks", "Ask for fewer ranks or items."
        raise ParameterError("items", must=must, got=f"{items:,}", hint=hint)
    scenario = Scenario(ranks=size, items=items, task=1.0, merge=1.0)
    done: list[Activity] = []
    sent: list[Moved] = []

    def watch(now: float, rank: int, work: TaskBlock | SimulatedMerge) -> None:
        step = round(now)
        if isinstance(work, TaskBlock):
            done.append(Activity(step, rank, "task", ItemRange(work.first, work.stop)))
            return
        first, *_, last = inputs = work.order.inputs
        others = [x for x in inputs if x.rank != rank]
        partner = others[0].rank if others else None
        done.append(Activity(step, rank, "merge", ItemRange(first.first, last.stop), partner))
        sent.extend(
            Moved(round(work.sent), x.rank, rank, ItemRange(x.first, x.stop)) for x in others
        )

    AdaptiveSimulation(scenario, np.random.SeedSequence(0), watch).run()
    last = done[-1]  # the root of the tree
    return PipelineSchedule(
        schedule="adaptive",
        ranks=size,
        pipelines=pipelines,
        items=items,
        steps=last.step,
        activities=tuple(sorted(done)),
        messages=tuple(sorted(sent)),
        deliveries=(Delivered(last.step, last.rank, last.items),),
    )
