"""The answer to `match` for a person: the ranking as a table, and what to think of it.

A match for a notebook: the facts of the printed answer, as a table and a few lines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from parcast.matching.result import Candidate, Match
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
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


def match_answer(match: Match, page: Page) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    match : Match
        What to show.
    page : Page
        Where it is shown.

    Returns
    -------
    list of str
    """
    unit, lines = lines_of(match)
    written = [*map(page.bold, page.wrapped(title_of(match), indent=0)), ""]
    written += _table(match, lines, unit, page) or list(_in_full(match, lines, unit, page))
    legends = [LEGENDS["best"]] if match.best else []
    legends += [LEGENDS["holds"]] if match.has_constraints else []
    legends += [] if all(x.fits for x in match.candidates) else [LEGENDS["-"]]
    if legends:
        written += ["", *map(page.faint, page.wrapped("; ".join(legends), indent=0))]
    written.append("")
    for name, text in facts_of(match):
        written += page.entry(name, text)
    for machine, why in match.left_out.items():
        written += page.entry(
            "warning:", f"{_one_line(machine)} is left out. {why}", is_marked=True
        )
    for text in match.warnings:
        written += page.entry("warning:", _one_line(text), is_marked=True)
    return written


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
    return _one_line(f"{what}{word} by {goal[match.goal]}{', ' + asked if asked else ''}")


def facts_of(match: Match) -> Iterator[tuple[str, str]]:
    """Give the machine to take, or what fails, and where the times are from."""
    best = match.best
    if best is not None:
        yield "take", _one_line(_advice(match, best))
    for i, text in enumerate(match.verdict):
        yield "" if i else "none fits", _one_line(text)
    yield "law", _one_line(match.law)


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
        machine=_one_line(x.machine),
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


def _table(match: Match, lines: Sequence[Line], unit: str, page: Page) -> list[str]:
    """Write the table; [] if it is too wide for the page."""
    share = f"{match.interval * 100:g} % interval"
    columns = [
        Column(title="", cells=[x.rank for x in lines]),
        Column(title="machine", cells=[x.machine for x in lines], is_text=True),
        Column(title="p", cells=[x.p for x in lines]),
        Column(title="time", unit=f"[{unit}]", cells=[x.time for x in lines]),
        Column(
            title=share,
            unit=f"[{unit}]",
            cells=spans([x.lower for x in lines], [x.upper for x in lines]),
        ),
    ]
    if any(x.cost for x in lines):
        ends = spans([x.cost_lower for x in lines], [x.cost_upper for x in lines])
        ends = [text if x.cost else "" for text, x in zip(ends, lines, strict=True)]
        money = f"[{shown(match.currency, limit=12)}]" if match.currency else ""
        columns.append(Column(title="cost", unit=money, cells=[x.cost for x in lines]))
        columns.append(Column(title="interval", cells=ends))
    columns.append(Column(title="eff.", unit="[%]", cells=[x.efficiency for x in lines]))
    if match.best:
        columns.append(Column(title="best", unit="[%]", cells=[x.best for x in lines]))
    if match.has_constraints:
        columns.append(Column(title="holds", unit="[%]", cells=[x.holds for x in lines]))
    laid_out = side_by_side(columns, page)
    return [*map(page.bold, laid_out[:2]), *laid_out[2:]]


def _in_full(match: Match, lines: Sequence[Line], unit: str, page: Page) -> Iterator[str]:
    """Write each machine as a few short lines, for a page too narrow for a table."""
    for x in lines:
        remark = f" ({x.remark})" if x.remark else ""
        yield from map(
            page.bold, page.wrapped(f"{x.rank} {x.machine}, p = {x.p}{remark}", indent=0)
        )
        yield f"  time        {x.time} {unit}  ({x.lower} to {x.upper})"
        if x.cost:
            yield f"  cost        {x.cost} {match.currency}  ({x.cost_lower} to {x.cost_upper})"
        yield f"  efficiency  {x.efficiency} %"
        if x.best:
            yield f"  best        {x.best} %"
        if x.holds:
            yield f"  holds       {x.holds} %"


def _one_line(text: str) -> str:
    """Write text that holds names from a file, which may hold anything."""
    return shown(text, limit=10_000)


def html_of_match(match: Match) -> str:
    """HTML of a match, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    unit, lines = lines_of(match)
    share = f"{match.interval * 100:g} % interval"
    has_cost = any(x.cost for x in lines)
    money = f" [{match.currency}]" if match.currency else ""
    cost = [f"cost{money}", f"{share}{money}"] if has_cost else []
    heads = ["", "machine", "p", f"time [{unit}]", f"{share} [{unit}]", *cost]
    heads += ["efficiency [%]", "best [%]", "holds [%]", ""]
    body = ""
    for x in lines:
        cells = [x.rank, x.machine, x.p, x.time, f"{x.lower} to {x.upper}"]
        if has_cost:
            cells += [x.cost, f"{x.cost_lower} to {x.cost_upper}" if x.cost else ""]
        cells += [x.efficiency, x.best, x.holds, x.remark]
        body += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in cells) + "</tr>"
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    facts = "<br>".join(escape(f"{name} {text}".strip()) for name, text in facts_of(match))
    left = [f"{name} is left out. {why}" for name, why in match.left_out.items()]
    said = "".join(f"<li>{escape(text)}</li>" for text in [*left, *match.warnings])
    return (
        f"<p><b>{escape(title_of(match))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{facts}</p>" + (f"<ul>{said}</ul>" if said else "")
    )
