"""A forecast for a person: a table of all series, and under it what to think of each.

Where the table does not fit, the names of the series become titles above their rows; where that
does not fit either, each row becomes a few lines. Planned runs have a table of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.show.warning import Rank, RankedWarning
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
MAY_BE_EMPTY: Final = ("measured", "error")  # columns that are left out then
MOST_SERIES: Final = 20  # shown unless all are asked for
REFUSED: Final[dict[str, Any]] = {"kind": "no forecast", "rank": Rank.UNUSABLE}
TITLE: Final = "next runs"


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
    parts += [
        Sheet(title=label, warnings=(RankedWarning(f"No forecast. {why}", **REFUSED),))
        for label, why in forecast.refused.items()
    ]
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


def table_of(forecast: Forecast, knees: Mapping[Values, int] | None = None) -> Table:
    """Table of all that a forecast holds.

    `knees` are the largest counts worth it for the series of these values; larger ones are marked.
    """
    unit = common_unit(forecast.time.ravel().tolist())
    rows = [_scaled(row, TIME_UNITS[unit]) for row in forecast.rows()]
    remarks = [
        tuple(_remarks(row, (knees or {}).get(tuple(row[name] for name in forecast.by))))
        for row in rows
    ]
    keys = [
        Column(title=name, cells=[f"{row[name]}" for row in rows], align="left")
        for name in forecast.by
    ]
    columns = _columns(forecast, rows, unit)
    columns["remarks"] = Column(title="", cells=[", ".join(x) for x in remarks], align="left")
    values = [x for name, x in columns.items() if name not in MAY_BE_EMPTY or any(x.cells)]
    forms = [Form(columns=[*keys, *values])]
    count = range(len(rows))
    if keys:
        titles = [", ".join(f"{x.title} {x.cells[k]}" for x in keys) for k in count]
        forms.append(Form(columns=values, titles=titles))
    return Table(
        forms=tuple(forms),
        in_full=tuple(_in_full(keys, columns, k, unit) for k in count),
        legend=_legend(forecast, remarks),
    )


def _scaled(row: Mapping[str, Any], second: float) -> dict[str, Any]:
    """Give a row of a forecast with its times in another unit."""
    times = ("time_s", "lower_s", "upper_s", "measured_s")
    return {**row, **{name: row[name] and row[name] / second for name in times}}


def _remarks(row: Mapping[str, Any], most: int | None) -> Iterator[str]:
    """Remark on one row; `most` is the knee of its series."""
    if row["reach"] > 1:
        yield f"x{format_quantity(row['reach'], 'count')}"
    if row["measured_s"] is not None and not row["lower_s"] <= row["measured_s"] <= row["upper_s"]:
        yield "outside"
    if most is not None and row["p"] > most:
        yield "past knee"


def _columns(
    forecast: Forecast, rows: Sequence[Mapping[str, Any]], unit: str
) -> dict[str, Column]:
    """Columns besides those that tell the series apart."""
    times = [rounded_interval(x["time_s"], x["lower_s"], x["upper_s"]) for x in rows]
    share = f"{forecast.interval * 100:g} % interval"
    speedup, efficiency, measured = [], [], []
    for row in rows:
        digits = supported_digits(row["lower_s"], row["upper_s"])
        speedup.append(rounded(row["speedup"], digits))
        efficiency.append(rounded(100 * row["efficiency"], digits))
        time = row["measured_s"]
        measured.append("" if time is None else rounded(time, max(digits, 3)))
    return {
        "p": Column(title="p", cells=[str(row["p"]) for row in rows]),
        "time": Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in times]),
        "interval": interval_column(share, f"[{unit}]", [x[1:] for x in times]),
        "speedup": Column(title="speedup", cells=speedup),
        "efficiency": Column(title="efficiency", unit="[%]", cells=efficiency),
        "measured": Column(title="measured", unit=f"[{unit}]", cells=measured),
        "error": Column(title="error", unit="[%]", cells=[*_errors(forecast, rows)]),
    }


def _errors(forecast: Forecast, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Error of each time [%], "" where the forecast knew what was measured, or nothing was."""
    counts = {
        tuple(key.values()): p
        for key, p in zip(forecast.measured.keys, forecast.measured.p, strict=True)
    }
    for row in rows:
        was_given = row["p"] in counts[tuple(row[name] for name in forecast.by)]
        is_known = was_given or row["measured_s"] is None
        yield "" if is_known else signed_percent(row["time_s"] / row["measured_s"] - 1)


def _in_full(keys: Sequence[Column], columns: Mapping[str, Column], k: int, unit: str) -> Entry:
    """Give row `k`, for a page too narrow for a table."""
    named = "".join(f"{x.title} {x.cells[k]}, " for x in keys)
    cells = {name: column.cells[k] for name, column in columns.items()}
    remark = f" ({cells['remarks']})" if cells["remarks"] else ""
    error = f" (error {cells['error']} %)" if cells["error"] else ""
    return Entry(
        title=f"{named}p = {cells['p']}{remark}",
        facts=(
            Fact("time", f"{cells['time']} {unit}"),
            Fact("", f"{columns['interval'].title} {cells['interval']} {unit}"),
            Fact("speedup", cells["speedup"]),
            Fact("efficiency", f"{cells['efficiency']} %"),
            Fact("measured", f"{cells['measured']} {unit}{error}" if cells["measured"] else ""),
        ),
    )


def _legend(forecast: Forecast, remarks: Sequence[Sequence[str]]) -> str:
    """Explain the remarks that occur, and what speedup is over unless it is one processor."""
    every = " ".join(remark for row in remarks for remark in row)
    meanings = [meaning for word, meaning in LEGEND.items() if word in every]
    first = {note.measured[0] for note in forecast.notes}
    if first != {1}:
        over = f"p = {whole(first.pop())}, " if len(first) == 1 else ""
        meanings.append(f"speedup and efficiency: over {over}the smallest measured count")
    return "; ".join(meanings)


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
