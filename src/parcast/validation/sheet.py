"""The answer to `validate` for a person: predicted and measured times, and whether the law holds.

A table for each program, and for several programs a table of them at the end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS, Dimension, format_quantity, percent, shown
from parcast.validation.result import (
    Capacity,
    Comparison,
    ValidatedProgram,
    Validation,
    undisturbed,
)
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
    "error: predicted over measured time, less 1; inside: runs in their interval, of all; "
    "*: the median lies outside"
)
MEANING: Final[dict[str, tuple[str, Dimension]]] = {
    "W": ("steps of one processor", "operation_rate"),
    "n_half": ("size at half of W", "count"),
    "m_half": ("part of a rank at half of W", "count"),
    "m_2": ("the same, of what it does once a row", "count"),
    "u": ("network", "rate"),
    "t0": ("startup of a message", "time"),
    "B": ("files", "rate"),
    "S0": ("startup of files", "time"),
}


def sheet_of(validation: Validation) -> Sheet:
    """Everything that is said of a validation: a part for each program, then all of them."""
    parts = [_program(x, interval=validation.interval) for x in validation.programs]
    is_one = len(parts) <= 1
    if not is_one:
        parts.append(Sheet(tables=(_overview(validation),)))
    warnings = [f"{name} failed. {why}" for name, why in validation.failures.items()]
    if validation.left_out:
        left_out = ", ".join(validation.left_out)
        warnings.append(f"interrupted before anything of {left_out} was compared.")
    total = sum_of(validation) if validation.compared else ""
    conclusion = (Fact("in sum" if is_one else "all", total),) if total else ()
    parts.append(Sheet(warnings=tuple(warnings), conclusion=conclusion))
    return Sheet(parts=tuple(parts))


def sum_of(validation: Validation) -> str:
    """Errors and coverage of all comparisons, in a sentence."""
    return figures_of(validation.compared)


def figures_of(compared: Sequence[Comparison]) -> str:
    """Errors and coverage of the comparisons that nobody disturbed, in words."""
    quiet = undisturbed(compared)
    errors = [abs(x.error) for x in quiet]
    runs, inside = sum(len(x.runs) for x in quiet), sum(x.runs_inside for x in quiet)
    text = (
        f"median error {_share(median(errors))}, worst {_share(max(errors))}; "
        f"{inside} of {runs} runs in their 90 % interval ({100 * inside / runs:.0f} %)"
    )
    aside = len(compared) - len(quiet)
    return text + (f"; without {aside} of {len(compared)} medians ({MARK})" if aside else "")


def legend_of(program: ValidatedProgram) -> str:
    """Say what the columns and marks of a table mean."""
    if not any(x.is_disturbed for x in program.comparisons):
        return LEGEND
    asked = f"{program.repetitions} that were asked for and those made again"
    return f"{LEGEND}; {MARK}: {OTHERS} in most runs, which count all the same, {asked}"


def title_of(program: ValidatedProgram) -> str:
    """Say what was validated."""
    return f"{program.program}: {program.title}"


def facts_of(program: ValidatedProgram) -> Iterator[Fact]:
    """Give the verdict, what it rests on and the calibrated law."""
    verdict = "; ".join(program.verdict)
    yield Fact("law", f"{program.answer}: {verdict}" if verdict else program.answer)
    if program.ended_by:
        yield Fact("ended by", f"{program.ended_by}: {_left_out(program)}")
    runs = sum(run.counts for run in program.calibration)
    sizes = sorted({run.n for run in program.calibration})
    counts = sorted({run.p for run in program.calibration})
    yield Fact(
        "calibrated",
        f"with {runs} runs, n = {sizes[0]:,} to {sizes[-1]:,}, p = {', '.join(map(str, counts))}",
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
        + " (law over program)",
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
    which = "they do not count"
    if others:
        which = f"{aside} do not count, {others} do for lack of others"
    text = f"{len(program.disturbed)} of {len(program.calibration) + every} runs, {which}: {how}"
    return text + (f"; with them {inside} of {every} compared runs are inside" if compared else "")


def _left_out(program: ValidatedProgram) -> str:
    """Say what was not run any more."""
    requested = program.repetitions
    made = sum(min(len(x.runs) + len(x.disturbed), requested) for x in program.compared)
    waiting = len(program.comparisons) - len(program.compared)
    if not made:
        return "nothing was compared"
    text = f"{made} of {requested * len(program.comparisons)} runs were made"
    if made == requested * len(program.comparisons):
        text = "all runs were made, but not all disturbed ones again"
    if waiting:
        text += f", none of {waiting} of the {len(program.comparisons)} sizes and counts"
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
        low = quantity(capacity.lower) if capacity.lower is not None else "?"
        high = quantity(capacity.upper) if capacity.upper is not None else "any"
        return f"{of} {quantity(capacity.value)}, {low} to {high}"
    bound = capacity.lower if capacity.symbol in ("W", "u", "B") else capacity.upper
    if not bound:
        return ""
    side = "at least" if capacity.symbol in ("W", "u", "B") else "at most"
    return f"{of} {side} {quantity(bound)}"


def _program(program: ValidatedProgram, *, interval: float) -> Sheet:
    """Everything that is said of one program."""
    return Sheet(
        title=title_of(program),
        tables=(_table(program, interval=interval) if program.comparisons else Table(),),
        facts=tuple(facts_of(program)),
        warnings=program.warnings,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One comparison, as texts."""

    n: str
    factor: str
    p: str
    predicted: str
    lower: str
    upper: str
    measured: str  # "-" where nothing was measured, as in the next two
    error: str  # [%], with a star where the median lies outside
    inside: str


