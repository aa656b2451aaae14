"""A check of traffic as a sheet: what messages are like, the conditions, and mean delays."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Final, Self

from parcast.pipeline.traces.traffic.conditions import LEVEL, NAMES, Condition
from parcast.pipeline.traces.traffic.result import (
    FORMULAS,
    MEASURED,
    QUEUE,
    TrafficCheck,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import Dimension, format_quantity, shown
from parcast.words import error_in_words, rounded, rounded_interval, signed_percent

TITLES: Final = {
    "gap": "gap",
    "length": "length",
    "service": "service time",
    "delay": "measured delay",
}
DELAYS: Final = {
    **{name: f"{name}: {lengths}" for name, lengths in FORMULAS.items()},
    QUEUE: "trace-driven queue",
    MEASURED: "measured",
}
EFFECTS: Final = {
    "distance of distributions": "distance",
    "change of the wait": "wait",
    "largest rank correlation": "correlation",
    "Cramer's V": "Cramer's V",
}
SHORT: Final = {  # conditions, where there is less room
    "lengths_exponential": "lengths exponential",
    "lengths_independent": "lengths independent",
    "lengths_independent_of_gaps": "lengths independent of gap",
    "gaps_exponential": "gaps exponential",
    "gaps_independent": "gaps independent",
    "rate_constant": "constant rate",
}
LEGEND: Final = (
    "p: of all tests together (Holm); effect: largest distance from the expected distribution, "
    "largest rank correlation at lags 1 to 20, Cramer's V, or relative change of the wait; "
    f"violated: p below {LEVEL:g} and an effect that matters"
)
CV2: Final = "cv^2: squared coefficient of variation, 1 of an exponential distribution"
FAR: Final = 10.0  # ratio of delays from which percent are hard to read
SAME: Final = 0.01  # difference of delays that does not matter
FORMULA: Final = {  # what the answer is in words
    "mm1": "M/M/1 is supported",
    "md1": "M/D/1 is supported",
    "mg1": "M/G/1 is supported",
    "none": "no delay formula is supported",
    "undecided": "nothing can be decided",
}


def sheet_of(check: TrafficCheck) -> Sheet:
    """Everything that is said of the messages of a run."""
    tables = []
    if check.quantities:
        tables.append(_quantities(check))
    if check.conditions:
        tables.append(_conditions(check.conditions))
    if any(isfinite(x.mean) for x in check.delays):
        tables.append(_delays(check))
    return Sheet(
        title=title_of(check),
        tables=tuple(tables),
        facts=tuple(_facts(check)),
        warnings=check.warnings,
    )


def title_of(check: TrafficCheck) -> str:
    """Say what was checked."""
    n = check.count
    rate = f", {rounded(check.rate, 3)} per second" if isfinite(check.rate) else ""
    return f"Traffic of {shown(check.program)}: {n:,} message{'s' * (n != 1)}{rate}"


def _quantities(check: TrafficCheck) -> Table:
    each = [
        (x, _Unit.of(x.mean, "size" if x.name == "length" else "time")) for x in check.quantities
    ]
    means = [unit.texts(x.mean, x.lower, x.upper) for x, unit in each]
    cv2 = [_with_interval(x.cv2, x.cv2_lower, x.cv2_upper) for x, _ in each]
    names = Column(title="", cells=[TITLES[x.name] for x, _ in each], align="left")
    units = Column(title="unit", cells=[unit.name for _, unit in each], align="left")
    mean = Column(title="mean", cells=[x[0] for x in means])
    squared = Column(title="cv^2", cells=[x[0] for x in cv2])
    others = [
        Column(title=title, cells=[unit.text(getattr(x, name)) for x, unit in each])
        for title, name in (("median", "median"), ("largest", "largest"))
    ]
    ends = interval_column("90% interval", "", [x[1:] for x in means])
    ends_of_cv2 = interval_column("90% interval", "", [x[1:] for x in cv2])
    if not check.conditions:  # nor are there intervals
        return Table(forms=(Form(columns=[names, mean, squared, *others, units]),), legend=CV2)
    return Table(
        forms=(
            Form(columns=[names, mean, ends, squared, ends_of_cv2, *others, units]),
            Form(columns=[names, mean, squared, ends_of_cv2, *others, units]),
            Form(columns=[names, mean, squared, ends_of_cv2, units]),
            Form(columns=[names, mean, squared, units]),
        ),
        legend=CV2,
    )


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit in which values are best read."""

    name: str
    factor: float  # of the unit, in SI

    @classmethod
    def of(cls, value: float, dimension: Dimension) -> Self:
        """Choose the unit by a value."""
        text, _, name = format_quantity(value, dimension, digits=15).rpartition(" ")
        return cls(name, value / float(text) if value else 1.0)

    def text(self, value: float) -> str:
        """Write a value to three digits."""
        return rounded(value / self.factor, 3)

    def texts(self, *of: float) -> tuple[str, str, str]:
        """Write a value and its interval, whose ends are empty where it has none."""
        return _with_interval(*(x / self.factor for x in of))


