"""A forecast for a person: a table of all series, and below it what the forecast is based on.

Of several series, columns are left out until the table fits. Where nothing helps, the names of
the series become titles above their rows, and at last each row becomes a few lines.

Of several series the facts are brought together, and those on each of them are details.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.own_runs.call_paths import PATH
from parcast.forecasting.result import Forecast
from parcast.forecasting.series.notes import SeriesNotes
from parcast.forecasting.series.totals import Totals
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.show.warning import Rank, RankedWarning, minor
from parcast.timings.measure import seconds_in
from parcast.units import format_quantity, in_percent, percent, shown
from parcast.words import (
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
    whole,
    whole_percent,
)

Values = tuple[str | float, ...]  # of the key of a series
Row = Mapping[str, Any]
LEGEND: Final = {
    "x": "xN: extrapolated by a factor of N",
    "outside": "outside: the measured time is not in the interval",
    "past": "past knee: p is beyond the knee",
    "no forecast": "no forecast: the first lines say why",
}
TOTALS: Final = {  # columns of rows by those of totals
    **{f"{name}_s": name for name in ("time", "lower", "upper")},
    **{name: name for name in ("speedup", "efficiency", "reach")},
    "measured_s": "observed",
}
SHORT: Final = "eff."
SPEEDUP: Final = ("speedup", "efficiency")
LEFT_OUT: Final = (  # columns of several series, until the table fits
    (),
    ("speedup",),
    ("speedup", "efficiency"),
    ("speedup", "efficiency", "limit"),
    ("speedup", "efficiency", "limit", "share"),
)
MOST_SERIES: Final = 20  # shown unless all are asked for
NEARLY_ALL: Final = 0.95  # of the time: warnings on call paths that take the rest are minor [D]
NAMED_LAWS: Final = 3  # those that weigh most
REFUSED: Final[dict[str, Any]] = {"kind": "no forecast", "rank": Rank.UNUSABLE}


def table_of(
    forecast: Forecast,
    knees: Mapping[Values, int] | None = None,
    totals: Totals | None = None,
) -> Table:
    """Table of all that a forecast holds, and below it the totals of profiles that are sums.

    `knees` are those of the series of these values; rows beyond them are marked.
    """
    unit = forecast.measure.time_unit(forecast.time)
    rows = [_scaled(row, seconds_in(unit)) for row in _rows(forecast, totals)]
    remarks = [tuple(_remarks(row, (knees or {}).get(_values(row, forecast)))) for row in rows]
    keys = [
        Column(title=name, cells=[f"{row[name]}" for row in rows], align="left")
        for name in forecast.by
    ]
    columns = _columns(forecast, rows, unit)
    columns["remarks"] = Column(title="", cells=[", ".join(x) for x in remarks], align="left")
    return Table(
        forms=tuple(_forms(forecast, keys, columns)),
        in_full=tuple(_in_full(keys, columns, k, unit) for k in range(len(rows))),
    )


def _rows(forecast: Forecast, totals: Totals | None) -> Iterator[dict[str, Any]]:
    """Rows of a forecast with what limits each series and its share.

    Then those of profiles, as far as none of the call paths shown is all of one.
    """
    counts = np.ravel(forecast.p).tolist()
    furthest = len(counts) - 1 - int(np.argmax(counts[::-1]))
    whole_time = _whole_times(forecast, totals)
    rows = forecast.rows()
    for i, note in enumerate(forecast.notes):
        for j in range(len(counts)):
            row = next(rows)
            share = row["time_s"] / whole_time[i, j]
            if note.shares is not None:
                share = note.shares[1] if j == furthest else np.nan
            yield {
                **row,
                "share": share,
                "limit": note.limit if j == furthest else "",
                "has_none": counts[j] in note.no_forecast,
            }
    if totals is None:
        return
    is_own = any(note.shares is not None for note in forecast.notes)
    empty = dict.fromkeys(row, None)
    shown = np.reshape(forecast.time, (len(forecast.notes), len(counts)))
    for i, parts in enumerate(totals.parts.tolist()):
        is_shown = parts == 1 and np.isclose(shown, totals.time[i], rtol=1e-12).all(axis=1).any()
        for j, p in enumerate([] if is_shown else counts):
            values = {
                name: None if np.isnan(value) else value
                for name, column in TOTALS.items()
                for value in [float(getattr(totals, column)[i, j])]
            }
            name = f"total of {parts}" if parts > 1 else "total"
            key = {**totals.keys[i], PATH: name, "p": whole(p)}
            share = 1.0 if j == furthest or not is_own else np.nan
            yield {**empty, **key, **values, "share": share, "limit": "", "has_none": False}


def _whole_times(forecast: Forecast, totals: Totals | None) -> Array:
    """Time of the profile of each series, (series, points) [s]; NaN where there is none."""
    times = np.full((len(forecast.notes), np.size(forecast.p)), np.nan)
    if totals is None or forecast.curve is None:
        return times
    row_of = {tuple(key.values()): i for i, key in enumerate(forecast.curve.series.keys)}
    rows = np.array([row_of[tuple(note.key.values())] for note in forecast.notes])
    several = np.bincount(totals.profile)[totals.profile[rows]] > 1
    times[several] = totals.time[totals.profile[rows]][several]
    return times


def _forms(
    forecast: Forecast, keys: Sequence[Column], columns: Mapping[str, Column]
) -> Iterator[Form]:
    """Ways to write the table: all columns, fewer and fewer of them, and names as titles."""
    present = {x: y for x, y in columns.items() if x == "remarks" or any(y.cells)}
    if len(forecast.notes) < 2:
        present.pop("limit", None)
    elif {*columns["remarks"].cells} - {""} == {f"x{_times(float(np.min(forecast.reach)))}"}:
        del present["remarks"]  # the same in every row
    names = [key.title for key in keys]
    titles = [", ".join(map(" ".join, zip(names, cells, strict=True))) for cells in _cells(keys)]
    short = {}
    if "efficiency" in columns:
        short = {
            "efficiency": replace(columns["efficiency"], title=SHORT, heading="efficiency [%]")
        }
    layouts = (keys, ()), ((), titles)
    for others, heads in layouts[: 2 if keys else 1]:
        for left_out in LEFT_OUT if keys else ((),):
            kept = {x: y for x, y in present.items() if x not in left_out}
            for shorter in ({}, short) if left_out == ("speedup",) else ({},):
                used = kept | shorter
                legend = _legend(forecast, used)
                yield Form(columns=[*others, *used.values()], titles=heads, legend=legend)


def _cells(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    """Cells of some columns, row by row."""
    yield from zip(*(column.cells for column in columns), strict=True)


def _scaled(row: Row, second: float) -> dict[str, Any]:
    """Give a row of a forecast with its times in another unit."""
    times = ("time_s", "lower_s", "upper_s", "measured_s")
    return {**row, **{name: row[name] and row[name] / second for name in times}}


def _remarks(row: Row, most: int | None) -> Iterator[str]:
    """Remark on one row; `most` is the knee of its series."""
    if row["reach"] and row["reach"] > 1:
        yield f"x{_times(row['reach'])}"
    if row["measured_s"] is not None and not row["lower_s"] <= row["measured_s"] <= row["upper_s"]:
        yield "outside"
    if most is not None and row["p"] > most:
        yield "past knee"
    if row["has_none"]:
        yield "no forecast"


def _times(reach: float) -> str:
    """Write by how much p lies beyond the measured counts."""
    return format_quantity(reach, "count")


def _columns(forecast: Forecast, rows: Sequence[Row], unit: str) -> dict[str, Column]:
    """Columns besides those that distinguish the series."""
    times = [rounded_interval(x["time_s"], x["lower_s"], x["upper_s"]) for x in rows]
    interval = f"{forecast.interval * 100:g}% interval"
    cells: dict[str, list[str]] = {name: [] for name in (*SPEEDUP, "measured", "share")}
    for row in rows:
        digits = supported_digits(row["lower_s"], row["upper_s"])
        for name, factor, needed in (
            ("speedup", 1, digits),
            ("efficiency", 100, digits),
            ("measured_s", 1, max(digits, 3)),
        ):
            value = row[name]
            text = "" if value is None else rounded(factor * value, needed)
            cells[name.removesuffix("_s")].append(text)
        cells["share"].append("" if np.isnan(row["share"]) else whole_percent(row["share"]))
    is_own = any(note.shares is not None for note in forecast.notes)
    measure, shown = forecast.measure, f"[{unit}]"
    columns = {
        "p": Column(title="p", cells=[str(row["p"]) for row in rows]),
        "time": Column(title=measure.time_title, unit=shown, cells=[x[0] for x in times]),
        "interval": interval_column(interval, shown, [x[1:] for x in times]),
        **_rates(forecast, rows, unit, interval),
        "share": Column(
            title="own share" if is_own else "share", unit="[%]", cells=cells["share"]
        ),
        "speedup": Column(title="speedup", cells=cells["speedup"]),
        "efficiency": Column(title="efficiency", unit="[%]", cells=cells["efficiency"]),
        "measured": Column(title="measured", unit=shown, cells=cells["measured"]),
        "error": Column(title="error", unit="[%]", cells=[*_errors(forecast, rows)]),
        "limit": Column(title="limited by", cells=[x["limit"] for x in rows], align="left"),
    }
    if forecast.is_without_p:
        for name in ("p", *SPEEDUP):
            del columns[name]
    elif measure.is_relative:  # the speedup that was measured stands there, with its interval
        del columns["speedup"]
    return columns


def _rates(forecast: Forecast, rows: Sequence[Row], unit: str, interval: str) -> dict[str, Column]:
    """Columns of what was measured in place of times, in the unit it came in."""
    measure = forecast.measure
    if measure.is_time:
        return {}
    times = [[row[name] for name in ("time_s", "upper_s", "lower_s")] for row in rows]
    rates = measure.rates(np.array(times, dtype=np.float64) * seconds_in(unit))
    cells = [rounded_interval(*each) for each in rates.tolist()]
    return {
        "rate": Column(title=measure.axis_title, cells=[x[0] for x in cells]),
        "rate interval": interval_column(interval, "", [x[1:] for x in cells]),
    }


def _errors(forecast: Forecast, rows: Sequence[Row]) -> Iterator[str]:
    """Error of each time [%], "" where the measured time was used, or there is none."""
    counts = {
        tuple(key.values()): p
        for key, p in zip(forecast.measured.keys, forecast.measured.p, strict=True)
    }
    for row in rows:
        known = counts.get(_values(row, forecast), forecast.measured.p[0])  # that of a total
        if row["measured_s"] is None or row["p"] in known:
            yield ""
        else:
            yield signed_percent(row["time_s"] / row["measured_s"] - 1)


def _values(row: Row, forecast: Forecast) -> Values:
    """Values that distinguish the series of a row."""
    return tuple(row[name] for name in forecast.by)


def _in_full(keys: Sequence[Column], columns: Mapping[str, Column], k: int, unit: str) -> Entry:
    """Give row `k`, for a page too narrow for a table."""
    named = "".join(f"{x.title} {x.cells[k]}, " for x in keys)
    cells = {name: column.cells[k] for name, column in columns.items()}
    remark = f" ({cells['remarks']})" if cells["remarks"] else ""
    error = f" (error {cells['error']}%)" if cells["error"] else ""
    in_unit = "" if unit == "1" else f" {unit}"
    count = f"p = {cells['p']}" if "p" in cells else named.rstrip(", ")
    return Entry(
        title=f"{named if 'p' in cells else ''}{count}{remark}",
        facts=(
            Fact(columns["time"].title, f"{cells['time']}{in_unit}"),
            Fact("", f"{columns['interval'].title} {cells['interval']}{in_unit}"),
            *(
                (Fact(columns["rate"].title, f"{cells['rate']} ({cells['rate interval']})"),)
                if "rate" in cells
                else ()
            ),
            Fact(columns["share"].title, f"{cells['share']}%" if cells["share"] else ""),
            Fact("speedup", cells.get("speedup", "")),
            Fact("efficiency", f"{cells['efficiency']}%" if cells.get("efficiency") else ""),
            Fact("limited by", cells["limit"]),
            Fact("measured", f"{cells['measured']}{in_unit}{error}" if cells["measured"] else ""),
        ),
    )


def _legend(forecast: Forecast, columns: Mapping[str, Column]) -> str:
    """Explain the remarks and the columns that occur, as far as they need it."""
    if "remarks" in columns:
        every = " ".join(columns["remarks"].cells)
        meanings = [meaning for word, meaning in LEGEND.items() if word in every]
    else:
        meanings = [f"extrapolated by a factor of {_times(float(np.max(forecast.reach)))}"]
    first = {note.measured[0] for note in forecast.notes}
    base = ""
    if first != {1}:
        only = f"p = {whole(min(first))}, " if len(first) == 1 else ""
        base = f"relative to {only}the smallest measured p"
    ratios = [columns[name].title for name in SPEEDUP if name in columns]
    if ratios == [SHORT]:
        meanings.append(f"{SHORT}: efficiency {base}".strip())
    elif ratios and base:
        meanings.append(f"{' and '.join(ratios)}: {base}")
    if "share" in columns:
        of = "of the time of all call paths"
        is_own = columns["share"].title != "share"
        meanings.append(f"own share: {of}, without callees" if is_own else f"share: {of}")
    if "limit" in columns and np.size(forecast.p) > 1:
        meanings.append("limited by: at the largest count")
    return "; ".join(meanings)


def sheet_of(forecast: Forecast, *, knees: Sequence[Any] = (), show_all: bool = False) -> Sheet:
    """Everything that is said of a forecast: a table, facts on all series, and on each.

    Of many series those with the largest times are shown, unless all are asked for.
    """
    shown, left_out = forecast, ""
    by_series = {tuple(knee.key.values()): knee for knee in knees}
    if len(forecast.notes) > MOST_SERIES and not show_all:
        shown = forecast.take(forecast.slowest(MOST_SERIES))
        left_out = (
            f"{len(forecast.notes) - MOST_SERIES} more series are not shown; these "
            f"{MOST_SERIES} take longest. All of them"
        )
    is_one = len(forecast.notes) == 1
    labels = {note.label for note in shown.notes}
    parts = [
        Sheet(
            title=note.label,
            facts=tuple(
                fact if is_one else replace(fact, is_detail=True)
                for fact in (_facts(note, forecast) if note.label in labels else ())
            ),
            warnings=note.warnings if matters else tuple(map(minor, note.warnings)),
        )
        for note, matters in zip(forecast.notes, _matter(forecast), strict=True)
    ]
    parts += [
        Sheet(title=label, warnings=(RankedWarning(f"No forecast. {why}", **REFUSED),))
        for label, why in forecast.refused.items()
    ]
    found = [by_series.get(tuple(x.key.values())) for x in shown.notes]
    knee_facts = [*_knee_facts([knee for knee in found if knee])]
    if is_one:
        facts = (*_facts_on_measure(forecast), *parts[0].facts, *_on_memory(forecast), *knee_facts)
        parts[0] = replace(parts[0], facts=facts)
    known = {x: knee.p for x, knee in by_series.items()}
    return Sheet(
        tables=(table_of(shown, known, forecast.totals),),
        facts=() if is_one else (*_facts_on_all(forecast), *knee_facts),
        parts=tuple(parts),
        left_out=left_out,
    )


def sheet_of_knees(knees: Sequence[Any]) -> Sheet:
    """Everything that is said of the knees of some series, as a table."""
    if not knees:
        return Sheet(tables=(Table(in_full=(Entry(lines=("No series has a forecast.",)),)),))
    columns = [
        *(
            Column(title=name, cells=[f"{whole(x.key[name])}" for x in knees], align="left")
            for name in knees[0].key
        ),
        Column(title="knee", unit="p", cells=[str(x.p) for x in knees]),
        Column(title="90%", unit="interval", cells=[x.interval for x in knees]),
        Column(title=SHORT, unit="[%]", cells=[in_percent(x.efficiency) for x in knees]),
        Column(title="because", cells=[x.why for x in knees], align="left"),
    ]
    warnings = [
        RankedWarning(f"{x.label}: {x.verdict}" if x.label else x.verdict, rank=Rank.VERDICT)
        for x in knees
        if x.verdict
    ]
    return Sheet(tables=(Table(forms=(Form(columns=columns),)),), warnings=tuple(warnings))


def _knee_facts(knees: Sequence[Any]) -> Iterator[Fact]:
    """Give the knees, and what a run at each of them needs."""
    for name, texts in (
        ("knee", [f"{knee}" for knee in knees]),
        ("request", [f"p = {knee.p}: {knee.request}" for knee in knees if knee.request]),
    ):
        for i, (knee, text) in enumerate(zip(knees, texts, strict=False)):  # all or none request
            yield Fact("" if i else name, f"{knee.label}: {text}" if knee.label else text)


def _matter(forecast: Forecast) -> list[bool]:
    """Tell which series may take notable time at the largest count, by the ends of intervals.

    Call paths outside the largest ones, which make up nearly all of the time, do not.
    """
    if forecast.totals is None:
        return [True] * len(forecast.notes)
    most = np.reshape(forecast.upper, (len(forecast.notes), -1))[:, np.argmax(forecast.p)]
    order = np.argsort(-most, kind="stable")
    before = np.cumsum(most[order]) - most[order]
    matters = np.empty(len(most), dtype=bool)
    matters[order] = before < NEARLY_ALL * most.sum()
    return matters.tolist()


def _facts(note: SeriesNotes, forecast: Forecast) -> Iterator[Fact]:
    """Give how a series scales, and what its forecast is based on."""
    if note.shares is not None:
        now, then = (percent(part) for part in note.shares)
        last = whole(note.measured[1])
        yield Fact("own share", f"{then} of all time at the largest p, {now} at p = {last}")
    if not forecast.is_without_p:
        yield Fact("scaling", f"{note.scaling} ({note.scaling_reason})")
    yield Fact("limited by", note.limited_by)
    yield Fact("based on", note.rests_on)
    if note.follows is not None:
        law = f"{note.follows.formula} (residual {note.follows.residual:.1%})"
        yield Fact("follows", law)
    if note.elsewhere:
        yield Fact("donors", note.elsewhere)
    if note.laws:
        laws = ", ".join(f"{name} {percent(weight)}" for name, weight in note.laws[:NAMED_LAWS])
        yield Fact("laws", f"those that weigh most up to twice the last p: {laws}", is_detail=True)


def _on_memory(forecast: Forecast) -> Iterator[Fact]:
    """Say what memory is forecast, where the table has it."""
    if forecast.memory is not None:
        from parcast.forecasting.memory.sheet import line_of

        yield Fact("memory", line_of(forecast.memory))


def _facts_on_measure(forecast: Forecast) -> Iterator[Fact]:
    """Say what the times are, where they are no wall times, and which parameters the runs had."""
    measure = forecast.measure
    if measure.quantity == "rate":
        yield Fact("time", f"that of {measure.work_done}, from the rate {measure.title}")
    elif measure.quantity == "speedup":
        yield Fact("time", f"relative: 1/{measure.title}")
    if forecast.parameters:
        each = (
            f"{name} goes with p" if value is None else f"{name} = {whole(value)}"
            for name, value in forecast.parameters.items()
        )
        yield Fact("parameters", shown(", ".join(each)))


def _facts_on_all(forecast: Forecast) -> Iterator[Fact]:
    """Give how several series scale, and what their forecasts are based on."""
    yield from _facts_on_measure(forecast)
    first = forecast.notes[0]  # all series are read alike
    if not forecast.is_without_p:
        yield Fact("scaling", f"{first.scaling} ({first.scaling_reason})")
    if forecast.is_surface:  # the table has no room for the effects of several axes
        slowest = forecast.notes[forecast.slowest(1)[0]]
        yield Fact("limited by", f"{slowest.limited_by} ({slowest.label})")
    yield Fact("based on", _basis_of_all(forecast))


def _basis_of_all(forecast: Forecast) -> str:
    """Say which runs the forecasts of several series are based on, and how they were tested."""
    notes, measured = forecast.notes, forecast.measured
    if len({note.rests_on for note in notes}) == 1:
        return notes[0].rests_on
    if forecast.is_surface:
        return f"{notes[0].rests_on} ({notes[0].label})"
    each = measured.repetitions.sum(axis=1)
    runs = _range(each.min(), each.max())
    first, last = (min(x.measured[0] for x in notes), max(x.measured[1] for x in notes))
    text = f"{runs} runs of each series at p = {whole(first)} to {whole(last)}"
    errors = sorted(abs(note.backtest) for note in notes if note.backtest is not None)
    if errors:
        off = _range(percent(errors[0]), percent(errors[-1]))
        text += f"; tested by leaving out the largest p: {off} off"
        if len(errors) > 2:
            text += f", median {percent(float(np.median(errors)))}"
    if untested := len(notes) - len(errors):
        some = f"not tested: {untested} series with too few counts"
        text += f"; {some if errors else 'too few counts to be tested'}"
    if any(note.donors for note in notes):
        weights = sorted(sum(donor.weight for donor in note.donors) for note in notes)
        text += f"; weight of other machines {_range(*(percent(weights[i]) for i in (0, -1)))}"
    return text


def _range(least: object, largest: object) -> str:
    """Write the ends of a range, or one of them where they are the same."""
    return f"{least}" if least == largest else f"{least} to {largest}"
