"""Why a plan, what would have to change to use more ranks, and why there is none: in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from parcast.advice import Choice
from parcast.errors import Argument
from parcast.pipeline.law.phase import FEW_BATCHES
from parcast.pipeline.planning.costs import ReductionCosts
from parcast.pipeline.planning.grid import Shapes, StageFigures, figures_of
from parcast.pipeline.planning.result import PlanLimits, RankPlan
from parcast.units import format_quantity, percent
from parcast.words import counted, listed

NOTICED: Final = 0.01  # difference in time that is mentioned
SAVING: Final = 0.05  # share of the time that a stage takes to be named as a limit
USED: Final = 0.8  # least efficiency of ranks that are used
FEW: Final = 4  # batches a rank, below which their number is named as a limit
ADVICE: Final = {  # what makes a stage shorter
    "merge": "Merge faster, or return less from a task",
    "communication": "Send less, use a faster channel, or give each item more to do",
    "fetch": "Give names of files as items, and read them in the task",
}
DOES: Final = {"merge": "a merge", "communication": "communication", "fetch": "fetching"}


def figures_at(
    costs: ReductionCosts,
    schedule: str,
    plan: RankPlan,
    changes: Mapping[str, int],
    *,
    drain: bool = True,
) -> StageFigures:
    """Evaluate one plan with some of its numbers changed."""
    own = {name: getattr(plan, name) for name in ("ranks", "pipelines", "fan_in", "batch")}
    shapes = Shapes(**{name: np.array([float(x)]) for name, x in {**own, **changes}.items()})
    return figures_of(costs, shapes, schedule, drain=drain)


def reasons_of(
    costs: ReductionCosts, schedule: str, best: RankPlan, fastest: RankPlan, limits: PlanLimits
) -> Iterator[str]:
    """Say why a plan is recommended."""
    if best.ranks == 1:
        if limits.ranks == 1 or costs.items == 1:
            yield "there is only one rank" if limits.ranks == 1 else "there is only one item"
        elif limits.within is None and limits.efficiency is None:
            yield "no balanced plan of several ranks is faster than one rank"
        else:
            yield "the fewest ranks that meet the limits"
        return
    stage, ratio = best.longest
    if ratio > 0:
        task = format_quantity(best.stages["task"], "time", 2)
        own = format_quantity(best.stages[stage], "time", 2)
        items = counted(best.batch, "item")
        yield (
            f"no stage exceeds the task of {items}, {task}: {_named(stage)} takes "
            f"{percent(ratio)} of it ({own})"
        )
    if schedule == "source":
        yield (
            "each pipeline delivers a completed reduction to the server every P/2 lg P items; the "
            "published schedule merges no further"
        )
    else:
        if best.batch > 1:
            smaller = best.batch // best.fan_in
            yield from _instead(costs, best, f"a batch of {smaller}", batch=smaller)
        if best.batch * best.fan_in <= costs.items:
            larger = best.batch * best.fan_in
            yield from _instead(costs, best, f"a batch of {larger}", batch=larger)
        if best.fan_in > 2:
            yield from _instead(costs, best, "a fan-in of 2", fan_in=2)
        if best.pipelines > 1:
            yield from _instead(costs, best, "one pipeline", pipelines=1)
    if fastest.ranks != best.ranks:
        least = format_quantity(fastest.time, "time")
        why = (
            "meet the limit, with their intervals"
            if limits.within is not None
            else "come within 5% of the least time"
        )
        yield f"the fewest ranks that {why}; {fastest.ranks} ranks take the least, {least}"


def _instead(costs: ReductionCosts, best: RankPlan, what: str, **changes: int) -> Iterator[str]:
    """Say what another plan would be worse in, if it is."""
    other = figures_at(costs, "adaptive", best, changes)
    stage, ratio = longest(other)
    if ratio > 1.0 + 1e-9:
        yield f"with {what}, {DOES[stage]} would take {_times(ratio)} the task"
    elif (longer := float(other.time[0]) / best.time - 1.0) >= NOTICED:
        yield f"with {what} it would take {percent(longer)} longer"


def longest(figures: StageFigures) -> tuple[str, float]:
    """Longest stage of one plan but the task, and its ratio to it [1]."""
    stages = {x: float(np.ravel(getattr(figures, x))[0]) for x in DOES}
    stage = max(stages, key=lambda each: stages[each])
    return stage, stages[stage] / float(np.ravel(figures.task)[0])


def limits_of(
    costs: ReductionCosts, schedule: str, best: RankPlan, twice: RankPlan, limits: PlanLimits
) -> Iterator[str]:
    """Say what would have to change to use more ranks; `twice` is the best plan of 2x as many."""
    most, ranks = limits.ranks, twice.ranks
    if best.ranks == 1 and limits.measured != 1:
        if limits.within is None and limits.efficiency is None and most > 1:
            yield "more items, longer tasks, or less costly messages and merges"
        return
    if costs.cores is not None and best.ranks >= costs.cores:
        yield f"more cores than {costs.cores}, which the ranks share"
        return
    is_at_cores = limits.measured is not None and best.ranks == limits.measured
    if is_at_cores:
        yield f"more cores than the {limits.measured} of the traced run. {_more_cores()}"
    if twice.is_balanced and best.time / twice.time >= 2 * USED:
        is_limit = ranks > most and not is_at_cores
        more = f"nothing but a higher limit than {most} ranks: " if is_limit else ""
        yield f"{more}{ranks} ranks would take {format_quantity(twice.time, 'time')}"
        return
    stage, ratio = twice.longest
    if not twice.is_balanced:
        yield (
            f"no plan of {ranks} ranks is balanced: {DOES[stage]} would take {_times(ratio)} the "
            f"task at best. {ADVICE[stage]}"
        )
    for other, saving in _savings(costs, schedule, twice):
        if saving >= SAVING and (twice.is_balanced or other != stage):
            yield _limit(other, saving, ranks)
    if (count := ceil(costs.items / twice.batch) / ranks) < FEW:
        yield f"more items: {ranks} ranks get {count:.2g} batches each"


def _savings(costs: ReductionCosts, schedule: str, plan: RankPlan) -> Iterator[tuple[str, float]]:
    """What stages add to the time of a plan, the largest first [1]."""
    free = {
        "fetch": replace(costs, fetch=0.0),
        "communication": replace(
            costs, bandwidth=None, latency=0.0, communication=None, overhead=0.0
        ),
    }
    times = {x: figures_at(y, schedule, plan, {}).time for x, y in free.items()}
    times["merge"] = figures_at(costs, schedule, plan, {}, drain=False).time
    savings = {stage: 1.0 - float(each[0]) / plan.time for stage, each in times.items()}
    yield from sorted(savings.items(), key=lambda each: -each[1])


def _limit(stage: str, saving: float, ranks: int) -> str:
    share = f"{percent(saving)} of the time with {ranks} ranks"
    if stage == "fetch":
        return f"fetching items on rank 0 is {share}. {ADVICE['fetch']}"
    if stage == "merge":
        return (
            f"the last merges, up to the root of the tree, are {share}. Merge faster, or split "
            "results (shards), so that no rank merges all of them"
        )
    return f"messages are {share}. {ADVICE['communication']}"


def unbalanced(nearest: RankPlan | None) -> Iterator[str]:
    """Say which stage keeps every plan of several ranks from being balanced, if one does."""
    if nearest is not None:
        stage, ratio = nearest.longest
        task, own = (format_quantity(nearest.stages[x], "time", 2) for x in ("task", stage))
        yield (
            f"no plan of several ranks is balanced: {_named(stage)} takes {_times(ratio)} the "
            f"task ({own} and {task}) at best, with {_shape(nearest)}"
        )


def advice_for(nearest: RankPlan | None) -> Iterator[str]:
    """Say what would make that stage shorter."""
    if nearest is not None:
        yield ADVICE[nearest.longest[0]]


def verdict_of(plans: Sequence[RankPlan], limits: PlanLimits) -> Iterator[str]:
    """Say which limit no balanced plan meets, and what comes nearest."""
    within = limits.within
    balanced = [plan for plan in plans if plan.is_balanced]
    quick = [plan for plan in balanced if within is None or plan.upper <= within]
    if not quick:
        least = min(balanced, key=lambda plan: plan.upper)
        limit = format_quantity(within or 0.0, "time")
        time, upper = (format_quantity(x, "time") for x in (least.time, least.upper))
        if least.time > (within or 0.0):
            yield (
                f"the least time of a balanced plan is {time}, with {_shape(least)}; the limit is "
                f"{limit}"
            )
        else:
            yield (
                f"no balanced plan keeps {limit} surely: with {_shape(least)} it takes {time}, "
                f"and its 90% interval reaches {upper}. Costs that are known better narrow it, "
                "such as those of a longer trace"
            )
        if limits.ranks == limits.measured:
            cores = counted(limits.ranks, "core")
            yield f"ranks keep to the {cores} of the traced run. {_more_cores()}"
        return
    best = max(quick, key=lambda plan: plan.efficiency)
    yield (
        f"the highest efficiency {'within the time ' if within else ''}is "
        f"{_share(best.efficiency)}, with {_shape(best)}; the least allowed is "
        f"{_share(limits.efficiency or 0.0)}"
    )


def warnings_of(costs: ReductionCosts, plan: RankPlan | None) -> Iterator[str]:
    """Say what a reader of a plan must know."""
    if plan is None or plan.ranks == 1:
        return
    is_free = costs.bandwidth is None and not costs.latency and costs.communication is None
    if is_free and not costs.overhead:
        yield (
            "Messages take no time: their costs were not given. Give the message size, the "
            "bandwidth and the latency, or the trace of a run."
        )
    elif costs.bandwidth is None and costs.message and costs.communication is None:
        yield "The bandwidth is unknown: the size of messages does not count."
    if costs.merge > costs.task:
        share = 1.0 - costs.items * (costs.task + costs.fetch) / float(costs.sequential)
        merge, task = (format_quantity(x, "time", 2) for x in (costs.merge, costs.task))
        yield (
            f"A merge of two results takes longer than a task ({merge} and {task}): "
            f"{percent(share)} of the work is merging."
        )
    each = costs.items / (plan.ranks * plan.batch)
    if each < FEW_BATCHES:
        yield (
            f"Fewer than {FEW_BATCHES} batches for each rank ({each:.2g}): there the law was up "
            "to 15% from simulations, and it is too low where tasks vary."
        )
    if costs.cores is not None and plan.ranks > costs.cores:
        yield f"{plan.ranks} ranks share {costs.cores} cores."


def beyond_the_run(plan: RankPlan | None, measured: int | None) -> Iterator[str]:
    """Say that a plan needs more cores than the traced run had."""
    if plan is not None and measured is not None and plan.ranks > measured:
        yield (
            f"The plan assumes {plan.ranks} cores, and the traced run had {measured}: that others "
            "are as fast, and messages between them as quick, was not measured."
        )


def _named(stage: str) -> str:
    return {"fetch": "fetching the items of all ranks"}.get(stage, DOES.get(stage, stage))


def _share(value: float) -> str:
    """Write an efficiency: 99.9%, not 100%."""
    return f"{100 * value:.3g}%"


def _times(ratio: float) -> str:
    """Write a ratio above 1: never 1."""
    return f"{max(ratio, 1.01):.3g} times"


def _shape(plan: RankPlan) -> str:
    parts = [counted(plan.ranks, "rank")]
    parts += [f"{plan.pipelines} pipelines"] * (plan.pipelines > 1)
    parts += [f"fan-in {plan.fan_in}"] * (plan.fan_in > 2)
    parts += [f"a batch of {plan.batch}"] * (plan.batch > 1)
    return listed(parts)


def _more_cores() -> str:
    return f"Plan for a machine that has more: {Argument('cores', Choice('COUNT'))}"
