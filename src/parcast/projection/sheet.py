"""Projections as sheets: times on a machine, and what they are spent on.

On a narrow page parts of the time are left out: those of a counted program one after another, and
so are their explanations.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.projection.result import CountedProjection, Projection
from parcast.show.sheet import Column, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS, shown
from parcast.words import common_unit, rounded_interval, whole_percent

SHORT: Final = {  # parts of the time, as titles of columns
    "compute": "compute",
    "imbalance": "waiting",
    "startups": "latency",
    "pairs": "transfer",
    "shared": "shared",
    "collectives": "coll.",
}
LEGEND: Final = {  # what titles mean
    "waiting": "for the busiest rank",
    "latency": "startups of messages",
    "transfer": "bytes of messages",
    "shared": "extra time as all share the network",
    "coll.": "collectives",
}


def sheet_of(projection: CountedProjection) -> Sheet:
    """Everything that is said of a counted program."""
    return Sheet(
        title=f"{projection.program} on {projection.machine}, from counts",
        tables=(Table(forms=tuple(_forms(projection))),),
        facts=tuple(_facts(projection)),
        warnings=projection.warnings,
    )


def _facts(projection: CountedProjection) -> Iterator[Fact]:
    """Give what the times are based on, and the least of them."""
    yield Fact(
        "pace",
        f"computing takes {projection.pace:.3g} x the time of the counted run, based on "
        f"{projection.pace_from}",
    )
    if projection.donors:
        names = ", ".join(shown(x) for x in projection.donors)
        low, high = float(projection.factor.min()), float(projection.factor.max())
        yield Fact("donors", f"{names}; the times are multiplied by {low:.2f} to {high:.2f}")
    yield from _fastest(projection)


def _fastest(projection: CountedProjection | Projection) -> Iterator[Fact]:
    """Give the least of several times."""
    if len(projection.p) > 1:
        best = projection.p[int(np.argmin(projection.time))]
        yield Fact("fastest", f"p = {best:g} (among the requested p)")


def _forms(projection: CountedProjection) -> Iterator[Form]:
    """Give the table with fewer and fewer parts: what takes least of the time goes first."""
    columns = _times(projection)
    total = np.sum(list(projection.parts.values()), axis=0)
    shares = _shares({SHORT[name]: part / total for name, part in projection.parts.items()})
    order = np.argsort([-np.max(x / total) for x in projection.parts.values()], kind="stable")
    for count in range(len(shares), -1, -1):
        kept = [shares[i] for i in sorted(order[:count])]
        yield Form(columns=[*columns, *kept], legend=_legend([x.title for x in kept]))


def _times(projection: CountedProjection | Projection) -> list[Column]:
    """Give the counts, the times and their intervals."""
    unit = common_unit(projection.time.tolist())
    times = [
        rounded_interval(*(float(x) / TIME_UNITS[unit] for x in row))
        for row in zip(projection.time, projection.lower, projection.upper, strict=True)
    ]
    return [
        Column(title="p", cells=[f"{p:g}" for p in projection.p]),
        Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in times]),
        interval_column("90% interval", f"[{unit}]", [(x[1], x[2]) for x in times]),
    ]


def _shares(parts: Mapping[str, Array]) -> list[Column]:
    """Give shares of the time, by their titles."""
    return [
        Column(title=title, unit="[%]", cells=[whole_percent(float(x)) for x in part])
        for title, part in parts.items()
    ]


def sheet_of_ratio(projection: Projection) -> Sheet:
    """Everything that is said of times that a ratio scales."""
    axes = "".join(f", {axis} = {x:g}" for axis, x in projection.axes.items())
    parts = {
        title: part / projection.time
        for title, part in (
            ("compute", projection.scaled),
            ("comm.", projection.communication),
            ("I/O", projection.io),
        )
        if part is not None
    }
    columns = _times(projection)
    forms = [Form(columns=columns)]
    if len(parts) > 1:
        legend = f"{', '.join(parts)}: shares of the time"
        forms.insert(0, Form(columns=[*columns, *_shares(parts)], legend=legend))
    what = "computing" if len(parts) > 1 else "the program"
    ratio = Fact(
        "ratio",
        f"{what} takes {projection.ratio:.3g} x the time on {projection.base}, based on "
        f"{projection.ratio_from}",
    )
    return Sheet(
        title=f"{projection.program} on {projection.target}, from {projection.base}{axes}",
        tables=(Table(forms=tuple(forms)),),
        facts=(ratio, *_fastest(projection)),
        warnings=projection.warnings,
    )


def _legend(parts: list[str]) -> str:
    """Say what the columns of parts mean, and that some are left out."""
    if not parts:
        return ""
    meanings = [f"{name}: {LEGEND[name]}" for name in parts if name in LEGEND]
    scale = "shares of the modelled time"
    if len(parts) < len(SHORT):
        left_out = [name for name in SHORT.values() if name not in parts]
        scale += f"; left out: {', '.join(left_out)}"
    return "; ".join([*meanings, scale])
