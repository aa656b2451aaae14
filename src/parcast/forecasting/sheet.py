"""A forecast for a person: a table of all series, and under it what to think of each.

Where the table does not fit, the names of the series become titles above their rows; where that
does not fit either, each row becomes a few lines. Planned runs have a table of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS, format_quantity, percent, shown
from parcast.words import (
    common_unit,
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
    whole,
)

Values = tuple[str | float, ...]  # of the key of a series
LEGEND: Final = {
    "x": "xN: N times beyond the measured counts",
    "outside": "outside: what was measured lies outside the interval",
    "past": "past knee: more processors than are worth it",
}
MOST_SERIES: Final = 20  # shown unless all are asked for
MOST_REFUSED: Final = 5
TITLE: Final = "next runs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One row of the table, as texts."""

    key: Mapping[str, str]
    p: str
    time: str
    lower: str
    upper: str
    speedup: str
    efficiency: str
    measured: str  # "" where it is not known
    error: str  # "" where the forecast was told what was measured
    remarks: tuple[str, ...]  # "x16", "outside", "past knee"

    @property
    def remark(self) -> str:
        """All remarks in a few words."""
        return ", ".join(self.remarks)


def sheet_of(forecast: Forecast, *, knees: Sequence[Any] = (), show_all: bool = False) -> Sheet:
    """Everything that is said of a forecast: a table of all series, and a part for each.

    Of many series those with the largest times are shown, unless all are asked for.
    """
    shown_series, left_out = forecast, ""
    by_series = {tuple(knee.key.values()): knee for knee in knees}
    if len(forecast.notes) > MOST_SERIES and not show_all:
        shown_series = _slowest(forecast)
        left_out = (
            f"{len(forecast.notes) - MOST_SERIES} more series are not shown; these "
            f"{MOST_SERIES} take longest. All of them"
        )
    parts = [
        Sheet(
            title=note.label,
            facts=tuple(_facts(note, by_series.get(tuple(note.key.values())))),
            warnings=note.warnings,
        )
        for note in shown_series.notes
    ]
    parts.append(Sheet(warnings=tuple(_refused(forecast.refused, show_all=show_all))))
    return Sheet(
        tables=(table_of(shown_series, {x: knee.p for x, knee in by_series.items()}),),
        parts=tuple(parts),
        left_out=left_out,
    )


def _slowest(forecast: Forecast) -> Forecast:
    """Keep the series with the largest times at the largest count, the largest first."""
    places = (len(forecast.notes), -1)
    last = int(np.argmax(forecast.p))
    at_last = np.reshape(forecast.time, places)[:, last]
    kept = np.argsort(-at_last, kind="stable")[:MOST_SERIES]
    columns = ("time", "lower", "upper", "speedup", "efficiency", "reach", "observed")
    return replace(
        forecast,
        notes=tuple(forecast.notes[i] for i in kept.tolist()),
        **{name: getattr(forecast, name)[kept] for name in columns},
    )


def _facts(note: SeriesNotes, knee: Any) -> Iterator[Fact]:
    """Give what a series' forecast rests on and how far it goes."""
    if note.shares is not None:
        now, then = (percent(part) for part in note.shares)
        last = whole(note.measured[1])
        yield Fact("share", f"{then} of all time at the largest p asked for, {now} at p = {last}")
    yield Fact("scaling", f"{note.scaling}: {note.scaling_reason}")
    yield Fact("limited by", note.limited_by)
    yield Fact("rests on", note.rests_on)
    if note.elsewhere:
        yield Fact("elsewhere", note.elsewhere)
    if knee is not None:
        yield Fact("knee", str(knee))


def _refused(refused: Mapping[str, str], *, show_all: bool) -> Iterator[str]:
    """Name the series that have no forecast, the first of them where there are many."""
    listed = list(refused.items())[: None if show_all else MOST_REFUSED]
    for label, why in listed:
        yield f"{label}: no forecast. {why}"
    more = len(refused) - len(listed)
    if more:
        yield f"{more} more series have no forecast. All of them: --all or --json."


