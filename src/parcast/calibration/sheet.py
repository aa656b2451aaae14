"""The answer to `calibrate` for a person: what was measured, how sure it is, and what to mend."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from parcast.calibration.primitives import PrimitiveFormula, primitive_formulas
from parcast.calibration.result import Calibration, Measured
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.units import TIME_UNITS, format_quantity, percent, quantity
from parcast.words import rounded_interval, whole_percent

GROUPS: Final = {  # titles of the tables of keys, in their order
    "compute": "processor",
    "node": "node",
    "timer": "timer",
    "network": "network",
    "storage": "storage",
}
SHORT: Final = {  # each way of measuring in a few words; the file has all of them
    "compute.rate": "polynomials",
    "compute.half_intensity": "polynomials",
    "compute.memory_bandwidth": "triad, 40 B/element",
    "node.memory_bandwidth": "the same on all cores",
    "node.network_bandwidth": "exchange of all ranks of two hosts",
    "node.message_bandwidth": "ping-pong within a host",
    "timer.cost": "one reading of the clock",
    "timer.resolution": "smallest step of the clock",
    "timer.mpi_call": "one MPI call from Python",
    "network.latency": "ping-pong",
    "network.bandwidth": "ping-pong",
    "network.half_size": "ping-pong",
    "network.one_directional": "one-way stream",
    "network.bidirectional": "both directions at once",
    "network.saturation": "all ranks at once",
    "network.all_links": "all ranks at once",
    "network.two_hosts": "exchange of all ranks of two hosts",
    "storage.bandwidth": "write and fsync",
    "storage.latency": "write and fsync",
    "storage.read_bandwidth": "uncached read",
    "storage.cache": "reported by the system",
    "storage.cache_bandwidth": "cached read",
}
NARROW: Final = 1e-4  # of a value: an interval that is not worth its digits
TINY: Final = 1e-9  # of a value: an end of its interval that is as good as 0
MOST: Final = 4  # significant digits
MARK: Final = "*"  # of a value that is not settled
MEGABYTE: Final = 1e6  # [B]
TRACE: Final = 1e-3  # of the larger coefficient: smaller ones are not shown


def sheet_of(calibration: Calibration, *, taken: Mapping[str, str] | None = None) -> Sheet:
    """Everything that is said of a calibration.

    `taken` are keys that files of other benchmarks give, and what they say.
    """
    primitives = primitive_formulas(calibration)
    tables = [_values(calibration)]
    tables += [_primitives(primitives)] if primitives else []
    if calibration.unsettled or not all(x.is_settled for x in primitives):
        legend = (
            f"{MARK}: not converged, its 90% interval is wider than "
            f"+-{percent(calibration.target)}"
        )
        tables[-1] = replace(tables[-1], legend=legend)
    return Sheet(
        title=title_of(calibration),
        tables=tuple(tables),
        facts=(
            *facts_of(calibration),
            *(
                Fact("" if i else "from files", f"{key} = {text}")
                for i, (key, text) in enumerate((taken or {}).items())
            ),
        ),
        warnings=calibration.warnings,
    )


def title_of(calibration: Calibration) -> str:
    """Say what was measured and in what time."""
    took = format_quantity(calibration.seconds, "time", 2)
    until = "until interrupted" if calibration.was_interrupted else f"in {took}"
    return f"{calibration.name}: measured {until}"


def facts_of(calibration: Calibration) -> Iterator[Fact]:
    """Give where it was measured."""
    host = calibration.host
    load = f", load {host.load_before:.2g}" if math.isfinite(host.load_before) else ""
    cores = "1 core" if host.cores == 1 else f"{host.cores} cores"
    yield Fact("host", f"{host.name}: {host.model or host.system}, {cores}{load}")
    if host.mpi:
        shared = [ranks for ranks, how in host.placement.items() if how == "one"]
        beside = f"; {', '.join(map(str, shared))} ranks share one core" if shared else ""
        yield Fact("MPI", f"{host.mpi}{beside}")
    if host.directory:
        yield Fact("directory", host.directory)


def _values(calibration: Calibration) -> Table:
    """Give the values in groups, on a narrow page one after another."""
    rows: list[tuple[str, str, str, str]] = []
    in_full = []
    for group, title in GROUPS.items():
        measured = [x for x in calibration.measured if x.key.startswith(f"{group}.")]
        if not measured:
            continue
        texts = [(_name_of(x), *interval_words(x), SHORT.get(x.key, "")) for x in measured]
        rows.append((title, "", "", ""))
        rows += [(f"  {name}", value, interval, way) for name, value, interval, way in texts]
        lines = (f"{x}: {value}" + (f" ({y})" if y else "") for x, value, y, _ in texts)
        in_full.append(Entry(title=title, lines=tuple(lines)))
    if not rows:
        return Table()
    names, values, intervals, ways = zip(*rows, strict=True)
    columns = [
        Column(title="", cells=names, align="left"),
        Column(title="value", cells=values),
        Column(title="90% interval", cells=intervals, align="left"),
        Column(title="method", cells=ways, align="left"),
    ]
    return Table(forms=(Form(columns=columns),), in_full=tuple(in_full), is_spaced=False)


def interval_words(each: Measured) -> tuple[str, str]:
    """Texts of a value with its unit and of its interval without, "" where there is none."""
    if each.launches == 1 and not math.isfinite(each.lower):
        return format_quantity(each.value, each.dimension), "one launch"
    width = each.upper - each.lower
    if not math.isfinite(width) or width <= NARROW * each.value or each.value <= 0:
        return format_quantity(each.value, each.dimension), ""
    unit = format_quantity(each.value, each.dimension).partition(" ")[2]
    factor = quantity(f"1 {unit}", each.dimension, name=each.key) if unit else 1.0
    ends = (x / factor for x in (each.value, max(each.lower, TINY * each.value), each.upper))
    value, lower, upper = rounded_interval(*ends, most=MOST)
    lower = lower if each.lower > TINY * each.value else "0"
    return f"{value} {unit}".rstrip(), f"{lower} to {upper}"


def _name_of(each: Measured) -> str:
    """Name of a value in its table, marked where it is not settled."""
    return each.key.partition(".")[2] + ("" if each.settled else f" {MARK}")


def _primitives(primitives: Sequence[PrimitiveFormula]) -> Table:
    """Give the primitives, on a narrow page one after another."""
    names = [x.name + ("" if x.is_settled else f" {MARK}") for x in primitives]
    startups = [_sum_words(x.fit.startup, x.fit.startup_form) for x in primitives]
    rates = [_rate_words(x) for x in primitives]
    counts = [counts_words(x) for x in primitives]
    columns = [
        Column(title="primitive", cells=names, align="left"),
        Column(title="startup", cells=startups, align="left"),
        Column(title="bandwidth", cells=rates, align="left"),
        Column(title="fit error", cells=[f"{whole_percent(x.fit.error)}%" for x in primitives]),
        Column(title="p", cells=counts, align="left"),
    ]
    lines = (
        f"{name} (p = {p}): {startup}" + (f", {rate}" if rate else "")
        for name, p, startup, rate in zip(names, counts, startups, rates, strict=True)
    )
    in_full = Entry(title="primitives", lines=tuple(lines))
    return Table(forms=(Form(columns=columns),), in_full=(in_full,))


def counts_words(formula: PrimitiveFormula) -> str:
    """Say among how many ranks it was measured, and whether only once: "2, 4 (one launch)"."""
    counts = ", ".join(map(str, formula.counts)) + (
        " on one core" if formula.shares_a_core else ""
    )
    return f"{counts} (one launch)" if formula.launches == 1 else counts


def _rate_words(formula: PrimitiveFormula) -> str:
    """Bandwidth of a primitive at the largest P it was measured at, "" without bytes."""
    p = formula.counts[-1]
    byte = float(formula.fit.time(p, MEGABYTE) - formula.fit.time(p, 0.0)) / MEGABYTE
    if byte <= 0:
        return ""
    rate = format_quantity(1.0 / byte, "rate")
    grows = formula.fit.byte[1] > 0
    return f"{rate} at p = {p}" if grows else rate


def _sum_words(coefficients: tuple[float, float], form: str) -> str:
    """Write alpha + beta f(p) with the unit of the larger."""
    alpha, beta = coefficients
    grows = {"logarithmic": "*log2(p)", "linear": "*p"}.get(form, "")
    unit = format_quantity(max(alpha, beta), "time").rpartition(" ")[2]
    texts = [
        f"{value / TIME_UNITS[unit]:.3g} {unit}{factor}"
        for value, factor in ((alpha, ""), (beta, grows))
        if value > TRACE * max(alpha, beta)
    ]
    return " + ".join(texts) or "0"
