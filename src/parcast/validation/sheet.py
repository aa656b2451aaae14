"""A validation for a person: predicted and measured times, errors, and whether the laws hold."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final, TypeAlias

from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.show.warning import Rank, RankedWarning
from parcast.units import TIME_UNITS, percent
from parcast.validation.comparison import Accuracy, Comparison
from parcast.validation.result import Validated, Validation
from parcast.words import (
    FACTOR,
    FAR_OFF,
    MARK,
    OTHERS,
    common_unit,
    counted,
    disturbance,
    error_in_words,
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
)

Compared: TypeAlias = Comparison[Any, Any]

ERROR: Final = "error: predicted / measured time - 1"
INSIDE: Final = "inside: runs within the interval, of all; *: the median is outside"
MOST_NAMED: Final = 3  # cases that are named one by one


def sheet_of(validation: Validation, *, show_all: bool = False) -> Sheet:
    """Everything that is said: a part for each subject, then what holds for all."""
    parts = [_part(part, show_all=show_all) for part in validation.parts]
    if len(parts) > 1:
        parts.append(Sheet(tables=(_overview(validation),)))
    warnings: list[str] = [
        RankedWarning(f"{name} failed. {why}", rank=Rank.UNUSABLE)
        for name, why in validation.failures.items()
    ]
    if validation.left_out:
        warnings.append(f"Interrupted before {', '.join(validation.left_out)} was compared.")
    summed = sum(len(x.comparisons) for x in validation.parts if x.rule.share is not None)
    parts.append(
        Sheet(
            facts=tuple(_conditions(validation)),
            warnings=tuple(warnings),
            conclusion=tuple(_overall(validation)),
            left_out=""
            if show_all or not summed
            else f"Errors of {counted(summed, validation.parts[0].rule.cases)} are summed up. "
            "Each of them",
        )
    )
    return Sheet(parts=tuple(parts), parts_are=f"{validation.names[1]}s")


def _part(part: Validated, *, show_all: bool) -> Sheet:
    """Everything that is said of one subject."""
    rows, tables = part.comparisons, []
    if part.rule.share is not None and rows:
        tables.append(_summary(part))
    if rows and (show_all or part.rule.share is None):
        tables.append(_times(part, rows))
        tables += [_ways(part)] if rows[0].ways and part.compared else []
        tables += [_parts(part)] if any(x.observed for x in rows) and rows[0].parts else []
    return Sheet(
        title=f"{part.name}: {part.title}" if part.title else part.name,
        name=part.name,
        tables=tuple(tables),
        facts=tuple(_facts(part)),
        warnings=(*_far(part), *_disturbed_warnings(part), *part.findings.warnings),
    )


def _labels(rows: Sequence[Compared]) -> list[Column]:
    """Columns that name the cases."""
    return [
        Column(title=title, unit=unit, cells=[x.labels[title, unit] for x in rows])
        for title, unit in rows[0].labels
    ]


def _times(part: Validated, rows: Sequence[Compared]) -> Table:
    """Give predicted and measured times, and errors."""
    unit = common_unit([x.predicted for x in rows])
    second = TIME_UNITS[unit]
    labels = _labels(rows)
    predicted = [rounded(x.predicted / second, 3) for x in rows]
    between: list[Column] = []
    if all(x.lower is not None for x in rows):
        ends = [
            rounded_interval(
                *((y or 0.0) / second for y in (x.predicted, x.lower, x.upper)), most=4
            )
            for x in rows
        ]
        predicted = [each for each, _, _ in ends]
        between = [
            interval_column("90% interval", f"[{unit}]", [(low, high) for _, low, high in ends])
        ]
    columns = [
        Column(title="predicted", unit=f"[{unit}]", cells=predicted),
        *between,
        Column(title="measured", unit=f"[{unit}]", cells=[_measured(x, second) for x in rows]),
        Column(title="error", unit="[%]", cells=[_error(part, x) for x in rows]),
    ]
    legend = ERROR
    if any((x.error() or 0.0) >= FAR_OFF for x in rows):
        legend += f"; {FACTOR}"
    if between:
        inside = [f"{x.runs_inside}/{len(x.runs)}" if x.runs else "-" for x in rows]
        columns.append(Column(title="inside", cells=inside))
        legend = f"{legend}; {INSIDE}"
    else:
        intervals = [_interval(x) for x in rows]
        columns.append(Column(title="interval", unit="[%]", cells=intervals))
        legend += (
            "; interval: 90% interval of the median that was measured, relative to it (range of "
            "fewer than 5 runs)"
        )
        if part.rule.tolerance is not None:
            legend += f"; *: error above {percent(part.rule.tolerance)}"
    if any(x.is_disturbed for x in rows):
        legend += f"; {MARK}: most runs were {OTHERS}, but used for lack of others"
    in_full = [
        Entry(
            lines=(", ".join(f"{column.title} {column.cells[i]}" for column in labels),),
            facts=tuple(Fact(each.title, str(each.cells[i])) for each in columns),
        )
        for i in range(len(rows))
    ]
    few = [*labels[:1], *labels[-1:]] if len(labels) > 1 else labels
    return Table(
        title=f"{part.rule.cases}s".capitalize() if part.rule.share is not None else "",
        forms=(Form(columns=[*labels, *columns]), Form(columns=[*few, *columns])),
        in_full=tuple(in_full),
        is_spaced=False,
        legend=legend,
    )


def _measured(x: Compared, second: float) -> str:
    """Median time, marked where it is of disturbed runs."""
    if x.measured is None:
        return "-"
    digits = supported_digits(x.lower, x.upper) if x.lower and x.upper else 3
    return rounded(x.measured / second, max(digits, 3)) + (MARK if x.is_disturbed else "")


def _error(part: Validated, x: Compared) -> str:
    """Error of a case, marked where it is outside of what is allowed."""
    error = x.error()
    if error is None:
        return "-"
    is_far = x.is_inside is False or abs(error) > (part.rule.tolerance or abs(error))
    return signed_percent(error) + ("*" if is_far else "")


def _interval(x: Compared) -> str:
    """Interval of the measured time, relative to it."""
    if x.measured is None or x.interval is None:
        return "-"
    return " ".join(f"{100 * (end / x.measured - 1):+.0f}" for end in x.interval)


def _ways(part: Validated) -> Table:
    """Give times and errors by each way, and the errors of all cases."""
    rows = part.compared
    ways: Mapping[str, str] = {
        way: str(part.findings.document["ways"][way]) for way in rows[0].ways
    }
    columns = []
    for way in ways:
        accuracy = part.accuracy(way)
        errors = [x.error(way) for x in rows]
        summary = [f"{100 * x:.1f}" for x in (accuracy.median, accuracy.worst)] if accuracy else []
        cells = ["-" if x is None else signed_percent(x) for x in errors]
        columns.append(Column(title=way, unit="[%]", cells=[*cells, *(summary or ["-", "-"])]))
    labels = _labels(rows)
    ends = [["", ""]] * (len(labels) - 1) + [["median", "worst"]]
    named = [
        Column(title=column.title, unit=column.unit, cells=[*column.cells, *end])
        for column, end in zip(labels, ends, strict=True)
    ]
    means = "; ".join(f"{way}: {text}" for way, text in ways.items())
    return Table(
        title="Errors of other ways",
        forms=(
            Form(columns=[*named, *columns]),
            Form(columns=[named[0], named[-1], columns[-1]]),
        ),
        is_spaced=False,
        legend=f"{means}; median and worst: of the absolute errors",
    )


def _summary(part: Validated) -> Table:
    """Give the errors of each kind of case, and of all."""
    kinds = [*dict.fromkeys(x.kind for x in part.comparisons), ""]
    rows = [(kind, x) for kind in kinds if (x := part.accuracy(kind=kind)) is not None]
    if not rows:
        return Table()
    limit, found = part.rule.tolerance or 0.0, [x for _, x in rows]
    columns = [
        Column(title=f"{part.rule.cases}s", cells=[x or "all" for x, _ in rows], align="left"),
        Column(title="measured", cells=[str(x.points) for x in found]),
        Column(title="within", unit=percent(limit), cells=[str(x.within(limit)) for x in found]),
        *_errors(found),
        Column(title="mean", unit="[%]", cells=[signed_percent(x.mean) for x in found]),
    ]
    names = part.comparisons[0].parts
    parts = [
        Column(title=name, unit="[%]", cells=[_mean_part(part, kind, name) for kind, _ in rows])
        for name in names
    ]
    legend = (
        "median, worst: of the absolute errors, predicted / measured - 1; mean: with their sign"
    )
    more = f"; {', '.join(names)}: mean error of each part of the time, of the whole time"
    return Table(
        forms=(Form(columns=[*columns, *parts], legend=legend + more), Form(columns=columns)),
        legend=legend,
    )


def _errors(accuracies: Sequence[Accuracy]) -> list[Column]:
    """Median and worst errors."""
    return [
        Column(title="median", unit="[%]", cells=[f"{100 * x.median:.1f}" for x in accuracies]),
        Column(title="worst", unit="[%]", cells=[f"{100 * x.worst:.1f}" for x in accuracies]),
    ]


def _mean_part(part: Validated, kind: str, name: str) -> str:
    """Mean error of a part of the time."""
    own = [x for x in part.compared if kind in ("", x.kind)]
    errors = [error for x in own if (error := x.part_error(name)) is not None]
    return signed_percent(sum(errors) / len(errors)) if errors else "-"


def _parts(part: Validated) -> Table:
    """Give the errors of the parts of the time of every case."""
    rows = part.comparisons
    names = [name for name in rows[0].parts if any(name in x.observed for x in rows)]
    cells = {
        name: [
            "-" if (error := x.part_error(name)) is None else signed_percent(error) for x in rows
        ]
        for name in names
    }
    labels = _labels(rows)
    legend = f"{', '.join(names)}: error of each part of the time, of the whole time"
    columns = [Column(title=name, unit="[%]", cells=own) for name, own in cells.items()]
    return Table(
        title="Parts of the time",
        forms=(Form(columns=[*labels[:2], *columns], legend=legend),),
        in_full=tuple(
            Entry(
                lines=(f"{labels[0].cells[i]}",),
                facts=tuple(Fact(name, f"{own[i]}%") for name, own in cells.items()),
            )
            for i in range(len(rows))
        ),
        is_spaced=False,
        legend=legend,
    )


def _facts(part: Validated) -> Iterator[Fact]:
    """Give the verdict, what it is based on and what was disturbed."""
    verdict = part.verdict.text or part.verdict.reason
    yield Fact("law", f"{part.agreement}: {verdict}" if verdict else part.agreement)
    if part.ended_by:
        ran = len(part.compared)
        asked = len(part.comparisons) + part.missing
        yield Fact(
            "stopped by",
            f"{part.ended_by}: {ran} of {counted(asked, part.rule.cases)} were measured",
        )
    yield from part.findings.facts
    yield Fact("runs", _runs_text(part))
    passes = [len(x.predictions) for x in part.compared]
    if max(passes, default=1) > 1:
        yield Fact("passes", _passes_text(part))
    if any(run["disturbed"] for run in part.runs):
        yield Fact("disturbed", _disturbed(part))


def _runs_text(part: Validated) -> str:
    """Say of how many runs the medians are, and how well they are known."""
    numbers = [len(x.runs) for x in part.compared]
    if not numbers:
        return "none"
    few, many = min(numbers), max(numbers)
    text = f"median of {few if few == many else f'{few} to {many}'}"
    unknown = sum(not x.is_known for x in part.compared if len(x.runs) > 1)
    more = f"; not known to 10% for {counted(unknown, part.rule.cases)}"
    return text + (more if unknown else "")


def _passes_text(part: Validated) -> str:
    """Say how often cases were predicted, and how far these predictions are apart."""
    numbers = [len(x.predictions) for x in part.compared]
    few, many = min(numbers), max(numbers)
    text = f"{few if few == many else f'{few} to {many}'} for each {part.rule.cases}"
    apart = [
        (max(times) - min(times)) / x.predicted
        for x in part.compared
        if len(times := [each.time for each in x.predictions.values()]) > 1
    ]
    if not apart:
        return text
    return (
        f"{text}; predicted times differ between passes by {percent(median(apart))} (median), "
        f"at most {percent(max(apart))}"
    )


def _disturbed(part: Validated) -> str:
    """Say how many runs others disturbed, how much, and which of them count."""
    runs = [run for run in part.runs if run["disturbed"]]
    used = sum(run["counts"] for run in runs)
    aside = f"{len(runs) - used} excluded, {used} used for lack of others" if used else "excluded"
    slowest = max((run["slowdown"] or 1.0 for run in runs), default=1.0)
    waiting = max((run["waiting"] or 0.0 for run in runs), default=0.0)
    how = disturbance(slowest, waiting)
    text = f"{len(runs)} of {len(part.runs)} runs, {aside}"
    return f"{text}: {how}" if slowest > 1.0 or waiting else f"{text}, by other programs"


def _far(part: Validated) -> Iterator[str]:
    """Name the cases with the largest errors, where a share of them may have any."""
    limit = part.rule.tolerance
    if part.rule.share is None or limit is None:
        return
    errors = [(x, error) for x in part.compared if (error := x.error()) is not None]
    far = sorted((x for x in errors if abs(x[1]) > limit), key=lambda x: -abs(x[1]))
    if far:
        named = "; ".join(
            f"{' '.join(x.labels.values()).strip()} {error_in_words(error, sign=True)}"
            for x, error in far[:MOST_NAMED]
        )
        more = f"; and {len(far) - MOST_NAMED} more" if len(far) > MOST_NAMED else ""
        yield RankedWarning(
            f"{counted(len(far), part.rule.cases)} with an error above {percent(limit)}: "
            f"{named}{more}.",
            kind="far",
        )


def _disturbed_warnings(part: Validated) -> Iterator[str]:
    """Warn of cases whose disturbed runs count, since there are too few others."""
    calibrated = [run for run in part.runs if run["purpose"] == "calibration"]
    slow = {_place(run) for run in part.runs if run["counts"] and run["disturbed"]}
    every = {_place(run) for run in part.runs}
    if not slow:
        return
    if part.quietness.is_busy:
        again = ", as were those that it was calibrated with" if calibrated else ""
        text = (
            f"Other programs used the machine all the time: most runs were disturbed{again}. The "
            "answer is of such a machine; intervals and limits are wider."
        )
    else:
        text = (
            f"Runs disturbed by other processes are used at {len(slow)} of {len(every)} sizes "
            "and counts, as there are too few others. Repeat on an idle machine."
        )
    yield RankedWarning(text, kind="disturbed", rank=Rank.SERIOUS, size=float(len(slow)))


def _place(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """Case of a run."""
    return tuple(run[name] for name in run["key"])


def _overview(validation: Validation) -> Table:
    """Give the table of the subjects."""
    parts = [x for x in validation.parts if x.accuracy() is not None]
    found = [x for part in parts if (x := part.accuracy()) is not None]
    columns = [
        Column(title=validation.names[1], cells=[x.name for x in parts], align="left"),
        Column(title="law", cells=[x.agreement for x in parts], align="left"),
        *_errors(found),
        Column(
            title="inside", unit="[%]", cells=[f"{100 * x.inside / x.runs:.0f}" for x in found]
        ),
        Column(title="runs", cells=[str(x.runs) for x in found]),
        Column(title="duration", unit="[s]", cells=[f"{x.seconds:.0f}" for x in parts]),
    ]
    return Table(forms=(Form(columns=columns), Form(columns=columns[:4])))


def _conditions(validation: Validation) -> Iterator[Fact]:
    """Say where and under which conditions it was measured."""
    saved, where = validation.saved, validation.conditions
    file = f", in {saved.path}" if saved.path else ""
    if saved.at:
        yield Fact("predicted", f"{saved.at} and later, each before its runs{file}")
    if where.cores:
        yield Fact("machine", where.place.rstrip(".") or f"this machine, {where.cores} cores")
    if where.load is not None:
        yield Fact("load", f"{where.load[0]:.1f} before, {where.load[1]:.1f} after")
    for name, text in validation.about.items():
        yield Fact(name, text)


def _overall(validation: Validation) -> Iterator[Fact]:
    """Errors and coverage of the comparisons that nobody disturbed."""
    accuracy = validation.accuracy()
    if accuracy is None:
        return
    text = f"median error {_share(accuracy.median)}, worst {_share(accuracy.worst)}"
    if all(x.lower is not None for x in validation.compared):
        share = 100 * accuracy.inside / accuracy.runs
        text += (
            f"; {accuracy.inside} of {accuracy.runs} runs within their 90% interval ({share:.0f}%)"
        )
    aside = sum(x.is_disturbed for x in validation.compared)
    if aside and aside < len(validation.compared):
        text += f"; {aside} of {len(validation.compared)} medians excluded as disturbed ({MARK})"
    yield Fact("overall", text)


def _share(error: float) -> str:
    """Write an error in a sentence."""
    return error_in_words(error, digits=1 if error < 0.0995 else 0)
