"""The sheet of a check: the verdict, the cells, and what could be seen."""

from typing import Final

import numpy as np

from parcast.advice import Choice, ours
from parcast.deciding.check.check import noun_of
from parcast.deciding.check.result import AGAIN, PLAN, RegressionCheck
from parcast.deciding.compare.cells import places_of
from parcast.deciding.compare.sheet import MEANS, first_rows, ratio_table
from parcast.show.sheet import Column, Fact, Sheet
from parcast.units import in_percent, percent
from parcast.words import counted

MOST_SHOWN: Final = 10.0  # slowdown, above which it is said no better [1]
LEGEND: Final = f"times: {MEANS}; visible: smallest slowdown that is found in 95% of checks"


def sheet_of(told: RegressionCheck, *, show_all: bool = False) -> Sheet:
    """Everything that is said; with `show_all` of all cells."""
    results = told.result
    flagged = ~np.isin(results, ["no change seen", ""])
    places, left_out = first_rows(told.ratios, flagged, show_all=show_all)
    seen = [_visible(x) for x in told.visible[places].tolist()]
    more = [Column(title="visible", unit="[%]", cells=seen)]
    if told.answer != PLAN:
        more.append(Column(title="", cells=[results[i] for i in places], align="left"))
    table = ratio_table(told.ratios, places, told.measure, more, legend=LEGEND)
    return Sheet(
        title=told.verdict,
        tables=(table,),
        facts=tuple(_facts(told)),
        warnings=told.warnings,
        left_out=left_out,
    )


def _visible(slowdown: float) -> str:
    """Write a slowdown in percent."""
    if not np.isfinite(slowdown):
        return ""
    return in_percent(slowdown) if slowdown < MOST_SHOWN else f">{100 * MOST_SHOWN:.0f}"


def _facts(told: RegressionCheck) -> list[Fact]:
    """How it was decided, and what to do next."""
    rule = told.rule
    cells = int((told.ratios.in_both if told.gate is not None else told.visible < np.inf).sum())
    level = f"an unchanged program is reported in {percent(rule.level)} of checks"
    facts = [Fact("level", f"{level}, {counted(cells, noun_of(told.ratios))} together")]
    if rule.confirm:
        facts.append(
            Fact("second run", f"of at least {rule.confirm} repetitions, before a report")
        )
    if rule.tolerated:
        facts.append(Fact("tolerated", f"a slowdown of {percent(rule.tolerated)}"))
    if told.answer == AGAIN and told.gate is not None:
        keys = [told.ratios.keys[i] for i in np.flatnonzero(told.gate.waits).tolist()]
        again = ours(
            "measure", "-p", places_of(keys), "--runs", str(rule.confirm), "-o", "again.csv"
        )
        check = ours("check", Choice("NEW"), "again.csv", "--against", Choice("BASE"))
        facts.append(Fact("next", f"{again} -- COMMAND; {check}", is_marked=True))
    return facts
