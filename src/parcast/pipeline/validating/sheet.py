"""The answer to `validate pipeline` for a person: the source's table for this machine."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.pipeline.validating.observation import Schedule
from parcast.pipeline.validating.predicting import CALIBRATED, WAYS
from parcast.pipeline.validating.result import (
    MEDIAN,
    WORST,
    Compared,
    PipelineValidation,
    ValidatedSchedule,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.show.warning import Rank, RankedWarning
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import MARK, OTHERS, common_unit, rounded, rounded_interval, signed_percent

TITLES: Final[dict[str, str]] = {
    "stated": "(6)",
    "law": "law",
    "given": "T_comm",
    "calibrated": "calibrated",
    "mm1": "M/M/1",
    "md1": "M/G/1",
    "overlapped": "overlapped",
}
MEANINGS: Final[dict[Schedule, dict[str, str]]] = {
    "adaptive": {
        "stated": "stated formula of the published schedule, with M/M/1",
        "law": "law of the default schedule, messages by their length",
        "given": "the same with the measured times of messages",
        "calibrated": "the law fitted to the small runs",
    },
    "source": {
        "mm1": "(6) with the delay of M/M/1",
        "md1": "(6) with that which the source calls M/G/1 (it is M/D/1)",
        "given": "(6) with the measured time of a message",
        "overlapped": "overlapped form with the same",
        "calibrated": "the law fitted to the small runs",
    },
}
FIRST_LEFT_OUT: Final = ("k", TITLES["md1"])  # the other is nearly the same
WORDS: Final[dict[bool | None, str]] = {
    True: "agrees",
    False: "disagrees",
    None: "inconclusive",
}
NAMES: Final[dict[Schedule, str]] = {
    "adaptive": "default (adaptive)",
    "source": "published (source)",
}


def sheet_of(result: PipelineValidation) -> Sheet:
    """Everything that is said: a part for each schedule, then what holds for both."""
    parts = [_part(each, result) for each in result.schedules]
    facts = [*_conditions(result)]
    return Sheet(
        parts=(*parts, Sheet(facts=tuple(facts), warnings=tuple(_warnings(result)))),
        parts_are="schedules",
    )


def _part(each: ValidatedSchedule, result: PipelineValidation) -> Sheet:
    """Everything that is said of one schedule."""
    return Sheet(
        title=f"Pipeline, {NAMES[each.schedule]} schedule: {result.work}",
        name=each.schedule,
        tables=(_times(each), _errors(each)),
        facts=tuple(_facts(each)),
    )


def _layout_columns(rows: Sequence[Compared]) -> list[Column]:
    """Columns that say which run a row is."""
    return [
        Column(title="P", cells=[str(row.point.layout.ranks) for row in rows]),
        Column(title="G", cells=[str(row.point.layout.pipelines) for row in rows]),
        Column(title="N", cells=[f"{row.point.items:,}" for row in rows]),
    ]


def _times(each: ValidatedSchedule) -> Table:
    """Give predicted and measured times."""
    rows, ways = each.rows_, WAYS[each.schedule]
    unit = common_unit([row.predicted[CALIBRATED] or 1.0 for row in rows])
    second = TIME_UNITS[unit]
    cells = [
        rounded_interval(
            (row.predicted[CALIBRATED] or 0.0) / second,
            row.lower / second,
            row.upper / second,
            most=4,
        )
        for row in rows
    ]
    _, lower, upper = zip(*cells, strict=True)
    calibrated = _in_unit(rows, CALIBRATED, second)
    steps = ["-" if row.steps is None else f"{row.steps:g}" for row in rows]
    measured = [
        "-"
        if row.measured is None
        else rounded(row.measured / second, 3) + (MARK if row.is_disturbed else "")
        for row in rows
    ]
    columns = [
        *_layout_columns(rows),
        Column(title="k", cells=steps),
        *(
            Column(title=TITLES[way], unit=f"[{unit}]", cells=_in_unit(rows, way, second))
            for way in ways[:-1]
        ),
        Column(title=TITLES[CALIBRATED], unit=f"[{unit}]", cells=calibrated),
    ]
    interval = interval_column("90 % interval", f"[{unit}]", zip(lower, upper, strict=True))
    last = Column(title="measured", unit=f"[{unit}]", cells=measured)
    in_full = tuple(
        Entry(
            lines=(
                f"P = {row.point.layout.ranks}, G = {row.point.layout.pipelines}, "
                f"N = {row.point.items:,}",
            ),
            facts=(
                *(
                    Fact(TITLES[way], f"{_in_unit([row], way, second)[0]} {unit}")
                    for way in ways[:-1]
                ),
                Fact(TITLES[CALIBRATED], f"{calibrated[i]} {unit}  ({lower[i]} to {upper[i]})"),
                Fact("measured", f"{measured[i]} {unit}"),
            ),
        )
        for i, row in enumerate(rows)
    )
    return Table(
        title="Predicted before the runs, and measured",
        forms=(
            Form(columns=[*columns, interval, last]),
            Form(columns=[x for x in columns if x.title not in FIRST_LEFT_OUT] + [interval, last]),
            Form(columns=[*columns[:3], columns[-1], last]),
        ),
        in_full=in_full,
        is_spaced=False,
    )


def _in_unit(rows: Sequence[Compared], way: str, second: float) -> list[str]:
    """Times of a way in a unit, as texts."""
    times = [row.predicted[way] for row in rows]
    return ["-" if time is None else rounded(time / second, 3) for time in times]


def _errors(each: ValidatedSchedule) -> Table:
    """Give the errors of each way, and of all rows of it."""
    rows, ways = [row for row in each.rows_ if row.runs], WAYS[each.schedule]
    if not rows:
        return Table()
    columns = _layout_columns(rows)
    for way in ways:
        errors = [row.error(way) for row in rows]
        accuracy = each.accuracy(way)
        texts = ["-" if x is None else signed_percent(x) for x in errors]
        if way == CALIBRATED:
            texts = [
                text + ("" if row.is_inside else "*")
                for text, row in zip(texts, rows, strict=True)
            ]
        summary = [f"{100 * x:.1f}" for x in (accuracy.median, accuracy.worst)] if accuracy else []
        columns.append(
            Column(title=TITLES[way], unit="[%]", cells=[*texts, *(summary or ["-", "-"])])
        )
    named = [
        Column(
            title=column.title,
            cells=[*column.cells, *(("median", "worst") if column.title == "N" else ("", ""))],
        )
        for column in columns[:3]
    ]
    every = [*named, *columns[3:]]
    legend = "predicted / measured - 1; median and worst: of the absolute errors"
    if not all(row.is_inside for row in rows):
        legend += "; *: measured outside the 90 % interval"
    disturbed = sum(row.is_disturbed for row in rows)
    if disturbed:
        legend += f"; {MARK}: runs {OTHERS}"
        legend += ", not in median and worst" if disturbed < len(rows) else ""
    means = "; ".join(f"{TITLES[way]}: {MEANINGS[each.schedule][way]}" for way in ways)
    return Table(
        title="Errors",
        forms=(Form(columns=every), Form(columns=[*named, every[-1]])),
        is_spaced=False,
        legend=f"{means}; {legend}",
    )


def _facts(each: ValidatedSchedule) -> Iterator[Fact]:
    """Give the verdict, and what the prediction is based on."""
    yield Fact("law", _verdict(each))
    costs, found = each.costs, each.calibration
    sizes = sorted({run.point.items for run in each.small})
    layouts = sorted({run.point.layout for run in each.small}, key=lambda x: (x.total, x))
    yield Fact(
        "calibration",
        f"{len(each.small)} runs, N = {sizes[0]:,} to {sizes[-1]:,}, PxG = "
        f"{', '.join(map(str, layouts))}",
    )
    unit = "step" if each.schedule == "source" else "item on a core"
    yield Fact("", f"T_0: {found.startup}")
    yield Fact("", f"{unit}: {found.step}")
    if found.level is not None:
        yield Fact("", f"level of the tree: {found.level}")
    yield Fact(
        "measured",
        f"T_comp {_time(costs.task)} ({_time(costs.processor)} of processor time), "
        f"T_merge {_time(costs.merge)}",
    )
    if costs.bytes:
        exposed = (
            f", {_time(costs.exposed)} after the last task" if each.schedule == "adaptive" else ""
        )
        yield Fact("", f"T_comm {_time(costs.message)} from sending to taking it up{exposed}")
        which = "capacity of the link" if costs.is_nominal else "rate of the quickest tenth"
        yield Fact(
            "messages",
            f"{format_quantity(costs.bytes, 'size')}, cv2 {rounded(costs.cv2, 2)}; C = "
            f"{format_quantity(costs.capacity, 'rate')}, {which}",
        )


def _verdict(each: ValidatedSchedule) -> str:
    """Say whether the calibrated law agrees with the runs, and by which rule."""
    accuracy = each.accuracy(CALIBRATED)
    if accuracy is None:
        return "inconclusive: nothing was measured"
    text = (
        f"{WORDS[each.holds]}: calibrated, median error {100 * accuracy.median:.1f} %, worst "
        f"{100 * accuracy.worst:.1f} % of {accuracy.points} rows"
    )
    if each.reason:
        return f"{text}, but {each.reason}. Repeat on an idle machine"
    return f"{text} (required: {100 * MEDIAN:.0f} %, {100 * WORST:.0f} %)"


def _time(seconds: float) -> str:
    return format_quantity(seconds, "time")


def _conditions(result: PipelineValidation) -> Iterator[Fact]:
    """Say where and under which conditions it was measured."""
    place = result.place.rstrip(".") or f"this machine, {result.cores} cores"
    yield Fact("machine", place)
    if result.load is not None:
        yield Fact("load", f"{result.load[0]:.1f} before, {result.load[1]:.1f} after")
    rows = [row for each in result.schedules for row in each.rows_]
    disturbed = sum(len(row.others) + len(row.runs) * row.is_disturbed for row in rows)
    made = sum(len(row.runs) + len(row.others) for row in rows)
    if disturbed:
        used = sum(row.is_disturbed for row in rows)
        text = f"{disturbed} of {made} runs; repeated"
        yield Fact(
            "disturbed", text + (f", but used in {used} rows for lack of others" if used else "")
        )
    if result.ended_by:
        yield Fact(
            "stopped by",
            f"{result.ended_by}: {sum(bool(x.runs) for x in rows)} of "
            f"{len(rows)} rows were measured",
        )


def _warnings(result: PipelineValidation) -> Iterator[str]:
    """Say what a reader must know."""
    rows = [row for each in result.schedules for row in each.rows_]
    shared = sorted({row.point.layout.total for row in rows if row.is_shared})
    if shared:
        what = "hosts" if result.place else "cores"
        counts = ", ".join(map(str, shared))
        yield RankedWarning(
            f"{counts} ranks share {result.cores} {what}: the work of a step is divided by "
            f"the {what}, in all ways. The waste of the published schedule is hidden, as ranks "
            "that wait need no core.",
            kind="shared cores",
        )
    for each in result.schedules:
        if each.most_disturbed:
            yield RankedWarning(
                f"Most small runs of the {each.schedule} schedule were {OTHERS}. Repeat on an "
                "idle machine.",
                rank=Rank.SERIOUS,
            )
        yield from each.calibration.warnings
