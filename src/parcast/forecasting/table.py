"""The table of a forecast: a row for each series and count, in forms for every width.

Of several series, columns are left out until the table fits. Where nothing helps, the names of
the series become titles above their rows, and at last each row becomes a few lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.call_paths import PATH
from parcast.forecasting.result import Forecast
from parcast.forecasting.totals import Totals
from parcast.show.sheet import Column, Entry, Fact, Form, Table, interval_column
from parcast.timings.measure import seconds_in
from parcast.units import format_quantity
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
    short = replace(columns["efficiency"], title=SHORT, heading="efficiency [%]")
    layouts = (keys, ()), ((), titles)
    for others, heads in layouts[: 2 if keys else 1]:
        for left_out in LEFT_OUT if keys else ((),):
            kept = {x: y for x, y in present.items() if x not in left_out}
            for shorter in ({}, {"efficiency": short}) if left_out == ("speedup",) else ({},):
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
    interval = f"{forecast.interval * 100:g} % interval"
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
    if measure.is_relative:  # the speedup that was measured stands there, with its interval
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
    error = f" (error {cells['error']} %)" if cells["error"] else ""
    in_unit = "" if unit == "1" else f" {unit}"
    return Entry(
        title=f"{named}p = {cells['p']}{remark}",
        facts=(
            Fact(columns["time"].title, f"{cells['time']}{in_unit}"),
            Fact("", f"{columns['interval'].title} {cells['interval']}{in_unit}"),
            *(
                (Fact(columns["rate"].title, f"{cells['rate']} ({cells['rate interval']})"),)
                if "rate" in cells
                else ()
            ),
            Fact(columns["share"].title, f"{cells['share']} %" if cells["share"] else ""),
            Fact("speedup", cells.get("speedup", "")),
            Fact("efficiency", f"{cells['efficiency']} %" if cells["efficiency"] else ""),
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
    return "; ".join(meanings)
