"""A fit as a sheet: its parameters, how well it fits, and what the runs do not determine."""

from collections.abc import Iterator
from math import isfinite, isnan

from parcast.fitting.result import Fit, FittedParameter
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import format_interval, format_quantity, in_percent

SHORT = 5  # digits of a value without an interval
DETERMINED = {  # what documents say of a parameter, in words; the others are words already
    "not": "nothing",
    "+- alone": "+- only",
    "only from above": "upper limit only",
    "only from below": "lower limit only",
    "on its bound": "at its bound",
}


def sheet_of(fit: Fit) -> Sheet:
    """Everything that is said of a fit."""
    return Sheet(tables=(_table(fit),), facts=tuple(_facts(fit)), warnings=fit.warnings)


def _table(fit: Fit) -> Table:
    """Give the parameters; what was described is left out first, as the file says it."""
    share = f"{fit.interval * 100:g}%"
    texts = [_texts(x) for x in fit.parameters]
    columns = [
        Column(title="parameter", cells=[x.name for x in fit.parameters], align="left"),
        Column(title="fitted", cells=[text[0] for text in texts]),
        Column(title=f"{share} interval", cells=[text[1] for text in texts], align="left"),
        Column(title="described", cells=[text[2] for text in texts]),
        Column(title="determined by", cells=[_by(x, fit) for x in fit.parameters], align="left"),
    ]
    if not any(text[1] for text in texts):
        del columns[2]
    shorter = [column for column in columns if column.title != "described"]
    return Table(
        forms=(Form(columns=columns), Form(columns=shorter)),
        in_full=tuple(
            Entry(
                title=x.name,
                facts=(
                    Fact("fitted", fitted),
                    Fact(share, interval),
                    Fact("described", described),
                    Fact("by", _by(x, fit)),
                ),
            )
            for x, (fitted, interval, described) in zip(fit.parameters, texts, strict=True)
        ),
    )


def _texts(parameter: FittedParameter) -> tuple[str, str, str]:
    """Write the fitted value, its interval and the described value."""
    scale = 1.0 if parameter.scale is None else parameter.scale
    dimension = "count" if parameter.scale is None else parameter.dimension
    value, low, high = (x * scale for x in (parameter.factor, parameter.lower, parameter.upper))
    unit = " x formula" if parameter.scale is None else ""
    described = "1 x formula" if unit else format_quantity(scale, dimension, SHORT)
    if not parameter.described:
        described = f"none (start {described})"
    fitted = format_quantity(value, dimension, SHORT if isnan(low) else 3)
    if isnan(low):
        return f"{fitted}{unit}", "", described
    if isfinite(high) and low > 0 and parameter.determined != "only from above":
        fitted, _, interval = format_interval(value, low, high, dimension).partition("  (")
        return f"{fitted}{unit}", interval.removesuffix(")"), described
    if isfinite(high):
        return f"{fitted}{unit}", f"up to {format_quantity(high, dimension)}", described
    least = f"from {format_quantity(low, dimension)}" if low > 0 else "unlimited"
    return f"{fitted}{unit}", least, described


def _by(parameter: FittedParameter, fit: Fit) -> str:
    """Say what determines a parameter; speedups determine times but for their scale."""
    is_scaled = parameter.dimension in ("time", "operations", "size")
    if fit.holds_scale and is_scaled and parameter.determined == "runs":
        return "speedups"
    if parameter.determined.startswith("runs") and fit.is_of_parts:
        return parameter.determined.replace("runs", " and ".join(parameter.columns))
    return DETERMINED.get(parameter.determined, parameter.determined)


def _facts(fit: Fit) -> Iterator[Fact]:
    """Say how well it fits and what is not determined."""
    error, place = fit.worst
    kind = "times" if fit.quantity == "time" else "speedups"
    yield Fact(
        "fit",
        f"{len(fit.measured)} {kind}, rms error {_percent(fit.rms)}, largest error "
        f"{in_percent(error, sign=True)}% at {place}; {fit.reached} of {fit.starts} starts "
        "reached this minimum",
    )
    yield Fact(
        "noise",
        f"the runs scatter by {_percent(fit.noise)} about the law "
        f"({fit.freedom:.0f} degrees of freedom)",
    )
    if fit.is_of_parts:
        each = (f"{name} {_percent(x)}" for name, x in fit.noise_of_columns.items())
        yield Fact("", f"of the columns that were fitted: {', '.join(each)}")
    for x in fit.by_p if fit.writes_by_p else ():
        yield Fact("by p", f"{x.name}: {x}")
    if fit.law_error is not None:
        yield Fact(
            "law error",
            f"+- {_percent(fit.law_error)} on {fit.program.law_error[-1].platform}, at processor "
            "counts that were left out in turn; predictions from the fitted file allow for it",
        )
    for text in fit.undetermined:
        yield Fact("unresolved", text, is_marked=True)
    for text in fit.advice:
        yield Fact("advice", text)


def _percent(share: float) -> str:
    """Write a share."""
    return f"{in_percent(share)}%"
