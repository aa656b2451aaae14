"""Plans of a request for a person: how many servers, which schema, and what limits the best."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from parcast.advice import Choice
from parcast.arrays.law.bottleneck import Imbalance, Limit, RequestSimulation
from parcast.arrays.planning.now import changes, now_facts
from parcast.arrays.planning.reasons import NOTICED, near_counts, range_text, schema_text
from parcast.arrays.planning.result import (
    OWN,
    ComparedSetting,
    LibraryPlan,
    RequestPlan,
    ServerPlan,
)
from parcast.arrays.planning.settings import NAMES
from parcast.deciding.sheet import Said, some_of, time_columns, time_text
from parcast.errors import Argument
from parcast.show.sheet import Column, Fact, Form, Table, facts_of
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import common_unit, counted, listed, rounded

DIGITS: Final = 4
MOST_ROWS: Final = 5
MOST_BESIDE: Final = 3  # beside what a job does now
MEGABYTE: Final = 1e6
MOST_NAMED: Final = 6  # servers of a row
WAITING: Final = "assembly: gathering or sending subchunks; files: opening and waiting for files"
USED: Final = "used: share of the rate of the file system"
LIMITED: Final = {
    "file system": "the file system",
    "communication": "communication",
    "computation": "computation (finding, requesting, packing and unpacking overlaps)",
}
EQUAL: Final = "no more to do: its costs, or the runs of its overlaps, differ"
EVIDENCE: Final[dict[Limit, str]] = {  # by the rule of parcast.arrays.law.bottleneck
    "file system": "its busiest disk is used 90% of the time or more",
    "communication": "no disk is used for 90% of the time; with infinitely fast disks, an "
    "infinitely fast network would save at least 20%",
    "computation": "no disk is used for 90% of the time; with infinitely fast disks, an "
    "infinitely fast network would save less than 20%",
}
LEGEND: Final = "used: mean share of the rates of all disks; clients: that a subchunk overlaps"


def said_of(result: RequestPlan, *, show_all: bool = False) -> Said:
    """The answer on one screen: the best numbers of servers, each with its best schema.

    With `show_all` all plans, what each server of the best one does, and every fact.
    """
    best = result.best
    most = MOST_ROWS if result.now is None else MOST_BESIDE
    shown = result.plans if show_all else best_of_each(result)[:most]
    tables = [_table(shown, is_whole=show_all)]
    if result.compared is not None:
        beside = _beside(best, result.compared, is_whole=show_all)
        shown = shown if show_all else [best]
        tables = [beside, *tables] if show_all else [beside]
    elif result.libraries:
        tables = [*(tables if show_all else []), _libraries(result.libraries)]
        shown = shown if show_all else [best]
    if show_all:
        tables.append(_servers_table(result.simulation))
    mesh = f" as {schema_text(best)}" if best.mesh else ""
    time = format_quantity(best.time, "time", DIGITS)
    answer = f"{counted(best.servers, 'server')}{mesh}, {time}{_beside_others(result)}"
    if result.is_slower_than_now:
        answer, tables = "no plan", tables if show_all else []
        shown = shown if show_all else []
    left_out = some_of(len(shown), len(result.plans), "plans")
    if result.compared is not None and left_out:
        left_out = f"the best of {len(result.plans)} plans and yours are shown"
    elif result.libraries and left_out:
        left_out = f"the best of {len(result.plans)} plans and of each library are shown"
    if not (left_out or show_all):
        left_out = "the main facts are shown"
    return Said(
        title=result.title,
        answer=answer,
        tables=tuple(tables),
        facts=tuple(_facts(result, show_all=show_all)),
        warnings=result.warnings,
        left_out=left_out,
    )


def _beside(best: ServerPlan, compared: ComparedSetting, *, is_whole: bool) -> Table:
    """The best plan, and the setting that it is compared with."""
    title = f"Compared with {compared.setting}"
    table = _table([best, compared.plan], title=title, is_whole=is_whole)
    column = Column(title="plan", cells=["best", "yours"], align="left")
    forms = (Form(columns=[column, *form.columns]) for form in table.forms)
    return Table(title=table.title, forms=tuple(forms))


def _beside_others(result: RequestPlan) -> str:
    """Say with which library the plan is made, and which other one is faster."""
    if result.compared is not None or not result.libraries:
        return ""
    first = result.libraries[0]
    own = next((x for x in result.libraries if x.library == OWN), None)
    if own is None or own is first:
        return " with parcast.arrays"
    return f" with {own.title}; {first.title} {'may be' if own.may_be_fastest else 'is'} faster"


def _libraries(plans: Sequence[LibraryPlan]) -> Table:
    """One row for each library, the fastest first."""
    time, lower, upper = (
        np.array([getattr(plan, name) for plan in plans]) for name in ("time", "lower", "upper")
    )
    columns = [
        Column(title="library", cells=[plan.title for plan in plans], align="left"),
        *time_columns(time, lower, upper),
        Column(title="limited by", cells=[plan.limited_by for plan in plans], align="left"),
    ]
    return Table(title="Libraries", forms=(Form(columns=columns),))


def _library_facts(plans: Sequence[LibraryPlan]) -> Iterator[Fact]:
    """Say which may be as fast, what to set in each, and what is not known of them."""
    if len(plans) > 1:
        first, *others = plans
        similar = [plan.title for plan in others if plan.may_be_fastest]
        text = f"{first.title}: its interval is below all others"
        if similar:
            names = listed(similar, len(similar))
            text = f"{first.title}; within the intervals {names} may be as fast"
        yield Fact("best", text)
    yield from facts_of("to set", (f"{plan.title}: {plan.setting}" for plan in plans))
    unknown = dict.fromkeys(key for plan in plans for key in plan.estimated)
    if unknown:
        names = listed([*unknown], len(unknown))
        yield Fact("estimated", f"{names} of [libraries]: the intervals are wider")


def best_of_each(result: RequestPlan) -> list[ServerPlan]:
    """Best plan of each number of servers, the best of all first."""
    first: dict[int, ServerPlan] = {}
    for plan in result.plans:
        first.setdefault(plan.servers, plan)
    return list(first.values())


def _table(plans: Sequence[ServerPlan], *, title: str = "", is_whole: bool) -> Table:
    """One row for each plan; `is_whole`, with the columns of detail."""
    times = np.array([plan.time for plan in plans])
    columns = [Column(title="servers", cells=[str(plan.servers) for plan in plans])]
    if any(plan.mesh for plan in plans):
        texts = [schema_text(plan) for plan in plans]
        columns.append(Column(title="schema", cells=texts, align="left"))
    columns += [
        *time_columns(times, times, times),
        Column(title="limited by", cells=[plan.limited_by for plan in plans], align="left"),
        Column(
            title="used" if is_whole else "disks used",
            unit="[%]" if is_whole else "mean [%]",
            cells=[f"{100 * x.utilisation:.1f}" for x in plans],
        ),
    ]
    if not is_whole:
        return Table(title=title, forms=(Form(columns=columns),))
    columns.append(Column(title="clients", cells=[range_text(x.overlapping) for x in plans]))
    short = (*columns,)
    columns.append(Column(title="messages", cells=[range_text(plan.messages) for plan in plans]))
    columns.append(Column(title="balance", cells=[f"{plan.balance:.2f}" for plan in plans]))
    if title:  # the legend is below the other table
        return Table(title=title, forms=(Form(columns=columns), Form(columns=short)))
    return Table(
        forms=(Form(columns=columns), Form(columns=short, legend=LEGEND)),
        legend=f"{LEGEND}; messages: of a server; balance: time of the slowest server over the "
        "fastest",
    )


def _servers_table(result: RequestSimulation) -> Table:
    """One row for servers of the best plan that do the same."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in result.rows():
        values = [value for key, value in row.items() if key not in ("server", "startup_s")]
        groups.setdefault(tuple(f"{x:.{DIGITS}g}" for x in values), []).append(row)
    rows = [group[0] for group in groups.values()]
    names = [listed((str(x["server"]) for x in group), MOST_NAMED) for group in groups.values()]
    unit = common_unit([row["intermediate_s"] or 1.0 for row in rows])

    def times(key: str) -> list[str]:
        return [rounded(row[key] / TIME_UNITS[unit], DIGITS) for row in rows]

    def rates(mode: str) -> list[str]:
        return [rounded(row[f"throughput_{mode}_B_per_s"] / MEGABYTE, DIGITS) for row in rows]

    what = "server" if len(names) == len(list(result.rows())) else "servers"
    columns = [
        Column(title=what, cells=names, align="left"),
        Column(title="messages", cells=[f"{row['messages']}" for row in rows]),
        Column(title="subchunks", cells=[f"{row['subchunks']}" for row in rows]),
        Column(title="assembly", unit=f"[{unit}]", cells=times("assembly_s")),
        Column(title="files", unit=f"[{unit}]", cells=times("file_system_s")),
        Column(title="normal", unit="[MB/s]", cells=rates("normal")),
        Column(title="fast disks", unit="[MB/s]", cells=rates("infinite_disks")),
        Column(title="fast network", unit="[MB/s]", cells=rates("infinite_network")),
        Column(
            title="used", unit="[%]", cells=[f"{100 * row['utilisation']:.1f}" for row in rows]
        ),
    ]
    narrow = [columns[0], columns[1], *columns[3:6], columns[8]]
    return Table(
        title="Servers of the best plan",
        forms=(Form(columns=columns), Form(columns=narrow, legend=f"{WAITING}; {USED}")),
        legend=f"{WAITING}; normal, fast disks, fast network: throughput as it is, with "
        f"infinitely fast disks, and with an infinitely fast network too; {USED}",
    )


