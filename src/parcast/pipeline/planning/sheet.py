"""A plan of a pipeline for a person: how many ranks, how to run it, why, and other plans."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.advice import Choice, ours
from parcast.pipeline.planning.result import PipelinePlan, Plan
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import common_unit, counted, rounded, rounded_interval, whole_percent

MOST_ROWS: Final = 8
MARK: Final = "*"
FAILS: Final = "-"
DIGITS: Final = 3
STAGES: Final = ("merge", "communication", "fetch")


def sheet_of(result: PipelinePlan, *, show_all: bool = False) -> Sheet:
    """Everything that is said of a plan, with some rank counts or all."""
    shown = [*range(len(result.plans))] if show_all else rows_shown(result)
    left_out = ""
    if len(shown) < len(result.plans):
        left_out = f"{len(shown)} of {len(result.plans)} rank counts are shown. All of them"
    plans = [result.plans[i] for i in shown]
    return Sheet(
        title=f"{title_of(result)}: {_answer(result)}",
        tables=(_plans_table(result, shown, plans), _stages_table(plans)),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
        left_out=left_out,
    )


def title_of(result: PipelinePlan) -> str:
    """Say what is planned, and under which limits."""
    limits = [f"up to {counted(result.limits.ranks, 'rank')}"]
    if result.limits.within is not None:
        limits.append(f"within {format_quantity(result.limits.within, 'time')}")
    if result.limits.efficiency is not None:
        limits.append(f"efficiency of at least {100 * result.limits.efficiency:.3g} %")
    kind = ", published schedule" if result.schedule == "source" else ""
    return f"Pipeline of {counted(result.costs.items, 'item')}{kind}, {', '.join(limits)}"


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


def _first(shown: Sequence[int], plans: Sequence[Plan], chosen: int | None) -> list[Column]:
    """Give the mark and the ranks."""
    marks = [
        MARK if i == chosen else "" if x.fits else FAILS for i, x in zip(shown, plans, strict=True)
    ]
    columns = [Column(title="", cells=marks)] if any(marks) else []
    return [*columns, Column(title="ranks", cells=[str(x.ranks) for x in plans])]


def _plans_table(result: PipelinePlan, shown: Sequence[int], plans: Sequence[Plan]) -> Table:
    """Give the plans and their times."""
    unit = common_unit([x.time for x in plans])
    factor = TIME_UNITS[unit]
    has_interval = any(x.upper > x.lower for x in plans)
    texts = [
        rounded_interval(*(y / factor for y in (x.time, x.lower, x.upper)), most=4) for x in plans
    ]
    times = [x[0] for x in texts] if has_interval else [rounded(x.time / factor, 4) for x in plans]
    columns = _first(shown, plans, result.chosen)
    columns.append(Column(title="P", cells=[str(x.p) for x in plans]))
    columns.append(Column(title="G", cells=[str(x.pipelines) for x in plans]))
    if result.schedule == "adaptive":
        columns.append(Column(title="fan-in", cells=[str(x.fan_in) for x in plans]))
        columns.append(Column(title="batch", cells=[str(x.batch) for x in plans]))
    columns.append(Column(title="time", unit=f"[{unit}]", cells=times))
    if has_interval:
        ends = [(low, high) for _, low, high in texts]
        columns.append(interval_column("90 % interval", f"[{unit}]", ends))
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
        in_full=tuple(_entry(columns, i) for i in range(len(plans))),
        legend="; ".join(legend),
    )


def _entry(columns: Sequence[Column], i: int) -> Entry:
    """Give a row in full, for a page too narrow for the table."""
    cells = [(column, column.cells[i]) for column in columns if column.title]
    [mark] = [column.cells[i] for column in columns if not column.title] or [""]
    [(_, ranks), *others] = cells
    title = f"{mark} {counted(int(ranks), 'rank')}".strip()
    facts = tuple(
        Fact(column.title, f"{cell} {column.unit.strip('[]')}".strip()) for column, cell in others
    )
    return Entry(title=title, facts=facts)


def legend_of_others(result: PipelinePlan) -> str:
    """Say why plans are not recommended."""
    if result.limits.within is None and result.limits.efficiency is None:
        return "not balanced"
    return "not balanced, or not within the limits"


def _stages_table(plans: Sequence[Plan]) -> Table:
    """Give the stages of the plans, as shares of the task."""
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
        in_full=tuple(_entry(columns, i) for i in range(len(plans))),
        legend="; ".join(legend),
    )


def _share(ratio: float) -> str:
    """Write a share in percent."""
    if ratio <= 0:
        return "0"
    return whole_percent(ratio) if ratio < 100 else f"{100 * ratio:.2g}"


def _facts(result: PipelinePlan) -> Iterator[Fact]:
    """Say how many ranks to ask for, how to run, and why; or why there is no plan."""
    best = result.best
    if best is not None:
        yield Fact("ask for", _figures(result, best))
        run = ours("run", "pipeline", Choice("JOB"), *result.options.split())
        yield Fact("run", str(run))
    for i, text in enumerate(result.verdict):
        yield Fact("" if i else "no plan", text, is_marked=not i)
    for i, text in enumerate(result.reasons):
        yield Fact("" if i else "why", text)
    for i, text in enumerate(result.to_use_more):
        yield Fact("" if i else "to use more", text)
    for i, text in enumerate(result.origins):
        yield Fact("" if i else "based on", text)


def _answer(result: PipelinePlan) -> str:
    """Say how many ranks to ask for, which is the answer."""
    best = result.best
    if best is None:
        return "no plan"
    ranks = counted(best.ranks, "rank")
    if result.nodes is None:
        return ranks
    return f"{ranks} on {counted(result.nodes, 'node')}"


def _figures(result: PipelinePlan, best: Plan) -> str:
    """Say what the ranks give."""
    time = format_quantity(best.time, "time")
    if best.upper > best.lower:
        unit = common_unit([best.time])
        ends = (x / TIME_UNITS[unit] for x in (best.time, best.lower, best.upper))
        time = "{} {unit} (90 % interval {} to {} {unit})".format(
            *rounded_interval(*ends, most=4), unit=unit
        )
    return (
        f"{_answer(result)}: {time}, speedup {rounded(best.speedup, DIGITS)}, efficiency "
        f"{percent(best.efficiency)}"
    )