def table_of(forecast: Forecast, knees: Mapping[Values, int] | None = None) -> Table:
    """Table of all that a forecast holds.

    `knees` are the largest counts worth it for the series of these values; larger ones are marked.
    """
    unit, lines = lines_of(forecast, knees=knees)
    share = f"{forecast.interval * 100:g} %"
    keys = [
        Column(title=name, cells=[line.key[name] for line in lines], align="left")
        for name in lines[0].key
    ]
    values = _columns(lines, unit, share)
    forms = [Form(columns=[*keys, *values])]
    if keys:
        titles = [", ".join(f"{name} {x}" for name, x in line.key.items()) for line in lines]
        forms.append(Form(columns=values, titles=titles))
    return Table(
        forms=tuple(forms),
        in_full=tuple(_in_full(line, unit, share) for line in lines),
        legend=_legend(forecast, lines),
    )


def _columns(lines: Sequence[Line], unit: str, share: str) -> list[Column]:
    """Columns besides those that tell the series apart."""
    columns = [
        Column(title="p", cells=[line.p for line in lines]),
        Column(title="time", unit=f"[{unit}]", cells=[line.time for line in lines]),
        interval_column(
            f"{share} interval", f"[{unit}]", [(line.lower, line.upper) for line in lines]
        ),
        Column(title="speedup", cells=[line.speedup for line in lines]),
        Column(title="efficiency", unit="[%]", cells=[line.efficiency for line in lines]),
    ]
    if any(line.measured for line in lines):
        measured = [line.measured for line in lines]
        columns.append(Column(title="measured", unit=f"[{unit}]", cells=measured))
    if any(line.error for line in lines):
        columns.append(Column(title="error", unit="[%]", cells=[line.error for line in lines]))
    remarks = [line.remark for line in lines]
    return [*columns, Column(title="", cells=remarks, align="left")]


def _in_full(line: Line, unit: str, share: str) -> Entry:
    """Give one row, for a page too narrow for a table."""
    named = "".join(f"{name} {value}, " for name, value in line.key.items())
    remark = f" ({line.remark})" if line.remark else ""
    error = f" (error {line.error} %)" if line.error else ""
    return Entry(
        title=f"{named}p = {line.p}{remark}",
        facts=(
            Fact("time", f"{line.time} {unit}"),
            Fact("", f"{share} interval {line.lower} to {line.upper} {unit}"),
            Fact("speedup", line.speedup),
            Fact("efficiency", f"{line.efficiency} %"),
            Fact("measured", f"{line.measured} {unit}{error}" if line.measured else ""),
        ),
    )


def _legend(forecast: Forecast, lines: Sequence[Line]) -> str:
    """Explain the remarks that occur, and what speedup is over unless it is one processor."""
    remarks = " ".join(remark for line in lines for remark in line.remarks)
    meanings = [meaning for word, meaning in LEGEND.items() if word in remarks]
    first = {note.measured[0] for note in forecast.notes}
    if first != {1}:
        over = f"p = {whole(first.pop())}, " if len(first) == 1 else ""
        meanings.append(f"speedup and efficiency: over {over}the smallest measured count")
    return "; ".join(meanings)


def lines_of(
    forecast: Forecast, *, knees: Mapping[Values, int] | None = None
) -> tuple[str, list[Line]]:
    """Rows of a forecast as texts, and the unit that their times share."""
    unit = common_unit(forecast.time.ravel().tolist())
    place = {tuple(key.values()): i for i, key in enumerate(forecast.measured.keys)}
    lines = []
    for row in forecast.rows():
        series = tuple(row[name] for name in forecast.by)
        was_given = row["p"] in forecast.measured.p[place[series]]
        most = (knees or {}).get(series, row["p"])
        key = {name: f"{row[name]}" for name in forecast.by}
        lines.append(_line(key, row, TIME_UNITS[unit], was_given=was_given, past=row["p"] > most))
    return unit, lines