def _balance_facts(imbalances: Sequence[Imbalance]) -> Iterator[Fact]:
    """Servers out of balance, those with the same reasons together."""
    groups: dict[tuple[tuple[str, ...], str], list[Imbalance]] = {}
    for each in imbalances:
        key = (each.reasons, f"{each.ratios['time']:.2f}")
        groups.setdefault(key, []).append(each)
    if not groups:
        yield Fact("balance", "all servers within 25% of the least")
    for number, ((reasons, _), group) in enumerate(groups.items()):
        first = group[0]
        servers = listed((str(each.server) for each in group), MOST_NAMED)
        word = "server" if len(group) == 1 else "servers"
        why = ", ".join(f"{first.ratios[name]:.2f} times the {name}" for name in reasons)
        time = f"{first.ratios['time']:.2f} times the time of the fastest"
        text = f"{word} {servers}: {time}, with {why or EQUAL}"
        yield Fact("imbalance" if not number else "", text, is_marked=True)


def _facts(result: RequestPlan, *, show_all: bool) -> Iterator[Fact]:
    """Why this plan is the best, what limits it, and what to set in other libraries."""
    details: list[Fact] = []
    if result.now is not None:
        now, *details = now_facts(result.now, result.options.operation)
        yield now
        yield Fact("planned", _planned(result))
        if result.is_slower_than_now:
            if show_all:
                yield from details
            return
        operation = result.options.operation
        yield Fact("change", changes(result.now, operation, result.best.servers, result.buffer))
    if show_all:
        yield from details
    if result.compared is not None:
        text = _compared(result.best, result.compared)
        for each in result.libraries:
            if each.library != OWN:
                time = time_text(each.time, each.lower, each.upper)
                text += f"; by the law of {each.title} {time}"
        yield Fact("compared", text)
    elif result.libraries:
        yield from _library_facts(result.libraries)
    near = () if show_all else near_counts(result.plans, result.best)  # these are in the table
    yield from facts_of("why", (text for text in result.reasons if text not in near))
    limit = result.simulation.limited_by
    is_said = show_all or limit == "file system"  # beside the mean of all disks
    yield Fact("limited by", LIMITED[limit] + (f": {EVIDENCE[limit]}" if is_said else ""))
    if show_all:
        shares = (f"{name} {percent(share)}" for name, share in result.best.parts.items())
        yield Fact("time shares", ", ".join(shares))
    yield from (x for x in _balance_facts(result.simulation.imbalances) if show_all or x.is_marked)
    if result.machine and (show_all or not result.notes):  # a note names an illustrative machine
        yield Fact("costs", result.machine)
    yield from _settings(result, show_all=show_all)


