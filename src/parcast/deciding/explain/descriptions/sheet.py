"""The sheet of explained descriptions: upgrades, elasticities, resources, and where time tends."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Final

from parcast.deciding.explain.descriptions.result import (
    AmountEffect,
    DescriptionsExplained,
    Extreme,
    IntervalEstimate,
    Upgrade,
)
from parcast.deciding.sheet import some_of, time_text
from parcast.prediction.limiting import SPENT_ON, changes_in_words
from parcast.prediction.notes import law_error_of
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.units import TIME_UNITS, format_quantity, in_percent
from parcast.words import common_unit, listed, rounded, rounded_interval, whole

MOST_AMOUNTS: Final = 10
MOST_ALONE: Final = 6
MOST_PAIRS: Final = 4
MOST_COUNTS: Final = 3  # beside the largest
TELLING: Final = 0.005  # share of the time from which an upgrade is shown


def sheet_of(result: DescriptionsExplained, *, show_all: bool = False) -> Sheet:
    """Say what helps most first, then why."""
    upgrades = _upgrades_shown(result.upgrades, show_all=show_all)
    amounts = _amounts_shown(result.amounts, show_all=show_all)
    left_out = (
        some_of(len(upgrades), len(result.upgrades), "upgrades"),
        some_of(len(amounts), len(result.amounts), "amounts"),
    )
    said = " and ".join(filter(None, left_out))
    return Sheet(
        title=title_of(result),
        tables=(
            *_upgrades(result, upgrades),
            *_amounts(result, amounts),
            *_resources(result),
        ),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
        left_out=f"{said}. All of them" if said else "",
    )


def place_of(result: DescriptionsExplained) -> str:
    """Say where the upgrades are: "p = 64, d = 3"."""
    at = {"p": float(result.p[-1])}
    at |= {"d": result.d} if any(x.resource == "io" for x in result.resources) else {}
    at |= {} if result.n is None else {"n": result.n}
    return ", ".join(f"{name} = {whole(x)}" for name, x in at.items())


def title_of(result: DescriptionsExplained) -> str:
    """Say how long it takes, what limits it and what helps most."""
    time = time_text(*(float(x[-1]) for x in (result.time, result.lower, result.upper)))
    limit = SPENT_ON[result.limited_by]
    first = result.upgrades[0] if result.upgrades else None
    best = ""
    if first is not None and first.saved.value >= TELLING:
        best = f"; {first.what[0]} saves {share_text(first.saved)}"
    place = f"{result.program} on {result.machine}, {place_of(result)}"
    return f"{place}: {time}, limited by {limit}{best}"


def share_text(share: IntervalEstimate) -> str:
    """Write a share in percent, with its interval if it has one."""
    value = f"{in_percent(share.value)}%"
    if share.upper <= share.lower:
        return value
    return f"{value} ({in_percent(share.lower)} to {in_percent(share.upper)}%)"


def _upgrades_shown(every: Sequence[Upgrade], *, show_all: bool) -> Sequence[Upgrade]:
    """Those that save something; a pair only if it saves more than the best one alone."""
    if show_all:
        return every
    alone = [x for x in every if not x.pair and abs(x.saved.value) >= TELLING]
    pairs = [x for x in every if x.pair and x.saved.value > every[0].saved.value + TELLING]
    return [*alone[:MOST_ALONE], *pairs[:MOST_PAIRS]]


def _amounts_shown(every: Sequence[AmountEffect], *, show_all: bool) -> Sequence[AmountEffect]:
    """Those of which anything but zeros would be printed."""
    if show_all:
        return every
    printed = ([*x.elasticity[-MOST_COUNTS - 1 :], x.lower[-1], x.upper[-1]] for x in every)
    seen = [any(_signed(each).strip("+-0.") for each in values) for values in printed]
    return list(compress(every, seen))[:MOST_AMOUNTS]


def _signed(elasticity: float) -> str:
    """Write an elasticity, with its sign."""
    return f"{float(elasticity):+.3f}"


def _percents(estimates: Sequence[IntervalEstimate], title: str) -> list[Column]:
    """Columns of shares, and of their intervals if they have any."""
    columns = [Column(title=title, unit="[%]", cells=[in_percent(x.value) for x in estimates])]
    if any(x.upper > x.lower for x in estimates):
        ends = [(in_percent(x.lower), in_percent(x.upper)) for x in estimates]
        columns.append(interval_column("90% interval", "[%]", ends))
    return columns


def _times(estimates: Sequence[IntervalEstimate]) -> list[Column]:
    """Columns of times with their intervals."""
    unit = common_unit([x.value for x in estimates])
    factor = TIME_UNITS[unit]
    texts = [_rounded(x, factor) for x in estimates]
    columns = [Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in texts])]
    if any(x.upper > x.lower for x in estimates):
        columns.append(interval_column("90% interval", f"[{unit}]", [x[1:] for x in texts]))
    return columns


def _rounded(x: IntervalEstimate, factor: float = 1.0) -> tuple[str, str, str]:
    """Texts of an estimate in some unit."""
    if x.value <= 0:
        return rounded(x.value / factor, 3), "", ""
    return rounded_interval(x.value / factor, x.lower / factor, x.upper / factor, most=4)


def _upgrades(result: DescriptionsExplained, shown: Sequence[Upgrade]) -> Iterator[Table]:
    """Table of what saves most."""
    if not shown:
        return
    name = Column(title="upgrade", cells=[", ".join(x.what) for x in shown], align="left")
    saved, times = _percents([x.saved for x in shown], "saves"), _times([x.time for x in shown])
    costs = []
    if shown[0].cost is not None:
        texts = [_rounded(x.cost) for x in shown if x.cost is not None]
        unit = f"[{result.currency}]" if result.currency else ""
        costs = [Column(title="cost", unit=unit, cells=[x[0] for x in texts])]
        if shown[0].cost.upper > shown[0].cost.lower:
            costs.append(interval_column("90% interval", unit, [x[1:] for x in texts]))
    forms = [
        [name, *saved, *times, *costs],
        [name, *saved, *times[:1], *costs[:1]],
        [name, *saved],
    ]
    legend = "saves: share of the time"
    legend += "; cost: of a run at today's price" if costs else ""
    yield Table(
        title=f"Twice as good, at {place_of(result)}",
        forms=tuple(Form(columns=columns) for columns in forms),
        in_full=tuple(
            Entry(
                title=", ".join(x.what),
                facts=(Fact("saves", share_text(x.saved)),),
            )
            for x in shown
        ),
        legend=legend,
    )


def _amounts(result: DescriptionsExplained, shown: Sequence[AmountEffect]) -> Iterator[Table]:
    """Table of the elasticities at the largest count, and at some before it."""
    if not shown:
        return
    counts = result.counts
    name = Column(title="amount", cells=[x.name for x in shown], align="left")
    text = Column(title="value", cells=[x.text for x in shown], align="left")
    before = [
        Column(title=f"p = {p}", cells=[_signed(x.elasticity[i]) for x in shown])
        for i, p in list(enumerate(counts))[:-1][-MOST_COUNTS:]
    ]
    last = [Column(title=f"p = {counts[-1]}", cells=[_signed(x.elasticity[-1]) for x in shown])]
    if result.interval is not None:
        ends = [(_signed(x.lower[-1]), _signed(x.upper[-1])) for x in shown]
        last.append(interval_column("90% interval", "", ends))
    yield Table(
        title="Elasticities",
        forms=(
            Form(columns=[name, text, *before, *last]),
            Form(columns=[name, text, *last]),
            Form(columns=[name, *last]),
        ),
        in_full=tuple(
            Entry(title=x.name, facts=(Fact("elasticity", _signed(x.elasticity[-1])),))
            for x in shown
        ),
        legend="elasticity: by how many percent the time changes if the amount grows by 1%",
    )


def _resources(result: DescriptionsExplained) -> Iterator[Table]:
    """Table of the resources at the largest count."""
    shown = result.resources
    shares, follows = (
        [
            IntervalEstimate(**{key: float(getattr(x, name)[-1]) for key, name in names.items()})
            for x in shown
        ]
        for names in (
            {"value": "share", "lower": "share_lower", "upper": "share_upper"},
            {
                "value": "elasticity",
                "lower": "elasticity_lower",
                "upper": "elasticity_upper",
            },
        )
    )
    name = Column(title="resource", cells=[SPENT_ON[x.resource] for x in shown], align="left")
    froms = ["" if x.saturated_from is None else f"p = {x.saturated_from}" for x in shown]
    saturated = Column(title="saturated", unit="from", cells=froms)
    share, follow = _percents(shares, "share"), _percents(follows, "1% faster")
    follow = [
        Column(title="1% faster", unit="saves [%]", cells=[f"{x.value:.3f}" for x in follows]),
        *follow[1:],
    ]
    if len(follow) > 1:
        ends = [(f"{x.lower:.3f}", f"{x.upper:.3f}") for x in follows]
        follow[1] = interval_column("90% interval", "[%]", ends)
    every = [saturated] if any(froms) else []
    yield Table(
        title=f"Resources at p = {result.counts[-1]}",
        forms=(
            Form(columns=[name, *share, *follow, *every]),
            Form(columns=[name, *share[:1], *follow[:1], *every]),
        ),
        legend="share: of the time, waiting for it included"
        + ("; saturated: 1% faster saves 0.9% or more up to the largest p" if every else ""),
    )


def _facts(result: DescriptionsExplained) -> Iterator[Fact]:
    """What limits along p, where the time tends, and what it is based on."""
    yield Fact("limited by", changes_in_words([(x.p, x.resource) for x in result.limiting]))
    for x in result.extremes:
        text = extreme_in_words(x)
        yield Fact("limit" if x.kind != "bound" else "bound", text)
    free, bus = (float(x[-1]) for x in (result.contention_free, result.single_bus))
    if abs(free - bus) > 1e-3 * free:
        texts = [time_text(x, x, x) for x in (free, bus)]
        yield Fact(
            "contention",
            f"{texts[0]} with a link for each pair of processors, {texts[1]} with one shared bus",
        )
    yield from law_facts(result)
    if result.no_effect:
        yield Fact("no effect", listed(result.no_effect, 8))
    if result.whole:
        yield Fact("no elasticity", f"{listed(result.whole, 8)}: whole numbers", is_detail=True)
    yield Fact("law", "; ".join(result.sources or [result.law]))
    yield from facts_of("law error", law_error_of(result.law_errors))


def law_facts(result: DescriptionsExplained) -> Iterator[Fact]:
    """What the law says of speedups, serial fractions and pieces."""
    x = result.speedups
    if x is not None:
        p = whole(x.p)
        yield Fact(
            "speedup",
            f"{_ranged(x.speedup)} of {p} at fixed size; {_ranged(x.scaled_speedup)} where the "
            "shared work grows with p",
        )
        yield Fact(
            "serial",
            f"{_percents_of(x.serial_of_one)} of the time on one processor (Amdahl), which is "
            f"{_percents_of(x.serial_of_p)} of that on {p} (Gustafson)",
        )
        if x.rate is not None and x.used_rate is not None:
            value, low, high = (format_quantity(y, "operation_rate") for y in x.used_rate)
            interval = f" ({low} to {high})" if low != high else ""
            every = format_quantity(x.rate, "operation_rate")
            yield Fact("rate", f"{value}{interval} of {every} of all processors is used")
    for phase in result.phases:
        name = f"{phase.phase}: " if phase.phase else ""
        if phase.grain is not None:
            least, most = (f"{y:.4g}" for y in phase.grain)
            yield Fact("grain", f"{name}{least} to {most} inputs in a message")
        if phase.is_compact is not None:
            words = "is" if phase.is_compact else "is not"
            why = (
                "no parallel version needs fewer steps"
                if phase.is_compact
                else "a speedup above p is possible, and a better sequential program exists"
            )
            yield Fact("compactness", f"{name}{phase.law} {words} search-space compact: {why}")


def _ranged(ends: tuple[float, float, float]) -> str:
    """Write a number above 0 with its interval, if it has one."""
    value, low, high = ends
    if high <= low:
        return rounded(value, 3)
    if low <= 0:
        return f"{rounded(value, 3)} ({rounded(low, 3)} to {rounded(high, 3)})"
    texts = rounded_interval(value, low, high, most=3)
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def _percents_of(ends: tuple[float, float, float]) -> str:
    """Write a share that may be below 0 with its interval."""
    return share_text(IntervalEstimate(value=ends[0], lower=ends[1], upper=ends[2]))


def extreme_in_words(x: Extreme) -> str:
    """Say where the time tends, in words."""
    if x.kind == "bound" and x.time is not None:
        return f"{SPENT_ON[x.of]} infinitely fast: {_time(x.time)}"
    what = "processors" if x.of == "p" else "disks"
    if x.time is not None:
        return f"infinitely many {what}: {_time(x.time)}"
    if x.kind == "grows":
        return f"infinitely many {what}: the time grows"
    if x.kind == "falls":
        return f"infinitely many {what}: the time falls towards 0"
    return f"infinitely many {what}: not known, as {x.kind}"


def _time(x: IntervalEstimate) -> str:
    """Write a time with its interval."""
    return time_text(x.value, x.lower, x.upper)