def _with_interval(value: float, lower: float, upper: float) -> tuple[str, str, str]:
    """Write a value and its interval, whose ends are empty where it has none."""
    if isnan(value):
        return "", "", ""
    if isnan(lower) or isnan(upper):
        return rounded(value, 3), "", ""
    if lower <= 0 or value <= 0:
        return tuple(f"{x:.2g}" for x in (value, lower, upper))  # type: ignore[return-value]  # of three
    return rounded_interval(value, lower, upper, most=4)


def _conditions(conditions: tuple[Condition, ...]) -> Table:
    results = [_result(x) for x in conditions]
    effects = [f"{x.effect.value:.2f}" for x in conditions]
    least = [f"{x.effect.matters_from:.2f}" for x in conditions]
    measures = [EFFECTS[x.effect.measure] for x in conditions]
    p = [_p(x.adjusted) for x in conditions]
    columns = [
        Column(title="condition", cells=[SHORT[x.name] for x in conditions], align="left"),
        Column(title="p", cells=p),
        Column(title="effect", cells=effects),
        Column(title="", cells=measures, align="left"),
        Column(title="matters", unit="from", cells=least),
        Column(title="result", cells=results, align="left"),
    ]
    in_full = tuple(
        Entry(
            title=NAMES[x.name],
            facts=(
                Fact("result", result),
                Fact("p", _p(x.adjusted)),
                Fact("effect", f"{effect} {measure}"),
                Fact("matters", f"from {from_}"),
            ),
        )
        for x, result, effect, measure, from_ in zip(
            conditions, results, effects, measures, least, strict=True
        )
    )
    return Table(forms=(Form(columns=columns),), in_full=in_full, legend=LEGEND)


def _result(condition: Condition) -> str:
    if condition.is_violated:
        return "violated"
    return "differs little" if condition.is_detected else "not violated"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _delays(check: TrafficCheck) -> Table:
    known = [x.mean for x in check.delays if isfinite(x.mean)]
    unit = _Unit.of(max(known, key=abs), "time")
    measured, queue = check.delay(MEASURED).mean, check.delay(QUEUE).mean
    texts = [unit.texts(x.mean, x.lower, x.upper) for x in check.delays]
    columns = [
        Column(title="delay by", cells=[DELAYS[x.name] for x in check.delays], align="left"),
        Column(title="mean", unit=f"[{unit.name}]", cells=[x[0] or "none" for x in texts]),
        interval_column("90% interval", f"[{unit.name}]", [x[1:] for x in texts]),
        *(
            Column(
                title="diff. from",
                unit=f"{name} [%]",
                cells=[_difference(x.mean, of, is_itself=x.name == own) for x in check.delays],
            )
            for name, own, of in (("queue", QUEUE, queue), ("measured", MEASURED, measured))
        ),
    ]
    if not check.conditions:  # nor are there intervals
        del columns[2]
    return Table(forms=tuple(Form(columns=columns[:count]) for count in (5, 3, 2)))


def _difference(mean: float, of: float, *, is_itself: bool) -> str:
    """Write how far a mean delay is from another [%]."""
    known = isfinite(mean) and isfinite(of) and of > 0
    if not known or is_itself:
        return ""
    if mean > FAR * of:
        return f"x{rounded(mean / of, 2)}"
    return "0.0" if abs(mean / of - 1) < 0.0005 else signed_percent(mean / of - 1)


def _facts(check: TrafficCheck) -> Iterator[Fact]:
    yield Fact(
        "formula",
        f"{FORMULA[check.formula]}: {check.reason}",
        is_marked=check.formula in ("none", "undecided"),
    )
    if not check.quantities:
        return
    yield from _practical(check)
    if isfinite(check.utilisation):
        yield Fact("utilisation", f"{rounded(check.utilisation, 3)} of the channel")
    yield from _channel(check)


def _practical(check: TrafficCheck) -> Iterator[Fact]:
    """Say whether the choice of the formula matters here."""
    if not check.conditions:
        return
    known = {x: check.delay(x).mean for x in FORMULAS if isfinite(check.delay(x).mean)}
    queue = check.delay(QUEUE).mean
    if not known or not isfinite(queue):
        return
    spread = max(known.values()) / min(known.values()) - 1
    worst = max((abs(x / queue - 1) for x in known.values()), default=0.0)
    if worst < SAME:
        yield Fact(
            "in practice",
            "all formulas are within 1% of the trace-driven queue: at this utilisation any of "
            "them will do",
        )
        return
    nearest = min(known, key=lambda name: abs(known[name] / queue - 1))
    off = error_in_words(known[nearest] / queue - 1, sign=True)
    yield Fact(
        "in practice",
        f"the formulas differ by up to {100 * spread:.2g}%; nearest to the trace-driven queue is "
        f"{nearest} ({off})",
    )


def _channel(check: TrafficCheck) -> Iterator[Fact]:
    channel = check.channel
    if not isfinite(channel.capacity):
        yield Fact("capacity", channel.source)
        return
    ends = ""
    if isfinite(channel.lower) and isfinite(channel.upper):
        low, high = (format_quantity(x, "rate") for x in (channel.lower, channel.upper))
        ends = f" (90% interval {low} to {high})" if low != high else ""
    text = f"{format_quantity(channel.capacity, 'rate')}{ends}, {channel.source}"
    if channel.latency:
        text += f"; latency {format_quantity(channel.latency, 'time')}"
    yield Fact("capacity", text)