def _settings(result: RequestPlan, *, show_all: bool) -> Iterator[Fact]:
    """Name the settings of other libraries, or only where they are."""
    lines = Argument("settings", Choice("NAME"), python="settings[NAME].lines")
    if not show_all:
        yield Fact("settings", f"of {listed([*NAMES.values()], len(NAMES))}: {lines}")
        return
    names: dict[str, list[str]] = {}
    for name, each in result.settings.items():
        values = ", ".join(f"{key} {value}" for key, value in each.values.items())
        names.setdefault(values, []).append(NAMES[name])
    texts = (f"{', '.join(tools)}: {values}" for values, tools in names.items())
    yield from facts_of("settings", texts)
    yield Fact("", f"lines to paste: {lines}")


def _planned(result: RequestPlan) -> str:
    """Say in one sentence what the best plan does, as `now` is said."""
    best = result.best
    verb = result.options.operation if best.servers > 1 else f"{result.options.operation}s"
    size, rate = format_quantity(result.buffer, "size"), format_quantity(best.throughput, "rate")
    whose = f", costs: {result.machine}" if result.machine else ""
    return (
        f"{counted(best.servers, 'server')} {verb} pieces of up to {size} at {rate}, "
        f"{format_quantity(best.time, 'time', DIGITS)} in all (predicted{whose})"
    )


def _compared(best: ServerPlan, compared: ComparedSetting) -> str:
    """Say how much longer the given setting takes."""
    plan = compared.plan
    mesh = f" as {schema_text(plan)}" if plan.mesh else ""
    time = format_quantity(plan.time, "time", DIGITS)
    difference = plan.time / best.time - 1
    how = "as long as the best plan"
    if abs(difference) >= NOTICED:
        how = f"{percent(abs(difference))} {'longer' if difference > 0 else 'shorter'}"
        how += " than the best plan"
        if difference < 0:
            how += " (of other numbers of servers, or of another subchunk)"
    return (
        f"{compared.setting}: {counted(plan.servers, 'server')}{mesh}, {time}, {how}; limited by "
        f"{plan.limited_by}"
    )
