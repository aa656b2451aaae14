"""The result of `match` as a sheet: the ranking as a table, the recommended machine, warnings."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.deciding.machines.result import Candidate, Match
from parcast.deciding.sheet import facts_in, time_columns
from parcast.prediction.notes import law_error_of
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, shown
from parcast.words import joined, rounded, rounded_interval, supported_digits

LEGENDS: Final = {
    "best": "best: probability of being the best machine",
    "holds": "fits: probability of meeting all limits",
    "-": "-: does not meet the limits (shown at the processor count that comes nearest)",
}
SMALL: Final = 0.01  # a probability below is "<1", and one as near to 1 ">99"


def sheet_of(match: Match) -> Sheet:
    """Everything that is said of a match."""
    left_out = (
        RankedWarning(f"{machine} is not ranked. {why}", rank=Rank.SERIOUS)
        for machine, why in match.left_out.items()
    )
    return Sheet(
        title=title_of(match),
        tables=(_table(match),),
        facts=tuple(_facts(match)),
        warnings=(*left_out, *match.warnings),
    )


def title_of(match: Match) -> str:
    """Say what is ranked, for which goal and under which limits."""
    goal = {"time": "least time", "cost": "least cost", "efficiency": "highest efficiency"}
    what = f"{match.program}: machines" if match.program else "Machines"
    title = f"{what} by {goal[match.goal]}"
    if match.certainty is None:
        return title
    sure = format_quantity(match.certainty, "fraction")
    return f"{title}, {joined([*match.goals.texts()])} with a probability of {sure}"


def _facts(match: Match) -> Iterator[Fact]:
    """Give the recommended machine, or what fails, and what the times are based on."""
    best = match.best
    if best is not None:
        yield Fact("choose", _advice(match, best))
        if best.request is not None:
            yield Fact("request", f"{best.request}")
    yield from facts_of("none fits", match.verdict)
    if match.reading is not None:
        yield Fact("scaling", f"{match.reading}")
    yield Fact("law" if match.program else "based on", match.law)
    yield from facts_of("law error", law_error_of(match.law_errors))


def _cost(x: Candidate) -> tuple[str, str, str]:
    """Texts of the cost of a machine at its count, and of its interval; "" where it has none."""
    if x.cost is None or x.cost_lower is None or x.cost_upper is None:
        return "", "", ""
    own = (float(y[x.chosen]) for y in (x.cost, x.cost_lower, x.cost_upper))
    return rounded_interval(*own, most=4)


def _efficiency(x: Candidate) -> str:
    """Text of an efficiency [%], with as many digits as the time is known to."""
    i = x.chosen
    digits = min(supported_digits(float(x.lower[i]), float(x.upper[i])), 3)
    return rounded(100 * float(x.efficiency[i]), digits)


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
    """Say which machine is recommended, and how sure that is."""
    i = best.chosen
    facts = [match.measure.time_text(float(best.time[i]))]
    if best.cost is not None:
        facts.append(f"{rounded(float(best.cost[i]), 3)} {match.currency}".rstrip())
    if match.goals:
        facts.append(
            f"meets the limits with a probability of {probability(float(best.holds[i]))}%"
        )
    if len([x for x in match.candidates if x.fits]) > 1 and best.best is not None:
        facts.append(f"best with a probability of {probability(best.best)}%")
    return f"{best.machine} at p = {best.best_p}: {', '.join(facts)}"


def _table(match: Match) -> Table:
    """Give the ranking."""
    every = match.candidates
    at_best = ((x.time[x.chosen], x.lower[x.chosen], x.upper[x.chosen]) for x in every)
    times = np.array(list(at_best)).T
    costs = [_cost(x) for x in every]
    ranks = [str(rank) if x.fits else "-" for rank, x in enumerate(every, start=1)]
    columns = [
        Column(title="", cells=ranks),
        Column(title="machine", cells=[x.machine for x in every], align="left"),
        Column(title="p", cells=[str(x.best_p) for x in every]),
        *time_columns(*times, measure=match.measure),
    ]
    if any(x[0] for x in costs):
        money = f"[{shown(match.currency, limit=12)}]" if match.currency else ""
        heading = f"90% interval {money}".rstrip()
        columns += [
            Column(title="cost", unit=money, cells=[x[0] for x in costs]),
            interval_column("interval", "", [x[1:] for x in costs], heading=heading),
        ]
    at = len(columns)
    columns.append(Column(title="efficiency", unit="[%]", cells=[_efficiency(x) for x in every]))
    if match.best:
        best = ["" if x.best is None else probability(x.best) for x in every]
        columns.append(Column(title="best", unit="[%]", cells=best))
    if match.goals:
        holds = [probability(float(x.holds[x.chosen])) for x in every]
        columns.append(Column(title="fits", unit="[%]", cells=holds))
    shorter = [*columns]
    shorter[at] = replace(columns[at], title="eff.", heading="efficiency [%]")
    meanings = [LEGENDS["best"]] if match.best else []
    meanings += [LEGENDS["holds"]] if match.goals else []
    meanings += [] if all(x.fits for x in every) else [LEGENDS["-"]]
    if any(x[0] for x in costs) and not match.currency:
        meanings.append("cost: in the unit of the prices")
    failing = " (does not meet the limits)"
    in_full = [
        Entry(
            title=f"{rank} {x.machine}, p = {x.best_p}{'' if x.fits else failing}",
            facts=facts_in(columns[3:], i),
        )
        for i, (rank, x) in enumerate(zip(ranks, every, strict=True))
    ]
    return Table(
        forms=(Form(columns=columns), Form(columns=shorter)),
        in_full=tuple(in_full),
        is_spaced=False,
        legend="; ".join(meanings),
    )
