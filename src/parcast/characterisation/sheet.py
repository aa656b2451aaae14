"""A characterised program for a person: its regions, where they come from, what to beware of."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.characterisation.result import Characterisation, CharacterisedRegion, Perturbed
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import TIME_UNITS, format_quantity, percent, shown
from parcast.words import common_unit, rounded

UNKNOWN: Final = "-"
NOT_COUNTED: Final = "not counted"
LEGEND: Final = (
    "share: of the wall time of the largest run; time each: of one iteration, or of a call where "
    "they were not counted; residual: root mean square error of the formulas over the measured "
    "times; imbalance: slowest rank over the mean"
)
LEFT_OUT: Final = ((), ("imbalance",), ("imbalance", "kind"))  # columns of each form


def sheet_of(result: Characterisation) -> Sheet:
    """Everything that is said of a characterised program."""
    tables = [_table(result), *([_perturbed(result.perturbed)] if result.perturbed else ())]
    return Sheet(tables=tuple(tables), facts=tuple(_facts(result)), warnings=result.warnings)


def _perturbed(by_count: Sequence[Perturbed]) -> Table:
    """Give the times with timed regions and without."""
    unit = common_unit([x.without for x in by_count])
    second = TIME_UNITS[unit]
    columns = [
        Column(title="p", cells=[str(x.p) for x in by_count]),
        Column(
            title="with regions",
            unit=f"[{unit}]",
            cells=[rounded(x.with_regions / second, 4) for x in by_count],
        ),
        Column(
            title="without",
            unit=f"[{unit}]",
            cells=[rounded(x.without / second, 4) for x in by_count],
        ),
        Column(title="perturbation", cells=[f"{x.ratio:.3f}" for x in by_count]),
    ]
    return Table(
        title="Perturbation",
        forms=(Form(columns=columns),),
        is_spaced=False,
        legend="perturbation: time with timed regions over time without, medians of the runs",
    )


def _table(result: Characterisation) -> Table:
    columns = [
        Column(title="region", cells=[shown(x.name) for x in result.regions], align="left"),
        Column(title="kind", cells=[x.kind for x in result.regions], align="left"),
        Column(title="share", cells=[_share(x.share) for x in result.regions]),
        Column(title="calls", cells=[x.calls for x in result.regions]),
        Column(
            title="iterations",
            unit="or bytes",
            cells=[_amount(x) for x in result.regions],
            align="left",
        ),
        Column(title="time", unit="each", cells=[_unit_time(x) for x in result.regions]),
        Column(title="residual", cells=[_residual(x) for x in result.regions]),
        Column(title="imbalance", cells=[_imbalance(x) for x in result.regions]),
    ]
    return Table(
        forms=tuple(
            Form(columns=[x for x in columns if x.title not in left_out]) for left_out in LEFT_OUT
        ),
        in_full=tuple(map(_in_full, result.regions)),
        legend=LEGEND,
    )


def _share(share: float) -> str:
    """Write a share in few letters, never as nothing if it is something."""
    if not share:
        return "0%"
    return "<1%" if share < 0.01 else percent(share)


def _amount(region: CharacterisedRegion) -> str:
    """Write the iterations of a loop, or the bytes of a call."""
    if region.work is not None:
        return NOT_COUNTED
    if region.iterations is not None:
        return region.iterations
    return UNKNOWN if region.volume is None else region.volume


def _unit_time(region: CharacterisedRegion) -> str:
    """Write the time of an iteration, or the formula of that of all work."""
    if region.work is not None:
        return region.work
    if region.unit_time is None:
        return UNKNOWN
    return format_quantity(region.unit_time, "time")


def _residual(region: CharacterisedRegion) -> str:
    """Write what the model misses."""
    return UNKNOWN if region.residual is None else _share(region.residual)


def _imbalance(region: CharacterisedRegion) -> str:
    """Write how much the slowest rank computes over the mean; others wait for each other."""
    over = region.imbalance - 1 if region.unit_time is not None else 0.0
    return UNKNOWN if over < 0.005 else f"+{max(100 * over, 1):.0f}%"


def _in_full(region: CharacterisedRegion) -> Entry:
    """Give one region, for a page too narrow for a table."""
    return Entry(
        title=shown(region.name),
        facts=(
            Fact("kind", f"{region.kind}, {_share(region.share)}"),
            Fact("calls", region.calls),
            Fact("iterations" if region.iterations else "bytes", _amount(region)),
            Fact(
                "time per iteration" if region.work is None else "time",
                "" if region.unit_time is None else _unit_time(region),
            ),
            Fact("residual", "" if region.residual is None else _residual(region)),
        ),
    )


def _facts(result: Characterisation) -> Iterator[Fact]:
    yield Fact("program", f"{shown(result.program.name)}: {result.program.source}")
    yield Fact(
        "shares", f"of the wall time of the run at {result.largest}; loops: {result.clock} time"
    )
    for name, condition in result.conditions.items():
        yield Fact(
            "counts",
            f"condition number of {shown(name)} {condition:.3g} (at most 1e8 is accepted)",
        )
    yield Fact(
        "timing",
        f"takes {percent(result.perturbation)} of a run; {percent(result.uncovered)} of a run is "
        "outside all regions",
    )
