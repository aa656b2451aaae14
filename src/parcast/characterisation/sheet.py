"""A characterised program for a person: its regions, where they come from, what to beware of."""

from collections.abc import Iterator
from typing import Final

from parcast.characterisation.result import Characterisation, CharacterisedRegion
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side
from parcast.units import format_quantity, percent, shown

UNKNOWN: Final = "-"
LEFT_OUT: Final = ((), ("unequal",), ("unequal", "kind"))  # columns, the first that fits is taken


def characterise_answer(told: Characterisation, page: Page) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    told : Characterisation
        What to show.
    page : Page
        Where it is shown.

    Returns
    -------
    list of str
    """
    columns = [
        Column(title="region", cells=[shown(x.name) for x in told.regions], is_text=True),
        Column(title="kind", cells=[x.kind for x in told.regions], is_text=True),
        Column(title="share", cells=[_share(x.share) for x in told.regions]),
        Column(title="calls", cells=[x.calls for x in told.regions]),
        Column(title="I, or bytes", cells=[_amount(x) for x in told.regions], is_text=True),
        Column(title="E", cells=[_unit_time(x) for x in told.regions]),
        Column(title="residual", cells=[_residual(x) for x in told.regions]),
        Column(title="unequal", cells=[_imbalance(x) for x in told.regions]),
    ]
    table = list(_in_full(told, page))
    for left_out in LEFT_OUT:
        if laid_out := side_by_side([x for x in columns if x.title not in left_out], page):
            head, _, *rows = laid_out
            table = [page.bold(head), *rows]
            break
    return [*table, "", *_about(told, page)]


def _share(share: float) -> str:
    """Write a share in few letters, never as nothing if it is something.

    >>> _share(0.003), _share(0.25)
    ('<1%', '25%')
    """
    if not share:
        return "0%"
    return "<1%" if share < 0.01 else percent(share)


def _amount(region: CharacterisedRegion) -> str:
    """Write the iterations of a loop, or the bytes of a call."""
    if region.iterations is not None:
        return region.iterations
    return UNKNOWN if region.volume is None else region.volume


def _unit_time(region: CharacterisedRegion) -> str:
    """Write the time of an iteration."""
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


def _in_full(told: Characterisation, page: Page) -> Iterator[str]:
    """Write each region as a few short lines, for a page too narrow for a table."""
    for i, region in enumerate(told.regions):
        if i:
            yield ""
        yield page.bold(shown(region.name))
        yield f"  kind      {region.kind}, {_share(region.share)}"
        yield f"  calls     {region.calls}"
        yield f"  {'I' if region.iterations else 'bytes'!s:9} {_amount(region)}"
        if region.unit_time is not None:
            yield f"  E         {_unit_time(region)}"
        if region.residual is not None:
            yield f"  residual  {_residual(region)}"


def _about(told: Characterisation, page: Page) -> Iterator[str]:
    """Say what it rests on."""
    yield from page.entry("program", f"{shown(told.program.name)}: {told.program.source}")
    yield from page.entry("shares", f"of the run at {told.largest}; loops by {told.clock} time")
    for name, condition in told.conditions.items():
        yield from page.entry(
            "counts", f"of {shown(name)}: condition number {condition:.3g} (refused above 1e8)"
        )
    yield from page.entry(
        "timing",
        f"took {percent(told.perturbation)} of a run; {percent(told.uncovered)} is in no "
        "region, at most",
    )
    for text in told.warnings:
        yield from page.entry("warning:", text, is_marked=True)
