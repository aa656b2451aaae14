"""A fit for a person: its parameters, how well it fits, and what the runs leave open."""

from collections.abc import Iterator
from math import isfinite, isnan

from parcast.fitting.result import Fit, FittedParameter
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side
from parcast.units import format_interval, format_quantity, in_percent

SHORT = 5  # digits of a value without an interval


def fit_answer(fit: Fit, page: Page) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    fit : Fit
        What to show.
    page : Page
        Where it is shown.

    Returns
    -------
    list of str
    """
    share = f"{fit.interval * 100:g} %"
    texts = [_texts(x) for x in fit.parameters]
    columns = [
        Column(title="parameter", cells=[x.name for x in fit.parameters], is_text=True),
        Column(title="fitted", cells=[text[0] for text in texts]),
        Column(title=f"{share} interval", cells=[text[1] for text in texts], is_text=True),
        Column(title="described", cells=[text[2] for text in texts]),
        Column(title="determined by", cells=[_by(x) for x in fit.parameters], is_text=True),
    ]
    if not any(text[1] for text in texts):
        del columns[2]
    # On a narrow page what was described is left out first: the file says it.
    shorter = [column for column in columns if column.title != "described"]
    laid_out = side_by_side(columns, page) or side_by_side(shorter, page)
    table = list(_in_full(fit, page, share))
    if laid_out:
        head, _, *rows = laid_out
        table = [page.bold(head), *rows]
    return [*table, "", *_about(fit, page)]


def _texts(parameter: FittedParameter) -> tuple[str, str, str]:
    """Write the fitted value, its interval and the described value."""
    scale = 1.0 if parameter.scale is None else parameter.scale
    dimension = "count" if parameter.scale is None else parameter.dimension
    value, low, high = (x * scale for x in (parameter.factor, parameter.lower, parameter.upper))
    unit = " x formula" if parameter.scale is None else ""
    described = "1 x formula" if unit else format_quantity(scale, dimension, SHORT)
    if parameter.determined == "on its bound" and parameter.factor < 1e-6:
        value = 0.0
    fitted = format_quantity(value, dimension, SHORT if isnan(low) else 3)
    if isnan(low):
        return f"{fitted}{unit}", "", described
    if isfinite(high) and low > 0 and parameter.determined != "only from above":
        fitted, _, interval = format_interval(value, low, high, dimension).partition("  (")
        return f"{fitted}{unit}", interval.removesuffix(")"), described
    if isfinite(high):
        return f"{fitted}{unit}", f"up to {format_quantity(high, dimension)}", described
    least = f"from {format_quantity(low, dimension)}" if low > 0 else "any"
    return f"{fitted}{unit}", least, described


def _by(parameter: FittedParameter) -> str:
    """Say what determines a parameter."""
    return "nothing" if parameter.determined == "not" else parameter.determined


def _in_full(fit: Fit, page: Page, share: str) -> Iterator[str]:
    """Write each parameter as a few short lines, for a page too narrow for a table."""
    for i, x in enumerate(fit.parameters):
        fitted, interval, described = _texts(x)
        if i:
            yield ""
        yield page.bold(x.name)
        yield f"  fitted     {fitted}"
        if interval:
            yield f"  {share:9}  {interval}"
        yield f"  described  {described}"
        yield f"  by         {_by(x)}"


def _about(fit: Fit, page: Page) -> Iterator[str]:
    """Say how well it fits and what is open."""
    error, place = fit.worst
    runs = len(fit.measured)
    kind = "times" if fit.quantity == "time" else "speedups"
    yield from page.entry(
        "fit",
        f"{runs} {kind}, rms error {_percent(fit.rms)}, worst "
        f"{in_percent(error, sign=True)} % at {place}; E = {_percent(fit.error)}",
    )
    yield from page.entry(
        "noise",
        f"{_percent(fit.noise)} of a run, {fit.freedom:.0f} degrees of freedom; "
        f"{fit.reached} of {fit.starts} starts end here",
    )
    count = len(fit.parameters)
    if fit.rank < count:
        yield from page.entry(
            "rank", f"{fit.rank} of {count}: the runs cannot tell all parameters apart"
        )
    for text in fit.undetermined:
        yield from page.entry("open", text, is_marked=True)
    for text in fit.advice:
        yield from page.entry("measure", text)
    for text in fit.warnings:
        yield from page.entry("warning:", text, is_marked=True)


def _percent(share: float) -> str:
    """Write a share."""
    return f"{in_percent(share)} %"
