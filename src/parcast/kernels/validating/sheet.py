"""The answer to `validate` for a person: predicted and measured times, and whether the law holds.

A table for each program, and for several programs a table of them at the end.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from parcast.kernels.validating.result import (
    Capacity,
    Comparison,
    ValidatedProgram,
    Validation,
    accuracy_of,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.show.warning import Rank, RankedWarning
from parcast.units import TIME_UNITS, Dimension, format_quantity, percent, shown
from parcast.words import (
    MARK,
    OTHERS,
    common_unit,
    disturbance,
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
)

LEGEND: Final = (
    "xN: N times the largest calibrated n; error: predicted / measured time - 1; inside: runs "
    "within the interval, of all; *: the median is outside"
)
MEANING: Final[dict[str, tuple[str, Dimension]]] = {
    "W": ("steps per second of one processor", "operation_rate"),
    "n_half": ("size that reaches half of W", "count"),
    "m_half": ("size per rank that reaches half of W", "count"),
    "m_2": ("the same for work done once per row", "count"),
    "u": ("network bandwidth", "rate"),
    "t0": ("startup time of a message", "time"),
    "B": ("file bandwidth", "rate"),
    "S0": ("startup time of file access", "time"),
}


def sheet_of(validation: Validation) -> Sheet:
    """Everything that is said of a validation: a part for each program, then all of them."""
    parts = [_program(x, interval=validation.interval) for x in validation.programs]
    is_one = len(parts) <= 1
    if not is_one:
        parts.append(Sheet(tables=(_overview(validation),)))
    warnings: list[str] = [
        RankedWarning(f"{name} failed. {why}", rank=Rank.UNUSABLE)
        for name, why in validation.failures.items()
    ]
    if validation.left_out:
        left_out = ", ".join(validation.left_out)
        warnings.append(f"Interrupted before {left_out} was compared.")
    total = figures_of(validation.compared) if validation.compared else ""
    conclusion = (Fact("overall", total),) if total else ()
    parts.append(Sheet(warnings=tuple(warnings), conclusion=conclusion))
    return Sheet(parts=tuple(parts), parts_are="programs")


def figures_of(compared: Sequence[Comparison]) -> str:
    """Errors and coverage of the comparisons that nobody disturbed, in words."""
    accuracy = accuracy_of(compared)
    errors, runs, inside = accuracy.errors, accuracy.runs, accuracy.inside
    text = (
        f"median error {_share(median(errors))}, worst {_share(max(errors))}; {inside} of {runs} "
        f"runs within their 90 % interval ({100 * inside / runs:.0f} %)"
    )
    aside = len(compared) - len(errors)
    return text + (
        f"; {aside} of {len(compared)} medians excluded as disturbed ({MARK})" if aside else ""
    )


def legend_of(program: ValidatedProgram) -> str:
    """Say what the columns and marks of a table mean."""
    if not any(x.is_disturbed for x in program.comparisons):
        return LEGEND
    return f"{LEGEND}; {MARK}: most runs were {OTHERS}, but used for lack of others"


def facts_of(program: ValidatedProgram) -> Iterator[Fact]:
    """Give the verdict, what it is based on and the calibrated law."""
    verdict = "; ".join(program.verdict)
    yield Fact("law", f"{program.agreement}: {verdict}" if verdict else program.agreement)
    if program.ended_by:
        yield Fact("stopped by", f"{program.ended_by}: {_left_out(program)}")
    runs = sum(run.counts for run in program.calibration)
    sizes = sorted({run.n for run in program.calibration})
    counts = sorted({run.p for run in program.calibration})
    yield Fact(
        "calibration",
        f"{runs} runs, n = {sizes[0]:,} to {sizes[-1]:,}, p = {', '.join(map(str, counts))}",
    )
    for capacity in program.capacities:
        text = capacity_text(capacity)
        if text:
            yield Fact("", text)
    if program.disturbed:
        yield Fact("disturbed", _disturbed(program))
    yield Fact(
        "counts",
        "; ".join(
            f"{x.what} {_ratio(x.least, x.most)}" + ("" if x.agrees else " (differs)")
            for x in program.counts
        )
        + " (counted by the law over counted by the program)",
    )
    yield Fact("source", program.source)


def _disturbed(program: ValidatedProgram) -> str:
    """Say how many runs others disturbed, and what would be different if all counted."""
    every = sum(len(x.runs) + len(x.disturbed) for x in program.comparisons)
    compared = [(x, run) for x in program.comparisons for run in x.disturbed]
    inside = sum(x.lower <= run.time <= x.upper for x, run in compared)
    inside += sum(x.runs_inside for x in program.compared)
    how = disturbance(
        max(run.slowdown or 1.0 for run in program.disturbed),
        max(run.waiting for run in program.disturbed),
    )
    aside = sum(not run.counts for run in program.disturbed)
    others = len(program.disturbed) - aside
    which = "excluded"
    if others:
        which = f"{aside} excluded, {others} used for lack of others"
    text = f"{len(program.disturbed)} of {len(program.calibration) + every} runs, {which}: {how}"
    return text + (
        f"; with them, {inside} of {every} compared runs are inside" if compared else ""
    )


def _left_out(program: ValidatedProgram) -> str:
    """Say what was not run any more."""
    requested = program.repetitions
    made = sum(min(len(x.runs) + len(x.disturbed), requested) for x in program.compared)
    waiting = len(program.comparisons) - len(program.compared)
    if not made:
        return "nothing was compared"
    text = f"{made} of {requested * len(program.comparisons)} runs were made"
    if made == requested * len(program.comparisons):
        text = "all runs were made, but not all disturbed runs were repeated"
    if waiting:
        text += f", none at {waiting} of the {len(program.comparisons)} sizes and counts"
    return text


def capacity_text(capacity: Capacity) -> str:
    """Say what a constant is; "" where the runs say nothing of it."""
    meaning, dimension = MEANING[capacity.symbol]
    of = f"{capacity.symbol}{f' at p = {capacity.p}' if capacity.p else ''} ({meaning})"

    def quantity(value: float) -> str:
        if dimension == "operation_rate":
            return f"{rounded(value, 3)}/s" if value < 1e5 else f"{value:.3g}/s"
        return rounded(value, 3) if dimension == "count" else format_quantity(value, dimension)

    if capacity.value is not None:
        low = quantity(capacity.lower) if capacity.lower is not None else "unknown"
        high = quantity(capacity.upper) if capacity.upper is not None else "unlimited"
        return f"{of}: {quantity(capacity.value)} ({low} to {high})"
    bound = capacity.lower if capacity.symbol in ("W", "u", "B") else capacity.upper
    if not bound:
        return ""
    side = "at least" if capacity.symbol in ("W", "u", "B") else "at most"
    return f"{of}: {side} {quantity(bound)}"


def _program(program: ValidatedProgram, *, interval: float) -> Sheet:
    """Everything that is said of one program."""
    return Sheet(
        title=f"{program.program}: {program.title}",
        name=program.program,
        tables=(_table(program, interval=interval) if program.comparisons else Table(),),
        facts=tuple(facts_of(program)),
        warnings=program.warnings,
    )


def _measured(x: Comparison, second: float) -> tuple[str, str, str]:
    """Median time, error and runs inside, as texts: a star where the median lies outside."""
    if not x.runs:
        return "-", "-", "-"
    return (
        rounded(x.measured / second, max(supported_digits(x.lower, x.upper), 3)),
        signed_percent(x.error) + ("" if x.is_inside else "*"),
        f"{x.runs_inside}/{len(x.runs)}" + (MARK if x.is_disturbed else ""),
    )


def _table(program: ValidatedProgram, *, interval: float) -> Table:
    """Give the comparisons."""
    every = program.comparisons
    unit = common_unit([x.predicted for x in every])
    second = TIME_UNITS[unit]
    times = [
        rounded_interval(*(y / second for y in (x.predicted, x.lower, x.upper)), most=4)
        for x in every
    ]
    predicted, lower, upper = zip(*times, strict=True)
    measured, error, inside = zip(*(_measured(x, second) for x in every), strict=True)
    share, size = f"{interval * 100:g} % interval", shown(program.size, limit=20)
    columns = [
        Column(title="n", unit=f"[{size}]", cells=[f"{x.n:,}" for x in every]),
        Column(
            title="n over",
            unit="cal.",
            cells=[f"x{x.factor:.3g}" for x in every],
            heading="n over calibrated",
        ),
        Column(title="p", cells=[str(x.p) for x in every]),
        Column(title="predicted", unit=f"[{unit}]", cells=predicted),
        interval_column(share, f"[{unit}]", zip(lower, upper, strict=True)),
        Column(title="measured", unit=f"[{unit}]", cells=measured),
        Column(title="error", unit="[%]", cells=error),
        Column(title="inside", cells=inside),
    ]
    in_full = [
        Entry(
            lines=(f"n = {x.n:,}, p = {x.p}",),
            facts=(
                Fact("predicted", f"{predicted[i]} {unit}  ({lower[i]} to {upper[i]})"),
                Fact("measured", f"{measured[i]} {unit}" if x.runs else ""),
                Fact("error", f"{error[i]} %, {inside[i]} inside" if x.runs else ""),
            ),
        )
        for i, x in enumerate(every)
    ]
    return Table(
        forms=(Form(columns=columns), Form(columns=[columns[0], *columns[2:]])),
        in_full=tuple(in_full),
        is_spaced=False,
        legend=legend_of(program),
    )


def _overview(validation: Validation) -> Table:
    """Give the table of the programs."""
    programs = [x for x in validation.programs if x.compared]
    accuracies = [accuracy_of(x.compared) for x in programs]
    errors = [x.errors for x in accuracies]
    columns = [
        Column(title="program", cells=[x.program for x in programs], align="left"),
        Column(title="law", cells=[x.agreement for x in programs], align="left"),
        Column(title="median", unit="error [%]", cells=[_percent(median(x)) for x in errors]),
        Column(title="worst", unit="error [%]", cells=[_percent(max(x)) for x in errors]),
        Column(
            title="inside",
            unit="[%]",
            cells=[f"{100 * x.inside / x.runs:.0f}" for x in accuracies],
        ),
        Column(title="runs", cells=[str(x.runs) for x in accuracies]),
        Column(title="duration", unit="[s]", cells=[f"{x.seconds:.0f}" for x in programs]),
    ]
    return Table(forms=(Form(columns=columns), Form(columns=columns[:4])))


def _percent(error: float) -> str:
    """Write an error in percent."""
    return f"{100 * error:.1f}" if error < 0.0995 else f"{100 * error:.0f}"


def _share(error: float) -> str:
    """Write an error in a sentence."""
    return f"{_percent(error)} %" if error < 10 else percent(error)


def _ratio(least: float, most: float) -> str:
    """Write a ratio, or the two between which it lies."""
    first, last = f"{least:.3g}", f"{most:.3g}"
    return first if first == last else f"{first} to {last}"
