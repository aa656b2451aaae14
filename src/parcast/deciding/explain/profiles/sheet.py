"""The sheet of explained profiles: efficiencies by count, and what is lost where."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from parcast.deciding.explain.profiles.efficiencies import EFFICIENCIES
from parcast.deciding.explain.profiles.result import (
    LOWERED,
    ProblemExplained,
    ProfilesExplained,
)
from parcast.show.sheet import Column, Fact, Form, Sheet, Table, interval_column
from parcast.words import whole

ROWS: Final = {
    "global_efficiency": "global efficiency",
    "parallel_efficiency": "  parallel efficiency",
    "load_balance": "    load balance",
    "communication_efficiency": "    communication efficiency",
    "thread_efficiency": "    thread efficiency",
    "computation_scalability": "  computation scalability",
}
MOST_LOSSES: Final = 8


def sheet_of(result: ProfilesExplained, *, show_all: bool = False) -> Sheet:
    """The efficiency and what lowers it most first."""
    parts = [_problem(x, show_all=show_all) for x in result.problems]
    facts = (Fact("definitions", "; ".join(result.sources)),)
    if len(parts) == 1:
        [only] = parts
        return Sheet(
            title=only.title,
            tables=only.tables,
            facts=(*only.facts, *facts),
            warnings=(*result.notes, *only.warnings),
        )
    title = f"POP efficiencies of {len(parts)} problems"
    return Sheet(
        title=title, parts=tuple(parts), facts=facts, warnings=result.notes, parts_are="problems"
    )


def _problem(x: ProblemExplained, *, show_all: bool) -> Sheet:
    """Everything on the runs of one problem."""
    return Sheet(
        title=title_of(x),
        name=x.label,
        tables=(_efficiencies(x), *_losses(x, show_all=show_all)),
        facts=(
            Fact(
                "scaling",
                f"{x.scaling}: computation scalability is of the "
                f"{'sum over' if x.scaling == 'strong' else 'mean of'} the ranks",
            ),
        ),
        warnings=x.unmeasured,
    )


def title_of(x: ProblemExplained) -> str:
    """Say the efficiency at the largest measured count, and which factor is least."""
    last = int((~x.is_forecast).sum()) - 1
    name = f"{x.label}: " if x.label else ""
    value = x.values["parallel_efficiency"][last]
    factors = {
        key: float(x.values[key][last])
        for key in ("load_balance", "communication_efficiency", "computation_scalability")
        if np.isfinite(x.values[key][last])
    }
    least = min(factors, key=factors.__getitem__, default="")
    known = f"{100 * value:.0f}%" if np.isfinite(value) else "not measured"
    text = f"{name}p = {whole(float(x.p[last]))}: parallel efficiency {known}"
    if least and factors[least] < 0.995:
        text += f"; lowest is {ROWS[least].strip()}, {100 * factors[least]:.0f}%"
    if x.losses and x.losses[0].share >= 0.005:
        first = x.losses[0]
        text += f"; {first.region} loses most, {100 * first.share:.0f}% ({first.why})"
    return text


def _efficiencies(x: ProblemExplained) -> Table:
    """Table of the efficiencies, a column for each count."""
    shown = [
        name
        for name in EFFICIENCIES
        if name != "thread_efficiency" or np.any(np.abs(x.values[name] - 1) > 1e-6)
    ]
    columns = [Column(title="efficiency [%]", cells=[ROWS[y] for y in shown], align="left")]
    narrow = list(columns)
    for i, p in enumerate(x.p.tolist()):
        cells = [_percent(float(x.values[y][i])) for y in shown]
        unit = "forecast" if x.is_forecast[i] else ""
        value = Column(title=f"p = {whole(p)}", unit=unit, cells=cells)
        columns.append(value)
        narrow.append(value)
        ends = [
            tuple(
                _percent(float(z[y][i])) if np.isfinite(z[y][i]) else ""
                for z in (x.lower, x.upper)
            )
            for y in shown
        ]
        if any(low for low, _ in ends):
            intervals = [(low, high) for low, high in ends]
            columns.append(interval_column("90% interval", "", intervals))
            if x.is_forecast[i]:
                narrow.append(columns[-1])
    return Table(
        title="POP efficiencies",
        forms=(Form(columns=columns), Form(columns=narrow)),
        legend="indented: factors of the one above; -: not measured",
    )


def _percent(share: float) -> str:
    """Write an efficiency in percent, as POP reports have it."""
    return f"{100 * share:.1f}" if np.isfinite(share) else "-"


def sum_of_losses(x: ProblemExplained) -> str:
    """Say what the losses of parallel efficiency are together."""
    first = LOWERED[0]
    together = sum(y.share for y in x.losses if y.lowers == first)
    lacks = 1 - float(x.values["parallel_efficiency"][int((~x.is_forecast).sum()) - 1])
    return f"{first} lacks {_percent(lacks)}%, of which regions lose {_percent(together)}%"


def _losses(x: ProblemExplained, *, show_all: bool) -> Iterator[Table]:
    """Table of what is lost where."""
    shown = [*x.losses] if show_all else [y for y in x.losses if y.share >= 0.001][:MOST_LOSSES]
    if not shown:
        return
    shown.sort(key=lambda y: LOWERED.index(y.lowers))
    last = int((~x.is_forecast).sum()) - 1
    columns = [
        Column(title="region", cells=[y.region for y in shown], align="left"),
        Column(title="lost to", cells=[y.why for y in shown], align="left"),
        Column(title="lowers", cells=[y.lowers for y in shown], align="left"),
        Column(title="lost [%]", cells=[_percent(y.share) for y in shown]),
    ]
    if any(np.isfinite(y.lower) for y in shown):
        ends = [
            (_percent(y.lower), _percent(y.upper)) if np.isfinite(y.lower) else ("", "")
            for y in shown
        ]
        columns.append(interval_column("range of runs", "", ends))
    yield Table(
        title=f"Lost at p = {whole(float(x.p[last]))}",
        forms=(Form(columns=columns),),
        legend=f"lost: share of the processor time of the run; {sum_of_losses(x)}; what lowers "
        "load balance is waited out in messages; more computation: than at the smallest p",
    )