def lines_of(program: ValidatedProgram) -> tuple[str, list[Line]]:
    """Rows of the comparisons as texts, and the unit that their times share."""
    unit = common_unit([x.predicted for x in program.comparisons])
    return unit, [_line(x, TIME_UNITS[unit]) for x in program.comparisons]


def _line(x: Comparison, second: float) -> Line:
    """Turn one comparison into texts."""
    times = rounded_interval(*(y / second for y in (x.predicted, x.lower, x.upper)), most=4)
    measured = error = inside = "-"
    if x.runs:
        measured = rounded(x.measured / second, max(supported_digits(x.lower, x.upper), 3))
        error = signed_percent(x.error) + ("" if x.is_inside else "*")
        inside = f"{x.runs_inside}/{len(x.runs)}" + (MARK if x.is_disturbed else "")
    return Line(
        n=f"{x.n:,}",
        factor=f"x{x.factor:.3g}",
        p=str(x.p),
        predicted=times[0],
        lower=times[1],
        upper=times[2],
        measured=measured,
        error=error,
        inside=inside,
    )


def _table(program: ValidatedProgram, *, interval: float) -> Table:
    """Give the comparisons."""
    unit, lines = lines_of(program)
    size = shown(program.size, limit=20)
    columns = [
        Column(title="n", unit=f"[{size}]", cells=[x.n for x in lines]),
        Column(
            title="over",
            unit="cal.",
            cells=[x.factor for x in lines],
            heading="over calibrated",
        ),
        Column(title="p", cells=[x.p for x in lines]),
        Column(title="predicted", unit=f"[{unit}]", cells=[x.predicted for x in lines]),
        interval_column(
            f"{interval * 100:g} % interval", f"[{unit}]", [(x.lower, x.upper) for x in lines]
        ),
        Column(title="measured", unit=f"[{unit}]", cells=[x.measured for x in lines]),
        Column(title="error", unit="[%]", cells=[x.error for x in lines]),
        Column(title="inside", cells=[x.inside for x in lines]),
    ]
    return Table(
        forms=(Form(columns=columns), Form(columns=[columns[0], *columns[2:]])),
        in_full=tuple(_in_full(x, unit) for x in lines),
        is_spaced=False,
        legend=legend_of(program),
    )


def _in_full(x: Line, unit: str) -> Entry:
    """Give one comparison, for a page too narrow for a table."""
    has_run = x.measured != "-"
    return Entry(
        lines=(f"n = {x.n}, p = {x.p}",),
        facts=(
            Fact("predicted", f"{x.predicted} {unit}  ({x.lower} to {x.upper})"),
            Fact("measured", f"{x.measured} {unit}" if has_run else ""),
            Fact("error", f"{x.error} %, {x.inside} inside" if has_run else ""),
        ),
    )


def _overview(validation: Validation) -> Table:
    """Give the table of the programs."""
    programs = [x for x in validation.programs if x.compared]
    quiet = [undisturbed(x.compared) for x in programs]
    errors = [[abs(y.error) for y in compared] for compared in quiet]
    runs = [sum(len(y.runs) for y in compared) for compared in quiet]
    inside = [sum(y.runs_inside for y in compared) for compared in quiet]
    columns = [
        Column(title="program", cells=[x.program for x in programs], align="left"),
        Column(title="law", cells=[x.answer for x in programs], align="left"),
        Column(title="median", unit="error [%]", cells=[_percent(median(x)) for x in errors]),
        Column(title="worst", unit="error [%]", cells=[_percent(max(x)) for x in errors]),
        Column(
            title="inside",
            unit="[%]",
            cells=[f"{100 * a / b:.0f}" for a, b in zip(inside, runs, strict=True)],
        ),
        Column(title="runs", cells=[str(x) for x in runs]),
        Column(title="took", unit="[s]", cells=[f"{x.seconds:.0f}" for x in programs]),
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
