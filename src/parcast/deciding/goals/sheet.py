"""A plan for a person: what to ask for, the front of time and cost, why, and what is needed."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from parcast.deciding.goals.goals import Goals, amount_text
from parcast.deciding.goals.needed import missed
from parcast.deciding.goals.result import PlannedConfiguration, ResourcePlan
from parcast.deciding.sheet import FAILS, MARK, Said, entry_of, mark_column, time_columns
from parcast.show.sheet import Column, Fact, Form, Table, facts_of, interval_column
from parcast.units import percent_in_full
from parcast.words import whole, whole_percent

MOST_ROWS: Final = 8
NEAR: Final = "~"


def said_of(result: ResourcePlan, *, show_all: bool = False) -> Said:
    """Everything that is said of a plan."""
    places = front_shown(result, show_all=show_all)
    total = int(result.weighed.is_front.sum())
    left = "" if len(places) >= total else f"{len(places)} of {total} rows are shown"
    return Said(
        title="Plan",
        answer=result.answer,
        tables=(_table(result, places),),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
        left_out=left,
    )


def front_shown(result: ResourcePlan, *, show_all: bool) -> list[int]:
    """Places of the rows that are shown: of the front and of what is recommended or nearest."""
    front = result.weighed.front()
    at = result.near if result.place is None else result.place
    if not show_all and len(front) > MOST_ROWS:
        times = np.log(result.weighed.table.time[front])
        at_times = np.linspace(times[0], times[-1], MOST_ROWS - 1)
        front = front[
            np.unique(np.searchsorted(-times, -at_times - 1e-12).clip(0, len(front) - 1))
        ]
    cost = result.weighed.table.cost
    return sorted({*front.tolist(), at}, key=lambda i: (float(cost[i]), i))


def _table(result: ResourcePlan, places: list[int]) -> Table:
    """Give the rows."""
    rows = [result.configuration(i) for i in places]
    table = result.weighed.table
    at = np.array(places)
    marks = mark_column(places, [x.fits for x in rows], result.chosen)
    if result.place is None:
        marks = [Column(title="", cells=[NEAR if i == result.near else FAILS for i in places])]
    columns = [*marks]
    if any(x.nodes is not None for x in rows):
        cells = ["" if x.nodes is None else f"{whole(x.nodes)}" for x in rows]
        columns.append(Column(title="nodes", cells=cells))
    if any(x.cores not in {None, x.nodes} for x in rows):
        columns.append(Column(title="cores", cells=[f"{whole(x.cores)}" for x in rows]))
    if rows[0].disks is not None:
        columns.append(Column(title="disks", cells=[f"{whole(x.disks)}" for x in rows]))
    if len(table.machines) > 1:
        columns.append(Column(title="machine", cells=[x.machine for x in rows], align="left"))
    columns += time_columns(table.time[at], table.lower[at], table.upper[at])
    sure = result.goals.limit_holds
    holds, is_shorter = whole_percent(sure), any(x.limit_sure < sure for x in rows)
    unit = f"{'up to ' if is_shorter else ''}{holds}%"
    columns.append(Column(title="--time", unit=unit, cells=[x.clock for x in rows]))
    columns += _costs(rows)
    efficiency = result.weighed.efficiency[at]
    cells = [whole_percent(x) for x in efficiency.tolist()]
    columns.append(Column(title="efficiency", unit="[%]", cells=cells))
    columns.append(Column(title="sure", unit="[%]", cells=[_sure(x, result.goals) for x in rows]))
    if rows[0].out_of_memory is not None:
        cells = [_chance(1 - (x.out_of_memory or 0.0)) for x in rows]
        columns.append(Column(title="memory", unit="fits [%]", cells=cells))
    legend = ["rows: no other takes less time and costs no more", "sure: of meeting all goals"]
    if np.any(efficiency != table.efficiency[at]):
        legend.insert(1, "efficiency: of the cores charged, over the fewest nodes")
    if result.place is not None:
        legend.append(f"{MARK}: recommended")
    else:
        legend.append(f"{NEAR}: comes nearest")
    if not all(x.fits for x in rows):
        legend.append(f"{FAILS}: less certain than required")
    in_full = tuple(entry_of(columns, i, x.asked_for) for i, x in enumerate(rows))
    return Table(forms=_forms(columns), in_full=in_full, legend="; ".join(legend))


def _forms(columns: list[Column]) -> tuple[Form, ...]:
    """Give the table in full, and with less for narrow pages."""
    short = [x for x in columns if "interval" not in x.title]
    least = [x for x in short if x.title not in {"efficiency", "cores"} or x is columns[0]]
    return tuple(Form(columns=x) for x in (columns, short, least))


def _costs(rows: list[PlannedConfiguration]) -> list[Column]:
    """Costs and their intervals."""
    unit = rows[0].unit
    cells = [amount_text(x.cost) for x in rows]
    columns = [Column(title="cost", unit=f"[{unit}]", cells=cells)]
    if any(x.cost_upper > x.cost_lower for x in rows):
        ends = [(amount_text(x.cost_lower), amount_text(x.cost_upper)) for x in rows]
        columns.append(interval_column("cost interval", "90%", ends))
    return columns


def _chance(share: float) -> str:
    """Write a probability in percent, of which few are certain."""
    return "<1" if share < 0.01 else ">99" if share > 0.99 else whole_percent(share)


def _sure(configuration: PlannedConfiguration, goals: Goals) -> str:
    """Write how sure it is of meeting the goals, never as sure as required where it is not."""
    text, required = _chance(configuration.sure), whole_percent(goals.certainty)
    return f"<{required}" if text == required and configuration.sure < goals.certainty else text


def _facts(result: ResourcePlan) -> Iterator[Fact]:
    """Give the goals, how the recommended one was chosen, and what would help."""
    sure = percent_in_full(result.goals.certainty)
    goals = [*result.goals.texts(), *([f"counts: {result.counts}"] if result.counts else [])]
    yield Fact("goals", f"{', '.join(goals)}; all together with {sure} certainty")
    near = result.nearest
    if near is None:
        yield Fact("why", _why(result))
    if near is not None:
        said = missed(result.weighed, result.near)
        yield Fact("nearest", f"{near.size}: {said}", is_marked=True)
    yield from facts_of("reachable", result.reachable)
    one = "either " if len(result.needed) > 1 else ""
    several = len(result.weighed.table.machines) > 1
    needed = [f"{x}{f' on {x.machine}' if several else ''}" for x in result.needed[:MOST_ROWS]]
    needed[:1] = [f"{one}{x}" for x in needed[:1]]
    yield from facts_of("needed", needed)
    yield from facts_of("needed", result.needed_of_runs)
    yield from facts_of("charged", filter(None, [result.in_charge]))
    if result.next_run is not None:
        run = result.next_run
        at = ", ".join(f"{name} = {whole(value)}" for name, value in run.at.items())
        yield Fact(
            "next run",
            f"{at} makes it surer: the 90% interval spans a factor of "
            f"{run.target_width_after:.3g} then, and not {run.target_width_before:.3g}",
        )
    yield Fact("based on", result.law, is_detail=True)


def _why(result: ResourcePlan) -> str:
    """Say how it was chosen."""
    of, rows = f"of {result.considered:,} configurations", int(result.weighed.is_front.sum())
    if rows < result.considered:
        of += f"; {rows:,} are rows, the others take longer and cost no less than one of them"
    if result.goals.within is not None:
        return f"the cheapest that meets the goals, {of}"
    return f"the fastest that meets the goals, or a cheaper one that is up to 5% slower, {of}"
