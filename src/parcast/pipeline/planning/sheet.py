"""A plan of a pipeline for a person: how many ranks, how to run it, why, and other plans."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.advice import Choice, ours
from parcast.deciding.sheet import (
    FAILS,
    MARK,
    Said,
    entry_of,
    mark_column,
    some_of,
    time_columns,
    time_text,
)
from parcast.pipeline.planning.result import PipelinePlan, RankPlan
from parcast.show.sheet import Column, Fact, Form, Table, facts_of
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import common_unit, counted, rounded, whole_percent

MOST_ROWS: Final = 8
DIGITS: Final = 3
STAGES: Final = ("merge", "communication", "fetch")


def said_of(result: PipelinePlan, *, show_all: bool = False) -> Said:
    """Everything that is said of a plan, with some rank counts or all."""
    shown = [*range(len(result.plans))] if show_all else rows_shown(result)
    plans = [result.plans[i] for i in shown]
    return Said(
        title=result.title,
        answer=_answer(result),
        tables=(_plans_table(result, shown, plans), _stages_table(plans)),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
        left_out=some_of(len(shown), len(result.plans), "rank counts"),
    )


def rows_shown(result: PipelinePlan) -> list[int]:
    """Places of the plans that are shown: all, or the recommended, the fastest and doublings."""
    if len(result.plans) <= MOST_ROWS:
        return [*range(len(result.plans))]
    place = {plan.ranks: i for i, plan in enumerate(result.plans)}
    most = result.plans[-1].ranks
    at = result.best.ranks if result.best else most
    near = [at // 2, at * 2, at // 4, at * 4]
    powers = [1 << i for i in reversed(range(most.bit_length()))]
    wanted = [i for i in (result.chosen, result.fastest) if i is not None]
    wanted += [place[count] for count in (most, 1, *near, *powers) if count in place]
    return sorted(list(dict.fromkeys(wanted))[:MOST_ROWS])


def _plans_table(result: PipelinePlan, shown: Sequence[int], plans: Sequence[RankPlan]) -> Table:
    columns = mark_column(shown, [x.fits for x in plans], result.chosen)
    columns.append(Column(title="ranks", cells=[str(x.ranks) for x in plans]))
    columns.append(Column(title="P", cells=[str(x.p) for x in plans]))
    columns.append(Column(title="G", cells=[str(x.pipelines) for x in plans]))
    if result.schedule == "adaptive":
        columns.append(Column(title="fan-in", cells=[str(x.fan_in) for x in plans]))
        columns.append(Column(title="batch", cells=[str(x.batch) for x in plans]))
    columns += time_columns(*(x[[*shown]] for x in result.ways.times))
    columns.append(Column(title="speedup", cells=[rounded(x.speedup, DIGITS) for x in plans]))
    share = [rounded(100 * x.efficiency, DIGITS) for x in plans]
    columns.append(Column(title="efficiency", unit="[%]", cells=share))
    legend = ["P: ranks of a pipeline", "G: pipelines"]
    if result.chosen is not None:
        legend.append(f"{MARK}: recommended")
    if not all(x.fits for x in plans):
        legend.append(f"{FAILS}: {legend_of_others(result)}")
    return Table(
        forms=(Form(columns=columns),),
        in_full=tuple(entry_of(columns, i, "rank") for i in range(len(plans))),
        legend="; ".join(legend),
    )


def legend_of_others(result: PipelinePlan) -> str:
    """Say why plans are not recommended."""
    if result.limits.within is None and result.limits.efficiency is None:
        return "not balanced"
    return "not balanced, or not within the limits"


def _stages_table(plans: Sequence[RankPlan]) -> Table:
    columns = [Column(title="ranks", cells=[str(x.ranks) for x in plans])]
    tasks = [x.stages["task"] for x in plans]
    unit = common_unit(tasks)
    cells = [rounded(x / TIME_UNITS[unit], DIGITS) for x in tasks]
    columns.append(Column(title="task", unit=f"[{unit}]", cells=cells))
    for stage in STAGES:
        shares = [_share(x.stages[stage] / x.stages["task"]) for x in plans]
        columns.append(Column(title=stage, unit="[%]", cells=shares))
    columns.append(
        Column(
            title="longest",
            cells=[x.longest[0] if x.ranks > 1 else "" for x in plans],
            align="left",
        )
    )
    columns.append(
        Column(title="channel", unit="[%]", cells=[_share(x.utilisation) for x in plans])
    )
    legend = ["a share above 100: not balanced", "channel: its utilization"]
    if any(x.memory for x in plans):
        sizes = [format_quantity(x.memory, "size") if x.memory else "" for x in plans]
        columns.append(Column(title="memory", unit="per rank", cells=sizes))
        legend.append("memory: results that a rank may hold")
    caption = "Stages in the time of a batch, as shares of its task"
    return Table(
        forms=(Form(columns=columns, caption=caption),),
        in_full=tuple(entry_of(columns, i, "rank") for i in range(len(plans))),
        legend="; ".join(legend),
    )


def _share(ratio: float) -> str:
    if ratio <= 0:
        return "0"
    return whole_percent(ratio) if ratio < 100 else f"{100 * ratio:.2g}"


def _facts(result: PipelinePlan) -> Iterator[Fact]:
    best = result.best
    if best is not None:
        yield Fact("ask for", _figures(result, best))
        run = ours("run", "pipeline", Choice("JOB"), *result.options.split())
        yield Fact("run", str(run))
    yield from facts_of("no plan", result.verdict, is_marked=True)
    yield from facts_of("why", result.reasons)
    yield from facts_of("to use more", result.to_use_more)
    yield from facts_of("based on", result.origins)


def _answer(result: PipelinePlan) -> str:
    best = result.best
    if best is None:
        return "no plan"
    ranks = counted(best.ranks, "rank")
    if result.nodes is None:
        return ranks
    return f"{ranks} on {counted(result.nodes, 'node')}"


def _figures(result: PipelinePlan, best: RankPlan) -> str:
    time = time_text(best.time, best.lower, best.upper)
    return (
        f"{_answer(result)}: {time}, speedup {rounded(best.speedup, DIGITS)}, efficiency "
        f"{percent(best.efficiency)}"
    )