def _line(
    key: Mapping[str, str], row: Mapping[str, Any], second: float, *, was_given: bool, past: bool
) -> Line:
    """Turn one row into texts."""
    time, lower, upper, measured = (
        row[name] and row[name] / second for name in ("time_s", "lower_s", "upper_s", "measured_s")
    )
    digits = supported_digits(lower, upper)
    texts = rounded_interval(time, lower, upper)
    remarks = []
    if row["reach"] > 1:
        remarks.append(f"x{format_quantity(row['reach'], 'count')}")
    if measured is not None and not lower <= measured <= upper:
        remarks.append("outside")
    if past:
        remarks.append("past knee")
    return Line(
        key=key,
        p=str(row["p"]),
        time=texts[0],
        lower=texts[1],
        upper=texts[2],
        speedup=rounded(row["speedup"], digits),
        efficiency=rounded(100 * row["efficiency"], digits),
        measured="" if measured is None else rounded(measured, max(digits, 3)),
        error="" if measured is None or was_given else signed_percent(time / measured - 1),
        remarks=tuple(remarks),
    )


def sheet_of_plan(runs: Sequence[Any]) -> Sheet:
    """Everything that is said of planned runs, of one program or several, the best first."""
    if not runs:
        text = "none: no run below the counts asked for would narrow the interval by 5 %"
        return Sheet(tables=(Table(title=TITLE, in_full=(Entry(lines=(text,)),)),))
    numbers = numbers_of(runs)
    columns = _plan_columns(runs, numbers)
    rows = zip(*([x.title, x.unit, *x.cells] for x in columns), strict=True)
    target = ", ".join(f"{name} = {_cell(value)}" for name, value in runs[0].target.items())
    table = Table(
        title=TITLE,
        forms=(Form(columns=columns),),
        in_full=(Entry(lines=tuple("  ".join(" ".join(row).split()) for row in rows)),),
        notes=tuple(
            Fact(f"run {number}", f"{run.label}: {run.because}" if run.label else run.because)
            for number, run in zip(numbers, runs, strict=True)
        ),
        legend=(
            f"width: upper / lower of the interval at {target}, as expected; a run that "
            "contradicts those before it narrows nothing"
        ),
    )
    return Sheet(tables=(table,))


def numbers_of(runs: Sequence[Any]) -> list[int]:
    """Number the planned runs of each program from 1."""
    counted: dict[str, int] = {}
    numbers = []
    for run in runs:
        counted[run.label] = counted.get(run.label, 0) + 1
        numbers.append(counted[run.label])
    return numbers


def _plan_columns(runs: Sequence[Any], numbers: Sequence[int]) -> list[Column]:
    """Give what each run is and what it is expected to do."""
    unit = common_unit([run.time for run in runs])
    times = [
        rounded_interval(*(x / TIME_UNITS[unit] for x in (run.time, run.lower, run.upper)))
        for run in runs
    ]
    axes = dict.fromkeys(name for run in runs for name in run.at)
    keys = dict.fromkeys(name for run in runs for name in run.key)
    labels = {name: [_cell(run.key.get(name, "")) for run in runs] for name in keys}
    return [
        Column(title="", cells=[str(number) for number in numbers]),
        *(Column(title=name, cells=cells, align="left") for name, cells in labels.items()),
        *(Column(title=name, cells=[_cell(run.at[name]) for run in runs]) for name in axes),
        Column(title="time", unit=f"[{unit}]", cells=[x for x, _, _ in times]),
        interval_column("90 % interval", f"[{unit}]", [(x, y) for _, x, y in times]),
        Column(
            title="cost", unit="[p x s]", cells=[format_quantity(x.cost, "count") for x in runs]
        ),
        Column(title="width", unit="before", cells=[_interval_width(run.before) for run in runs]),
        Column(title="width", unit="after", cells=[_interval_width(run.after) for run in runs]),
    ]


def _cell(value: Any) -> str:
    """Write the value of an axis or a label."""
    return shown(value, limit=10_000) if isinstance(value, str) else f"{whole(value)}"


def _interval_width(half: float) -> str:
    """Write upper / lower of an interval."""
    return format_quantity(float(np.exp(2 * half)), "count", 3)
