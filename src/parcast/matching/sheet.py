"""The answer to `match` for a person: the ranking as a table, and what to think of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from parcast.matching.result import Candidate, Match
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS, format_quantity, shown
from parcast.words import common_unit, rounded, rounded_interval, supported_digits

LEGENDS: Final = {
    "best": "best: probability of being the best of those that fit",
    "holds": "holds: probability that all limits are kept",
    "-": "-: does not fit; shown is the count that comes nearest",
}
SMALL: Final = 0.01  # a probability below is "<1", and one as near to 1 ">99"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One machine at its count, as texts."""

    rank: str
    machine: str
    p: str
    time: str
    lower: str
    upper: str
    cost: str  # "" where there is no price
    cost_lower: str
    cost_upper: str
    efficiency: str
    best: str  # [%], "" where it does not fit
    holds: str  # [%], "" where there are no limits
    remark: str


def sheet_of(match: Match) -> Sheet:
    """Everything that is said of a match."""
    left_out = (f"{machine} is left out. {why}" for machine, why in match.left_out.items())
    return Sheet(
        title=title_of(match),
        tables=(_table(match),),
        facts=tuple(_facts(match)),
        warnings=(*left_out, *match.warnings),
    )


def title_of(match: Match) -> str:
    """Say what is ranked, for which goal and under which limits."""
    limits = []
    if match.within is not None:
        limits.append(f"within {format_quantity(match.within, 'time')}")
    if match.budget is not None:
        limits.append(f"for {match.budget:g} {match.currency}".rstrip() + " at most")
    sure = f", kept with {format_quantity(match.certainty, 'fraction')}" if match.certainty else ""
    goal = {"time": "least time", "cost": "least cost", "efficiency": "highest efficiency"}
    what = f"{match.program}: " if match.program else ""
    word = "machines" if what else "Machines"
    asked = f"{' and '.join(['', *limits])[5:]}{sure}" if limits else ""
    text = f"{what}{word} by {goal[match.goal]}{', ' + asked if asked else ''}"
    return shown(text, limit=10_000)


def _facts(match: Match) -> Iterator[Fact]:
    """Give the machine to take, or what fails, and where the times are from."""
    best = match.best
    if best is not None:
        yield Fact("take", _advice(match, best))
    for i, text in enumerate(match.verdict):
        yield Fact("" if i else "none fits", text)
    yield Fact("law", match.law)


def lines_of(match: Match) -> tuple[str, list[Line]]:
    """Rows of the ranking as texts, and the unit that their times share."""
    unit = common_unit([float(x.time[x.chosen]) for x in match.candidates])
    return unit, [_line(match, rank, unit) for rank in range(len(match.candidates))]


def _line(match: Match, rank: int, unit: str) -> Line:
    """Turn one machine into texts."""
    x = match.candidates[rank]
    i, second = x.chosen, TIME_UNITS[unit]
    time = rounded_interval(*(float(y[i]) / second for y in (x.time, x.lower, x.upper)), most=4)
    costs = ("", "", "")
    if x.cost is not None and x.cost_lower is not None and x.cost_upper is not None:
        costs = rounded_interval(
            *(float(y[i]) for y in (x.cost, x.cost_lower, x.cost_upper)), most=4
        )
    digits = min(supported_digits(float(x.lower[i]), float(x.upper[i])), 3)
    return Line(
        rank=str(rank + 1) if x.fits else "-",
        machine=x.machine,
        p=str(x.best_p),
        time=time[0],
        lower=time[1],
        upper=time[2],
        cost=costs[0],
        cost_lower=costs[1],
        cost_upper=costs[2],
        efficiency=rounded(100 * float(x.efficiency[i]), digits),
        best="" if x.best is None else probability(x.best),
        holds=probability(float(x.holds[i])) if match.has_constraints else "",
        remark="" if x.fits else "does not fit",
    )


def probability(value: float) -> str:
    """Text of a probability in percent: never 0 or 100 unless it is just that.

    >>> probability(0.613), probability(0.002), probability(0.999), probability(1.0)
    ('61', '<1', '>99', '100')
    """
    if 0 < value < SMALL:
        return "<1"
    if 1 - SMALL < value < 1:
        return ">99"
    return f"{100 * value:.0f}"


def _advice(match: Match, best: Candidate) -> str:
    """Say which machine to take, and how sure that is."""
    i = best.chosen
    facts = [format_quantity(float(best.time[i]), "time")]
    if best.cost is not None:
        facts.append(f"{rounded(float(best.cost[i]), 3)} {match.currency}".rstrip())
    if len([x for x in match.candidates if x.fits]) > 1 and best.best is not None:
        facts.append(f"the best with a probability of {probability(best.best)}%")
    return f"{best.machine} with p = {best.best_p}: {', '.join(facts)}"


def _table(match: Match) -> Table:
    """Give the ranking."""
    unit, lines = lines_of(match)
    share = f"{match.interval * 100:g} % interval"
    columns = [
        Column(title="", cells=[x.rank for x in lines]),
        Column(title="machine", cells=[x.machine for x in lines], align="left"),
        Column(title="p", cells=[x.p for x in lines]),
        Column(title="time", unit=f"[{unit}]", cells=[x.time for x in lines]),
        interval_column(share, f"[{unit}]", [(x.lower, x.upper) for x in lines]),
    ]
    if any(x.cost for x in lines):
        ends = [(x.cost_lower, x.cost_upper) for x in lines]
        money = f"[{shown(match.currency, limit=12)}]" if match.currency else ""
        columns += [
            Column(title="cost", unit=money, cells=[x.cost for x in lines]),
            interval_column("interval", "", ends, heading=f"{share} {money}".rstrip()),
        ]
    columns.append(
        Column(
            title="eff.",
            unit="[%]",
            cells=[x.efficiency for x in lines],
            heading="efficiency [%]",
        )
    )
    if match.best:
        columns.append(Column(title="best", unit="[%]", cells=[x.best for x in lines]))
    if match.has_constraints:
        columns.append(Column(title="holds", unit="[%]", cells=[x.holds for x in lines]))
    meanings = [LEGENDS["best"]] if match.best else []
    meanings += [LEGENDS["holds"]] if match.has_constraints else []
    meanings += [] if all(x.fits for x in match.candidates) else [LEGENDS["-"]]
    return Table(
        forms=(Form(columns=columns),),
        in_full=tuple(_in_full(x, unit, match.currency) for x in lines),
        is_spaced=False,
        legend="; ".join(meanings),
    )


def _in_full(x: Line, unit: str, currency: str) -> Entry:
    """Give one machine, for a page too narrow for a table."""
    remark = f" ({x.remark})" if x.remark else ""
    cost = f"{x.cost} {currency}  ({x.cost_lower} to {x.cost_upper})" if x.cost else ""
    return Entry(
        title=f"{x.rank} {x.machine}, p = {x.p}{remark}",
        facts=(
            Fact("time", f"{x.time} {unit}  ({x.lower} to {x.upper})"),
            Fact("cost", cost),
            Fact("efficiency", f"{x.efficiency} %"),
            Fact("best", f"{x.best} %" if x.best else ""),
            Fact("holds", f"{x.holds} %" if x.holds else ""),
        ),
    )
